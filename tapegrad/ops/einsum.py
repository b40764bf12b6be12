"""``einsum``, whose gradients are einsums again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from tapegrad._src.caches import tabulated
from tapegrad._src.execution.data import dtypes
from tapegrad.ops.kinds import broadcast_to, conj, general, multilinear
from tapegrad.ops.matmul import FULL
from tapegrad.ops.shape import view


@general(aten="eye")
def identity_of(x, *, size, dtype):
    """The identity matrix of a size and dtype, where ``x`` lives."""
    return jnp.eye(size, dtype=dtype.numpy)


def _contraction(equation: str, shapes: Sequence[Sequence[int]], i: int) -> tuple[str, list[tuple[str, int]]]:
    """The start of the gradient of operand ``i``: an equation for (g, the other operands), and, for each letter of the
    operand, its length in that result: 1 if it isn't there.

    A letter is left out where the operand is broadcast along it (there the gradient is summed) or where nothing
    else has it (there the gradient is constant).
    """
    inputs, output = equation.split("->")
    terms = inputs.split(",")
    others = [output, *terms[:i], *terms[i + 1 :]]
    letters = dict(zip(terms[i], shapes[i], strict=True))
    known = set(output)
    for position, term in enumerate(terms):
        if position != i:
            known |= {letter for letter, length in zip(term, shapes[position], strict=True) if length != 1}
    kept = [letter for letter, length in letters.items() if letter in known and length != 1]
    lengths = [(letter, length if letter in kept else 1) for letter, length in letters.items()]
    return ",".join(others) + "->" + "".join(kept), lengths


@tabulated(4096)
def paths_of(equation: str, shapes: tuple[tuple[int, ...], ...]) -> tuple[str, ...]:
    """In which order more than two operands of these shapes are contracted, and then so for the gradient of each.

    It follows from lengths, so that what a kernel computes follows from this (Note [Shape classes]).

    >>> paths_of("ij,jk,kl->il", ((2, 3), (3, 100), (100, 2)))
    ('1,2;0,1', '1,2;0,1', '0,1;0,1', '0,1;0,1')
    """
    return (path_of(equation, shapes), *(_gradient_path(equation, shapes, i) for i in range(len(shapes))))


def _gradient_path(equation: str, shapes: tuple[tuple[int, ...], ...], i: int) -> str:
    known = {letter: 1 for term in equation.split("->") for letter in term}
    for term, shape in zip(equation.split("->")[0].split(","), shapes, strict=True):
        known |= {letter: max(known[letter], length) for letter, length in zip(term, shape, strict=True)}
    result = tuple([known[letter] for letter in equation.split("->")[1]])
    return path_of(_contraction(equation, shapes, i)[0], (result, *shapes[:i], *shapes[i + 1 :]))


def path_of(equation: str, shapes: tuple[tuple[int, ...], ...]) -> str:
    """The places of the operands that are contracted, in each step; what comes of them is the last one then."""
    operands: Any = [jax.ShapeDtypeStruct(shape, "float32") for shape in shapes]
    steps = jnp.einsum_path(equation, *operands, optimize="auto")[0]
    return ";".join([",".join(map(str, step)) for step in steps])


def einsum_gradient(
    g: Any, others: Sequence, i: int, equation: str, shapes: Sequence[Sequence[int]], paths: tuple[str, ...]
) -> Any:
    """The gradient of operand ``i``: ``g`` contracted with the conjugates of the other operands, spread along letters
    that were summed away, and put on the diagonal of letters that the operand repeats."""
    contraction, lengths = _contraction(equation, shapes, i)
    given = [g, *[conj(other) for other in others]]
    known = paths and all(isinstance(length, int) for one in given for length in one.shape)
    if known:
        paths = paths_of(contraction, tuple([tuple(one.shape) for one in given]))
    grad = einsum(*given, equation=contraction, paths=paths if known else paths[i + 1 : i + 2])
    term = equation.split("->")[0].split(",")[i]
    full = dict(zip(term, shapes[i], strict=True))
    grad = view(grad, shape=tuple(length for _, length in lengths))
    grad = broadcast_to(grad, shape=tuple(full[letter] for letter, _ in lengths))
    if len(full) == len(term):
        return grad
    return _on_diagonals(grad, "".join(full), term, full)


def _on_diagonals(grad: Any, letters: str, term: str, full: dict[str, int]) -> Any:
    """``grad`` with a dimension for each letter of ``term``, zero off the diagonals of repeated letters."""
    spare = iter(letter for letter in ALPHABET if letter not in term)
    target: list[str] = []
    factors = []
    dtype = dtypes.as_dtype(grad.dtype)
    for letter in term:
        if letter in target:
            fresh = next(spare)
            factors.append((letter + fresh, identity_of(grad, size=full[letter], dtype=dtype)))
            target.append(fresh)
        else:
            target.append(letter)
    equation = ",".join([letters, *[pair for pair, _ in factors]]) + "->" + "".join(target)
    return einsum(grad, *[identity for _, identity in factors], equation=equation)


ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""The letters that an equation may use."""


@multilinear(
    operands=lambda g, operands, operands_shapes, i, equation, paths: einsum_gradient(
        g, (*operands[:i], *operands[i + 1 :]), i, equation, operands_shapes, paths
    ),
    name="einsum", aten="bmm", node="ViewBackward0", spoilt="product",
    turns=lambda *operands: tuple(reversed(range(len(operands)))),
)  # fmt: skip
def einsum(*operands, equation, paths=()):
    """The sum of products that an explicit equation such as ``"ij,jk->ik"`` says; lengths of 1 broadcast.

    A letter which an operand repeats means that operand's diagonal. ``paths``: see ``paths_of``, where there are any.
    """
    if not paths:
        return jnp.einsum(equation, *operands, precision=FULL)
    steps: Any = [tuple(map(int, step.split(","))) for step in paths[0].split(";")]
    return jnp.einsum(equation, *operands, precision=FULL, optimize=steps)
