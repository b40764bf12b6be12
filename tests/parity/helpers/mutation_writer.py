"""``Writer``: what the steps of a drawn program may speak of, and what may not be drawn.

Note [Undefined writes]
PyTorch refuses to write to memory that it knows to overlap: expanded tensors, operands that are the same block shifted.
Where it doesn't know (windows of ``unfold``, ``as_strided``; parts with gaps between them; an operand that an index
assignment has to expand, and that shows a part of what is written), the result depends on the order in which elements
are written. Such steps are not drawn: ``Writer.may_be_written`` and ``Writer.apart`` see to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import product
from random import Random
from typing import Any

import torch as pytorch
from mutation_programs import Player

LETTERS = "abcdef"
TURN = re.compile(r"\w\.(transpose|t|squeeze|unsqueeze|swapaxes|as_strided)_\(")
"""A view in place. Where a non-leaf gets another shape unrecorded, PyTorch adapts the shapes of gradients to that."""
MOST_ELEMENTS = 12
LARGEST = 2**12


class Writer:
    """Draws one program.

    Attributes:
        chances: where the choices come from.
        lines: the program so far.
        world: PyTorch after these lines.
        daring: whether the step that is drawn now may fail.
    """

    def __init__(self, chances: Random) -> None:
        self.chances = chances
        self.lines: list[str] = []
        self.world = Player(pytorch)
        self.daring = False

    def number(self, least: int, most: int) -> int:
        return self.chances.randint(least, most)

    def choice(self, options: Sequence) -> Any:
        return self.chances.choice(options)

    def chance(self, percent: int) -> bool:
        return self.number(1, 100) > 100 - percent

    def write(self, steps: Sequence[Callable[[Writer], str | None]], length: int) -> list[str]:
        """Lines from about so many of these steps."""
        for _ in range(length):
            self.daring = self.chance(40)
            line = self.choice(steps)(self)
            if line is not None:
                self.keep(self.in_context(line))
        return self.lines

    def keep(self, line: str) -> None:
        """Run a line on PyTorch and make it part of the program, if it works or may fail."""
        outcome = self.world.step(line)
        failed = isinstance(outcome, list) and outcome[:1] == ["raised"]
        if self.too_odd() or (failed and not self.daring):
            self.world = Player(pytorch)
            for earlier in self.lines:
                self.world.step(earlier)
        else:
            self.lines.append(line)

    def too_odd(self) -> bool:
        """Whether a tensor has become so large, or its numbers so odd, that results would not be exact."""
        pool = self.world.pool.values()
        if any(x.numel() > MOST_ELEMENTS or x.ndim > 3 for x in pool):
            return True
        return not all(is_exact(y.detach()) for x in pool for y in (x, x.grad) if y is not None)

    def in_context(self, line: str) -> str:
        if not self.chance(14) or (TURN.match(line) and self[line[0]].requires_grad):
            return line
        modes = ["no_grad", "no_grad", "no_grad", "enable_grad", "inference_mode"]
        if ".data = " in line or "unsafe_" in line:  # PyTorch makes a mixture of both kinds of tensors
            modes.pop()
        return f"with torch.{self.choice(modes)}(): {line}"

    # -- what a step speaks of

    def new_name(self) -> str:
        """A name for a result: a free one, as long as there are any, or that of a tensor that goes."""
        free = [letter for letter in LETTERS if letter not in self.world.pool]
        return free[0] if free else self.choice(LETTERS)

    def tensor(self, suits: Callable[[Any], bool] | None = None) -> str | None:
        """The name of a tensor of the pool which suits, or, now and then, of any."""
        anything = suits is None or (self.daring and self.chance(30))
        names = [name for name, x in self.world.pool.items() if anything or suits(x)]
        return self.choice(names) if names else None

    def target(self) -> str | None:
        """The name of a tensor to write to."""
        name = self.tensor(lambda x: self.may_be_written(x) and may_have_history(x))
        return name if name and self.may_be_written(self[name]) else None

    def __getitem__(self, name: str) -> Any:
        return self.world.names[name]

    def may_be_written(self, x: Any, moved: bool = False) -> bool:
        """Whether it is defined what a write to a tensor does, to rows in another order if ``moved``.

        See Note [Undefined writes].
        """
        refused = any(stride == 0 and length > 1 for stride, length in zip(x.stride(), x.shape, strict=True))
        return len(set(elements(x))) == x.numel() or (self.daring and refused and not moved)

    def apart(self, x: Any, y: Any, moved: bool = False) -> bool:
        """Whether ``y`` may be read while ``x`` is written to, in another order if ``moved``.

        See Note [Undefined writes].
        """
        if set(elements(x)).isdisjoint(elements(y)) or (geometry(x) == geometry(y) and not moved):
            return True
        return self.daring and not moved and is_block(x) and is_block(y) and x.numel() == y.numel()

    def axis(self, x: Any) -> int:
        if self.daring and self.chance(20):
            return x.ndim
        return self.number(-x.ndim, x.ndim - 1) if x.ndim else 0

    def operand(self, x: Any, numbers: bool = True, near: Any = None, moved: bool = False) -> str:
        """Something that can be broadcast to a tensor, to compute with it or write it there.

        Args:
            x: the tensor, or what an index gives of it.
            numbers: whether it may be a number.
            near: the tensor that is written to, if ``x`` is a copy of a part of it.
            moved: whether an element need not be written where the one it is computed from was read.
        """
        if numbers and self.chance(25):
            return self.scalar(x)
        suits = lambda y: y.dtype == x.dtype and broadcasts(y, x) and self.apart(x if near is None else near, y, moved)
        names = [name for name, y in self.world.pool.items() if suits(y)]
        return self.choice(names) if names and self.chance(85) else literal(self, tuple(x.shape), x.dtype)

    def scalar(self, x: Any) -> str:
        number = self.choice((2, 3, -1, 0, 1))
        return str(number if not x.dtype.is_floating_point or self.chance(30) else float(number))

    def value(self, text: str) -> Any:
        """What an expression gives on PyTorch; None if it fails."""
        try:
            return eval(text, self.world.names)
        except Exception:
            return None


def elements(x: Any) -> list[int]:
    """The addresses of the elements of a tensor."""
    if not x.numel():
        return []
    size, start, axes = x.element_size(), x.data_ptr(), zip(x.shape, x.stride(), strict=True)
    return [start + sum(place) for place in product(*([i * stride * size for i in range(n)] for n, stride in axes))]


def geometry(x: Any) -> tuple:
    return x.data_ptr(), x.shape, x.stride(), x.dtype


def is_block(x: Any) -> bool:
    """Whether a tensor fills a block of memory."""
    found = sorted(elements(x))
    return found == [*range(found[0], found[0] + x.nbytes, x.element_size())] if found else True


def is_exact(x: Any) -> bool:
    """Whether all numbers are small multiples of 1/16; integers that are the bits of floats may be what they are."""
    if x.dtype is pytorch.int32 or not x.numel():
        return True
    scaled = (pytorch.view_as_real(x.resolve_conj()) if x.is_complex() else x) * 16
    return bool(((scaled.abs() < 16 * LARGEST) & (scaled == scaled.round())).all())


def may_have_history(x: Any) -> bool:
    """Whether writing to a tensor is allowed as far as can be told cheaply: not to leaves that require grad."""
    owner = x if x._base is None else x._base
    return not (owner.requires_grad and owner.is_leaf)


def broadcasts(y: Any, x: Any) -> bool:
    """Whether ``y`` can be broadcast to the shape of ``x``."""
    pairs = zip(reversed(y.shape), reversed(x.shape), strict=False)
    return y.ndim <= x.ndim and all(own in (1, length) for own, length in pairs)


# -- texts -------------------------------------------------------------------------------------------------------------


def nested(shape: tuple[int, ...], number: Callable[[int], Any]) -> Any:
    """Lists of this shape; ``number(i)`` is what stands at the i-th place."""
    values = [number(i) for i in range(1, 1 + pytorch.Size(shape).numel())]
    for length in reversed(shape[1:]):
        values = [values[i : i + length] for i in range(0, len(values), length)] if length else [[]] * shape[0]
    return values if shape else values[0]


def literal(w: Writer, shape: tuple[int, ...], dtype: Any, options: str = "") -> str:
    start, turn = w.number(0, 4), w.number(1, 3)
    kind = complex if dtype.is_complex else float if dtype.is_floating_point else int
    numbers = nested(shape, lambda i: kind((start + turn * i) % 5 - 2) + (1j * (i % 3 - 1) if dtype.is_complex else 0))
    if dtype not in (pytorch.float32, pytorch.int64, pytorch.complex64):
        options += f", dtype={dtype}"
    return f"torch.tensor({numbers}{options})"


def flags(w: Writer, x: Any) -> str:
    """Booleans of the shape of a tensor."""
    bits = w.number(1, 7)
    return f"torch.tensor({nested(tuple(x.shape), lambda i: bool(bits >> i % 3 & 1))}, dtype=torch.bool)"
