"""What rules of the NumPy backend are held against XLA with: for each primitive functions, arguments, and the accuracy.

Arguments have what goes wrong: zeros of both signs, infinities, nan, the largest and the least numbers, ties, no
elements, no dimensions. Each primitive's cases are one program for XLA, as its compiler is what takes time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

FLOATS = [np.dtype(name) for name in ("float32", "float64", "float16")] + [np.dtype(jnp.bfloat16)]
COMPLEX = [np.dtype("complex64"), np.dtype("complex128")]
SIGNED = [np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)]
UNSIGNED = [np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)]
INTEGERS = [*SIGNED, *UNSIGNED]
BOOL = [np.dtype(bool)]
SOME_INTEGERS = [np.dtype(name) for name in ("int8", "int64", "uint8", "uint32")]
"""Enough where XLA takes long to compile each."""


class Case(NamedTuple):
    """One function, which has the primitive, and its arguments.

    Attributes:
        ulps: how many units in the last place floating-point results may differ by.
        near: how much they may differ by besides, where a function has a zero.
        zeros: whether the signs of zeros must be the same.
    """

    function: Callable
    arguments: tuple[np.ndarray, ...]
    ulps: float = 0
    near: float = 0
    zeros: bool = True


CASES: dict[str, list[Case]] = {}


def case(primitive: str, function: Callable, *arguments: Any, **accuracy: Any) -> None:
    """Add a case."""
    CASES.setdefault(primitive, []).append(Case(function, tuple(map(np.asarray, arguments)), **accuracy))


def numbers(dtype: Any, finite: bool = False) -> np.ndarray:
    """Whatever is special among the numbers of a dtype, and some that are not."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([True, False])
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        signed = [-1, -2, -7, -100] if dtype.kind == "i" else [200]
        return np.array([0, 1, 2, 3, 7, 100, limits.max, limits.max - 1, limits.min, *signed], dtype)
    if dtype.kind == "c":
        parts = [0.7, 0.5, -1.25, 3.0] if finite else [0.0, -0.0, 0.5, -1.25, np.inf, -np.inf, np.nan]
        return np.array([complex(a, b) for a in parts for b in parts], dtype)
    limits = jnp.finfo(dtype)
    special = [] if finite else [np.nan, np.inf, -np.inf, limits.max, limits.min, limits.tiny, -limits.tiny]
    plain = [0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, 0.7, -0.3, 0.999, 3, -4, 7.3, 11, -13.7]
    return np.array([*plain, *special]).astype(dtype)


def pairs(dtype: Any, finite: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of such numbers."""
    values = numbers(dtype, finite)
    return np.repeat(values, values.size), np.tile(values, values.size)


def random(*shape: int, dtype: Any = "float32", seed: int = 0) -> np.ndarray:
    """Numbers around zero, with ties."""
    values = np.random.default_rng(seed).integers(-8, 9, shape)
    if np.dtype(dtype).kind == "u":
        values = abs(values)
    if np.dtype(dtype).kind == "b":
        return values > 0
    return (values if np.dtype(dtype).kind in "iu" else values / 4).astype(dtype)


def unary(primitive: str, function: Callable, dtypes: list, **accuracy: Any) -> None:
    """A function of one array: special numbers, none, and one without dimensions."""
    for dtype in dtypes:
        finite = accuracy.get("ulps", 0) > 0 and dtype.kind == "c"
        values = numbers(dtype, finite)
        case(primitive, function, values, **accuracy)
        case(primitive, function, values[3 % values.size], **accuracy)
    case(primitive, function, np.empty((0, 2), dtypes[0]), **accuracy)


def binary(primitive: str, function: Callable, dtypes: list, **accuracy: Any) -> None:
    """A function of two arrays: pairs of special numbers, none, and such without dimensions."""
    for dtype in dtypes:
        finite = accuracy.get("ulps", 0) > 0 and dtype.kind == "c"
        case(primitive, function, *pairs(dtype, finite), **accuracy)
    values = numbers(dtypes[0])
    case(primitive, function, values[2 % values.size], values[1], **accuracy)
    case(primitive, function, np.empty(0, dtypes[0]), np.empty(0, dtypes[0]), **accuracy)
    broadcast = lambda x, y: function(jnp.broadcast_to(x[:, None], (3, 2)), jnp.broadcast_to(y, (3, 2)))
    case(primitive, broadcast, np.array([1, 2, 3], dtypes[0]), np.array([1, 2], dtypes[0]), **accuracy)


# -- arithmetic --------------------------------------------------------------------------------------------------------

for name in ("add", "sub", "mul"):
    binary(name, getattr(lax, name), [*FLOATS, *INTEGERS])
    binary(name, getattr(lax, name), COMPLEX, ulps=1)
binary("div", lax.div, [*FLOATS, *INTEGERS])
for dtype in COMPLEX:
    case("div", lax.div, *pairs(dtype), ulps=4, zeros=False)
for name, number in (("mul", 1), ("div", 1), ("sub", 0), ("sub", -0.0), ("add", 0), ("max", -np.inf), ("min", np.inf)):
    both_ways = lambda x, n, name=name: (getattr(lax, name)(x, n), getattr(lax, name)(n, x))
    change = lambda x, f=both_ways, n=number: f(x, x.dtype.type(n))
    case(name, change, numbers("float32"), zeros=name not in ("add", "sub"))  # XLA drops what is added, and -0 stays
binary("rem", lax.rem, [*FLOATS, *INTEGERS])
unary("neg", lax.neg, [*FLOATS, *COMPLEX, *INTEGERS])
unary("abs", lax.abs, [*FLOATS, *SIGNED])
unary("abs", lax.abs, COMPLEX, ulps=2)
unary("sign", lax.sign, [*FLOATS, *INTEGERS])
unary("sign", lax.sign, COMPLEX, ulps=2)
unary("square", lax.square, [*FLOATS, *INTEGERS])
unary("square", lax.square, COMPLEX, ulps=1)
for name in ("floor", "ceil", "is_finite"):
    unary(name, getattr(lax, name), FLOATS)
for method in lax.RoundingMethod:
    unary("round", lambda x, method=method: lax.round(x, method), FLOATS)
case("round", lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), np.array([0.5, 1, 1.5]) - 1e-16)
for name in ("max", "min"):
    binary(name, getattr(lax, name), [*FLOATS, *INTEGERS, *BOOL], zeros=False)
for name in ("eq", "ne"):
    binary(name, getattr(lax, name), [*FLOATS, *COMPLEX, *INTEGERS, *BOOL])
for name in ("lt", "le", "gt", "ge"):
    binary(name, getattr(lax, name), [*FLOATS, *INTEGERS, *BOOL])
for name in ("eq_to", "lt_to", "le_to"):
    binary(name, getattr(lax, f"{name}_p").bind, [*FLOATS, *INTEGERS])
case("optimization_barrier", lax.optimization_barrier, numbers("float32"))
for dtype in (*FLOATS, *INTEGERS):
    low, high = np.array(2, dtype), np.array(7, dtype)
    case("clamp", lax.clamp, low, numbers(dtype), high)
    case("clamp", lax.clamp, numbers(dtype)[::-1], numbers(dtype), numbers(dtype), zeros=False)

# -- functions of real and complex numbers -----------------------------------------------------------------------------

for name in ("exp", "log", "log1p", "expm1", "sqrt", "rsqrt", "logistic", "tanh", "sin", "cos", "tan", "sinh", "cosh",
             "asin", "acos", "atan", "asinh", "acosh", "atanh"):  # fmt: skip
    unary(name, getattr(lax, name), FLOATS, ulps=4)
for name in ("exp", "log", "sqrt", "rsqrt", "logistic", "tanh", "sin", "cos", "tan", "sinh", "cosh", "log1p", "expm1",
             "asin", "acos", "atan", "asinh", "acosh", "atanh"):  # fmt: skip
    unary(name, getattr(lax, name), COMPLEX, ulps=16, zeros=False)
unary("cbrt", lax.cbrt, FLOATS, ulps=64)  # XLA's are off by that
for dtype in FLOATS:
    case("exp2", lax.exp2, numbers(dtype), ulps=16)
unary("exp2", lax.exp2, COMPLEX, ulps=16)
unary("erf", lax.erf, FLOATS, ulps=8)
unary("erfc", lax.erfc, FLOATS, ulps=32)
unary("erf_inv", lax.erf_inv, FLOATS, ulps=24)
unary("lgamma", lax.lgamma, FLOATS, ulps=16, near=2e-6)
unary("digamma", lax.digamma, FLOATS, ulps=64, near=2e-6)
unary("bessel_i0e", lax.bessel_i0e, FLOATS, ulps=16)
unary("bessel_i1e", lax.bessel_i1e, FLOATS, ulps=16)
for name in ("erf", "erfc", "lgamma", "digamma", "bessel_i0e", "bessel_i1e"):
    case(name, getattr(lax, name), np.linspace(-9, 9, 301), ulps=1024)
orders = np.array([-1, 0, 0.5, 1, 1.5, 2, 3, 4, 7, np.inf, np.nan])
places = np.array([-3, -1.3, -0.6, 0, -0.0, 0.1, 1, 2.5, 10, 100, np.inf, np.nan, -np.inf])
for dtype in FLOATS[:2]:
    grids = [grid.ravel().astype(dtype) for grid in np.meshgrid(orders, places)]
    case("zeta", lax.zeta, *grids, ulps=256, near=1e-14)
    inner = np.isfinite(grids[0]) & (grids[0] != 0)  # XLA's are nan at infinite orders, and near 0 at 0
    near = 1e-14 if dtype.itemsize == 8 else 2e-6
    for name in ("igamma", "igammac"):
        case(name, getattr(lax, name), *(grid[inner] for grid in grids), ulps=2048, near=near)
    case("polygamma", lax.polygamma, *grids, ulps=256, near=1e-6)
binary("atan2", lax.atan2, FLOATS, ulps=2)
binary("nextafter", lax.nextafter, FLOATS[:2])
binary("pow", lax.pow, FLOATS, ulps=4)
case("pow", lax.pow, *pairs("complex128", finite=True), ulps=64, zeros=False)
case("pow", lax.pow, numbers("float32")[:, None], random(25, 1, dtype="int32"), ulps=4)
for exponent in (-3, -1, 0, 1, 2, 3, 4, 7):
    for dtype in [*FLOATS, *COMPLEX, *([] if exponent < 0 else INTEGERS)]:
        finite = dtype.kind == "c"
        power = lambda x, exponent=exponent: lax.integer_pow(x, exponent)
        case("integer_pow", power, numbers(dtype, finite), ulps=8, zeros=not finite)

# -- complex numbers, bits, selection ----------------------------------------------------------------------------------

unary("real", lax.real, COMPLEX)
unary("imag", lax.imag, COMPLEX)
unary("conj", lax.conj, [*COMPLEX, *FLOATS[:2]])
binary("complex", lax.complex, FLOATS[:2])
for name in ("and", "or", "xor"):
    binary(name, getattr(lax, f"bitwise_{name}"), [*INTEGERS, *BOOL])
unary("not", lax.bitwise_not, [*INTEGERS, *BOOL])
for name in ("shift_left", "shift_right_arithmetic", "shift_right_logical"):
    binary(name, getattr(lax, name), INTEGERS)
unary("population_count", lax.population_count, INTEGERS)
unary("clz", lax.clz, INTEGERS)
for dtype in (*FLOATS, *COMPLEX, *INTEGERS, *BOOL):
    values = numbers(dtype)
    which = np.arange(values.size) % 2 == 0
    case("select_n", lax.select_n, which, values, values[::-1])
    case("select_n", lax.select_n, np.array(True), values, values[::-1])
    case("select_n", lax.select_n, np.array(False), values[0], values[1])
    case("select_n", lax.select_n, np.arange(values.size, dtype="int32") % 3, values, values[::-1], values)
case("select_n", lax.select_n, np.array([-5, 0, 1, 2, 3, 4, 9], "int32"), *np.arange(35.0).reshape(5, 7))
case("select_n", lambda which, x, y: jnp.where(which[:, None], x, y), np.array([True, False]), np.eye(2), np.float64(3))

# -- conversions -------------------------------------------------------------------------------------------------------

for dtype in (*FLOATS, *COMPLEX, *INTEGERS, *BOOL):
    values = numbers(dtype)
    case(
        "convert_element_type",
        lambda x: tuple(
            lax.convert_element_type(x, new)
            for new in (*FLOATS, *INTEGERS, *BOOL, *COMPLEX)
            if new.kind == "c" or x.dtype.kind != "c"
        ),
        values,
        near=1e-40,
    )
case("convert_element_type", lambda x: lax.convert_element_type(x, "int8"), np.float32(300))
case("convert_element_type", lambda x: lax.convert_element_type(x, "uint64"), np.array([2.0**63, 2.0**64, -1]))
case("convert_element_type", lambda x: lax.convert_element_type(x, "bfloat16"), random(0, 3))
cast = lax.bitcast_convert_type
case("bitcast_convert_type", lambda x: cast(x, "int32"), numbers("float32"))
case("bitcast_convert_type", lambda x: cast(x, "float64"), numbers("int64"))
case("bitcast_convert_type", lambda x: cast(x.T, "uint32"), np.arange(6.0).reshape(2, 3))
case("bitcast_convert_type", lambda x: cast(x, "uint16"), numbers(jnp.bfloat16))
case("bitcast_convert_type", lambda x: cast(x, "float64"), np.arange(8, dtype="uint32").reshape(4, 2))
case("bitcast_convert_type", lambda x: cast(x, "uint8"), np.float32(3))
for bits in ((5, 10), (8, 7), (8, 23), (11, 52)):
    for dtype in FLOATS[:2]:
        for values in (numbers(dtype), np.array([1e-5, -1e-7, 7e4], dtype)):
            case("reduce_precision", lambda x, bits=bits: lax.reduce_precision(x, *bits), values)

# -- reductions --------------------------------------------------------------------------------------------------------


def reductions(primitive: str, function: Callable, dtypes: list, **accuracy: Any) -> None:
    """Over one dimension, several, all, and such without elements."""
    for dtype in dtypes:
        x = random(4, 3, 5, dtype=dtype, seed=1)
        case(primitive, lambda x: (function(x, 0), function(x, (1, 2)), function(x, None)), x, **accuracy)
        empty = np.empty((0, 2), dtype)
        case(primitive, lambda x: (function(x, 0), function(x, 1), function(x, None)), empty, **accuracy)
        if dtype.kind not in "iub":
            case(primitive, lambda x: function(x, 1), numbers(dtype)[:, None] + np.zeros((1, 2), dtype), **accuracy)
        case(primitive, lambda x: function(x, ()), random(2, dtype=dtype), **accuracy)


def reducer(primitive: str, **params: Any) -> Callable:
    """A reduction as a function of an array and of axes."""

    def function(x: Any, axes: Any) -> Any:
        axes = tuple(range(x.ndim)) if axes is None else (axes,) if isinstance(axes, int) else axes
        return REDUCTIONS[primitive](x, axes)

    return function


REDUCTIONS = {
    "reduce_sum": lax.reduce_sum, "reduce_prod": lax.reduce_prod, "reduce_max": lax.reduce_max,
    "reduce_min": lax.reduce_min, "reduce_and": lax.reduce_and, "reduce_or": lax.reduce_or,
    "reduce_xor": lax.reduce_xor,
}  # fmt: skip
for name in ("reduce_sum", "reduce_prod"):
    reductions(name, reducer(name), [*FLOATS, *COMPLEX], ulps=8, near=1e-5, zeros=False)
    reductions(name, reducer(name), SOME_INTEGERS)
for name in ("reduce_max", "reduce_min"):
    reductions(name, reducer(name), [*FLOATS, *SOME_INTEGERS, *BOOL], zeros=False)
for name in ("reduce_and", "reduce_or", "reduce_xor"):
    reductions(name, reducer(name), [*SOME_INTEGERS, *BOOL])
for name in ("argmax", "argmin"):
    for dtype in (*FLOATS, *SOME_INTEGERS, *BOOL):
        find = lambda x, name=name: tuple(
            getattr(lax, name)(x, axis, "int64" if axis else "int32") for axis in range(x.ndim)
        )
        case(name, find, random(4, 3, 5, dtype=dtype))
        case(name, find, numbers(dtype))
        case(name, lambda x, name=name: getattr(lax, name)(x, 1, "int32"), np.empty((0, 2), dtype))
for dtype in ("int32", "uint8"):
    either = lambda x: lax.reduce(x, np.array(3, x.dtype), lax.bitwise_xor, (0,))
    case("reduce", either, random(4, 3, dtype=dtype))
case("reduce", lambda x: lax.reduce(x, np.float32(2), lax.max, (0, 1)), random(4, 3))

# -- scans and sorting -------------------------------------------------------------------------------------------------

for name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"):
    for dtype in [*FLOATS, *([] if name == "cumlogsumexp" else SOME_INTEGERS)]:
        scan = lambda x, name=name: tuple(getattr(lax, name)(x, axis, axis == x.ndim - 1) for axis in range(x.ndim))
        narrow = dtype.itemsize == 2 and dtype.kind != "i" and dtype.kind != "u"
        accuracy = {"ulps": 16, "near": 0.2 if narrow else 1e-5, "zeros": False}
        case(name, scan, random(4, 5, dtype=dtype), **accuracy)
        case(name, scan, np.empty((0, 3), dtype), **accuracy)
        if dtype.kind not in "iu":
            case(name, scan, np.array([-np.inf, -np.inf, 1, np.nan, 2]).astype(dtype), **accuracy)
for dtype in (*FLOATS, *COMPLEX, *SOME_INTEGERS, *BOOL):
    for values in (numbers(dtype), random(4, 6, dtype=dtype)):
        case("sort", lambda x: tuple(lax.sort(x, axis) for axis in range(x.ndim)), values)
        places = np.arange(values.size, dtype="int32").reshape(values.shape)
        case("sort", lambda x, i: lax.sort((x, i), dimension=0, num_keys=1, is_stable=True), values, places)
        by_two = lambda x, y, i: lax.sort((x, y, i), dimension=0, num_keys=2)
        if values.ndim == 1 or dtype == "float32":
            numbered = lambda x: lax.sort((x, lax.broadcasted_iota("int32", x.shape, 0)), dimension=0, num_keys=1)
            case("sort", numbered, values)
        case("sort", by_two, random(*values.shape), values, places)
case("sort", lambda x: lax.sort(x, 0), np.array([0.0, -0.0, 1, -0.0, 0.0, -1, np.nan, -np.nan, 0.0]))
case("sort", lambda x: lax.sort(x, 1), np.array([[0.0, -0.0, 0.0], [-0.0, 0.0, -1]]))
case("sort", lambda x: lax.sort(x, 0), np.empty((0, 2)))
for dtype in (*FLOATS, *SOME_INTEGERS):
    for values in (numbers(dtype), random(4, 6, dtype=dtype)):
        case("top_k", lambda x: tuple(lax.top_k(x, 3)), values)
        case("top_k", lambda x: tuple(lax.top_k(x, 0)), values)
        case("top_k", lambda x: tuple(lax.top_k(x, x.shape[-1])), values)
case("top_k", lambda x: tuple(lax.top_k(x, 4)), random(3, 200))

MANY = np.random.default_rng(2).integers(-50, 50, (90, 100))
"""So many that numbers are sorted together with their places, with ties, zeros of both signs and nan among them."""
for dtype in ("float32", "float64", "int32", "int64", "uint32", "float16", "bfloat16"):
    values = (MANY * -0.5 if "float" in dtype else MANY + 50).astype(dtype)
    if dtype == "float32":
        values[:, ::9], values[1] = np.nan, -np.inf
    for axis in (0, 1):
        numbered = lambda x, axis=axis: lax.sort((x, lax.broadcasted_iota("int32", x.shape, axis)), axis, num_keys=1)
        case("sort", numbered, values)
    for count in (2, 9, 40):
        case("top_k", lambda x, count=count: tuple(lax.top_k(x, count)), values)
case("sort", lambda x: lax.sort((x, lax.broadcasted_iota("int32", x.shape, 0)), 0, num_keys=1),
     np.where(np.arange(9000) % 7, MANY.ravel(), 2**40 * MANY.ravel()))  # fmt: skip
