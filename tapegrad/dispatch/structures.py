"""Structures: what is worked out once for calls that differ in lengths alone.

Note [Structures]
To know what a kernel computes it must be traced, which takes a millisecond, a hundred times what a small kernel takes
to run. A program whose lengths change with each example would trace all the time. So lengths that change become
*symbols*: when a call comes that differs from one before in some lengths alone (of arguments, or among the settings, as
of a reshape), the kernel is traced once with symbols in their place. What comes out is a ``Structure``: the shapes of
the results as functions of the symbols, and the function that the host runs (Note [Symbols] in
``execution/host_tier/writer.py``). Calls that fit it later trace nothing.

Lengths that never changed stay numbers, as do 0 and 1, which change what a kernel does: a symbol is two or more. jax
refuses to trace what depends on more than is known of a symbol; then there is no structure, and each shape is traced as
it comes. ``==`` is not refused: lengths that nobody knows to be equal count as different. So symbols of one structure
stand for lengths that differ from each other, and from its other lengths.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
from jax import export

from tapegrad.execution.dtypes import from_numpy
from tapegrad.execution.host_tier.rules import Unwritable
from tapegrad.execution.host_tier.writer import Written, symbolic, written_jaxpr
from tapegrad.tape.sources import defined
from tapegrad.tensor.spec import Size, Spec

MOST_STRUCTURES = 8
"""How many structures calls of one family have."""

MOST_EXAMPLES = 4
"""With how many calls before a new one is compared."""

LENGTH = object()
"""Stands for a length in the skeleton of a call."""


def structure_of(op: Any, specs: tuple, settings: dict) -> Structure | None:
    """The structure of a call, if there is one. It is asked only of calls that are new."""
    lengths: list[int] = []
    skeleton = _skeleton((*specs, *settings.items()), lengths)
    family = op.families.get(skeleton)
    if family is None:
        family = op.families.setdefault(skeleton, Family())
    return family.structure(op, specs, settings, tuple(lengths))


def _skeleton(value: Any, lengths: list[int]) -> Any:
    """A nested tuple without its lengths, which are appended to a list."""
    kind = type(value)
    if kind is int:
        lengths.append(value)
        return LENGTH
    if kind is Spec:
        lengths.extend(value.shape)
        return Spec, value.ndim, value.dtype, value.device
    return (kind, *[_skeleton(item, lengths) for item in value]) if isinstance(value, tuple) else value


def _filled(value: Any, lengths: Iterator[Any]) -> Any:
    """A nested tuple with other lengths, in the order of ``_skeleton``."""
    kind = type(value)
    if kind is int:
        return next(lengths)
    if kind is Spec:
        return symbolic_spec(value, [next(lengths) for _ in value.shape])
    if not isinstance(value, tuple):
        return value
    items = [_filled(item, lengths) for item in value]
    return kind(*items) if hasattr(kind, "_fields") else kind(items)


def symbolic_spec(spec: Spec, shape: Sequence[Any]) -> Spec:
    """A bare spec with lengths that are symbols. It is not interned: only what traces a kernel sees it."""
    made = object.__new__(Spec)
    for name in Spec.__slots__:
        setattr(made, name, getattr(spec, name))
    made.shape, made.numel, made.strides = Size(shape), math.prod(shape), None
    made._siblings = {(): made}
    return made


class Family:
    """Calls of one operator that differ in lengths alone: some examples, and the structures that were found."""

    __slots__ = ("examples", "structures", "refused")

    def __init__(self) -> None:
        self.examples: list[tuple[int, ...]] = []
        self.structures: list[Structure] = []
        self.refused: set[tuple] = set()

    def structure(self, op: Any, specs: tuple, settings: dict, lengths: tuple[int, ...]) -> Structure | None:
        """The structure that lengths fit, made now if a call before gives reason to."""
        for structure in self.structures:
            if structure.sizes(*lengths) is not None:
                return structure
        ranks = sum(spec.ndim for spec in specs if isinstance(spec, Spec))
        for example in self.examples:
            pattern = pattern_of(example, lengths, ranks)
            if pattern is None or pattern in self.refused or len(self.structures) >= MOST_STRUCTURES:
                continue
            self.refused.add(pattern)
            try:
                structure = Structure(op, specs, settings, pattern)
            except Exception:  # whatever a trace with symbols stumbles over: the kernel depends on more than is known
                continue
            if structure.sizes(*lengths) is not None:
                self.structures.append(structure)
                return structure
        self.examples = [lengths, *self.examples][:MOST_EXAMPLES]
        return None


def pattern_of(before: Sequence[int], now: Sequence[int], ranks: int) -> tuple[Any, ...] | None:
    """For each length a number, if it did not change, or the expression of symbols that it is; None if there is none.

    Args:
        before, now: lengths of two calls; the first ``ranks`` of them are those of arguments.

    >>> pattern_of((5, 16, 20), (7, 16, 28), 2)
    ('n0', 16, '4*n0')
    """
    symbols: dict[tuple[int, int], str] = {}
    pattern: list[Any] = []
    for place, pair in enumerate(zip(before, now, strict=True)):
        if pair[0] == pair[1]:
            pattern.append(pair[0])
        elif place < ranks:
            if min(pair) < 2:
                return None
            pattern.append(symbols.setdefault(pair, f"n{len(symbols)}"))
        else:
            pattern.append(expression_of(pair, symbols))
    return None if None in pattern or not symbols else tuple(pattern)


def expression_of(pair: tuple[int, int], symbols: dict[tuple[int, int], str]) -> str | None:
    """A length that changed with those of the arguments: one of them, a multiple, one more or less; None for others.

    >>> expression_of((3, 5), {(4, 6): "n0"})
    'n0 - 1'
    """
    if pair in symbols:
        return symbols[pair]
    for (old, new), name in symbols.items():
        if pair[0] * new == pair[1] * old and pair[0] % old == 0:
            return f"{pair[0] // old}*{name}"
    if math.prod(old for old, _ in symbols) == pair[0] and math.prod(new for _, new in symbols) == pair[1]:
        return "*".join(symbols.values())
    for (old, new), name in symbols.items():
        if pair[0] - old == pair[1] - new:
            return f"{name} {'+' if pair[0] > old else '-'} {abs(pair[0] - old)}"
    return None


class Structure:
    """What calls have in common that differ in some lengths alone. See Note [Structures].

    Attributes:
        sizes: ``sizes(*lengths)`` gives what the symbols are for lengths that fit, None for others.
        outputs: ``outputs(*sizes)`` gives the shapes of the results.
        dtypes: the dtypes of the results; ``single`` tells one from a tuple of one.
        forward: what the host runs; None if the kernel is XLA's.
    """

    def __init__(self, op: Any, specs: tuple, settings: dict, pattern: tuple[Any, ...]) -> None:
        names = sorted({name for length in pattern if isinstance(length, str) for name in names_in(length)})
        self.sizes = _sizes(pattern, names)
        symbols = export.symbolic_shape(", ".join(names), constraints=[f"{name} >= 2" for name in names])
        scope = dict(zip(names, symbols, strict=True))
        lengths = [eval(length, scope.copy()) if isinstance(length, str) else length for length in pattern]
        filled = _filled((*specs, *settings.items()), iter(lengths))
        self.specs, self.settings = filled[: len(specs)], dict(filled[len(specs) :])
        self._op, self._backwards = op, {}
        function = op.prepare(self.specs, self.settings)
        arguments = [_example(spec) for spec in self.specs if spec is not None]
        closed, tree = _traced(function, arguments)
        self.single = not isinstance(tree, (tuple, list))
        results = [tree] if self.single else list(tree)
        self.dtypes = [from_numpy(result.dtype) for result in results]
        self.shapes = [tuple(result.shape) for result in results]
        self.outputs = _shapes(self.shapes, names)
        self.forward = _written(closed, tree)

    def outputs_of(self, specs: tuple, settings: dict) -> list[tuple[tuple[int, ...], Any]]:
        """Shape and dtype of each result of a call that fits."""
        lengths: list[int] = []
        _skeleton((*specs, *settings.items()), lengths)
        return list(zip(self.outputs(*self.sizes(*lengths)), self.dtypes, strict=True))

    def backward(self, plan: Any, wanted: tuple[bool, ...], given: tuple[bool, ...]) -> Written | None:
        """What the host runs for a backward kernel of a plan; None if it is XLA's, or depends on more than is known."""
        key = (plan.needed, wanted, given)
        if key not in self._backwards:
            try:
                self._backwards[key] = self._written_backward(plan, wanted, given)
            except Exception:  # as in Family.structure
                self._backwards[key] = None
        return self._backwards[key]

    def _written_backward(self, plan: Any, wanted: tuple[bool, ...], given: tuple[bool, ...]) -> Written | None:
        """A backward kernel, traced with symbols: that of the same plan for tensors of such lengths."""
        general = copy.copy(plan)
        general.specs, general.settings = self.specs, {**self._op.defaults, **self.settings}
        pairs = zip(plan.out_specs, self.shapes, strict=True)
        general.out_specs = tuple(symbolic_spec(spec.bare, shape) for spec, shape in pairs)
        general.locate_sources()
        outputs = [_example(spec) for spec in general.out_specs]
        grads = [outputs[slot] for slot in range(plan.slots) if given[slot]]
        saved = [_example(self.specs[i]) for i in plan.saved_inputs] + [outputs[i] for i in plan.saved_outputs]
        return _written(*_traced(general.backward_function(wanted, given), [*grads, *saved]))


def _example(spec: Any) -> Any:
    return jax.ShapeDtypeStruct(spec.shape, spec.dtype.numpy) if isinstance(spec, Spec) else spec(1)


def _traced(function: Callable, arguments: Sequence[Any]) -> tuple[Any, Any]:
    with jax.enable_x64(True):
        return jax.make_jaxpr(function, return_shape=True)(*arguments)


def _written(closed: Any, tree: Any) -> Written | None:
    try:
        return written_jaxpr(closed, tree)
    except Unwritable:
        return None


def _sizes(pattern: Sequence[Any], names: Sequence[str]) -> Callable:
    """The function that reads symbols off lengths: None, if they don't fit the pattern."""
    arguments = [f"x{place}" for place in range(len(pattern))]
    firsts = {name: arguments[pattern.index(name)] for name in names}
    others = {length for length in pattern if isinstance(length, int) and length > 1}
    fits = [f"{name} > 1" for name in names] + [f"{' * '.join([*names, str(max(others, default=1))])} < {1 << 31}"]
    fits += [f"{x} == {length}" for x, length in zip(arguments, pattern, strict=True) if x not in firsts.values()]
    symbols = ", ".join(names)
    return defined([
        f"def sizes({', '.join(arguments)}):",
        *(f"    {name} = {first}" for name, first in firsts.items()),
        f"    fits = {' and '.join(fits)}",
        f"    differ = len({{{', '.join([*names, *map(str, others)])}}}) == {len(names) + len(others)}",
        f"    return ({symbols},) if fits and differ else None",
    ], "sizes", {})  # fmt: skip


def _shapes(shapes: Sequence[Sequence[Any]], names: Sequence[str]) -> Callable:
    """The function that gives shapes for what symbols are."""
    scope: dict[str, Any] = {}
    sizes = [[str(size) if isinstance(size, int) else symbolic(size, scope) for size in shape] for shape in shapes]
    tuples = [f"({''.join(f'{size}, ' for size in shape)})" for shape in sizes]
    return defined([f"def shapes({', '.join(names)}):", f"    return ({', '.join(tuples)},)"], "shapes", scope)


def names_in(expression: str) -> list[str]:
    """The symbols of an expression.

    >>> names_in("4*n0 - 1")
    ['n0']
    """
    return [word for word in expression.replace("*", " ").split() if word.isidentifier()]
