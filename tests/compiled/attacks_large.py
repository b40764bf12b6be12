"""Programs that can reach more than is searched at first: of these only the code that has run is followed.

Each changes something that the search has not followed when it began, after calls that may be replayed.
"""

import functools
from types import SimpleNamespace

import tapegrad as torch
from tests.compiled.declaring import program

X = torch.tensor([[1.0, -2.0, 3.0], [0.5, 0.25, -1.0]])


def operation(number):
    """One of many functions: each of its own code, as those of a library are."""
    inside = {}
    exec(f"def operation(x):\n    return (x - {number}) * {number} + abs(x)\n", inside)
    return inside["operation"]


OPERATIONS = {number: operation(number) for number in range(1500)}
FACTORS = SimpleNamespace(scale=1.0, late=1.0, other=1.0)


def large(compile, step, changes):
    """A step that is given all operations, and changes before calls of these numbers."""
    FACTORS.scale = FACTORS.late = FACTORS.other = 1.0
    kept = dict(OPERATIONS)
    compiled = compile(lambda x: step(x, kept))

    def call(n):
        for change in changes.get(n, ()):
            change()
        return compiled(X)

    return call, []


def changed(**values):
    return lambda: vars(FACTORS).update(values)


@program("what it has read from the first call on", calls=14)
def large_global(compile):
    return large(compile, lambda x, kept: kept[3](x) * FACTORS.scale, {10: [changed(scale=3.0)]})


@program("what a way reads that it takes from the third call on, to the same program", calls=14)
def large_other_way(compile):
    flags = {}

    def step(x, kept):
        if "late" in flags:
            return kept[3](x) * FACTORS.late
        return kept[3](x) * FACTORS.scale

    return large(compile, step, {2: [lambda: flags.update(late=True)], 10: [changed(late=3.0)]})


@program("what a function reads that runs from the second call on", calls=14)
def large_other_function(compile):
    flags = {}

    def late(x):
        return x * FACTORS.late

    def step(x, kept):
        return late(x) if "late" in flags else kept[3](x)

    return large(compile, step, {1: [lambda: flags.update(late=True)], 10: [changed(late=3.0)]})


@program("another function runs long afterwards, and reads what changes then", calls=24)
def large_later(compile):
    flags = {"deep": False}

    def deep(x):
        return x * FACTORS.other

    def step(x, kept):
        return deep(x) if flags["deep"] else kept[3](x)

    return large(compile, step, {9: [lambda: flags.update(deep=True)], 19: [changed(other=5.0)]})


@program("an attribute is asked for by a name that is not written", calls=16)
def large_by_name(compile):
    names = ["scale"]
    changes = {8: [changed(scale=3.0)], 12: [lambda: names.__setitem__(0, "other")]}
    return large(compile, lambda x, kept: kept[3](x) * getattr(FACTORS, names[0]), changes)


@program("an attribute is asked for by its name from the second call on", calls=16)
def large_by_name_later(compile):
    names = []

    def step(x, kept):
        for name in names:
            x = x * getattr(FACTORS, name)
        return kept[3](x)

    return large(compile, step, {1: [lambda: names.append("other")], 10: [changed(other=3.0)]})


@program("one of the functions is replaced", calls=14)
def large_replaced(compile):
    kept = dict(OPERATIONS)
    compiled = compile(lambda x: kept[3](x))

    def call(n):
        if n == 10:
            kept[3] = kept[7]
        return compiled(X)

    return call, []


@program("numbers count, and are asked for their class from the third call on", calls=14)
def large_numbers(compile):
    state, told = SimpleNamespace(rate=1.0), []

    def step(x, kept):
        state.rate *= 0.5
        if len(told) > 2:
            told.append(type(state.rate).__name__)
        else:
            told.append("")
        return kept[3](x) * state.rate

    call, _ = large(compile, step, {})
    return lambda n: (call(n), state.rate, list(told)), []


@program("lru_cache gives a list that changes", calls=12)
def cached_list(compile):
    @functools.lru_cache
    def factors(length):
        return [float(length)]

    step = compile(lambda x: x * factors(len(x))[0])

    def call(n):
        if n == 8:
            factors(2)[0] = 5.0
        return step(X)

    return call, []


@program("a small lru_cache forgets, and what it computes from has changed", calls=12)
def cached_and_forgotten(compile):
    config = SimpleNamespace(scale=1.0)

    @functools.lru_cache(maxsize=2)
    def scale(number):
        return config.scale + number

    step = compile(lambda x: x * scale(1))

    def call(n):
        if n == 8:
            config.scale = 3.0
        if n == 10:
            scale(2), scale(3)
        return step(X), scale.cache_info().currsize

    return call, []


@program("lru_cache of methods gives tensors, which are written to", calls=12)
def cached_tensors(compile):
    class Positions:
        @functools.lru_cache(maxsize=4)  # noqa: B019 - as people write it
        def table(self, length):
            return torch.arange(float(length))

    positions = Positions()
    step = compile(lambda x: x + positions.table(x.shape[1]))

    def call(n):
        if n == 8:
            positions.table(3).mul_(2)
        if n == 10:
            positions.table.cache_clear()
        return step(X)

    return call, []
