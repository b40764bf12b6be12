"""What the samples of PyTorch's database lack: every position of broadcasting, operands that lie in memory in odd ways,
dimensions of length 0, mixed dtypes, and numbers at the ends of what a type holds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch as pytorch
from harness import close, flat_outputs, to_numpy
from opinfo import ENTRIES, counterpart, describe
from opinfo_exceptions import LEFT_OUT, ROUGH
from torch.testing._internal.opinfo.core import BinaryUfuncInfo, ReductionOpInfo, UnaryUfuncInfo

import tapegrad


def entries(kind: type) -> list[str]:
    """The entries of a kind that are functions of the library, not small functions around one; each operator once."""
    found: dict[str, str] = {}
    for name, entry in ENTRIES.items():
        if isinstance(entry, kind) and name not in LEFT_OUT and pytorch.float64 in entry.dtypes:
            found.setdefault(entry.name, name)
    return [name for name in found.values() if not name.startswith(("_refs", "jiterator"))]


UNARY, BINARY, REDUCTIONS = entries(UnaryUfuncInfo), entries(BinaryUfuncInfo), entries(ReductionOpInfo)

SHAPES = [((2, 1), (1, 3)), ((3,), (2, 3)), ((2, 3), ()), ((0, 3), (1, 3))]
"""Shapes of two operands: each has the new dimension, the 1, or nothing, in turn."""

DTYPES = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "uint8", "bool", "complex64")

PAIRS = [
    ("float32", "float64"), ("int64", "float32"), ("bool", "int32"), ("float16", "bfloat16"), ("uint8", "int8"),
    ("complex64", "float32"),
]  # fmt: skip

INF, NAN = float("inf"), float("nan")
EXTREMES = (0.0, -0.0, 1.0, -1.0, 0.5, INF, -INF, NAN, 1e300, -1e300, 1e-300, 20.5, -20.5, 710.0, -745.0)

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
    """An operand: numbers in (0.1, 0.9) of a shape, or these ``values``; 5 times as large as integers."""

    shape: tuple[int, ...] = (2, 3)
    dtype: str = "float64"
    layout: str = "row by row"
    values: tuple[float, ...] | None = None
    seed: int = 0

    def on(self, torch: Any) -> Any:
        """The operand as a tensor of a module; of float64 it requires grad."""
        array = numbers(self.shape, self.seed) if self.values is None else np.array(self.values)
        made = torch.tensor(array.tolist(), dtype=torch.float64).reshape(array.shape)
        made = made * 5 if "int" in self.dtype else made.round() if self.dtype == "bool" else made
        made = LAYOUTS[self.layout](made).to(getattr(torch, self.dtype))
        return made.requires_grad_() if self.dtype == "float64" and self.layout == "row by row" else made


LAYOUTS: dict[str, Callable] = {
    "row by row": lambda x: x,
    "transposed": lambda x: x.t().contiguous().t(),
    "every other": lambda x: x.repeat(2, 1)[1::2],
    "expanded": lambda x: x[:1].expand(2, 3),
}
"""How a matrix of 2 x 3 elements may lie in memory."""

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
    single = "float32" in str(theirs[0]) or "complex64" in str(theirs[0])
    rtol, atol = (2e-2, 1e-2) if rough else (1e-5, 1e-6) if single else ROUGH.get(name, (1e-9, 1e-12))
    close(ours[1:], theirs[1:], rtol, atol, f"{given}: values, gradients")


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one(name):
    for given in [Given((0, 3)), Given(()), Given(), Given(layout="transposed"), Given(layout="expanded")]:
        compare(name, given)
    for dtype in DTYPES[1:]:
        compare(name, Given(dtype=dtype))


@pytest.mark.parametrize("name", UNARY)
def test_extremes_of_functions_of_one(name):
    compare(name, Given(values=EXTREMES))


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two(name):
    for one, other in SHAPES:
        compare(name, Given(one), Given(other, seed=1))
    for layout in ("transposed", "every other", "expanded"):
        compare(name, Given(layout=layout), Given(seed=1))


@pytest.mark.parametrize("name", BINARY)
def test_two_dtypes(name):
    for one, other in PAIRS:
        compare(name, Given(dtype=one), Given(dtype=other, seed=1))
    for one, other in (("float32", "float64"), ("int32", "float64")):
        compare(name, Given(dtype=one), Given((), other, seed=1))  # an operand of no dimensions has less say


@pytest.mark.parametrize("name", BINARY)
def test_extremes_of_functions_of_two(name):
    one, other = zip(*product(EXTREMES[:11], repeat=2), strict=True)
    compare(name, Given(values=one), Given(values=other))


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name):
    for shape in ((0, 3), (), (2, 3)):
        compare(name, Given(shape))
    for layout in ("transposed", "every other"):
        compare(name, Given(layout=layout))
    for dtype in DTYPES[1:]:
        compare(name, Given(dtype=dtype))
    for values in (EXTREMES[:7], (INF, 1.0, INF), (NAN, 1.0), (-INF, -INF), (2.0, 2.0, 0.0, 0.0)):
        compare(name, Given(values=values))
