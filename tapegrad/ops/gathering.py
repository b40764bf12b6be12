"""Operators that read and write along one dimension, or among all elements, at places given by arrays of indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax

from tapegrad._src.dispatch.function_levels import not_further, tracked
from tapegrad._src.execution.data.dtypes import as_dtype
from tapegrad._src.execution.data.dtypes import bool as bool_
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import conventions
from tapegrad.ops.checks import numbers_of
from tapegrad.ops.comparison import eq
from tapegrad.ops.indexing import as_vector, read_at, update_at, wide
from tapegrad.ops.kinds import broadcast_to, cast, conj, general, linear, sum_to, zeros_of
from tapegrad.ops.memory_formats import as_input, gradient_as_input, gradient_kept
from tapegrad.ops.operator import Operator
from tapegrad.ops.selection import masked, masked_fill, where
from tapegrad.ops.shape import Shape, view


@linear(
    x=lambda g, x, index, x_dtype, axis: scatter_add(
        zeros_of(g, shape=tuple(x.shape), dtype=x_dtype), index, g, axis=axis
    ),
    saved={"sparse_grad": False},
)  # fmt: skip
def gather(x, index, *, axis):
    """``out[i, j] = x[index[i, j], j]`` for ``axis=0``: one element for each index.

    ``index`` has the number of dimensions of ``x``, and may be shorter along the others; an empty one any shape.
    """
    if index.size == 0:
        return jnp.zeros(index.shape, x.dtype)
    vector, places = as_vector(x), as_vector(index)
    part = vector[tuple(slice(None) if d == axis else slice(n) for d, n in enumerate(places.shape))]
    return jnp.take_along_axis(part, places, axis, mode="fill").reshape(index.shape)


@linear(x=lambda g: g, src=lambda g, index, axis: gather(g, index, axis=axis))
def scatter_add(x, index, src, *, axis):
    """``x`` with every element of ``src`` (of the shape of ``index``) added where ``gather`` would read."""
    return _scatter(wide(x), index, src, axis, "add").astype(x.dtype)


@linear(
    x=lambda g, index, axis: scatter_number(g, 0, index, axis=axis),
    src=lambda g, index, axis: gather(g, index, axis=axis),
    aten=".src",
)  # fmt: skip
def scatter(x, index, src, *, axis):
    """``x`` with ``src`` (of the shape of ``index``) where ``gather`` would read; of equals the last one stays."""
    return _scatter(x, index, src, axis, "set")


@linear(
    x=lambda g, index, axis: scatter_number(g, 0, index, axis=axis),
    jvp=lambda t_x, index, axis: scatter_number(t_x, 0, index, axis=axis),
    aten=".value", node=1, family="scatter",
)  # fmt: skip
def scatter_number(x, value, index, *, axis):
    """``x`` with ``value`` in place of what ``gather`` would read."""
    return _scatter(x, index, jnp.full(index.shape, value, x.dtype), axis, "set")


def _scatter(x: Any, index: Any, src: Any, axis: int, how: str) -> Any:
    if index.size == 0:
        return x
    vector, places = as_vector(x), as_vector(index)
    key = [lax.broadcasted_iota(places.dtype, places.shape, d) for d in range(places.ndim)]
    key[axis] = places
    return update_at(vector.at[tuple(key)], how, as_vector(src)).reshape(x.shape)


# -- along one dimension, reduced --------------------------------------------------------------------------------------


def _sum_at(index: Any, src: Any, like: Any, axis: int) -> Any:
    """``src`` added up where it goes, in an array like ``like``."""
    return scatter_add(zeros_of(like, shape=tuple(like.shape), dtype=as_dtype(like.dtype)), index, src, axis=axis)


@linear(
    x=lambda g, x, index, src, out, axis, include_self: (
        g if include_self else scatter_number(g, 0, index, axis=axis)
    ),
    src=lambda g, x, index, src, out, axis: gather(g, index, axis=axis),
    aten="scatter_reduce.two",
)  # fmt: skip
def scatter_sum(x, index, src, *, axis, include_self=True):
    """``scatter_add``, as PyTorch's ``scatter_reduce``."""
    x = scatter_kept.function(x, index, axis=axis, include_self=include_self)
    return _scatter(wide(x), index, src, axis, "add").astype(x.dtype)


@linear(
    x=lambda g, x, index, src, out, axis, include_self: (
        scatter_kept(g, index, axis=axis, include_self=include_self)
        / scatter_count(g, index, axis=axis, include_self=include_self)
    ),
    src=lambda g, x, index, src, out, axis, include_self: gather(
        g / scatter_count(g, index, axis=axis, include_self=include_self), index, axis=axis
    ),
    aten="scatter_reduce.two", family="scatter_sum",
)  # fmt: skip
def scatter_mean(x, index, src, *, axis, include_self):
    """``x`` with the mean of it (if ``include_self``) and of what goes to a place; integers are rounded down."""
    kept = scatter_kept.function(x, index, axis=axis, include_self=include_self)
    total = _scatter(kept, index, src, axis, "add")
    count = scatter_count.function(x, index, axis=axis, include_self=include_self)
    return total // count if jnp.issubdtype(x.dtype, jnp.integer) else total / count


@linear(x=lambda g, index, axis, include_self: scatter_kept(g, index, axis=axis, include_self=include_self), aten=None)
def scatter_kept(x, index, *, axis, include_self):
    """``x`` as it takes part in a reduction: all of it, or zero where something is put."""
    return x if include_self else scatter_number.function(x, 0, index, axis=axis)


@general(aten=None)
def scatter_count(x, index, *, axis, include_self):
    """The number of elements that take part in the reduction at each place, at least 1."""
    count = _scatter(jnp.full(x.shape, int(include_self), x.dtype), index, jnp.ones(index.shape, x.dtype), axis, "add")
    return jnp.where(count == 0, jnp.ones_like(count), count)


def _is(value: Any, x: Any) -> Any:
    return cast(eq(value, x), dtype=as_dtype(x.dtype))


def _winners(x: Any, index: Any, src: Any, out: Any, axis: int) -> Any:
    """The number of ``x`` and ``src`` that are the extremum at each place; as in PyTorch, also if ``x`` takes no
    part."""
    return _is(out, x) + _sum_at(index, _is(gather(out, index, axis=axis), src), x, axis)


def _extremum(name: str, how: str) -> Operator:
    def to_x(g: Any, x: Any, index: Any, src: Any, out: Any, axis: int, include_self: bool) -> Any:
        share = masked(g / _winners(x, index, src, out, axis), eq(out, x))
        return scatter_kept(share, index, axis=axis, include_self=include_self)

    def to_src(g: Any, x: Any, index: Any, src: Any, out: Any, axis: int) -> Any:
        share = gather(g / _winners(x, index, src, out, axis), index, axis=axis)
        return masked(share, eq(gather(out, index, axis=axis), src))

    def tangent(t_x: Any, t_src: Any, x: Any, index: Any, src: Any, out: Any, axis: int, include_self: bool) -> Any:
        parts = []
        if t_x is not None:
            parts.append(scatter_kept(where(eq(out, x), t_x, 0), index, axis=axis, include_self=include_self))
        if t_src is not None:
            parts.append(_sum_at(index, where(eq(gather(out, index, axis=axis), src), t_src, 0), x, axis))
        kept = scatter_kept(_is(out, x), index, axis=axis, include_self=include_self)
        count = kept + _sum_at(index, _is(gather(out, index, axis=axis), src), x, axis)
        return sum(parts[1:], parts[0]) / where(eq(count, 0), 1, count)

    @general(
        x=to_x, src=to_src, jvp=tangent, real=True, name=name, aten="scatter_reduce.two", family="scatter_sum",
        convention=conventions.EXTREMA,
    )  # fmt: skip
    def extremum(x, index, src, *, axis, include_self):
        """The extremum of ``x`` (if ``include_self``) and of what goes to a place; equals share the gradient."""
        if not include_self:
            x = _scatter(x, index, jnp.full(index.shape, _last_resort(x.dtype, how), x.dtype), axis, "set")
        return _scatter(x, index, src, axis, how)

    return extremum


def _last_resort(dtype: Any, how: str) -> Any:
    """The number that loses against every other."""
    if jnp.issubdtype(dtype, jnp.floating):
        return -jnp.inf if how == "max" else jnp.inf
    if jnp.issubdtype(dtype, jnp.bool_):
        return how == "min"
    return jnp.iinfo(dtype).min if how == "max" else jnp.iinfo(dtype).max


scatter_amax = _extremum("scatter_amax", "max")
scatter_amin = _extremum("scatter_amin", "min")


def _read(x: Any, index: Any, like: Any, axis: int, slices: bool) -> Any:
    """The elements of ``x`` where elements like these go; for ``slices`` the index is a vector, whole slices go."""
    found = index_select(x, index, axis=axis) if slices else gather(x, index, axis=axis)
    return found if found.ndim == like.ndim else view(found, shape=tuple(like.shape))


def _at_each(index: Any, src: Any, axis: int) -> Any:
    """The index of each element, of a vector for slices."""
    if src.ndim < 2:
        return view(index, shape=tuple(src.shape))
    column = view(index, shape=tuple([src.shape[axis] if d == axis else 1 for d in range(src.ndim)]))
    return broadcast_to(column, shape=tuple(src.shape))


def _product(x: Any, index: Any, src: Any, axis: int, include_self: bool, slices: bool) -> Any:
    return (index_prod if slices else scatter_prod)(x, index, src, axis=axis, include_self=include_self)


def _shares(x: Any, index: Any, src: Any, out: Any, axis: int, g: Any, include_self: bool, slices: bool) -> Any:
    """``g`` times the product of all that goes where an element of ``src`` goes, but for that element.

    The product is divided by the element; where the element is the only zero, the others are multiplied instead.
    """
    zero = eq(src, 0)
    each = _at_each(index, src, axis) if slices else index
    single = where(zero, eq(_zeros_beside(x, each, src, axis), 1), zero)
    others = _product(x, index, masked_fill(src, single, 1), axis, include_self, slices)
    divided = _read(g * conj(out), index, src, axis, slices) / conj(masked_fill(src, zero, 1))
    return where(single, _read(g * conj(others), index, src, axis, slices), divided)


def _own_share(g: Any, x: Any, index: Any, src: Any, axis: int, include_self: bool, slices: bool) -> Any:
    """The gradient of ``x``: the product with it, divided by it, or with 1 in its place where it is zero."""
    nonzero = masked_fill(x, eq(x, 0), 1)
    product = _product(nonzero, index, src, axis, include_self, slices)
    share = g * conj(product) / conj(nonzero)
    if include_self:
        return share
    return index_fill(share, index, 0, axis=axis) if slices else scatter_number(share, 0, index, axis=axis)


def _zeros_beside(x: Any, index: Any, src: Any, axis: int) -> Any:
    """The number of zeros that go where an element of ``src`` goes."""
    return gather(_sum_at(index, cast(eq(src, 0), dtype=as_dtype(src.dtype)), x, axis), index, axis=axis)


def _once(found: Any, x: Any, index: Any, src: Any, axis: int, slices: bool) -> Any:
    """A derivative for ``src``, that has none itself, where several zeros go to one place: it needs all others there.
    Raises RuntimeError: PyTorch's message, at once if it is to be differentiated in forward mode.
    """
    if not isinstance(found, Tensor) or not tracked(found, thread.modes):
        return found
    if not (numbers_of(_zeros_beside(x, index, src, axis)) > 1).any():
        return found
    function, name = ("index_reduce", "source") if slices else ("scatter_reduce", "src")
    message = (
        f"{function}(): Double backward is unsupported for {name} when >1 zeros in {name} are scattered to the same "
        "position in self"
    )
    return not_further(found, message)


def _ones(x: Any) -> Any:
    return zeros_of(x, shape=tuple(x.shape), dtype=as_dtype(x.dtype)) + 1


def _prod_tangent(
    t_x: Any, t_src: Any, x: Any, index: Any, src: Any, out: Any, axis: int, include_self: bool, slices: bool
) -> Any:
    parts = []
    if t_x is not None:
        kept = scatter_kept(t_x, index, axis=axis, include_self=include_self)
        parts.append(kept * scatter_prod(_ones(x), index, src, axis=axis, include_self=True))
    if t_src is not None:
        factors = _shares(x, index, src, out, axis, _ones(x), include_self, False)
        parts.append(_sum_at(index, t_src * conj(_once(factors, x, index, src, axis, slices)), x, axis))
    return sum(parts[1:], parts[0])


@general(
    x=lambda g, x, index, src, axis, include_self: _own_share(g, x, index, src, axis, include_self, False),
    src=lambda g, x, index, src, out, axis, include_self: _once(
        _shares(x, index, src, out, axis, g, include_self, False), x, index, src, axis, False
    ),
    jvp=lambda t_x, t_src, x, index, src, out, axis, include_self: _prod_tangent(
        t_x, t_src, x, index, src, out, axis, include_self, False
    ),
    aten="scatter_reduce.two", family="scatter_sum", looks=True,
)  # fmt: skip
def scatter_prod(x, index, src, *, axis, include_self=True):
    """``x`` (1, if not ``include_self``) multiplied with all that goes to a place."""
    x = x if include_self else scatter_number.function(x, 1, index, axis=axis)
    return _scatter(x, index, src, axis, "multiply")


@general(
    x=lambda g, x, index, src, axis, include_self: _own_share(g, x, index, src, axis, include_self, True),
    src=lambda g, x, index, src, out, axis, include_self: _once(
        _shares(x, index, src, out, axis, g, include_self, True), x, _at_each(index, src, axis), src, axis, True
    ),
    jvp=lambda t_x, t_src, x, index, src, out, axis, include_self: _prod_tangent(
        t_x, t_src, x, _at_each(index, src, axis), src, out, axis, include_self, True
    ),
    aten="index_reduce", looks=True,
)  # fmt: skip
def index_prod(x, index, src, *, axis, include_self=True):
    """``scatter_prod`` of slices, which go where ``index_select`` would read."""
    shape = [-1 if d == axis else 1 for d in range(src.ndim)]
    each = jnp.broadcast_to(index.reshape(shape), src.shape)
    return scatter_prod.function(x, each, src, axis=axis, include_self=include_self)


# -- along one dimension, whole slices ---------------------------------------------------------------------------------


def _slices(x: Any, index: Any, axis: int) -> Any:
    return as_vector(x).at[(slice(None),) * axis + (as_vector(index),)]


@linear(
    x=lambda g, index, x_shape, x_dtype, axis: index_add(
        zeros_of(g, shape=tuple(x_shape), dtype=x_dtype), index, g, axis=axis
    ), uniform=True
)
def index_select(x, index, *, axis):
    """The slices of a dimension that a vector names; a 0-dim array counts as a vector of one element."""
    result = _slices(x, index, axis).get(mode="fill")
    return result if x.ndim else result.reshape(())


@linear(x=lambda g: g, source=lambda g, index, source, axis: _selected(g, index, source.shape, axis))
def index_add(x, index, source, *, axis):
    """``x`` with slices added where ``index_select`` would read."""
    added = update_at(_slices(wide(x), index, axis), "add", as_vector(source))
    return added.reshape(x.shape).astype(x.dtype)


@linear(
    x=lambda g: g,
    source=lambda g, index, source, alpha, axis: _selected(g, index, source.shape, axis) * conj(alpha),
    jvp=lambda t_x, t_source, x, index, alpha, axis: index_add(
        zeros_of(x, shape=tuple(x.shape), dtype=as_dtype(x.dtype)) if t_x is None else t_x,
        index, zeros_of(x, shape=(), dtype=as_dtype(x.dtype)) if t_source is None else t_source * alpha, axis=axis,
    ),
    family="index_add",
)  # fmt: skip
def index_add_scaled(x, index, source, alpha, *, axis):
    """``x`` with ``alpha`` times slices added where ``index_select`` would read."""
    source = source & (alpha != 0) if source.dtype == bool else (source * alpha).astype(x.dtype)
    return update_at(_slices(x, index, axis), "add", as_vector(source)).reshape(x.shape)


@linear(
    x=lambda g, index, axis: index_fill(g, index, 0, axis=axis),
    source=lambda g, index, source, axis: _selected(g, index, source.shape, axis),
)
def index_copy(x, index, source, *, axis):
    """``x`` with slices in place of those that ``index_select`` would read; of equals the last stays."""
    return _slices(x, index, axis).set(as_vector(source), mode="drop").reshape(x.shape)


def _selected(g: Any, index: Any, shape: Shape, axis: int) -> Any:
    return view(index_select(g, index, axis=axis), shape=tuple(shape))


@linear(
    x=lambda g, index, axis: index_fill(g, index, 0, axis=axis),
    jvp=lambda t_x, index, axis: index_fill(t_x, index, 0, axis=axis),
    aten=".int_Scalar", lies=as_input, gradient_lies=gradient_kept,
)  # fmt: skip
def index_fill(x, index, value, *, axis):
    """``x`` with a number in place of the slices that ``index_select`` would read."""
    return _slices(x, index, axis).set(jnp.asarray(value).astype(x.dtype), mode="drop").reshape(x.shape)


@linear(
    x=lambda g, index, axis: index_fill(g, index, 0, axis=axis),
    value=lambda g, index, axis: sum_to(where(_filled(g, index, axis), g, 0), shape=()),
    aten=".int_Tensor", node=1, family="index_fill", lies=as_input, gradient_lies=gradient_kept, records_integers=True,
)  # fmt: skip
def index_fill_tensor(x, index, value, *, axis):
    """``x`` with a 0-dim array in place of the slices that ``index_select`` would read."""
    return _slices(x, index, axis).set(value.astype(x.dtype), mode="drop").reshape(x.shape)


def _filled(g: Any, index: Any, axis: int) -> Any:
    """The places where ``index_fill`` writes."""
    return index_fill(zeros_of(g, shape=tuple(g.shape), dtype=bool_), index, True, axis=axis)


# -- among all elements in a row ---------------------------------------------------------------------------------------


@linear(
    x=lambda g, index, x, x_dtype: put(
        zeros_of(g, shape=tuple(x.shape), dtype=x_dtype), index, g, accumulate=True
    ),
    gradient_lies=gradient_as_input,
)
def take(x, index):
    """The elements at places counted in row-major order, in the shape of ``index``."""
    return read_at(x.reshape(-1), index)


@linear(
    x=lambda g, index, accumulate: g if accumulate else put_number(g, 0, index),
    source=lambda g, index, source: view(take(g, index), shape=tuple(source.shape)),
    lies=as_input, gradient_lies={"x": gradient_kept},
)  # fmt: skip
def put(x, index, source, *, accumulate):
    """``x`` with elements put, or added, at places counted in row-major order."""
    places = x.reshape(-1).at[index.reshape(-1)]
    source = source.reshape(-1)
    return update_at(places, "add" if accumulate else "set", source).reshape(x.shape)


@linear(x=lambda g, index: put_number(g, 0, index), jvp=lambda t_x, index: put_number(t_x, 0, index), family="put")
def put_number(x, value, index):
    """``x`` with a number at places counted in row-major order."""
    value = jnp.asarray(value).astype(x.dtype)
    return x.reshape(-1).at[index.reshape(-1)].set(value, mode="drop").reshape(x.shape)


# -- by indices that may be out of range where a mask is not set -------------------------------------------------------


def _clamped(x: Any, indices: Sequence[Any]) -> tuple:
    return tuple(jnp.clip(places, -n, n - 1) for places, n in zip(indices, x.shape, strict=False))


@linear(
    x=lambda g, mask, indices, x_shape, x_dtype: unsafe_masked_index_put_accumulate(
        zeros_of(g, shape=tuple(x_shape), dtype=x_dtype), mask, g, *indices
    ),
    jvp=lambda t_x, mask, indices: unsafe_masked_index(t_x, mask, 0, *indices),
    aten="_unsafe_masked_index",
)  # fmt: skip
def unsafe_masked_index(x, mask, fill, *indices):
    """``x[indices]`` where the mask, which is broadcast, is set, and a number elsewhere; indices are clamped."""
    if x.size == 0:
        shape = jnp.broadcast_shapes(mask.shape, *(places.shape for places in indices))
        return jnp.full(shape + (0,) * (x.ndim - len(indices)), fill, x.dtype)
    return jnp.where(mask, read_at(x, _clamped(x, indices)), jnp.asarray(fill, x.dtype))


@linear(
    x=lambda g: g,
    values=lambda g, mask, indices, values_shape: sum_to(
        unsafe_masked_index(g, mask, 0, *indices), shape=tuple(values_shape)
    ),
    aten="_unsafe_masked_index_put_accumulate",
)  # fmt: skip
def unsafe_masked_index_put_accumulate(x, mask, values, *indices):
    """``x`` with values added at ``indices``, which are clamped, where the mask is set."""
    if x.size == 0:
        return x
    return update_at(x.at[_clamped(x, indices)], "add", jnp.where(mask, values, jnp.zeros((), values.dtype)))


# -- by masks ----------------------------------------------------------------------------------------------------------


@linear(
    x=lambda g, x, places, x_dtype, shape: sum_to(
        put(zeros_of(g, shape=shape, dtype=x_dtype), places, g, accumulate=True), shape=tuple(x.shape)
    ),
    gradient_lies=gradient_as_input,
)
def masked_select(x, places, *, shape):
    """The elements of ``x``, broadcast to ``shape``, where a mask is set: at ``places`` counted in row-major order."""
    return read_at(jnp.broadcast_to(x, shape).reshape(-1), places)


@linear(
    x=lambda g, mask, x_shape: sum_to(where(mask, 0, g), shape=tuple(x_shape)),
    source=lambda g, mask, source_shape: masked_scatter_adjoint(g, mask, shape=tuple(source_shape)),
)
def masked_scatter(x, mask, source):
    """``x`` (broadcast) with the first elements of ``source`` where ``mask`` (broadcast) is set, in row-major order."""
    shape = jnp.broadcast_shapes(x.shape, mask.shape)
    mask = jnp.broadcast_to(mask, shape)
    if source.size == 0:
        return jnp.broadcast_to(x, shape)
    return jnp.where(mask, read_at(source.reshape(-1), _ranks(mask)), x)


@linear(
    x=lambda g, mask, x_shape, x_dtype: masked_scatter(zeros_of(g, shape=tuple(x_shape), dtype=x_dtype), mask, g),
    aten="masked_scatter_backward",
)  # fmt: skip
def masked_scatter_adjoint(x, mask, *, shape):
    """The elements of ``x`` where ``mask`` is set, one after another in zeros of this shape."""
    mask = jnp.broadcast_to(mask, x.shape)
    zeros = jnp.zeros(shape, x.dtype)
    places = jnp.where(mask, _ranks(mask), zeros.size)
    return zeros.reshape(-1).at[places].add(x, mode="drop").reshape(shape)


def _ranks(mask: Any) -> Any:
    """For each element how many set ones come before it."""
    return (jnp.cumsum(mask.reshape(-1), dtype="int32") - 1).reshape(mask.shape)


@general()
def one_hot(x, *, num_classes):
    """int64 zeros with a one at the class, along a new last dimension."""
    return (x[..., None] == jnp.arange(num_classes, dtype=x.dtype)).astype("int64")
