"""Numbers that a compiled step reads from tensors, and what it appends to lists."""

import collections
import copy
import functools
import json
import math
import threading
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

import tapegrad as torch
import tapegrad.nn.functional as F
from tests.compiled.declaring import mlp, program, regression, sgd


def training(compile, use, state=None):
    """A step that trains, and does something with its loss: ``use(loss, n)`` says what it returns."""
    net = mlp()
    opt = sgd(net)

    @compile
    def step(x, y):
        opt.zero_grad()
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        opt.step()
        return use(loss)

    return lambda n: step(*regression(n)), state


@program("numbers of several types, and what is computed of them")
def late_arithmetic(compile):
    def use(loss):
        value, count = loss.item(), (loss > -1).sum().item()
        whole = count / 2, count + 0.5, -count
        return value, count, value * 3, 1 - value, value / 4, -value, abs(-value), round(value, 3), whole

    return training(compile, use)


@program("numbers of other dtypes")
def late_dtypes(compile):
    def use(loss):
        kinds = [loss.double(), loss.half(), loss.bfloat16(), loss.long(), (loss * 100).to(torch.uint8), loss > 0.1]
        return [kind.item() for kind in (*kinds, loss + 1j)]

    return training(compile, use)


@program("a number that decides now and then")
def late_decides(compile):
    clock = SimpleNamespace(n=0, large=0)

    def use(loss):
        clock.n += 1
        value = loss.item()
        if clock.n % 3 == 0 and value > 0.2:
            clock.large += 1
        return value

    return training(compile, use, clock)


@program("a number that is written as text in one call")
def late_text(compile):
    clock = SimpleNamespace(n=0, text="")

    def use(loss):
        clock.n += 1
        value = loss.item()
        if clock.n == 6:
            clock.text = f"{value:.3f} %.2f" % value + str(round(value, 1))
        return value

    return training(compile, use, clock)


@program("a mean of which the count is zero now and then", raises=True)
def late_division(compile):
    meter = SimpleNamespace(total=0.0, count=0, mean=0.0)

    def use(loss):
        meter.total += loss.item()
        meter.mean = meter.total / meter.count

    call, _ = training(compile, use)

    def run(n):
        meter.count = 0 if n in (0, 6) else n
        return call(n)

    return run, meter


@program("a quotient of two numbers, of which one is zero", raises=True)
def late_quotient(compile):
    def use(loss):
        return loss.item() / (loss * 0).item()

    return training(compile, use)


@dataclass
class Found:
    """What a step gives."""

    loss: float
    extra: object = None


class Slotted:
    """Something with slots."""

    __slots__ = ("last", "all")

    def __init__(self):
        self.last, self.all = 0.0, None


@program("a number in a dataclass that is returned")
def late_dataclass(compile):
    return training(compile, lambda loss: Found(loss.item(), (loss.item(), {"deep": [loss.item()]})))


@program("numbers in attributes, slots, items and nested containers")
def late_kept(compile):
    slotted, inside = Slotted(), {"last": 0.0, "deep": {"last": 0.0}, "all": []}

    def use(loss):
        value = loss.item()
        slotted.last = inside["last"] = inside["deep"]["last"] = value
        slotted.all = (value, {value}, [value * 2])
        inside["all"] = [value]

    call, _ = training(compile, use)
    return call, lambda: (slotted.last, slotted.all, inside)


@program("a number as a key, in a set and in a deque")
def late_keys(compile):
    kept = SimpleNamespace(keys={}, numbers=set(), last=collections.deque(maxlen=3))

    def use(loss):
        value = round(loss.item() * 100)
        kept.keys[value] = value
        kept.numbers.add(value)
        kept.last.append(value)

    return training(compile, use, kept)


@program("the best so far")
def late_best(compile):
    kept = SimpleNamespace(best=math.inf, worst=0.0)

    def use(loss):
        kept.best = min(kept.best, loss.item())
        kept.worst = max(kept.worst, loss.item())

    return training(compile, use, kept)


@program("functions of math, which may fail", raises=True)
def late_math(compile):
    def use(loss):
        value = loss.item()
        return math.exp(value), math.sqrt(value), math.isfinite(value), math.floor(value), math.log(value - 0.3)

    return training(compile, use)


@program("a number goes back into tensors")
def late_into_tensors(compile):
    def use(loss):
        value = loss.item()
        return torch.ones(2) * value, torch.tensor(value), torch.full((2,), value), np.float32(value), [0] * int(value)

    return training(compile, use)


@program("a number is asked for its class")
def late_class(compile):
    def use(loss):
        value = loss.item()
        return isinstance(value, float), value.is_integer(), value.real, type(value) is float

    return training(compile, use)


@program("a number is copied, and written as JSON in one call")
def late_copied(compile):
    kept = SimpleNamespace(n=0, text="")

    def use(loss):
        kept.n += 1
        value = loss.item()
        if kept.n == 6:
            kept.text = json.dumps({"loss": value})
        return copy.copy(value), copy.deepcopy([value])

    return training(compile, use, kept)


@program("another thread reads a number")
def late_thread(compile):
    seen = []

    def use(loss):
        value = loss.item()
        thread = threading.Thread(target=lambda: seen.append(value + 1))
        thread.start()
        thread.join()

    return training(compile, use, seen)


@program("a function that remembers a number is returned")
def late_closure(compile):
    def use(loss):
        value = loss.item()
        return lambda: value

    call, _ = training(compile, use)
    return lambda n: call(n)(), None


@program("an error after a number was read and kept", raises=True)
def late_then_error(compile):
    kept = SimpleNamespace(n=0, loss=0.0, losses=[])

    def use(loss):
        kept.n += 1
        kept.loss = loss.item()
        kept.losses.append(loss.item())
        if kept.n in (3, 7):
            raise ValueError("too late")
        return kept.loss

    return training(compile, use, kept)


@program("more than one element has no number", raises=True)
def late_refused(compile):
    return training(compile, lambda loss: (loss + torch.zeros(2)).item())


@program("a tensor is written to after its number was read")
def late_written(compile):
    total = torch.zeros(())

    def use(loss):
        total.add_(loss.detach())
        before = total.item()
        total.mul_(0.5)
        return before, total.item()

    return training(compile, use, total)


# -- what is appended


@program("numbers, tensors and tuples are appended")
def appends(compile):
    kept = SimpleNamespace(losses=[], tensors=[], pairs=[], names=[], queue=collections.deque())

    def use(loss):
        kept.losses.append(loss.item())
        kept.tensors.append(loss.detach() * 2)
        kept.pairs.append((1, {"loss": loss.item(), "half": loss.detach() / 2}))
        kept.names.append("step")
        kept.queue.append(loss.item() * 2)
        kept.queue.append(0)
        return loss

    return training(compile, use, kept)


@program("appended to lists in a dictionary, of which one is new now and then")
def appends_to_items(compile):
    history = {"loss": [], "size": []}

    def use(loss):
        history["loss"].append(loss.item())
        history["size"].append(4)

    call, _ = training(compile, use)

    def run(n):
        if n == 6:
            history["loss"] = []
        return call(n)

    return run, history


@program("a list that is emptied, replaced and filled from outside")
def appends_to_another(compile):
    kept = SimpleNamespace(losses=[], others=[1.0])

    def use(loss):
        kept.losses.append(loss.item())

    call, _ = training(compile, use)

    def run(n):
        if n == 5:
            kept.losses.clear()
        if n == 6:
            kept.losses = kept.others
        if n == 7:
            kept.losses = tuple
        return call(n) if n < 7 else None

    return run, kept


@program("a list that is appended to becomes one that is read")
def appends_to_what_is_read(compile):
    kept = SimpleNamespace(losses=[], others=[1.0])

    def use(loss):
        kept.losses.append(loss.item())
        return len(kept.others)

    call, _ = training(compile, use)

    def run(n):
        if n == 6:
            kept.losses = kept.others
        return call(n)

    return run, kept


@program("a list of which the length is read")
def appends_and_counts(compile):
    losses = []

    def use(loss):
        losses.append(loss.item())
        return len(losses)

    return training(compile, use, losses)


@program("a list of which the mean is taken each third call")
def appends_and_sums(compile):
    kept = SimpleNamespace(n=0, losses=[], means=[])

    def use(loss):
        kept.n += 1
        kept.losses.append(loss.item())
        if kept.n % 3 == 0:
            kept.means.append(sum(kept.losses) / 3)
            kept.losses.clear()

    return training(compile, use, kept)


@program("a list with two names")
def appends_to_two_names(compile):
    kept = SimpleNamespace(a=[], n=0)
    kept.b = kept.a

    def use(loss):
        kept.a.append(loss.item())
        return len(kept.b)

    return training(compile, use, kept)


@program("a list by a name of its own")
def appends_by_local_name(compile):
    kept = SimpleNamespace(losses=[])

    def use(loss):
        losses = kept.losses
        losses.append(loss.item())
        return losses[-1], losses is kept.losses, bool(kept.losses)

    return training(compile, use, kept)


class History:
    """What has been."""

    def __init__(self):
        self._losses, self.append = [], None

    @property
    def losses(self):
        """A copy now and then."""
        return self._losses if len(self._losses) < 5 else list(self._losses)


class Counting(list):
    """A list that counts."""

    count = 0

    def append(self, thing):
        """Append and count."""
        self.count += 1
        super().append(thing)


@program("a property gives the list")
def appends_by_property(compile):
    kept = History()

    def use(loss):
        kept.losses.append(loss.item())

    return training(compile, use, kept)


@program("a list of the user's own class")
def appends_to_own_class(compile):
    losses = Counting()

    def use(loss):
        losses.append(loss.item())

    call, _ = training(compile, use)
    return call, lambda: (list(losses), losses.count)


@program("a bound append, and a list in a list")
def appends_by_method(compile):
    losses, lists = [], [[]]
    keep = losses.append

    def use(loss):
        keep(loss.item())
        lists[0].append(loss.item())
        return len(losses), len(lists[0])

    return training(compile, use, (losses, lists))


@program("another function reads the list")
def appends_read_by_another(compile):
    losses = []
    call, _ = training(compile, lambda loss: losses.append(loss.item()))

    @compile
    def mean(x):
        return x * sum(losses) / len(losses)

    def run(n):
        call(n)
        return mean(torch.ones(2))

    return run, losses


@program("tensors with histories are appended")
def appends_histories(compile):
    net, losses = mlp(), []

    @compile
    def step(x, y):
        losses.append(((net(x) - y) ** 2).mean())

    def run(n):
        step(*regression(n))
        if n % 2:
            net.zero_grad()
            sum(losses).backward()
            losses.clear()
            return [p.grad for p in net.parameters()]
        return None

    return run, losses


EACH = r"""
x[one]
x[one, one]
x[:, one:]
x[[one, 0]]
x[..., one]
x.narrow(0, 0, one)
x.sum(one)
x.repeat(one, 2)
x.repeat((2, one))
x.view(one, -1)
x.expand(one * 3, 4)
x.roll(one)
torch.zeros(one, 2)
torch.ones((2, one))
torch.full((one,), half)
torch.full((2,), half)
torch.tensor([half, 1.0])
torch.tensor([[1, one]])
torch.as_tensor((half, half))
x.new_tensor([half])
torch.linspace(0, half, 3)
torch.arange(one + 1)
x.clamp(half, one)
x.clamp(max=half)
x ** one
half ** x
x.pow(half)
x.add(x, alpha=half)
x.add_(half)
x.fill_(half)
x.masked_fill(x > 2, half)
torch.where(x > 2, half, x)
torch.where(x > half, x, 0)
x.lerp(x * 2, half)
F.dropout(x, half / 100, False)
F.leaky_relu(x - 3, half)
F.softplus(x, beta=one)
F.pad(x, (one, 0))
F.interpolate(x[None], size=one + 1)
F.huber_loss(x, x * 2, delta=half)
x.topk(one)
x.chunk(one)
x.split(one)
x.unsqueeze(one)
x.index_select(0, torch.tensor(one))
torch.stack([x] * one)
x.normal_(half, 0)
x.quantile(half / 9)
torch.func.vmap(lambda row: row * half)(x)
torch.isclose(x, x + half, atol=half)
put(x, one, half)
put(x, slice(one), half)
put(x, (0, one), one)
np.array([half, one])
np.float64(half) + one
np.ones(3) * half
half * np.ones(3)
np.mean([half, 2.0])
np.full(one, half)
sorted([half, 0.5])
sum([half, one])
divmod(half, 2)
half in (1, 2)
[1, 2, 3][one]
"ab" * one
list(range(one))
complex(half, one)
float(one)
int(half)
bool(half)
half == half
half and one
one << 2 | one
~one
one // 1
half % 2
half**2
2**half
pow(one, 2)
math.fsum([half, one])
math.hypot(half, one)
round(half)
{one: half}[one]
f"{half:.2f}{one}"
"%d %.1f" % (one, half)
"{:.3f}".format(half)
str([half])
one.bit_length()
half.hex()
isinstance(half, float) and isinstance(one, int)
copy.copy([half])
(lambda *args: args)(*[half] * one)
functools.reduce(lambda a, b: a + b, [half, one])
[value for value in (half, one) if value > 1]
max(half, one, key=lambda v: -v)
torch.Size([one, 2])
torch.Generator().manual_seed(one) and torch.tensor(half).item()
""".strip().splitlines()
"""What may be done with a tensor, an integer and a float that were read from tensors."""


def put(x, index, value):
    """A tensor with an item that was set."""
    x[index] = value
    return x


@program("numbers in functions of all kinds", calls=4)
def late_each(compile):
    """Each of them finds numbers that nobody has asked for."""
    x = torch.arange(12.0).reshape(3, 4)

    def step_of(use):
        return compile(lambda y: use(x.clone(), (y > 1).sum().item(), y.abs().mean().item()))

    names = {"torch": torch, "F": F, "np": np, "math": math, "functools": functools, "copy": copy, "put": put}
    steps = [step_of(eval(f"lambda x, one, half: {text}", names)) for text in EACH]
    return lambda n: [step(torch.tensor([1.5 + n, 0.5, -1.0])) for step in steps], x
