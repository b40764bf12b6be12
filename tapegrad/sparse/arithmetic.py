"""Elementwise functions of sparse tensors: those of their values, where zeros stay zeros."""

from __future__ import annotations

from operator import methodcaller
from typing import Any

import numpy as np

from tapegrad._src.bindings.declaration.registry import NAMESPACES
from tapegrad._src.bindings.naming import renamed
from tapegrad._src.execution.array_functions.host import to_host
from tapegrad._src.execution.data.dtypes import FLOATING, complex128, float64
from tapegrad._src.execution.data.dtypes import bool as bool_dtype
from tapegrad._src.functions.construction import as_tensor
from tapegrad._src.functions.creation import zeros
from tapegrad._src.functions.dropout import dropout
from tapegrad._src.functions.joining import cat
from tapegrad._src.functions.shape import broadcast_to
from tapegrad._src.tensor import layout as layouts
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad.errors import LEAF
from tapegrad.ops import sparse as ops
from tapegrad.sparse.attributes import with_values
from tapegrad.sparse.coordinates import (
    coalesced,
    indices_at,
    layout_name,
    made,
    places_in,
    reaching,
    sparse_dim_of,
)
from tapegrad.sparse.fills import fill_of, filled
from tapegrad.sparse.tensor import (
    ANSWERS,
    SparseValue,
    answers,
    as_it_was,
    is_coo,
    is_sparse,
    not_there,
    state_of,
    written,
)


def _declare(name: str, adds_up: bool, linear: bool = False) -> None:
    def function(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        tensor = coalesced(self) if adds_up and is_coo(self) else self
        if kwargs.pop("inplace", False):
            return written(self, function(as_it_was(self))._value, in_memory=True)
        of = methodcaller(name, *args, **kwargs)
        found = with_values(tensor, of(state_of(tensor).values))
        return filled(found, (tensor, of)) if linear else found

    answers(name)(function)
    _elementwise[name] = adds_up


_elementwise = dict.fromkeys(["pow", "mul", "multiply", "div", "divide", "floor_divide"], False)
MULTIPLIES = ("mul", "multiply")
# what is 0 at 0, and sparse tensors have
for _name in """abs absolute asin arcsin asinh arcsinh atan arctan atanh arctanh ceil erf erfinv expm1 floor
        frac isinf isnan isneginf isposinf log1p relu round sgn sign signbit sin sinh sqrt square tan
        tanh trunc fix""".split():  # noqa: SIM905 - shorter
    _declare(_name, adds_up=True)
for _name in ("deg2rad", "positive", "rad2deg"):
    _declare(_name, adds_up=True, linear=True)
# where values at one place need not be added up before
for _name in "neg negative conj conj_physical resolve_conj resolve_neg nan_to_num".split():  # noqa: SIM905
    _declare(_name, adds_up=False, linear=_name != "nan_to_num")
ANSWERS["__neg__"], ANSWERS["__abs__"], ANSWERS["__pos__"] = ANSWERS["neg"], ANSWERS["abs"], ANSWERS["positive"]


@answers("float_power")
def _float_power(self: Any, exponent: Any) -> Tensor:
    return _pow(self.to(complex128 if self.dtype.is_complex else float64) if is_sparse(self) else self, exponent)


@answers("pow", "__pow__")
def _pow(self: Any, exponent: Any) -> Tensor:
    if not is_sparse(self) or is_sparse(exponent):
        raise not_there("pow", (self, exponent))
    if isinstance(exponent, (int, float)) and exponent == 0:
        raise RuntimeError("pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor dense")
    tensor = coalesced(self) if is_coo(self) else self
    return with_values(tensor, state_of(tensor).values ** exponent)


# Sums ----------------------------------------------------------------------------------------------------------------


@answers("add", "__add__")
def _add(input: Any, other: Any, *, alpha: Any = 1, node: str = "AddBackward0") -> Tensor:
    if not is_sparse(other):
        if not is_coo(input) and isinstance(other, Tensor):
            return other * alpha + input.to_dense(masked_grad=False)
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if isinstance(alpha, float) and input.dtype.category < FLOATING and other.dtype.category < FLOATING:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if not is_sparse(input):
        return renamed(_added_to_dense(input, other, alpha), node)
    if input.dtype is other.dtype is bool_dtype and node == "SubBackward0":
        raise RuntimeError(MINUS)
    found = (merged if is_coo(input) and is_coo(other) else ANSWERS["compressed add"])(input, other, alpha)
    renamed(state_of(found).values, node)
    return found


@answers("__radd__")
def _radd(self: Tensor, other: Any) -> Tensor:
    return _add(other, self)


MINUS = ("Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
         "operator instead.")  # fmt: skip


@answers("sub", "subtract", "__sub__")
def _sub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    return _add(input, other, alpha=-alpha, node="SubBackward0")


@answers("rsub", "__rsub__")
def _rsub(self: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    return _add(other, self, alpha=-alpha)


def _added_to_dense(input: Any, other: Tensor, alpha: Any) -> Tensor:
    shape = list(input.shape) if isinstance(input, Tensor) else []
    if shape != list(other.shape):
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same size, but self has size {shape} while other has size "
            f"{list(other.shape)} (FYI: dense-sparse addition does not currently support broadcasting)"
        )
    return input.add(other.to_dense(masked_grad=False), alpha=alpha)


def merged(left: Tensor, right: Tensor, alpha: Any = 1) -> Tensor:
    """The sum of two tensors with coordinates: the entries of both, each as far as possible where it is in order."""
    one, two = state_of(left), state_of(right)
    if one.shape != two.shape:
        raise RuntimeError(f"add: expected sizes of 'self' and 'other' to match, but {list(one.shape)} != "
                           f"{list(two.shape)}")  # fmt: skip
    values = two.values if alpha == 1 else two.values * alpha
    if one.indices[0] is two.indices[0]:
        found = made(one.indices[0], one.values + values, one.shape, one.coalesced)
        return summed(found, left, right, alpha)
    lengths = one.shape[: sparse_dim_of(one)]
    places = [to_host(value_of(places_in(state))) for state in (one, two)]
    spots, kept = merge(*places)
    device = left.device
    together = cat([one.values.to((one.values[:0] + values[:0]).dtype), values])
    values = ops.sparse_coalesce(together, as_tensor(spots, device=device), count=len(kept))
    indices, coalesced = indices_at(as_tensor(kept, device=device), lengths), one.coalesced and two.coalesced
    return reaching(summed(made(indices, values, one.shape, coalesced), left, right, alpha))


def summed(found: Tensor, left: Tensor, right: Tensor, alpha: Any) -> Tensor:
    """The sum of two sparse tensors, whose fill is that of theirs."""
    return filled(found, (left, None), (right, None if alpha == 1 else lambda fill: fill * alpha))


def merge(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of two lists in one, in which each keeps its order, and the lesser of two heads comes first.

    Equal heads become one. Gives the places of all numbers of both in the merged list, and that list.

    >>> merge(np.array([0, 3, 3]), np.array([2, 3]))
    (array([0, 2, 3, 1, 2]), array([0, 2, 3, 3]))
    """
    if not (np.all(left[1:] >= left[:-1]) and np.all(right[1:] >= right[:-1])):
        return _merged_by_heads(left.tolist(), right.tolist())
    repeats = [np.arange(len(one)) - np.searchsorted(one, one) for one in (left, right)]  # equals count on
    keys = np.stack([np.concatenate([left, right]), np.concatenate(repeats)])
    found, spots = np.unique(keys, axis=1, return_inverse=True)
    return spots.reshape(-1).astype(np.int64), found[0].astype(np.int64)


def _merged_by_heads(left: list[int], right: list[int]) -> tuple[np.ndarray, np.ndarray]:
    i = j = 0
    spots: tuple[list[int], list[int]] = [], []
    kept: list[int] = []
    while i < len(left) or j < len(right):
        first = i < len(left) and (j >= len(right) or left[i] <= right[j])
        second = j < len(right) and (i >= len(left) or right[j] <= left[i])
        if first:
            spots[0].append(len(kept))
        if second:
            spots[1].append(len(kept))
        kept.append(left[i] if first else right[j])
        i, j = i + first, j + second
    return np.array([*spots[0], *spots[1]], np.int64), np.array(kept, np.int64)


# Products ------------------------------------------------------------------------------------------------------------


def is_number(x: Any) -> bool:
    """Tell whether something is a number, or a dense tensor without dimensions."""
    return not isinstance(x, Tensor) or (not is_sparse(x) and x.ndim == 0)


@answers("mul", "multiply", "__mul__", "__rmul__")
def _mul(input: Any, other: Any) -> Tensor:
    if not is_sparse(input):
        input, other = other, input
    if is_number(other) or (isinstance(other, Tensor) and not is_sparse(other) and other.numel() == 1):
        factor = other if is_number(other) else other.reshape(())
        return filled(with_values(input, state_of(input).values * factor), (input, lambda fill: fill * factor))
    if is_sparse(other):
        if is_coo(input) and not is_coo(other):
            raise RuntimeError("Expected result Tensor to be of format CSR")
        return _common(input, other) if is_coo(input) else ANSWERS["compressed mul"](input, other)
    if not is_coo(input):
        return ANSWERS["compressed mul"](input, other)
    state = state_of(input)
    factors = ops.sparse_gather(broadcast_to(other, state.shape), places_in(state), ndim=sparse_dim_of(state))
    return filled(with_values(input, state.values * factors), (input, lambda fill: fill * other))


def _common(left: Tensor, right: Tensor) -> Tensor:
    """The product of two tensors with coordinates, at the places of both; of one and itself at all of them."""
    if state_of(left).shape != state_of(right).shape:
        raise RuntimeError(f"mul: expected 'self' and 'other' to have same sizes, but {list(left.shape)} != "
                           f"{list(right.shape)}")  # fmt: skip
    if state_of(left).indices[0] is state_of(right).indices[0] and state_of(left).coalesced:
        return with_values(left, state_of(left).values * state_of(right).values)
    ordered = state_of(left).coalesced and state_of(right).coalesced
    one, two = state_of(coalesced(left)), state_of(coalesced(right))
    places = [to_host(value_of(places_in(state))) for state in (one, two)]
    kept, at_left, at_right = np.intersect1d(places[0], places[1], assume_unique=True, return_indices=True)
    device = left.device
    factors = [ops.sparse_rows(state.values, as_tensor(at, device=device))
               for state, at in ((one, at_left), (two, at_right))]  # fmt: skip
    indices = indices_at(as_tensor(kept, device=device), one.shape[: sparse_dim_of(one)])
    found = made(indices, factors[0] * factors[1], one.shape, ordered)
    return filled(found, (left, lambda fill: fill * right.to_dense()), (right, lambda fill: fill * left.to_dense()))


@answers("div", "divide", "true_divide", "__truediv__")
def _div(self: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    if not is_sparse(self):
        raise not_there("div", (self, other))
    if not is_number(other):
        raise RuntimeError("Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
                           f"{list(other.shape)} for divisor)")  # fmt: skip
    tensor = coalesced(self) if rounding_mode is not None and is_coo(self) else self
    found = with_values(tensor, state_of(tensor).values.div(other, rounding_mode=rounding_mode))
    return filled(found, (tensor, lambda fill: fill / other)) if rounding_mode is None else found


@answers("floor_divide", "__floordiv__")
def _floor_divide(self: Any, other: Any) -> Tensor:
    return _div(self, other, rounding_mode="floor")


# In place ------------------------------------------------------------------------------------------------------------


def _declare_in_place(name: str, adds_up: bool) -> None:
    def function(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if not is_sparse(self):
            raise not_there(name, (self, *args))
        refuse_leaf(self)
        if adds_up and is_coo(self) and not state_of(self).coalesced:
            raise RuntimeError(f"{name}_ requires coalesced input")
        computed = ANSWERS[name](as_it_was(self, *args), *args, **kwargs)
        found = fitted(self, computed, CANNOT_MULTIPLY if name in MULTIPLIES else CANNOT)
        if name not in MULTIPLIES:
            return written(self, found._value, in_memory=True)
        found._value.coalesced &= not is_coo(self) or found._value.size < 2  # as PyTorch has it
        return replaced(self, found)

    answers(f"{name}_")(function)


CANNOT = "result type {} can't be cast to the desired output type {}"
CANNOT_MULTIPLY = "dtype of values ({}) must match dtype of sparse tensor ({})"
CANNOT_ADD = "Can't convert result type {} to output {} in add operation"


def fitted(self: Tensor, found: Tensor, sentence: str) -> Tensor:
    """A result in the dtype of the sparse tensor that it is written over. Raises RuntimeError: that can't hold it."""
    if found.dtype.category > self.dtype.category:
        raise RuntimeError(sentence.format(found.dtype.scalar_name, self.dtype.scalar_name))
    return found.to(self.dtype)


def replaced(self: Tensor, found: Tensor) -> Tensor:
    """Write a product, or a sum: a tensor with coordinates has other values then, a compressed one the same."""
    return written(self, state_of(found), in_memory=not is_coo(self))


for _name, _adds_up in _elementwise.items():
    _declare_in_place(_name, _adds_up)
ANSWERS["__imul__"], ANSWERS["__itruediv__"], ANSWERS["true_divide_"] = ANSWERS["mul_"], *[ANSWERS["div_"]] * 2


def refuse_leaf(tensor: Tensor) -> None:
    """Refuse a write to a leaf that requires grad, while gradients are recorded."""
    state = state_of(tensor)
    if state.values.requires_grad and state.values.is_leaf and (state.values * 1).requires_grad:
        raise RuntimeError(LEAF)


@answers("add_", "__iadd__")
def _add_(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    if not is_sparse(self):
        return _add_rows(self, other, alpha)
    refuse_leaf(self)
    if not is_coo(self) and not is_sparse(other):
        raise RuntimeError(f"Sparse {layout_name(self)[-3:].upper()} tensors do not have is_contiguous")
    return replaced(self, fitted(self, _add(as_it_was(self, other), other, alpha=alpha), CANNOT_ADD))


@answers("sub_", "subtract_", "__isub__")
def _sub_(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    found = _add_(self, other, alpha=-alpha)
    return found if is_sparse(found) else renamed(found, "SubBackward0")


def _add_rows(self: Tensor, other: Tensor, alpha: Any) -> Tensor:
    """Add a sparse tensor to a dense one in place: only its rows are read."""
    if list(self.shape) != list(other.shape):
        _added_to_dense(self, other, alpha)
    state = state_of(other) if is_coo(other) else state_of(other.to_dense().to_sparse())
    dims = sparse_dim_of(state)
    if fill_of(other) is not None or not (self.is_contiguous() and dims):
        return self.add_(other.to_dense(masked_grad=False), alpha=alpha)
    rows = self if dims == 1 else self.view(-1, *state.values.shape[1:])
    rows.index_add_(0, places_in(state), state.values.to(self.dtype), alpha=alpha)
    return self


@answers("copy_")
def _copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    if not is_sparse(self):
        raise RuntimeError("copy_() between dense and sparse Tensors is not implemented! Found self type = "
                           f"{self.type()} and src type = {src.type()}")  # fmt: skip
    if is_coo(self) and not is_sparse(src):
        raise RuntimeError("copy_() between dense and sparse Tensors is not implemented! Found self type = "
                           f"{self.type()} and src type = {src.type()}")  # fmt: skip
    if not (is_coo(self) and is_coo(src)):
        _refuse_to_copy(self, src)
    refuse_leaf(self)
    return written(self, src.to(self.dtype).clone()._value)


def _refuse_to_copy(self: Tensor, src: Tensor) -> None:
    """Refuse to copy what has not the layout, and as many elements, of a compressed tensor."""
    if is_coo(self):
        raise RuntimeError("copy_sparse_compressed_ expected sparse compressed tensor layout but got Sparse")
    names = [layout_name(one) for one in (self, src)]
    if names[0] != names[1]:
        raise RuntimeError("torch.copy_: copy of sparse compressed tensors having different layouts is not supported. "
                           f"self layout is {names[0]} and src layout is {names[1]}")  # fmt: skip
    if self._nnz() != src._nnz():
        raise RuntimeError("torch.copy_: only sparse compressed tensors with the same number of specified elements are "
                           "supported.")  # fmt: skip


@answers("zero_")
def _zero_(self: Tensor) -> Tensor:
    refuse_leaf(self)
    return written(self, emptied(state_of(self)))


def emptied(state: SparseValue) -> SparseValue:
    """A value of the same layout, shape and dtype that has no elements."""
    if state.layout is not layouts.sparse_coo:
        heads, plain = state.indices
        batch = heads.ndim - 1
        left = state.values.detach().data.narrow(batch, 0, 0)
        return SparseValue((heads * 0, plain.narrow(batch, 0, 0)), left, state.shape, layout=state.layout)
    return made(state.indices[0][:, :0], state.values.detach().data[:0], state.shape)._value


@answers("zeros_like", "empty_like")
def _zeros_like(
    input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False, **_: Any
) -> Tensor:
    state = state_of(input)
    kind, on = dtype or input.dtype, device or input.device
    if layout is None or layout is state.layout:
        found = emptied(state_of(input.detach().to(kind).to(on))).as_tensor()
    elif layout is layouts.strided and not is_coo(input):
        name = f"Sparse{repr(state.layout)[-3:].title()}"
        raise RuntimeError(
            f"empty_like with different sparse layout is not supported (self is {name} but you requested Strided)"
        )
    elif layout is layouts.strided:
        found = zeros(tuple(input.shape), dtype=kind, device=on)
    else:
        found = ANSWERS["empty as"](state, kind, on, layout)
    return found.requires_grad_() if requires_grad else found


def _declare_random(name: str) -> None:
    def function(input: Tensor, *, dtype: Any = None, requires_grad: bool = False, **_: Any) -> Tensor:
        if is_coo(input):
            raise not_there(name, (input,))
        values = state_of(input).values.detach()
        found = with_values(input, NAMESPACES["torch"][name](values, dtype=dtype))
        return found.requires_grad_() if requires_grad else found

    answers(name)(function)


_declare_random("randn_like")
_declare_random("rand_like")


@answers("dropout")
def _dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False, **_: Any) -> Tensor:
    found = with_values(input, dropout(state_of(input).values, p, training))
    return found if training and p else filled(found, (input, None))


@answers("dist")
def _dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    return (input - other).norm(p)


@answers("angle")
def _angle(input: Tensor) -> Tensor:
    if is_coo(input):
        raise not_there("angle", (input,))
    return with_values(input, state_of(input).values.angle())


@answers("fill_")
def _fill_(self: Tensor, value: Any) -> Tensor:
    if is_coo(self):
        raise not_there("fill_.Scalar", (self,))
    refuse_leaf(self)
    state = state_of(as_it_was(self))
    filling = SparseValue(state.indices, state.values.clone().fill_(value), state.shape, layout=state.layout)
    return written(self, filling, in_memory=True)


@answers("any")
def _any(input: Tensor) -> Tensor:
    if not is_coo(input):
        raise not_there("any.all_out", (input,))
    return state_of(coalesced(input)).values.any()


@answers("norm")
def _norm(input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    tensor = coalesced(input) if is_coo(input) else input
    return state_of(tensor).values.norm(p)
