"""Programs that share and write to memory: how they are run, step by step, and compared.

A program is a list of lines of Python over ``torch`` and tensors that are named by single letters (the *pool*)::

    a = torch.tensor([1.0, 2.0], requires_grad=True)
    b = a * 2
    with torch.no_grad(): b[0] = 3.0
    b.sum().backward()

so that a failure can be pasted into a shell. ``disagreement`` runs the lines on two modules at once and compares what
can be seen of every tensor after each of them; ``minimal`` leaves out what isn't needed for a disagreement.
``mutation_steps`` draws programs.

Note [What is not compared]
PyTorch's backward may give out a gradient as a view that is expanded, or one that was added to in place and so has a
version; and nodes that are made by ``create_graph`` follow its formulas. All this is PyTorch's way of computing, of
which no program should know. So programs take derivatives by ``derivative``, which makes a contiguous tensor with a
node of its own, behind which nobody looks; of other gradients they see the values, and the versions of ``.grad`` (and
the strides of non-leaves') are not compared. Zeros have no sign, though it can be seen through integers.

A write to an inference tensor outside inference mode is refused by PyTorch after it was made, by tapegrad
before: a program ends there. Where a step is wrong in two ways, either may be what it raises, if one of them is that,
or that memory overlaps, or that it asks for a history which can't be made again. A program ends where PyTorch finds
itself in a state that should not be, or refuses in backward to write where memory overlaps though it let the write
itself pass. Strides of dimensions of length 1, which name nothing, are left to ``test_strides.py``.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from types import CodeType
from typing import Any

from harness import attempt, sentence

Account = dict[str, Any]

STALE = "its base or another view of its base has been modified inplace"
CRASHED = "INTERNAL ASSERT FAILED"
"""What PyTorch says where it finds itself in a state that should not be; nothing can be compared then."""

INFERENCE = "Inplace update to inference tensor outside InferenceMode is not allowed"
OVERLAP = "unsupported operation: "
EARLY = (STALE, INFERENCE, OVERLAP)


@lru_cache(maxsize=65536)
def compiled(line: str) -> CodeType:
    """A line as an expression, whose value is looked at, or as a statement."""
    try:
        return compile(line, "<step>", "eval")
    except SyntaxError:
        return compile(line, "<step>", "exec")


@lru_cache
def custom_functions(module: Any) -> dict[str, Any]:
    """What the lines of a program may call, apart from ``torch``.

    ``Double`` writes to its argument, ``Same`` gives it back, ``Flat`` gives a view of it. ``derivative(root, x)`` is
    differentiable again; ``values(grads)`` tells what gradients are. See Note [What is not compared].
    """

    class Double(module.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    class Same(module.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 3

    class Flat(module.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.shape = x.shape
            return x.view(-1)

        @staticmethod
        def backward(ctx, grad):
            return grad.reshape(ctx.shape) * 5

    class Derivative(module.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.new_zeros(x.shape) + x

        @staticmethod
        def backward(ctx, grad):
            return grad * 1

    def derivative(root, x):
        (grad,) = module.autograd.grad(root, x, create_graph=True, allow_unused=True)
        return None if grad is None else Derivative.apply(grad)

    def values(grads):
        return [grad if grad is None else [grad.tolist(), grad.requires_grad] for grad in grads]

    return {"Double": Double, "Same": Same, "Flat": Flat, "derivative": derivative, "values": values}


class Player:
    """Runs the lines of one program on one module.

    Attributes:
        names: what the lines see: ``torch``, ``log`` (a list that hooks append to), custom functions, and the pool.
    """

    def __init__(self, module: Any) -> None:
        self.module = module
        self.names: dict[str, Any] = {"torch": module, "log": [], **custom_functions(module)}
        self.reserved = set(self.names) | {"__builtins__"}

    @property
    def pool(self) -> dict[str, Any]:
        """The living tensors by name."""
        return {name: item for name, item in self.names.items() if name not in self.reserved}

    def step(self, line: str) -> Any:
        """Run a line; what it gave, or the exception that it raised, in terms that both modules share."""
        try:
            outcome = self.told(eval(compiled(line), self.names))
        except Exception as error:  # what it raises is what is compared
            outcome = ["raised", type(error).__name__, sentence(error)]
        for name, item in self.pool.items():
            if not self.is_tensor(item):
                del self.names[name]
        return outcome

    def told(self, value: Any) -> Any:
        """A result: tensors of the pool by their names."""
        if self.is_tensor(value):
            return self.name_of(value) or self.seen(value)
        if isinstance(value, (tuple, list)):
            return [self.told(item) for item in value]
        return plain(value) if isinstance(value, (bool, int, float, complex, str)) else type(value).__name__

    def name_of(self, tensor: Any) -> str | None:
        """The first name of a tensor in the pool."""
        return next((name for name, item in sorted(self.pool.items()) if item is tensor), None)

    def data(self) -> Account:
        """What can be seen of the pool without asking for its history, which may make it again."""
        log = plain(self.names["log"])
        self.names["log"].clear()
        return {"log": log, **{name: self.seen(tensor) for name, tensor in sorted(self.pool.items())}}

    def seen(self, tensor: Any) -> Account:
        """The data of one tensor, and how it lies in memory."""
        return {name: attempt(lambda field=field: field(tensor)) for name, field in DATA.items()}

    def history(self) -> Account:
        """What can be seen of how the pool came about: the graph behind it, what views what, gradients, memory."""
        pool = sorted(self.pool.items())
        graph = Graph()
        account = {name: self.place(tensor, graph) for name, tensor in pool}
        account["graph"] = graph.account()
        for kind, pointer in (("memory", memory_of), ("data_ptr", lambda tensor: tensor.data_ptr())):
            pointers = [attempt(lambda tensor=tensor, pointer=pointer: pointer(tensor)) for _, tensor in pool]
            account[kind] = [pointers.index(item) for item in pointers]
        return account

    def place(self, tensor: Any, graph: Graph) -> Account:
        """The place of one tensor in the graph, and its gradient."""
        found = {name: attempt(lambda field=field: field(tensor)) for name, field in PLACE.items()}
        found["grad_fn"] = attempt(lambda: graph.number(tensor.grad_fn))
        base, grad = tensor._base, attempt(lambda: tensor.grad)
        found["_base"] = None if base is None else self.name_of(base) or "unnamed"
        if self.is_tensor(grad):
            leaf = attempt(lambda: tensor.is_leaf) is True
            hidden = ("_version",) if leaf else ("_version", "stride", "is_contiguous")
            grad = {**self.seen(grad), "name": self.name_of(grad), **dict.fromkeys(hidden)}
        return {**found, "grad": grad}

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, self.module.Tensor)


DATA: dict[str, Callable[[Any], Any]] = {
    "value": lambda tensor: unsigned(plain(tensor.detach().tolist())),
    "dtype": lambda tensor: str(tensor.dtype).rpartition(".")[2],
    "shape": lambda tensor: list(tensor.shape),
    "stride": lambda tensor: [step * (n > 1) for step, n in zip(tensor.stride(), tensor.shape, strict=True)],
    "storage_offset": lambda tensor: tensor.storage_offset(),
    "is_contiguous": lambda tensor: tensor.is_contiguous(),
    "_version": lambda tensor: tensor._version,
    "requires_grad": lambda tensor: tensor.requires_grad,
    "is_inference": lambda tensor: tensor.is_inference(),
}
"""What can be seen of a tensor without asking for its history; or what that raises."""

PLACE: dict[str, Callable[[Any], Any]] = {
    "output_nr": lambda tensor: tensor.output_nr,
    "is_leaf": lambda tensor: tensor.is_leaf,
    "retains_grad": lambda tensor: tensor.retains_grad,
    "_is_view": lambda tensor: tensor._is_view(),
}


DERIVATIVE = "DerivativeBackward"


class Graph:
    """The nodes behind a pool, numbered in the order in which they are met."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.numbers: dict[Any, int] = {}

    def number(self, node: Any) -> str | None:
        """A node as its name and number."""
        if node is None:
            return None
        if node not in self.numbers:
            self.numbers[node] = len(self.nodes)
            self.nodes.append(node)
        return f"{node.name()} {self.numbers[node]}"

    def account(self) -> dict[str, Any]:
        """Every node that can be reached, and what comes next."""
        found: dict[str, Any] = {}
        for node in self.nodes:  # grows meanwhile
            if node.name() == DERIVATIVE:
                continue
            found[self.number(node)] = [[self.number(after), slot] for after, slot in node.next_functions]
        return found


def memory_of(tensor: Any) -> int:
    return tensor.untyped_storage().data_ptr()


def plain(value: Any) -> Any:
    """A value that can be compared: without nan, and without the last digits, in which absolute values may differ."""
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    if isinstance(value, float):
        return "nan" if math.isnan(value) else float(f"{value:.6g}")
    return value


def unsigned(value: Any) -> Any:
    """With 0 for the bits of -0.0."""
    return [unsigned(item) for item in value] if isinstance(value, list) else 0 if value == -(2**31) else value


# -- comparing ---------------------------------------------------------------------------------------------------------


def differences(ours: Any, theirs: Any, where: str = "") -> Iterator[str]:
    """Where two accounts differ, as lines to read."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in {**theirs, **ours}:
            yield from differences(ours.get(key, "nothing"), theirs.get(key, "nothing"), f"{where}.{key}".lstrip("."))
    elif ours != theirs:
        yield f"{where}: {ours!r}, expected {theirs!r}"


class Disagreement(AssertionError):
    """Two modules gave different accounts of a program. ``lines`` are those up to the one after which they differ."""

    def __init__(self, lines: Sequence[str], found: list[str]) -> None:
        self.lines, self.found = list(lines), found
        program = "\n".join(f"    {line}" for line in self.lines)
        super().__init__(f"after the last line of\n{program}\n" + "\n".join(f"  {item}" for item in found[:12]))


@contextmanager
def quiet() -> Iterator[None]:
    """Without warnings: of the ``.grad`` of non-leaves, of deprecated forms, ..."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def wrong_twice(expected: Any, outcome: Any) -> bool:
    """Whether two outcomes are errors, one of them about what is looked at early. See Note [What is not compared]."""
    errors = [item for item in (expected, outcome) if isinstance(item, list) and item[:1] == ["raised"]]
    return len(errors) == 2 and any(part in error[2] for error in errors for part in EARLY)


def disagreement(
    lines: Sequence[str], theirs: Callable[[], Player], ours: Callable[[], Player], lazy: bool = False
) -> Disagreement | None:
    """Run a program on two players, and tell where they differ first.

    Args:
        lines: the program.
        theirs, ours: make the player which is right, and the one which is examined.
        lazy: ask for the history after the last line only, and after lines that fail. Asking makes that of views again
            whose base was written to, and it must not matter when that happens. (What fails may have asked or not.)
    """
    with quiet():
        first, second = theirs(), ours()
        for number, line in enumerate(lines, 1):
            expected, outcome = first.step(line), second.step(line)
            found = [] if wrong_twice(expected, outcome) else list(differences(outcome, expected, "outcome"))
            if not found and (INFERENCE in str(expected) or INFERENCE in str(outcome)):
                return None
            found += differences(second.data(), first.data())
            if not lazy or number == len(lines) or isinstance(expected, list):
                found += differences(second.history(), first.history())
            if CRASHED in str(expected) or any(CRASHED in line for line in found):
                return None
            if OVERLAP in str(expected) and "backward" in line:  # of a write that PyTorch let pass
                return None
            if found:
                return Disagreement(lines[:number], found)
    return None


def minimal(found: Disagreement, examine: Callable[[list[str]], Disagreement | None]) -> Disagreement:
    """The disagreement with as few lines as possible: what can be left out is, and contexts that don't matter are."""
    shrunk = True
    while shrunk:
        shrunk = False
        for lines in smaller(found.lines):
            other = examine(lines)
            if other is not None and weight(other.lines) < weight(found.lines):
                found, shrunk = other, True
                break
    return found


def smaller(lines: list[str]) -> Iterator[list[str]]:
    """The program without one of its lines, or with one that stands in no context."""
    for number in reversed(range(len(lines))):
        yield lines[:number] + lines[number + 1 :]
    for number, line in enumerate(lines):
        if line.startswith("with "):
            yield [*lines[:number], line.partition("(): ")[2], *lines[number + 1 :]]


def weight(lines: list[str]) -> tuple[int, int]:
    return len(lines), sum(map(len, lines))
