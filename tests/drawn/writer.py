"""``Writer`` draws one program, in view of what it has done so far: it runs it as it is drawn.

Note [Undefined writes]
What a write does whose operands overlap in memory, or that reaches an element twice, depends on the order in which
elements are written. Such writes are not drawn, except those that are refused. Nor are writes to gradients, and to what
shares memory with them: PyTorch may give out the one that was given to it, or one tensor for several; here each is a
tensor of its own.

Note [Tame numbers]
Numbers are kept small and finite: a step that makes large ones or nan, or what can't be read, is drawn again. What inf
and nan do is swept elsewhere, operator by operator; here they would only hide that something else is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from random import Random
from typing import Any

from .operators import FAMILIES
from .playing import Player, attempt, quiet, settle, statements, tainted_by

LATE = ("INTERNAL ASSERT", "Inplace update to inference tensor")
"""Errors that PyTorch raises when it has done half of what was asked for."""
LETTERS = "abcdefghijkl"
MOST_ELEMENTS, MOST_DIMENSIONS = 36, 4
LARGEST = 200.0
SHAPES = [(3,), (2, 3), (2, 3), (2, 3), (3, 2), (2, 2), (3, 3), (), (1, 3), (2, 1), (2, 2, 3), (0, 3)]
FEW_SHAPES = [(2, 3), (2, 3), (2, 3), (3,), (), (2, 2)]
FEW_DTYPES = ["float32"] * 12 + ["float64", "complex64", "int64"]
DTYPES = (
    ["float32"] * 12
    + ["float64"] * 5
    + ["float16", "bfloat16", "complex64", "complex64", "complex128"]
    + ["int64", "int64", "int32", "int16", "int8", "uint8", "bool"]
)


class Writer:
    """Draws one program.

    Args:
        plain: draw operators, shapes and dtypes from a few only, which are compiled soon: the program is about what
            happens to tensors, not about what is computed.

    Attributes:
        chances: where the choices come from.
        lines: the statements so far.
        world: the right module after these.
        daring: whether what is drawn now may fail.
        tainted: the names of gradients, and of what was computed from them: see ``playing.py``.
        written: the steps that are part of the program.
    """

    def __init__(self, module: Any, chances: Random, plain: bool = False) -> None:
        self.module, self.chances, self.plain = module, chances, plain
        self.shapes, self.dtypes = (FEW_SHAPES, FEW_DTYPES) if plain else (SHAPES, DTYPES)
        self.lines: list[str] = []
        self.world = Player(module)
        self.daring = False
        self.counted = 0
        self.written: list[Callable[[Writer], str | None]] = []
        self.tainted: set[str] = set()
        self.number_types = {getattr(module, name): name for name in dict.fromkeys(DTYPES)}

    # -- chances

    def number(self, least: int, most: int) -> int:
        return self.chances.randint(least, most)

    def choice(self, options: Sequence) -> Any:
        return self.chances.choice(options)

    def chance(self, percent: int) -> bool:
        return self.chances.random() * 100 < percent

    # -- the program

    def write(self, steps: Sequence[Callable[[Writer], str | None]], weights: Sequence[int], length: int) -> str:
        """A program of about so many of these steps."""
        with quiet():
            for step in self.chances.choices(steps, weights, k=length):
                self.daring = self.chance(10)
                text = step(self)
                if text and self.keep(text):
                    self.written.append(step)
        return "\n".join(self.lines)

    def keep(self, text: str) -> bool:
        """Run statements and make them part of the program, if they work and leave numbers tame, or may fail."""
        marks = None
        for _, code in statements(text):
            marks = self.world.run(code)
            if marks is not None:
                break
        may = marks is None or (self.daring and marks[1] in ("RuntimeError", "IndexError", "ValueError"))
        if may and not any(words in str(marks) for words in LATE) and self.is_tame():
            self.lines.append(text)
            tainted_by(text, self.tainted)
            return True
        self.begin_again()
        return False

    def begin_again(self) -> None:
        self.world = Player(self.module)
        settle(self.module)
        for text in self.lines:
            for _, code in statements(text):
                if self.world.run(code) is not None:
                    break

    def is_tame(self) -> bool:
        """See Note [Tame numbers]."""
        with self.module._C.DisableTorchFunctionSubclass():
            return all(attempt(self.tame, x) is True for item in self.world.pool.values() for x in self.flat(item))

    def flat(self, item: Any) -> list[Any]:
        if isinstance(item, self.module.Tensor):
            grad = attempt(lambda: item.grad)
            return [item, grad] if isinstance(grad, self.module.Tensor) else [item]
        return [x for part in item for x in self.flat(part)] if isinstance(item, (tuple, list)) else []

    def tame(self, x: Any) -> bool:
        if x.numel() > MOST_ELEMENTS or x.ndim > MOST_DIMENSIONS:
            return False
        if not x.numel() or not (x.dtype.is_floating_point or x.dtype.is_complex):
            return True
        with self.module.no_grad():
            largest = x.detach().abs().max().item()
        return largest <= LARGEST  # not so of nan

    # -- what a step speaks of

    def new_name(self) -> str:
        free = [letter for letter in LETTERS if letter not in self.world.names]
        return free[0] if free else self.choice(LETTERS)

    def fresh(self, prefix: str) -> str:
        """A name that the program has not used: of a function, a handle, a tag."""
        self.counted += 1
        return f"{prefix}{self.counted}"

    def __getitem__(self, name: str) -> Any:
        return self.world.names[name]

    def tensors(self, suits: Callable[[Any], bool] = lambda x: True) -> list[str]:
        pool = self.world.pool.items()
        return [
            name
            for name, x in pool
            if isinstance(x, self.module.Tensor) and attempt(lambda x: bool(suits(x)), x) is True
        ]

    def tensor(self, suits: Callable[[Any], bool] = lambda x: True) -> str | None:
        """The name of a tensor that suits; later ones come more often."""
        names = self.tensors(suits)
        if not names:
            return None
        return max(self.choice(names), self.choice(names)) if self.chance(50) else self.choice(names)

    def floating(self, suits: Callable[[Any], bool] = lambda x: True) -> str | None:
        return self.tensor(lambda x: x.dtype.is_floating_point and suits(x))

    def target(self, suits: Callable[[Any], bool] = lambda x: True) -> str | None:
        """The name of a tensor to write to. See Note [Undefined writes]."""
        names = self.tensors(lambda x: may_be_written(x) and suits(x))
        given = {attempt(memory_of, self.world.names.get(name)) for name in self.tainted}
        names = [name for name in names if name not in self.tainted and attempt(memory_of, self[name]) not in given]
        return self.choice(names) if names else None

    def is_alone(self, x: Any) -> bool:
        """Whether it may be made larger: PyTorch crashes when a view of it then asks for its place in the graph."""
        shared = self.tensors(lambda y: y is not x and y.requires_grad and memory_of(y) == memory_of(x))
        return not shared

    def recorded(self) -> str | None:
        """The name of a real tensor that requires grad."""
        return self.floating(lambda x: x.requires_grad)

    # -- expressions

    def call(self, families: Sequence[str], x: str | None = None) -> str | None:
        """A call of one of the families' operators."""
        x = x or self.tensor()
        if self.plain and not self.chance(3):
            families = ("plain",)
        return x and self.choice(FAMILIES[self.choice(families)]).format_map(Slots(self, x))

    def literal(self, shape: tuple[int, ...], dtype: Any, options: str = "") -> str:
        """A tensor, written down; numbers differ mostly, and are short in binary."""
        kind = self.number_types.get(dtype, "float32")
        start, turn = self.number(0, 6), self.choice((2, 3, 5, 6))

        def at(i: int) -> Any:
            number = (start + turn * i) % 13 - 6
            if kind == "bool":
                return number > 0
            if "int" in kind:
                return abs(number) if kind == "uint8" else number
            return number / 4 if kind.startswith(("float", "bfloat")) else complex(number / 4, (i * 5 % 7 - 3) / 2)

        text = str(nested(shape, at))
        options = (
            "" if kind in ("float32", "int64", "bool", "complex64") and 0 not in shape else f", dtype=torch.{kind}"
        ) + options
        return f"torch.tensor({text}{options})" + (f".reshape{shape}" if 0 in shape else "")

    def operand(self, x: str, numbers: bool = True, same: bool = False, near: bool = False) -> str:
        """Something that goes with a tensor: of its shape if ``same``; to read while it is written if ``near``."""
        if numbers and self.chance(30):
            return self.scalar(x)
        target = self[x]

        def suits(y: Any) -> bool:
            fits = tuple(y.shape) == tuple(target.shape) if same else broadcasts(y, target)
            like = y.dtype == target.dtype or self.chances.random() < 0.08
            return like and fits and (not near or apart(target, y))

        names = self.tensors(suits)
        if names and self.chance(80):
            return self.choice(names)
        shape = tuple(target.shape)
        return self.literal(shape if same or self.chance(60) else shape[1:], target.dtype)

    def scalar(self, x: str) -> str:
        return str(
            self.choice((2, 3, 1, 0)) if not self[x].dtype.is_floating_point else self.choice((0.5, 1.5, 2, -1.25))
        )

    def index(self, x: Any) -> str:
        """A basic index."""
        items = []
        for length in x.shape[: self.number(1, max(x.ndim, 1))]:
            items.append(
                self.choice((str(self.number(-1, max(length - 1, 0))), ":", "1:", ":1", "::2", ":-1", "None", ":"))
            )
        if self.chance(15):
            items.insert(self.number(0, len(items)), "...")
        return ", ".join(items) or "..."

    def mask(self, x: str) -> str:
        y = self[x]
        if y.dtype.is_complex or self.chance(50):
            return self.literal(tuple(y.shape), self.module.bool)
        return f"{x} > {self.choice((0, 0.3))}"

    def shape_for(self, x: Any) -> str:
        """Another shape for the elements of a tensor."""
        options = {1: ["1", "1, 1", "()"], 2: ["2", "1, 2"], 3: ["3", "-1, 1", "1, 3"], 4: ["4", "2, 2"], 6: ["6",
            "2, 3", "3, -1"],
                   9: ["9", "3, 3"], 12: ["12", "4, 3", "2, 2, 3", "-1, 6"]}  # fmt: skip
        return self.choice(options.get(x.numel(), ["-1"]))


class Slots(dict):
    """What stands for the names of a template, drawn when it is asked for."""

    def __init__(self, writer: Writer, x: str, near: bool = False) -> None:
        super().__init__(x=x)
        self.writer, self.near = writer, near

    def __missing__(self, slot: str) -> str:
        self[slot] = found = str(self.draw(slot))
        return found

    def draw(self, slot: str) -> Any:
        w, name = self.writer, self["x"]
        x = w[name]
        if slot in ("y", "z"):
            return w.operand(name, near=self.near)
        if slot == "t":
            return w.operand(name, numbers=False, same=True, near=self.near)
        if slot == "y_tensor":
            return w.operand(name, numbers=False, near=self.near)
        if slot in ("d", "e"):
            return w.number(-x.ndim, x.ndim - 1) if x.ndim else w.choice((0, -1))
        if slot == "perm":
            axes = list(range(x.ndim))
            w.chances.shuffle(axes)
            return ", ".join(map(str, axes)) or "()"
        simple = {"k": lambda: w.chance(50), "n": lambda: w.number(1, 3), "c": lambda: w.choice((0.5, 2.0, 0.25, 1.5)),
                  "shape": lambda: w.shape_for(x), "index": lambda: w.index(x),
                  "mask": lambda: w.mask(name)}  # fmt: skip
        return simple[slot]()


def nested(shape: tuple[int, ...], at: Callable[[int], Any]) -> Any:
    """Lists of this shape; ``at(i)`` is what stands at the i-th place."""
    if 0 in shape:
        return []
    count = 1
    for length in shape:
        count *= length
    values = [at(i) for i in range(count)]
    for length in reversed(shape[1:]):
        values = [values[i : i + length] for i in range(0, len(values), length)]
    return values if shape else values[0]


def broadcasts(y: Any, x: Any) -> bool:
    """Whether ``y`` can be broadcast to the shape of ``x``."""
    pairs = zip(reversed(y.shape), reversed(x.shape), strict=False)
    return y.ndim <= x.ndim and all(own in (1, length) for own, length in pairs)


def elements(x: Any) -> list[int]:
    """The addresses of the elements of a tensor."""
    if not x.numel():
        return []
    size, start, axes = x.element_size(), x.data_ptr(), zip(x.shape, x.stride(), strict=True)
    return [start + sum(place) for place in product(*([i * stride * size for i in range(n)] for n, stride in axes))]


def memory_of(x: Any) -> int:
    return x.untyped_storage().data_ptr()


def apart(x: Any, y: Any) -> bool:
    """Whether ``y`` may be read while ``x`` is written. See Note [Undefined writes]."""
    if x.data_ptr() == y.data_ptr() and x.shape == y.shape and x.stride() == y.stride() and x.dtype == y.dtype:
        return True
    return set(elements(x)).isdisjoint(elements(y))


def may_be_written(x: Any) -> bool:
    """Whether it is defined what a write to a tensor does. See Note [Undefined writes]."""
    refused = any(stride == 0 and length > 1 for stride, length in zip(x.stride(), x.shape, strict=True))
    return refused or len(set(elements(x))) == x.numel()
