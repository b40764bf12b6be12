"""Programs for which a mechanism of ``torch.execution.mechanisms()`` was made, each with those that may concern it.

Nothing that is measured is imported here: ``ablate.py`` runs the programs in fresh processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

from benchmarks import lengths
from benchmarks.dynamic_programs import leaf, numbers, rng, shuffled

Step = Callable[[int], object]
"""Does a piece of work, the one of this number, and returns when its numbers are there."""

STEADY, NEW, FIRST, EARLY, LONGEST = "a step", "a new step", "the first step", "the first steps", "the longest step"
"""What is measured: a step of those that have come before, or of those that are new each time; the very first one; the
first ones together, with what XLA compiles; or, by the clock, the longest of many after the first."""


class Workload(NamedTuple):
    """A program to be run with and without some mechanisms.

    Attributes:
        make: gives its step, for a module that speaks PyTorch's language.
        mechanisms: the names of those that may concern it.
        what: what is measured of it.
        deferred: whether calls are recorded; ``by_xla``: whether NumPy computes nothing, as on an accelerator.
        never: what is switched off always.
        compiled: whether its steps are compiled.
    """

    make: Callable[[Any], Step]
    mechanisms: tuple[str, ...]
    what: str = STEADY
    deferred: bool = False
    by_xla: bool = False
    never: tuple[str, ...] = ()
    compiled: bool = False


# -- what changes with each step ---------------------------------------------------------------------------------------


def of_lengths(net: Callable[[Any], Step], torch: Any) -> Step:
    """A net of ``lengths.py``, at a length that was not there before."""
    step, order = net(torch), shuffled(512)
    return lambda number: step(order[number % 512])


def settings(torch: Any) -> Step:
    """Activations with another number each time, and their gradients."""
    x, functional = leaf(torch, 16, 16), torch.nn.functional

    def step(number: int) -> None:
        p = 0.1 + 1e-4 * number
        y = functional.leaky_relu(x, p) + functional.elu(x, 1 + p) + torch.clamp(x, -p, p)
        y.sum().backward()

    return step


def pieces(torch: Any) -> Step:
    """Rows taken apart, changed and put together, another count each time."""
    x = leaf(torch, 600, 4)

    def step(number: int) -> None:
        rows = x[: 70 + number % 500].unbind()
        torch.stack([row * 2 for row in rows]).sum().backward()

    return step


def ragged(torch: Any) -> Step:
    """A loop of a recurrent cell, of another length each time, in which numbers decide what a turn does."""
    w, u, x = leaf(torch, 16, 16), leaf(torch, 16, 16), torch.tensor(numbers(1, 16))

    def step(number: int) -> None:
        random = rng(number)
        h = x @ w
        for turn in random.integers(0, 2, random.integers(5, 60)).tolist():
            h = (x @ w + h @ u).tanh() if turn else h * x
        h.sum().backward()

    return step


# -- what comes back ---------------------------------------------------------------------------------------------------

TIMES = 200
"""How often a step does what is small."""


def functions(torch: Any) -> Step:
    """Small public functions of tensors that need no gradient."""
    x, functional = torch.tensor(numbers(4, 4)), torch.nn.functional

    def step(number: int) -> None:
        for _ in range(TIMES):
            functional.softplus(x)
            torch.clamp(x, -1.0, 1.0)
            x.mean(0)
            x.sum(-1, keepdim=True)

    return step


def adding(torch: Any) -> Step:
    """``x.add_(1.0)``."""
    x = torch.tensor(numbers(4, 4))

    def step(number: int) -> None:
        for _ in range(TIMES):
            x.add_(1.0)

    return step


def item_written(torch: Any) -> Step:
    """``x[0] += 1``."""
    x = torch.tensor(numbers(4, 4))

    def step(number: int) -> None:
        for _ in range(TIMES):
            x[0] += 1

    return step


def views(torch: Any) -> Step:
    """Views of memory that nobody writes to."""
    x = torch.tensor(numbers(4, 4))

    def step(number: int) -> None:
        for i in range(TIMES):
            x[i % 4].unsqueeze(0)
            x.t()

    return step


def softmax(torch: Any) -> Step:
    """``softmax`` of 256 rows of 64."""
    x = torch.tensor(numbers(256, 64))

    def step(number: int) -> None:
        for _ in range(20):
            x.softmax(-1)

    return step


def pictures(torch: Any) -> Step:
    """A convolution of 64 channels by kernels of three by three, and its gradients."""
    x, w = leaf(torch, 4, 64, 32, 32), leaf(torch, 64, 64, 3, 3)

    def step(number: int) -> None:
        torch.nn.functional.conv2d(x, w, padding=1).sum().backward()

    return step


def pictures_by_numpy(torch: Any) -> Step:
    """A convolution of a large image of 64 channels, and its gradients, by NumPy."""
    x, w = leaf(torch, 1, 64, 56, 56), leaf(torch, 64, 64, 3, 3)

    def step(number: int) -> None:
        with torch.execution.tiers("host"):
            torch.nn.functional.conv2d(x, w, padding=1).sum().backward()

    return step


def backward(torch: Any) -> Step:
    """A chain of 100 small operators and its gradients."""
    x = leaf(torch, 8)

    def step(number: int) -> None:
        y = x
        for _ in range(50):
            y = y * x + x
        y.sum().backward()

    return step


def adam(torch: Any, count: int = 500, size: int = 4) -> Step:
    """An update of square tensors by Adam: 500 of 16 numbers."""
    parameters = [leaf(torch, size, size) for _ in range(count)]
    for p in parameters:
        p.grad = torch.ones(size, size)
    optimizer = torch.optim.Adam(parameters)

    def step(number: int) -> None:
        optimizer.step()

    return step


def large_adam(torch: Any) -> Step:
    """The same of 10 tensors of 90,000 numbers."""
    return adam(torch, 10, 300)


def asking(torch: Any) -> Step:
    """A compiled step that asks for its loss, with an update of ten large parameters by Adam."""
    parameters = [leaf(torch, 300, 300) for _ in range(10)]
    optimizer, x = torch.optim.Adam(parameters), torch.tensor(numbers(4, 300))

    def train() -> float:
        optimizer.zero_grad()
        y = x
        for p in parameters:
            y = (y @ p).tanh()
        loss = y.square().mean()
        loss.backward()
        optimizer.step()
        return 1.0 if loss.item() > 1.0 else loss.item()

    run = torch.compile(train)
    return lambda number: run()


def cheap_loop(torch: Any) -> Step:
    """A compiled loop of 40 turns of nothing but cheap elementwise operators, and its gradients."""
    f, g, x = leaf(torch, 64), leaf(torch, 64), torch.ones(64)

    @torch.compile
    def train() -> Any:
        c = x
        for _ in range(40):
            d = c * f + g
            c = d - c * d * 0.01 + d.clamp(min=0) * 0.01
        loss = c.sum()
        loss.backward()
        f.grad = g.grad = None
        return loss.detach()

    return lambda number: train().item()


def gated_loop(torch: Any) -> Step:
    """A compiled loop of 100 turns in which two states go through a product and through cheap operators."""
    w, x = torch.full((8, 8), 0.1), torch.linspace(0, 1, 512).reshape(64, 8)

    @torch.compile
    def run(h: Any, c: Any) -> Any:
        for _ in range(100):
            h, c = ((c + 1) * c) @ w, c * 0.5 + h
        return h

    return lambda number: run(x, x).sum().item()


def recurrent(torch: Any) -> Step:
    """A compiled step of 40 turns of a GRU cell, and of its gradient."""
    cell, x = torch.nn.GRUCell(32, 32), torch.ones(8, 32)
    optimizer = torch.optim.SGD(cell.parameters(), lr=0.01)

    @torch.compile
    def run() -> Any:
        optimizer.zero_grad()
        h, loss = torch.zeros(8, 32), torch.zeros(())
        for _ in range(40):
            h = cell(x, h)
            loss = loss + (h**2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return lambda number: run().item()


def large(torch: Any) -> Step:
    """A function that XLA computes sooner than NumPy, of a large array, and its gradient."""
    x = leaf(torch, 400, 400)

    def step(number: int) -> None:
        torch.nn.functional.gelu(x @ x).sum().backward()

    return step


def small_draws(torch: Any) -> Step:
    """What a policy or a diffusion model draws at each step: noise, times, a dropout."""
    x, functional = torch.ones(16, 16), torch.nn.functional

    def step(number: int) -> None:
        functional.dropout(torch.randn(16, 16) + x, 0.1)
        torch.randint(0, 100, (16,)), torch.rand(4)

    return step


def large_rows(torch: Any) -> Step:
    """Norms and functions of rows of a large array, by NumPy, and their gradients."""
    x, functional = leaf(torch, 2048, 1024), torch.nn.functional

    def step(number: int) -> None:
        with torch.execution.tiers("host"):
            x.grad = None
            functional.gelu(functional.layer_norm(x, (1024,)), approximate="tanh").softmax(-1).sum().backward()

    return step


def product_and_rows(torch: Any) -> Step:
    """Functions of rows of a large array behind a product, by NumPy."""
    x, functional = torch.linspace(-1, 1, 1 << 21).reshape(2048, 1024), torch.nn.functional
    w = torch.linspace(-0.1, 0.1, 1 << 20).reshape(1024, 1024)

    def step(number: int) -> None:
        with torch.execution.tiers("host"):
            functional.gelu(functional.layer_norm(x @ w, (1024,)), approximate="tanh").softmax(-1).sum()

    return step


def large_chain(torch: Any) -> Step:
    """Functions of a large array, recorded, by NumPy: 40 results that one after the other is read once."""
    x = torch.linspace(0, 1, 1 << 20)

    def step(number: int) -> float:
        y = x
        for _ in range(20):
            y = (y + 1).sqrt()
        return y.sum().item()

    return step


def large_step(torch: Any) -> Step:
    """A compiled step of training of a large layer: what is given back is so once."""
    net = torch.nn.Linear(1024, 1024)
    optimizer, x = torch.optim.Adam(net.parameters()), torch.linspace(0, 1, 1 << 20).reshape(1024, 1024)

    @torch.compile
    def train() -> Any:
        optimizer.zero_grad()
        loss = net(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return lambda number: train().item()


def small_net(torch: Any) -> Step:
    """A step of training of a small net by an optimizer."""
    net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 4))
    optimizer = torch.optim.Adam(net.parameters())

    def step(number: int) -> None:
        x, labels = torch.tensor(numbers(6 + number, 8)), torch.arange(6 + number) % 4
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(x), labels).backward()
        optimizer.step()

    return step


LENGTHS = "shape classes", "plan templates", "symbolic kernels", "flat traces", "call cache", "numpy backend"
MLP, LSTM, SCALARS, LONG_LSTM = "MLP", "LSTM loop", "perceptron of scalars", "LSTM loop of 150 turns"

MODELS = {MLP: ("cached backward",), LSTM: ("cached backward", "loop carry"), SCALARS: ("cached backward", "batching")}
"""Those that are trained deferred, and what may concern them however they are run."""


def trained(name: str, torch: Any, compiled: bool = False) -> Step:
    """Steps of training of a model of ``models.py``."""
    models, training = import_module("benchmarks.models"), import_module("benchmarks.workloads").training
    own = {SCALARS: models.scalar_mlp((2, 16, 16, 1), 8), LONG_LSTM: models.lstm(150, 8, 32, 64)}
    program = training(own.get(name) or models.MODELS[name], torch, "cpu")
    run = torch.compile(program.step) if compiled else program.step
    return lambda number: run(*program.arguments).item()


def deferred_workloads() -> Iterator[tuple[str, Workload]]:
    """Models that are trained deferred, with NumPy and all by XLA."""
    for name, mechanisms in MODELS.items():
        program = Workload(partial(trained, name), (*mechanisms, "recording policy"), deferred=True)
        yield f"{name}, deferred", program
        yield f"{name}, deferred, all by XLA", program._replace(mechanisms=mechanisms, by_xla=True)
    yield "ragged loops, deferred", Workload(ragged, ("recording policy", "cached backward"), NEW, deferred=True)


def compiled_workloads() -> Iterator[tuple[str, Workload]]:
    """Models whose steps are compiled, by XLA from the third call on, and what their first steps take."""
    for name, mechanism in ((LSTM, "scanned loops"), (LONG_LSTM, "scanned loops"), (SCALARS, "batching")):
        program = Workload(partial(trained, name, compiled=True), (mechanism,), compiled=True, by_xla=True)
        yield f"{name}, compiled", program
        yield f"{name}, compiled, the first four steps", program._replace(what=EARLY)


WORKLOADS: dict[str, Workload] = {
    "MLP, a new length": Workload(partial(of_lengths, lengths.mlp), LENGTHS, NEW),
    "attention, a new length": Workload(
        partial(of_lengths, lengths.attention), (*LENGTHS, "steady rows", "view cache"), NEW
    ),
    "settings that change": Workload(
        settings, ("dynamic settings", "plan templates", "symbolic kernels", "shape classes"), NEW
    ),
    "unbind and stack of a new count": Workload(pieces, ("many operands", "shape classes"), NEW),
    "small public functions": Workload(functions, ("call cache", "numpy backend")),
    "x.add_(1.0)": Workload(adding, ("write cache", "numpy backend")),
    "x[0] += 1": Workload(item_written, ("write cache", "view cache", "call cache", "numpy backend")),
    "views": Workload(views, ("view cache", "call cache")),
    "softmax": Workload(softmax, ("steady rows", "numpy backend")),
    "convolution": Workload(pictures, ("winograd",)),
    "convolution, by NumPy": Workload(pictures_by_numpy, ("winograd",)),
    "backward": Workload(backward, ("numpy backend",)),
    "Adam of 500 tensors": Workload(adam, ("fused updates", "numpy backend")),
    "Adam of 10 large tensors": Workload(large_adam, ("fused updates",)),
    **dict(deferred_workloads()),
    **dict(compiled_workloads()),
    "elementwise loop, compiled": Workload(cheap_loop, ("loop carry",), compiled=True, by_xla=True),
    "gated loop, compiled": Workload(gated_loop, ("loop carry",), compiled=True, by_xla=True),
    "loop of GRU cells, compiled": Workload(recurrent, ("scanned loops",), compiled=True, by_xla=True),
    "gated loop, compiled, the first four steps": Workload(
        gated_loop, ("loop carry",), EARLY, compiled=True, by_xla=True
    ),
    "compiled, the loss asked for": Workload(asking, ("compiled updates",), compiled=True),
    "small net, first step": Workload(small_net, ("disk cache", "shipped classes", "numpy backend"), FIRST),
    "small net, first step, nothing kept or shipped": Workload(
        small_net, ("flat traces", "shape classes"), FIRST, never=("disk cache", "shipped classes")
    ),
    "rows of a large array, by NumPy": Workload(large_rows, ("strips",)),
    "a few random numbers": Workload(small_draws, ("foreseen keys",)),
    "rows of a large array behind a product, by NumPy": Workload(product_and_rows, ("resting BLAS",)),
    "large layer, compiled": Workload(large_step, ("giving back",), compiled=True),
    "chain of large arrays, deferred": Workload(large_chain, ("releasing",), deferred=True),
    "gelu of a large product": Workload(large, ("background compiling", "numpy backend"), LONGEST),
}
"""By what the table calls them."""
