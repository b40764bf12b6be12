"""Gradients of 0, infinity and nan, at inputs that are 0, infinite, nan, ties or bounds: operator by operator.

Whether a library multiplies a gradient by a mask or fills with zeros shows only here, and decides whether ``where`` in
a program hides what it is to hide. What is not compared stands in ``extremes_exceptions.py``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch as pytorch
from extremes_exceptions import ANY, ELEMENTS, INPUTS, OTHERWISE
from harness import close, flat_outputs, to_numpy
from late_database import listed
from opinfo import ENTRIES, Case, cases, counterpart, same_type
from opinfo_exceptions import DROPOUT, LEFT_OUT, RANDOM, ROUGH, UNINITIALIZED

import tapegrad
from tests.parity.functions.test_beyond_database import BINARY, ENDS, EXTREMES, INF, MANY, NAN, UNARY, Given, extremes

pytestmark = [pytest.mark.parity, pytest.mark.once("formulas are kernels, which are the same ones in either mode")]

GRADIENTS = (0.0, 1.0, INF, -INF, NAN, -1.0, 2.0)
CYCLES = {
    "all of them": GRADIENTS, "all from -inf on": GRADIENTS[3:] + GRADIENTS[:3], "zeros": (0.0,), "ones": (1.0,),
    "nan": (NAN, 0.0, 0.0), "inf": (INF, 0.0), "-inf": (0.0, -INF, 0.0),
}  # fmt: skip
"""What the gradients of outputs are, over and over."""

NUMBERS = (0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 0.5, 2.0, 2.0, -2.0)
"""What the elements of inputs are, over and over, where they are not a sample's own."""

DIFFERENTIABLE = listed(lambda: [
    name for name, entry in ENTRIES.items()
    if pytorch.float64 in entry.supported_backward_dtypes("cpu") and entry.supports_autograd
    and name not in {*LEFT_OUT, *RANDOM, *UNINITIALIZED}
])  # fmt: skip

Seen = dict[str, Any]


def cycled(module: Any, like: Any, values: tuple[float, ...], start: int = 0) -> Any:
    """A tensor like another one, of these values over and over."""
    count = int(np.prod(tuple(like.shape), dtype=int))
    array = np.resize(np.roll(values, -start), count).reshape(tuple(like.shape))
    return module.empty_like(like).copy_(module.tensor(array, dtype=like.dtype))


def gradients(module: Any, outputs: list, leaves: list, cycle: tuple[float, ...]) -> list:
    """The gradients of leaves for these gradients of outputs."""
    roots = [out for out in outputs if out.requires_grad]
    seeds = [cycled(module, root, cycle, start=2 * position) for position, root in enumerate(roots)]
    return to_numpy(module.autograd.grad(roots, leaves, seeds, allow_unused=True, retain_graph=True))


def seen_of(case: Case, start: int | None) -> Seen:
    """Values and gradients of a sample, with its own inputs or (from ``start`` on) ``NUMBERS``; or what it raises."""
    seen: Seen = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        leaves = case.leaves()
        if start is not None:
            made = [cycled(case.module, leaf, NUMBERS, start + 3 * i).requires_grad_() for i, leaf in enumerate(leaves)]
        try:
            replaced = None if start is None else dict(zip(map(id, leaves), made, strict=True))
            outputs = list(flat_outputs(case.process(case.call(replaced))))
            seen["values"] = to_numpy(outputs)
            if any(out.requires_grad for out in outputs):
                for cycle, numbers in CYCLES.items():
                    seen[cycle] = gradients(case.module, outputs, leaves if start is None else made, numbers)
        except Exception as error:  # what it raises is what is compared
            seen["raised"] = error
    return seen


def complaints(ours: Seen, theirs: Seen, rtol: float, atol: float) -> Iterator[str]:
    """What differs, stage by stage."""
    for stage in sorted({*ours, *theirs}):
        got, expected = ours.get(stage), theirs.get(stage)
        if isinstance(got, Exception) and isinstance(expected, Exception) and same_type(got, expected):
            continue
        try:
            close(got, expected, rtol, atol, stage)
        except AssertionError as error:
            yield str(error)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_samples(name):
    """A sample of the database (the one that ``test_opinfo.py`` takes), as it is and with extreme numbers in it."""
    starts = [] if (name, ANY) in OTHERWISE else [None]
    starts += [] if (name, INPUTS) in OTHERWISE else [0, 5]
    found = []
    for theirs, ours in cases(ENTRIES[name], pytorch.float64, 1):
        if name in DROPOUT and DROPOUT[name](theirs.args, theirs.kwargs):
            continue
        for start in starts:
            found += complaints(seen_of(ours, start), seen_of(theirs, start), *ROUGH.get(name, (1e-9, 1e-10)))
    assert not found, f"{len(found)} differ\n\n" + "\n".join(found)


def grid(module: Any, op: Any, *given: Given) -> list:
    """The gradients of a function of one or of two for each of ``GRADIENTS``, the same one for all elements.

    Nothing, where nothing has a gradient, or where the function takes more than that.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        leaves = [one.on(module) for one in given]
        try:
            outputs = list(flat_outputs(op(*leaves)))
        except TypeError:
            return []
        if not any(out.requires_grad for out in outputs):
            return []
        return [gradients(module, outputs, leaves, (value,)) for value in GRADIENTS]


def compare_grids(name: str, *given: Given) -> None:
    theirs = grid(pytorch, ENTRIES[name].op, *given)
    ours = grid(tapegrad, counterpart(ENTRIES[name]), *given)
    assert bool(ours) == bool(theirs)
    for value, got, expected in zip(GRADIENTS, ours, theirs, strict=False):
        close(got, expected, *ROUGH.get(name, (1e-9, 1e-12)), f"gradients for {value}")


def picked(name: str, values: tuple[float, ...]) -> tuple[float, ...]:
    """The values, but 2 in place of those that are not compared for an entry."""
    picks = ELEMENTS.get(name, (lambda value: False, ""))[0]
    return tuple(2.0 if picks(value) else value for value in extremes(name, values))


@pytest.mark.parametrize("name", [name for name in UNARY if name in DIFFERENTIABLE])
def test_functions_of_one(name):
    """Each extreme with each gradient, in rows of five that lie apart: see ``test_beyond_database.py``."""
    compare_grids(name, Given(MANY, values=picked(name, EXTREMES), layout="every other"))


@pytest.mark.parametrize("name", [name for name in BINARY if name in DIFFERENTIABLE])
def test_functions_of_two(name):
    """Each pair of extremes with each gradient."""
    one, other = zip(*product(picked(name, ENDS), repeat=2), strict=True)
    compare_grids(name, Given((11, 11), values=one), Given((11, 11), values=other))


# -- the comparison itself ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(NAN, 0.0), (0.0, NAN), (INF, -INF), (INF, 1.0), (None, 0.0), (RuntimeError(), 0.0), (0.0, RuntimeError())],
    ids=repr,
)
def test_the_comparison_sees_what_differs(ours, theirs):
    seen = [
        {"raised": one} if isinstance(one, Exception) else {"ones": [None if one is None else np.array([one])]}
        for one in (ours, theirs)
    ]
    assert list(complaints(*seen, 1e-9, 1e-9))
    assert not list(complaints(seen[1], seen[1], 1e-9, 1e-9))


def test_exceptions_are_of_the_database():
    assert {name for name, _ in OTHERWISE} | set(ELEMENTS) <= set(DIFFERENTIABLE)
