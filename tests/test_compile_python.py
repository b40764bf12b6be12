"""Compiled functions whose Python matters: state that isn't tensors, values that come from elsewhere, results kept."""

import collections
import contextlib
import functools
import itertools
import random
import time
import types
import weakref
from dataclasses import dataclass, field

import numpy as np
import pytest
from compiled_programs import X, clear, compare, descend, leaf, loss_of, model

import tapegrad as torch

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
    "a weak reference": (lambda kept=weakref.ref(CONFIG): kept().factor, shadow_class),
}


@pytest.mark.parametrize("name", GUARDED)
def test_what_is_read_is_compared(name):
    simple(*GUARDED[name], replayed=True)


COUNTER, GENERATOR, ITERATOR = itertools.count(1.0), (float(i) for i in range(99)), iter([float(i) for i in range(99)])
CLOCK, STREAM, RANDOM = time, np.random.default_rng(0), random.Random(0)


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
    "a stream of random": (lambda: RANDOM.random(), "random.Random"),
    "random": (lambda: random.random(), "random"),
    "np.random": (lambda: np.random.rand(), "rand"),
    "what is remembered": (remembered, "lru_cache"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_compared_is_run(name):
    read, reason = REFUSED[name]
    compiled = torch.compile(lambda: torch.ones(2) * read())
    for _ in range(5):
        compiled()
    assert compiled.replayed == 0 and reason in compiled.report(), compiled.report()


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
