"""Objects that calls make and return: whose they are, who else has them, what their classes do."""

import abc
import collections
import dataclasses
import functools
import logging
import typing
import weakref

import tapegrad as torch
from tapegrad import nn
from tests.compiled.declaring import mlp, program, regression, sgd, watched

X = torch.tensor([[1.0, -2.0, 3.0], [0.5, 0.25, -1.0]])


class Output:
    """An object as users write them."""

    def __init__(self, y, **more):
        self.y, self.history = y, [y]
        self.__dict__.update(more)

    def total(self):
        return float(self.y.sum())


class Slots:
    """In slots, one of which is not always set."""

    __slots__ = ("y", "__inner", "unset", "__dict__")

    def __init__(self, y):
        self.y, self.__inner, self.extra = y, (y + 1,), {"a": y}

    def inner(self):
        return self.__inner


class Careful:
    """With descriptors, ``__setattr__``, ``__new__`` and ``__init__`` of its own, which are not to be called again."""

    made = []

    def __new__(cls, *args):
        return super().__new__(cls)

    def __init__(self, y):
        self.__dict__["_y"] = y

    def __setattr__(self, name, value):
        raise AttributeError("it can't be changed")

    @property
    def _y(self):
        raise AttributeError("hidden")

    @_y.setter
    def _y(self, value):
        self.__dict__["_y"] = value * 2

    def get(self):
        return self.__dict__["_y"]


class Base(abc.ABC):
    """An abstract class."""

    @abc.abstractmethod
    def get(self):
        """Something."""


class Derived(Base, typing.Generic[typing.TypeVar("T")]):
    """A class of several bases."""

    kind = "derived"

    def __init__(self, y):
        self.y = y

    def get(self):
        return self.y


@dataclasses.dataclass
class Record:
    """A dataclass with an object inside."""

    y: typing.Any
    output: typing.Any = None


def returning(compile, make):
    """A step that returns what is made of its result; what it keeps is observed."""
    kept = []

    @compile
    def step(x):
        return make(x * 2, kept)

    return lambda n: step(X * (n + 1)), kept


@program("an object is returned")
def object_returned(compile):
    return returning(compile, lambda y, kept: Output(y, number=3, name="a"))


@program("objects in objects, in lists and dictionaries")
def objects_nested(compile):
    return returning(compile, lambda y, kept: {"a": [Output(y, inner=Output(y + 1))], "b": (Slots(y), Derived(y))})


@program("an object twice, a list twice, a tensor twice")
def object_twice(compile):
    def make(y, kept):
        one, things = Output(y), [y]
        return one, one, [things, things, {"one": one}], one.history

    call, kept = returning(compile, make)

    def seen(n):
        a, b, (things, others, inside), history = call(n)
        return a is b, things is others, inside["one"] is a, history is a.history, a.y is things[0], a.total()

    return seen, kept


@program("objects in a circle")
def object_in_circle(compile):
    def make(y, kept):
        parent, child = Output(y), Output(y + 1)
        parent.children, child.parent = [child], parent
        child.around = (child.parent.children,)
        return parent

    call, kept = returning(compile, make)

    def seen(n):
        parent = call(n)
        [child] = parent.children
        return child.parent is parent, child.around[0] is parent.children, parent.total(), child.total()

    return seen, kept


@program("a long chain of objects")
def objects_in_chain(compile):
    def make(y, kept):
        last = None
        for number in range(600):
            last = Output(y, number=number, last=last)
        return last

    call, kept = returning(compile, make)
    return lambda n: call(n).last.last.number, kept


@program("an object in slots")
def object_in_slots(compile):
    call, kept = returning(compile, lambda y, kept: Slots(y))

    def seen(n):
        one = call(n)
        return one.y, one.inner(), one.extra, hasattr(one, "unset"), list(vars(one))

    return seen, kept


@program("an object of a class with methods of its own for everything")
def object_careful(compile):
    call, kept = returning(compile, lambda y, kept: Careful(y))

    def seen(n):
        one = call(n)
        return one.get(), list(vars(one))

    return seen, kept


@program("an object is changed by who gets it")
def object_changed_outside(compile):
    call, kept = returning(compile, lambda y, kept: Output(y, names=["a"], inside={"b": [1]}))

    def change(n):
        one = call(n)
        one.names.append(n)
        one.inside["b"].append(n)
        one.history.clear()
        one.y.add_(1)
        return one

    return change, kept


def kept_in_list(compile, make):
    """A step that returns what ``make`` gives, and appends it to a list."""
    kept = []

    @compile
    def step(x):
        one = make(x * 2)
        kept.append(one)
        return one

    return lambda n: step(X) is kept[-1], kept


@program("an object is returned, and appended to a list")
def object_kept_in_list(compile):
    return kept_in_list(compile, lambda x: Output(x))


@program("a list is returned, and appended to a list")
def list_kept_in_list(compile):
    return kept_in_list(compile, lambda x: [x])


@program("a dataclass is returned, and appended to a list")
def dataclass_kept_in_list(compile):
    kept = []

    @compile
    def step(x):
        one = Record(x * 2)
        kept.append({"one": one})
        return one

    return lambda n: step(X) is kept[-1]["one"], kept


@program("objects are appended to a list")
def objects_appended(compile):
    kept = []

    @compile
    def step(x):
        kept.append(Derived(x * 2))

    return lambda n: step(X * (n + 1)), kept


@program("an argument's list, dictionary or dataclass is returned")
def argument_returned(compile):
    step = compile(lambda x, things: (x * 2, things))

    def call(n):
        things = [X, {"a": X}, Record(X)]
        given = step(X * (n + 1), things)[1]
        return [given is things, given[1] is things[1], given[2] is things[2]]

    return call, None


@program("a dataclass that is an argument is returned")
def dataclass_argument_returned(compile):
    step = compile(lambda record: record)

    def call(n):
        record = Record(X * (n + 1))
        return step(record) is record

    return call, None


@program("an object is kept by a weak dictionary")
def object_in_weak_dictionary(compile):
    known = weakref.WeakKeyDictionary()

    @compile
    def step(x):
        one = Output(x * 2)
        known[one] = 1
        return one

    def call(n):
        one = step(X * (n + 1))
        return len(known), one in known, one

    return call, None


@program("an object has a weak reference to it")
def object_weakly(compile):
    def make(y, kept):
        one = Output(y)
        kept[:] = [weakref.ref(one)]
        return one

    call, kept = returning(compile, make)
    return lambda n: kept[0]() is call(n) if n else call(n) and None, None


@program("an object knows another one weakly")
def object_weakly_inside(compile):
    def make(y, kept):
        one = Output(y)
        one.other = Output(y + 1, parent=weakref.ref(one))
        return one

    call, _kept = returning(compile, make)
    return lambda n: (one := call(n)) and one.other.parent() is one, None


class Dying:
    """Its end is told."""

    ended = 0

    def __init__(self, y):
        self.y = y

    def __del__(self):
        Dying.ended += 1


@program("an object's end is told")
def object_dying(compile):
    call, _kept = returning(compile, lambda y, kept: Dying(y))

    def seen(n):
        one, before = call(n), Dying.ended
        del one
        return Dying.ended - before

    return seen, None


class Registered:
    """All instances are known to their class."""

    instances = {}
    count = 0

    def __init__(self, y):
        Registered.count += 1
        self.y, self.number = y, Registered.count
        self.instances["last"] = self


@program("an object is registered with its class")
def object_registered(compile):
    call, _kept = returning(compile, lambda y, kept: Registered(y))

    def seen(n):
        one = call(n)
        return Registered.instances["last"] is one, one.number, Registered.count

    return seen, None


class Shared:
    """There is one instance only."""

    only = None

    def __new__(cls):
        if cls.only is None:
            cls.only = super().__new__(cls)
        return cls.only


@program("an object that there is once")
def object_only_one(compile):
    def make(y, kept):
        one = Shared()
        one.y = y
        return one

    call, _kept = returning(compile, make)
    return lambda n: call(n) is Shared.only and Shared.only.y, None


@program("an object that was there before is in a new one")
def object_from_before(compile):
    config, inner = Output(X), Output(X + 1, n=0)

    @compile
    def step(x):
        return Output(x * config.y, config=config, kind=Output, function=mlp, inner=inner)

    def call(n):
        one = step(X * (n + 1))
        return one.config is config, one.kind is Output, one.function is mlp, one.inner is inner, one.total()

    return call, config


@program("an object from before takes turns with another")
def object_in_turn(compile):
    pair = [Output(X), Output(X + 1)]

    @compile
    def step(x):
        return Output(x * 2, config=pair[0])

    def call(n):
        if n % 3 == 2:
            pair.reverse()
        one = step(X)
        return one.config is pair[0]

    return call, pair


@program("an object is an attribute, too")
def object_kept_in_attribute(compile):
    net = mlp()
    net.last = None

    @compile
    def step(x):
        net.last = Output(net(x))
        return net.last

    return lambda n: step(X * (n + 1)) is net.last, net


@program("an object's dictionary is kept")
def dictionary_kept(compile):
    def make(y, kept):
        one = Output(y)
        kept.append(vars(one))
        return one

    call, kept = returning(compile, make)
    return lambda n: vars(call(n)) is kept[-1], None


@program("an object is an item of an iterator, and a key")
def object_as_key(compile):
    def make(y, kept):
        one = Output(y)
        return {one: y, "it": iter([one])}

    call, _kept = returning(compile, make)

    def seen(n):
        given = call(n)
        return next(given["it"]) is next(iter(given))

    return seen, None


class Equal:
    """All are equal, and have the same hash."""

    def __init__(self):
        self.things = []

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1


@program("keys that are made anew, and are all equal")
def keys_equal(compile):
    call, _kept = returning(compile, lambda y, kept: {Equal(): y})

    def seen(n):
        [key] = call(n)
        key.things.append(n)
        return key.things

    return seen, None


@program("an object with a method, a closure, a generator of its own")
def object_with_methods(compile):
    def make(y, kept):
        one = Output(y)
        one.bound, one.closed, one.going = one.total, lambda: one.y, (i for i in range(3))
        return one

    call, _kept = returning(compile, make)

    def seen(n):
        one = call(n)
        return one.bound(), one.closed() is one.y, next(one.going)

    return seen, None


class Cache:
    """A cache of keys and values, as libraries have them."""

    def __init__(self, config):
        self.layers, self.config, self.layer_class = [], config, Layer

    def update(self, number, keys, values):
        while len(self.layers) <= number:
            self.layers.append(self.layer_class())
        return self.layers[number].update(keys, values)


class Layer(Base):
    """A layer of it."""

    is_sliding = False

    def __init__(self):
        self.keys = self.values = None
        self.is_initialized = False

    def update(self, keys, values):
        if not self.is_initialized:
            self.dtype, self.device, self.is_initialized = keys.dtype, keys.device, True
            self.keys, self.values = keys[..., :0], values[..., :0]
        self.keys, self.values = torch.cat([self.keys, keys], -1), torch.cat([self.values, values], -1)
        return self.keys, self.values

    def get(self):
        return self.keys


@program("a model that returns its cache")
def cache_returned(compile):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin, self.settings = nn.Linear(3, 3), Output(None, width=3)

        def forward(self, x, use_cache=True):
            cache = Cache(self.settings) if use_cache else None
            for number in range(2):
                keys, values = cache.update(number, self.lin(x), x)
                x = x + keys * values
            return {"x": x, "cache": cache}

    net = Net()
    model, opt = compile(net), sgd(net)

    def call(n):
        x, _ = regression(n)
        found = model(x)
        loss = found["x"].square().mean() + found["cache"].layers[1].keys.mean()
        loss.backward()
        opt.step()
        opt.zero_grad()
        cache = found["cache"]
        parts = [type(cache.layers), cache.layers[0].dtype, cache.layers[1].is_initialized, *vars(cache.layers[0])]
        return loss.detach(), cache.config is net.settings, cache.layers[0].get().detach(), parts

    return call, net


@program("numbers that are read late, in an object")
def numbers_in_object(compile):
    net = mlp()
    opt = sgd(net)

    @compile
    def step(x, y):
        loss = (net(x) - y).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return Output(loss.detach(), loss=loss.item(), all=[(loss.item(), {"again": loss.item()})])

    return lambda n: step(*regression(n)), net


@program("numbers that count, in an object")
def counts_in_object(compile):
    counter = collections.Counter()

    @compile
    def step(x):
        counter["n"] += 1
        one = Output(x * counter["n"], n=counter["n"], pair=(counter["n"], [counter["n"]]))
        one.me = one
        return one

    def call(n):
        one = step(X)
        return one.n, type(one.n), one.pair, one.y, one.me is one

    return call, counter


@program("whether jax traces is asked of a tensor")
def asks_for_tracer(compile):
    net = mlp()

    def is_traced(x):
        try:
            import jax

            return isinstance(x.jax(), jax.core.Tracer)
        except Exception:
            return False

    @compile
    def step(x):
        y = net(x)
        return y.detach() * (2 if is_traced(y) else 3), is_traced(x), is_traced(y.detach()), isinstance(x.jax(), float)

    return lambda n: step(regression(n)[0]), net


@program("an argument's array steers, another is kept")
def jax_array_steers(compile):
    kept = []

    @compile
    def step(x):
        y = x * 2
        with torch.no_grad():
            kept.append(y.jax().tolist())
            return x + 1 if float(x.jax().sum()) > 0 else x - 1

    return lambda n: step(regression(n)[0]), kept


@program("an array of jax's comes back as a tensor")
def jax_array_returns(compile):
    mask = torch.tensor([1.0, 0.0, 1.0])

    @compile
    def step(x):
        return torch.from_jax_array(x.jax() * 2) + torch.from_jax_array(mask.jax()) * x

    def call(n):
        if n == 6:
            mask.add_(1)
        return step(regression(n)[0])

    return call, mask


@program("isinstance is another function", raises=True)
def isinstance_replaced(compile):
    globals()["isinstance"] = lambda thing, kind: float(thing.sum()) > 0

    @compile
    def step(x):
        return x * 2 if isinstance(x.jax(), float) else x * 3

    return lambda n: step(regression(n)[0]), None


@program("a logger whose level is asked for, and one that warns once")
def logger_asked(compile):
    logger = logging.getLogger("attacks_objects")
    logger.setLevel(20)
    logger.disabled, logger.extra = False, []

    @functools.lru_cache(None)
    def warn_once(logger, text):
        logger.extra.append(text)

    @compile
    def step(x):
        warn_once(logger, "it is so")
        y = x * 2 if logger.level < 25 else x * 3
        return y if not logger.disabled else -y

    def call(n):
        if n % 4 == 3:
            logger.setLevel(30 - (n % 8))
        logger.disabled = n > 9
        return step(X), logger.level

    return call, logger.extra


@program("a logger that logs")
def logger_logs(compile):
    logger, told = logging.getLogger("attacks_objects.2"), []
    logger.propagate = False
    logger.handlers[:] = [handler := logging.Handler()]
    handler.emit = lambda record: told.append(record.getMessage())

    @compile
    def step(x):
        if logger.isEnabledFor(30):
            logger.warning("it goes on")
        return x * 2

    def call(n):
        logger.setLevel(30 if n % 6 < 4 else 40)
        return step(X)

    return call, told


def folds(compile, read):
    """Models that a step is given, each for six calls, with their optimizers."""

    @compile
    def step(model, opt, x, y):
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        opt.step()
        return read(loss)

    now = []

    def call(n):
        if n % 6 == 0:
            net = watched(mlp())
            now[:] = net, watched(sgd(net, momentum=0.9))
        return step(*now, *regression(n))

    return call, now


@program("a model and an optimizer are given for each fold, and dropped", calls=30)
def folds_replayed(compile):
    return folds(compile, torch.Tensor.detach)


@program("a model and an optimizer are given for each fold, and dropped; the loss is read", calls=30)
def folds_read(compile):
    return folds(compile, torch.Tensor.item)
