"""Programs whose Python does something that a replayed call must not leave out: one call each, run six times."""

# ruff: noqa: RUF015, RET503, UP030, UP031, UP032, UP033

from __future__ import annotations

import collections
import enum
import functools
import io
import itertools
import json
import math
import operator
import os
import random
import sys
import tempfile
import time
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import tapegrad as aliased
import tapegrad as torch
from tapegrad import manual_seed as ms
from tapegrad import nn

X = torch.tensor([1.0, 2.0, 3.0])
CALLS = 6


class Program(NamedTuple):
    """A program's parts.

    Attributes:
        step: what is compiled; it is called with a tensor, and what else ``arguments`` gives for each call.
        between: what is done before each call.
        seen: what is looked at after each call, besides the result.
        arguments: by the number of a call, the arguments after the first.
    """

    step: Callable
    between: Callable[[int], Any] = lambda number: None
    seen: Callable[[], Any] = lambda: None
    arguments: Callable[[int], tuple] = lambda number: ()


PROGRAMS: dict[str, Callable[[], Program]] = {}


def program(make: Callable[[], Program]) -> Callable[[], Program]:
    """Put a program in the table."""
    PROGRAMS[make.__name__] = make
    return make


def observed(make: Callable[[], Program], wrap: Callable[[Callable], Callable]) -> list[Any]:
    """What one sees of six calls of a program whose step is wrapped."""
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    it = make()
    step, found = wrap(it.step), []
    for number in range(CALLS):
        it.between(number)
        try:
            result = step(X, *it.arguments(number))
        except Exception as error:  # is part of what one sees
            result = f"{type(error).__name__}: {error}"
        drawn = random.random(), np.random.random(), torch.rand(1).item(), torch.initial_seed()
        found.append((plain(result), plain(it.seen()), drawn))
    return found


def late(number: float) -> float:
    """A factor that is another one from the fifth call on: a step that was replayed before has missed it."""
    return 10.0 if number >= 4 else 2.0


def plain(thing: Any) -> Any:
    """A result in terms that can be compared; each number with its class."""
    if isinstance(thing, torch.Tensor):
        return "tensor", str(thing.dtype), thing.tolist()
    if isinstance(thing, dict):
        return type(thing).__name__, [(plain(key), plain(value)) for key, value in thing.items()]
    if isinstance(thing, (list, tuple, collections.deque)):
        return type(thing).__name__, [plain(one) for one in thing]
    if isinstance(thing, (set, frozenset)):
        return type(thing).__name__, sorted(map(repr, map(plain, thing)))
    return type(thing).__name__, repr(thing)


# -- draws

@program
def np_random_condition():
    def step(x):
        if np.random.random() < 0.5:
            x = x.flip(-1)
        return x * 2
    return Program(step)


@program
def np_random_choice_local_alias():
    draw = np.random.random
    def step(x):
        return x * 2 if draw() < 0.5 else x * 3
    return Program(step)


@program
def np_random_sample_from():
    from numpy.random import random_sample as rs
    return Program(lambda x: x * (2 if rs() < 0.5 else 3))


@program
def np_random_bytes():
    return Program(lambda x: x * (2 if np.random.bytes(1)[0] < 128 else 3))


@program
def np_random_poisson():
    return Program(lambda x: x * int(np.random.poisson(3.0) > 2))


@program
def np_random_binomial():
    return Program(lambda x: x * (1 + int(np.random.binomial(1, 0.5))))


@program
def np_generator():
    rng = np.random.default_rng(0)
    return Program(lambda x: x.flip(-1) if rng.random() < 0.5 else x)


@program
def np_generator_made_inside():
    rngs = []
    def step(x):
        if not rngs:
            rngs.append(np.random.default_rng(0))
        return x * int(rngs[0].integers(5))
    return Program(step)


@program
def np_random_through_map():
    return Program(lambda x: x * list(map(np.random.randint, [100]))[0])


@program
def np_random_through_partial():
    draw = functools.partial(np.random.randint, 100)
    return Program(lambda x: x * draw())


@program
def np_random_through_methodcaller():
    draw = operator.methodcaller("random_sample")
    return Program(lambda x: x * (2 if draw(np.random) < 0.5 else 3))


@program
def np_random_through_getattr():
    return Program(lambda x: x * (2 if getattr(np.random, "rand" + "om")() < 0.5 else 3))


@program
def np_random_through_dict():
    return Program(lambda x: x * (2 if vars(np.random)["ran" + "d"]() < 0.5 else 3))


@program
def random_random():
    return Program(lambda x: x * (2 if random.random() < 0.5 else 3))


@program
def random_instance():
    rng = random.Random(0)
    return Program(lambda x: x * (2 if rng.random() < 0.5 else 3))


@program
def scipy_draws():
    import scipy.stats
    return Program(lambda x: x * int(scipy.stats.randint.rvs(0, 100)))


@program
def scipy_frozen():
    import scipy.stats
    law = scipy.stats.bernoulli(0.5)
    return Program(lambda x: x * (1 + int(law.rvs())))


# -- objects of C

@program
def iterator():
    numbers = iter(range(100))
    return Program(lambda x: x * late(next(numbers)))


@program
def counter_of_itertools():
    counter = itertools.count()
    return Program(lambda x: x * late(next(counter)))


@program
def cycle_in_attribute():
    class Holder:
        pass
    holder = Holder()
    holder.turn = itertools.cycle([1, 2, 3, 4, 5])
    return Program(lambda x: x * late(next(holder.turn)))


@program
def cycle_for():
    turn = itertools.cycle([1, 2, 3, 4, 5])
    def step(x):
        for number in turn:
            return x * late(number)
    return Program(step)


@program
def generator():
    def numbers():
        yield from range(100)
    made = numbers()
    return Program(lambda x: x * late(next(made)))


@program
def generator_sends():
    def numbers():
        total = 0
        while True:
            total += yield total
    made = numbers()
    next(made)
    return Program(lambda x: x * late(made.send(1)))


@program
def text_stream():
    stream = io.StringIO()
    def step(x):
        stream.write("a")
        return x * late(len(stream.getvalue()))
    return Program(step, seen=lambda: stream.getvalue())


@program
def file_lines():
    file = io.StringIO("1\n2\n3\n4\n5\n6\n7\n")
    return Program(lambda x: x * late(int(file.readline())))


@program
def method_of_c_kept():
    items = list(range(100))
    pop = items.pop
    return Program(lambda x: x * late(99 - pop()), seen=lambda: len(items))


@program
def dunder_next_kept():
    draw = iter(range(100)).__next__
    return Program(lambda x: x * late(draw()))


@program
def clock_alias():
    times = []
    now = time.perf_counter_ns
    def step(x):
        times.append(now())
        return x * late(len(times))
    return Program(step, seen=lambda: len(times))


@program
def struct_state():
    import struct
    buffer = bytearray(8)
    def step(x):
        value = struct.unpack_from("d", buffer)[0]
        struct.pack_into("d", buffer, 0, value + 1)
        return x * late(value)
    return Program(step, seen=lambda: bytes(buffer))


@program
def array_state():
    import array
    numbers = array.array("d", [0.0])
    def step(x):
        numbers[0] += 1
        return x * late(numbers[0])
    return Program(step, seen=lambda: numbers.tolist())


@program
def ctypes_state():
    import ctypes
    number = ctypes.c_int(0)
    def step(x):
        number.value += 1
        return x * late(number.value)
    return Program(step, seen=lambda: number.value)


@program
def memoryview_state():
    inner = bytearray(4)
    view = memoryview(inner)
    def step(x):
        view[0] = view[0] + 1
        return x * late(view[0])
    return Program(step, seen=lambda: bytes(inner))


@program
def queue_state():
    import queue
    waiting = queue.SimpleQueue()
    for number in range(10):
        waiting.put(number)
    return Program(lambda x: x * late(waiting.get()))


@program
def cached_function():
    calls = []
    @functools.lru_cache(maxsize=None)
    def factor(number):
        calls.append(number)
        return number + len(calls)
    def step(x):
        return x * factor(2)
    def between(number):
        if number % 2:
            factor.cache_clear()
    return Program(step, between, seen=lambda: list(calls))


@program
def numpy_print_options():
    return Program(lambda x: x * len(np.array2string(np.array([1 / 3]))),
                   lambda number: np.set_printoptions(precision=number + 1))


@program
def numpy_writes():
    kept = np.zeros(3)
    def step(x):
        np.add(kept, 1, out=kept)
        return x * late(float(kept[0]))
    return Program(step, seen=lambda: kept.tolist())


@program
def numpy_large():
    kept = np.zeros(300_000)
    def step(x):
        kept[0] += 1
        return x * late(float(kept[0]))
    return Program(step, seen=lambda: float(kept[0]))


# -- the library itself

@program
def seed_by_alias():
    return Program(lambda x: (ms(3), x + torch.rand(3))[1], seen=lambda: torch.initial_seed())


@program
def seed_by_module_alias():
    return Program(lambda x: (aliased.manual_seed(3), x + torch.rand(3))[1])


@program
def seed_by_partial():
    seed = functools.partial(torch.manual_seed, 3)
    return Program(lambda x: (seed(), x + torch.rand(3))[1])


@program
def seed_by_map():
    return Program(lambda x: (list(map(torch.manual_seed, [3])), x + torch.rand(3))[1])


@program
def seed_by_getattr():
    return Program(lambda x: (getattr(torch, "manual" + "_seed")(3), x + torch.rand(3))[1])


@program
def seed_of_a_generator():
    generator = torch.Generator()
    reseed = generator.manual_seed
    def draw(number=0):
        return torch.rand(1, generator=generator)
    return Program(lambda x: (reseed(3), x + torch.rand(3, generator=generator))[1], draw, draw)


@program
def rng_state():
    keep, put = torch.get_rng_state, torch.set_rng_state
    def step(x):
        before = keep()
        y = x + torch.rand(3)
        put(before)
        return y
    return Program(step, lambda number: torch.rand(1))


def _saved():
    where = os.path.join(tempfile.mkdtemp(), "file")
    def between(number):
        if os.path.exists(where):
            os.remove(where)
    return where, between


@program
def saves():
    from tapegrad import save as keep
    where, between = _saved()
    return Program(lambda x: (keep({"a": 1}, where), x * 2)[1], between, lambda: os.path.exists(where))


@program
def saves_savez_compressed():
    where, _ = _saved()
    where += ".npz"
    def step(x):
        np.savez_compressed(where, a=np.ones(1))
        return x * 2
    return Program(step, lambda number: os.path.exists(where) and os.remove(where), lambda: os.path.exists(where))


@program
def loads():
    from tapegrad import load as get
    where, _ = _saved()
    def between(number):
        torch.save({"a": number}, where)
    return Program(lambda x: x * late(get(where)["a"]), between)


@program
def loads_numpy():
    from numpy import load as get
    where, _ = _saved()
    where += ".npy"
    return Program(lambda x: x * late(float(get(where)[0])), lambda number: np.save(where, np.full(1, float(number))))


@program
def environment():
    return Program(lambda x: x * late(int(os.environ.get("WHAT_RAN", "1"))),
                   lambda number: os.environ.__setitem__("WHAT_RAN", str(number)))


@program
def replaced_function():
    old = torch.relu
    def between(number):
        torch.relu = old if number < 4 else (lambda x: x * 10)
        if number == CALLS - 1:
            seen_last.append(1)
    seen_last: list = []
    def seen():
        if seen_last:
            torch.relu = old
    return Program(lambda x: torch.relu(x), between, seen)


@program
def replaced_function_of_functional():
    old = nn.functional.relu
    layer = nn.ReLU()
    def between(number):
        nn.functional.relu = old if number < 4 else (lambda x, inplace=False: x * 10)
    def seen():
        nn.functional.relu = old
    return Program(lambda x: layer(x) + nn.functional.relu(x), between, seen)


@program
def replaced_method():
    old = torch.Tensor.relu
    def between(number):
        torch.Tensor.relu = old if number < 4 else (lambda self: self * 10)
    def seen():
        torch.Tensor.relu = old
    return Program(lambda x: x.relu(), between, seen)


@program
def replaced_of_a_layer():
    layer = nn.Linear(3, 3)
    old = nn.Linear.forward
    def between(number):
        nn.Linear.forward = old if number < 4 else (lambda self, x: x * 10)
    def seen():
        nn.Linear.forward = old
    return Program(lambda x: layer(x), between, seen)


@program
def replaced_of_an_optimizer():
    weight = nn.Parameter(torch.ones(3))
    made = torch.optim.SGD([weight], lr=0.5)
    old = torch.optim.SGD.step
    def between(number):
        if number >= 4:
            torch.optim.SGD.step = lambda self, closure=None: None
    def seen():
        torch.optim.SGD.step = old
        return weight
    def step(x):
        made.zero_grad()
        loss = (weight * x).sum()
        loss.backward()
        made.step()
        return loss
    return Program(step, between, seen)


@program
def replaced_builtin():
    import builtins
    old = builtins.abs
    def between(number):
        builtins.abs = old if number < 4 else (lambda x: x * 10)
    def seen():
        builtins.abs = old
    return Program(lambda x: abs(x) - 1, between, seen)


@program
def replaced_of_math():
    old = math.sqrt
    def between(number):
        math.sqrt = old if number < 4 else (lambda x: x * 10)
    def seen():
        math.sqrt = old
    return Program(lambda x: x * math.sqrt(2.0), between, seen)


@program
def custom_op_reads_a_global():
    scope: dict = {"torch": torch}
    exec("SCALE = 1.0\ndef op(x: torch.Tensor) -> torch.Tensor:\n    return x * SCALE\n", scope)
    name = f"what_ran::op{next(_numbers)}"
    op = torch.library.custom_op(name, scope["op"], mutates_args=())
    return Program(lambda x: op(x), lambda number: scope.update(SCALE=1.0 if number < 4 else 5.0))


_numbers = itertools.count()


# -- names that are missing, and come later

class Empty:
    """Nothing."""


@program
def missing_attribute():
    config = Empty()
    return Program(lambda x: x * getattr(config, "scale", 1.0), lambda n: n == 4 and setattr(config, "scale", 5.0))


@program
def missing_attribute_caught():
    config = Empty()
    def step(x):
        try:
            return x * config.scale
        except AttributeError:
            return x
    return Program(step, lambda n: n == 4 and setattr(config, "scale", 5.0))


@program
def missing_attribute_of_a_class():
    class Config:
        pass
    return Program(lambda x: x * getattr(Config, "scale", 1.0), lambda n: n == 4 and setattr(Config, "scale", 5.0))


@program
def missing_attribute_of_a_class_through_instance():
    class Base:
        pass
    class Config(Base):
        pass
    config = Config()
    return Program(lambda x: x * getattr(config, "scale", 1.0), lambda n: n == 4 and setattr(Base, "scale", 5.0))


@program
def missing_attribute_of_a_module():
    config = types.ModuleType("config")
    return Program(lambda x: x * getattr(config, "scale", 1.0), lambda n: n == 4 and setattr(config, "scale", 5.0))


@program
def missing_attribute_of_a_module_hasattr():
    config = types.ModuleType("config")
    return Program(lambda x: x * 2 if hasattr(config, "scale") else x,
                   lambda n: n == 4 and setattr(config, "scale", 5.0))


@program
def missing_attribute_of_a_function():
    def config():
        pass
    return Program(lambda x: x * getattr(config, "scale", 1.0), lambda n: n == 4 and setattr(config, "scale", 5.0))


@program
def attribute_of_a_function():
    def step(x):
        step.calls = getattr(step, "calls", 0) + 1
        return x * step.calls
    return Program(step, seen=lambda: getattr(step, "calls", None))


@program
def missing_attribute_of_a_tensor():
    weight = torch.ones(3)
    return Program(lambda x: x * getattr(weight, "scale", 1.0), lambda n: n == 4 and setattr(weight, "scale", 5.0))


@program
def missing_attribute_of_a_nn_module():
    net = nn.Linear(3, 3)
    return Program(lambda x: x * getattr(net, "scale", 1.0), lambda n: n == 4 and setattr(net, "scale", 5.0))


@program
def missing_attribute_of_a_layer_class():
    net = nn.ReLU()
    def between(n):
        if n == 4:
            nn.ReLU.scale = 5.0
        if n == 5:
            del nn.ReLU.scale
    return Program(lambda x: x * getattr(net, "scale", 1.0), between)


@program
def missing_slot():
    class Config:
        __slots__ = ("scale",)
    config = Config()
    return Program(lambda x: x * getattr(config, "scale", 1.0), lambda n: n == 4 and setattr(config, "scale", 5.0))


@program
def missing_attribute_of_the_library():
    def between(n):
        if n == 4:
            torch.scale_of_mine = 5.0
        if n == 5:
            del torch.scale_of_mine
    return Program(lambda x: x * getattr(torch, "scale_of_mine", 1.0), between)


@program
def missing_attribute_of_numpy():
    def between(n):
        if n == 4:
            np.scale_of_mine = 5.0
        if n == 5:
            del np.scale_of_mine
    return Program(lambda x: x * getattr(np, "scale_of_mine", 1.0), between)


@program
def missing_attribute_of_math():
    def between(n):
        if n == 4:
            math.scale_of_mine = 5.0
        if n == 5:
            del math.scale_of_mine
    return Program(lambda x: x * (math.scale_of_mine if hasattr(math, "scale_of_mine") else 1), between)


@program
def missing_global():
    scope: dict = {}
    exec("def step(x):\n  try:\n    return x * SCALE\n  except NameError:\n    return x\n", scope)
    return Program(scope["step"], lambda n: n == 4 and scope.update(SCALE=5.0))


@program
def missing_builtin():
    import builtins
    scope: dict = {}
    exec("def step(x):\n  try:\n    return x * SCALE\n  except NameError:\n    return x\n", scope)
    def between(n):
        if n == 4:
            builtins.SCALE = 5.0
        if n == 5:
            del builtins.SCALE
    return Program(scope["step"], between)


@program
def missing_key():
    config: dict = {}
    return Program(lambda x: x * config.get("scale", 1.0), lambda n: n == 4 and config.update(scale=5.0))


@program
def missing_key_of_globals():
    scope: dict = {}
    exec("def step(x):\n  return x * globals().get('SCALE', 1.0)\n", scope)
    return Program(scope["step"], lambda n: n == 4 and scope.update(SCALE=5.0))


@program
def missing_cell():
    def made():
        def step(x):
            try:
                return x * late
            except NameError:
                return x
        def between(n):
            nonlocal late
            if n == 4:
                late = 5.0
        late = 1.0
        del late
        return Program(step, between)
    return made()


@program
def getattr_of_a_module():
    config, state = types.ModuleType("config"), {"scale": 1.0}
    config.__getattr__ = lambda name: state[name]
    return Program(lambda x: x * late(config.scale), lambda n: state.update(scale=float(n)))


@program
def getattr_of_a_class():
    state = {"scale": 1.0}
    class Config:
        def __getattr__(self, name):
            return state[name]
    config = Config()
    return Program(lambda x: x * late(config.scale), lambda n: state.update(scale=float(n)))


@program
def getattr_of_a_metaclass():
    state = {"scale": 1.0}
    class Meta(type):
        def __getattr__(cls, name):
            return state[name]
    class Config(metaclass=Meta):
        pass
    return Program(lambda x: x * late(Config.scale), lambda n: state.update(scale=float(n)))


@program
def getattribute_of_a_class():
    state = {"scale": 1.0}
    class Config:
        def __getattribute__(self, name):
            return state[name]
    config = Config()
    return Program(lambda x: x * late(config.scale), lambda n: state.update(scale=float(n)))


@program
def getattribute_comes_later():
    class Config:
        scale = 1.0
    config = Config()
    def between(n):
        if n == 4:
            Config.__getattribute__ = lambda self, name: 5.0
    return Program(lambda x: x * config.scale, between)


@program
def special_method_comes_later():
    class Config:
        def __len__(self):
            return 1
    config = Config()
    def between(n):
        if n == 4:
            Config.__bool__ = lambda self: False
    return Program(lambda x: x * 2 if config else x, between)


@program
def special_method_of_a_base_comes_later():
    class Base:
        pass
    class Config(Base):
        def __len__(self):
            return 1
    config = Config()
    def between(n):
        if n == 4:
            Base.__bool__ = lambda self: False
    return Program(lambda x: x * 2 if config else x, between)


@program
def property_comes_later():
    class Config:
        def __init__(self):
            self.scale = 1.0
    config = Config()
    def between(n):
        if n == 4:
            Config.scale = property(lambda self: 5.0)
    return Program(lambda x: x * config.scale, between)


@program
def forward_of_an_instance_comes_later():
    net = nn.ReLU()
    return Program(lambda x: net(x), lambda n: n == 4 and setattr(net, "forward", lambda x: x * 10))


# -- what classes and modules are

@program
def enum_member_value():
    class Mode(enum.Enum):
        LOW = 1
        HIGH = 2
    def between(n):
        if n == 4:
            Mode.LOW._value_ = 5
    return Program(lambda x: x * Mode.LOW.value, between)


@program
def enum_member_attribute():
    class Mode(enum.Enum):
        LOW = 1
        HIGH = 2
    Mode.LOW.scale = 1.0
    return Program(lambda x: x * late(Mode.LOW.scale), lambda n: setattr(Mode.LOW, "scale", float(n)))


@program
def enum_in_attribute():
    class Mode(enum.Enum):
        LOW = 1
        HIGH = 2
    config = Empty()
    config.mode = Mode.LOW
    return Program(lambda x: x * config.mode.value, lambda n: setattr(config, "mode", Mode.HIGH if n % 2 else Mode.LOW))


@program
def enum_method():
    state = {"scale": 1.0}
    class Mode(enum.Enum):
        LOW = 1
        def scale(self):
            return state["scale"]
    return Program(lambda x: x * late(Mode.LOW.scale()), lambda n: state.update(scale=float(n)))


@program
def int_enum():
    class Mode(enum.IntEnum):
        LOW = 1
        HIGH = 2
    config = Empty()
    config.mode = Mode.LOW
    return Program(lambda x: x * config.mode, lambda n: setattr(config, "mode", Mode.HIGH if n > 3 else Mode.LOW))


@program
def bases():
    class A:
        scale = 1.0
    class B:
        scale = 5.0
    class C(A):
        pass
    def between(n):
        C.__bases__ = (B,) if n >= 4 else (A,)
    return Program(lambda x: x * C.scale, between)


@program
def bases_of_an_instance():
    class A:
        def scale(self):
            return 1.0
    class B:
        def scale(self):
            return 5.0
    class C(A):
        pass
    c = C()
    def between(n):
        C.__bases__ = (B,) if n >= 4 else (A,)
    return Program(lambda x: x * c.scale(), between)


@program
def class_of_an_instance():
    class A:
        scale = 1.0
    class B:
        scale = 5.0
    a = A()
    def between(n):
        a.__class__ = B if n >= 4 else A
    return Program(lambda x: x * a.scale, between)


@program
def format_with_attribute():
    config = Empty()
    config.rate = 1
    return Program(lambda x: x * late(int("{0.rate}".format(config))), lambda n: setattr(config, "rate", n))


@program
def format_with_item():
    config = {"rate": 1}
    return Program(lambda x: x * late(int("{0[rate]}".format(config))), lambda n: config.update(rate=n))


@program
def format_map_with_attribute():
    config = Empty()
    config.rate = 1
    return Program(lambda x: x * late(int("{c.rate}".format_map({"c": config}))), lambda n: setattr(config, "rate", n))


@program
def percent_with_a_class():
    class Config:
        def __str__(self):
            return str(state["rate"])
    state, config = {"rate": 1}, Config()
    return Program(lambda x: x * late(int("%s" % config)), lambda n: state.update(rate=n))


@program
def attrgetter_in_a_global():
    config, get = Empty(), operator.attrgetter("rate")
    config.rate = 1
    return Program(lambda x: x * late(get(config)), lambda n: setattr(config, "rate", n))


@program
def evaluated():
    config = Empty()
    config.rate = 1
    return Program(lambda x: x * late(eval("config.rate", {"config": config})), lambda n: setattr(config, "rate", n))


@program
def match_pattern():
    class Point:
        __match_args__ = ("a",)
        def __init__(self, a, b):
            self.a, self.b = a, b
    point = Point(1, 5)
    scope: dict = {"Point": Point, "point": point, "late": late}
    exec("def step(x):\n  match point:\n    case Point(value):\n      return x * value\n", scope)
    return Program(scope["step"], lambda n: setattr(Point, "__match_args__", ("b",) if n == 4 else ("a",)))


@program
def match_value():
    config = Empty()
    config.rate = 1
    scope: dict = {"config": config, "Empty": Empty, "late": late}
    exec("def step(x):\n  match config:\n    case Empty(rate=value):\n      return x * late(value)\n", scope)
    return Program(scope["step"], lambda n: setattr(config, "rate", n))


@program
def star_import_inside():
    made = types.ModuleType("what_ran_made")
    made.rate = 1
    sys.modules["what_ran_made"] = made
    def step(x):
        from what_ran_made import rate
        return x * late(rate)
    return Program(step, lambda n: setattr(made, "rate", n))


@program
def import_inside_of_another():
    def step(x):
        import what_ran_other
        return x * late(what_ran_other.rate)
    def between(n):
        made = types.ModuleType("what_ran_other")
        made.rate = n
        sys.modules["what_ran_other"] = made
    return Program(step, between)


@program
def import_by_function():
    import importlib
    def step(x):
        return x * late(importlib.import_module("what_ran_" + "third").rate)
    def between(n):
        made = types.ModuleType("what_ran_third")
        made.rate = n
        sys.modules["what_ran_third"] = made
    return Program(step, between)


@program
def code_is_replaced():
    def inner(x):
        return x * 2
    def other(x):
        return x * 10
    first = inner.__code__
    return Program(lambda x: inner(x), lambda n: setattr(inner, "__code__", other.__code__ if n >= 4 else first))


@program
def default_is_replaced():
    def inner(x, scale=1.0):
        return x * scale
    return Program(lambda x: inner(x), lambda n: setattr(inner, "__defaults__", (5.0,) if n >= 4 else (1.0,)))


@program
def descriptor_of_the_user():
    class Counted:
        def __init__(self):
            self.n = 0
        def __get__(self, instance, owner):
            self.n += 1
            return self.n
    class Config:
        rate = Counted()
    config = Config()
    return Program(lambda x: x * late(config.rate))


@program
def context_manager_counts():
    import contextlib
    log: list = []
    @contextlib.contextmanager
    def noted():
        log.append(len(log))
        yield
    def step(x):
        with noted():
            return x * late(len(log))
    return Program(step, seen=lambda: list(log))


@program
def exit_stack_calls():
    import contextlib
    log: list = []
    def step(x):
        with contextlib.ExitStack() as stack:
            stack.callback(log.append, 1)
            return x * 2
    return Program(step, seen=lambda: list(log))


@program
def finalizer_runs():
    log: list = []
    class Noted:
        def __del__(self):
            log.append(1)
    def step(x):
        Noted()
        return x * 2
    return Program(step, seen=lambda: list(log))


@program
def iteration_of_the_user():
    class Numbers:
        def __init__(self):
            self.n = 0
        def __iter__(self):
            return self
        def __next__(self):
            self.n += 1
            return self.n
    numbers = Numbers()
    return Program(lambda x: x * late(next(numbers)))


@program
def sorting_by_a_function():
    log: list = []
    def key(one):
        log.append(one)
        return -one
    return Program(lambda x: x * sorted([1, 2, 3], key=key)[0], seen=lambda: list(log))


@program
def sorting_by_a_function_of_c():
    log: list = []
    return Program(lambda x: x * sorted([1], key=log.append)[0], seen=lambda: list(log))


@program
def reduce_by_a_function_of_c():
    log: dict = {}
    return Program(lambda x: (functools.reduce(log.setdefault, [1, 2]), x * len(log))[1],
                   lambda number: log.clear(), seen=lambda: dict(log))


@program
def set_printed():
    stream = io.StringIO()
    say = functools.partial(print, "hello", file=stream)
    return Program(lambda x: (say(), x * 2)[1], seen=lambda: stream.getvalue())


@program
def standard_output():
    stream = io.StringIO()
    def step(x):
        sys.stdout.write("hello")
        return x * 2
    def between(n):
        kept.append(sys.stdout)
        sys.stdout = stream
    def seen():
        sys.stdout = kept.pop()
        return stream.getvalue()
    kept: list = []
    return Program(step, between, seen)


@program
def warned():
    import warnings
    log: list = []
    def between(n):
        warnings.resetwarnings()
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *args, **kwargs: log.append(str(message))
    def seen():
        warnings.showwarning = old
        return list(log)
    old = warnings.showwarning
    return Program(lambda x: (warnings.warn("hello", stacklevel=1), x * 2)[1], between, seen)


@program
def logged():
    import logging
    log: list = []
    logger = logging.Logger("what_ran", logging.INFO)
    handler = logging.Handler()
    handler.emit = lambda record: log.append(record.getMessage())
    logger.addHandler(handler)
    return Program(lambda x: (logger.info("hello"), x * 2)[1], seen=lambda: list(log))


@program
def threads():
    import threading
    log: list = []
    def step(x):
        thread = threading.Thread(target=log.append, args=(1,))
        thread.start()
        thread.join()
        return x * 2
    return Program(step, seen=lambda: list(log))


@program
def registered_with_an_abstract_class():
    import abc
    class Shape(abc.ABC):  # noqa: B024
        pass
    class Round:
        pass
    thing = Round()
    def step(x):
        return x * 5 if isinstance(thing, Shape) else x
    return Program(step, lambda n: n == 4 and Shape.register(Round))


@program
def registered_with_a_dispatching_function():
    @functools.singledispatch
    def factor(x):
        return 2.0
    return Program(lambda x: x * factor(x), lambda n: n == 4 and factor.register(torch.Tensor, lambda x: 5.0))


@program
def missing_of_a_dictionary():
    state = {"scale": 1.0}
    class Config(dict):
        def __missing__(self, key):
            return state["scale"]
    config = Config()
    return Program(lambda x: x * late(config["scale"]), lambda n: state.update(scale=float(n)))


@program
def chained_maps():
    inner: dict = {}
    config = collections.ChainMap({}, inner, {"scale": 1.0})
    return Program(lambda x: x * config["scale"], lambda n: n == 4 and inner.update(scale=5.0))


@program
def context_variable():
    import contextvars
    scale = contextvars.ContextVar("scale", default=1.0)
    return Program(lambda x: x * scale.get(), lambda n: n == 4 and scale.set(5.0))


@program
def thread_local():
    import threading
    kept = threading.local()
    kept.scale = 1.0
    return Program(lambda x: x * kept.scale, lambda n: n == 4 and setattr(kept, "scale", 5.0))


@program
def weakly_held():
    import weakref
    kept = [Empty()]
    reference = weakref.ref(kept[0])
    return Program(lambda x: x if reference() is not None else x * 5, lambda n: n == 4 and kept.clear())


@program
def weak_dictionary():
    import weakref
    kept = [Empty()]
    known = weakref.WeakValueDictionary(one=kept[0])
    return Program(lambda x: x if "one" in known else x * 5, lambda n: n == 4 and kept.clear())


@program
def existing_file():
    where = tempfile.mkdtemp() + "/file"
    return Program(lambda x: x * 5 if os.path.exists(where) else x, lambda n: n == 4 and open(where, "w").close())


@program
def file_of_numbers():
    where = tempfile.mkdtemp() + "/file"
    def between(n):
        np.full(3, 1.0 if n < 4 else 5.0, np.float32).tofile(where)
    return Program(lambda x: x * torch.from_file(where, size=3), between)


@program
def mapped_file():
    where = tempfile.mkdtemp() + "/file"
    np.ones(3, np.float32).tofile(where)
    mapped = np.memmap(where, np.float32, "r+")
    def between(n):
        mapped[:] = 1.0 if n < 4 else 5.0
    return Program(lambda x: x * float(mapped[0]), between)


@program
def counts_in_a_class():
    class Counted:
        made = 0
        def __init__(self):
            type(self).made += 1
    return Program(lambda x: (Counted(), x * Counted.made)[1], seen=lambda: Counted.made)


@program
def counts_in_a_default():
    def factor(seen=[0]):  # noqa: B006
        seen[0] += 1
        return late(seen[0])
    return Program(lambda x: x * factor())


@program
def counts_in_a_global():
    scope: dict = {"N": 0, "late": late}
    exec("def step(x):\n  global N\n  N += 1\n  return x * late(N)\n", scope)
    return Program(scope["step"], seen=lambda: scope["N"])


@program
def branches_on_one_line():
    config = Empty()
    config.on, config.scale = False, 2.0
    def between(n):
        config.on, config.scale = n >= 3, 5.0 if n == 5 else 2.0
    return Program(lambda x: x * (config.scale if config.on else 1.0), between)


@program
def branch_comes_later():
    config = Empty()
    def step(x):
        config.n = getattr(config, "n", 0) + 1
        if config.n == 5:
            config.log = ["five", (config.n,)]
        return x * 2
    return Program(step, seen=lambda: (config.n, getattr(config, "log", None)))


@program
def method_bound_before():
    class Config:
        def scale(self):
            return 1.0
    get = Config().scale
    def between(n):
        if n == 4:
            get.__func__.__code__ = (lambda self: 5.0).__code__
    return Program(lambda x: x * get(), between)


# -- settings

@program
def reads_benchmark():
    def between(n):
        torch.backends.cudnn.benchmark = n >= 4
    return Program(lambda x: x * 2 if torch.backends.cudnn.benchmark else x, between)


@program
def sets_benchmark():
    def step(x):
        torch.backends.cudnn.benchmark = True
        return x * 2
    def between(n):
        torch.backends.cudnn.benchmark = False
    return Program(step, between, lambda: torch.backends.cudnn.benchmark)


@program
def sets_deterministic():
    def step(x):
        torch.use_deterministic_algorithms(True)
        return x * 2
    return Program(step, lambda n: torch.use_deterministic_algorithms(False),
                   torch.are_deterministic_algorithms_enabled)


@program
def reads_deterministic():
    return Program(lambda x: x * 2 if torch.are_deterministic_algorithms_enabled() else x,
                   lambda n: torch.use_deterministic_algorithms(n == 4))


@program
def sets_threads():
    before = torch.get_num_threads()
    def step(x):
        torch.set_num_threads(3)
        return x * 2
    def seen():
        found = torch.get_num_threads()
        torch.set_num_threads(before)
        return found
    return Program(step, seen=seen)


@program
def reads_threads():
    before = torch.get_num_threads()
    def between(n):
        torch.set_num_threads(n + 1)
    def seen():
        torch.set_num_threads(before)
    return Program(lambda x: x * late(torch.get_num_threads()), between, seen)


@program
def sets_precision():
    def step(x):
        torch.set_float32_matmul_precision("high")
        return x * 2
    def seen():
        found = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("highest")
        return found
    return Program(step, seen=seen)


@program
def reads_precision():
    def between(n):
        torch.set_float32_matmul_precision("high" if n >= 4 else "highest")
    def seen():
        torch.set_float32_matmul_precision("highest")
    return Program(lambda x: x * len(torch.get_float32_matmul_precision()), between, seen)


@program
def sets_print_options():
    def step(x):
        torch.set_printoptions(precision=2)
        return x * 2
    def seen():
        found = repr(torch.tensor([1 / 3]))
        torch.set_printoptions(profile="default")
        return found
    return Program(step, seen=seen)


@program
def reads_print_options():
    third = torch.tensor([1 / 3])
    def seen():
        torch.set_printoptions(profile="default")
    return Program(lambda x: x * late(len(repr(third)) - 13), lambda n: torch.set_printoptions(precision=n + 1), seen)


@program
def sets_default_dtype():
    def step(x):
        torch.set_default_dtype(torch.float64)
        return x * 2
    def seen():
        found = torch.get_default_dtype()
        torch.set_default_dtype(torch.float32)
        return found
    return Program(step, seen=seen)


@program
def reads_default_dtype():
    def seen():
        torch.set_default_dtype(torch.float32)
    return Program(lambda x: x * 2 if torch.get_default_dtype() is torch.float64 else x,
                   lambda n: torch.set_default_dtype(torch.float64 if n == 4 else torch.float32), seen)


@program
def reads_grad_mode():
    def seen():
        torch.set_grad_enabled(True)
    return Program(lambda x: x * 2 if torch.is_grad_enabled() else x, lambda n: torch.set_grad_enabled(n != 4), seen)


@program
def sets_anomaly():
    def step(x):
        torch.autograd.set_detect_anomaly(True)
        return x * 2
    def seen():
        found = torch.is_anomaly_enabled()
        torch.autograd.set_detect_anomaly(False)
        return found
    return Program(step, seen=seen)


@program
def numpy_error_state():
    def step(x):
        np.seterr(divide="ignore")
        return x * 2
    def seen():
        found = np.geterr()["divide"]
        np.seterr(divide="warn")
        return found
    return Program(step, seen=seen)


@program
def recursion_limit():
    before = sys.getrecursionlimit()
    def step(x):
        sys.setrecursionlimit(before + 7)
        return x * 2
    def seen():
        found = sys.getrecursionlimit()
        sys.setrecursionlimit(before)
        return found
    return Program(step, seen=seen)


@program
def garbage():
    import gc
    def step(x):
        gc.disable()
        return x * 2
    def seen():
        found = gc.isenabled()
        gc.enable()
        return found
    return Program(step, seen=seen)


# -- numbers that count

class Meter:
    """Something that counts."""

    def __init__(self) -> None:
        self.n, self.kept, self.last = 0, [], None


def counts(name: str):
    """Declare a program whose step counts, and does something with its number."""

    def declared(keep: Callable) -> Callable:
        def make():
            meter = Meter()
            def step(x):
                meter.n += 1
                keep(meter)
                return x * meter.n
            return Program(step, seen=lambda: (meter.n, meter.kept, meter.last))
        make.__name__ = f"counts_{name}"
        return program(make)

    return declared


counts("only")(lambda meter: None)
counts("appends")(lambda meter: meter.kept.append(meter.n))
counts("appends_tuple")(lambda meter: meter.kept.append((meter.n, 1)))
counts("attribute")(lambda meter: setattr(meter, "last", meter.n))
counts("attribute_tuple")(lambda meter: setattr(meter, "last", (meter.n, "a")))
counts("set")(lambda meter: setattr(meter, "last", {meter.n}))
counts("frozenset")(lambda meter: setattr(meter, "last", frozenset([meter.n])))
counts("key")(lambda meter: setattr(meter, "last", {meter.n: 1}))
counts("value")(lambda meter: setattr(meter, "last", {"a": [meter.n]}))
counts("deque")(lambda meter: setattr(meter, "last", collections.deque([meter.n], maxlen=3)))
counts("counter")(lambda meter: setattr(meter, "last", collections.Counter([meter.n])))
counts("json")(lambda meter: setattr(meter, "last", json.dumps({"n": meter.n})))
counts("text")(lambda meter: setattr(meter, "last", f"{meter.n} {meter.n:03d} %d" % meter.n))
counts("float")(lambda meter: setattr(meter, "last", float(meter.n) / 2))
counts("half")(lambda meter: setattr(meter, "last", meter.n / 2))
counts("numpy")(lambda meter: setattr(meter, "last", np.array([meter.n]).tolist()))
counts("numpy_objects")(lambda meter: setattr(meter, "last", np.array([meter.n, None], dtype=object).tolist()))
counts("numpy_scalar")(lambda meter: setattr(meter, "last", np.float32(meter.n).item()))
counts("bytes")(lambda meter: setattr(meter, "last", bytes([meter.n])))
counts("divmod")(lambda meter: setattr(meter, "last", divmod(meter.n, 2)))
counts("pow")(lambda meter: setattr(meter, "last", pow(meter.n, 2, 5)))
counts("range")(lambda meter: setattr(meter, "last", range(meter.n)))
counts("slice")(lambda meter: setattr(meter, "last", slice(meter.n)))
counts("min")(lambda meter: setattr(meter, "last", min(meter.n, 3)))
counts("sum")(lambda meter: setattr(meter, "last", sum([meter.n, 2])))
counts("sorted")(lambda meter: setattr(meter, "last", sorted([meter.n, 2])))
counts("zip")(lambda meter: setattr(meter, "last", list(zip([meter.n], "a", strict=True))))
counts("type")(lambda meter: setattr(meter, "last", type(meter.n).__name__))
counts("isinstance")(lambda meter: setattr(meter, "last", isinstance(meter.n, int)))
counts("complex")(lambda meter: setattr(meter, "last", complex(meter.n, 1)))
counts("bit_length")(lambda meter: setattr(meter, "last", meter.n.bit_length()))
counts("real")(lambda meter: setattr(meter, "last", meter.n.real))
counts("lambda")(lambda meter: setattr(meter, "last", (lambda n=meter.n: n)()))
counts("default")(lambda meter: setattr(meter, "last", (lambda n=meter.n: n).__defaults__))
counts("partial")(lambda meter: setattr(meter, "last", functools.partial(int, meter.n).args))
counts("namespace")(lambda meter: setattr(meter, "last", vars(types.SimpleNamespace(n=meter.n))))
counts("chain")(lambda meter: setattr(meter, "last", list(itertools.accumulate([meter.n, 1]))))
counts("method")(lambda meter: setattr(meter, "last", meter.n.__add__(1)))


@program
def counts_kept_iterator():
    meter = Meter()
    def step(x):
        meter.n += 1
        meter.last = iter([meter.n])
        return x * meter.n
    return Program(step, seen=lambda: list(meter.last))


@program
def counts_kept_closure():
    meter = Meter()
    def step(x):
        meter.n += 1
        n = meter.n
        meter.last = lambda: n
        return x * n
    return Program(step, seen=lambda: meter.last())


@program
def counts_kept_slots():
    class Kept:
        __slots__ = ("n",)
    meter = Meter()
    def step(x):
        meter.n += 1
        kept = Kept()
        kept.n = meter.n
        meter.last = kept
        return x * meter.n
    return Program(step, seen=lambda: meter.last.n)


@program
def counts_kept_generator():
    meter = Meter()
    def step(x):
        meter.n += 1
        n = meter.n
        meter.last = (n + one for one in range(2))
        return x * n
    return Program(step, seen=lambda: list(meter.last))


@program
def counts_kept_error():
    meter = Meter()
    def step(x):
        meter.n += 1
        meter.last = ValueError("a", meter.n)
        return x * meter.n
    return Program(step, seen=lambda: meter.last.args)


@program
def counts_kept_attribute_of_result():
    meter = Meter()
    def step(x):
        meter.n += 1
        y = x * meter.n
        y.number = meter.n
        return y
    made: list = []
    return Program(lambda x: made.append(step(x)) or made[-1], seen=lambda: made[-1].number)


@program
def counts_returned():
    meter = Meter()
    def step(x):
        meter.n += 1
        return x * meter.n, meter.n, {"a": (meter.n, [meter.n])}, {meter.n}, {meter.n: 1}
    return Program(step)


@program
def counts_returned_object():
    meter = Meter()
    def step(x):
        meter.n += 1
        found = types.SimpleNamespace(n=meter.n)
        return x * meter.n, found
    return Program(step)


@program
def counts_raised():
    meter = Meter()
    def step(x):
        meter.n += 1
        if meter.n == 4:
            raise ValueError("four", (meter.n,))
        return x * meter.n
    return Program(step, seen=lambda: meter.n)


@program
def counts_frozen_dataclass():
    import dataclasses
    @dataclasses.dataclass(frozen=True)
    class Point:
        n: int
    meter = Meter()
    def step(x):
        meter.n += 1
        meter.last = Point(meter.n)
        return x * meter.n
    return Program(step, seen=lambda: (meter.last.n, repr(meter.last)[-4:]))


@program
def counts_named_tuple():
    class Point(NamedTuple):
        n: int
    meter = Meter()
    def step(x):
        meter.n += 1
        meter.last = Point(meter.n)
        return x * meter.n
    return Program(step, seen=lambda: meter.last.n)
