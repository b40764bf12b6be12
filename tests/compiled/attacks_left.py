"""What a compiled step leaves in Python: settings, numbers that count, objects that are kept or made, errors."""

import collections
import copy
import dataclasses
import fractions
import gc
import json
import os
import pickle
import warnings
import weakref
from types import MappingProxyType, SimpleNamespace
from typing import NamedTuple

import numpy as np

import tapegrad as torch
from tapegrad import nn
from tests.compiled.declaring import mlp, program, regression, sgd, watched

X = torch.tensor([[1.0, -2.0, 3.0], [0.5, 0.25, -1.0]])


class Counter:
    """Something that counts."""

    def __init__(self):
        self.n, self.kept = 0, None


def counting(compile, keep):
    """A step that counts, and puts the number somewhere: ``keep(counter, n)`` says what of it is kept and returned."""
    counter = Counter()

    @compile
    def step(x):
        counter.n += 1
        found = keep(counter, counter.n)
        return x * counter.n, found

    return lambda n: step(X), counter


@program("a count is returned")
def count_returned(compile):
    return counting(compile, lambda counter, n: n)


@program("a count in a tuple")
def count_in_tuple(compile):
    return counting(compile, lambda counter, n: (n, ("deep", (n,))))


@program("a count in a tuple that an attribute keeps")
def count_kept_in_tuple(compile):
    def keep(counter, n):
        counter.kept = (n, [n])

    return counting(compile, keep)


@program("counts in a set")
def count_in_set(compile):
    def keep(counter, n):
        counter.kept = counter.kept or set()
        counter.kept.add(n)

    return counting(compile, keep)


@program("a count as a key, and as a value")
def count_as_key(compile):
    def keep(counter, n):
        counter.kept = {n: "now", "now": n}

    return counting(compile, keep)


@program("a count in a deque of limited length")
def count_in_deque(compile):
    def keep(counter, n):
        if counter.kept is None:
            counter.kept = collections.deque(maxlen=3)
        counter.kept.append(n)

    return counting(compile, keep)


@program("counts appended to a list")
def count_in_list(compile):
    def keep(counter, n):
        counter.kept = [*(counter.kept or []), n]

    return counting(compile, keep)


@program("a count in an object of the user's, with slots")
def count_in_slots(compile):
    class Slotted:
        __slots__ = ("number",)

    def keep(counter, n):
        counter.kept = Slotted()
        counter.kept.number = n
        return counter.kept

    return counting(compile, keep)


@program("a count in a dataclass, frozen and not")
def count_in_dataclass(compile):
    @dataclasses.dataclass(frozen=True)
    class Frozen:
        number: int

    @dataclasses.dataclass
    class Open:
        inner: Frozen
        number: int = 0

    def keep(counter, n):
        counter.kept = Open(Frozen(n), n)
        return counter.kept

    return counting(compile, keep)


@program("a count in a named tuple")
def count_in_named_tuple(compile):
    class Pair(NamedTuple):
        number: int
        name: str

    return counting(compile, lambda counter, n: Pair(n, "n"))


@program("a count in JSON, pickle and text")
def count_in_json(compile):
    return counting(
        compile, lambda counter, n: (json.dumps({"n": n}), pickle.loads(pickle.dumps([n])), f"{n:03d} {n!r}", str(n))
    )


@program("a count whose type is asked for")
def count_type(compile):
    return counting(compile, lambda counter, n: (type(n).__name__, isinstance(n, int), n.__class__ is int, type(n)(n)))


@program("a count in a closure, as an index, in a range and a slice")
def count_as_index(compile):
    items = list(range(100))
    return counting(compile, lambda counter, n: (items[n], list(range(n)), items[: n % 3], "ab" * (n % 2)))


@program("a count in arithmetic that leaves integers")
def count_in_arithmetic(compile):
    return counting(compile, lambda counter, n: (n / 2, n // 2, n % 3, n**2, -n, divmod(n, 2), float(n), n > 3))


@program("a count in NumPy's arrays, a Fraction and a complex number")
def count_elsewhere(compile):
    return counting(compile, lambda counter, n: (np.array([n]), fractions.Fraction(n, 3), complex(n, 1), np.int64(n)))


@program("a count is captured by a function that is kept")
def count_in_function(compile):
    def keep(counter, n):
        counter.kept = [lambda: n, lambda m=n: m]
        return [f() for f in counter.kept]

    return counting(compile, keep)


@program("a count in an exception that is kept")
def count_in_exception(compile):
    def keep(counter, n):
        try:
            raise ValueError("count", n)
        except ValueError as error:
            counter.kept = error.args

    return counting(compile, keep)


@program("a count is deepcopied with what holds it")
def count_copied(compile):
    def keep(counter, n):
        counter.kept = None
        counter.kept = copy.deepcopy(vars(counter))

    return counting(compile, keep)


@program("a count in a tensor's attribute, in a dict's view, in a class")
def count_in_others(compile):
    tensor, holder = torch.zeros(1), type("Holder", (), {"n": 0})

    def keep(counter, n):
        tensor.n = n
        holder.n = n
        return list(dict.fromkeys([n])), dict(MappingProxyType({"n": n}))

    call, counter = counting(compile, keep)
    return lambda n: (call(n), holder.n), [counter, tensor]


@program("a count in a global and in os.environ")
def count_in_environment(compile):
    def keep(counter, n):
        globals()["TOTAL"] = n
        os.environ["STEP_COUNT"] = str(n)

    call, counter = counting(compile, keep)
    return lambda n: (call(n), globals()["TOTAL"]), counter


@program("a moving float: an annealed temperature that is kept in a history")
def float_kept(compile):
    state = SimpleNamespace(temperature=1.0, history=[], seen=set())

    @compile
    def step(x):
        state.temperature = max(0.1, state.temperature * 0.9)
        state.history.append(state.temperature)
        state.seen.add(round(state.temperature, 3))
        return torch.softmax(x / state.temperature, -1)

    return lambda n: step(X), state


@program("the index of a loop goes into a tuple")
def argument_kept(compile):
    kept = []

    @compile
    def step(n, x):
        kept.append((n, {"at": n}))
        return x * n

    return lambda n: step(n, X), kept


def setting(compile, set_it, read=lambda: 1.0):
    """A step that sets something each time, which is put back between the calls."""
    step = compile(lambda x: (set_it(), x * read())[1])
    return lambda n: step(X), []


@program("use_deterministic_algorithms in the step")
def sets_deterministic(compile):
    call, _ = setting(compile, lambda: torch.use_deterministic_algorithms(True))

    def again(n):
        torch.use_deterministic_algorithms(False)
        call(n)
        return torch.are_deterministic_algorithms_enabled()

    return again, []


@program("backends.cudnn.benchmark is set in the step")
def sets_benchmark(compile):
    def set_it():
        torch.backends.cudnn.benchmark = True

    call, _ = setting(compile, set_it)

    def again(n):
        torch.backends.cudnn.benchmark = False
        call(n)
        return torch.backends.cudnn.benchmark

    return again, []


@program("set_num_threads in the step")
def sets_threads(compile):
    call, _ = setting(compile, lambda: torch.set_num_threads(1))

    def again(n):
        torch.set_num_threads(2)
        call(n)
        return torch.get_num_threads()

    return again, []


@program("set_float32_matmul_precision in the step")
def sets_precision(compile):
    call, _ = setting(compile, lambda: torch.set_float32_matmul_precision("high"))

    def again(n):
        torch.set_float32_matmul_precision("highest")
        call(n)
        return torch.get_float32_matmul_precision()

    return again, []


@program("set_printoptions in the step")
def sets_printing(compile):
    call, _ = setting(compile, lambda: torch.set_printoptions(precision=2))

    def again(n):
        torch.set_printoptions(precision=4)
        call(n)
        return str(torch.tensor([1 / 3]))

    return again, []


@program("set_default_dtype and set_grad_enabled in the step")
def sets_defaults(compile):
    call, _ = setting(compile, lambda: (torch.set_default_dtype(torch.float64), torch.set_grad_enabled(False)))

    def again(n):
        torch.set_default_dtype(torch.float32)
        torch.set_grad_enabled(True)
        call(n)
        found = torch.get_default_dtype(), torch.is_grad_enabled()
        torch.set_default_dtype(torch.float32)
        torch.set_grad_enabled(True)
        return str(found)

    return again, []


@program("np.seterr, warnings.filterwarnings and np.set_printoptions in the step")
def sets_elsewhere(compile):
    call, _ = setting(compile, lambda: (np.seterr(divide="raise"), np.set_printoptions(precision=2)))

    def again(n):
        np.seterr(divide="warn")
        np.set_printoptions(precision=8)
        call(n)
        found = np.geterr()["divide"], str(np.array([1 / 3]))
        np.set_printoptions(precision=8)
        return found

    return again, []


def reading(compile, read, change):
    """A step that reads a setting, which changes between the calls."""
    step = compile(lambda x: x * (3.0 if read() else 1.0))

    def call(n):
        change(n >= 4)
        return step(X)

    return call, []


@program("backends.cudnn.benchmark is read")
def reads_benchmark(compile):
    return reading(
        compile, lambda: torch.backends.cudnn.benchmark, lambda on: setattr(torch.backends.cudnn, "benchmark", on)
    )


@program("are_deterministic_algorithms_enabled is read")
def reads_deterministic(compile):
    return reading(compile, torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms)


@program("the number of threads is read")
def reads_threads(compile):
    return reading(compile, lambda: torch.get_num_threads() > 1, lambda on: torch.set_num_threads(2 if on else 1))


@program("the precision of products is read")
def reads_precision(compile):
    return reading(
        compile, lambda: torch.get_float32_matmul_precision() == "high",
        lambda on: torch.set_float32_matmul_precision("high" if on else "highest"),
    )  # fmt: skip


@program("the printing options are read through str(tensor)")
def reads_printing(compile):
    third = torch.tensor([1 / 3])
    return reading(
        compile, lambda: len(str(third)) > 16, lambda on: torch.set_printoptions(precision=8 if on else 4)
    )


@program("the grad mode and the default dtype are read")
def reads_modes(compile):
    return reading(compile, lambda: not torch.is_grad_enabled(), lambda on: torch.set_grad_enabled(not on))


@program("np.geterr is read")
def reads_numpy(compile):
    return reading(
        compile, lambda: np.geterr()["over"] == "ignore", lambda on: np.seterr(over="ignore" if on else "warn")
    )


@program("a warning in each call")
def warns(compile):
    def step(x):
        warnings.warn("again", stacklevel=1)
        return x + 1

    compiled = compile(step)
    return lambda n: compiled(X), []


@program("print in each call")
def prints(compile):
    step = compile(lambda x: (print("again"), x + 1)[1])
    return lambda n: step(X), []


@program("print of a tensor's elements in each call")
def prints_elements(compile):
    step = compile(lambda x: (print(x.sum()), x + 1)[1])
    return lambda n: step(X * n), []


def brought(compile, make, use):
    """Calls that bring something new each time; which of it is alive at the end is compared."""
    step = compile(use)
    return lambda n: step(make(n)), []


@dataclasses.dataclass
class Batch:
    """What a loader gives."""

    x: torch.Tensor
    y: torch.Tensor
    number: int = 0


@program("a dataclass as a batch, new in each call", calls=12)
def dataclass_batch(compile):
    net = mlp()
    opt = sgd(net)

    def step(batch):
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(batch.x), batch.y)
        loss.backward()
        opt.step()
        return loss.detach()

    call, _ = brought(compile, lambda n: watched(Batch(*map(watched, regression(n)))), step)
    return call, [net]


@program("fresh arrays of NumPy by torch.tensor", calls=12)
def numpy_batch(compile):
    return brought(
        compile, lambda n: watched(np.full((2, 3), n, np.float32)), lambda array: torch.tensor(array) * 2 + 1
    )


@program("fresh arrays of NumPy by from_numpy", calls=12)
def from_numpy_batch(compile):
    return brought(
        compile, lambda n: watched(np.full((2, 3), n, np.float32)), lambda array: torch.from_numpy(array) * 2 + 1
    )


@program("fresh arrays by as_tensor, of other lengths", calls=12)
def as_tensor_batch(compile):
    return brought(
        compile, lambda n: watched(np.full((2 + n % 2, 3), n, np.float32)), lambda array: torch.as_tensor(array).sum(0)
    )


@program("a plain object as a batch, new in each call", calls=12)
def object_batch(compile):
    class Sample:
        def __init__(self, x, y):
            self.x, self.y = x, y

    return brought(compile, lambda n: watched(Sample(*regression(n))), lambda batch: (batch.x * batch.y).sum())


@program("a named tuple and a dict of tensors, new in each call", calls=12)
def tuple_batch(compile):
    class Pair(NamedTuple):
        x: torch.Tensor
        y: dict

    def make(n):
        x, y = map(watched, regression(n))
        return Pair(x, {"y": y, "id": n})

    return brought(compile, make, lambda batch: (batch.x * batch.y["y"]).sum() + batch.y["id"])


@program("a global batch that is replaced between the calls", calls=12)
def global_batch(compile):
    holder, alive = SimpleNamespace(batch=None), []
    step = compile(lambda: holder.batch[0].sum() + holder.batch[1].mean())

    def call(n):
        holder.batch = regression(n)
        alive.extend(map(weakref.ref, holder.batch))
        found = step()
        holder.batch = None
        gc.collect()
        return found, sum(one() is not None for one in alive) <= 4  # those that a call is compared with

    return call, []


@program("a closure that is new in each call", calls=12)
def closures_brought(compile):
    step = compile(lambda f, x: f(x))

    def call(n):
        bias = watched(torch.full((3,), float(n)))
        return step(lambda x: x + bias, X)

    return call, []


@program("results that nobody keeps", calls=8)
def results_dropped(compile):
    step = compile(lambda x: {"a": x * 2, "b": [x + 1, (x - 1,)]})

    def call(n):
        found = step(X)
        for one in (found["a"], found["b"][0], found["b"][1][0]):
            watched(one)
        return float(found["a"][0, 0])

    return call, []


@program("what a step saves for the backward pass is freed", calls=8)
def graphs_dropped(compile):
    net = mlp()
    step = compile(lambda x, y: nn.functional.mse_loss(net(x), y))

    def call(n):
        loss = watched(step(*regression(n)))
        loss.backward()
        return loss.detach()

    return call, [net]


@program("written to what was saved: the error of backward", raises=True)
def saved_and_written(compile):
    w = torch.ones(3, requires_grad=True)

    @compile
    def update():
        with torch.no_grad():
            w.mul_(2)

    def call(n):
        y = (w * w).sum()
        update()
        try:
            y.backward()
        except RuntimeError as error:
            return type(error).__name__, "modified by an inplace operation" in str(error)
        return "no error"

    return call, [w]


@program("a step that raises now and then", raises=True)
def raises_sometimes(compile):
    net, state = mlp(), {"n": 0}
    opt = sgd(net)

    @compile
    def step(x, y):
        state["n"] += 1
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        if state["n"] % 3 == 0:
            raise ValueError(f"call {state['n']}")
        opt.step()
        return loss.detach()

    return lambda n: step(*regression(n)), [net, opt, state]


@program("an error of a shape now and then", raises=True)
def wrong_shape(compile):
    net = mlp()
    opt = sgd(net)

    @compile
    def step(x, y):
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        return loss.detach()

    return lambda n: step(*regression(n, width=2 if n == 5 else 3)), [net, opt]


@program("an assertion on elements", raises=True)
def assertion(compile):
    @compile
    def step(x):
        assert torch.isfinite(x).all(), "not finite"
        return x * 2

    return lambda n: step(X / (0.0 if n == 5 else 1.0)), []


@program("a step that calls itself, compiled")
def recursive(compile):
    @compile
    def power(x, n):
        return x if n == 0 else power(x, n - 1) * x

    return lambda n: power(X, n % 3 + 1), []


@program("results are the arguments, and share memory")
def aliases(compile):
    @compile
    def step(x, y):
        y.add_(1)
        return x, y, x.view(-1), {"x": x}, y[0]

    y = torch.zeros(2, 3)
    return lambda n: step(X, y), [y]


@program("a returned list is the caller's own, new each time")
def own_lists(compile):
    step = compile(lambda x: [x + 1, {"n": []}])
    kept = []

    def call(n):
        found = step(X)
        found.append(n)
        found[1]["n"].append(n)
        kept.append(found)
        return found

    return call, kept


@program("attributes that come and go")
def attributes_come_and_go(compile):
    holder = SimpleNamespace()

    @compile
    def step(x):
        if hasattr(holder, "last"):
            out = x + holder.last
            del holder.last
        else:
            out = x * 2
            holder.last = out
        return out

    return lambda n: step(X), holder


@program("an attribute is set to something that is no tensor")
def sets_plain(compile):
    holder = SimpleNamespace(shape=None, name="", items=[])

    @compile
    def step(x, name):
        holder.shape, holder.name = x.shape, name
        holder.items = [len(x)]
        return x * 2

    def call(n):
        holder.shape = holder.name = None
        return step(X, "train" if n % 4 else "first")

    return call, holder


@program("a list is cleared, extended, popped and sorted")
def list_methods(compile):
    items = [3, 1, 2]

    @compile
    def step(x):
        items.append(len(items))
        items.sort(reverse=len(items) % 2 == 0)
        if len(items) > 5:
            items.pop(0)
        return x * len(items)

    return lambda n: step(X), items


@program("a dict is updated, and keys are removed")
def dict_methods(compile):
    known = {}

    @compile
    def step(x, key):
        known[key] = known.get(key, 0) + 1
        known.setdefault("first", key)
        if len(known) > 3:
            known.pop(next(iter(known)))
        return x * known.get(key, 0)

    return lambda n: step(X, f"k{n % 3}"), known


def encoders(compile, between=lambda n, slow, fast: None):
    """A step that lets one net follow another by setting its data."""
    fast, slow = mlp(), mlp()
    opt = sgd(fast)

    @compile
    def step(x, y):
        loss = ((fast(x) - y) ** 2).mean() + slow(x).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        for one, other in zip(slow.parameters(), fast.parameters(), strict=True):
            one.data = one.data * 0.5 + other.data * 0.5
        return loss

    def run(n):
        between(n, slow, fast)
        return step(*regression(n))

    return run, [fast, slow]


@program("data is set, while somebody holds the old one")
def data_held(compile):
    held = []

    def between(n, slow, fast):
        held.append(slow[0].weight.data)
        slow[0].bias.data.mul_(2)

    run, nets = encoders(compile, between)
    return run, [*nets, held]


@program("data is set from outside, too, also to that of another tensor")
def data_set_outside(compile):
    def between(n, slow, fast):
        if n == 4:
            slow[0].weight.data = fast[0].weight.data
        if n == 5:
            with torch.no_grad():
                slow[0].weight.mul_(0.5)
        if n == 6:
            slow[2].bias.data = slow[2].bias.data * 2

    return encoders(compile, between)


@program("data is set, and versions are asked for")
def data_versions(compile):
    seen = []

    def between(n, slow, fast):
        seen.append((slow[0].weight._version, slow[0].weight.data_ptr() == fast[0].weight.data_ptr()))

    run, nets = encoders(compile, between)
    return run, [*nets, seen]


def recurrent(compile, between=lambda n, kept: None):
    """A step that keeps a state of two tensors as a tuple."""
    kept = SimpleNamespace(state=None, other=None, history=[])
    net = nn.LSTM(3, 4)

    @compile
    def step(x):
        out, state = net(x, kept.state)
        kept.state = tuple(one.detach() for one in state)
        return out.detach()

    def run(n):
        between(n, kept)
        return step(regression(n)[0].unsqueeze(0))

    return run, [net, kept]


@program("a tuple of tensors goes round")
def tuple_goes_round(compile):
    return recurrent(compile)


@program("a tuple of tensors goes round, and others hold it")
def tuple_is_held(compile):
    def between(n, kept):
        kept.history.append(kept.state)
        if n == 5:
            kept.state[0].mul_(0.5)

    return recurrent(compile, between)


@program("a tuple of tensors is replaced from outside")
def tuple_replaced(compile):
    def between(n, kept):
        if n == 5:
            kept.state = (torch.ones(1, 4, 4), kept.state[1])
        if n == 6:
            kept.state = kept.state[::-1]
        if n == 7:
            kept.state = None

    return recurrent(compile, between)


@program("a tuple of tensors in two places, of which one goes on")
def tuple_in_two_places(compile):
    kept = SimpleNamespace(state=(torch.ones(2), torch.zeros(2)), deep=None, same=None)
    kept.first = kept.state

    @compile
    def step(x):
        a, b = kept.state
        kept.state = (a + x, b + a)
        kept.deep = ((a * 2, 1), b)
        kept.same = kept.state
        return kept.first[0] + kept.state[0]

    return lambda n: step(torch.ones(2) * n), kept


@program("tuples within tuples, with numbers among the tensors")
def tuples_in_tuples(compile):
    kept = {"state": ((torch.ones(2), torch.zeros(2)), (torch.ones(2), 3, "name"))}

    @compile
    def step(x):
        (a, b), (c, n, name) = kept["state"]
        kept["state"] = ((a + x, b * 0.5 + a), (c - b, n, name))
        return a * n

    def run(n):
        if n == 6:
            first, (c, _, name) = kept["state"]
            kept["state"] = first, (c, 4, name)
        return step(torch.ones(2) * n)

    return run, kept


def flagged(compile, change, between=lambda n, kept: None):
    """A step that sets flags and texts of an object: ``change(kept)``."""
    kept = SimpleNamespace(on=False, name="a", last=None, seen=[])

    @compile
    def step(x):
        found = kept.on, kept.name, kept.last
        change(kept)
        return x * (2 if kept.on else 3), found, kept.name

    def run(n):
        between(n, kept)
        return step(X)

    return run, kept


@program("a flag is set that is taken back outside")
def flag_set(compile):
    def change(kept):
        kept.on, kept.last = True, "set"

    def between(n, kept):
        kept.on, kept.last = n == 6, None

    return flagged(compile, change, between)


@program("a flag that turns with each call")
def flag_turns(compile):
    def change(kept):
        kept.on = not kept.on
        kept.name = "b" if kept.on else "a"

    return flagged(compile, change)


@program("a text that grows, and one that is set to itself")
def text_grows(compile):
    def change(kept):
        kept.name += "a"
        kept.last = kept.name[:1]

    return flagged(compile, change)


@program("a flag that a property and a slot keep")
def flag_in_slots(compile):
    class Guarded:
        __slots__ = ("_on", "count")

        def __init__(self):
            self._on, self.count = False, 0

        @property
        def on(self):
            return self._on

        @on.setter
        def on(self, value):
            self.count += 1
            self._on = value

    kept = Guarded()

    @compile
    def step(x):
        before, kept.on = kept.on, True
        return x * (2 if before else 3)

    def run(n):
        if n % 2:
            kept.on = False
        return step(X)

    return run, lambda: (kept.on, kept.count)


@program("a tuple of tuples in two places, of which one goes on")
def tuples_in_two_places(compile):
    kept = SimpleNamespace(state=((torch.ones(2), torch.zeros(2)), 1))
    kept.first = kept.state

    @compile
    def step(x):
        (a, b), n = kept.state
        kept.state = (a + x, b + a), n
        return kept.first[0][0] + a

    return lambda n: step(torch.ones(2) * n), kept


@program("arguments that are written to for the first time, and share their memory in some calls", calls=18)
def arguments_written_first(compile):
    step = compile(lambda a, b: (a.add_(1), b.mul_(3))[0].sum())

    def call(n):
        a = torch.full((2,), 1.0 + n)
        b = a[:] if n in (6, 11) else a if n == 9 else torch.ones(2)
        seen = a[1:] if n == 8 else None
        return step(a, b), a, b, a._version, b._version, seen

    return call, []


@program("gradients that are added to for the first time, and share their memory in some calls", calls=24)
def gradients_written_first(compile):
    w, u = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    step = compile(lambda x: ((w * x).sum() + (u * x * 2).sum()).backward())

    def call(n):
        if n % 3 == 0:
            w.grad, u.grad = torch.ones(2), torch.ones(2)
        if n in (7, 13, 19):
            u.grad = w.grad[:]
        step(torch.full((2,), 1.0 + n))
        return w.grad._version, u.grad._version

    return call, [w, u]


@program("data of another shape, behind elements that are read: nobody else holds the graph before it", calls=6)
def data_of_another_shape(compile):
    @compile
    def step():
        a = torch.tensor([[-1.0, 0.5, 1.5]]).requires_grad_()
        b = a * a if a.sum() > 0 else -a
        a.data = a.data.view(-1, 1)
        b[..., torch.tensor([[-1, 0], [-1, 0]]), [1, 2]] *= 2
        b.detach_()
        a.pow(2).mean().backward()
        return a.grad

    return lambda n: step(), []


@program("a hook on a leaf's node sees the gradients of a backward pass that is recorded", calls=5)
def hook_sees_recorded_gradients(compile):
    b, f, seen = torch.ones(2, 2, requires_grad=True), X.clone().requires_grad_(), []

    @compile
    def step():
        node = torch.autograd.graph.get_gradient_edge(b).node
        handle = node.register_hook(lambda given, incoming: seen.append([one.detach().clone() for one in incoming]))
        (b.sum() * f.sum()).backward(create_graph=True)
        handle.remove()

    return lambda n: step(), [b, f, seen]
