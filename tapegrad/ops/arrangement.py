"""Copies of an array's elements: in another order, several times, with padding around them."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tapegrad._src.execution.data.sizes import counting_along
from tapegrad._src.execution.numpy_backend.forms import on_host
from tapegrad._src.tensor.geometry import Geometry, preserved_strides, transposed
from tapegrad._src.tensor.spec import Spec
from tapegrad.ops.checks import checked
from tapegrad.ops.kinds import linear, sum_to
from tapegrad.ops.memory_formats import IMAGES, as_images, as_input, gradient_kept, gradient_of_images
from tapegrad.ops.operator import Operator
from tapegrad.ops.shape import Shape, reshaped, view


@linear(x=lambda g, x_shape, repeats: _fold(g, tuple(x_shape), repeats))
def repeat(x, *, repeats):
    """``x`` laid side by side, ``repeats`` times along each dimension (of which there may be new ones in front)."""
    return jnp.tile(x, repeats)


def _fold(g: Any, shape: Shape, repeats: Shape) -> Any:
    """The adjoint of ``repeat``: the copies added up."""
    lengths = (1,) * (len(repeats) - len(shape)) + shape
    blocks = tuple(part for pair in zip(repeats, lengths, strict=True) for part in pair)
    kept = tuple(part for length in lengths for part in (1, length))
    return view(sum_to(view(g, shape=blocks), shape=kept), shape=shape)


@linear(x=lambda g, axes: flip(g, axes=axes), lies=as_input, gradient_lies=gradient_kept)
def flip(x, *, axes):
    """``x`` with the order of the items reversed along some dimensions."""
    return jnp.flip(x, axes) if x.ndim else x


@linear(
    x=lambda g, shifts, axes: roll(g, shifts=tuple(-shift for shift in shifts), axes=axes),
    lies=as_images, gradient_lies=gradient_of_images,
)  # fmt: skip
def roll(x, *, shifts, axes):
    """``x`` with the items of some dimensions moved on cyclically; without ``axes``, of the whole in a row."""
    if not axes:
        return roll.function(x.reshape(-1), shifts=shifts, axes=(0,)).reshape(x.shape)
    for shift, axis in zip(shifts, axes, strict=True):
        length = x.shape[axis]
        if length != 0:
            first = length - shift % length
            parts = lax.slice_in_dim(x, first, length, axis=axis), lax.slice_in_dim(x, 0, first, axis=axis)
            x = jnp.concatenate(parts, axis)
    return x


def _turned_back(place: Geometry, x: Spec, k: int, axes: tuple[int, int]) -> Geometry:
    turned = Geometry(place.shape, preserved_strides(*place[:2]))
    return transposed(turned, *axes) if k % 2 else turned


@linear(x=lambda g, k, axes: rot90(g, k=-k, axes=axes), gradient_lies=_turned_back)
def rot90(x, *, k, axes):
    """``x`` turned ``k`` times by a right angle in the plane of two dimensions, from the first towards the second."""
    return jnp.rot90(x, int(k), axes)  # jax asks of k alone whether it equals a number: see Note [Shape classes]


# -- padding -----------------------------------------------------------------------------------------------------------


Widths = tuple[tuple[int, int], ...]


def _without_ends(x: np.ndarray, widths: Widths) -> np.ndarray:
    return x[tuple([slice(low, -high or None) for low, high in widths])]


def _length_within(x: Any, widths: Widths) -> tuple[Any, Any]:
    return [length - low - high for length, (low, high) in zip(x.shape, widths, strict=True)], x.dtype


@on_host(_without_ends, nanoseconds=0.0, gives=_length_within)
def _cropped(x: Any, *, widths: Widths) -> Any:
    return lax.pad(x, jnp.zeros((), x.dtype), [(-low, -high, 0) for low, high in widths])


@linear(
    x=lambda g, widths: constant_pad(g, 0, widths=tuple((-low, -high) for low, high in widths)),
    jvp=lambda t_x, widths: constant_pad(t_x, 0, widths=widths),
    aten="constant_pad_nd", lies=as_images, gradient_lies=gradient_of_images, uniform=True,
)  # fmt: skip
def constant_pad(x, value, *, widths):
    """``x`` with ``value`` put before and after it, ``widths`` for each dimension; negative widths cut off."""
    if min(map(min, widths), default=0) < 0 and not all(isinstance(length, int) for length in x.shape):
        x = _cropped(x, widths=tuple([(max(-low, 0), max(-high, 0)) for low, high in widths]))
        widths = [(max(low, 0), max(high, 0)) for low, high in widths]
    return lax.pad(x, jnp.asarray(value).astype(x.dtype), [(*pair, 0) for pair in widths])


def _pad_operator(mode: str, dims: int, aten: str | None, **facts: Any) -> Operator:
    def by_shape(g: Any, x_shape: Shape, widths: Widths) -> Any:
        return pad_adjoint(g, mode=mode, widths=widths, shape=tuple(x_shape))

    def by_input(g: Any, x: Any, widths: Widths) -> Any:
        return by_shape(g, x.shape, widths)

    formula = by_shape if mode == "circular" else by_input  # PyTorch copies slices around

    @linear(x=formula, name=f"{mode}_pad{dims}d", aten=None if aten is None else f"{aten}{dims}d", **facts)
    def pad(x, *, widths):
        """``x`` with its own items put around it, ``widths`` for each of the last dimensions."""
        for axis, places in _pad_places(x.shape, widths, mode):
            x = jnp.take(x, places, axis)
        return x

    return pad


@linear(x=lambda g, mode, widths: PADS[mode, len(widths)](g, widths=widths), aten=None)
def pad_adjoint(x, *, mode, widths, shape):
    """The sums of what padding copied, where it came from: the adjoint of padding an array of this ``shape``."""
    for axis, places in _pad_places(shape, widths, mode):
        zeros = jnp.zeros((*x.shape[:axis], shape[axis], *x.shape[axis + 1 :]), x.dtype)
        x = zeros.at[(slice(None),) * axis + (places,)].add(x)
    return x


def _pad_places(shape: Shape, widths: Widths, mode: str) -> list[tuple[int, np.ndarray]]:
    """For each padded dimension, which item of the array stands at each place of the padded one."""
    first = len(shape) - len(widths)
    places = []
    for axis, (low, high) in enumerate(widths, first):
        length = shape[axis]
        steps = counting_along(length + low + high) - low
        if mode == "replicate":
            steps = steps.clip(0, length - 1)
        elif mode == "circular":
            first_kept, kept = max(-low, 0), length + min(low, 0) + min(high, 0)
            steps = (steps - first_kept) % max(kept, 1) + first_kept
        else:  # mirrored at the outermost items, which are not doubled
            steps = (length - 1) - abs((length - 1) - abs(steps))
        places.append((axis, steps))
    return places


PADS: dict[tuple[str, int], Operator] = {
    (mode, dims): _pad_operator(mode, dims, aten, **facts)
    for mode, aten, facts in (
        ("reflect", "reflection_pad", IMAGES | {"again": "zeros"}),
        ("replicate", "replication_pad", IMAGES | {"again": "zeros"}),
        ("circular", None, {"node": "torch::autograd::CopySlices", "profile": "_pad_circular"}),
    )
    for dims in (1, 2, 3)
}
"""The padding operator of a mode and a number of padded dimensions."""


# -- between channels and pixels ---------------------------------------------------------------------------------------


def _check_blocks(specs: Any, settings: dict) -> None:
    channels, factor = specs[0].shape[-3], settings["factor"]
    if isinstance(channels, int) and channels % factor**2:
        raise RuntimeError(f"pixel_shuffle expects channels divisible by {factor**2}, but got {channels}")


@checked(_check_blocks)
@linear(
    x=lambda g, factor: pixel_unshuffle(g, factor=factor), lies=as_images, gradient_lies=gradient_of_images,
    indifferent=True,
)  # fmt: skip
def pixel_shuffle(x, *, factor):
    """(..., C r^2, H, W) to (..., C, H r, W r): channels become blocks of pixels."""
    *batch, channels, height, width = x.shape
    n = len(batch)
    blocks = reshaped(x, (*batch, channels // factor**2, factor, factor, height, width))
    order = (*range(n + 1), n + 3, n + 1, n + 4, n + 2)
    return reshaped(blocks.transpose(order), (*batch, channels // factor**2, height * factor, width * factor))


@linear(
    x=lambda g, factor: pixel_shuffle(g, factor=factor), lies=as_images, gradient_lies=gradient_of_images,
    indifferent=True,
)  # fmt: skip
def pixel_unshuffle(x, *, factor):
    """(..., C, H r, W r) to (..., C r^2, H, W): the inverse of ``pixel_shuffle``."""
    *batch, channels, height, width = x.shape
    n = len(batch)
    blocks = reshaped(x, (*batch, channels, height // factor, factor, width // factor, factor))
    order = (*range(n + 1), n + 2, n + 4, n + 1, n + 3)
    return reshaped(blocks.transpose(order), (*batch, channels * factor**2, height // factor, width // factor))


@linear(
    x=lambda g, x_shape, groups: channel_shuffle(g, groups=x_shape[1] // groups),
    lies=as_images, gradient_lies=gradient_of_images,
)  # fmt: skip
def channel_shuffle(x, *, groups):
    """(N, C, ...) with the channels of ``groups`` groups dealt out in turn."""
    n, channels, *rest = x.shape
    return jnp.swapaxes(x.reshape(n, groups, channels // groups, *rest), 1, 2).reshape(x.shape)
