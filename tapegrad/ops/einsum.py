"""``einsum``, whose gradients are einsums again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from tapegrad.execution import dtypes
from tapegrad.ops.kinds import broadcast_to, conj, general, multilinear
from tapegrad.ops.matmul import FULL
from tapegrad.ops.shape import view


@general(aten="eye")
def identity_of(x, *, size, dtype):
    """The identity matrix of a size and dtype, where ``x`` lives."""
    return jnp.eye(size, dtype=dtype.numpy)


def _contraction(equation: str, shapes: Sequence[Sequence[int]], i: int) -> tuple[str, list[tuple[str, int]]]:
    """How the gradient of operand ``i`` starts: an equation for (g, the other operands), and, for each letter of the
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


def einsum_gradient(g: Any, others: Sequence, i: int, equation: str, shapes: Sequence[Sequence[int]]) -> Any:
    """The gradient of operand ``i``: ``g`` contracted with the conjugates of the other operands, spread along letters
    that were summed away, and put on the diagonal of letters that the operand repeats."""
    contraction, lengths = _contraction(equation, shapes, i)
    grad = einsum(g, *[conj(other) for other in others], equation=contraction)
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
    operands=lambda g, operands, operands_shapes, i, equation: einsum_gradient(
        g, (*operands[:i], *operands[i + 1 :]), i, equation, operands_shapes
    ),
    name="einsum", aten="bmm", node="ViewBackward0", spoilt="product",
    turns=lambda *operands: tuple(reversed(range(len(operands)))),
)  # fmt: skip
def einsum(*operands, equation):
    """The sum of products that an explicit equation such as ``"ij,jk->ik"`` says; lengths of 1 broadcast.

    A letter which an operand repeats means that operand's diagonal.
    """
    return jnp.einsum(equation, *operands, precision=FULL)
