"""Compiled functions whose Python matters: state that isn't tensors, values that come from elsewhere, results kept."""

import argparse
import collections
import contextlib
import dataclasses
import functools
import inspect
import itertools
import random
import time
import tokenize
import types
import weakref
from dataclasses import dataclass, field

import numpy as np
import pytest
from compiled_programs import X, clear, compare, descend, leaf, loss_of, model

import tapegrad as torch
from tapegrad.compiler.guards.code import instructions_by_dis, instructions_of, uses_from
from tapegrad.compiler.guards.guards import Guards

FACTOR = 1.0
SETTINGS = types.SimpleNamespace(factor=1.0, deep={"list": [1.0]})
HISTORY: list = []


def scale():
    return FACTOR


def simple(read, change, **expected):
    """A program that multiplies by what ``read()`` gives, and calls ``change(number)`` before each call."""

    def program(wrap):
        w = leaf(1.0, 2.0)

        @wrap
        def step(x):
            return (w * x * read()).detach()

        def call(number):
            change(number)
            return step(torch.ones(2))

        return call, [w]

    return compare(program, calls=7, **expected)


def change_global(number):
    global FACTOR
    FACTOR = 1.0 + number // 4


def change_namespace(number):
    SETTINGS.factor = 1.0 + number // 4


def change_nested(number):
    SETTINGS.deep["list"][0] = 1.0 + number // 4


class Base:
    factor = 1.0


class Config(Base):
    def value(self):
        return self.factor


class Slotted:
    __slots__ = ("factor",)

    def __init__(self):
        self.factor = 1.0


@dataclass
class Data:
    factors: list = field(default_factory=lambda: [1.0])

    @property
    def first(self):
        return self.factors[0]


SLOTTED, DATA, CONFIG, ARRAY = Slotted(), Data(), Config(), np.ones(1, np.float32)
WEAK = weakref.ref(CONFIG)
DEFAULTS = collections.defaultdict(lambda: 1.0)
ITEMS = {1.0}


def with_default(factor=FACTOR):
    return factor


def change_slot(number):
    SLOTTED.factor = 1.0 + number // 4


def change_property(number):
    DATA.factors[0] = 1.0 + number // 4


def change_class(number):
    Base.factor = 1.0 + number // 4


def shadow_class(number):
    vars(CONFIG).clear()
    if number > 3:
        CONFIG.factor = 3.0


def change_array(number):
    ARRAY[0] = 1.0 + number // 4


def change_default(number):
    if with_default.__defaults__ != (1.0 + number // 4,):
        with_default.__defaults__ = (1.0 + number // 4,)


def change_defaultdict(number):
    DEFAULTS.clear()
    DEFAULTS["first"] = 1.0
    if number > 3:
        DEFAULTS["other"] = 2.0


def change_set(number):
    ITEMS.clear()
    ITEMS.add(1.0 + number // 4)


GUARDED = {
    "a global": (scale, change_global),
    "an attribute of a namespace": (lambda: SETTINGS.factor, change_namespace),
    "something in nested containers": (lambda: SETTINGS.deep["list"][0], change_nested),
    "a slot": (lambda: SLOTTED.factor, change_slot),
    "a property": (lambda: DATA.first, change_property),
    "a class attribute": (lambda: Config().value(), change_class),
    "a class attribute that is shadowed": (CONFIG.value, shadow_class),
    "an array": (lambda: torch.tensor(ARRAY), change_array),
    "an element of an array": (lambda: float(ARRAY[0]), change_array),
    "a default": (with_default, change_default),
    "a defaultdict": (lambda: len(DEFAULTS), change_defaultdict),
    "a set": (lambda: max(ITEMS), change_set),
    "a partial": (functools.partial(lambda d: d["list"][0], SETTINGS.deep), change_nested),
    "getattr": (lambda: getattr(SETTINGS, "fac" + "tor"), change_namespace),
    "a weak reference": (lambda: WEAK().factor, shadow_class),
}


@pytest.mark.parametrize("name", GUARDED)
def test_what_is_read_is_compared(name):
    simple(*GUARDED[name], replayed=True)


COUNTER, GENERATOR, ITERATOR = itertools.count(1.0), (float(i) for i in range(99)), iter([float(i) for i in range(99)])
CLOCK, STREAM, RANDOM = time, np.random.default_rng(0), random.Random(0)
SCALED, POLYNOMIAL = np.vectorize(lambda x: x * FACTOR), np.poly1d([1.0, 2.0])


@functools.lru_cache
def remembered():
    return FACTOR


def clear_cache(number):
    change_global(number)
    remembered.cache_clear()


REFUSED = {
    "a counter": (lambda: next(COUNTER), "itertools.count"),
    "a generator": (lambda: next(GENERATOR), "generator"),
    "an iterator": (lambda: next(ITERATOR), "list_iterator"),
    "the time": (lambda: CLOCK.time() * 0 + 1.0, "time"),
    "a stream of numpy": (lambda: STREAM.random(), "numpy.random"),
    "a stream of random": (lambda: RANDOM.random(), "Random.random"),
    "random": (lambda: random.random(), "random"),
    "np.random": (lambda: np.random.rand(), "rand"),
    "a function that numpy holds": (lambda: float(SCALED(2.0)), "numpy.vectorize"),
    "an object of numpy": (lambda: POLYNOMIAL(2.0), "numpy.poly1d"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_compared_is_run(name):
    read, reason = REFUSED[name]
    compiled = torch.compile(lambda: torch.ones(2) * read())
    for _ in range(5):
        compiled()
    assert compiled.replayed == 0 and reason in compiled.report(), compiled.report()


def test_what_is_remembered_is_compared(monkeypatch):
    """What ``lru_cache`` keeps, which is given without running the function."""
    monkeypatch.setitem(globals(), "FACTOR", 1.0)
    remembered.cache_clear()
    compiled = torch.compile(lambda: torch.ones(2) * remembered())
    for _ in range(5):
        assert compiled().tolist() == [1.0, 1.0]
    assert compiled.replayed
    monkeypatch.setitem(globals(), "FACTOR", 2.0)
    assert compiled().tolist() == [1.0, 1.0]
    remembered.cache_clear()
    assert compiled().tolist() == [2.0, 2.0]
    remembered.cache_clear()


def test_a_cache_that_is_cleared():
    simple(remembered, clear_cache, replayed=False)


# -- state that the step itself changes --------------------------------------------------------------------------------


def rebinding(wrap):
    state = types.SimpleNamespace(h=torch.zeros(2), count=0, last=None, history=[])
    w = leaf(0.5, 2.0)

    @wrap
    def step(x):
        state.h = torch.tanh(w * x + state.h)
        state.h = state.h.detach()
        return state.h * 2

    return lambda number: step(torch.ones(2)), [w, lambda: state.h]


def counting(wrap):
    seen = {"calls": 0}

    @wrap
    def step(x):
        seen["calls"] += 1
        return x * seen["calls"]

    return lambda number: step(X), [seen]


def nonlocal_counting(wrap):
    calls = 0

    @wrap
    def step(x):
        nonlocal calls
        calls += 1
        return x * 2

    return lambda number: step(X), [lambda: calls]


def appending(wrap):
    parameters, losses = model(), []

    @wrap
    def step():
        clear(parameters)
        loss = loss_of(parameters)
        loss.backward()
        descend(parameters)
        losses.append(loss.detach())
        return losses[-1]

    return lambda number: step(), [parameters, losses]


def alternating(wrap):
    parameters, turns = model(), collections.deque([True, False])

    @wrap
    def step():
        turns.rotate()
        p = parameters[turns[0]]
        return p * 2

    return lambda number: step().detach(), [list(turns)]


def kept_result(wrap):
    class Holder:
        pass

    holder = Holder()

    @wrap
    def step(x):
        holder.result = x * 2
        return x * 3

    return lambda number: step(X * number), [lambda: holder.result]


def changed_arguments(wrap):
    @wrap
    def step(batch):
        batch["count"] += 1
        batch["y"] = batch["x"] * 2
        return batch["y"] * 3

    def call(number):
        batch = {"x": X, "count": 0, "y": None}
        return step(batch), batch

    return call, []


def container_returned(wrap):
    metrics = {"loss": None}

    @wrap
    def step(x):
        metrics["loss"] = x * 2
        return metrics

    def call(number):
        result = step(X * number)
        return result is metrics, result

    return call, [metrics]


def grad_mode_left_off(wrap):
    w = leaf(1.0)

    @wrap
    def step(x):
        torch.set_grad_enabled(False)
        return x * 2

    def call(number):
        result = step(X)
        found = torch.is_grad_enabled(), (w * 2).requires_grad
        torch.set_grad_enabled(True)
        return result, found

    return call, []


def fresh_generator(wrap):
    @wrap
    def step():
        generator = torch.Generator()
        return torch.rand(2, generator=generator)

    return lambda number: step(), []


def seeded(wrap):
    @wrap
    def step():
        torch.manual_seed(1)
        return torch.rand(2)

    return lambda number: step(), []


STATEFUL = [
    rebinding, counting, nonlocal_counting, appending, alternating, kept_result, changed_arguments, container_returned,
    grad_mode_left_off, fresh_generator, seeded,
]  # fmt: skip


@pytest.mark.parametrize("program", STATEFUL, ids=lambda program: program.__name__)
def test_state_that_the_function_changes(program):
    compare(program, calls=6)


def test_printing_is_not_left_out(capsys):
    compiled = torch.compile(lambda x: (print("called"), x * 2)[1])
    for _ in range(4):
        compiled(X)
    assert capsys.readouterr().out == "called\n" * 4
    assert "print" in compiled.report()


def test_contexts_are_entered():
    entered = []

    @contextlib.contextmanager
    def block():
        entered.append(1)
        yield

    def step(x):
        with block():
            return x * 2

    compiled = torch.compile(step)
    for _ in range(4):
        compiled(X)
    assert len(entered) == 4


class Scaled(torch.autograd.Function):
    factor = 2.0

    @staticmethod
    def forward(ctx, x):
        return x * Scaled.factor

    @staticmethod
    def backward(ctx, grad):
        return grad * Scaled.factor


Pair = collections.namedtuple("Pair", ["left", "right"])
PAIR = Pair([1.0], 2.0)


@torch.no_grad()
def decorated():
    return torch.tensor(FACTOR)


def change_scaled(number):
    Scaled.factor = 1.0 + number // 4


def change_pair(number):
    PAIR.left[0] = 1.0 + number // 4


def add_attribute(number):
    if number == 0:
        vars(CONFIG).clear()
        if "late" in vars(Base):
            del Base.late
    if number == 4:
        Base.late = 3.0


def late():
    try:
        return CONFIG.late
    except AttributeError:
        return 1.0


MORE = {
    "what the library calls": (lambda: Scaled.apply(torch.ones(2)), change_scaled),
    "a named tuple": (lambda: PAIR.left[0], change_pair),
    "a decorated function": (decorated, change_global),
    "an attribute that comes later": (late, add_attribute),
}


@pytest.mark.parametrize("name", MORE)
def test_what_is_reached_in_other_ways_is_compared(name):
    simple(*MORE[name], replayed=True)


def test_arguments_with_attributes():
    def program(wrap):
        step = wrap(lambda x: x * x.scale)

        def call(number):
            x = torch.ones(2)
            x.scale = number
            return step(x)

        return call, []

    compare(program, calls=6)


def array_arguments(wrap):
    step = wrap(lambda array: torch.from_numpy(array) * 2)
    one, other = np.ones(2, np.float32), np.zeros(2, np.float32)

    def call(number):
        one[0] = number // 4
        return step(other if number == 6 else one)

    return call, []


def default_dtypes(wrap):
    step = wrap(lambda: torch.ones(2) * 2)

    def call(number):
        torch.set_default_dtype(torch.float64 if number > 3 else torch.float32)
        try:
            return step()
        finally:
            torch.set_default_dtype(torch.float32)

    return call, []


def items_by_tensor(wrap):
    key = torch.ones(1)
    items, order = {key: torch.ones(1)}, [key, torch.full((1,), 5.0)]
    step = wrap(lambda: items[key] + order[0] * 2 + order[1])

    def call(number):
        if number == 4:
            items[key] = torch.full((1,), 7.0)
        if number == 6:
            order.reverse()
        return step()

    return call, []


def gradients_that_are_looked_at(wrap):
    w = leaf(1.0, 2.0)
    step = wrap(lambda: (w * (1 if w.grad is None else 10)).detach())

    def call(number):
        if number in (3, 6):
            w.grad = torch.ones(2) if number == 3 else None
        return step()

    return call, [w]


LOOKED_AT = [array_arguments, default_dtypes, items_by_tensor, gradients_that_are_looked_at]


@pytest.mark.parametrize("program", LOOKED_AT, ids=lambda program: program.__name__)
def test_other_things_that_change(program):
    compare(program, calls=9, replayed=True)


def test_hooks_that_are_registered_inside():
    def program(wrap):
        w = leaf(1.0, 2.0)

        @wrap
        def step():
            w.grad = None
            w.register_hook(lambda grad: grad * 2)
            (w * w).sum().backward()

        return lambda number: step(), [w]

    compare(program, calls=6)


def test_a_history_from_outside():
    def program(wrap):
        w = leaf(1.0, 2.0)
        middle = w * 2
        step = wrap(lambda x: (middle * x).sum())

        def call(number):
            loss = step(torch.ones(2))
            loss.backward(retain_graph=True)
            return loss

        return call, [w]

    compare(program, calls=6)


def test_a_number_that_changes_may_become_infinite():
    numbers = [1e300]

    @torch.compile
    def scaled(x):
        return x * numbers[0]

    for _ in range(4):
        numbers[0] *= 2
        assert scaled(torch.ones(2)).tolist() == [float("inf")] * 2


def test_numbers_made_anew_and_sets_are_compared_without_looking_for_what_has_changed(monkeypatch):
    seen, settings = {"train"}, {"rate": 0.5}

    @torch.compile
    def step(x):
        return x * settings["rate"] if "train" in seen else x

    x = torch.ones(2)
    for _ in range(4):
        assert step(x).tolist() == [0.5, 0.5]
    changed, asked = Guards.changed, []
    monkeypatch.setattr(Guards, "changed", lambda guards, *but: asked.append(changed(guards, *but)) or asked[-1])
    settings["rate"] = float("0.5")
    step(x)
    assert not asked
    seen.discard("train")
    assert step(x).tolist() == [1.0, 1.0]
    seen.add("train")
    settings["rate"] = 2.0
    assert step(x).tolist() == [2.0, 2.0]


def code_of(text):
    """The code of a text, and all that is written inside of it."""
    waiting, codes = [compile(text, "a text", "exec")], []
    while waiting:
        codes.append(waiting.pop())
        waiting += [one for one in codes[-1].co_consts if isinstance(one, types.CodeType)]
    return codes


@pytest.mark.once("nothing is computed")
def test_names_in_code_are_read_from_bytes_as_dis_reads_them():
    modules = (argparse, collections, contextlib, dataclasses, functools, inspect, random, tokenize, types)
    codes = [code for module in modules for code in code_of(inspect.getsource(module))]
    codes += code_of("\n".join(f"from a import n{i}; n{i}.b.c = n{i}.d('t{i}', {i})" for i in range(400)))
    assert len(codes) > 500
    for code in codes:
        assert list(uses_from(instructions_of(code))) == list(uses_from(instructions_by_dis(code))), code
