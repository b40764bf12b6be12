"""PyTorch's products and scans: prod, cumsum, cumprod, logcumsumexp, cummax, cummin, diff."""

from __future__ import annotations

from typing import Any

from tapegrad._src.bindings import return_types
from tapegrad._src.bindings.arguments import not_implemented, refuse_large, wrap_dim
from tapegrad._src.bindings.declaration.declarations import EXPECTED, IN_TARGETS_DTYPE, Computes, InPlace, Out
from tapegrad._src.bindings.declaration.registry import UNSET, public
from tapegrad._src.bindings.declaration.scalars import unsupported
from tapegrad._src.bindings.naming import renamed
from tapegrad._src.execution.data import dtypes
from tapegrad._src.execution.data.dtypes import BOOL, FLOATING, INTEGRAL, dtype
from tapegrad._src.functions.creation import zeros
from tapegrad._src.functions.reductions import check_differentiable_dtype, check_dtype, check_flag, invalid, one_dim
from tapegrad._src.functions.slicing import sliced
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import arithmetic, comparison, joining, scans, shape


@public("torch", "Tensor", out=IN_TARGETS_DTYPE, is_settled=True)
def prod(input: Tensor, dim: int = UNSET, keepdim: bool = UNSET, *, dtype: dtype | None = None) -> Tensor:
    """The product of all elements, or over one dimension ``dim``.

    Booleans and integers are multiplied in int64, unless ``dtype`` says otherwise; elements are cast to it first.

    Args:
        dim: an int; without it, all elements are multiplied.

    Raises:
        TypeError: ``keepdim`` without ``dim``; several dimensions.

    >>> torch.tensor([[1.0, 2.0], [3.0, 4.0]]).prod(0)
    tensor([3., 8.])
    """
    check_dtype("prod", dtype)
    check_differentiable_dtype(input, dtype)
    if dim is UNSET:
        if keepdim is not UNSET:
            raise invalid("prod", keepdim)
        return scans.prod_all(input, dtype=dtype)
    if dim is None or isinstance(dim, (bool, float, str, tuple, list)):
        raise invalid("prod", dim)
    keepdim = False if keepdim is UNSET else keepdim
    check_flag("prod", "keepdim", keepdim)
    return scans.prod(input, axis=wrap_dim(dim, input.ndim), keepdims=keepdim, dtype=dtype)


def _refuse_truths(tensor: Tensor, kernel: str) -> None:
    if tensor.dtype.category == BOOL:
        raise unsupported(kernel, tensor.dtype)


@public(
    "torch", "Tensor", in_place=InPlace(check=lambda tensor, _: _refuse_truths(tensor, "cumsum_out_cpu")),
    out=Out(EXPECTED, computes=Computes(INTEGRAL, "cumsum_out_cpu")), is_settled=True,
)  # fmt: skip
def cumsum(input: Tensor, dim: int, *, dtype: dtype | None = None) -> Tensor:
    """The sums of all elements up to each along ``dim``; of booleans and integers in int64 without a ``dtype``.

    Args:
        dim: the dimension along which is summed.
        dtype: what the elements are cast to first.

    Raises:
        NotImplementedError: a boolean ``dtype``.
        RuntimeError: an integral ``dtype`` where ``input`` requires grad.

    >>> torch.cumsum(torch.tensor([1.0, 2.0, 3.0]), 0)
    tensor([1., 3., 6.])
    """
    check_dtype("cumsum", dtype)
    if dtype is dtypes.bool:
        raise not_implemented("cumsum_out_cpu", dtype)
    check_differentiable_dtype(input, dtype)
    return scans.cumsum(input, axis=one_dim("cumsum", dim, input.ndim), reverse=False, dtype=dtype)


@public(
    "torch", "Tensor", in_place=InPlace(check=lambda tensor, _: _refuse_truths(tensor, "cumprod_out_cpu")),
    out=Out(EXPECTED, computes=Computes(INTEGRAL, "cumprod_out_cpu")), is_settled=True,
)  # fmt: skip
def cumprod(input: Tensor, dim: int, *, dtype: dtype | None = None) -> Tensor:
    """The products of all elements up to each along ``dim``; of booleans and integers in int64 without a ``dtype``.

    Args:
        dim: the dimension along which is multiplied.
        dtype: what the elements are cast to first.

    Raises:
        NotImplementedError: a boolean ``dtype``.
        RuntimeError: an integral ``dtype`` where ``input`` requires grad.

    >>> torch.cumprod(torch.tensor([1.0, 2.0, 3.0]), 0)
    tensor([1., 2., 6.])
    """
    check_dtype("cumprod", dtype)
    if dtype is dtypes.bool:
        raise not_implemented("cumprod_out_cpu", dtype)
    check_differentiable_dtype(input, dtype)
    return scans.cumprod(input, axis=one_dim("cumprod", dim, input.ndim), dtype=dtype)


@public("torch", "Tensor", out=Out("expected scalar_type {R} but found {O}"), is_settled=True)
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """The logarithms of the cumulative sums of ``exp(input)`` along ``dim``.

    Raises:
        NotImplementedError: integers.
    """
    axis = one_dim("logcumsumexp", dim, input.ndim)
    if input.dtype.category < FLOATING:
        raise not_implemented("logcumsumexp_out_cpu", input.dtype)
    return scans.logcumsumexp(input, axis=axis, reverse=False)


@public("torch", "Tensor", out=Out("expected scalar_type {R} but found {O}"))
def cummax(input: Tensor, dim: int) -> Any:
    """The largest elements so far along ``dim``: a named tuple of ``values`` and ``indices``, the latest of equals.

    Raises:
        NotImplementedError: complex elements.
    """
    axis = one_dim("cummax", dim, input.ndim)
    found = _of_complex("cummax", input)
    return return_types.cummax(found or scans.cummax(input, axis=axis))


@public("torch", "Tensor", out=Out("expected scalar_type {R} but found {O}"))
def cummin(input: Tensor, dim: int) -> Any:
    """The smallest elements so far along ``dim``: a named tuple of ``values`` and ``indices``, the latest of equals.

    Raises:
        NotImplementedError: complex elements.
    """
    axis = one_dim("cummin", dim, input.ndim)
    found = _of_complex("cummin", input)
    return return_types.cummin(found or scans.cummin(input, axis=axis))


def _of_complex(name: str, input: Tensor) -> tuple[Tensor, Tensor] | None:
    """Running extrema of complex elements, where there are none to compare; None for real ones.
    Raises NotImplementedError: there are some to compare. RuntimeError: they require grad.
    """
    if not input.dtype.is_complex:
        return None
    if input.ndim and input.numel():
        raise unsupported(f"{name}_cpu", input.dtype)
    if input._spec.requires_grad and thread.modes.grad:
        raise RuntimeError(f"{name} does not support automatic differentiation for outputs with complex dtype.")
    return input.clone(), zeros(tuple(input.shape), dtype=dtypes.int64, device=input.device)


def check_extension(input: Tensor, axis: int, extension: Tensor) -> None:
    """Refuse what can't be put in front of or behind a tensor.
    Raises RuntimeError: naming the dimension that doesn't match.
    """
    if extension.ndim != input.ndim:
        raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    for i, (own, other) in enumerate(zip(input.shape, extension.shape, strict=True)):
        if i != axis and own != other:
            raise RuntimeError(
                "diff expects the shape of tensor to prepend or append to match that of input except along the "
                f"differencing dimension; input.size({i}) = {own}, but got tensor.size({i}) = {other}"
            )


@public("torch", "Tensor", out=Out(called="sub", apart=True))
def diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """The differences of neighbours along ``dim``, ``n`` times over; "different from" for booleans.

    ``prepend`` and ``append`` are put in front of and behind ``input`` first.

    Raises:
        RuntimeError: a 0-dim tensor, a negative ``n``, or extensions that do not fit.

    >>> torch.diff(torch.tensor([1.0, 4.0, 9.0])), torch.diff(torch.tensor([1.0, 4.0, 9.0]), n=2)
    (tensor([3., 5.]), tensor([2.]))
    """
    refuse_large(n)
    if input.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    axis = wrap_dim(dim, input.ndim)
    for extension in (prepend, append):
        if extension is not None:
            check_extension(input, axis, extension)
    if n == 0:
        return renamed(shape.clone(input), "torch::autograd::CopyBackwards")
    if prepend is not None or append is not None:
        input = joining.cat(*[part for part in (prepend, input, append) if part is not None], axis=axis)
    for _ in range(min(n, input.shape[axis])):  # then nothing is left
        input = _difference(input, axis)
    return input


def _difference(input: Tensor, axis: int) -> Tensor:
    subtract = comparison.logical_xor if input.dtype is dtypes.bool else arithmetic.sub
    length = max(input.shape[axis] - 1, 0)
    later = sliced(input, axis, min(1, input.shape[axis]), length)
    return subtract(later, sliced(input, axis, 0, length))
