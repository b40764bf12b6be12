"""Names that mean something else in a later call: aliases, what was missing, what is replaced, what is computed."""

import collections
import enum
import functools
import math
import operator
import os
import string
import types
from types import SimpleNamespace

import numpy as np

import tapegrad as torch
from tapegrad import load as fetch
from tapegrad import manual_seed as s
from tapegrad import nn
from tapegrad import save as keep
from tests.compiled.declaring import program

F = nn.functional
X = torch.tensor([[1.0, -2.0, 3.0], [0.5, 0.25, -1.0]])
TEXT = "{0.rate}"
LATER: float  # that has no value until it comes


def changing(compile, function, change, at=5, **settings):
    """The usual shape of these: something is changed before a call, once."""
    step = compile(function, **settings)

    def call(n):
        if n == at:
            change()
        return step(X)

    return call, []


@program("manual_seed under another name")
def alias_of_seed(compile):
    def step(x):
        s(0)
        return x + torch.rand(2, 3)

    return changing(compile, step, lambda: None)


@program("save under another name: a file for each call")
def alias_of_save(compile):
    names = []

    def step(x):
        keep(x, f"{len(names)}.pt")
        return x + 1

    call, _ = changing(compile, step, lambda: None)
    return lambda n: (call(n), names.append(n)), []


@program("save to the same file each time, which is removed between the calls")
def save_again(compile):
    call, _ = changing(compile, lambda x: (keep(x, "x.pt"), x + 1)[1], lambda: None)

    def remove_and_call(n):
        found = call(n)
        exists = os.path.exists("x.pt")
        if exists:
            os.remove("x.pt")
        return found, exists

    return remove_and_call, []


@program("load under another name, of a file that changes")
def alias_of_load(compile):
    keep(X, "x.pt")
    return changing(compile, lambda x: x + fetch("x.pt"), lambda: keep(X * 3, "x.pt"))


@program("np.load of a file that changes")
def numpy_load(compile):
    np.save("x.npy", X.numpy())
    return changing(compile, lambda x: x + torch.tensor(np.load("x.npy")), lambda: np.save("x.npy", X.numpy() * 3))


@program("np.savez_compressed")
def savez_compressed(compile):
    call, _ = changing(compile, lambda x: (np.savez_compressed("x.npz", a=np.ones(2)), x + 1)[1], lambda: None)

    def remove_and_call(n):
        found = call(n)
        exists = os.path.exists("x.npz")
        if exists:
            os.remove("x.npz")
        return found, exists

    return remove_and_call, []


@program("np.savetxt, tofile, np.save by a method and an alias")
def numpy_writes(compile):
    array, write = np.ones(2), np.savetxt

    def step(x):
        write("a.txt", array)
        array.tofile("b.bin")
        return x + 1

    call, _ = changing(compile, step, lambda: None)

    def remove_and_call(n):
        found = call(n), os.path.exists("a.txt"), os.path.exists("b.bin")
        for name in ("a.txt", "b.bin"):
            if os.path.exists(name):
                os.remove(name)
        return found

    return remove_and_call, []


@program("getattr with a default, of an attribute that comes later")
def missing_attribute(compile):
    config = SimpleNamespace(other=1)
    return changing(compile, lambda x: x * getattr(config, "scale", 1.0), lambda: setattr(config, "scale", 3.0))


@program("hasattr of an attribute that comes later")
def hasattr_later(compile):
    class Model:
        pass

    model = Model()
    return changing(compile, lambda x: x * (2 if hasattr(model, "bias") else 1), lambda: setattr(model, "bias", 3.0))


@program("an attribute of a class that comes later")
def missing_of_class(compile):
    class Config:
        pass

    return changing(compile, lambda x: x * getattr(Config, "scale", 1.0), lambda: setattr(Config, "scale", 3.0))


@program("an attribute of a base that comes later")
def missing_of_base(compile):
    class Base:
        pass

    class Config(Base):
        pass

    config = Config()
    return changing(compile, lambda x: x * getattr(config, "scale", 1.0), lambda: setattr(Base, "scale", 3.0))


@program("an attribute of a function that comes later")
def missing_of_function(compile):
    def helper(x):
        return x * getattr(helper, "scale", 1.0)

    return changing(compile, lambda x: helper(x), lambda: setattr(helper, "scale", 3.0))


@program("an attribute of a function that changes")
def attribute_of_function(compile):
    def helper(x):
        return x * helper.scale

    helper.scale = 1.0
    return changing(compile, lambda x: helper(x), lambda: setattr(helper, "scale", 3.0))


@program("an attribute of a module of Python's that comes later")
def missing_of_module(compile):
    settings = types.ModuleType("settings")
    return changing(compile, lambda x: x * getattr(settings, "scale", 1.0), lambda: setattr(settings, "scale", 3.0))


@program("a module's __getattr__")
def module_getattr(compile):
    values = {"scale": 1.0}
    settings = types.ModuleType("settings")
    settings.__getattr__ = lambda name: values[name]
    return changing(compile, lambda x: x * settings.scale, lambda: values.update(scale=3.0))


@program("an instance's __getattr__")
def instance_getattr(compile):
    values = {"scale": 1.0}

    class Lazy:
        def __getattr__(self, name):
            return values[name]

    lazy = Lazy()
    return changing(compile, lambda x: x * lazy.scale, lambda: values.update(scale=3.0))


@program("an attribute that shadows what __getattr__ gave")
def shadows_getattr(compile):
    class Lazy:
        def __getattr__(self, name):
            return 1.0

    lazy = Lazy()
    return changing(compile, lambda x: x * lazy.scale, lambda: vars(lazy).update(scale=3.0))


@program("a global that comes later and was caught as a NameError")
def missing_global(compile):
    def step(x):
        try:
            return x * LATER
        except NameError:
            return x * 1

    return changing(compile, step, lambda: globals().update(LATER=3.0))


@program("a builtin that is shadowed by a global")
def shadowed_builtin(compile):
    return changing(compile, lambda x: x * max(1.0, 2.0), lambda: globals().update(max=lambda *of: 5.0))


@program("a key that is missing in a dict: get with a default")
def missing_key(compile):
    config = {"other": 1}
    return changing(compile, lambda x: x * config.get("scale", 1.0), lambda: config.update(scale=3.0))


@program("os.environ.get of a variable that comes later")
def missing_variable(compile):
    return changing(
        compile, lambda x: x * float(os.environ.get("STEP_SCALE", "1")), lambda: os.environ.update(STEP_SCALE="3")
    )


@program("a member of an enumeration whose value's attribute changes")
def enum_member(compile):
    class Mode(enum.Enum):
        fast = types.SimpleNamespace(scale=1.0)

    return changing(compile, lambda x: x * Mode.fast.value.scale, lambda: setattr(Mode.fast.value, "scale", 3.0))


@program("an attribute of a member of an enumeration")
def enum_attribute(compile):
    class Mode(enum.Enum):
        fast = 1

    Mode.fast.scale = 1.0
    return changing(compile, lambda x: x * Mode.fast.scale, lambda: setattr(Mode.fast, "scale", 3.0))


@program("C.__bases__ is replaced")
def bases(compile):
    class First:
        scale = 1.0

    class Second:
        scale = 3.0

    class Config(First):
        pass

    config = Config()
    return changing(compile, lambda x: x * config.scale, lambda: setattr(Config, "__bases__", (Second,)))


@program("the class of an object is replaced")
def class_replaced(compile):
    class First:
        scale = 1.0

    class Second:
        scale = 3.0

    thing = First()
    return changing(compile, lambda x: x * thing.scale, lambda: setattr(thing, "__class__", Second))


@program("a function of torch is replaced")
def torch_replaced(compile):
    before = torch.relu
    call, _ = changing(compile, lambda x: torch.relu(x), lambda: setattr(torch, "relu", lambda x: x * 5))

    def put_back(n):
        try:
            return call(n)
        finally:
            if n == 7:
                torch.relu = before

    return put_back, []


@program("a function of torch.nn.functional is replaced")
def functional_replaced(compile):
    before, net = F.linear, nn.Linear(3, 2)
    call, _ = changing(compile, lambda x: net(x).detach(), lambda: setattr(F, "linear", lambda x, w, b: x * 5))

    def put_back(n):
        try:
            return call(n)
        finally:
            if n == 7:
                F.linear = before

    return put_back, []


@program("a method of Tensor is replaced")
def method_replaced(compile):
    before = torch.Tensor.relu
    call, _ = changing(compile, lambda x: x.relu(), lambda: setattr(torch.Tensor, "relu", lambda x: x * 5))

    def put_back(n):
        try:
            return call(n)
        finally:
            if n == 7:
                torch.Tensor.relu = before

    return put_back, []


@program("forward of a module's class is replaced")
def forward_replaced(compile):
    net = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
    before = nn.ReLU.forward
    call, _ = changing(compile, lambda x: net(x).detach(), lambda: setattr(nn.ReLU, "forward", lambda self, x: x * 5))

    def put_back(n):
        try:
            return call(n)
        finally:
            if n == 7:
                nn.ReLU.forward = before

    return put_back, []


@program("forward of an instance is replaced")
def instance_forward(compile):
    net = nn.Linear(3, 2)
    return changing(compile, lambda x: net(x).detach(), lambda: setattr(net, "forward", lambda x: x * 5))


@program("a function of NumPy is replaced")
def numpy_replaced(compile):
    before = np.sqrt
    call, _ = changing(compile, lambda x: x * float(np.sqrt(4.0)), lambda: setattr(np, "sqrt", lambda x: 5.0))

    def put_back(n):
        try:
            return call(n)
        finally:
            if n == 7:
                np.sqrt = before

    return put_back, []


@program("a function of math is replaced")
def math_replaced(compile):
    before = math.sqrt
    call, _ = changing(compile, lambda x: x * math.sqrt(4.0), lambda: setattr(math, "sqrt", lambda x: 5.0))

    def put_back(n):
        try:
            return call(n)
        finally:
            if n == 7:
                math.sqrt = before

    return put_back, []


@program("a format string reads an attribute")
def format_attribute(compile):
    config = SimpleNamespace(rate=1.0)
    return changing(compile, lambda x: x * float(TEXT.format(config)), lambda: setattr(config, "rate", 3.0))


@program("format_map and vformat")
def format_map(compile):
    config = {"c": SimpleNamespace(rate=1.0)}
    return changing(
        compile,
        lambda x: x * float("{c.rate}".format_map(config)) * float(string.Formatter().vformat("{c.rate}", (), config)),
        lambda: setattr(config["c"], "rate", 3.0),
    )


@program("an f-string calls __format__ and __str__")
def format_method(compile):
    class Rate:
        value = 1.0

        def __format__(self, spec):
            return str(self.value)

        def __str__(self):
            return str(self.value)

    rate = Rate()
    return changing(compile, lambda x: x * float(f"{rate:x}") * float("%s" % rate), lambda: setattr(rate, "value", 3.0))  # noqa: UP031


@program("operator.attrgetter and itemgetter of computed names")
def attrgetter(compile):
    config, read = SimpleNamespace(rate=1.0), operator.attrgetter("ra" + "te")
    return changing(compile, lambda x: x * read(config), lambda: setattr(config, "rate", 3.0))


@program("vars() and a computed key")
def through_vars(compile):
    config = SimpleNamespace(rate=1.0)
    return changing(compile, lambda x: x * vars(config)["ra" + "te"], lambda: setattr(config, "rate", 3.0))


@program("globals() and a computed key")
def through_globals(compile):
    globals()["RATE"] = 1.0
    return changing(compile, lambda x: x * globals()["RA" + "TE"], lambda: globals().update(RATE=3.0))


@program("eval of a text")
def through_eval(compile):
    config = {"rate": 1.0}
    return changing(compile, lambda x: x * eval("rate", {}, config), lambda: config.update(rate=3.0))


@program("a global read in a custom_op")
def custom_op_global(compile):
    globals()["FACTOR"] = 1.0

    @torch.library.custom_op("steps::scaled", mutates_args=())
    def scaled(x: torch.Tensor) -> torch.Tensor:
        return x * FACTOR  # noqa: F821

    return changing(compile, lambda x: scaled(x), lambda: globals().update(FACTOR=3.0))


@program("a global read in a custom Function's backward")
def custom_backward_global(compile):
    globals()["SLOPE"] = 1.0

    class Straight(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.round()

        @staticmethod
        def backward(ctx, g):
            return g * SLOPE  # noqa: F821

    def step(x):
        x = x.clone().requires_grad_()
        Straight.apply(x).sum().backward()
        return x.grad

    return changing(compile, step, lambda: globals().update(SLOPE=3.0))


@program("a hook on a parameter reads a closure")
def hook_reads(compile):
    config, net = SimpleNamespace(scale=1.0), nn.Linear(3, 1)
    net.weight.register_hook(lambda g: g * config.scale)

    def step(x):
        net.zero_grad()
        net(x).sum().backward()
        return net.weight.grad.clone()

    return changing(compile, step, lambda: setattr(config, "scale", 3.0))


@program("map, sorted(key=), partial and reduce call functions of the user's")
def called_by_c(compile):
    config = SimpleNamespace(scale=1.0)

    def scaled(x):
        return x * config.scale

    scaled_twice = functools.partial(lambda f, x: f(f(x)), scaled)

    def step(x):
        rows = list(map(scaled, x))
        order = sorted(range(3), key=lambda i: i * config.scale * (-1 if config.scale > 2 else 1))
        return torch.stack(rows)[:, order] + functools.reduce(lambda a, b: a + scaled(b), [1.0, 2.0]) + scaled_twice(x)

    return changing(compile, step, lambda: setattr(config, "scale", 3.0))


@program("__missing__ of a dict, and a defaultdict's factory")
def missing_item(compile):
    scale = {"now": 1.0}

    class Lazy(dict):
        def __missing__(self, key):
            return scale["now"]

    lazy, filled = Lazy(), collections.defaultdict(lambda: scale["now"])
    return changing(compile, lambda x: x * lazy["a"] * filled["a"], lambda: scale.update(now=3.0))


@program("a descriptor and a property of a metaclass")
def descriptors(compile):
    values = {"scale": 1.0}

    class Reads:
        def __get__(self, instance, owner):
            return values["scale"]

    class Meta(type):
        @property
        def other(cls):
            return values["scale"]

    class Config(metaclass=Meta):
        scale = Reads()

    return changing(compile, lambda x: x * Config().scale * Config.other, lambda: values.update(scale=3.0))


@program("lru_cache is cleared and what it computes from has changed")
def cached_function(compile):
    config = SimpleNamespace(scale=1.0)

    @functools.lru_cache
    def scale():
        return config.scale

    def change():
        config.scale = 3.0
        scale.cache_clear()

    return changing(compile, lambda x: x * scale(), change)


@program("a weak reference that dies")
def weak_reference(compile):
    import weakref

    class Thing:
        scale = 3.0

    things = [Thing()]
    alive = weakref.ref(things[0])
    return changing(compile, lambda x: x * (alive().scale if alive() else 1.0), things.clear)


@program("code of a helper is replaced")
def code_replaced(compile):
    def helper(x):
        return x * 1

    def other(x):
        return x * 3

    return changing(compile, lambda x: helper(x), lambda: setattr(helper, "__code__", other.__code__))


@program("a cell of a closure changes by nonlocal")
def cell_changes(compile):
    scale = 1.0

    def change():
        nonlocal scale
        scale = 3.0

    return changing(compile, lambda x: x * scale, change)


@program("what is read between operators whose kernels the first call traces")
def read_between_new_kernels(compile):
    config, w = SimpleNamespace(scale=2.0, power=3), torch.ones(7, 3, requires_grad=True)

    def scaled(x):
        return torch.logaddexp(x, x * config.scale).sinc()

    def step(x):
        loss = (scaled(torch.nn.functional.pad(x, (0, 0, 2, 3)) @ w.t() / 7) ** config.power).mean()
        loss.backward()
        return loss.detach()

    return changing(compile, step, lambda: setattr(config, "scale", 0.5))
