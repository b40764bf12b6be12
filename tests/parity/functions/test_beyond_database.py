"""What the samples of PyTorch's database lack: every position of broadcasting, operands that lie in memory in odd ways,
dimensions of length 0, mixed dtypes, and numbers at the ends of what a type holds."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch as pytorch
from harness import close, flat_outputs, to_numpy
from late_database import listed
from opinfo import ENTRIES, counterpart, describe
from opinfo_exceptions import LEFT_OUT, ROUGH

import tapegrad


def entries(kind: str) -> list[str]:
    """The entries of a kind that are functions of the library, not small functions around one; each operator once."""
    found: dict[str, str] = {}
    for name, entry in ENTRIES.items():
        is_one = kind in [base.__name__ for base in type(entry).__mro__]
        if is_one and name not in LEFT_OUT and pytorch.float64 in entry.dtypes:
            found.setdefault(entry.name, name)
    return [name for name in found.values() if not name.startswith(("_refs", "jiterator"))]


KINDS = ("UnaryUfuncInfo", "BinaryUfuncInfo", "ReductionOpInfo")
UNARY, BINARY, REDUCTIONS = listed(lambda: [entries(kind) for kind in KINDS])

SHAPES = [((2, 1), (1, 3)), ((3,), (2, 3)), ((2, 3), ()), ((0, 3), (1, 3))]
"""Shapes of two operands: each has the new dimension, the 1, or nothing, in turn."""

DTYPES = ("bfloat16", "int64", "bool", "complex64")

PAIRS = [("int64", "float32"), ("bool", "int32"), ("float16", "bfloat16"), ("uint8", "int8"), ("complex64", "float32")]

INF, NAN = float("inf"), float("nan")
EXTREMES = (0.0, -0.0, 1.0, -1.0, 0.5, INF, -INF, NAN, 1e300, -1e300, 1e-300, 20.5, -20.5, 710.0, -745.0)
ENDS = EXTREMES[:11]
FEW = [EXTREMES[:6], (INF, 1.0, INF, 1.0, 1.0, 1.0), (NAN, 1.0) * 3, (-INF,) * 6, (2.0, 2.0, 0.0, 0.0, 1.0, 1.0)]

MANY, ALL_PAIRS = (3, 5), (11, 11)
"""The shapes in which there is room for ``EXTREMES`` and for all pairs of ``ENDS``. What is compared in the same shape
shares its compiled kernels."""

PIECES = "its gradient at nan is 0 in PyTorch's vectors and 1 in what is left over at their end"
REMAINDERS = "nan in PyTorch's vectors where the quotient overflows, and right in what is left over at their end"
DIVIDED = "PyTorch divides the product by each factor, which is nan for infinite ones; here it is that of the others"

OTHERWISE: dict[str, tuple[Callable[[float], bool], str]] = {
    **{f"nn.functional.{name}": (math.isnan, PIECES) for name in ("softshrink", "hardshrink", "hardtanh", "relu6")},
    **dict.fromkeys(("fmod", "remainder", "__rmod__"), (lambda value: value == 1e-300, REMAINDERS)),
    **dict.fromkeys(("prod", "masked.prod"), (lambda value: not math.isfinite(value), DIVIDED)),
}
"""Extremes that are not compared, by what picks them, and why."""

SLOW = re.compile(r"special.bessel|special.airy|igamma")
"""Entries that take a second to compile: they are compared in float64 alone, and with fewer shapes."""

Outcome = Any


def numbers(shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Numbers in (0.1, 0.9), where all functions are defined, none twice."""
    count = int(np.prod(shape, dtype=int))
    values = np.linspace(0.1, 0.9, 2 * count + 3)[seed % 2 + 1 :][: 2 * count : 2]
    return np.random.default_rng(seed).permutation(values).reshape(shape)


def outcome(torch: Any, op: Callable, inputs: list[Any]) -> Outcome:
    """What a call gives, with its gradients; or the type of what it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            outputs = flat_outputs(op(*inputs))
            seen = [[describe(out)[:3] for out in outputs], [to_numpy(out) for out in outputs]]
            roots, leaves = [[x for x in group if x.requires_grad] for group in (outputs, inputs)]
            if roots and leaves:
                seeds = [torch.ones_like(root) for root in roots]
                found = torch.autograd.grad(roots, leaves, seeds, allow_unused=True)
                seen.append([to_numpy(one) for one in found])
            return seen
        except (RuntimeError, TypeError, IndexError, ValueError) as error:
            return type(error).__name__


@dataclass(frozen=True)
class Given:
    """An operand: numbers in (0.1, 0.9) of a shape, or these ``values``; as integers 1 to 5."""

    shape: tuple[int, ...] = (2, 3)
    dtype: str = "float64"
    layout: str = "row by row"
    values: tuple[float, ...] | None = None
    seed: int = 0

    def on(self, torch: Any) -> Any:
        """The operand as a tensor of a module; of float64 it requires grad."""
        array = numbers(self.shape, self.seed) if self.values is None else np.array(self.values).reshape(self.shape)
        array = array * 5 + 1 if "int" in self.dtype else array.round() if self.dtype == "bool" else array
        made = LAYOUTS[self.layout](torch.from_numpy(array).to(getattr(torch, self.dtype)))
        return made.requires_grad_() if self.dtype == "float64" else made


LAYOUTS: dict[str, Callable] = {
    "row by row": lambda x: x,
    "transposed": lambda x: x.t().contiguous().t(),
    "every other": lambda x: x.repeat(2, 1)[1::2],
    "expanded": lambda x: x[:1].expand(*x.shape),
}
"""How a matrix may lie in memory."""

HALVES = ("float16", "bfloat16")


def compare(name: str, *given: Given) -> None:
    """Assert that an entry's function gives the same on both modules."""
    entry = ENTRIES[name]
    theirs = outcome(pytorch, entry.op, [one.on(pytorch) for one in given])
    ours = outcome(tapegrad, counterpart(entry), [one.on(tapegrad) for one in given])
    rough = any(one.dtype in HALVES for one in given)
    if rough and theirs == "NotImplementedError":
        return  # PyTorch has no kernel for halves here; tapegrad may have one
    if isinstance(theirs, str) or isinstance(ours, str):
        assert ours == theirs, f"{given}: {ours}, expected {theirs}"
        return
    assert ours[0] == theirs[0], f"{given}: {ours[0]}, expected {theirs[0]}"
    exact = ROUGH.get(name, (1e-9, 1e-12))
    single = "float32" in str(theirs[0]) or "complex64" in str(theirs[0])
    of_values = (2e-2, 1e-2) if rough else (1e-5, 1e-6) if single else exact
    close(ours[1], theirs[1], *of_values, f"{given}: values")
    mixed = any(one.dtype != "float64" for one in given)  # PyTorch's formulas read each operand in its own dtype
    close(ours[2:], theirs[2:], *((1e-6, 1e-7) if mixed else exact), f"{given}: gradients")


def extremes(name: str, values: Sequence[float]) -> tuple[float, ...]:
    """The values, but 2 in place of those that are not compared for an entry."""
    picks = OTHERWISE[name][0] if name in OTHERWISE else lambda value: False
    return tuple(2.0 if picks(value) else value for value in values)


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one(name):
    for given in [Given((0, 3)), Given(MANY), Given(MANY, layout="transposed"), Given(MANY, layout="expanded")]:
        compare(name, given)
    if not SLOW.match(name):
        for given in [Given(()), *(Given(dtype=dtype) for dtype in DTYPES)]:
            compare(name, given)


@pytest.mark.parametrize("name", UNARY)
def test_extremes_of_functions_of_one(name):
    """In rows of five that lie apart: of more, PyTorch computes as many in vectors as the processor allows.

    There some formulas are others: in a vector ``elu`` has the gradient nan at nan, behind the last one it has 1.
    """
    compare(name, Given(MANY, values=extremes(name, EXTREMES), layout="every other"))


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two(name):
    for one, other in SHAPES[:1] if SLOW.match(name) else SHAPES:
        compare(name, Given(one), Given(other, seed=1))
    for layout in ("transposed", "every other", "expanded"):
        compare(name, Given(ALL_PAIRS, layout=layout), Given(ALL_PAIRS, seed=1))


@pytest.mark.parametrize("name", BINARY)
def test_two_dtypes(name):
    for one, other in PAIRS[:1] if SLOW.match(name) else PAIRS:
        if (name, one) != ("__rmod__", "bool"):  # PyTorch raises where integers are divided by zeros, by False
            compare(name, Given(dtype=one), Given(dtype=other, seed=1))
    compare(name, Given(dtype="int32"), Given((), "float64", seed=1))  # an operand of no dimensions has less say


@pytest.mark.parametrize("name", BINARY)
def test_extremes_of_functions_of_two(name):
    one, other = zip(*product(extremes(name, ENDS), repeat=2), strict=True)
    compare(name, Given(ALL_PAIRS, values=one), Given(ALL_PAIRS, values=other))


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name):
    for given in [Given((0, 3)), Given(()), Given(), Given(layout="transposed"), Given(layout="every other")]:
        compare(name, given)
    for dtype in DTYPES:
        compare(name, Given(dtype=dtype))
    for values in FEW:
        compare(name, Given(values=extremes(name, values)))
