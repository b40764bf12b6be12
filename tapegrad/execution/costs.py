"""What a kernel is likely to cost, on the host and by XLA, told from its jaxpr: the static cost model of the tiers.

Note [Costs]
A call on the host costs something for each equation, and something for each element that it writes or reads. A call of
XLA's costs ``XLA_CALL`` whatever it does, and less for each element where it fuses what NumPy writes to memory. The
figures are nanoseconds on one core for elements of four bytes, measured by ``python -m benchmarks.tiers``; they need
not be right, but their quotients should be. Of XLA's slow kernels (sorting, scans, scattering) they say that XLA never
pays, and so it is: those stay on the host however large they are.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from tapegrad.execution.host_tier.forms import FORMS
from tapegrad.execution.host_tier.writer import evaluated

XLA_CALL, XLA_ARRAY = 7_000.0, 700.0
"""A call of XLA's, whatever it computes, and more for each argument and result."""

XLA_RESULT = 0.3
"""An element of a result of XLA's, whatever computes it: its memory is new."""

HOST_CALL = 300.0
"""An equation on the host, whatever its size."""

CACHED, UNCACHED = 1 << 18, 0.25
"""Up to so many elements NumPy's temporaries stay in a core's cache; how much more one takes, beyond, on the host."""

COMPILE, COMPILE_EQUATION = 25e6, 1.5e6
"""What XLA takes to compile a kernel, and more for each of its equations."""

DRAWING = 12_000.0
"""How much longer than others a call of XLA's takes that draws, however little: by NumPy a backward pass draws nothing,
for the bits are kept."""

ROUNDS = 8
"""How often a loop is run of which this is not known."""


class Figures(NamedTuple):
    """Nanoseconds for each element, on the host and by XLA."""

    host: float
    xla: float


FREE = Figures(0.0, 0.0)
CHEAP = Figures(0.35, 0.12)
KINDS: dict[str, Figures] = {
    "reshape squeeze expand_dims transpose broadcast_in_dim slice rev stop_gradient copy real imag symbolic_zeros "
    "optimization_barrier broadcast split unstack platform_index": FREE,
    "exp exp2 log log1p expm1 tanh logistic": Figures(1.2, 0.7),
    "sqrt rsqrt cbrt": Figures(1.2, 0.7),
    "sin cos tan": Figures(1.2, 0.7),
    "pow": Figures(1.2, 0.7),
    "asin acos atan atan2 sinh cosh asinh acosh atanh": Figures(10.0, 3.0),
    "erf erfc erf_inv": Figures(60.0, 15.0),
    "lgamma digamma polygamma igamma igammac igamma_grad_a bessel_i0e bessel_i1e regularized_incomplete_beta "
    "random_gamma_grad zeta": Figures(60.0, 15.0),
    "div": Figures(2.0, 1.5),
    "rem": Figures(2.0, 1.5),
    "integer_pow square": Figures(2.0, 1.5),
    "max min clamp": Figures(2.0, 1.5),
    "select_n": Figures(2.0, 1.5),
    "gt ge lt le eq ne and or not xor is_finite": Figures(2.0, 1.5),
    "convert_element_type": Figures(2.0, 1.5),
    "gather": Figures(2.0, 1.5),
    "dynamic_slice dynamic_update_slice concatenate pad iota stack": Figures(2.0, 1.5),
    "scatter scatter_add scatter-add scatter_mul scatter-mul scatter_min scatter-min scatter_max scatter-max "
    "scatter_sub scatter-sub": Figures(6.0, 8.0),
    "cumsum cumprod cumlogsumexp cummax cummin": Figures(2.0, 40.0),
    "sort top_k approx_top_k": Figures(30.0, 90.0),
    "fft": Figures(4.0, 4.0),
    "threefry2x32 random_bits": Figures(12.0, 5.0),
    "reduce_sum": Figures(0.5, 0.5),
    "reduce_max reduce_min reduce_and reduce_or": Figures(0.5, 0.5),
    "reduce_prod reduce": Figures(0.5, 0.5),
    "argmax argmin": Figures(0.5, 0.5),
    "reduce_window reduce_window_sum reduce_window_max reduce_window_min select_and_scatter_add "
    "select_and_gather_add": Figures(2.0, 2.0),
}  # fmt: skip
"""Kinds of primitives, for the larger of what they read and what they write. Others are ``CHEAP``."""

FIGURES = {name: figures for names, figures in KINDS.items() for name in names.split()}

PLACES = {"gather": Figures(3.0, 0.6), "scatter": Figures(0.5, 2.4)}
"""More for each place that is read or written, which may be a whole row."""

HALVES = Figures(1.4, 0.3)
"""More for each element of a half precision that is computed with: NumPy converts one after the other."""

MOVING = frozenset(
    ("concatenate", "convert_element_type", "dynamic_slice", "dynamic_update_slice",
     "gather", "iota", "pad", "select_n")
)
"""Primitives that compute with no element, besides those that are ``FREE``."""

PRODUCT = Figures(0.04, 0.04)
CONVOLUTION = Figures(0.05, 0.04)
"""For each multiplication of a ``dot_general`` and of a ``conv_general_dilated``."""

BY_MATRIX = frozenset(("cholesky", "lu", "eigh", "triangular_solve", "householder_product", "geqrf", "svd", "qr"))
MATRIX = Figures(1_500.0, 500.0)
"""For each matrix that is factorized, or solved with, and has a call of LAPACK's of its own, besides its elements."""


class Cost(NamedTuple):
    """What a call costs on the host and by XLA, and what XLA takes to compile it, in nanoseconds.

    >>> Cost(2.0, 3.0, 4.0) + Cost(1.0, 1.0, 1.0)
    Cost(host=3.0, xla=4.0, compile=5.0)
    """

    host: float
    xla: float
    compile: float

    def __add__(self, other: Any) -> Cost:
        return Cost(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


NOTHING = Cost(0.0, 0.0, 0.0)


def cost_of(jaxpr: Any, lengths: dict[str, int] | None = None) -> Cost:
    """What a call of a kernel costs, whose jaxpr this is; ``lengths``: what its symbols are, if it has any.

    >>> import jax, numpy as np
    >>> small, large = (jax.make_jaxpr(lambda x: x * x + 1)(np.ones(n)) for n in (10, 10_000_000))
    >>> cost_of(small).host < cost_of(small).xla, cost_of(large).host < cost_of(large).xla
    (True, False)
    """
    lengths, inside = dict(lengths or {}), getattr(jaxpr, "jaxpr", jaxpr)
    arrays = XLA_ARRAY * (len(inside.invars) + len(inside.outvars))
    results = XLA_RESULT * sum(_size(aval, lengths) for aval in _avals(inside.outvars))
    return equations_of(jaxpr, lengths) + Cost(0.0, XLA_CALL + arrays + results, COMPILE)


def equations_of(jaxpr: Any, lengths: dict[Any, int]) -> Cost:
    """What the equations of a jaxpr cost together.

    What lengths are that depend on symbols is put into ``lengths``, by their ``id``: most of them occur many times.
    """
    found, platforms = [], {}
    for equation in getattr(jaxpr, "jaxpr", jaxpr).eqns:
        name = equation.primitive.name
        if name == "platform_index":
            platforms[id(equation.outvars[0])] = equation.params["platforms"]
        elif name == "cond":
            found.append(_branch(equation, platforms.get(id(equation.invars[0])), lengths))
        else:
            found.append(_equation(equation, lengths))
    return sum(found, start=NOTHING)


def _branch(equation: Any, platforms: Any, lengths: dict[Any, int]) -> Cost:
    """What a choice costs: the branches that host and XLA take, if they are for platforms; else the dearest."""
    costs = [equations_of(inside, lengths) for inside in equation.params["branches"]]
    if platforms is None:
        return max(costs)

    def named(*names: str) -> Cost:
        for name in (*names, None):
            for cost, those in zip(costs, platforms, strict=False):
                if those is None if name is None else name in (those or ()):
                    return cost
        return max(costs)

    by_xla = named("cpu")
    return Cost(named("host", "cpu").host, by_xla.xla, by_xla.compile)


def _equation(equation: Any, lengths: dict[Any, int]) -> Cost:
    name = equation.primitive.name
    inner = () if name in FIGURES else [one for value in equation.params.values() for one in jaxprs_in(value)]
    if inner:
        rounds = {"scan": _count([equation.params.get("length", 1)], lengths), "while": ROUNDS}.get(name, 1)
        host, xla, compiling = sum((equations_of(inside, lengths) for inside in inner), start=NOTHING)
        if name == "composite":  # see Note [Forms]
            host = HOST_CALL + _elements(equation, lengths).host
        return Cost(host * rounds, xla * rounds, compiling)
    host, xla = _elements(equation, lengths)
    drawing = DRAWING if name in ("threefry2x32", "random_bits") else 0.0
    return Cost(HOST_CALL + host, xla + drawing, COMPILE_EQUATION)


def jaxprs_in(value: Any) -> list[Any]:
    """The jaxprs in a parameter of an equation."""
    several = value if isinstance(value, (tuple, list)) else (value,)
    return [one for one in several if hasattr(getattr(one, "jaxpr", one), "eqns")]


def _elements(equation: Any, lengths: dict[Any, int]) -> Figures:
    """What the elements cost that an equation reads and writes."""
    name = equation.primitive.name
    sizes = [_size(aval, lengths) for aval in _avals(equation.invars)]
    written = max((_size(aval, lengths) for aval in _avals(equation.outvars)), default=0)
    if name == "dot_general":
        (axes, _), _ = equation.params["dimension_numbers"]
        left = equation.invars[0].aval.shape
        return _times(PRODUCT, written * _count([left[axis] for axis in axes], lengths))
    if name == "conv_general_dilated":
        kernel, numbers = equation.invars[1].aval.shape, equation.params["dimension_numbers"]
        return _times(CONVOLUTION, written * _count([kernel[axis] for axis in numbers.rhs_spec[1:]], lengths))
    if name == "composite" and equation.params["name"] in FORMS:
        return Figures(FORMS[equation.params["name"]].nanoseconds * max([*sizes, written]), 0.0)
    figures, count = FIGURES.get(name, CHEAP), max([*sizes, written])
    places = 0.0
    if name in ("gather", "dynamic_slice"):
        count = written
    elif name == "pad" and written < sizes[0]:
        count = 0
    elif name.startswith("scatter"):
        count = sizes[2]
    if name == "gather" or name.startswith("scatter"):
        places = _count(equation.invars[1].aval.shape[:-1], lengths)
    if figures != FREE and name not in MOVING and any(map(_is_half, _avals(equation.invars))):
        figures, count = Figures(*np.add(figures, HALVES)), 2 * count
    elif figures != FREE and count > CACHED:
        figures = Figures(figures.host + UNCACHED, figures.xla)
    found = _times(figures, count)
    if places:
        found = Figures(*np.add(found, _times(PLACES[name[:7] if name != "gather" else name], places)))
    if name in BY_MATRIX:
        found = Figures(*np.add(found, _times(MATRIX, _count(equation.invars[0].aval.shape[:-2], lengths))))
    return found


def _times(figures: Figures, count: float) -> Figures:
    return Figures(figures.host * count, figures.xla * count)


def _size(aval: Any, lengths: dict[Any, int]) -> float:
    """How many elements of four bytes an array would have."""
    return _count(aval.shape, lengths) * _width(aval)


def _count(shape: Any, lengths: dict[Any, int]) -> float:
    """How many elements an array has, where lengths may be symbols."""
    return math.prod(size if isinstance(size, int) else _evaluated(size, lengths) for size in shape)


def _evaluated(size: Any, lengths: dict[Any, int]) -> int:
    found = lengths.get(id(size))
    if found is None:
        try:
            found = evaluated(size, lengths)
        except ZeroDivisionError:  # a part of no length
            found = 0
        lengths[id(size)] = found
    return found


def _avals(atoms: Any) -> list[Any]:
    return [atom.aval for atom in atoms if hasattr(atom.aval, "shape")]


def _is_half(aval: Any) -> bool:
    return aval.dtype in (jnp.bfloat16, jnp.float16)


def _width(aval: Any) -> float:
    """How wide its elements are, of those for which the figures are."""
    return max(getattr(aval.dtype, "itemsize", 4), 1) / 4
