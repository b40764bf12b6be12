"""Rules for how results lie in memory (the fact ``lies``) and gradients (``gradient_lies``).

A rule of results is a function of the shape of one and of the specs of the inputs that gives strides; one of gradients
is described in Note [Gradients as views]. Both give None for row-major order.
"""

from __future__ import annotations

from typing import Any

from tapegrad._src.tensor.geometry import (
    CHANNELS_LAST,
    Geometry,
    Ints,
    channels_last_strides,
    contiguous_strides,
    elementwise_strides,
    preserved_strides,
    seems_channels_last,
)
from tapegrad._src.tensor.spec import Spec


def as_input(shape: Ints, x: Any, *others: Any) -> Ints | None:
    """In the order in which the dimensions of the first input lie."""
    return None if x.strides is None else preserved_strides(shape, x.strides)


def by_rows(shape: Ints, *specs: Any) -> None:
    """In row-major order, though the operator is elementwise."""
    return


def exchanged(shape: Ints, x: Any, y: Any, *others: Any) -> Ints:
    """As the result of an elementwise operator of two tensors, or numbers, that lie so, the second first."""
    operands = [(tuple(spec.shape), spec.layout) if isinstance(spec, Spec) else ((), ()) for spec in (y, x)]
    return elementwise_strides(shape, operands)


def as_images(shape: Ints, *specs: Any) -> Ints | None:
    """Channels innermost, if they are so in the first input."""
    return as_any_images(shape, specs[0])


def as_any_images(shape: Ints, *specs: Any) -> Ints | None:
    """Channels innermost, if they are so in one of the inputs."""
    return channels_last_strides(shape) if len(shape) in CHANNELS_LAST and any(map(_is_images, specs)) else None


def as_all_images(shape: Ints, *specs: Any) -> Ints | None:
    """Channels innermost, if they are so in all inputs."""
    return as_any_images(shape, *specs) if all(map(_is_images, specs)) else None


def _is_images(x: Any) -> bool:
    return isinstance(x, Spec) and x.strides is not None and seems_channels_last(tuple(x.shape), x.strides)


def by_columns(shape: Ints, *specs: Any) -> Ints | None:
    """Matrices column by column, as LAPACK leaves them."""
    if len(shape) != max(spec.ndim for spec in specs):
        return None
    *strides, _, _ = contiguous_strides(shape)
    return (*strides, 1, max(shape[-2], 1))


def gradient_as_input(place: Geometry, x: Spec, **settings: Any) -> Geometry | None:
    """In the order in which the dimensions of the input lie."""
    strides = as_input(tuple(x.shape), x)
    return Geometry(tuple(x.shape), strides) if strides else None


def gradient_as_matrix(place: Geometry, x: Spec, **settings: Any) -> Geometry | None:
    """In the order in which the dimensions of the input lie, if it is a matrix, and no batch of them."""
    return gradient_as_input(place, x) if x.ndim == 2 else None


def gradient_in_order(place: Geometry, x: Spec, **settings: Any) -> None:
    """In row-major order, though the operator is elementwise."""
    return


def gradient_as_images(place: Geometry, x: Spec, **settings: Any) -> Geometry | None:
    """Channels innermost, if they are so in the input."""
    shape = tuple(x.shape)
    strides = as_images(shape, x)
    return Geometry(shape, strides) if strides else None


def gradient_of_images(place: Geometry, x: Spec, **settings: Any) -> Geometry | None:
    """Channels innermost, if they are so in the gradient of the result."""
    shape = tuple(x.shape)
    last = len(shape) in CHANNELS_LAST and seems_channels_last(place.shape, place.strides)
    return Geometry(shape, channels_last_strides(shape)) if last else None


def gradient_kept(place: Geometry, x: Any, **settings: Any) -> Geometry | None:
    """In the order of the dimensions of the result's gradient, if there was no broadcasting."""
    shape = tuple(x.shape)
    return Geometry(shape, preserved_strides(shape, place.strides)) if shape == place.shape else None


IMAGES: dict[str, Any] = {"lies": as_images, "gradient_lies": gradient_as_images}
"""The facts of layers that leave channels where they are in the input."""
