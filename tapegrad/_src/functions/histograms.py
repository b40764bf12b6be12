"""PyTorch's histograms in one and in several dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._src.bindings import bounds, return_types
from tapegrad._src.bindings.declaration.declarations import Out
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.declaration.scalars import is_number, no_overload, unsupported
from tapegrad._src.execution.array_functions.host import from_host
from tapegrad._src.execution.data.dtypes import float32, float64
from tapegrad._src.functions.shape import ravel
from tapegrad._src.tensor.lifted import fresh
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import histograms as ops
from tapegrad.ops import shape as shape_ops
from tapegrad.ops.checks import cpp_name

# -- checks ------------------------------------------------------------------------------------------------------------


def _check_points(points: Sequence[int], input: Tensor, weight: Tensor | None) -> None:
    """Refuse weights that don't fit points of a shape. Raises RuntimeError: PyTorch's messages."""
    if len(points) < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    if weight is None:
        return
    if weight.dtype is not input.dtype:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same "
            f"dtype, but got input({cpp_name(input.dtype)}), and weight({cpp_name(weight.dtype)})"
        )
    flat = tuple(weight.shape) if tuple(points[:-1]) != (input._spec.numel,) else (weight._spec.numel,)
    if flat != tuple(points[:-1]):
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
            f"excluding its innermost dimension, but got input with shape {list(points)} and weight with shape "
            f"{list(flat)}"
        )


def _check_edges(input: Tensor, edges: Sequence[Tensor], dimensions: int) -> None:
    """Refuse edges that don't fit. Raises RuntimeError: PyTorch's messages."""
    if len(edges) != dimensions:
        raise RuntimeError(
            f"torch.histogramdd: expected {dimensions} sequences of bin edges for a {dimensions}-dimensional histogram "
            f"but got {len(edges)}"
        )
    for axis, edge in enumerate(edges):
        if edge.dtype is not input.dtype:
            raise RuntimeError(
                "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype "
                f"{cpp_name(input.dtype)} and bins for dimension {axis} with dtype {cpp_name(edge.dtype)}"
            )
        if edge.ndim != 1:
            raise RuntimeError(
                "torch.histogramdd: bins tensor should have one dimension, but got "
                f"{edge.ndim} dimensions in the bins tensor for dimension {axis}"
            )
        if not edge._spec.numel:
            raise RuntimeError(
                "torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in the bins tensor "
                f"for dimension {axis}"
            )


def _check_counts(counts: Sequence[int]) -> None:
    for axis, count in enumerate(counts):
        if count <= 0:
            raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {count} for dimension {axis}")


def _check_dtype(input: Tensor) -> None:
    if input.dtype not in (float32, float64):
        raise unsupported("histogramdd", input.dtype)


# -- the ends of the intervals -----------------------------------------------------------------------------------------


def _extents(points: Tensor, dimensions: int, range: Sequence[float] | None) -> Tensor:
    """The lower and the upper ends along each dimension, of shape (2, dimensions); those given, or the data's.
    Raises RuntimeError: they are not as many, not in order or not finite.
    """
    if range is not None and len(range) != 2 * dimensions:
        raise RuntimeError(
            f"torch.histogramdd: for a {dimensions}-dimensional histogram range should have {2 * dimensions} elements, "
            f"but got {len(range)}"
        )
    if range is None:
        _check_dtype(points)
        found = ops.extent(points)
    else:
        dtype = points.dtype if points.dtype in (float32, float64) else float64
        ends = np.asarray(range, dtype.numpy).reshape(dimensions, 2).T
        found = fresh(from_host(np.ascontiguousarray(ends), points.device), Spec.of(ends.shape, dtype, points.device))
    known = bounds.numbers(found)
    pairs = [] if known is None else np.moveaxis(known, -2, -1).reshape(-1, 2).tolist()
    for axis, (low, high) in ((position % dimensions, pair) for position, pair in enumerate(pairs)):
        if not (math.isfinite(low) and math.isfinite(high)):
            raise RuntimeError(f"torch.histogramdd: dimension {axis}'s range [{low:g}, {high:g}] is not finite")
        if low > high:
            raise RuntimeError(
                f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension {axis}"
            )
    return found


def _is_range(value: Any) -> bool:
    return value is None or (isinstance(value, (tuple, list)) and all(map(is_number, value)))


# -- the functions -----------------------------------------------------------------------------------------------------


_OF_HISTOGRAM = Out(
    "torch.histogram: input tensor and hist tensor should have the same dtype, but got input {r} and hist {o}",
    history="unknown",
)


@public("torch", "Tensor", out=_OF_HISTOGRAM)
def histogram(
    input: Tensor, bins: Any = 100, *, range: Any = None, weight: Tensor | None = None, density: bool = False
) -> Any:
    """Count the elements, or sum their weights, that lie in intervals: a named tuple of ``hist`` and ``bin_edges``.

    ``bins`` is the number of equal intervals in ``range``, by default from the least to the largest element, or a
    tensor of edges in ascending order. With ``density`` the integral is 1. Not differentiable: backward raises.

    Args:
        weight: how much each element counts, of the shape and dtype of ``input``.

    Raises:
        RuntimeError: no bins; a range that is not finite or not in order; dtypes and shapes that don't match.
        NotImplementedError: not float32 or float64.

    >>> torch.histogram(torch.tensor([1.0, 2.0, 1.0]), bins=2, range=(0.0, 3.0)).hist
    tensor([2., 1.])
    """
    between = isinstance(bins, Tensor)
    fits = (between and range is None) or (type(bins) is int and _is_range(range))
    if not fits or not isinstance(density, bool):
        raise no_overload("histogram", (input, bins), _OVERLOADS)
    points = (input._spec.numel, 1)
    if between:
        _check_edges(input, [bins], 1)
        _check_points(points, input, weight)
        _check_counts([bins._spec.numel - 1])
        _check_dtype(input)
        return return_types.histogram(ops.histogram_between(input, bins, weight, density=density))
    _check_counts([bins])
    extents = _extents(shape_ops.view(ravel(input), shape=points), 1, range)
    _check_points(points, input, weight)
    _check_dtype(input)
    return return_types.histogram(ops.histogram(input, extents, weight, bins=bins, density=density))


@public("torch")
def histogramdd(
    input: Tensor, bins: Any, range: Any = None, weight: Tensor | None = None, density: bool = False
) -> Any:
    """The histogram of points, which are the last dimension of ``input``: a named tuple of ``hist`` and ``bin_edges``.

    ``bins`` is a number of equal intervals for every dimension, one for each, or a tensor of edges for each; ``range``
    the two ends of each dimension in a row. Not differentiable: backward raises.

    Args:
        weight: how much each point counts, of the shape of ``input`` but its last dimension.
        density: whether the integral is to be 1.

    Raises:
        RuntimeError: no bins; a range that is not finite or not in order; dtypes and shapes that don't match.
        NotImplementedError: not float32 or float64.

    >>> torch.histogramdd(torch.tensor([[0.0, 1.0], [1.0, 0.0]]), bins=[2, 2]).hist
    tensor([[0., 1.],
            [1., 0.]])
    """
    if not isinstance(bins, (tuple, list)) and type(bins) is not int:
        raise no_overload("histogramdd", (input, bins), _OVERLOADS_DD)
    dimensions = input.shape[-1] if input.ndim else 1
    if isinstance(bins, (tuple, list)) and bins and isinstance(bins[0], Tensor):
        return _histogram_between(input, bins, dimensions, weight, density)
    counts = _counts(bins, input, dimensions)
    if input.ndim < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    if len(counts) != dimensions:
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    _check_counts(counts)
    rows = math.prod(input.shape[:-1])
    flat = input if not dimensions else shape_ops.view(ravel(input), shape=(rows, dimensions))
    extents = _extents(flat, dimensions, range)
    _check_points(input.shape, input, weight)
    _check_dtype(input)
    hist = ops.histogramdd(input, extents, weight, bins=counts, density=density)
    edges = ops.histogramdd_edges(input, extents, weight, bins=counts) if counts else ()
    return return_types.histogramdd((hist, tuple(edges)))


def _counts(bins: Any, input: Tensor, dimensions: int) -> tuple[int, ...]:
    if type(bins) is int:
        return (bins,) * dimensions
    for position, count in enumerate(bins):
        if type(count) is not int:
            raise TypeError(
                f"histogramdd(): argument 'bins' failed to unpack the object at pos {position + 1} with error \"type "
                f'must be tuple of ints,but got {type(count).__name__}"'
            )
    return tuple(bins)


def _histogram_between(input: Tensor, edges: Any, dimensions: int, weight: Tensor | None, density: bool) -> Any:
    for position, edge in enumerate(edges):
        if not isinstance(edge, Tensor):
            raise TypeError(f"expected Tensor as element {position} in argument 1, but got {type(edge).__name__}")
    if input.ndim < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    _check_edges(input, edges, dimensions)
    _check_points(input.shape, input, weight)
    _check_counts([edge._spec.numel - 1 for edge in edges])
    _check_dtype(input)
    return return_types.histogramdd((ops.histogramdd_between(input, weight, *edges, density=density), tuple(edges)))


_OVERLOADS = (
    "Tensor input, Tensor bins, *, Tensor weight = None, bool density = False, tuple of Tensors out = None",
    "Tensor input, int bins = 100, *, tuple of floats range = None, Tensor weight = None, bool density = False, "
    "tuple of Tensors out = None",
)
_OVERLOADS_DD = (
    "Tensor input, int bins, tuple of floats range = None, Tensor weight = None, bool density = False",
    "Tensor input, tuple of ints bins, tuple of floats range = None, Tensor weight = None, bool density = False",
    "Tensor input, tuple of Tensors bins, tuple of floats range = None, Tensor weight = None, bool density = False",
)
