"""Compiled methods: of bases and of what overrides them, of classes and of slots, copied and pickled."""

import abc
import copy
import functools
import pickle

import tapegrad as torch
from tapegrad import nn
from tests.compiled.declaring import mlp, program, regression, sgd

X = torch.tensor([[1.0, -2.0, 3.0], [0.5, 0.25, -1.0]])


@program("a trainer's step calls that of its base, and both are compiled")
def method_of_base(compile):
    class Trainer:
        def __init__(self):
            self.net, self.seen = mlp(), 0
            self.opt = sgd(self.net)

        @compile
        def step(self, x, y):
            loss = nn.functional.mse_loss(self.net(x), y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            return loss.detach()

    class Counting(Trainer):
        @compile
        def step(self, x, y):
            self.seen += 1
            return super().step(x, y) * self.seen

    trainer, plain = Counting(), Trainer()
    return lambda n: (trainer if n % 3 else plain).step(*regression(n)), [trainer.net, trainer.opt, plain.net]


@program("a module's forward calls that of its base, and both are compiled; it is copied")
def forward_of_base(compile):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(3, 2)

        @compile
        def forward(self, x):
            return self.inner(x)

    class Rectified(Net):
        @compile
        def forward(self, x):
            return super().forward(x).relu()

    net, kept = Rectified(), []

    def call(n):
        if n == 4:
            kept.append(copy.deepcopy(net))
            with torch.no_grad():
                kept[0].inner.weight.mul_(2)
        return [one(X).detach() for one in (net, *kept)]

    return call, [net, kept]


@program("methods whose functions have one name")
def methods_of_one_name(compile):
    def scaled(by):
        def method(self, x):
            return x * by + self.offset

        return compile(method)

    class Scales:
        twice, thrice, plus = scaled(2.0), scaled(3.0), compile(lambda self, x: x + self.offset)

        def __init__(self):
            self.offset = 1.0

    scales = Scales()

    def call(n):
        scales.offset += n % 4 == 3
        return scales.twice(X), scales.thrice(X), scales.plus(X)

    return call, []


@program("class methods and static methods")
def methods_of_class(compile):
    class Table:
        scale = 2.0

        @classmethod
        @compile
        def scaled(cls, x):
            return x * cls.scale

        @staticmethod
        @compile
        def shifted(x, by):
            return x + by

        add = functools.partialmethod(compile(lambda self, by, x: x + by), 3.0)

    class Wide(Table):
        scale = 5.0

    def call(n):
        Table.scale += n % 4 == 3
        return Table.scaled(X), Wide().scaled(X), Table().shifted(X, n % 2), Wide().add(X)

    return call, []


@program("a method of an object with slots only")
def method_in_slots(compile):
    class Counter:
        __slots__ = ("n", "scale")

        def __init__(self, scale):
            self.n, self.scale = 0, scale

        @compile
        def step(self, x):
            self.n += 1
            return x * self.scale

    counters = Counter(2.0), Counter(3.0)

    def call(n):
        counters[0].scale += n % 5 == 4
        return [one.step(X) for one in counters], [one.n for one in counters]

    return call, []


@program("what has compiled methods is pickled and copied, its methods and compiled functions are pickled")
def methods_pickled(compile):
    global Held, held_function

    class Held:
        def __init__(self):
            self.scale, self.w = 1.0, torch.ones(3)

        @compile
        def step(self, x):
            self.w += 1
            return x * self.scale + self.w

    @compile
    def held_function(x):
        return x * 2

    held = [Held()]

    def call(n):
        if n % 4 == 3:
            held[0] = (pickle.loads(pickle.dumps(held[0])), copy.deepcopy(held[0]), copy.copy(held[0]))[n // 4 % 3]
            held[0].scale = float(n)
        step, function = pickle.loads(pickle.dumps((held[0].step, held_function)))
        same = function is held_function, copy.deepcopy(function) is function
        return held[0].step(X), step(X), held_function(X), same

    return call, []


@program("a function counts its calls in an attribute")
def counts_in_function(compile):
    @compile
    def step(x):
        step.calls += 1
        step.replayed = step.calls % 2
        return x * step.calls

    step.calls = step.replayed = 0
    return lambda n: (step(X), step.calls, step.replayed), []


@program("a model counts its calls in attributes, and reports")
def counts_in_model(compile):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.calls, self.replayed = nn.Linear(3, 2), 0, "never"

        def forward(self, x):
            self.calls += 1
            return self.inner(x)

        def report(self):
            return f"{self.calls} calls"

    net = Net()
    model = compile(net)

    def call(n):
        if n == 5:
            model.calls = 100
        return model(X).detach(), model.calls, net.calls, model.replayed, model.report()

    return call, [net]


@program("an abstract method is compiled")
def abstract_method(compile):
    class Base(abc.ABC):
        @compile
        @abc.abstractmethod
        def step(self, x):
            return x * 2

    class Whole(Base):
        def step(self, x):
            return super().step(x) + 1

    def call(n):
        try:
            Base()
        except TypeError as error:
            return Whole().step(X), str(error)

    return call, []
