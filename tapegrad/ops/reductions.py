"""Reductions: sums, means, products of statistics, extrema, norms, softmax.

An axis is a non-negative int or a tuple of them; a 0-dim array may be given axis 0. Half precision is computed in
float32 and rounded once. Where PyTorch has one node for the reduction of everything and another for that of some
dimensions, there are two operators, ``sum_all`` and ``sum``; the kernel is shared.

Note [Extrema share]
The gradient of an extremum without an index (amax, max of everything, median of everything, the infinity norm) goes in
equal parts to all elements that attain it. ``share`` gives the parts; it is locally constant, and has no derivative.
"""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
from jax import lax

from tapegrad._src.dispatch.plan import Plan
from tapegrad._src.execution.data import dtypes
from tapegrad._src.execution.data.sizes import as_number, at_most, exceeds
from tapegrad._src.tensor.geometry import Geometry, elementwise_strides, expanded, preserved_strides, unsqueezed
from tapegrad._src.tensor.spec import Spec
from tapegrad.ops import conventions
from tapegrad.ops.comparison import eq
from tapegrad.ops.kinds import broadcast_to, cast, conj, general, linear, widened
from tapegrad.ops.selection import masked, where
from tapegrad.ops.unary import real


def axes_of(axis, ndim):
    """An axis, or several, as the tuple to hand to ``jnp``; a 0-dim array has none."""
    return (() if ndim == 0 else (axis,)) if isinstance(axis, int) else axis


def everything(ndim):
    """All axes of an array."""
    return tuple(range(ndim))


def length(shape, axis):
    """The number of elements that one result is made of.

    >>> length((2, 3, 4), (0, 2)), length((2, 3, 4), 1), length((), 0)
    (8, 3, 1)
    """
    return math.prod(shape[i] for i in axes_of(axis, len(shape)))


def accumulated(x, dtype):
    """``x`` in the type in which its sum is given: ``dtype``, or int64 for integers, or its own."""
    if dtype is None:
        dtype = dtypes.int64 if dtypes.as_dtype(x.dtype).category < dtypes.FLOATING else None
    return x if dtype is None else cast(x, dtype=dtype)


# -- the adjoint pair --------------------------------------------------------------------------------------------------


def _shown_everywhere(place: Geometry, x: Spec, axis: Any = (), keepdims: bool = False, **settings: Any) -> Geometry:
    """The layout of the gradient of a sum: that of the result, shown along the axes that were summed over."""
    for number in () if keepdims or not place.shape else sorted(i % x.ndim for i in axes_of(axis, x.ndim)):
        place = unsqueezed(place, number)
    return expanded(place, tuple(x.shape))


def _divided(place: Geometry, x: Spec, **settings: Any) -> Geometry:
    """The layout of the gradient of a mean: that of a sum is divided."""
    shown = _shown_everywhere(place, x, **settings)
    return Geometry(shown.shape, elementwise_strides(shown.shape, [(shown.shape, shown.strides)]))


def weighed(place: Geometry, x: Spec, **settings: Any) -> Geometry:
    """The layout of a gradient that is a product of the result's and of something that lies as the input does."""
    shown = _shown_everywhere(place, x, **settings)
    return Geometry(shown.shape, elementwise_strides(shown.shape, [shown[:2], (shown.shape, x.layout)]))


def scaled(place: Geometry, x: Spec, **settings: Any) -> Geometry:
    """``weighed``, but the result's gradient is computed with before it is shown everywhere."""
    return weighed(place._replace(strides=preserved_strides(place.shape, place.strides)), x, **settings)


def _sum(x, axis, keepdims, dtype):
    x = accumulated(x, dtype)
    if x.dtype == jnp.bool_:
        return jnp.any(x, axis=axes_of(axis, x.ndim), keepdims=keepdims)
    wide = widened(x)
    return jnp.sum(wide, axis=axes_of(axis, x.ndim), keepdims=keepdims, dtype=wide.dtype).astype(x.dtype)


@linear(
    x=lambda g, x_shape, axis: spread(g, shape=x_shape, axis=axis), aten=".dim_IntList", node=1, spoilt="difference",
    gradient_lies=_shown_everywhere, uniform=True,
)  # fmt: skip
def sum(x, *, axis, keepdims=False, dtype=None):
    """The sum over ``axis``; of booleans and integers in int64, unless ``dtype`` says otherwise."""
    return _sum(x, axis, keepdims, dtype)


@linear(
    x=lambda g, x_shape: broadcast_to(g, shape=x_shape), family="sum", spoilt="difference",
    gradient_lies=_shown_everywhere, uniform=True,
)  # fmt: skip
def sum_all(x, *, dtype=None):
    """The sum of all elements."""
    return _sum(x, everything(x.ndim), False, dtype)


@linear(
    x=lambda g, x_shape, shape, axis: sum(g, axis=axis, keepdims=len(x_shape) == len(shape)), aten="expand",
)  # fmt: skip
def spread(x, *, shape, axis):
    """The adjoint of ``sum``: ``x`` repeated along the axes that were summed over, whether they were kept or not."""
    axes = axes_of(axis, len(shape))
    return jnp.broadcast_to(x.reshape([1 if i in axes else size for i, size in enumerate(shape)]), shape)


@linear(x=lambda g, count: over(g, count=count), aten=".Tensor", family="div", spoilt="quotient")
def over(x, *, count):
    """``x`` divided by a number that is the same for all elements and known beforehand; it may be 0."""
    return (widened(x) / as_number(count)).astype(x.dtype)


# -- means and moments -------------------------------------------------------------------------------------------------


def _numel(plan: Plan) -> int:
    """The number of elements of the input."""
    return math.prod(plan.specs[0].shape)


def _mean(x, axis, keepdims, dtype=None):
    wide = widened(x if dtype is None else cast(x, dtype=dtype))
    mean = jnp.sum(wide, axis=axes_of(axis, x.ndim), keepdims=keepdims) / as_number(length(x.shape, axis))
    return mean.astype(x.dtype if dtype is None else dtype.numpy)


@linear(
    x=lambda g, x_shape, axis: over(spread(g, shape=x_shape, axis=axis), count=length(x_shape, axis)), aten=".dim",
    node=1, saved={"self_sym_numel": _numel}, spoilt="mean", gradient_lies=_divided, uniform=True,
)  # fmt: skip
def mean(x, *, axis, keepdims=False, dtype=None):
    """The arithmetic mean over ``axis``; nan of nothing."""
    return _mean(x, axis, keepdims, dtype)


@linear(
    x=lambda g, x_shape: over(broadcast_to(g, shape=x_shape), count=math.prod(x_shape)), family="mean",
    saved={"self_sym_numel": _numel}, spoilt="mean", uniform=True,
)  # fmt: skip
def mean_all(x, *, dtype=None):
    """The arithmetic mean of all elements."""
    return _mean(x, everything(x.ndim), False, dtype)


@general(
    x=lambda g, x, axis: masked(spread(g, shape=x.shape, axis=axis), eq(x, x)),
    jvp=lambda t_x, x, axis, keepdims, dtype: sum(where(eq(x, x), t_x, 0), axis=axis, keepdims=keepdims, dtype=dtype),
    real=True,
    gradient_lies=weighed,
)
def nansum(x, *, axis, keepdims=False, dtype=None):
    """The sum of what is not nan."""
    return _sum(jnp.where(x == x, x, 0), axis, keepdims, dtype)


def _moments(x, axis, keepdims, correction):
    """Variance and mean, in the type of the computation."""
    axes, count, x = axes_of(axis, x.ndim), length(x.shape, axis), widened(x)
    center = jnp.sum(x, axis=axes, keepdims=True) / as_number(count)
    total = jnp.sum(jnp.square(jnp.abs(x - center)), axis=axes, keepdims=keepdims)
    freedom = as_number(count) - correction if exceeds(count, correction) else 0.0
    return total / freedom, center if keepdims else jnp.squeeze(center, axes)


def real_dtype(x):
    return jnp.real(x).dtype


def deviation(x, axis, correction):
    """The derivative of the variance: 2 (x - mean) / (n - correction).

    Without degrees of freedom the variance is infinite, and PyTorch lets it rise with any move away from the mean.
    """
    count = length(x.shape, axis)
    centered = x - mean(x, axis=axis, keepdims=True)
    if exceeds(count, correction):
        return over(centered, count=(as_number(count) - correction) / 2)
    return where(centered == 0, math.nan, math.inf)


def along(slope, tangent, axis, keepdims):
    """The tangent of a real-valued reduction, whose gradient for a cotangent of one is ``slope``."""
    return sum(real(conj(slope) * tangent), axis=axis, keepdims=keepdims)


def halved(g, std):
    """From the gradient of a standard deviation that of the variance; none where all elements are equal."""
    return where(std == 0, 0, g / (std * 2))


@general(
    x=lambda g, x, axis, correction: spread(g, shape=x.shape, axis=axis) * deviation(x, axis, correction),
    jvp=lambda t_x, x, axis, keepdims, correction: along(deviation(x, axis, correction), t_x, axis, keepdims),
    aten=".correction", spoilt="spread", gradient_lies=scaled,
)  # fmt: skip
def var(x, *, axis, keepdims=False, correction=1):
    """The variance over ``axis``: the sum of squared distances from the mean, over the number less ``correction``."""
    return _moments(x, axis, keepdims, correction)[0].astype(real_dtype(x))


@general(
    x=lambda g, x, out, axis, correction: (
        spread(halved(g, out), shape=x.shape, axis=axis) * deviation(x, axis, correction)
    ),
    jvp=lambda t_x, x, out, axis, keepdims, correction: halved(
        along(deviation(x, axis, correction), t_x, axis, keepdims), out
    ),
    aten=".correction", convention=conventions.SPREAD,
    edge=("out", 0, "the derivative of std is infinite where all elements are equal: add a small number to var"),
    spoilt="spread", gradient_lies=scaled,
)  # fmt: skip
def std(x, *, axis, keepdims=False, correction=1):
    """The standard deviation over ``axis``: the root of ``var``."""
    return jnp.sqrt(_moments(x, axis, keepdims, correction)[0]).astype(real_dtype(x))


def mean_part(g, shape, axis):
    """The gradient of a mean."""
    return over(spread(g, shape=shape, axis=axis), count=length(shape, axis))


def moments_gradient(g_spread, g_mean, x, axis, correction):
    """The gradient by a variance and a mean, of which one may have none: the other's part is not to be computed, for
    the variance of a single element has no finite one.
    """
    parts = []
    if g_spread is not None:
        parts.append(spread(g_spread, shape=x.shape, axis=axis) * deviation(x, axis, correction))
    if g_mean is not None:
        parts.append(mean_part(g_mean, x.shape, axis))
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


@general(
    x=lambda g_var, g_mean, x, axis, correction: moments_gradient(g_var, g_mean, x, axis, correction),
    jvp=lambda t_x, x, axis, keepdims, correction: (
        along(deviation(x, axis, correction), t_x, axis, keepdims),
        mean(t_x, axis=axis, keepdims=keepdims),
    ),
    outputs=("var", "mean"), aten=".correction", spoilt="spread", undefined=True, gradient_lies=scaled,
)  # fmt: skip
def var_mean(x, *, axis, keepdims=False, correction=1):
    """Variance and mean over ``axis``."""
    variance, center = _moments(x, axis, keepdims, correction)
    return variance.astype(real_dtype(x)), center.astype(x.dtype)


@general(
    x=lambda g_std, g_mean, x, std, axis, correction: moments_gradient(
        None if g_std is None else halved(g_std, std), g_mean, x, axis, correction
    ),
    jvp=lambda t_x, x, std, axis, keepdims, correction: (
        halved(along(deviation(x, axis, correction), t_x, axis, keepdims), std),
        mean(t_x, axis=axis, keepdims=keepdims),
    ),
    outputs=("std", "mean"), aten=".correction", convention=conventions.SPREAD, spoilt="spread", undefined=True,
    gradient_lies=scaled,
)  # fmt: skip
def std_mean(x, *, axis, keepdims=False, correction=1):
    """Standard deviation and mean over ``axis``."""
    variance, center = _moments(x, axis, keepdims, correction)
    return jnp.sqrt(variance).astype(real_dtype(x)), center.astype(x.dtype)


# -- extrema -----------------------------------------------------------------------------------------------------------


@general(aten=None)
def share(x, out, *, axis, nan):
    """The part that each element has in the extremum ``out`` over ``axis``. See Note [Extrema share].

    ``nan`` says what becomes of an extremum that is nan: True: the elements that are nan share it; False: nobody
    attains it, and all parts are nan.
    """
    axes = axes_of(axis, x.ndim)
    out = out.reshape([1 if i in axes else size for i, size in enumerate(x.shape)])
    mask = (x == out) | ((x != x) & (out != out)) if nan else x == out
    total = jnp.sum(mask.astype(widened(x).dtype), axis=axes, keepdims=True)
    nothing = jnp.where(total == 0, jnp.nan, 0)  # said outright: XLA takes 0 / 0 for 0 where the 0 above is a mask
    return jnp.where(mask, 1 / total, nothing).astype(x.dtype)


def shared(g, x, out, axis, nan=False):
    """The gradient of an extremum over ``axis``."""
    return spread(g, shape=x.shape, axis=axis) * share(x, out, axis=axis, nan=nan)


def shared_all(g, x, out):
    """The gradient of an extremum of everything; one that is nan belongs to the elements that are."""
    part = share(x, out, axis=everything(x.ndim), nan=True)
    return where(eq(part, 0), 0, broadcast_to(g, shape=x.shape) * part)


def collected(t, x, out, axis, keepdims):
    """The tangent of an extremum over ``axis``."""
    return sum(t * share(x, out, axis=axis, nan=False), axis=axis, keepdims=keepdims)


def collected_all(t, x, out):
    """The tangent of an extremum of everything."""
    return sum_all(t * share(x, out, axis=everything(x.ndim), nan=True))


@general(
    x=lambda g, x, out, axis: shared(g, x, out, axis),
    jvp=lambda t_x, x, out, axis, keepdims: collected(t_x, x, out, axis, keepdims),
    real=True,
    gradient_lies=scaled,
)
def amax(x, *, axis, keepdims=False):
    """The largest elements over ``axis``; nan if there is one."""
    return jnp.max(x, axis=axes_of(axis, x.ndim), keepdims=keepdims)


@general(
    x=lambda g, x, out, axis: shared(g, x, out, axis),
    jvp=lambda t_x, x, out, axis, keepdims: collected(t_x, x, out, axis, keepdims),
    real=True,
    gradient_lies=scaled,
)
def amin(x, *, axis, keepdims=False):
    """The smallest elements over ``axis``; nan if there is one."""
    return jnp.min(x, axis=axes_of(axis, x.ndim), keepdims=keepdims)


@general(
    x=lambda g_min, g_max, x, min, max, axis: shared(g_min, x, min, axis) + shared(g_max, x, max, axis),
    jvp=lambda t_x, x, min, max, axis, keepdims: (
        collected(t_x, x, min, axis, keepdims),
        collected(t_x, x, max, axis, keepdims),
    ),
    outputs=("min", "max"),
    real=True,
    gradient_lies=scaled,
)
def aminmax(x, *, axis, keepdims=False):
    """The smallest and the largest elements over ``axis``."""
    return amin.function(x, axis=axis, keepdims=keepdims), amax.function(x, axis=axis, keepdims=keepdims)


@general(
    x=lambda g, x, out: shared_all(g, x, out), jvp=lambda t_x, x, out: collected_all(t_x, x, out), real=True, node=1,
    family="max",
)  # fmt: skip
def max_all(x):
    """The largest of all elements; nan if there is one."""
    return jnp.max(x)


@general(
    x=lambda g, x, out: shared_all(g, x, out), jvp=lambda t_x, x, out: collected_all(t_x, x, out), real=True, node=1,
    family="min",
)  # fmt: skip
def min_all(x):
    """The smallest of all elements; nan if there is one."""
    return jnp.min(x)


def _median(x, ignore_nan):
    if x.size == 0:
        return jnp.asarray(jnp.nan if jnp.issubdtype(x.dtype, jnp.floating) else jnp.iinfo(x.dtype).min, x.dtype)
    ordered = jnp.sort(x.ravel())
    numbers = jnp.sum(ordered == ordered, dtype=jnp.int32)
    middle = jnp.maximum(numbers - 1, 0) // 2
    if ignore_nan:
        return ordered[middle]
    return jnp.where(numbers < x.size, ordered[-1], ordered[middle])


@general(
    x=lambda g, x, out: shared_all(g, x, out),
    jvp=lambda t_x, x, out: collected_all(t_x, x, out),
    real=True, family="median", convention=conventions.TIES,
)  # fmt: skip
def median_all(x):
    """The median of all elements, the lower one of two; nan if there is one."""
    return _median(x, ignore_nan=False)


@general(
    x=lambda g, x, out: shared_all(g, x, out),
    jvp=lambda t_x, x, out: collected_all(t_x, x, out),
    real=True, family="nanmedian", convention=conventions.TIES,
)  # fmt: skip
def nanmedian_all(x):
    """The median of all elements that are not nan, the lower one of two."""
    return _median(x, ignore_nan=True)


def first_index(find, x, axis):
    """The place along ``axis``, which is kept, where ``find`` (``lax.argmax`` or ``lax.argmin``) finds its element
    first.

    It counts in int32 while that is enough: XLA's iota for it is made where the user's own jit is lowered, outside of
    our 64-bit scope.
    """
    return jnp.expand_dims(find(x, axis, jnp.int32 if at_most(x.shape[axis], 2**31 - 1) else jnp.int64), axis)


def _position(find, x, axis, keepdims):
    if axis is None or not x.ndim:
        found = first_index(find, x.ravel(), 0)
        return found.reshape((1,) * x.ndim if keepdims else ()).astype(jnp.int64)
    found = first_index(find, x, axis).astype(jnp.int64)
    return found if keepdims else jnp.squeeze(found, axis)


@general(real=True)
def argmax(x, *, axis, keepdims=False):
    """The index of the (first) largest element over ``axis``, or in the flattened array if it is None; int64."""
    return _position(lax.argmax, x, axis, keepdims)


@general(real=True)
def argmin(x, *, axis, keepdims=False):
    """The index of the (first) smallest element over ``axis``, or in the flattened array if it is None; int64."""
    return _position(lax.argmin, x, axis, keepdims)


# -- truth and counts --------------------------------------------------------------------------------------------------


def _truth(find, x, axis, keepdims):
    return find(x != 0, axis=axes_of(axis, x.ndim), keepdims=keepdims).astype(
        jnp.uint8 if x.dtype == jnp.uint8 else jnp.bool_
    )


@general()
def all(x, *, axis, keepdims=False):
    """Tell whether all elements over ``axis`` are nonzero: bool, but uint8 of uint8."""
    return _truth(jnp.all, x, axis, keepdims)


@general()
def any(x, *, axis, keepdims=False):
    """Tell whether some element over ``axis`` is nonzero: bool, but uint8 of uint8."""
    return _truth(jnp.any, x, axis, keepdims)


@general(aten=".dim_IntList")
def count_nonzero(x, *, axis):
    """The number of elements over ``axis`` that are nonzero; int64."""
    return jnp.sum(x != 0, axis=axes_of(axis, x.ndim), dtype=jnp.int64)


# -- the trace ---------------------------------------------------------------------------------------------------------


@linear(x=lambda g, x_shape: on_diagonal(g, shape=x_shape))
def trace(x):
    """The sum of the diagonal of a matrix; of integers in int64."""
    return _sum(jnp.diagonal(x), 0, False, None)


@linear(x=lambda g: trace(g), aten=None, node="TraceBackwardBackward0", profile="trace_backward")
def on_diagonal(x, *, shape):
    """The adjoint of ``trace``: a matrix with ``x`` on its diagonal."""
    return jnp.where(lax.broadcasted_iota(jnp.int32, shape, 0) == lax.broadcasted_iota(jnp.int32, shape, 1), x, 0)
