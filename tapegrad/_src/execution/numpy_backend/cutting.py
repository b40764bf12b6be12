"""Jaxprs that are cut into strips of rows: which they are, and what computes one strip.

Note [Strips]
A kernel of large arrays is mostly *row-wise*: rows of its results follow from the same rows of its arguments, and from
arguments that are read whole, as weights. Then what is written for the host (Note [The NumPy backend] in ``writer.py``)
is run strip by strip, each through the whole function while it lies in a core's cache, and on several cores at once.
Results are written into where they belong, and what is only on the way never gets memory of its own.

What a strip computes is the same jaxpr with the number of its rows in place of the length. It is made from its results
backwards (``Cutter``): for what a strip needs of a variable there is a *version* of it, cut along a dimension or whole,
made by the rule for its equation (``CUTS``), which says along which dimensions the inputs are cut then. Sums along the
dimension that is cut are *partial* ones: they are put together at the end, and what follows from them is computed once.
What can't be cut along the first dimension is perhaps along the next, as batch norm along channels: then a strip has a
copy of what it reads.

The strips follow from the shapes alone, and each is computed by one thread. So the same bits come on any number of
threads. They are those of the whole function, too, but where sums of strips are added, where BLAS has fewer sums to
make at once and makes them in another order, and where an approximation that ``softmax`` tries first is given up (Note
[Steady rows] in ``softmax.py``): by strips, in place of all at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jax.core import ShapedArray
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var

from tapegrad._src.execution.numpy_backend.control import branch_on_host
from tapegrad._src.execution.numpy_backend.random_bits import random_part

TARGET = 1 << 20
"""About how many bytes the largest array of a strip has. So many arrays of that size lie in the cache that cores share;
smaller ones would lie in a core's own, but a call of NumPy's costs a microsecond, and more where threads wait for the
interpreter: layer norm by strips of a quarter is slower on two threads than on one."""

SMALL = 1 << 14
"""Up to so many elements it is computed for each strip again what all strips need in full."""

LONGEST = 200
"""Jaxprs with more equations are not looked at."""

ABREAST = 8
"""Strips have a multiple of so many rows, where they have as many: BLAS takes some at a time."""

WIDER = 2
"""A row so many times as large as a strip is cut itself, along the next dimension."""

WANTED = 4
"""Up to so many strips are made of what takes long enough, though its arrays are smaller."""


COPYING = frozenset((
    "reshape", "squeeze", "expand_dims", "transpose", "broadcast_in_dim", "slice", "rev", "copy", "concatenate", "pad",
    "dynamic_slice", "gather",
))  # fmt: skip
"""Primitives that copy elements, and compute nothing."""


class Uncut(Exception):
    """A kernel is not row-wise, or in a way that is not known."""


Cuts = tuple[tuple[int, int] | None, ...]
"""The cuts of an array, for each dimension that is cut: the dimension, and how long it is for each row; or None."""


class StripArgument(NamedTuple):
    """An argument of a strip: that of the kernel, or constant, of this number; and where it is cut.

    If it is no such thing, but the ``BEFORE`` of the strip, each of its cuts has a number of elements for each row.
    """

    number: int
    cuts: Cuts


BEFORE = -1
"""Stands for the number of elements before a strip."""


class Strip(NamedTuple):
    """The computation of a strip.

    Attributes:
        jaxpr: takes ``sources``, and gives the results that are cut, in their order, and then the partial ones.
        sources: what its arguments are.
        results: for each result of the kernel where it is cut; None if it is computed last.
        partial: the NumPy functions by which partial results are put together.
        last: the jaxpr of the rest, and which arguments of the kernel it takes after those; None if there is none.
        largest: the bytes of the largest array that is cut.
    """

    jaxpr: ClosedJaxpr
    sources: list[StripArgument]
    results: list[Cuts | None]
    partial: list[np.ufunc]
    last: tuple[ClosedJaxpr, list[int]] | None
    largest: int


class Cut(NamedTuple):
    """A jaxpr that is cut.

    Attributes:
        lengths: how long the dimensions are along which it is cut, one inside the other: all but the last to single
            rows.
        rows: the number of rows of each strip, along the last of them.
        strips: what computes a strip, by its number of rows.
        inner: how many longer dimensions are ahead of the first of these.
        is_small: whether there are strips only since some were wanted.
    """

    lengths: tuple[int, ...]
    rows: list[int]
    strips: dict[int, Strip]
    inner: int
    is_small: bool


def cut(closed: ClosedJaxpr, wanted: int = 1) -> Cut | None:
    """The strips of a jaxpr that is ``inlined``; None if it has none, or they would not be worth it.

    ``wanted``: how many there may be of smaller arrays than others are cut for.

    >>> import jax
    >>> x = jax.ShapeDtypeStruct((10_000, 256), "float32")
    >>> found = cut(jax.make_jaxpr(lambda x: jax.numpy.exp(x - x.sum(-1, keepdims=True)))(x))
    >>> found.lengths, found.rows[0], found.rows[-1], sum(found.rows)
    ((10000,), 1024, 784, 10000)
    """
    equations = closed.jaxpr.eqns
    if len(equations) > LONGEST or any(equation.effects for equation in equations):
        return None
    if len(equations) == 1 and equations[0].primitive.name.startswith("reduce_"):
        return None  # it reads each number once, as quickly as memory gives them
    largest = max([_bytes(one.aval) for one in (*closed.jaxpr.outvars, *closed.jaxpr.invars)], default=0)
    target = min(TARGET, max(largest // min(wanted, WANTED), TARGET // WANTED))
    only_copies = all([equation.primitive.name in COPYING for equation in equations])
    for length, inner in _lengths(closed.jaxpr, target):
        if inner and only_copies:
            continue  # copies of copies
        try:
            return _along(closed, length, inner, target)
        except Uncut:
            pass
    return None


def _along(closed: ClosedJaxpr, length: int, inner: int, target: int) -> Cut:
    """The strips along dimensions of a length, and along the next ones, if that leaves too much in one.

    ``inner``: how many dimensions longer than 1 are ahead of the first of them.
    """
    lengths: tuple[int, ...] = (length,)
    above = None
    strip = one_strip(closed, length, 1, inner)
    while True:
        inside = _lengths(strip.jaxpr.jaxpr, TARGET) if strip.largest > WIDER * TARGET and not strip.partial else []
        deeper = None
        for one, ahead in inside:
            if inner or ahead:
                continue
            try:
                deeper = one, nested(strip, one_strip(strip.jaxpr, one, 1))
                break
            except Uncut:
                pass
        if deeper is None or deeper[1].partial:
            break
        above = strip
        lengths, strip = (*lengths, deeper[0]), deeper[1]
    rows = _rows(lengths[-1], target // max(strip.largest, 1))
    if len(rows) * math.prod(lengths[:-1]) < 2:
        raise Uncut
    strips = {}
    for count in dict.fromkeys(rows):
        made = one_strip(closed if above is None else above.jaxpr, lengths[-1], count, inner)
        strips[count] = made if above is None else nested(above, made)
    return Cut(lengths, rows, strips, inner, target < TARGET)


def inlined(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The jaxpr without calls of others: their equations stand in their place.

    >>> import jax
    >>> inlined(jax.make_jaxpr(jax.nn.relu)(1.0))
    { lambda ; a:f32[]. let b:f32[] = max a 0.0:f32[] in (b,) }
    """
    jaxpr = closed.jaxpr
    if not any(equation.primitive.name in (*CALLS, "cond") for equation in jaxpr.eqns):
        return closed
    constants = dict(zip(jaxpr.constvars, closed.consts, strict=True))
    equations: list[JaxprEqn] = []
    known: dict[Any, Any] = {}
    _inline(jaxpr, known, equations, constants)
    results: list[Any] = [one if isinstance(one, Literal) else known.get(one, one) for one in jaxpr.outvars]
    whole = _jaxpr_like(jaxpr, jaxpr.invars, results, equations, constants)
    return ClosedJaxpr(whole, [*constants.values()])


def _inline(jaxpr: Jaxpr, known: dict[Any, Any], equations: list[JaxprEqn], constants: dict[Any, Any]) -> None:
    """Append a jaxpr's equations; ``known``: what stands for its variables, each time it is called."""
    chosen: dict[Any, int] = {}
    for equation in jaxpr.eqns:
        inputs: list[Any] = [one if isinstance(one, Literal) else known.get(one, one) for one in equation.invars]
        inside = _called(equation)
        if equation.primitive.name == "platform_index":
            chosen[equation.outvars[0]] = branch_on_host(equation.params["platforms"])
            continue
        if equation.primitive.name == "cond" and equation.invars[0] in chosen:
            inside, inputs = equation.params["branches"][chosen[equation.invars[0]]], inputs[1:]
        if inside is None:
            outputs: list[Any] = [Var(variable.aval) for variable in equation.outvars]
            equations.append(equation.replace(invars=inputs, outvars=outputs))
        else:
            given = [Var(variable.aval) for variable in inside.jaxpr.constvars]
            constants.update(zip(given, inside.consts, strict=True))
            within = dict(zip((*inside.jaxpr.constvars, *inside.jaxpr.invars), (*given, *inputs), strict=True))
            _inline(inside.jaxpr, within, equations, constants)
            outputs = [one if isinstance(one, Literal) else within.get(one, one) for one in inside.jaxpr.outvars]
        known.update(zip(equation.outvars, outputs, strict=True))


CALLS = {"jit": "jaxpr", "closed_call": "call_jaxpr", "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr",
         "custom_vmap_call": "call"}  # fmt: skip
"""Primitives that call a jaxpr, and the parameter that has it."""


def _called(equation: JaxprEqn) -> ClosedJaxpr | None:
    name = CALLS.get(equation.primitive.name)
    return None if name is None else equation.params[name]


def _rows(length: int, most: int) -> list[int]:
    """The numbers of rows of strips, of about ``most`` each: one number, and perhaps another one for the last.

    >>> _rows(100, 40), _rows(100, 33), _rows(3, 0)
    ([40, 40, 20], [32, 32, 36], [1, 1, 1])
    """
    each = max(1, min(most, length))
    each -= each % ABREAST if each > ABREAST else 0
    count, left = divmod(length, each)
    if 2 * left >= each:
        return [each] * count + [left]
    return [each] * (count - 1) + [each + left]


def _lengths(jaxpr: Jaxpr, target: int) -> list[tuple[int, int]]:
    """The lengths along which it may be cut, and how many longer dimensions are ahead: those of the largest result, and
    of the largest argument; their next ones behind."""
    atoms: tuple[Sequence[Any], ...] = jaxpr.outvars, (*jaxpr.invars, *jaxpr.constvars)
    largest: list[Any] = [max([one.aval for one in some], key=_bytes, default=None) for some in atoms]
    lengths = []
    for inner in (0, 1):
        for aval in largest:
            axis = None if aval is None or _bytes(aval) <= target else _leading(aval, inner)
            if axis is not None:
                lengths.append((aval.shape[axis], inner))
    return list(dict.fromkeys(lengths))


def _leading(aval: Any, inner: int = 0) -> int | None:
    """The first dimension that is longer than 1, or the one that has so many of them ahead."""
    longer = [axis for axis, length in enumerate(aval.shape) if length != 1]
    return longer[inner] if inner < len(longer) else None


def _bytes(aval: Any) -> int:
    return math.prod(aval.shape) * getattr(aval.dtype, "itemsize", 4) if hasattr(aval, "shape") else 0


def nested(outer: Strip, inner: Strip) -> Strip:
    """The strip of a strip: what the inner one takes, in terms of what the outer one does."""
    before = StripArgument(BEFORE, (None,) * len(outer.sources[0].cuts))
    given = [(before if index == BEFORE else outer.sources[index], cuts) for index, cuts in inner.sources]
    sources = [StripArgument(source.number, (*source.cuts, *cuts)) for source, cuts in given]
    both = zip([one for one in outer.results if one is not None], inner.results, strict=True)
    results = [None if inside is None else (*outside, *inside) for outside, inside in both]
    if None in results or inner.partial:
        raise Uncut
    return Strip(inner.jaxpr, sources, results, [], None, inner.largest)


# -- one strip ---------------------------------------------------------------------------------------------------------


def one_strip(closed: ClosedJaxpr, length: int, rows: int, inner: int = 0) -> Strip:
    """The computation of so many rows of so many; ``inner``: as of ``_along``.

    Raises:
        Uncut: the jaxpr is not row-wise.
    """
    cutter = Cutter(closed, length, rows, inner)
    results: list[Any] = []
    cuts: list[Any] = []
    outputs: list[Any] = list(closed.jaxpr.outvars)
    for atom in outputs:
        axis = cutter.leading(atom.aval)
        version = None
        if axis is not None and atom.aval.shape[axis] == length and atom not in cutter.inputs:
            try:
                version = cutter.version(atom, axis)
            except Uncut:
                axis = None
        results.append(version)
        cuts.append(None if version is None else ((axis, 1),))
    last = [atom for atom, version in zip(outputs, results, strict=True) if version is None]
    for atom in last:
        cutter.late(atom)
    partial = list(cutter.partial.values())
    made = [*[version for version in results if version is not None], *[one for one, _ in partial]]
    strip = _jaxpr_like(closed.jaxpr, cutter.variables, made, cutter.equations)
    rest = None
    if last:
        variables = {index: variable for variable, index in cutter.inputs.items()}
        taken = sorted(cutter.inputs[variable] for variable in cutter.read_last)
        given = [*cutter.partial, *map(variables.__getitem__, taken)]
        rest = ClosedJaxpr(_jaxpr_like(closed.jaxpr, given, last, cutter.last), []), taken
    if not any(source.cuts != (None,) for source in cutter.sources):
        raise Uncut
    ufuncs = [ufunc for _, ufunc in partial]
    return Strip(ClosedJaxpr(strip, []), cutter.sources, cuts, ufuncs, rest, cutter.largest)


def _jaxpr_like(
    jaxpr: Jaxpr, inputs: Sequence[Any], outputs: Sequence[Any], equations: Sequence[JaxprEqn], constants: Any = ()
) -> Jaxpr:
    """A jaxpr of other equations."""
    names = jaxpr.debug_info._replace(arg_names=("",) * len(inputs), result_paths=("",) * len(outputs))
    return jaxpr.replace(
        constvars=[*constants], invars=[*inputs], outvars=[*outputs], eqns=[*equations], debug_info=names
    )


class Cutter:
    """Makes the jaxpr of a strip, of ``rows`` of ``length`` rows.

    Attributes:
        inputs: the arguments, and constants behind them, by their variables.
        sources, variables: what the arguments of the strip are.
        equations: its equations.
        partial: by the variable of the kernel that they are parts of, the variable of the strip, and the NumPy function
            that puts them together.
        last, read_last: the equations that come last, and what they read of the kernel's arguments.
        largest: the bytes of the largest array of the strip that is cut.
    """

    def __init__(self, closed: ClosedJaxpr, length: int, rows: int, inner: int) -> None:
        jaxpr = closed.jaxpr
        self.length, self.rows, self._inner = length, rows, inner
        self.inputs = {variable: index for index, variable in enumerate((*jaxpr.invars, *jaxpr.constvars))}
        self._made = {variable: equation for equation in jaxpr.eqns for variable in equation.outvars}
        self._versions: dict[tuple[Any, int | None], Any] = {}
        self.sources: list[StripArgument] = []
        self.variables: list[Var] = []
        self.equations: list[JaxprEqn] = []
        self.partial: dict[Any, tuple[Any, np.ufunc]] = {}
        self.last: list[JaxprEqn] = []
        self.read_last: set[Any] = set()
        self.largest = 0
        self._late: set[Any] = set()

    def is_as_long(self, size: int) -> bool:
        """Tell whether a dimension has so many elements for each row, some at least."""
        return size > 0 and size % self.length == 0

    def leading(self, aval: Any) -> int | None:
        """The dimension along which an array is cut, if it is; that of an array of one dimension is the only one."""
        axis = _leading(aval, self._inner)
        return axis if axis is not None or math.prod(aval.shape) != self.length else _leading(aval)

    def part(self, size: int) -> int:
        """The length in a strip of a dimension of this one."""
        return size // self.length * self.rows

    def version(self, atom: Any, axis: int | None) -> Any:
        """The variable of the strip for one of the kernel, cut along a dimension, or whole.

        Raises:
            Uncut: there is none.
        """
        if isinstance(atom, Literal):
            return atom
        known = self._versions.get((atom, axis))
        if known is None:
            if axis is not None and not self.is_as_long(atom.aval.shape[axis]):
                raise Uncut
            if atom in self.inputs:
                self._input(atom, axis)
            elif axis is None and math.prod(atom.aval.shape) > SMALL:
                raise Uncut
            else:
                self._equation(self._made[atom], axis)
            known = self._versions[atom, axis]
        return known

    def _input(self, atom: Any, axis: int | None) -> None:
        if axis is not None and axis != self.leading(atom.aval):
            raise Uncut
        cut_at = None if axis is None else (axis, atom.aval.shape[axis] // self.length)
        self.sources.append(StripArgument(self.inputs[atom], (cut_at,)))
        self.variables.append(self._new(atom, axis))

    def elements_before(self, each: int) -> Any:
        """The variable of the strip for how many elements there are before it, with so many in a row."""
        self.sources.append(StripArgument(BEFORE, ((0, each),)))
        self.variables.append(Var(ShapedArray((), np.dtype("uint64"))))
        return self.variables[-1]

    def _new(self, atom: Any, axis: int | None) -> Any:
        shape = list(atom.aval.shape)
        if axis is not None:
            shape[axis] = self.part(shape[axis])
        variable = self._versions[atom, axis] = Var(atom.aval.update(shape=tuple(shape)))
        self.largest = max(self.largest, 0 if axis is None else _bytes(variable.aval))
        return variable

    def _equation(self, equation: JaxprEqn, axis: int | None) -> None:
        rule = CUTS.get(equation.primitive.name)
        if rule is None:
            raise Uncut
        axes, params = ([None] * len(equation.invars), {}) if axis is None else rule(self, equation, axis)
        inputs = [self.version(atom, one) for atom, one in zip(equation.invars, axes, strict=True)]
        if axis is not None and equation.primitive.name in DRAWING:
            shape = equation.params["shape"]
            inputs.append(self.elements_before(math.prod(shape[axis:]) // self.length))
            equation = equation.replace(primitive=random_part)
        outputs = [self._new(variable, axis) for variable in equation.outvars]
        self.equations.append(equation.replace(invars=inputs, outvars=outputs, params={**equation.params, **params}))

    def late(self, atom: Any) -> None:
        """Have a variable computed at the end, from partial results.

        Raises:
            Uncut: it can't be.
        """
        if isinstance(atom, Literal) or atom in self._late:
            return
        if math.prod(atom.aval.shape) > SMALL:
            raise Uncut
        if atom in self.inputs:
            self.read_last.add(atom)
        elif not self._is_partial(atom):
            equation = self._made[atom]
            if equation.primitive.name not in CUTS:
                raise Uncut
            for one in equation.invars:
                self.late(one)
            self.last.append(equation)
            self._late.update(equation.outvars)
        self._late.add(atom)

    def _is_partial(self, atom: Any) -> bool:
        """Have a variable computed in parts, if it is a reduction along the dimension that is cut."""
        equation = self._made[atom]
        ufunc = PARTIAL.get(equation.primitive.name)
        if ufunc is None:
            return False
        aval = equation.invars[0].aval
        axis = self.leading(aval)
        if axis is None or not self.is_as_long(aval.shape[axis]) or axis not in equation.params["axes"]:
            return False
        if aval.dtype.itemsize < 4 and ufunc is np.add:
            raise Uncut
        inputs = [self.version(equation.invars[0], axis)]
        variable = Var(atom.aval)
        self.equations.append(equation.replace(invars=inputs, outvars=[variable]))
        self.partial[atom] = variable, ufunc
        return True


PARTIAL = {
    "reduce_sum": np.add, "reduce_max": np.maximum, "reduce_min": np.minimum, "reduce_and": np.bitwise_and,
    "reduce_or": np.bitwise_or,
}  # fmt: skip
"""Reductions of which there are partial ones, and what puts these together."""


# -- rules: along which dimensions inputs are cut, and what parameters become ------------------------------------------

DRAWING = ("random_bits", random_part.name)
"""Primitives whose results depend on their place."""

Axes = list[int | None]
Rule = Callable[[Cutter, Any, int], tuple[Axes, dict[str, Any]]]
CUTS: dict[str, Rule] = {}
"""The rules by the names of primitives."""


def _rule(*primitives: str) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        CUTS.update(dict.fromkeys(primitives, function))
        return function

    return register


def _cut_at(cutter: Cutter, shape: Sequence[int], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], cutter.part(shape[axis]), *shape[axis + 1 :])


ELEMENTWISE = """
    abs acos acosh add and asin asinh atan atan2 atanh bessel_i0e bessel_i1e bitcast_convert_type cbrt ceil clamp clz
    complex conj convert_element_type copy cos cosh digamma div eq eq_to erf erf_inv erfc exp exp2 expm1 floor ge gt
    igamma igammac imag integer_pow is_finite le le_to lgamma log log1p logistic lt lt_to max min mul ne neg nextafter
    not or polygamma population_count pow real rem round rsqrt select_n shift_left shift_right_arithmetic
    shift_right_logical sign sin sinh sqrt square stop_gradient sub tan tanh xor zeta
"""
"""Primitives of which each element of a result follows from those at its place."""


@_rule(*ELEMENTWISE.split())
def elementwise(cutter: Cutter, equation: Any, axis: int) -> tuple[Axes, dict[str, Any]]:
    """All that is as long is cut; what has one element along the dimension, or no dimensions, is not."""
    result = equation.outvars[0].aval.shape
    axes: Axes = []
    for atom in equation.invars:
        shape = atom.aval.shape
        if shape and (len(shape) != len(result) or shape[axis] not in (1, result[axis])):
            raise Uncut
        axes.append(axis if shape and shape[axis] == result[axis] else None)
    return axes, {}


@_rule("broadcast_in_dim")
def broadcast(cutter: Cutter, equation: Any, axis: int) -> tuple[Axes, dict[str, Any]]:
    """The dimension that becomes this one is cut, unless it is repeated."""
    shape, axes = equation.invars[0].aval.shape, equation.params["broadcast_dimensions"]
    mine = axes.index(axis) if axis in axes else None
    if mine is not None and shape[mine] == 1:
        mine = None
    return [mine], {"shape": _cut_at(cutter, equation.params["shape"], axis)}


@_rule("reshape")
def reshape(cutter: Cutter, equation: Any, axis: int) -> tuple[Axes, dict[str, Any]]:
    """A dimension that begins with as many elements before it, and is as many times as long as there are rows."""
    shape, result = equation.invars[0].aval.shape, equation.outvars[0].aval.shape
    before = math.prod(result[:axis])
    for mine, length in enumerate(shape):
        if cutter.is_as_long(length) and math.prod(shape[:mine]) == before:
            return [mine], {"new_sizes": _cut_at(cutter, result, axis)}
    raise Uncut


@_rule("squeeze")
def squeeze(cutter: Cutter, equation: Any, axis: int) -> tuple[Axes, dict[str, Any]]:
    """The same dimension, among those that are there before."""
    return [_left(equation.invars[0].aval, equation.params["dimensions"])[axis]], {}


@_rule("expand_dims")
def expand_dims(cutter: Cutter, equation: Any, axis: int) -> tuple[Axes, dict[str, Any]]:
    """The same dimension, without those that are new."""
    return [axis - sum(one < axis for one in equation.params["dimensions"])], {}


def _left(aval: Any, gone: Sequence[int]) -> list[int]:
    return [axis for axis in range(len(aval.shape)) if axis not in gone]


@_rule("transpose")
def transpose(cutter: Cutter, equation: Any, axis: int) -> tuple[Axes, dict[str, Any]]:
    """The dimension that it comes from."""
    return [equation.params["permutation"][axis]], {}


@_rule("reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or", "reduce_xor",
       "argmax", "argmin")  # fmt: skip
def reduction(cutter: Cutter, equation: Any, axis: int) -> tuple[Axes, dict[str, Any]]:
    """A dimension that is not reduced."""
    return [_left(equation.invars[0].aval, equation.params["axes"])[axis]], {}


@_rule("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")
def cumulative(cutter: Cutter, equation: Any, axis: int) -> tuple[Axes, dict[str, Any]]:
    """Any other dimension than that along which it goes."""
    return _other(equation, axis, [equation.params["axis"]])


@_rule("sort", "concatenate", "rev")
def along(cutter: Cutter, equation: Any, axis: int) -> tuple[Axes, dict[str, Any]]:
    """Any other dimension than those that are put in order."""
    params = equation.params
    return _other(equation, axis, params["dimensions"] if "dimensions" in params else [params["dimension"]])


def _other(equation: Any, axis: int, taken: Sequence[int]) -> tuple[Axes, dict[str, Any]]:
    if axis in taken:
        raise Uncut
    return [axis] * len(equation.invars), {}


@_rule("iota")
def iota(cutter: Cutter, equation: Any, axis: int) -> tuple[Axes, dict[str, Any]]:
    """Any other dimension than that which is counted."""
    if equation.params["dimension"] == axis or equation.invars:
        raise Uncut
    return [], {"shape": _cut_at(cutter, equation.params["shape"], axis)}


@_rule("slice")
def slice_(cutter: Cutter, equation: Any, axis: int) -> tuple[Axes, dict[str, Any]]:
    """A dimension that is taken whole."""
    params = equation.params
    strides = params["strides"]
    size = equation.invars[0].aval.shape[axis]
    if params["limit_indices"][axis] - params["start_indices"][axis] != size or (strides and strides[axis] != 1):
        raise Uncut
    return [axis], {"limit_indices": _cut_at(cutter, params["limit_indices"], axis)}


@_rule("pad")
def pad(cutter: Cutter, equation: Any, axis: int) -> tuple[Axes, dict[str, Any]]:
    """A dimension that is not padded."""
    if any(equation.params["padding_config"][axis]):
        raise Uncut
    return [axis, None], {}


@_rule("dot_general")
def product(cutter: Cutter, equation: Any, axis: int) -> tuple[Axes, dict[str, Any]]:
    """Many products: single ones are BLAS's own concern."""
    _, (left, right) = equation.params["dimension_numbers"]
    if axis >= len(left):
        raise Uncut
    return [left[axis], right[axis]], {}


@_rule("gather")
def gather(cutter: Cutter, equation: Any, axis: int) -> tuple[Axes, dict[str, Any]]:
    """Places that are cut, of an array that is read whole, or in which each row has places of its own."""
    numbers = equation.params["dimension_numbers"]
    rank = len(equation.outvars[0].aval.shape)
    batch = [one for one in range(rank) if one not in numbers.offset_dims]
    if axis not in batch:
        raise Uncut
    mine = batch.index(axis)
    if mine in numbers.start_indices_batching_dims:
        own = numbers.operand_batching_dims[numbers.start_indices_batching_dims.index(mine)]
        return [own, mine], {}
    return [None, mine], {}


@_rule("dynamic_slice")
def dynamic_slice(cutter: Cutter, equation: Any, axis: int) -> tuple[Axes, dict[str, Any]]:
    """A dimension that is taken whole."""
    sizes = equation.params["slice_sizes"]
    if sizes[axis] != equation.invars[0].aval.shape[axis]:
        raise Uncut
    return [axis, *[None] * (len(equation.invars) - 1)], {"slice_sizes": _cut_at(cutter, sizes, axis)}


@_rule(*DRAWING)
def drawing(cutter: Cutter, equation: Any, axis: int) -> tuple[Axes, dict[str, Any]]:
    """Bits that one key gives: those from a place on."""
    shape = equation.params["shape"]
    if equation.invars[0].aval.shape or math.prod(shape[:axis]) != 1:
        raise Uncut
    return [None] * len(equation.invars), {"shape": _cut_at(cutter, shape, axis)}


@_rule("random_wrap", "random_unwrap", "random_split", "random_fold_in", "random_seed", "split", "optimization_barrier")
def whole(cutter: Cutter, equation: Any, axis: int) -> tuple[Axes, dict[str, Any]]:
    """A function of no rows."""
    raise Uncut
