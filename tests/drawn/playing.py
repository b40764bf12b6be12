"""``Player`` runs the statements of a program on one module, and tells what can be seen of them.

Note [What is not compared]
PyTorch's backward may give out a gradient as a view that is expanded, or one that was added to in place and so has a
version; nodes that ``create_graph`` makes follow its formulas, and what a transform gives lies in memory as its
batching rules leave it. All this is PyTorch's way of computing, of which no program should know: of gradients and what
comes from transforms, and of all that is computed from these (``TAINTING``), it is not compared how it lies in memory,
and of the first neither what node made it. Steps along dimensions of length 1 name nothing.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

PREAMBLE = (Path(__file__).parent / "preamble.py").read_text()
HELPERS = {node.name: node for node in ast.parse(PREAMBLE).body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
PREAMBLE_CODE = compile(PREAMBLE.replace("import tapegrad as torch\n", "\n"), "<preamble>", "exec")

Raised = tuple[str, str, str]
"""The word "raised", the type, the sentence."""


@lru_cache(maxsize=4096)
def statements(text: str) -> list[tuple[str, CodeType]]:
    """A program as its statements, each compiled by itself."""
    found = []
    for node in ast.parse(text).body:
        source = ast.unparse(node)
        found.append((source, compile(source, "<drawn>", "exec")))
    return found


class Player:
    """One module, and the names that a program has given to things in it."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.names: dict[str, Any] = {
            "__name__": "drawn_program",
            "torch": module,
            "F": module.nn.functional,
            "forward_ad": module.autograd.forward_ad,
        }
        exec(PREAMBLE_CODE, self.names)
        self.reserved = frozenset(self.names)
        self.first_versions: dict[str, tuple[Any, int]] = {}

    @property
    def pool(self) -> dict[str, Any]:
        """What the program made, by name; functions aside."""
        return {
            name: item for name, item in self.names.items()
            if name not in self.reserved and len(name) == 1 and not callable(item)
        }  # fmt: skip

    def names_of_same(self, names: Container[str]) -> set[str]:
        """All names of the things that these are names of."""
        pool = self.pool
        things = {id(item) for name, item in pool.items() if name in names}
        return {name for name, item in pool.items() if id(item) in things}

    def run(self, code: CodeType) -> Raised | None:
        """Run a statement; what it raised."""
        try:
            exec(code, self.names)
        except Exception as error:  # what it raises is what is compared
            return "raised", type(error).__name__, sentence(error)
        return None

    def evaluate(self, text: str) -> Any:
        """What an expression gives."""
        return eval(text, self.names)

    def marks(self, tainted: Container[str] = (), direct: Container[str] = ()) -> dict[str, Any]:
        """What can be seen of the pool without its numbers."""
        hidden = {name: HIDDEN + ("grad_fn",) * (name in direct) for name in self.pool if name in tainted}
        with self.module._C.DisableTorchFunctionSubclass():
            found = {name: self.marks_of(item, hidden.get(name, ())) for name, item in sorted(self.pool.items())}
        for name, marks in found.items():
            if isinstance(marks, dict) and isinstance(marks.get("version"), int):
                marks["version"] -= self.first_version(name, marks["version"])
        return found

    def first_version(self, name: str, version: int) -> int:
        """The version that a tensor had when it was first seen under a name: writes of its maker's count, too."""
        item = self.names[name]
        if self.first_versions.get(name, (None, 0))[0] is not item:
            self.first_versions[name] = item, version
        return self.first_versions[name][1]

    def marks_of(self, item: Any, hidden: Container[str] = ()) -> Any:
        if isinstance(item, self.module.Tensor):
            return {name: attempt(look, item) for name, look in MARKS.items() if name not in hidden}
        if isinstance(item, (tuple, list)):
            return [self.marks_of(part, hidden) for part in item]
        return type(item).__name__

    def numbers(self) -> dict[str, Any]:
        """The numbers of the pool, gradients, and what hooks were given."""
        with self.module._C.DisableTorchFunctionSubclass():
            return self.numbers_now()

    def numbers_now(self) -> dict[str, Any]:
        found: dict[str, Any] = {"log": self.numbers_of(self.names["seen"]), "kept": self.kept()}
        for name, item in sorted(self.pool.items()):
            found[name] = self.numbers_of(item)
            if isinstance(item, self.module.Tensor):
                grad = attempt(lambda item=item: item.grad)
                found[f"{name}.grad"] = self.gradient(grad)
        return found

    def kept(self) -> Any:
        """What Python has kept."""
        return self.numbers_of({name: item for name, item in vars(self.names["Kept"]).items() if name[:2] != "__"})

    def gradient(self, grad: Any) -> Any:
        if not isinstance(grad, self.module.Tensor):
            return grad
        return [{"dtype": MARKS["dtype"](grad), "shape": tuple(grad.shape), "requires_grad": grad.requires_grad},
                self.numbers_of(grad)]  # fmt: skip

    def numbers_of(self, item: Any) -> Any:
        if isinstance(item, self.module.Tensor):
            return attempt(self.array, item)
        if isinstance(item, (tuple, list)):
            return [self.numbers_of(part) for part in item]
        if isinstance(item, dict):
            return {key: self.numbers_of(part) for key, part in item.items()}
        return item if isinstance(item, (bool, int, float, complex, str, type(None))) else type(item).__name__

    def array(self, tensor: Any) -> np.ndarray:
        tensor = tensor.detach()
        if getattr(tensor, "_is_zerotensor", bool)():  # zeros of PyTorch's that have no memory
            return np.zeros(tuple(tensor.shape), str(tensor.dtype).rpartition(".")[2])
        if tensor.dtype == self.module.bfloat16:
            found = tensor.to(self.module.float32).numpy().astype(np.float32)
            return found.view(Bfloat)
        return tensor.resolve_neg().resolve_conj().numpy().copy()


class Bfloat(np.ndarray):
    """Numbers of which eight bits count, as NumPy has no bfloat16."""


def steps_of(tensor: Any) -> tuple[int, ...]:
    if not tensor.numel():
        return ()
    return tuple(step * (length > 1) for step, length in zip(tensor.stride(), tensor.shape, strict=True))


MARKS: dict[str, Callable[[Any], Any]] = {
    "class": lambda x: type(x).__name__,
    "dtype": lambda x: str(x.dtype).rpartition(".")[2],
    "shape": lambda x: tuple(x.shape),
    "requires_grad": lambda x: x.requires_grad,
    "grad_fn": lambda x: None if x.grad_fn is None else x.grad_fn.name(),
    "is_leaf": lambda x: x.is_leaf,
    "version": lambda x: None if x.is_inference() else x._version,
    "is_inference": lambda x: x.is_inference(),
    "stride": steps_of,
    "storage_offset": lambda x: x.storage_offset(),
    "output_nr": lambda x: x.output_nr,
}
"""What can be seen of a tensor besides its numbers."""


def attempt(look: Callable, *args: Any) -> Any:
    try:
        return look(*args)
    except Exception as error:  # what it raises is what is compared
        return "raised", type(error).__name__, sentence(error)


ADDRESSES = re.compile(r"0x[0-9a-f]+|\bat \d{6,}")


def sentence(error: Exception) -> str:
    """The text of an exception up to what tapegrad adds to PyTorch's, or PyTorch of its own source."""
    text = str(error).partition("\nWhere:\n")[0].partition("\nException raised from")[0]
    return ADDRESSES.sub("…", text)


@contextmanager
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def settle(module: Any) -> None:
    """Put back what a program may have set for good."""
    if module.get_default_dtype() is not module.float32:
        module.set_default_dtype(module.float32)
    if not module.is_grad_enabled():
        module.set_grad_enabled(True)
    if not module.autograd.is_multithreading_enabled():
        module.autograd.set_multithreading_enabled(True)
    if module.is_anomaly_enabled():
        module.set_anomaly_enabled(False)
    if module.is_autocast_enabled("cpu"):
        module.set_autocast_enabled("cpu", False)
    if module.get_autocast_dtype("cpu") is not module.bfloat16:
        module.set_autocast_dtype("cpu", module.bfloat16)


TAINTING = re.compile(r"\.grad\b|vmap|autograd\.grad\(|torch\.func\.|autograd\.functional|forward_ad|\.apply\(")
ALIAS = re.compile(r"\w = (\w)\[\d\]$")
"""A name of a part of a thing."""
HIDDEN = ("version", "stride", "storage_offset", "output_nr")


def tainted_by(source: str, tainted: set[str]) -> None:
    """Add to the names of gradients those that a statement gives to any, and to functions that give any.

    See Note [What is not compared].
    """
    if TAINTING.search(source) or tainted & set(re.findall(r"\b[a-z]\d*\b", source)):
        for part in ast.parse(source).body:
            nodes = [] if isinstance(part, ast.FunctionDef) else ast.walk(part)
            tainted |= {x.id for x in nodes if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
            tainted |= {part.name} if isinstance(part, ast.FunctionDef) else set()


Account = list[tuple[str, Raised | None, dict[str, Any]]]


def play(player: Player, text: str, watched: bool = True) -> tuple[Account, dict[str, Any]]:
    """Run a program: what each statement raised and what could be seen after it, and all numbers at the end.

    Args:
        player: runs it.
        text: the program.
        watched: look at the pool after each statement, not only after the last one. (To look may make histories anew.)
    """
    account: Account = []
    program = statements(text)
    tainted, direct = set[str](), set[str]()
    settle(player.module)
    with quiet():
        for number, (source, code) in enumerate(program, 1):
            raised = player.run(code)
            tainted_by(source, tainted)
            if TAINTING.search(source) or (ALIAS.match(source) and ALIAS.match(source)[1] in direct):
                tainted_by(source, direct)
            direct |= player.names_of_same(direct)
            look = watched or number == len(program)
            account.append((source, raised, player.marks(tainted, direct) if look else {}))
        settle(player.module)
        return account, player.numbers()
