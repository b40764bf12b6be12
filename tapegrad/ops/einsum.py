"""``einsum``, whose gradients are einsums again, and the products that are written with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from tapegrad.execution import dtypes
from tapegrad.ops.matmul import FULL
from tapegrad.ops.operator import broadcast_to, conj, general, linear, multilinear
from tapegrad.ops.shape import view


@general()
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


@linear(
    x=lambda g, x_shape, equation: einsum_gradient(g, (), 0, equation, (x_shape,)),
    node="PermuteBackward0",
)
def einsum_unary(x, *, equation):
    """An einsum of one operand: diagonals, sums and a permutation; nothing is saved."""
    return jnp.einsum(equation, x)


@multilinear(
    operands=lambda g, operands, operands_shapes, i, equation: einsum_gradient(
        g, (*operands[:i], *operands[i + 1 :]), i, equation, operands_shapes
    ),
    node="ViewBackward0",
    name="einsum",
)
def einsum(*operands, equation):
    """The sum of products that an explicit equation such as ``"ij,jk->ik"`` says; lengths of 1 broadcast.

    A letter which an operand repeats means that operand's diagonal.
    """
    return jnp.einsum(equation, *operands, precision=FULL)


def _interleaved(x_shape: Sequence[int], y_shape: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """The shapes of both factors of ``kron`` with as many dimensions each, and of their product with pairs apart."""
    ndim = max(len(x_shape), len(y_shape))
    a = [1] * (ndim - len(x_shape)) + list(x_shape)
    b = [1] * (ndim - len(y_shape)) + list(y_shape)
    return a, b, [length for pair in zip(a, b, strict=True) for length in pair]


def _kron_gradient(g: Any, other: Any, x_shape: Sequence[int], y_shape: Sequence[int], first: bool) -> Any:
    """The gradient of one factor: ``g`` with its dimensions split, contracted with the conjugate of the other."""
    a, b, pairs = _interleaved(x_shape, y_shape)
    letters = ALPHABET[: 2 * len(a)]
    mine, others = (letters[0::2], letters[1::2]) if first else (letters[1::2], letters[0::2])
    other = view(conj(other), shape=tuple(b if first else a))
    grad = einsum(view(g, shape=tuple(pairs)), other, equation=f"{letters},{others}->{mine}")
    return view(grad, shape=tuple(x_shape if first else y_shape))


@multilinear(
    x=lambda g, y, x_shape, y_shape: _kron_gradient(g, y, x_shape, y_shape, True),
    y=lambda g, x, x_shape, y_shape: _kron_gradient(g, x, x_shape, y_shape, False),
    promote="common",
    node="UnsafeViewBackward0",
)
def kron(x, y):
    """The Kronecker product: every element of ``x`` times the whole of ``y``."""
    a, b, _ = _interleaved(x.shape, y.shape)
    left = x.reshape([n for length in a for n in (length, 1)])
    right = y.reshape([n for length in b for n in (1, length)])
    return (left * right).reshape([n * m for n, m in zip(a, b, strict=True)])
