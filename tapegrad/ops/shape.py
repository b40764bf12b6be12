"""Operators that move elements without computing: views, slices, diagonals, copies in another order, padding.

An operator and its adjoint stand together. An index or a start is an argument, not a setting: ``x[0]`` and ``x[1]``
are one kernel, and ``plain_inputs`` says that such a number is no saved value (PyTorch frees only those after a
backward).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from tapegrad._src.execution.numpy_backend.forms import on_host
from tapegrad._src.tensor.geometry import Geometry, permuted, transposed, viewed
from tapegrad._src.tensor.spec import Spec
from tapegrad.ops.checks import checked
from tapegrad.ops.kinds import linear
from tapegrad.ops.memory_formats import as_input

Shape = tuple[int, ...]


# -- the same elements in another shape --------------------------------------------------------------------------------


def _viewed_back(place: Geometry, x: Spec, **settings: Any) -> Geometry | None:
    return viewed(place, tuple(x.shape))


@on_host(np.reshape, nanoseconds=0.0, gives=lambda x, shape: (shape, x.dtype))
def _in_shape(x: Any, *, shape: Shape) -> Any:
    return x.reshape(shape)


def reshaped(x: Any, shape: Shape) -> Any:
    """``x.reshape(shape)``; where lengths are symbols jax need not see why there are as many elements."""
    return x.reshape(shape) if math.prod(x.shape) == math.prod(shape) else _in_shape(x, shape=tuple(shape))


def _check_count(specs: Sequence, settings: dict) -> None:
    (x,), shape = specs, settings["shape"]
    if all(isinstance(length, int) for length in (*x.shape, *shape)) and x.numel != math.prod(shape):
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {x.numel}")


@checked(_check_count)
@linear(x=lambda g, x_shape: view(g, shape=tuple(x_shape)), gradient_lies=_viewed_back, uniform=True, loose=True)
def view(x, *, shape):
    """The elements of ``x``, in row-major order, in another shape."""
    return reshaped(x, shape)


@checked(_check_count)
@linear(
    x=lambda g, x_shape: view(g, shape=tuple(x_shape)), aten="_unsafe_view", gradient_lies=_viewed_back,
    uniform=True, loose=True,
)  # fmt: skip
def unsafe_view(x, *, shape):
    """``view`` of a fresh result, which no other tensor shares."""
    return reshaped(x, shape)


@linear(x=lambda g: g)
def alias(x):
    """``x``, as a tensor of its own."""
    return x


@linear(x=lambda g: g, lies=as_input, uniform=True)
def clone(x):
    """A copy of ``x``."""
    return jnp.asarray(x)


@linear(
    x=lambda g, axes: permute(g, axes=inverse_permutation(axes)),
    gradient_lies=lambda place, x, axes: permuted(place, inverse_permutation(axes)),
    uniform=True,
)
def permute(x, *, axes):
    """``x`` with its dimensions in the order ``axes``."""
    return jnp.transpose(x, axes)


def inverse_permutation(axes: Sequence[int]) -> Shape:
    """The permutation that undoes ``axes``.

    >>> inverse_permutation((2, 0, 1))
    (1, 2, 0)
    """
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))


@linear(
    x=lambda g, axis0, axis1: transpose(g, axis0=axis0, axis1=axis1), aten=".int",
    gradient_lies=lambda place, x, axis0, axis1: transposed(place, axis0, axis1), uniform=True,
)  # fmt: skip
def transpose(x, *, axis0, axis1):
    """``x`` with two dimensions exchanged; of a 0-dim array, the array."""
    return jnp.swapaxes(x, axis0, axis1) if x.ndim else x


@linear(x=lambda g: t(g), gradient_lies=lambda place, x: permuted(place, tuple(reversed(range(x.ndim)))))
def t(x):
    """The transpose of a matrix; an array of fewer dimensions as it is."""
    return x.T


@linear(x=lambda g, x_shape: view(g, shape=tuple(x_shape)), gradient_lies=_viewed_back)
def squeeze(x):
    """``x`` without its dimensions of length 1."""
    return jnp.squeeze(x, tuple(axis for axis, length in enumerate(x.shape) if length == 1))


@linear(
    x=lambda g, x_shape: view(g, shape=tuple(x_shape)), aten=".dim", node=1, family="squeeze",
    gradient_lies=_viewed_back,
)  # fmt: skip
def squeeze_axis(x, *, axis):
    """``x`` without the dimension ``axis`` if that has length 1."""
    return x.reshape(without_ones(x.shape, (axis,)))


@linear(
    x=lambda g, x_shape: view(g, shape=tuple(x_shape)), aten=".dims", node=2, family="squeeze",
    gradient_lies=_viewed_back,
)  # fmt: skip
def squeeze_axes(x, *, axis):
    """``x`` without those of the dimensions ``axis`` that have length 1."""
    return x.reshape(without_ones(x.shape, axis))


def without_ones(shape: Shape, axes: Sequence[int]) -> Shape:
    """``shape`` without those of ``axes`` in which it is 1."""
    return tuple(length for axis, length in enumerate(shape) if axis not in axes or length != 1)


@linear(x=lambda g, x_shape: view(g, shape=tuple(x_shape)), gradient_lies=_viewed_back, uniform=True)
def unsqueeze(x, *, axis):
    """``x`` with a dimension of length 1 inserted before ``axis``."""
    return jnp.expand_dims(x, axis)
