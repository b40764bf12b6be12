"""Orthogonal polynomials of any degree, elementwise in argument and degree. None of them has a derivative in PyTorch.

All are solutions of a recurrence of three terms (DLMF 18.9), run to the highest degree asked for; each element keeps
its own. A degree is rounded towards 0; to a negative one, and to nan, belongs the polynomial 0. Chebyshev polynomials
of high degrees are between -1 and 1 what defines them: cosines and sines of multiples of ``arccos(x)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from tapegrad._src.execution.tiers.host_trace import while_loop
from tapegrad.ops.kinds import elementwise
from tapegrad.ops.operator import Operator

Step = Callable[[Any, Any, Any, Any], Any]
"""The polynomial of degree k + 1, by x, k and those of degrees k and k - 1."""


def _degree(n: Any) -> Any:
    """Degrees as integers; those that are none are -1."""
    return jnp.where(jnp.abs(n) < 2.0**31, n, -1).astype(jnp.int32)


def _recurrence(x: Any, n: Any, first: Any, step: Step) -> Any:
    """The polynomials of degrees ``n`` that begin with 1 and ``first``."""

    def go(state: Any) -> Any:
        k, before, last = state
        after = step(x, jnp.asarray(k, x.dtype), last, before)
        return k + 1, jnp.where(k < n, last, before), jnp.where(k < n, after, last)

    def is_due(state: Any) -> Any:
        k, _, last = state
        return jnp.any((k < n) & ~jnp.isnan(last))  # nan is there to stay, and comes soon where numbers grow

    start = (jnp.asarray(1, jnp.int32), jnp.ones_like(x), first)
    _, _, last = while_loop(is_due, go, start)
    return jnp.where(n < 0, 0, jnp.where(n == 0, 1, last))


def _family(name: str, first: Callable, step: Step, limit: Callable[[Any], int] | None = None) -> Operator:
    @elementwise(promote="float", real=True, name=name, aten=f"special_{name}")
    def polynomial(x, n):
        """An orthogonal polynomial."""
        x, n = jnp.broadcast_arrays(x, n)
        degree = _degree(n)
        bound = None if limit is None else limit(x)
        reached = degree if bound is None else jnp.minimum(degree, bound)
        value = _recurrence(x, reached, first(x), step)
        return value if bound is None else jnp.where(degree > bound, jnp.nan, value)

    return polynomial


TRIGONOMETRIC_FROM = 7
"""The lowest degree of a Chebyshev polynomial that is computed from cosines."""


def _wave(kind: str, angle: Any, n: Any) -> Any:
    """A Chebyshev polynomial at ``cos(angle)``, by its definition."""
    if kind == "t":
        return jnp.cos(n * angle)
    if kind == "u":
        return jnp.sin((n + 1) * angle) / jnp.sin(angle)
    if kind == "v":
        return jnp.cos((n + 0.5) * angle) / jnp.cos(angle / 2)
    return jnp.sin((n + 0.5) * angle) / jnp.sin(angle / 2)


def _at_ends(kind: str, x: Any, degree: Any) -> Any:
    """A Chebyshev polynomial where ``x`` is 1 or -1, the limits of its definition."""
    n, sign = degree.astype(x.dtype), jnp.where((x < 0) & (degree % 2 != 0), -1, 1)
    size = {"t": 1, "u": n + 1, "v": jnp.where(x < 0, 2 * n + 1, 1), "w": jnp.where(x < 0, 1, 2 * n + 1)}[kind]
    return jnp.where(degree < 0, 0, sign * size)


FIRST = {"t": lambda x: x, "u": lambda x: 2 * x, "v": lambda x: 2 * x - 1, "w": lambda x: 2 * x + 1}
"""The Chebyshev polynomials of degree 1, of the four kinds."""


def _chebyshev(kind: str, shifted: bool) -> Operator:
    name = f"{'shifted_' if shifted else ''}chebyshev_polynomial_{kind}"

    @elementwise(promote="float", real=True, name=name, aten=f"special_{name}")
    def polynomial(x, n):
        """A Chebyshev polynomial."""
        x, n = jnp.broadcast_arrays(2 * x - 1 if shifted else x, n)
        degree = _degree(n)
        inside = (jnp.abs(x) < 1) & (degree >= TRIGONOMETRIC_FROM)
        wave = _wave(kind, jnp.arccos(jnp.where(inside, x, 0)), degree.astype(x.dtype))
        at_end = jnp.abs(x) == 1
        low = jnp.where(inside | at_end, 0, degree)
        value = _recurrence(x, low, FIRST[kind](x), lambda x, k, p, q: 2 * x * p - q)
        return jnp.where(inside, wave, jnp.where(at_end, _at_ends(kind, x, degree), value))

    return polynomial


CHEBYSHEV = {
    ("shifted_" if shifted else "") + f"chebyshev_polynomial_{kind}": _chebyshev(kind, shifted)
    for shifted in (False, True)
    for kind in FIRST
}
"""Chebyshev polynomials of the four kinds, on [-1, 1] and shifted to [0, 1]."""


def _hermite_limit(x: Any) -> int:
    """The highest degree for which PyTorch computes Hermite polynomials; beyond it says nan."""
    return 512 if x.dtype == jnp.float64 else 128


OTHERS = {
    "hermite_polynomial_h": _family(
        "hermite_polynomial_h", lambda x: 2 * x, lambda x, k, p, q: 2 * (x * p - k * q), _hermite_limit
    ),
    "hermite_polynomial_he": _family(
        "hermite_polynomial_he", lambda x: x, lambda x, k, p, q: x * p - k * q, _hermite_limit
    ),
    "laguerre_polynomial_l": _family(
        "laguerre_polynomial_l", lambda x: 1 - x, lambda x, k, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1)
    ),
    "legendre_polynomial_p": _family(
        "legendre_polynomial_p", lambda x: x, lambda x, k, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1)
    ),
}
"""Hermite polynomials (the physicists' and the probabilists'), Laguerre and Legendre polynomials."""
