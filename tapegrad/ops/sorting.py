"""Order: sorting, selection by rank, searching, counting, distinct elements.

An operator here returns values and their indices (int64) along one axis. The indices are all that backward needs: a
value's gradient goes to the element that it was, and to no other, also among equals. All sorting is stable; nan comes
last, as the largest.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from tapegrad._src.execution.data.dtypes import as_dtype
from tapegrad._src.execution.numpy_backend.forms import on_host
from tapegrad._src.execution.numpy_backend.scans import indices_among, rank_of, ranked_index
from tapegrad._src.execution.tiers.host_trace import fori_loop
from tapegrad.ops.formulas import underivable
from tapegrad.ops.gathering import gather, scatter_add
from tapegrad.ops.kinds import general, zeros_of
from tapegrad.ops.memory_formats import as_input
from tapegrad.ops.overloads import by_second
from tapegrad.ops.reductions import first_index
from tapegrad.ops.shape import view

VALUES_AND_INDICES = ("values", "indices")


def kept(shape, axis):
    """The shape of a reduction over ``axis`` with that axis kept."""
    return tuple(1 if i == axis else size for i, size in enumerate(shape))


def chosen(x, indices, axis):
    """The elements of ``x`` at ``indices`` along ``axis``; ``indices``, and so the result, may lack that axis."""
    if indices.ndim == x.ndim:
        return gather(x, indices, axis=axis)
    return view(gather(x, view(indices, shape=kept(x.shape, axis)), axis=axis), shape=tuple(indices.shape))


def unchosen(g, indices, shape, axis):
    """The adjoint of ``chosen``: zeros of ``shape``, with ``g`` added where ``indices`` say."""
    shape = tuple(shape)
    if indices.ndim != len(shape):
        g, indices = view(g, shape=kept(shape, axis)), view(indices, shape=kept(shape, axis))
    return scatter_add(zeros_of(g, shape=shape, dtype=as_dtype(g.dtype)), indices, g, axis=axis)


def choosing(real=True, **names):
    """Declare an operator that picks elements along ``axis``: its outputs are values and indices."""
    return general(
        x=lambda g_values, x_shape, indices, axis: unchosen(g_values, indices, x_shape, axis),
        jvp=lambda t_x, indices, axis: (chosen(t_x, indices, axis), None),
        outputs=VALUES_AND_INDICES,
        real=real,
        **names,
    )


def _reduced(values, indices, axis, keepdims):
    """The one value and the one index along ``axis``, without the axis if it isn't kept."""
    if not keepdims and values.ndim:
        values, indices = jnp.squeeze(values, axis), jnp.squeeze(indices, axis)
    return values, indices.astype(jnp.int64)


def _at(x, indices, axis):
    return jnp.take_along_axis(x, indices, axis) if x.ndim else x


# -- extrema -----------------------------------------------------------------------------------------------------------


def _extremum(find, x, axis, keepdims):
    if x.ndim == 0:
        return x, jnp.zeros((), jnp.int64)
    indices = first_index(find, x, axis)
    return _reduced(_at(x, indices, axis), indices, axis, keepdims)


@choosing(aten=".dim")
def max(x, *, axis, keepdims=False):
    """The largest elements over ``axis`` and their indices: the first of equals, or the first nan."""
    return _extremum(lax.argmax, x, axis, keepdims)


@choosing(aten=".dim")
def min(x, *, axis, keepdims=False):
    """The smallest elements over ``axis`` and their indices: the first of equals, or the first nan."""
    return _extremum(lax.argmin, x, axis, keepdims)


# -- sorting -----------------------------------------------------------------------------------------------------------


def ordered(x, axis, descending=False):
    """The elements in order and their indices, int32: equal ones in the order in which they were."""
    if x.ndim == 0:
        return x, jnp.zeros((), jnp.int32)
    places = lax.broadcasted_iota(jnp.int32, x.shape, axis)
    if descending:
        x, places = jnp.flip(x, axis), jnp.flip(places, axis)
    values, indices = lax.sort((x, places), dimension=axis, num_keys=1, is_stable=True)
    return (jnp.flip(values, axis), jnp.flip(indices, axis)) if descending else (values, indices)


def _sort(x, axis, descending):
    values, indices = ordered(x, axis, descending)
    return values, indices.astype(jnp.int64)


@choosing(lies=as_input)
def sort(x, *, axis, descending=False):
    """The elements along ``axis`` in order, and their indices."""
    return _sort(x, axis, descending)


@choosing(aten=".stable", node=1, family="sort", lies=as_input)
def sort_stable(x, *, axis, descending=False):
    """``sort``, by PyTorch's other overload."""
    return _sort(x, axis, descending)


@general(real=True, aten="sort", lies=as_input)
def argsort(x, *, axis, descending=False):
    """The indices that sort ``x`` along ``axis``; int64."""
    return ordered(x, axis, descending)[1].astype(jnp.int64)


@choosing()
def topk(x, *, k, axis, largest=True):
    """The ``k`` largest (or smallest) elements along ``axis``, best first, and their indices."""
    if x.ndim == 0:
        return x, jnp.zeros((), jnp.int64)
    if largest and k and jnp.issubdtype(x.dtype, jnp.floating):
        return _top(jnp.where(x == x, x, jnp.asarray(jnp.nan, x.dtype)), k, axis)
    values, indices = ordered(x, axis, descending=largest)
    return lax.slice_in_dim(values, 0, k, axis=axis), lax.slice_in_dim(indices, 0, k, axis=axis).astype(jnp.int64)


def _top(x, k, axis):
    """XLA's own selection; it takes a negative nan for the smallest number, so there must be none."""
    values, indices = lax.top_k(jnp.moveaxis(x, axis, -1), k)
    return jnp.moveaxis(values, -1, axis), jnp.moveaxis(indices, -1, axis).astype(jnp.int64)


# -- selection by rank -------------------------------------------------------------------------------------------------


def _place(x, *, axis, rank, k):
    """The places along ``axis``, which is kept, of the elements of a rank; int32."""
    indices = ordered(x, axis)[1]
    numbers = jnp.sum(x == x, axis=axis, keepdims=True, dtype=jnp.int32)
    return _at(indices, jnp.broadcast_to(rank_of(jnp, numbers, x.shape[axis], rank, k), numbers.shape), axis)


_ranked_index = on_host(ranked_index, smooth=False)(_place)


def _ranked(x, axis, keepdims, rank, k=0):
    """The element of a rank: see ``rank_of``."""
    if x.ndim == 0:
        return x, jnp.zeros((), jnp.int64)
    found = _ranked_index(x, axis=axis, rank=rank, k=k)
    return _reduced(_at(x, found, axis), found, axis, keepdims)


@choosing(aten=".dim", node=1)
def median(x, *, axis, keepdims=False):
    """The medians over ``axis``, the lower one of two, and their indices; the first nan if there is one."""
    return _ranked(x, axis, keepdims, "median")


@choosing(aten=".dim", node=1)
def nanmedian(x, *, axis, keepdims=False):
    """The medians over ``axis`` of what is not nan, the lower one of two, and their indices."""
    return _ranked(x, axis, keepdims, "nanmedian")


@choosing()
def kthvalue(x, *, k, axis, keepdims=False):
    """The ``k``-th smallest elements over ``axis``, counted from 1, and their indices."""
    return _ranked(x, axis, keepdims, "k", k)


@choosing(real=False)
def mode(x, *, axis, keepdims=False):
    """The most frequent elements over ``axis``, the smallest of several, and the indices of their last appearance."""
    values, indices = ordered(x, axis)
    if x.ndim == 0:
        return values, indices.astype(jnp.int64)
    places = lax.broadcasted_iota(jnp.int32, x.shape, axis)
    first = (values != jnp.roll(values, 1, axis)) | (places == 0)
    run = places - lax.cummax(jnp.where(first, places, 0), axis)  # how many equal ones have come before
    place = first_index(lax.argmax, run, axis)
    return _reduced(_at(values, place, axis), _at(indices, place, axis), axis, keepdims)


# -- searching and counting --------------------------------------------------------------------------------------------


def _halved(sorted, values, *, right):
    """The place where each of ``values`` belongs: bounds around it are halved until they meet."""
    size = sorted.shape[-1]
    low, high = jnp.zeros(values.shape, jnp.int32), jnp.full(values.shape, size, jnp.int32)

    def halve(_, bounds):
        low, high = bounds
        middle = (low + high) // 2
        safe = jnp.minimum(middle, size - 1)
        pivot = sorted[safe] if sorted.ndim == 1 else jnp.take_along_axis(sorted, safe, -1)
        beyond = (low < high) & ~(pivot > values if right else pivot >= values)
        return jnp.where(beyond, middle + 1, low), jnp.where(beyond, high, jnp.minimum(high, middle))

    times = size.bit_length() if isinstance(size, int) else 31  # of a length that is a symbol the most there may be
    return fori_loop(0, times, halve, (low, high))[0] if times else low


_searched = on_host(indices_among, smooth=False)(_halved)


@general(promote="common", aten=by_second("searchsorted"))
def searchsorted(sorted, values, *, right, dtype):
    """The place where each of ``values`` is to be inserted into ``sorted`` (ascending along its last axis) to keep the
    order.

    In front of equal elements, or behind them if ``right``. ``sorted`` has one dimension or all but the last in common
    with ``values``.
    """
    return _searched(sorted, values, right=right).astype(dtype.numpy)


@general(weights=underivable("aten::bincount"), node="torch::autograd::NotImplemented")
def bincount(x, weights, *, size):
    """Count each number below ``size`` among the integers ``x``, or sum their ``weights``."""
    if weights is None:
        return jnp.zeros(size, jnp.int64).at[x].add(1)
    wide = weights if weights.dtype == jnp.float32 else weights.astype(jnp.float64)
    return jnp.zeros(size, wide.dtype).at[x].add(wide)


@general(real=True)
def histc(x, low, high, *, bins):
    """Count the elements in each of ``bins`` equal intervals between two bounds; the last one is closed."""
    x = x.ravel()
    inside = (x >= low) & (x <= high)
    place = jnp.clip(jnp.floor((x - low) * bins / (high - low)), 0, bins - 1)
    return jnp.zeros(bins, x.dtype).at[jnp.where(inside, place, bins).astype(jnp.int32)].add(1, mode="drop")


# -- distinct elements -------------------------------------------------------------------------------------------------


def _distinct(x, places, axis):
    return x.ravel()[places] if axis is None else jnp.take(x, places, axis)


def no_derivative(what):
    """The formula of an operator that PyTorch records and can't differentiate.
    Raises NotImplementedError: when backward reaches it, with PyTorch's message.
    """

    def formula(g):
        raise NotImplementedError(f"the derivative for '{what}' is not implemented.")

    return formula


@general(x=no_derivative("_unique2"), aten="_unique2", profile="_unique2", uniform=True)
def unique(x, places):
    """The elements of the flattened ``x`` at ``places``, which are those of its distinct elements."""
    return _distinct(x, places, None)


@general(x=no_derivative("unique_dim"))
def unique_dim(x, places, *, axis):
    """The slices of ``x`` at ``places`` along ``axis``, which are those of its distinct slices."""
    return _distinct(x, places, axis)


@general(x=no_derivative("unique_consecutive"))
def unique_consecutive(x, places, *, axis):
    """The elements, or slices along ``axis``, at ``places``, which are those where a run of equal ones begins."""
    return _distinct(x, places, axis)
