"""Bessel functions of both kinds, modified ones, and Airy's function. None of them has a derivative in PyTorch.

Note [Bessel functions by quadrature]
Close to 0 they are power series (with a logarithm, those of the second kind). Elsewhere they all follow from
Macdonald's function in the right half of the complex plane (Watson, Theory of Bessel Functions, 6.22): with
``sinh(t/2) = w`` and ``2 z w^2 = s^2`` in its integral,

    K_nu(z) = int_0^inf exp(-z cosh t) cosh(nu t) dt
            = exp(-z) int_0^inf exp(-s^2) 2 cosh(2 nu asinh w) / (sqrt(2 z) sqrt(1 + w^2)) ds

The integrand is even, analytic, and falls like a normal density, so that the trapezoidal rule errs by about
``exp(-2 pi d / h)``, where ``h`` is the step and ``d`` the distance from the line of the branch point, where ``w = i``:
``sqrt(2 z)`` for real ``z``, ``sqrt(|z|)`` for imaginary ones. With ``d >= 2`` and ``h = 0.3`` that is below 1e-17.
On the imaginary axis ``K`` is a Hankel function: ``J_nu(x) - i Y_nu(x) = (2i/pi) exp(i nu pi/2) K_nu(ix)``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from tapegrad.ops.kinds import elementwise

STEP = 0.3
NODES = tuple(STEP * k for k in range(22))
"""The points at which the integrand is taken; beyond the last of them ``exp(-s^2)`` is below 1e-17."""


def _quadrature(z: Any, nu: float) -> Any:
    """``exp(z) K_nu(z)``: see Note [Bessel functions by quadrature]."""
    root = 1 / jnp.sqrt(2 * z)
    total = jnp.zeros_like(z)
    for k, s in enumerate(NODES):
        w = s * root
        radius = jnp.sqrt(1 + w * w)
        if nu in (0, 1):
            wave = 1 + 2 * w * w if nu else jnp.ones_like(w)
        else:
            growth = jnp.exp(2 * nu * jnp.log(w + radius))
            wave = (growth + 1 / growth) / 2
        total = total + (0.5 if k == 0 else 1.0) * math.exp(-s * s) * wave / radius
    return 2 * STEP * root * total


def _hankel(x: Any, nu: float) -> Any:
    """The Hankel function of the second kind, ``J - i Y``, of a positive number that is not small."""
    z = lax.complex(jnp.zeros_like(x), x)
    wave = lax.complex(jnp.cos(x), -jnp.sin(x))
    turn = complex(math.cos(nu * math.pi / 2), math.sin(nu * math.pi / 2)) * 2j / math.pi
    return jnp.asarray(turn, z.dtype) * wave * _quadrature(z, nu)


def _series(x: Any, coefficients: Sequence[float]) -> Any:
    """A polynomial in ``x``, by Horner's rule; the coefficients in rising order."""
    total = jnp.zeros_like(x)
    for coefficient in reversed(coefficients):
        total = total * x + coefficient
    return total


TERMS = 28
_HARMONIC = [sum(1 / i for i in range(1, k + 1)) for k in range(TERMS + 1)]
_FACTORIAL = [math.factorial(k) for k in range(TERMS + 1)]
_OF_0 = [1 / _FACTORIAL[k] ** 2 for k in range(TERMS)]
_OF_1 = [1 / (_FACTORIAL[k] * _FACTORIAL[k + 1]) for k in range(TERMS)]
_LOG_OF_0 = [_HARMONIC[k] * _OF_0[k] for k in range(TERMS)]
_LOG_OF_1 = [(_HARMONIC[k] + _HARMONIC[k + 1]) / 2 * _OF_1[k] for k in range(TERMS)]
"""Coefficients in powers of ``x^2 / 4`` (DLMF 10.2.2, 10.8.1, 10.31.1): of the first kind of orders 0 and 1, and of
what goes with the logarithm in the second."""

EULER = 0.5772156649015329
NEAR_J, NEAR_K = 5.0, 2.0


def _logarithm(x: Any) -> Any:
    return jnp.log(x) - math.log(2) + EULER


def _apart(x: Any, near: Any, inside: float, outside: float) -> tuple[Any, Any]:
    """``x`` for a branch that is taken near 0, and for one that is taken elsewhere; harmless in the other's place."""
    return jnp.where(near, x, inside), jnp.where(near, outside, x)


@elementwise(promote="float", real=True, aten="special_bessel_j0")
def bessel_j0(x):
    """The Bessel function of the first kind of order 0."""
    near = jnp.abs(x) < NEAR_J
    small, large = _apart(jnp.abs(x), near, 0, 10)
    return jnp.where(near, _series(-small * small / 4, _OF_0), jnp.real(_hankel(large, 0)))


@elementwise(promote="float", real=True, aten="special_bessel_j1")
def bessel_j1(x):
    """The Bessel function of the first kind of order 1."""
    near = jnp.abs(x) < NEAR_J
    small, large = _apart(x, near, 0, 10)
    far = jnp.sign(large) * jnp.real(_hankel(jnp.abs(large), 1))
    return jnp.where(near, small / 2 * _series(-small * small / 4, _OF_1), far)


def _second_kind(x: Any, near: Any, far: Any) -> Any:
    """The second kind has a pole at 0 and no values to the left of it."""
    value = jnp.where(x < NEAR_J, near, far)
    return jnp.where(x == 0, -jnp.inf, jnp.where(x < 0, jnp.nan, value))


@elementwise(promote="float", real=True, aten="special_bessel_y0")
def bessel_y0(x):
    """The Bessel function of the second kind of order 0."""
    small, large = _apart(x, (x > 0) & (x < NEAR_J), 1, 10)
    square = -small * small / 4
    near = 2 / math.pi * (_logarithm(small) * _series(square, _OF_0) - _series(square, _LOG_OF_0))
    return _second_kind(x, near, -jnp.imag(_hankel(jnp.where(large > 0, large, 10), 0)) + 0 * large)


@elementwise(promote="float", real=True, aten="special_bessel_y1")
def bessel_y1(x):
    """The Bessel function of the second kind of order 1."""
    small, large = _apart(x, (x > 0) & (x < NEAR_J), 1, 10)
    square = -small * small / 4
    regular = _logarithm(small) * _series(square, _OF_1) - _series(square, _LOG_OF_1)
    near = 2 / math.pi * (small / 2 * regular - 1 / small)
    return _second_kind(x, near, -jnp.imag(_hankel(jnp.where(large > 0, large, 10), 1)) + 0 * large)


# -- modified ----------------------------------------------------------------------------------------------------------


@elementwise(promote="float", real=True, aten="special_modified_bessel_i0")
def modified_bessel_i0(x):
    """The modified Bessel function of the first kind of order 0."""
    return jnp.where(jnp.isinf(x), jnp.nan, jax.scipy.special.i0(x))


@elementwise(promote="float", real=True, aten="special_modified_bessel_i1")
def modified_bessel_i1(x):
    """The modified Bessel function of the first kind of order 1."""
    return jnp.where(jnp.isinf(x), jnp.nan, jax.scipy.special.i1(x))


def _macdonald(x: Any, nu: int, scaled: bool) -> Any:
    """Macdonald's function, times ``exp(x)`` if ``scaled``; nan to the left of 0."""
    small, large = _apart(x, (x > 0) & (x < NEAR_K), 1, 10)
    square = small * small / 4
    if nu == 0:
        near = _series(square, _LOG_OF_0) - _logarithm(small) * _series(square, _OF_0)
    else:
        regular = _logarithm(small) * _series(square, _OF_1) - _series(square, _LOG_OF_1)
        near = 1 / small + small / 2 * regular
    far = _quadrature(jnp.where(large > 0, large, 10), nu) + 0 * jnp.where(jnp.isinf(large), 0, large)
    value = (
        jnp.where(x < NEAR_K, near * jnp.exp(small), far)
        if scaled
        else jnp.where(x < NEAR_K, near, far * jnp.exp(-large))
    )
    return jnp.where(x == 0, jnp.inf, jnp.where(x < 0, jnp.nan, value))


@elementwise(promote="float", real=True, aten="special_modified_bessel_k0")
def modified_bessel_k0(x):
    """The modified Bessel function of the second kind of order 0."""
    return _macdonald(x, 0, False)


@elementwise(promote="float", real=True, aten="special_modified_bessel_k1")
def modified_bessel_k1(x):
    """The modified Bessel function of the second kind of order 1."""
    return _macdonald(x, 1, False)


@elementwise(promote="float", real=True, aten="special_scaled_modified_bessel_k0")
def scaled_modified_bessel_k0(x):
    """``modified_bessel_k0(x) * exp(x)``."""
    return _macdonald(x, 0, True)


@elementwise(promote="float", real=True, aten="special_scaled_modified_bessel_k1")
def scaled_modified_bessel_k1(x):
    """``modified_bessel_k1(x) * exp(x)``."""
    return _macdonald(x, 1, True)


# -- relatives ---------------------------------------------------------------------------------------------------------


@elementwise(promote="float", real=True, aten="special_spherical_bessel_j0")
def spherical_bessel_j0(x):
    """``sin(x) / x``."""
    there = jnp.where((x == 0) | jnp.isinf(x), 1, x)
    return jnp.where(x == 0, 1, jnp.where(jnp.isinf(x), 0, jnp.sin(there) / there))


AI_0, AI_SLOPE = 3 ** (-2 / 3) / math.gamma(2 / 3), -(3 ** (-1 / 3)) / math.gamma(1 / 3)


def _airy_terms(first: int) -> list[float]:
    """Coefficients in powers of ``x^3`` of the solution of ``y'' = xy`` that begins with ``x^first`` (DLMF 9.4.1)."""
    terms = [1.0]
    for k in range(1, 30):
        n = 3 * k + first
        terms.append(terms[-1] / (n * (n - 1)))
    return terms


@elementwise(promote="float", real=True, aten="special_airy_ai")
def airy_ai(x):
    """Airy's function ``Ai``: by its series, or as Bessel functions of order 1/3 (DLMF 9.6.2, 9.6.6)."""
    near = (x > -3.5) & (x < 2.1)
    small, large = _apart(x, near, 0, 5)
    cube = small**3
    series = AI_0 * _series(cube, _airy_terms(0)) + AI_SLOPE * small * _series(cube, _airy_terms(1))
    size = jnp.where(jnp.isinf(large), 5, jnp.abs(large))
    phase, factor = 2 / 3 * size * jnp.sqrt(size), jnp.sqrt(size / 3)
    right = factor / math.pi * jnp.exp(-phase) * _quadrature(phase, 1 / 3)
    turn = jnp.asarray(complex(math.cos(math.pi / 6), -math.sin(math.pi / 6)), jnp.result_type(x.dtype, jnp.complex64))
    left = factor * jnp.real(turn * _hankel(phase, 1 / 3))
    value = jnp.where(near, series, jnp.where(x > 0, right, left))
    return jnp.where(jnp.isfinite(x), value, jnp.nan)
