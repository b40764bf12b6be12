"""The likely cost of a kernel, on the host and by XLA, told from its jaxpr: the static cost model of the tiers.

Note [Costs]
A call on the host costs something for each equation, and something for each element that it writes or reads. A call of
XLA's costs ``XLA_CALL`` whatever it does, something for each array and each element of its results, and less than NumPy
for each element on the way, where it fuses what NumPy writes to memory. The figures are nanoseconds on one core for
elements of four bytes. They decide alone who runs a kernel (Note [Tiers] in ``tiers/tiered_kernel.py``), so what
matters is not that they are right, but that the quicker tier is the one that they say is.

They come from measurements: of the thousand kernels that the workloads and operators of ``benchmarks`` are made of, at
up to a million elements, both tiers were measured on one core of a Xeon (AVX-512; jaxlib 0.10, NumPy 2, OpenBLAS), and
the figures fitted to the logarithms of the times. With them 13 of 14 kernels have the quicker tier, or one that takes a
fifth longer at most, and all take a twentieth longer on average than if the quicker one were known.
``python -m benchmarks.tiers`` does that again, and shows the kernels for which it is not so.

On processors without AVX-512 NumPy's functions take four times as long, or more, and XLA's hardly longer: the figures
of ``NARROW``, measured on an EPYC, take the places of the host's there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import add
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from tapegrad._src.execution.numpy_backend.convolutions import KERNEL, seen_in, settings_of, ways_of
from tapegrad._src.execution.numpy_backend.forms import FORMS, unseen
from tapegrad._src.execution.numpy_backend.printing import evaluated
from tapegrad._src.execution.numpy_backend.vectorized import is_narrow
from tapegrad._src.tape.mechanisms import STRIPS

XLA_CALL, XLA_ARRAY = 10_000.0, 2_000.0
"""A call of XLA's, whatever it computes, and more for each argument and result. Twice as much as where nothing else is
called: between other calls, XLA's threads have to be woken, and caches are cold."""

XLA_RESULT, XLA_UNCACHED = 0.15, 0.2
"""An element that XLA writes to memory, which is new: of results, and of what products are made of; how much more one
takes of many."""

HOST_CALL = 350.0
"""An equation on the host, whatever its size."""

CACHED, UNCACHED = 1 << 18, 0.15
"""Up to so many elements arrays stay in a core's cache; how much more one takes, beyond, on the host."""

COMPILE, COMPILE_EQUATION = 25e6, 1.5e6
"""The time that XLA takes to compile a kernel, and more for each of its equations."""

DRAWING = 12_000.0
"""The time that a call of XLA's takes more than others if it draws, however little: by NumPy a backward pass draws
nothing, for the bits are kept."""

ROUNDS = 8
"""The number of times that a loop is run of which this is not known."""


class Figures(NamedTuple):
    """Nanoseconds for each element, on the host and by XLA."""

    host: float
    xla: float


FREE = Figures(0.0, 0.0)
CHEAP = Figures(0.13, 0.055)
BY_NAMES: dict[str, Figures] = {
    "reshape squeeze expand_dims transpose broadcast_in_dim slice rev stop_gradient copy real imag symbolic_zeros "
    "optimization_barrier broadcast split unstack platform_index": FREE,
    "exp exp2 log log1p expm1 tanh": Figures(0.5, 0.4),
    "logistic": Figures(0.9, 0.4),
    "sqrt rsqrt cbrt": Figures(0.25, 0.25),
    "sin cos tan": Figures(0.6, 5.5),
    "pow": Figures(0.8, 8.5),
    "asin acos atan atan2 sinh cosh asinh acosh atanh": Figures(10.0, 3.0),
    "erf erfc erf_inv": Figures(2.5, 0.2),
    "lgamma digamma polygamma igamma igammac igamma_grad_a bessel_i0e bessel_i1e regularized_incomplete_beta "
    "random_gamma_grad zeta": Figures(29.0, 13.0),
    "div": Figures(0.22, 0.05),
    "rem": Figures(2.0, 0.5),
    "integer_pow square": Figures(0.1, 0.03),
    "max min clamp": Figures(0.2, 0.05),
    "select_n": Figures(0.55, 0.035),
    "eq ge gt le lt ne": Figures(0.055, 0.1),
    "convert_element_type": Figures(0.25, 0.03),
    "gather": Figures(0.1, 0.03),
    "dynamic_slice dynamic_update_slice concatenate pad iota stack": Figures(0.14, 0.03),
    "scatter scatter_add scatter-add scatter_mul scatter-mul scatter_min scatter-min scatter_max scatter-max "
    "scatter_sub scatter-sub": Figures(0.5, 0.15),
    "cumsum cumprod cumlogsumexp cummax cummin": Figures(3.0, 8.0),
    "sort top_k approx_top_k": Figures(10.0, 200.0),
    "fft": Figures(6.0, 6.0),
    "threefry2x32 random_bits tapegrad_random_part": Figures(12.0, 5.0),
    "reduce_sum": Figures(0.2, 0.11),
    "reduce_and reduce_max reduce_min reduce_or": Figures(0.06, 0.1),
    "reduce_prod reduce": Figures(1.2, 0.3),
    "argmax argmin": Figures(0.13, 6.5),
    "reduce_window reduce_window_max reduce_window_min reduce_window_sum select_and_gather_add "
    "select_and_scatter_add": Figures(2.0, 2.0),
}
"""Kinds of primitives, for the larger of what they read and what they write. Others are ``CHEAP``."""

PARTIAL_SUM = Figures(0.05, 0.11)
"""For each element of a sum along some dimensions: on the host a product with ones."""

DILATED = Figures(1.0, 0.03)
"""For each element of what is padded between elements."""

ROW = 8.0
"""A row of elements that NumPy computes of arrays of which one is repeated along others: many and short ones are slow.
"""

NARROW = {
    "exp": 1.9, "exp2": 2.8, "log": 2.1, "log1p": 3.3, "expm1": 5.0, "tanh": 3.0, "logistic": 2.2, "sqrt": 0.45,
    "rsqrt": 0.6, "cbrt": 18.0, "sin": 2.0, "cos": 2.0, "tan": 13.5, "pow": 7.4, "rem": 16.0, "asin": 9.0,
    "acos": 9.0, "atan": 12.0, "atan2": 33.0, "sinh": 17.0, "cosh": 11.0, "asinh": 25.0, "acosh": 25.0, "atanh": 25.0,
    "erf": 4.7, "erfc": 60.0, "erf_inv": 11.0, "lgamma": 87.0, "digamma": 99.0,
}  # fmt: skip
"""The host's nanoseconds where NumPy computes fewer elements at a time."""


def figures_here() -> dict[str, Figures]:
    """The figures of each primitive on this processor."""
    figures = {name: both for names, both in BY_NAMES.items() for name in names.split()}
    narrow = {name: figures[name]._replace(host=host) for name, host in NARROW.items()} if is_narrow() else {}
    return figures | narrow


FIGURES = figures_here()

ROWS_ADDED = Figures(0.3, 0.15)
"""For each element of rows that are added to others, whose indices count on the host as well."""

PER_INDEX = {"gather": Figures(0.15, 0.7), "scatter": Figures(4.0, 3.3)}
"""More for each place that is read or written, which may be a whole row."""

HALVES = Figures(1.4, 0.3)
"""More for each element of a half precision that is computed with: NumPy converts one after the other."""

REARRANGING = frozenset(
    ("concatenate", "convert_element_type", "dynamic_slice", "dynamic_update_slice",
     "gather", "iota", "pad", "select_n")
)
"""Primitives that compute with no element, besides those that are ``FREE``."""

PRODUCT = Figures(0.02, 0.02)
"""For each multiplication of a ``dot_general``, and of a ``conv_general_dilated``."""

WINDOW, WINDOW_UNCACHED, WINDOW_OF_KERNEL = Figures(0.3, 0.4), Figures(0.45, 0.4), 0.8
"""For each element of the windows of a convolution, one after the other; the same of many; and by XLA, where the kernel
is as large as the images, as for gradients of kernels. See Note [Ways of a convolution] for those of the host."""

BY_MATRIX = {
    "cholesky": Figures(9_000.0, 24_000.0),
    "lu": Figures(6_500.0, 4_000.0),
    "eigh": Figures(21_000.0, 25_000.0),
    "triangular_solve": Figures(2_500.0, 4_000.0),
    "svd": Figures(40_000.0, 34_000.0),
    "geqrf": Figures(7_000.0, 7_000.0),
    "householder_product": Figures(7_000.0, 7_000.0),
}
"""More for each matrix that is factorized, or solved with, and has a call of LAPACK's of its own."""

LAID_OUT_ANEW, JOINED = frozenset(("reshape", "transpose", "slice", "squeeze", "convert_element_type")), -1.0
"""Primitives that leave elements as they are; and what stands for the number of elements of what has been joined."""

ELEMENTWISE = frozenset((
    "abs", "add", "and", "convert_element_type", "div", "eq", "exp", "expm1", "ge", "gt", "integer_pow", "le", "log",
    "log1p", "logistic", "lt", "max", "min", "mul", "ne", "neg", "not", "or", "pow", "rem", "rsqrt", "select_n", "sign",
    "sqrt", "square", "sub", "tanh", "xor",
))  # fmt: skip
"""Primitives of which the host computes one element for all that are repeated, where that is so of all that they read.
"""


class Cost(NamedTuple):
    """The cost of a call on the host and by XLA, and of compiling it by XLA, in nanoseconds.

    >>> Cost(2.0, 3.0, 4.0) + Cost(1.0, 1.0, 1.0)
    Cost(host=3.0, xla=4.0, compile=5.0)
    """

    host: float
    xla: float
    compile: float

    def __add__(self, other: Any) -> Cost:
        return Cost(*map(add, self, other))


NOTHING = Cost(0.0, 0.0, 0.0)


class KnownSizes(dict[int, float]):
    """The results of equations before: the number of elements that the host has of each.

    Attributes:
        runs: of what is repeated, how many elements side by side are one, or are all there.
    """

    def __init__(self) -> None:
        super().__init__()
        self.runs: dict[int, float] = {}


def cost_of(jaxpr: Any, lengths: dict[str, int] | None = None) -> Cost:
    """The cost of a call of a kernel, whose jaxpr this is; ``lengths``: what its symbols are, if it has any.

    >>> import jax, numpy as np
    >>> small, large = (jax.make_jaxpr(lambda x: x * x + 1)(np.ones(n)) for n in (10, 10_000_000))
    >>> cost_of(small).host < cost_of(small).xla, cost_of(large).host < cost_of(large).xla
    (True, False)
    """
    lengths, inside = dict(lengths or {}), getattr(jaxpr, "jaxpr", jaxpr)
    arrays = XLA_ARRAY * (len(inside.invars) + len(inside.outvars))
    results = sum([_memory(_size(aval, lengths)) for aval in _avals(inside.outvars)])
    return equations_of(jaxpr, lengths) + Cost(0.0, XLA_CALL + arrays + results, COMPILE)


STRIP = 2_000.0
"""The time that a strip takes besides its equations."""


WORTH = 150_000.0
"""From how many nanoseconds on that a call is likely to take it is cut into strips."""


def is_worth_strips(host: float) -> bool:
    """Tell whether a kernel may be run by strips whose calls take so many nanoseconds."""
    return host >= WORTH and not STRIPS.off


SHARED = 0.5
"""The part of the time that strips along channels take on two cores: XLA makes sums over all the rest on one."""


def by_strips(
    cost: Cost, strips: Sequence[Any], last: Sequence[Any], results: Sequence[tuple], is_shared: bool
) -> Cost:
    """The cost of a kernel that the host runs by strips, on one core: on more of them XLA is quicker, too, unless it
    ``is_shared`` by NumPy alone. See Note [Strips] in ``numpy_backend/cutting.py``.

    Args:
        cost: what it costs otherwise.
        strips: the jaxpr of each strip; ``last``: of what is computed at the end.
        results: shapes and dtypes of the results that are put together.
    """
    known = {id(one): equations_of(one, {}).host + STRIP for one in strips}
    sizes = [math.prod(shape) * dtype.itemsize / 4 for shape, dtype in results]
    memory = UNCACHED * sum([size for size in sizes if size > CACHED])
    together = (sum([known[id(one)] for one in strips]) + memory) * (SHARED if is_shared else 1.0)
    return cost._replace(host=together + sum([equations_of(one, {}).host for one in last]))


def equations_of(jaxpr: Any, lengths: dict[Any, int]) -> Cost:
    """The cost of the equations of a jaxpr together.

    What lengths are that depend on symbols is put into ``lengths``, by their ``id``: most of them occur many times.
    """
    host = xla = compiling = 0.0
    known = KnownSizes()
    platforms: dict[int, Any] = {}
    same: dict[Any, Any] = {}
    equations = getattr(jaxpr, "jaxpr", jaxpr).eqns
    for equation in equations:
        name = equation.primitive.name
        if len(equations) > 1 and _is_repeated(equation, same):
            continue
        if name == "platform_index":
            platforms[id(equation.outvars[0])] = equation.params["platforms"]
            continue
        if name == "cond":
            cost = _branch(equation, platforms.get(id(equation.invars[0])), lengths)
        else:
            cost = _equation(equation, lengths, known)
        host, xla, compiling = host + cost.host, xla + cost.xla, compiling + cost.compile
    return Cost(host, xla, compiling)


def _is_repeated(equation: Any, same: dict[Any, Any]) -> bool:
    """Tell whether an equation before computes the same: neither tier does so twice. ``same``: which results are
    others."""
    read = [getattr(one, "val", None) if hasattr(one, "val") else same.get(id(one), id(one)) for one in equation.invars]
    try:
        first = same.setdefault((equation.primitive.name, *read, *equation.params.items()), equation)
    except TypeError:  # what can't be hashed is another one
        return False
    if first is equation:
        return False
    for one, other in zip(equation.outvars, first.outvars, strict=True):
        same[id(one)] = id(other)
    return True


def _branch(equation: Any, platforms: Any, lengths: dict[Any, int]) -> Cost:
    """The cost of a choice: the branches that host and XLA take, if they are for platforms; else the dearest."""
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


def _equation(equation: Any, lengths: dict[Any, int], known: KnownSizes) -> Cost:
    """The cost of an equation; ``known``: what equations before have made."""
    name = equation.primitive.name
    inner = () if name in FIGURES else [one for value in equation.params.values() for one in jaxprs_in(value)]
    if inner:
        rounds = {"scan": _count([equation.params.get("length", 1)], lengths), "while": ROUNDS}.get(name, 1)
        host, xla, compiling = sum((equations_of(inside, lengths) for inside in inner), start=NOTHING)
        if name == "composite":  # see Note [Forms]
            host = HOST_CALL + _elements(equation, lengths, known).host
        return Cost(host * rounds, xla * rounds, compiling)
    host, xla = _elements(equation, lengths, known)
    drawing = DRAWING if name in ("threefry2x32", "random_bits") else 0.0
    return Cost(HOST_CALL + host, xla + drawing, COMPILE_EQUATION)


def jaxprs_in(value: Any) -> list[Any]:
    """The jaxprs in a parameter of an equation."""
    several = value if isinstance(value, (tuple, list)) else (value,)
    return [one for one in several if hasattr(getattr(one, "jaxpr", one), "eqns")]


def _elements(equation: Any, lengths: dict[Any, int], known: KnownSizes) -> Figures:
    """The cost of the elements that an equation reads and writes."""
    name, params = equation.primitive.name, equation.params
    sizes = [_size(aval, lengths) for aval in _avals(equation.invars)]
    written = max([_size(aval, lengths) for aval in _avals(equation.outvars)], default=0)
    if name in ("dot_general", "conv_general_dilated"):
        made = [(known[id(one)], size) for one, size in zip(equation.invars, sizes, strict=False) if id(one) in known]
        laid_out = sum(size * _window(size).xla if joined == JOINED else _memory(size) for joined, size in made)
        if name == "dot_general":
            shape = equation.invars[0].aval.shape
            summed = _count([shape[axis] for axis in params["dimension_numbers"][0][0]], lengths)
            return Figures(PRODUCT.host * written * summed, PRODUCT.xla * written * summed + laid_out)
        total = _convolution(equation, written, lengths)
        return total._replace(xla=total.xla + laid_out)
    if name in ("composite", unseen.name) and params["name"] in FORMS:
        form, most = FORMS[params["name"]], max([*sizes, written])
        return Figures(form.nanoseconds * most, form.by_xla * most if name == unseen.name else 0.0)
    figures, count = FIGURES.get(name, CHEAP), max([*sizes, written])
    if name == "reduce_sum" and written > 1:
        figures = PARTIAL_SUM
    elif name == "pad" and any(between for *_, between in params["padding_config"]):
        figures = DILATED
    on_host, rows = _on_host(equation, sizes, written, lengths, known)
    if name == "gather":
        count = on_host = written
    elif name.startswith("scatter"):
        count = on_host = sizes[2]
        if name in ("scatter-add", "scatter_add") and equation.params["dimension_numbers"].update_window_dims:
            figures = ROWS_ADDED
    if figures != FREE and name not in REARRANGING and any(map(_is_half, _avals(equation.invars))):
        figures, count, on_host = Figures(*np.add(figures, HALVES)), 2 * count, 2 * on_host
    host = (figures.host + (UNCACHED if on_host > CACHED and figures != FREE else 0.0)) * on_host
    total = Figures(host + ROW * rows, figures.xla * count)
    if name == "gather" or name.startswith("scatter"):
        indices = _count(equation.invars[1].aval.shape[:-1], lengths)
        return Figures(*np.add(total, _times(PER_INDEX["gather" if name == "gather" else "scatter"], indices)))
    if name in BY_MATRIX:
        return Figures(*np.add(total, _times(BY_MATRIX[name], _count(equation.invars[0].aval.shape[:-2], lengths))))
    return total


def _convolution(equation: Any, written: float, lengths: dict[Any, int]) -> Figures:
    """The cost of a convolution; the host's by the way that it takes."""
    params, (left, right) = equation.params, _avals(equation.invars)
    numbers = params["dimension_numbers"]
    summed = _count([right.shape[axis] for axis in numbers.rhs_spec[1:]], lengths)
    windows = written * summed / max(_count([right.shape[numbers.rhs_spec[0]]], lengths), 1)
    host = PRODUCT.host * written * summed + _window(windows).host * windows
    settings, each = settings_of(params), _window(windows).xla
    shapes = [[int(_count([size], lengths)) for size in one.shape] for one in (left, right)]
    seen = settings and seen_in(settings, *shapes)
    if seen is not None:
        host = ways_of(seen, jnp.float32 if _is_half(left) else left.dtype)[0].nanoseconds
        each = WINDOW_OF_KERNEL if seen.direction == KERNEL else each
    apart = math.prod(params.get("lhs_dilation") or ())  # zeros, which XLA leaves out
    return Figures(host, (PRODUCT.xla * written * summed + each * windows) / apart)


_SINGLE = frozenset({1})
"""The lengths of an array of one element, however many bytes that has."""


def _on_host(
    equation: Any, sizes: list[float], written: float, lengths: dict[Any, int], known: KnownSizes
) -> tuple[float, float]:
    """The number of elements that the host reads or writes, whichever are more; and that of rows it computes one by
    one."""
    name = equation.primitive.name
    has = [
        1.0 if _SINGLE.issuperset(one.aval.shape) else max(known.get(id(one), size), 0) or size
        for one, size in zip(equation.invars, sizes, strict=False)
    ]  # fmt: skip
    count = max([*has, written])
    makes, rows = written, 0.0
    if name == "broadcast_in_dim":
        makes = count = has[0] if has else 1.0
        known.runs[id(equation.outvars[0])] = _repeated_run(equation, lengths)
    elif name in ELEMENTWISE and sum([size > 1 for size in has]) == 1:
        makes = count = max(has)
    elif name in ELEMENTWISE and any([1 < size < written for size in has]):
        shape = equation.outvars[0].aval.shape
        repeated = [one for one, size in zip(equation.invars, has, strict=False) if 1 < size < written]
        runs = [known.runs.get(id(one)) or _run(shape, one.aval.shape, lengths) for one in repeated]
        rows = written / max(min(runs), 1)
    elif name == "reshape" and 1 < has[0] < written:  # of what is repeated: a copy
        rows = written / max(_count(equation.invars[0].aval.shape[-1:], lengths), 1)
    elif name in ("dynamic_slice", "pad") and written <= sizes[0]:  # a view, if it is no small part
        count = 0.0 if 2 * written > sizes[0] else written
    if name == "concatenate" or (name in LAID_OUT_ANEW and known.get(id(equation.invars[0])) == JOINED):
        makes = JOINED
    for one in equation.outvars:
        known[id(one)] = makes
    return count, rows


def _repeated_run(equation: Any, lengths: dict[Any, int]) -> float:
    """The same of what a ``broadcast_in_dim`` makes; 0 if it repeats nothing yet."""
    shape, axes = equation.params["shape"], equation.params["broadcast_dimensions"]
    read = dict(zip(axes, equation.invars[0].aval.shape, strict=False))
    before = tuple(read.get(axis, 1) for axis in range(len(shape)))
    return 0.0 if before == shape else _run(shape, before, lengths)


def _run(whole: Any, shape: Any, lengths: dict[Any, int]) -> float:
    """The number of elements, side by side, for which one is repeated, so that there are as many as of ``whole``; or of
    which all are there."""
    single = [isinstance(size, int) and size == 1 for size in shape][::-1]
    count = next((index for index, one in enumerate(single) if one != single[0]), len(single))
    return _count(whole[len(whole) - count :], lengths)


def _window(size: float) -> Figures:
    return WINDOW if size <= CACHED else WINDOW_UNCACHED


def _memory(size: float) -> float:
    """The time that XLA takes for the memory that so many elements are written to."""
    return (XLA_RESULT + (XLA_UNCACHED if size > CACHED else 0.0)) * size


def cost_of_rounds(rounds: int, types: Sequence[tuple[tuple[int, ...], np.dtype]]) -> Cost:
    """The cost of a kernel that NumPy computes in so many calls, each of which reads all of its arguments.

    >>> cost_of_rounds(2, [((8,), np.dtype("float32"))]).host < cost_of_rounds(3, [((8,), np.dtype("float32"))]).host
    True
    """
    size = sum([math.prod(shape) * dtype.itemsize / 4 for shape, dtype in types])
    xla = XLA_CALL + XLA_ARRAY * (len(types) + 1) + CHEAP.xla * rounds * size
    return Cost(rounds * (HOST_CALL + CHEAP.host * size), xla, COMPILE + COMPILE_EQUATION * rounds)


def memory_cost_of(aval: Any) -> float:
    """The nanoseconds that it takes XLA to write an array of this shape and dtype to new memory."""
    return _memory(_size(aval, {}))


def _times(figures: Figures, count: float) -> Figures:
    return Figures(figures.host * count, figures.xla * count)


def _size(aval: Any, lengths: dict[Any, int]) -> float:
    """The number of elements of four bytes that an array would have."""
    count = _count(aval.shape, lengths) if lengths else math.prod(aval.shape)
    return count * max(getattr(aval.dtype, "itemsize", 4), 1) / 4


def _count(shape: Any, lengths: dict[Any, int]) -> float:
    """The number of elements of an array, where lengths may be symbols."""
    if not lengths:
        return math.prod(shape)
    return math.prod(size if isinstance(size, int) else _evaluated(size, lengths) for size in shape)


def _evaluated(size: Any, lengths: dict[Any, int]) -> int:
    number = lengths.get(id(size))
    if number is None:
        try:
            number = evaluated(size, lengths)
        except ZeroDivisionError:  # a part of no length
            number = 0
        lengths[id(size)] = number
    return number


def _avals(atoms: Any) -> list[Any]:
    return [atom.aval for atom in atoms if hasattr(atom.aval, "shape")]


def _is_half(aval: Any) -> bool:
    return aval.dtype in (jnp.bfloat16, jnp.float16)
