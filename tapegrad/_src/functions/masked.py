"""PyTorch's ``torch.masked``: reductions, scans and softmax of the elements that a mask selects.

Where the mask is not set an element is replaced by one that changes nothing (the *identity* of the operation), and the
ordinary operation follows. Where nothing is selected at all the result is that identity, or nan.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tapegrad._src.bindings import bounds
from tapegrad._src.bindings.arguments import wrap_dim
from tapegrad._src.bindings.declaration.registry import NAMESPACES, public
from tapegrad._src.bindings.dispatching import is_shown
from tapegrad._src.bindings.writes.in_place import before_write
from tapegrad._src.execution.data import dtypes
from tapegrad._src.execution.data.dtypes import BOOL, FLOATING, dtype
from tapegrad._src.functions import norms, scans
from tapegrad._src.functions import reductions as reduction
from tapegrad._src.functions import softmax as softmaxes
from tapegrad._src.functions.arithmetic import div, mul, sub
from tapegrad._src.functions.conversion import to
from tapegrad._src.functions.creation import new_full, ones
from tapegrad._src.functions.retyping import conj
from tapegrad._src.functions.shape import expand
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import selection
from tapegrad.ops.kinds import cast

UNMASKED = NAMESPACES["torch"]

# -- masks -------------------------------------------------------------------------------------------------------------


def _axes(dim: Any, ndim: int) -> tuple[int, ...]:
    """The dimensions meant, in ascending order; None and () mean all, but [] means none.
    Raises IndexError: out of range. RuntimeError: a dimension twice.
    """
    if dim is None or dim == ():
        return tuple(range(max(ndim, 1))) if ndim else ()
    found: list[int] = []
    for one in (dim,) if isinstance(dim, int) else dim:
        axis = wrap_dim(one, ndim)
        if axis in found:
            raise RuntimeError(f"dim={axis} appears multiple times in the list of dims")
        found.append(axis)
    return tuple(sorted(found))


def _axis(dim: Any, ndim: int) -> int:
    """The first dimension meant. Raises IndexError: there is none."""
    return _axes(dim, ndim)[0]


def _selecting(input: Tensor, mask: Tensor) -> Tensor:
    """A mask in the shape of ``input``, boolean.
    Raises IndexError, RuntimeError: it can't be broadcast to that shape.
    """
    if len(mask.shape) > input.ndim:
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    if mask.shape != input.shape:
        mask = expand(before_write(mask), tuple(input.shape))  # a copy in PyTorch, that no write reaches
    return mask if mask.dtype is dtypes.bool else cast(mask, dtype=dtypes.bool)


def refuse_nested(name: str, input: Any) -> None:
    """Raise ValueError if a tensor is nested."""
    if isinstance(input, Tensor) and input.is_nested:
        more = " or sparse_csr" * (name == "mean")
        more = ", sparse_coo or sparse_csr" if name in ("sum", "prod", "amax", "amin") else more
        raise ValueError(f"masked {name} expects strided{more} tensor (got {input.layout} tensor)")


def _combined(name: str, input: Tensor, mask: Tensor | None, fill: Callable[[str, dtype], Any]) -> Tensor:
    """``input`` with the identity of an operation where the mask is not set."""
    refuse_nested(name, input)
    if mask is None:
        return input
    number = fill(name, input.dtype)
    if is_shown((input,)):
        number = NAMESPACES["torch"]["tensor"](number, dtype=input.dtype, device=input.device)
    return selection.where(_selecting(input, mask), input, number)


def _zero(name: str, of: dtype) -> Any:
    return False if of.category == BOOL else 0


def _one(name: str, of: dtype) -> Any:
    return True if of.category == BOOL else 1


def _lowest(name: str, of: dtype) -> Any:
    return -math.inf if of.category == FLOATING else _iinfo(name, of).min


def _highest(name: str, of: dtype) -> Any:
    return math.inf if of.category == FLOATING else _iinfo(name, of).max


def _log_of_zero(name: str, of: dtype) -> Any:
    return -math.inf if of.is_complex else _lowest(name, of)


def _iinfo(name: str, of: dtype) -> Any:
    if of.category == BOOL:
        raise NotImplementedError(f"identity of {name} on {of} input")
    return dtypes.iinfo(of)


def _sum_dtype(input: Tensor, wanted: dtype | None) -> dtype:
    """The dtype of sums and products: int64 for booleans and integers, if no other is wanted."""
    own: dtype = input.dtype
    return wanted if wanted is not None else dtypes.int64 if own.category < FLOATING else own


def _in(result: Tensor, wanted: dtype) -> Tensor:
    return result if result.dtype is wanted else to(result, wanted)


# -- reductions --------------------------------------------------------------------------------------------------------


@public("masked")
def sum(
    input: Any, dim: Any = None, *, keepdim: bool = False, dtype: dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The sums, over ``dim`` or all, of the elements that ``mask`` selects.

    >>> torch.masked.sum(torch.tensor([1.0, 2.0, 4.0]), mask=torch.tensor([True, False, True]))
    tensor(5.)
    """
    wanted, axes = _sum_dtype(input, dtype), _axes(dim, input.ndim)
    given = _combined("sum", input, mask, _zero)
    same = wanted is given.dtype and wanted.category >= FLOATING
    return reduction.sum(given, axes, bool(keepdim), dtype=None if same else wanted)


@public("masked")
def prod(
    input: Any, dim: Any = None, *, keepdim: bool = False, dtype: dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The products, over ``dim`` or all, of the elements that ``mask`` selects.

    >>> torch.masked.prod(torch.tensor([1.0, 2.0, 4.0]), mask=torch.tensor([False, True, True]))
    tensor(8.)
    """
    wanted = _sum_dtype(input, dtype)
    result = _in(_combined("prod", input, mask, _one), wanted)
    for axis in reversed(_axes(dim, input.ndim)):
        result = scans.prod(result, axis, bool(keepdim))
    return result


@public("masked")
def amax(
    input: Any, dim: Any = None, *, keepdim: bool = False, dtype: dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The largest elements, over ``dim`` or all, of those that ``mask`` selects; the least number if there are none.

    >>> torch.masked.amax(torch.tensor([1.0, 2.0, 4.0]), mask=torch.tensor([True, True, False]))
    tensor(2.)
    """
    given = _combined("amax", input, mask, _lowest)
    return _in(reduction.amax(given, _axes(dim, input.ndim), bool(keepdim)), dtype or input.dtype)


@public("masked")
def amin(
    input: Any, dim: Any = None, *, keepdim: bool = False, dtype: dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The smallest elements, over ``dim`` or all, of those that ``mask`` selects; the largest number if there are
    none.

    >>> torch.masked.amin(torch.tensor([1.0, 2.0, 4.0]), mask=torch.tensor([False, True, True]))
    tensor(2.)
    """
    given = _combined("amin", input, mask, _highest)
    return _in(reduction.amin(given, _axes(dim, input.ndim), bool(keepdim)), dtype or input.dtype)


@public("masked")
def argmax(
    input: Any, dim: Any = None, *, keepdim: bool = False, dtype: dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The indices, in the dtype of ``input``, of the largest elements of those that ``mask`` selects.

    Args:
        dim: the dimension to look along; None for the flattened tensor.

    >>> torch.masked.argmax(torch.tensor([1, 2, 4]), mask=torch.tensor([True, True, False]))
    tensor(1)
    """
    found = reduction.argmax(_combined("argmax", input, mask, _lowest), dim, bool(keepdim))
    return _in(found, dtype or input.dtype)


@public("masked")
def argmin(
    input: Any, dim: Any = None, *, keepdim: bool = False, dtype: dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The indices, in the dtype of ``input``, of the smallest elements of those that ``mask`` selects.

    Args:
        dim: the dimension to look along; None for the flattened tensor.

    >>> torch.masked.argmin(torch.tensor([1, 2, 4]), mask=torch.tensor([False, True, True]))
    tensor(1)
    """
    found = reduction.argmin(_combined("argmin", input, mask, _highest), dim, bool(keepdim))
    return _in(found, dtype or input.dtype)


def _numbers(input: Tensor, dim: Any, keepdim: bool, mask: Tensor | None) -> Tensor:
    """The number of elements that a mask selects, over ``dim`` or all."""
    dims = () if dim is None else dim
    if mask is None:
        return reduction.sum(ones(tuple(input.shape), dtype=dtypes.int64, device=input.device), dims, keepdim)
    return reduction.sum(_selecting(input, mask), dims, keepdim)


@public("masked")
def mean(
    input: Any, dim: Any = None, *, keepdim: bool = False, dtype: dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The means, over ``dim`` or all, of the elements that ``mask`` selects; nan of none.

    Raises:
        ValueError: a mean of integers, or in integers.

    >>> torch.masked.mean(torch.tensor([1.0, 2.0, 6.0]), mask=torch.tensor([False, True, True]))
    tensor(4.)
    """
    refuse_nested("mean", input)
    which, kind = ("Input", input.dtype) if dtype is None else ("Optional", dtype)
    if kind.category < FLOATING:
        raise ValueError(
            f"mean(): Could not infer output dtype. {which} dtype must be either a floating point or complex dtype. "
            f"Got: {kind}"
        )
    count = _numbers(input, dim, bool(keepdim), mask)
    return div(sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask), count)


@public("masked")
def median(
    input: Any, dim: Any = -1, *, keepdim: bool = False, dtype: dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The medians over ``dim``, the lower one of two, of the elements that ``mask`` selects; nan of none.

    Raises:
        ValueError: nothing is selected somewhere, and the dtype has no nan.

    >>> torch.masked.median(torch.tensor([1.0, 2.0, 6.0]), mask=torch.tensor([False, True, True]))
    tensor(2.)
    """
    axis, floating = _axis(dim, input.ndim), input.dtype.category == FLOATING
    if not floating and mask is not None:
        text = "masked median expects no fully masked out rows if dtype is not floating point"
        counts = _numbers(input, axis, False, mask)
        bounds.refuse_elements(counts, bounds.zero, complaint=lambda found: ValueError(text))
    given = input if floating else to(input, dtypes.float32)
    values = reduction.nanmedian(_combined("median", given, mask, lambda name, of: math.nan), axis, bool(keepdim))[0]
    return values if floating else _in(values, dtype or input.dtype)


@public("masked")
def logsumexp(
    input: Any, dim: Any = None, *, keepdim: bool = False, dtype: dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The logarithms of the sums, over ``dim`` or all, of the exponentials that ``mask`` selects.

    >>> torch.masked.logsumexp(torch.tensor([1.0, 5.0]), 0, mask=torch.tensor([True, False]))
    tensor(1.)
    """
    axes = _axes(dim, input.ndim)
    result = softmaxes.logsumexp(_combined("logsumexp", input, mask, _log_of_zero), axes, bool(keepdim))
    return _in(result, dtype or input.dtype)


@public("masked")
def logaddexp(
    input: Any, other: Any, *, dtype: dtype | None = None, input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """``log(exp(input) + exp(other))`` of the elements that the masks select; what they don't counts as -inf.

    Args:
        input_mask, other_mask: boolean, of the shapes of ``input`` and ``other``; None selects all.

    >>> torch.masked.logaddexp(torch.zeros(2), torch.zeros(2), input_mask=torch.tensor([True, False]), other_mask=None)
    tensor([0.6931, 0.0000])
    """
    left = _combined("logaddexp", input, input_mask, _lowest)
    right = _combined("logaddexp", other, other_mask, _lowest)
    return _in(UNMASKED["logaddexp"](left, right), dtype or input.dtype)


@public("masked")
def norm(
    input: Any, ord: Any = 2.0, dim: Any = None, *, keepdim: bool = False, dtype: dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The ``ord``-norms, over ``dim`` or all, of the elements that ``mask`` selects.

    >>> torch.masked.norm(torch.tensor([3.0, 4.0, 5.0]), 2, 0, mask=torch.tensor([True, True, False]))
    tensor(5.)
    """
    axes = _axes(dim, input.ndim)
    fill = _highest if ord == -math.inf else _zero
    return norms.vector_norm(_combined("norm", input, mask, fill), ord, axes, bool(keepdim), dtype=dtype)


# -- variances ---------------------------------------------------------------------------------------------------------


def _variance(
    input: Tensor, dim: Any, unbiased: bool | None, correction: Any, keepdim: bool, dtype: dtype | None,
    mask: Tensor | None,
) -> Tensor:  # fmt: skip
    """The common part of ``var`` and ``std``, in a floating dtype."""
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    if correction is None:
        correction = 0 if unbiased is False else 1
    refuse_nested("std/var", input)
    wanted = dtype or input.dtype
    compute = wanted if wanted.category >= FLOATING else dtypes.float32
    count = _numbers(input, dim, True, mask)
    total = sum(input, dim, keepdim=True, dtype=compute, mask=mask)
    apart = sub(input, div(total, count))
    squares = mul(apart, conj(apart) if apart.dtype.is_complex else apart)
    total = sum(squares, dim, keepdim=keepdim, dtype=compute, mask=mask)
    count = _in(count if keepdim else _numbers(input, dim, False, mask), compute.to_real())
    if correction != 0:
        count = selection.clamp_min(sub(count, correction), 0)
    return div(total, count)


@public("masked")
def var(
    input: Any, dim: Any = None, unbiased: bool | None = None, *, correction: Any = None, keepdim: bool = False,
    dtype: dtype | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The variances, over ``dim`` or all, of the elements that ``mask`` selects: their number less ``correction`` (1)
    is divided by. In float32 of integers.

    Raises:
        AssertionError: both ``unbiased`` and ``correction``.

    >>> torch.masked.var(torch.tensor([1.0, 3.0, 9.0]), 0, mask=torch.tensor([True, True, False]))
    tensor(2.)
    """
    result = _variance(input, dim, unbiased, correction, bool(keepdim), dtype, mask)
    return result if dtype is None else _in(result, dtype)


@public("masked")
def std(
    input: Any, dim: Any = None, unbiased: bool | None = None, *, correction: Any = None, keepdim: bool = False,
    dtype: dtype | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The roots of ``var``.

    Args:
        dim, unbiased, correction, keepdim, mask: as for ``var``.

    >>> torch.masked.std(torch.tensor([1.0, 3.0, 9.0]), 0, False, mask=torch.tensor([True, True, False]))
    tensor(1.)
    """
    return UNMASKED["sqrt"](_variance(input, dim, unbiased, correction, bool(keepdim), dtype, mask))


# -- of the shape of the input -----------------------------------------------------------------------------------------


def _scan(name: str, scan: Callable, input: Tensor, dim: Any, kind: dtype | None, mask: Tensor | None,
          fill: Callable) -> Tensor:  # fmt: skip
    axis, kind = _axis(dim, input.ndim), kind or input.dtype
    given = _combined(name, input, mask, fill)
    return scan(given, axis, dtype=kind if kind is not given.dtype or kind.category < FLOATING else None)


@public("masked")
def cumsum(input: Any, dim: Any, *, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """The sums up to each element along ``dim`` of those that ``mask`` selects; in the dtype of ``input``.

    >>> torch.masked.cumsum(torch.tensor([1.0, 2.0, 4.0]), 0, mask=torch.tensor([True, False, True]))
    tensor([1., 1., 5.])
    """
    return _scan("cumsum", scans.cumsum, input, dim, dtype, mask, _zero)


@public("masked")
def cumprod(input: Any, dim: Any, *, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """The products up to each element along ``dim`` of those that ``mask`` selects; in the dtype of ``input``.

    >>> torch.masked.cumprod(torch.tensor([3.0, 2.0, 4.0]), 0, mask=torch.tensor([True, False, True]))
    tensor([ 3.,  3., 12.])
    """
    return _scan("cumprod", scans.cumprod, input, dim, dtype, mask, _one)


def _kind(input: Tensor, wanted: dtype | None) -> dtype | None:
    """The dtype to ask a function for, if it is not that of ``input``."""
    return None if wanted is input.dtype else wanted


@public("masked")
def softmax(input: Any, dim: Any, *, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """The softmax along ``dim`` of the elements that ``mask`` selects; 0 elsewhere, nan where it selects none.

    >>> torch.masked.softmax(torch.tensor([1.0, 2.0, 1.0]), 0, mask=torch.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    axis = _axis(dim, input.ndim)
    return softmaxes.softmax(_combined("amax", input, mask, _lowest), axis, _kind(input, dtype))


@public("masked")
def log_softmax(input: Any, dim: Any, *, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """The logarithm of ``softmax``; -inf where nothing is selected, nan along dimensions where nothing is.

    Args:
        dim, mask: as for ``softmax``.

    >>> torch.masked.log_softmax(torch.tensor([1.0, 2.0, 1.0]), 0, mask=torch.tensor([True, False, False]))
    tensor([0., -inf, -inf])
    """
    axis = _axis(dim, input.ndim)
    return softmaxes.log_softmax(_combined("amax", input, mask, _lowest), axis, _kind(input, dtype))


@public("masked")
def softmin(input: Any, dim: Any, *, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """``softmax(-input)``.

    Args:
        dim, mask: as for ``softmax``.

    >>> torch.masked.softmin(torch.tensor([1.0, 2.0, 1.0]), 0, mask=torch.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    axis = _axis(dim, input.ndim)
    given = UNMASKED["neg"](_combined("amin", input, mask, _highest))
    return softmaxes.softmax(given, axis, _kind(input, dtype))


@public("masked")
def normalize(
    input: Any, ord: float, dim: Any, *, eps: float = 1e-12, dtype: dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The elements that ``mask`` selects, divided by their ``ord``-norm along ``dim`` or by ``eps``, if that is larger;
    0 elsewhere.

    >>> torch.masked.normalize(torch.tensor([3.0, 4.0, 5.0]), 2, 0, mask=torch.tensor([True, True, False]))
    tensor([0.6000, 0.8000, 0.0000])
    """
    size = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return div(_combined("sum", input, mask, _zero), UNMASKED["maximum"](size, new_full(size, (), eps)))
