"""Discrete Fourier transforms: complex to complex, real to (half) complex, and half complex to real.

Note [Adjoints of Fourier transforms]
Let ``F`` be the sum of ``x_j exp(-2 pi i jk/n)``. Its adjoint is the unnormalized backward transform, with the factor
that stands before ``F``. ``fft_r2c`` is ``F`` of real numbers, of which the first ``n // 2 + 1`` outputs are kept: its
adjoint is the real part of the backward transform of a half spectrum and zeros. ``fft_c2r`` takes a half spectrum for
the whole of a Hermitian one, so that all but the first and (for an even ``n``) the last of its items count twice: its
adjoint is ``fft_r2c`` with these doubled. The adjoints of these adjoints are ``fft_r2c`` and ``fft_c2r`` again.
"""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
from jax import lax

from tapegrad.ops.kinds import linear


def _scaled(x: Any, norm: int, lengths: Any) -> Any:
    """``x`` with the factor of a normalization: 0 is none, 1 is ``1 / sqrt(n)``, 2 is ``1 / n``."""
    count = math.prod(lengths)
    if norm == 0 or count == 0:
        return x
    factor = 1 / math.sqrt(count) if norm == 1 else 1 / count
    return x * jnp.asarray(factor, jnp.real(x).dtype)


def _transformed(x: Any, axes: Any, forward: bool) -> Any:
    """The transforms along ``axes``, without a factor."""
    if not axes or x.size == 0:
        return x
    return jnp.fft.fftn(x, axes=axes) if forward else jnp.fft.ifftn(x, axes=axes, norm="forward")


def _weighted(x: Any, axis: int, length: int, weight: float) -> Any:
    """A half spectrum of ``length`` points with a weight on those items that stand for two."""
    places = jnp.arange(x.shape[axis])
    single = (places == 0) | (2 * places == length)
    shape = [1] * x.ndim
    shape[axis] = -1
    return x * jnp.where(single, 1, weight).astype(jnp.real(x).dtype).reshape(shape)


def _padded(x: Any, axis: int, length: int) -> Any:
    """``x`` with zeros behind it, or cut off, along an axis."""
    x = x[(slice(None),) * axis + (slice(0, length),)]
    return jnp.pad(x, [(0, length - x.shape[axis] if i == axis else 0) for i in range(x.ndim)])


def _to_real(x: Any, axes: Any, norm: int, length: Any) -> Any:
    """The backward transform of half a spectrum along the last of ``axes``, where it has ``length`` points."""
    *others, last = axes
    x = _padded(_transformed(x, tuple(others), False), last, length // 2 + 1)
    lengths = (*[x.shape[axis] for axis in others], length)
    if x.size == 0:
        return jnp.zeros((*x.shape[:last], length, *x.shape[last + 1 :]), jnp.real(x).dtype)
    if isinstance(length, int):
        return _scaled(jnp.fft.irfft(x, length, last, norm="forward"), norm, lengths)
    found = lax.fft(jnp.moveaxis(x, last, -1), "irfft", (length,))  # jax's function takes no symbols
    return _scaled(jnp.moveaxis(found * jnp.asarray(length, found.dtype), -1, last), norm, lengths)


def _from_real(x: Any, axes: Any, norm: int, onesided: bool) -> Any:
    """The forward transform of real numbers, of which the first half along the last of ``axes`` is kept."""
    *others, last = axes
    x = x.astype(jnp.promote_types(x.dtype, jnp.float32))
    lengths = [x.shape[axis] for axis in axes]
    if x.size == 0:
        kept = x.shape[last] // 2 + 1 if onesided else x.shape[last]
        return jnp.zeros((*x.shape[:last], kept, *x.shape[last + 1 :]), jnp.result_type(x.dtype, jnp.complex64))
    if not onesided:
        return _scaled(_transformed(x, axes, True), norm, lengths)
    return _scaled(_transformed(jnp.fft.rfft(x, axis=last), tuple(others), True), norm, lengths)


@linear(
    x=lambda g, axes, norm, forward: fft_c2c(g, axes=axes, norm=norm, forward=not forward), aten="_fft_c2c",
    saved={"dim": "axes", "normalization": "norm"},
)  # fmt: skip
def fft_c2c(x, *, axes, norm, forward):
    """The transform of complex numbers along ``axes``."""
    return _scaled(_transformed(x, axes, forward), norm, [x.shape[axis] for axis in axes])


@linear(
    x=lambda g, x, axes, norm, onesided: fft_r2c_adjoint(
        g, axes=axes, norm=norm, onesided=onesided, length=x.shape[axes[-1]]
    ),
    real=True, aten="_fft_r2c", saved={"dim": "axes", "normalization": "norm"},
)  # fmt: skip
def fft_r2c(x, *, axes, norm, onesided):
    """The transform of real numbers along ``axes``; if ``onesided``, the first half along the last of them."""
    return _from_real(x, axes, norm, onesided)


@linear(x=lambda g, axes, norm, onesided: fft_r2c(g, axes=axes, norm=norm, onesided=onesided), aten=None, uniform=True)
def fft_r2c_adjoint(x, *, axes, norm, onesided, length):
    """The adjoint of ``fft_r2c`` of ``length`` points along the last of ``axes``."""
    if onesided:
        return _to_real(_weighted(x, axes[-1], length, 0.5), axes, norm, length)
    return jnp.real(fft_c2c.function(x, axes=axes, norm=norm, forward=False))


@linear(
    x=lambda g, x_shape, axes, norm: fft_c2r_adjoint(g, axes=axes, norm=norm), aten="_fft_c2r",
    saved={"dim": "axes", "normalization": "norm"},
)  # fmt: skip
def fft_c2r(x, *, axes, norm, length):
    """The backward transform of half a Hermitian spectrum, which has ``length`` points along the last of ``axes``."""
    return _to_real(x, axes, norm, length)


@linear(
    x=lambda g, x_shape, axes, norm: fft_c2r(g, axes=axes, norm=norm, length=x_shape[axes[-1]]), real=True, aten=None,
)  # fmt: skip
def fft_c2r_adjoint(x, *, axes, norm):
    """The adjoint of ``fft_c2r``."""
    return _weighted(_from_real(x, axes, norm, True), axes[-1], x.shape[axes[-1]], 2)
