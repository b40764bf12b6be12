"""PyTorch's quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._src.bindings import bounds
from tapegrad._src.bindings.arguments import wrap_dim
from tapegrad._src.bindings.declaration.declarations import Out
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.declaration.scalars import is_number, no_overload
from tapegrad._src.bindings.layouts import laid_out
from tapegrad._src.bindings.naming import renamed
from tapegrad._src.bindings.state.attributes import detach
from tapegrad._src.execution.array_functions.host import from_host
from tapegrad._src.execution.data.dtypes import float32, float64, from_numpy
from tapegrad._src.functions.shape import ravel
from tapegrad._src.tensor.geometry import contiguous_strides
from tapegrad._src.tensor.lifted import fresh
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import arithmetic, gathering, quantiles, selection, sorting
from tapegrad.ops import shape as shape_ops

_OF_QUANTILES = Out("quantile() out tensor must be same dtype as the input tensor", history="copied", rows=True)

INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")
LARGEST = 2**24
"""The most elements along a dimension that PyTorch sorts for a quantile."""


@public("torch", "Tensor", out=_OF_QUANTILES)
def quantile(
    input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """The ``q``-th quantiles of all elements, or over ``dim``; nan where there is a nan.

    ``q``, in [0, 1], is a number or a tensor with at most one dimension, which then comes first in the result. Between
    two elements ``interpolation`` decides: "linear", "lower", "higher", "midpoint" or "nearest".

    Raises:
        RuntimeError: no elements; not float32 or float64; ``q`` out of range or of another dtype.

    >>> torch.quantile(torch.tensor([0.0, 1.0, 2.0, 3.0]), torch.tensor([0.5, 1.0]))
    tensor([1.5000, 3.0000])
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation, ignore_nan=False)


@public("torch", "Tensor", out=_OF_QUANTILES)
def nanquantile(
    input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """``quantile`` of the elements that are not nan; nan where all are.

    Args:
        q, dim, keepdim, interpolation: as for ``quantile``.

    >>> torch.nanquantile(torch.tensor([0.0, 1.0, 2.0, torch.nan]), 0.5)
    tensor(1.)
    """
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, ignore_nan=True)


def _quantile(
    name: str, input: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str, ignore_nan: bool
) -> Tensor:
    q = _checked(name, input, q, dim, interpolation)
    ordered, shape = _ordered(input, dim, keepdim)
    places = ordered.ndim - 1
    if interpolation in quantiles.ROUNDINGS:
        index = quantiles.rank(q, ordered, rounding=interpolation, ignore_nan=ignore_nan)
        result = gathering.gather(ordered, index, axis=places)
    else:
        middle = interpolation == "midpoint"
        below, above, weights = quantiles.ranks(detach(q) if middle else q, ordered, ignore_nan=ignore_nan)
        low, high = (gathering.gather(ordered, index, axis=places) for index in (below, above))
        result = selection.lerp_tensor(low, high, arithmetic.filled_like(weights, 0.5) if middle else weights)
    if q.ndim:
        *steps, own = contiguous_strides(tuple(result.shape))
        result = laid_out(shape_ops.permute(result, axes=(places, *range(places))), (own, *steps))
    else:
        result = shape_ops.view(result, shape=shape)
    return renamed(result, "SqueezeBackward4")


def _ordered(input: Tensor, dim: int | None, keepdim: bool) -> tuple[Tensor, tuple[int, ...]]:
    """The elements in order along the last dimension, behind those of the result; and the shape of the result."""
    if dim is None:
        flat, shape = ravel(input) if input.ndim != 1 else input, (1,) * input.ndim if keepdim else ()
    else:
        axis = wrap_dim(dim, input.ndim)
        flat = _with_last(input, axis)
        kept = (1,) if keepdim and input.ndim else ()
        shape = (*input.shape[:axis], *kept, *input.shape[axis + 1 :])
    ordered = sorting.sort(flat, axis=flat.ndim - 1, descending=False)[0]
    return shape_ops.view(ordered, shape=(*shape, ordered.shape[-1])), shape


def _with_last(input: Tensor, axis: int) -> Tensor:
    """``input`` with one of its dimensions, of which a 0-dim tensor gets one, moved behind the others."""
    if input.ndim == 0:
        return ravel(input)
    if axis == input.ndim - 1:
        return input
    others = (other for other in range(input.ndim) if other != axis)
    return shape_ops.permute(input, axes=(*others, axis))


def _checked(name: str, input: Tensor, q: Any, dim: Any, interpolation: Any) -> Tensor:
    """The quantiles as a tensor of the dtype of ``input``. Raises TypeError, RuntimeError: PyTorch's messages."""
    if not (isinstance(q, Tensor) or is_number(q)) or not (dim is None or type(dim) is int):
        raise no_overload(name, (input, q) if dim is None else (input, q, dim), _OVERLOADS)
    if isinstance(q, Tensor):
        fractions = q
    elif 0 <= q <= 1:
        array = np.asarray(q, input.dtype.numpy if input.dtype in (float32, float64) else np.float32)
        fractions = fresh(from_host(array, input.device), Spec.of((), from_numpy(array.dtype), input.device))
    else:
        raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
    if interpolation not in INTERPOLATIONS:
        raise RuntimeError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got "
            f"{interpolation}"
        )
    _check_tensors(input, q if isinstance(q, Tensor) else None)
    dim = None if dim is None else wrap_dim(dim, input.ndim)
    if isinstance(q, Tensor):
        _check_fractions(q)
    if (input.shape[dim] if dim is not None and input.ndim else input._spec.numel) > LARGEST:
        raise RuntimeError("quantile() input tensor is too large")
    return fractions


def _check_tensors(input: Tensor, q: Tensor | None) -> None:
    if not input._spec.numel:
        raise RuntimeError("quantile() input tensor must be non-empty")
    if q is not None and q.ndim > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if input.dtype not in (float32, float64):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if q is not None and q.dtype is not input.dtype:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")


def _check_fractions(q: Tensor) -> None:
    text = "quantile() q values must be in the range [0, 1]"
    bounds.refuse_elements(q, bounds.not_in_unit_interval, complaint=lambda found: RuntimeError(text))


_OVERLOADS = (
    "Tensor input, Tensor q, int dim = None, bool keepdim = False, *, str interpolation = 'linear', Tensor out = None",
    "Tensor input, float q, int dim = None, bool keepdim = False, *, str interpolation = 'linear', Tensor out = None",
)
