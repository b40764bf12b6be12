"""Objects of the user's that come anew in each call, as batches do: what Python may see of them, and do to them."""

import collections
import itertools
import random
import weakref
from types import SimpleNamespace

import tapegrad as torch
from tapegrad import nn
from tests.compiled.declaring import mlp, program, regression, sgd, watched

X = torch.tensor([[1.0, -2.0, 3.0], [0.5, 0.25, -1.0]])
CALLS = 14
"""An object is known to be another one in each call from the third on; it is replayed some calls later."""


class Batch:
    """A batch as people write them."""

    scale = 2.0

    def __init__(self, seed, **more):
        self.x, self.y = map(watched, regression(seed))
        self.__dict__.update(more)

    @property
    def scaled(self):
        return self.x * self.scale

    def to(self, dtype):
        new = object.__new__(type(self))
        new.__dict__.update({k: v.to(dtype) for k, v in self.__dict__.items() if isinstance(v, torch.Tensor)})
        return new

    def __len__(self):
        return len(self.x)


class Record(collections.UserDict):
    """A dictionary whose items are attributes, as of tokenizers."""

    def __getattr__(self, name):
        if name == "data":
            raise AttributeError(name)
        try:
            return self.data[name]
        except KeyError:
            raise AttributeError(name) from None


def each(compile, make, use):
    """A call with a new object."""
    step = compile(use)
    return lambda n: step(make(n)), []


@program("a batch that is an object trains a net", calls=CALLS)
def object_trains(compile):
    net = mlp()
    opt = sgd(net)

    def step(batch):
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(batch.scaled), batch.y)
        loss.backward()
        opt.step()
        return loss.detach()

    call, _ = each(compile, Batch, step)
    return call, [net]


@program("a compiled net is given an object", calls=CALLS)
def net_of_object(compile):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = mlp()

        def forward(self, batch):
            return self.net(batch.scaled) * len(batch)

    net = Net()
    opt, model = sgd(net, lr=0.01), compile(net)

    def call(n):
        batch = Batch(n)
        loss = nn.functional.mse_loss(model(batch), batch.y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return call, [net]


@program("a record whose items are attributes", calls=CALLS)
def record(compile):
    def make(n):
        x, y = regression(n)
        return Record(x=x, y=y)

    return each(compile, make, lambda one: (one.x * one["y"]).sum() + len(one) + ("z" in one))


@program("a namespace", calls=CALLS)
def namespace(compile):
    return each(
        compile, lambda n: SimpleNamespace(x=regression(n)[0], k=3), lambda one: one.x * one.k + hasattr(one, "z")
    )


@program("an object in an object, in lists and dictionaries", calls=CALLS)
def nested(compile):
    def make(n):
        inner = Batch(n)
        return Batch(n, inner=inner, parts=[inner.x, {"y": inner.y, "of": Batch(n + 1)}])

    return each(compile, make, lambda b: b.inner.x * b.parts[0] + b.parts[1]["y"] + b.parts[1]["of"].scaled)


@program("a class attribute changes between the calls", calls=2 * CALLS)
def class_changes(compile):
    class Mine(Batch):
        pass

    step = compile(lambda b: b.x * b.scale)

    def call(n):
        Mine.scale = 2.0 if n % CALLS < CALLS - 3 else 5.0
        return step(Mine(n))

    return call, []


@program("a method is replaced between the calls", calls=CALLS)
def method_changes(compile):
    class Mine(Batch):
        def value(self):
            return self.x + 1

    step = compile(lambda b: b.value())

    def call(n):
        if n == CALLS - 2:
            Mine.value = lambda self: self.x - 1
        return step(Mine(n))

    return call, []


@program("a method of an object's own hides that of its class", calls=CALLS)
def method_of_its_own(compile):
    def make(n):
        return Batch(n, to=(lambda dtype: SimpleNamespace(x=regression(0)[0])) if n == CALLS - 2 else Batch.to)

    step = compile(lambda b: b.to(torch.float64).x if "to" not in vars(b) else b.x)

    def call(n):
        one = make(n)
        if n % 2:
            del one.to
        return step(one)

    return call, []


@program("an attribute comes late", calls=CALLS)
def late_attribute(compile):
    step = compile(lambda b: b.x * getattr(b, "weight", 1.0) + hasattr(b, "mask"))
    more = {CALLS - 3: {"weight": 3.0}, CALLS - 1: {"mask": 0}}
    return lambda n: step(Batch(n, **more.get(n, {}))), []


@program("the order of attributes matters", calls=CALLS)
def order_of_attributes(compile):
    def make(n):
        one = Batch(n)
        if n >= CALLS - 3:
            one.x = one.__dict__.pop("x")
        return one

    return each(compile, make, lambda b: sum(v.sum() * i for i, v in enumerate(vars(b).values(), 1)))


@program("an attribute is a number that counts", calls=CALLS)
def number_counts(compile):
    return each(compile, lambda n: Batch(n, number=n), lambda b: b.x * b.number)


@program("an attribute is a text, or a flag, that changes", calls=CALLS)
def text_changes(compile):
    def step(b):
        return b.x * 2 if b.mode == "a" and b.flag else b.x - 1

    return each(compile, lambda n: Batch(n, mode="ab"[n % 5 == 4], flag=n % 7 != 6), step)


@program("it is written into the object", calls=CALLS)
def writes_attribute(compile):
    step = compile(lambda b: setattr(b, "h", b.x * 2))

    def call(n):
        one = Batch(n)
        step(one)
        return one.h

    return call, []


@program("an attribute is replaced", calls=CALLS)
def replaces_attribute(compile):
    def step(b):
        b.x = b.x * 2
        return b.x.sum()

    compiled = compile(step)

    def call(n):
        one = Batch(n)
        return compiled(one), one.x

    return call, []


@program("a tensor in the object is written to", calls=CALLS)
def writes_tensor(compile):
    compiled = compile(lambda b: b.x.mul_(2).sum())

    def call(n):
        one = Batch(n)
        return compiled(one), one.x

    return call, []


@program("a list in the object grows", calls=CALLS)
def list_grows(compile):
    def step(b):
        b.seen.append(b.x * 2)
        return b.x.sum()

    compiled = compile(step)

    def call(n):
        one = Batch(n, seen=[])
        return compiled(one), one.seen

    return call, []


@program("the object is kept", calls=CALLS)
def kept(compile):
    last = []

    def step(b):
        last[:] = [b]
        return b.x * 2

    compiled = compile(step)

    def call(n):
        one = Batch(n)
        return compiled(one), last[0] is one, last[0].x

    return call, []


@program("the object is appended to a list", calls=CALLS)
def appended(compile):
    last = []

    def step(b):
        last.append(b)
        return b.x * 2

    compiled = compile(step)

    def call(n):
        one = Batch(n)
        return compiled(one), last[-1] is one, len(last)

    return call, []


@program("the object comes back", calls=CALLS)
def comes_back(compile):
    compiled = compile(lambda b: (b, b.x * 2))

    def call(n):
        one = Batch(n)
        back, y = compiled(one)
        return back is one, back.x is one.x, y

    return call, []


@program("the object comes back inside of another", calls=CALLS)
def comes_back_inside(compile):
    compiled = compile(lambda b: SimpleNamespace(of=b, y=b.x * 2, inner=[b]))

    def call(n):
        one = Batch(n)
        back = compiled(one)
        return back.of is one, back.inner[0] is one, back.y

    return call, []


@program("its identity is asked for", calls=CALLS)
def identity(compile):
    seen, some = set(), [Batch(n) for n in range(CALLS)]  # all are alive: no identity is given twice

    def step(b):
        new = id(b) not in seen
        seen.add(id(b))
        return b.x * (2 if new and b is not some[0] else 3)

    compiled = compile(step)

    def call(n):
        y = compiled(some[n - (n % 6 == 5)])
        return y, len(seen)

    return call, []


@program("two arguments are one object, or two", calls=2 * CALLS)
def two_or_one(compile):
    compiled = compile(lambda a, b: a.x * 2 if a is b else b.x * 3)

    def call(n):
        one = Batch(n)
        other = one
        if n >= CALLS:
            other = object.__new__(Batch)
            other.__dict__.update(one.__dict__)
        return compiled(one, other)

    return call, []


@program("it is a key of a dictionary", calls=CALLS)
def key(compile):
    known = {}

    def step(b):
        if b not in known:
            known[b] = b.x * 2
        return known[b]

    compiled = compile(step)
    some = [Batch(n) for n in range(3)]
    return lambda n: (compiled(some[n % 3] if n > 9 else Batch(n)), len(known)), []


@program("weak references to it are kept", calls=CALLS)
def weak(compile):
    kept = []

    def step(b):
        kept.append(weakref.ref(b))
        return b.x * 2

    compiled = compile(step)

    def call(n):
        one = Batch(n)
        return compiled(one), kept[-1]() is one

    return call, []


@program("it goes in a circle", calls=CALLS)
def circle(compile):
    def make(n):
        one = Batch(n)
        one.me = one if n % 2 else SimpleNamespace(x=one.y)
        return one

    compiled = compile(lambda b: b.me.x * 2)
    return lambda n: compiled(make(n)), []


@program("its class changes", calls=CALLS)
def other_class(compile):
    class Half(Batch):
        scale = 0.5

    return each(compile, lambda n: (Half if n % 2 else Batch)(n), lambda b: b.scaled)


@program("it draws numbers", calls=CALLS)
def draws(compile):
    class Noisy(Batch):
        def noise(self):
            return self.generator.random()

    generator = random.Random(7)
    return each(compile, lambda n: Noisy(n, generator=generator), lambda b: b.x * b.noise())


@program("it has an iterator", calls=CALLS)
def iterator(compile):
    counter = itertools.count()
    return each(compile, lambda n: Batch(n, counter=counter), lambda b: b.x * next(b.counter))


@program("it has a net, another one each time", calls=CALLS)
def own_net(compile):
    nets = [mlp() for _ in range(3)]
    return each(compile, lambda n: Batch(n, net=nets[n % 3]), lambda b: b.net(b.x).detach())


@program("it counts what it is asked for", calls=CALLS)
def counts_reads(compile):
    class Counting(Batch):
        reads = 0

        def value(self):
            type(self).reads += 1
            return self.x

    compiled = compile(lambda b: b.value() * 2)
    return lambda n: (compiled(Counting(n)), Counting.reads), []


@program("its attributes are found by __getattribute__", calls=CALLS)
def getattribute(compile):
    asked = []

    class Asked(Batch):
        def __getattribute__(self, name):
            if not name.startswith("_"):
                asked.append(name)
            return super().__getattribute__(name)

    compiled = compile(lambda b: b.x * 2)
    return lambda n: (compiled(Asked(n)), len(asked)), []


@program("two attributes are one list, or two", calls=2 * CALLS)
def one_list_or_two(compile):
    def make(n):
        one = Batch(n, first=[1.0])
        one.second = one.first if n < CALLS else [1.0]
        return one

    return each(compile, make, lambda b: b.x * (2 if b.first is b.second else 3))


@program("a tensor of it is one that the function has, too", calls=CALLS)
def own_tensor(compile):
    w = torch.ones(3)

    def make(n):
        one = Batch(n)
        one.w = w if n % 5 == 4 else torch.ones(3)
        return one

    def step(b):
        b.w.add_(1)
        return b.x * w

    return each(compile, make, step)


@program("a method is given, which is another object each time", calls=CALLS)
def given_method(compile):
    net = mlp()
    compiled = compile(lambda f, x: f(x).detach() * 2)

    def call(n):
        if n == CALLS - 3:
            net.forward = lambda x: x + 1
        return compiled(net.forward, X)

    return call, []


@program("methods of two objects in turn, one of which changes", calls=CALLS)
def methods_in_turn(compile):
    class Scaled:
        def __init__(self, by):
            self.by = by

        def of(self, x):
            return x * self.by

    some = [Scaled(2.0), Scaled(3.0)]
    compiled = compile(lambda f, x: f(x) + 1)

    def call(n):
        if n == CALLS - 4:
            some[0].by = 5.0
        return compiled(some[n % 2].of, X)

    return call, []


SCALE = 2.0


@program("a function is written where it is given, and reads a global", calls=CALLS)
def given_lambda(compile):
    compiled = compile(lambda f, x: f(x) + 1)

    def call(n):
        globals()["SCALE"] = 2.0 if n < CALLS - 3 else 5.0
        return compiled(lambda x: x * SCALE, X)

    return call, []


@program("a function with a default, or with what it closes over, is written where it is given", calls=CALLS)
def given_closure(compile):
    compiled = compile(lambda f, g, x: f(x) + g(x))
    return lambda n: compiled(lambda x, by=n // 3: x * by, lambda x: x - n // 4, X), []


@program("the function that is given is asked who it is", calls=CALLS)
def given_function_is_known(compile):
    known = set()

    def step(f, x):
        known.add(f)
        return f(x)

    compiled = compile(step)
    return lambda n: (compiled(lambda x: x * 2, X), len(known)), []
