"""Products of matrices, and linear maps of nested tensors."""

from __future__ import annotations

from typing import Any

from tapegrad._src.functions.matmul import linear, matmul
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.nested.elementwise import raggedness_matches
from tapegrad.nested.padding import longest, padded, unpadded
from tapegrad.nested.shape import need_contiguous
from tapegrad.nested.tensor import answers, is_jagged, state_of, with_values


@answers("linear")
def _linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    need_contiguous(input, "linear_default(input: jt, weight: t, bias: t?)", "input")
    return with_values(input, linear(state_of(input).values, weight, bias))


def _refused(left: Any, right: Any) -> RuntimeError:
    mine = tuple(left.shape)
    return RuntimeError(f"matmul(): not supported between inputs of shapes {mine} and {right.shape}")


def _refuse_holes(tensor: Tensor) -> None:
    if state_of(tensor).lengths is not None:
        raise RuntimeError("to_padded_tensor(): not supported for nested tensors with holes")


@answers("matmul", "__matmul__")
def product(input: Tensor, other: Tensor) -> Tensor:
    """The product of matrices, at least one of which is nested."""
    if is_jagged(input) and is_jagged(other):
        return _of_two(input, other)
    return _nested_by_dense(input, other) if is_jagged(input) else _dense_by_nested(input, other)


@answers("__rmatmul__")
def _rmatmul(self: Tensor, other: Tensor) -> Tensor:
    return product(other, self)


def _nested_by_dense(input: Tensor, other: Tensor) -> Tensor:
    state = state_of(input)
    if state.ragged < input.dim() - 1:
        if input.dim() == other.dim() >= 3:
            _refuse_holes(input)
            return with_values(input, unpadded(matmul(padded(state, 0), other), state))
        if other.dim() == 2 < input.dim():
            return with_values(input, matmul(state.values, other))
    raise _refused(input, other)


def _dense_by_nested(input: Tensor, other: Tensor) -> Tensor:
    state = state_of(other)
    if state.ragged >= 2:
        if other.dim() == input.dim() >= 3:
            _refuse_holes(other)
            return with_values(other, unpadded(matmul(input, padded(state, 0)), state))
        if input.dim() == 2 < other.dim():
            return with_values(other, matmul(input, state.values))
    raise _refused(input, other)


def _of_two(input: Tensor, other: Tensor) -> Tensor:
    left, right = state_of(input), state_of(other)
    if input.dim() > 3 and other.dim() > 3 and raggedness_matches(left, right.outer):
        return with_values(input, matmul(left.values, right.values))
    if input.dim() == other.dim() == 3 and (left.ragged, right.ragged) == (2, 1) and left.length == right.length:
        length = longest(left)
        return matmul(padded(left, 0, length), padded(right, 0, length))
    raise _refused(input, other)


@answers("bmm")
def _bmm(input: Tensor, mat2: Tensor) -> Tensor:
    if not is_jagged(input):
        raise ValueError("NestedTensor bmm_default(self: jt_all, mat2: any): expected self to be a jagged layout "
                         "NestedTensor")  # fmt: skip
    if input.dim() != 3:
        raise ValueError("bmm(): input must be 3D")
    if mat2.dim() != 3:
        raise ValueError("bmm(): mat2 must be 3D")
    return product(input, mat2)


@answers("einsum")
def _einsum(*args: Any) -> Tensor:
    raise RuntimeError("NYI")
