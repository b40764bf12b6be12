"""Functions that are known at some points: integrals by the trapezoidal rule, derivatives by differences; and the
products and combinations of the elements of vectors.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._src.bindings.arguments import wrap_dim, wrap_dims
from tapegrad._src.bindings.declaration.registry import UNSET, public
from tapegrad._src.execution.data.dtypes import BOOL, FLOATING, uint8
from tapegrad._src.execution.data.sizes import check_size
from tapegrad._src.functions.construction import from_numpy
from tapegrad._src.functions.creation import empty, zeros
from tapegrad._src.functions.gathering import index_select
from tapegrad._src.functions.joining import cat, meshgrid, stack
from tapegrad._src.functions.reductions import sum
from tapegrad._src.functions.scans import cumsum
from tapegrad._src.functions.shape import reshape
from tapegrad._src.functions.slicing import narrow, select
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops.losses import over_count
from tapegrad.ops.special import times

# -- integrals ---------------------------------------------------------------------------------------------------------

_SIGNATURES = " * (Tensor y, Tensor x, *, int dim = -1)\n * (Tensor y, *, Number dx = 1, int dim = -1)\n"


def _check_samples(name: str, y: Tensor, x: Any, dx: Any, dim: int) -> int:
    """The dimension along which ``y`` is integrated, not negative."""
    if x is not None and (dx is not UNSET or not isinstance(x, Tensor)):
        got = f"Tensor, {type(x).__name__}" if dx is UNSET else f"Tensor, dx={type(dx).__name__}, x={type(x).__name__}"
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got ({got}), but expected one of:\n{_SIGNATURES}"
        )
    if x is None and y.dtype.category == BOOL:
        raise RuntimeError(f"{name}: received a bool input for `y`, but bool is not supported")
    if x is not None and BOOL in (y.dtype.category, x.dtype.category):
        raise RuntimeError(f"{name}: received a bool input for `x` or `y`, but bool is not supported")
    if isinstance(dx, complex):
        raise RuntimeError(f"{name}: Currently, we only support dx as a real number.")
    return wrap_dim(dim, y.ndim)


def _neighbours(x: Tensor, axis: int) -> Any:
    """All elements but the last along a dimension, and all but the first."""
    count = max(x.shape[axis] - 1, 0)
    return narrow(x, axis, 0, count), narrow(x, axis, x.shape[axis] - count, count)


def _widths(name: str, y: Tensor, x: Tensor, axis: int) -> Tensor:
    """The differences of neighbouring points, as ``y`` has them along its dimension ``axis``."""
    if x.ndim == 1:
        if x.shape[0] != y.shape[axis]:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        x = reshape(x, [-1 if i == axis else 1 for i in range(y.ndim)])
    elif x.ndim < y.ndim:
        x = reshape(x, (*[1] * (y.ndim - x.ndim), *x.shape))
    left, right = _neighbours(x, axis)
    return right - left


def _halved(total: Any) -> Tensor:
    return over_count(total, count=2.0) if total.dtype.category >= FLOATING else total / 2.0


def _step(dx: Any) -> float:
    return 1.0 if dx is UNSET else float(dx)


@public("torch", aliases=("trapz",))
def trapezoid(y: Tensor, x: Any = None, *, dx: Any = UNSET, dim: int = -1) -> Tensor:
    """The integral of ``y`` along ``dim`` by the trapezoidal rule, at points ``x`` or at distances ``dx`` (1).

    Raises:
        RuntimeError: booleans; not one point for each sample.

    >>> torch.trapezoid(torch.tensor([1.0, 2.0, 4.0]), torch.tensor([0.0, 1.0, 3.0]))
    tensor(7.5000)
    """
    if not y.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    axis = _check_samples("trapezoid", y, x, dx, dim)
    if not y.shape[axis]:
        return zeros([length for i, length in enumerate(y.shape) if i != axis], dtype=y.dtype, device=y.device)
    if x is not None:
        widths = _widths("trapezoid", y, x, axis)
        left, right = _neighbours(y, axis)
        return _halved(sum((left + right) * widths, axis))
    first: Any = select(y, axis, 0)
    ends = first + select(y, axis, -1)
    return times(sum(y, axis) - times(ends, 0.5), _step(dx))


@public("torch")
def cumulative_trapezoid(y: Tensor, x: Any = None, *, dx: Any = UNSET, dim: int = -1) -> Tensor:
    """The integrals of ``y`` along ``dim`` up to each point but the first: see ``trapezoid``.

    Args:
        x, dx: where the samples were taken, or how far apart.

    Raises:
        RuntimeError: booleans; not one point for each sample.

    >>> torch.cumulative_trapezoid(torch.tensor([1.0, 1.0, 3.0]))
    tensor([1., 3.])
    """
    axis = _check_samples("cumulative_trapezoid", y, x, dx, dim)
    if not y.ndim:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    widths = None if x is None else _widths("cumulative_trapezoid", y, x, axis)
    left, right = _neighbours(y, axis)
    if widths is not None:
        return _halved(cumsum((left + right) * widths, axis))
    return cumsum(times(left + right, _step(dx) / 2.0), axis)


# -- derivatives -------------------------------------------------------------------------------------------------------


def _is_number(spacing: Any) -> bool:
    return isinstance(spacing, (bool, int, float, complex)) or (isinstance(spacing, Tensor) and spacing.ndim == 0)


def _spacings(input: Tensor, spacing: Any, dims: Any) -> list[Any]:
    """The distance, or the coordinates, for each dimension wanted."""
    wanted = input.ndim if dims is None else len(dims)
    if spacing is None or _is_number(spacing):
        return [1 if spacing is None else spacing] * wanted
    if not isinstance(spacing, (tuple, list)):
        raise TypeError(f"gradient(): argument 'spacing' must be a number or a tuple, not {type(spacing).__name__}")
    if dims is None and len(spacing) != wanted:
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to 'self.dim() = "
            f"{input.ndim}', since dim argument was not given, but got a list of length {len(spacing)}"
        )
    if len(spacing) != wanted:
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the "
            f"same length, but got a spacing argument of length {len(spacing)} and a dim argument of length {wanted}."
        )
    return list(spacing)


def _uniform(x: Tensor, axis: int, step: Any, order: int) -> Tensor:
    """The derivative of samples at equal distances, of first or second order at the edges."""
    count = x.shape[axis]

    def at(place: int) -> Any:
        return narrow(x, axis, place % count, 1)

    behind: Any = narrow(x, axis, 2, count - 2)
    inner = (behind - narrow(x, axis, 0, count - 2)) / step / 2
    if order == 1:
        first, last = (at(1) - at(0)) / step, (at(-1) - at(-2)) / step
    else:
        first = (at(0) * -1.5 + at(1) * 2 - at(2) * 0.5) / step
        last = (at(-3) * 0.5 - at(-2) * 2 + at(-1) * 1.5) / step
    return cat([first, inner, last], axis)


def _at_coordinates(x: Tensor, axis: int, coordinates: Tensor, order: int) -> Tensor:
    """The derivative of samples at given points: that of the parabola through three neighbours."""
    if coordinates.ndim != 1:
        raise RuntimeError(
            "torch.gradient expected each element of spacing to have one dimension, but got an element with "
            f"{coordinates.ndim} dimensions!"
        )
    count = x.shape[axis]

    def at(place: int, length: int = 1) -> Any:
        return narrow(x, axis, place % count, length)

    def along(weight: Tensor) -> Any:
        return reshape(weight, [-1 if i == axis else 1 for i in range(x.ndim)])

    def step(place: int) -> Any:
        return select(steps, 0, place)

    before, after = _neighbours(coordinates, 0)
    steps = after - before
    left, right = _neighbours(steps, 0)
    both = left + right
    weights = (-right / (left * both), (right - left) / (left * right), left / (right * both))
    inner = [along(weight) * at(place, count - 2) for place, weight in enumerate(weights)]
    if order == 1:
        first, last = (at(1) - at(0)) / step(0), (at(-1) - at(-2)) / step(-1)
    else:
        a, b = step(0), step(1)
        first = -(2 * a + b) / (a * (a + b)) * at(0) + (a + b) / (a * b) * at(1) + -a / (b * (a + b)) * at(2)
        a, b = step(-2), step(-1)
        last = b / (a * (a + b)) * at(-3) + -(a + b) / (a * b) * at(-2) + (a + 2 * b) / (b * (a + b)) * at(-1)
    return cat([first, inner[0] + inner[1] + inner[2], last], axis)


@public("torch")
def gradient(input: Tensor, *, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> tuple[Tensor, ...]:
    """The derivatives along dimensions (all, or ``dim``) of a function whose values are ``input``, by differences.

    Args:
        spacing: the distance of the points, one for each dimension, or the coordinates along each.
        edge_order: 1 or 2: the order of accuracy at the edges.

    Raises:
        RuntimeError: uint8; lists or lengths that don't fit; another ``edge_order``.

    >>> torch.gradient(torch.tensor([1.0, 4.0, 9.0, 16.0]))
    (tensor([3., 4., 6., 7.]),)
    """
    dims = [dim] if isinstance(dim, int) else dim
    if input.dtype is uint8:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    spacings = _spacings(input, spacing, dims)
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    axes: Sequence[int] = range(input.ndim) if dims is None else wrap_dims(dims, input.ndim)
    if any(input.shape[axis] < edge_order + 1 for axis in axes):
        raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    return tuple(
        (_uniform if _is_number(step) else _at_coordinates)(input, axis, step, edge_order)
        for axis, step in zip(axes, spacings, strict=True)
    )


# -- products and combinations -----------------------------------------------------------------------------------------


def _check_vector(x: Tensor) -> None:
    if x.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(x.shape)}")


@public("torch", "functional")
def cartesian_prod(*tensors: Any) -> Tensor:
    """All tuples of one element of each vector, in order: (n1 * n2 ..., number of vectors). Of one vector, that vector.

    Args:
        tensors: vectors of one dtype.

    Raises:
        RuntimeError: an argument that is no vector; dtypes that differ.

    >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    for one in tensors:
        if not isinstance(one, Tensor):
            raise TypeError(f"expected Tensor as element 0 in argument 0, but got {type(one).__name__}")
        _check_vector(one)
    if len(tensors) == 1:
        return tensors[0]
    return stack([reshape(grid, (-1,)) for grid in meshgrid(*tensors, indexing="ij")], 1)


@public("torch")
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All subsets of ``r`` elements of a vector, in order: (number of subsets, r); or multisets.

    Args:
        with_replacement: whether an element may be taken several times.

    Raises:
        RuntimeError: ``input`` is no vector; ``r`` is negative.

    >>> torch.combinations(torch.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    _check_vector(input)
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return empty(0, dtype=input.dtype, device=input.device)
    check_size(tuple(input.shape) * r, input.dtype.itemsize, owned=False)
    find = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = np.array(list(find(range(input.shape[0]), r)), np.int64).reshape(-1, r)
    columns = [from_numpy(np.ascontiguousarray(places[:, i])).to(input.device) for i in range(r)]
    return stack([index_select(input, 0, column) for column in columns], 1)
