"""Shape classes: what is worked out once for calls that differ in lengths and other numbers alone.

Note [Shape classes]
To know what a kernel computes it must be traced, which takes a millisecond, a hundred times what a small kernel takes
to run. A program whose lengths change with each example would trace all the time. So lengths that change become
*symbols*: when a call comes that differs from one before in some lengths alone (of arguments, or among the settings, as
of a reshape), the kernel is traced once with symbols in their place. What comes out is a ``ShapeClass``: the shapes of
the results as functions of the symbols, and the function that the host runs (its rules stand in
``execution/numpy_backend/shapes.py``). Calls that fit it later trace nothing. Floats among the settings that change, a
dropout's ``p``, become arguments of the kernel in the same way.

Lengths that never changed stay numbers, as do 0 and 1, which change what many kernels do: a symbol is two or more. jax
refuses to trace what depends on more than is known of a symbol. It is told then in which order the lengths were, too;
if that doesn't help there is no shape class, and each shape is traced as it comes. ``==`` is not refused: lengths that
nobody knows to be equal count as different. So symbols of one shape class, and what is computed from them, stand for
lengths that differ from each other, and from its other lengths. Of operators that are ``uniform``, elementwise ones
among them, it is known that neither matters: what is traced with lengths that are two or more, and differ, is right for
all but 0. Of others, as of windows, it is known that it doesn't matter which are equal (``indifferent``). Those that
broadcast have symbols for all lengths but 1 at once, one for each dimension of the result, so that there is one
shape class for all shapes of as many dimensions, with ones in the same places. Floats at which another formula holds
(``special``: a norm's 0, 1 and 2) are no symbols either, nor is which dimension is meant.

Traced anew at each length are still: adaptive pooling into windows of several lengths and antialiased resampling (how
many elements a window has follows from the lengths); convolutions and recurrent layers of other widths (the lengths
choose the algorithm); the gradient of ``glu``; ``ctc_loss``; factorizations of matrices with what is made of them; and
at each number ``diagonal`` (the offset) and ``var`` (the correction). How many results ``split`` and ``unbind`` have
follows from the lengths, so that these have none, but on the host need none: Note [Many operands] in
``many_operands.py``.

Note [Shipped classes]
The first call of an operator has none before it to be compared with. But what a shape class says is the same in each
process of one version. So ``python -m tapegrad._src.shipping``, which is run before the package is built, makes calls
of all kinds at several lengths, and writes the shape classes that they leave, with the backward kernels that were asked
of them, into a file that comes with the package. A signature that is new looks there, by the name of the operator, what
is no number of specs and settings, and which numbers are equal; what it finds are functions that read the numbers off a
call, as ``ShapeClass.read`` does. One that fits leads to a shape class, of which nothing is traced.

They are for small calls only, of arguments and results of at most ``SMALL`` elements: of larger ones it matters what
XLA would take, which is guessed from the lengths that a shape class was made at. What computes other bits for known
lengths is left out: exponents that are symbols.

The file says by which versions of Python, NumPy, jax and this package it was written, and from which sources; where any
of them is another, it is as if there were none. Nothing of it is executed whose digest is another than the table's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tapegrad._src.dispatch.call_keys import AXES, kept_entry, kernel_signature, shipped_family, signature_of
from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.dispatch.patterns import (
    Pattern,
    aligned,
    loosened,
    names_in,
    order_of,
    pattern_of,
    reader_for,
    symbols_in,
)
from tapegrad._src.execution.data.dtypes import from_numpy
from tapegrad._src.execution.kernels.symbolic_kernel import SymbolicKernel
from tapegrad._src.execution.numpy_backend.printing import evaluated, symbolic
from tapegrad._src.execution.tiers.host_trace import HostFunction
from tapegrad._src.execution.tiers.keeping import KeptEntry, ShippedEntry
from tapegrad._src.execution.tiers.symbolic_trace import (
    GeneralTrace,
    general,
    let_frames_go,
    shapes_for,
    symbols,
    traced,
)
from tapegrad._src.tape.mechanisms import SYMBOLIC_KERNELS
from tapegrad._src.tensor.spec import Size, Spec

MOST_CLASSES, MOST_TRIED = 8, 16
"""The most shape classes that calls of one signature have, and the most that are tried: some can't be traced."""

MOST_EXAMPLES = 4
"""With how many calls before a new one is compared."""

SPECIAL: ContextVar[tuple[float, ...] | None] = ContextVar("special", default=None)
"""The ``special`` numbers of the operator that is traced with floats in place of settings; None elsewhere."""


class Stumbled(BaseException):
    """Carries an error through jax, which takes long to shorten the traceback of what is an ``Exception``."""


class ClassBinding(NamedTuple):
    """A shape class, and what its symbols and floats are for one call."""

    shape_class: ShapeClass
    numbers: tuple[Any, ...]

    @property
    def outputs(self) -> list[tuple[tuple[int, ...], Any]]:
        """Shape and dtype of each result."""
        return list(zip(self.shapes, self.shape_class.dtypes, strict=True))

    @property
    def shapes(self) -> tuple:
        """Shape of each result."""
        return self.shape_class.outputs(*self.numbers)

    @property
    def growth(self) -> float:
        """The number of elements that results have, as a multiple of those when the shape class was made."""
        return sum(map(math.prod, self.shapes)) / self.shape_class.count

    def forward(self) -> HostFunction | None:
        """The function that the host runs; None if the kernel is XLA's."""
        return self._at(self.shape_class.forward)

    def backward(self, plan: Any, wanted: tuple[bool, ...], given: tuple[bool, ...]) -> HostFunction | None:
        """The function that the host runs for a backward kernel of a plan; None if it is XLA's, or depends on more than
        is known."""
        return self._at(self.shape_class.backward(plan, wanted, given))

    def _at(self, general: GeneralTrace | None) -> HostFunction | None:
        if general is None:
            return None
        numbers = dict(zip(self.shape_class.names, self.numbers, strict=True))
        return general.at(self.growth, numbers)


class Known(NamedTuple):
    """All that is known of calls of one signature: the shape classes of their kernels, and plan templates for these.

    Calls that differ in flags alone have the same classes. See Note [Plan templates].
    """

    classes: ShapeClasses
    templates: list[Any]


Sought = tuple[Known, Sequence[Any]]
"""All that is known of calls with the signature of one, and its numbers."""


def sought(op: OperatorLike, specs: tuple, settings: dict, taken: tuple | None = None) -> Sought:
    """Look for what is known of calls like one that may have a shape class; it may have been ``taken`` apart."""
    signature, head, numbers = taken or signature_of(specs, settings)
    known = op.calls.templates.get(signature)
    if known is None:
        key = kernel_signature(specs, signature, head)
        classes = op.calls.classes.get(key)
        classes = classes or op.calls.classes.only(key, ShapeClasses(shipped_family(op, specs, settings)))
        known = op.calls.templates.keep(signature, Known(classes, []))
    return known, numbers


def outlined_numbers(numbers: Sequence[Any], uniform: bool) -> tuple:
    """The equalities among numbers, where they matter: what fits one pattern has this in common.

    >>> outlined_numbers((4, 5, 1, 4, 0.5), False)
    (2, 3, 1, 2, 'p')
    """
    first: dict[Any, int] = {0: 0, 1: 1}
    if uniform:
        return ()
    return tuple(["p" if type(number) is float else first.setdefault(number, len(first)) for number in numbers])


def _filled(value: Any, numbers: Iterator[Any]) -> Any:
    """A nested tuple with other numbers, in the order of ``signature_of``."""
    cls = type(value)
    if cls is int or cls is float:
        return next(numbers)
    if cls is Spec:
        return symbolic_spec(value, [next(numbers) for _ in value.shape])
    if not isinstance(value, tuple):
        return value
    items = [_filled(item, numbers) for item in value]
    if cls is Size:
        return Size.of(items)
    return cls(*items) if hasattr(cls, "_fields") else cls(items)


class SymbolicSpec(Spec):
    """A bare spec with lengths that are symbols. It is not interned: only what traces a kernel sees it."""

    __slots__ = ()

    @property
    def bare(self) -> Spec:
        """Itself."""
        return self


def symbolic_spec(spec: Spec, shape: Sequence[Any]) -> Spec:
    """A bare spec like another, with lengths that are symbols."""
    made = object.__new__(SymbolicSpec)
    for name in Spec.__slots__[:-1]:  # without that of weak references
        setattr(made, name, getattr(spec, name))
    made.shape, made.numel, made.strides = Size.of(shape), math.prod(shape), None
    return made


class ShapeClasses:
    """The shape classes of an operator's calls that differ in numbers, and in flags that its kernel does not depend on.

    Attributes:
        classes: the shape classes that were found.
        examples: the numbers of the last calls that no class fits.
        tried: the patterns of which a class was to be made.
        named: under what name what comes with the package is found; None if nothing does.
        asked: what was found there, by which numbers are equal.
    """

    __slots__ = ("classes", "examples", "tried", "named", "asked", "__weakref__")

    def __init__(self, named: str | None) -> None:
        self.classes: list[ShapeClass] = []
        self.examples: list[Pattern] = []
        self.tried: set[tuple] = set()
        self.named = named
        self.asked: dict[tuple, list] = {}

    def bound(self, op: OperatorLike, specs: tuple, settings: dict, numbers: Sequence[Any]) -> ClassBinding | None:
        """The shape class that some numbers fit, if there is one already, or comes with the package."""
        for one in self.classes:
            symbols = one.read(*numbers)
            if symbols is not None:
                return ClassBinding(one, symbols)
        return None if self.named is None else self.shipped(op, specs, settings, numbers)

    def shipped(self, op: OperatorLike, specs: tuple, settings: dict, numbers: Sequence[Any]) -> ClassBinding | None:
        """The shape class that some numbers fit, if it comes with the package."""
        outline = outlined_numbers(numbers, op.uniform or op.indifferent)
        readers = self.asked.get(outline)
        if readers is None:
            assert self.named is not None
            entry = ShippedEntry(self.named, outline)
            readers = self.asked[outline] = [(entry, *one) for one in entry("readers") or ()]
        for entry, index, read in readers:
            symbols = read(*numbers)
            if symbols is not None:
                shape_class = ShapeClass.shipped(op, specs, settings, read, entry, index)
                self.classes.append(shape_class)
                return ClassBinding(shape_class, symbols)
        return None

    def made(self, op: OperatorLike, specs: tuple, settings: dict, numbers: Sequence[Any]) -> ClassBinding | None:
        """The shape class that some numbers fit, made now if a call before gives reason to. It is asked only once."""
        shapes = [tuple(spec.shape) for spec in specs if isinstance(spec, Spec)]
        count = sum(map(len, shapes))
        for example in self.examples:
            pattern = pattern_of(example, numbers, count, 1 if op.uniform else 2, op.special)
            if pattern is None or self._is_full:
                continue
            wider = aligned(pattern, shapes) if op.uniform and op.broadcasts else None
            wider = loosened(numbers, count) if op.loose else wider
            new = None if wider is None else self._bound_new(op, specs, settings, wider, [], numbers)
            new = new or self._bound_new(op, specs, settings, pattern, order_of(pattern, example, numbers), numbers)
            if new is not None:
                return new
        self.examples = [tuple(numbers), *self.examples][:MOST_EXAMPLES]
        return None

    def _bound_new(
        self, op: OperatorLike, specs: tuple, settings: dict, pattern: Pattern, order: list[str], numbers: Sequence[Any]
    ) -> ClassBinding | None:
        """The shape class of a pattern that some numbers fit, made now unless that was tried before."""
        if (pattern, *order) in self.tried or self._is_full:
            return None
        if reader_for(op, pattern, symbols_in(pattern))(*numbers) is None:
            return None
        self.tried.add((pattern, *order))
        made = self._made(op, specs, settings, pattern, order)
        if made is None:
            return None
        self.classes.append(made)
        symbols = made.read(*numbers)
        return None if symbols is None else ClassBinding(made, symbols)

    @property
    def _is_full(self) -> bool:
        made = sum([one.entry is None for one in self.classes])
        return made >= MOST_CLASSES or len(self.tried) >= MOST_TRIED

    def _made(
        self, op: OperatorLike, specs: tuple, settings: dict, pattern: Pattern, order: list[str]
    ) -> ShapeClass | None:
        """The shape class of a pattern; if need be for lengths in this order only. None if jax can't trace it."""
        for constraints in ([], order) if order else ([],):
            made, again = attempted(op, specs, settings, pattern, constraints)
            if made is not None or not again:
                return made
        return None


def attempted(*call: Any) -> tuple[ShapeClass | None, bool]:
    """A shape class, if there is one, and else whether it is worth a try with more constraints.

    An error of the operator's own, as of shapes that don't broadcast, comes with all of them.
    """
    again = True
    try:
        made = ShapeClass(*call)
    except Untraceable as error:
        return None, error.args[0] == REFUSED
    except Exception as error:  # whatever a trace with symbols stumbles over
        made, again = None, not isinstance(error, RuntimeError)
    if made is None or made.was_traced:
        let_frames_go()
    return made, again


class Outline(NamedTuple):
    """The result of a trace with symbols, as it is kept: see Note [Kept functions] in ``tape/kept.py``.

    Attributes:
        single: whether there is one result, not in a tuple.
        dtypes: those of the results.
        shapes: those of the results, lengths as they are or as Python says them.
        forward: what the host runs; None if the kernel is XLA's.
    """

    single: bool
    dtypes: tuple[np.dtype, ...]
    shapes: list[tuple[int | str, ...]]
    forward: GeneralTrace | None


class Untraceable(Exception):
    """It is known that a kernel can't be traced with symbols; ``REFUSED`` or ``WRONG``."""


class ShapeClass:
    """A class of calls that differ in some numbers alone, and what they have in common. See Note [Shape classes].

    Attributes:
        names: what stands for numbers, in order: Note [Names of a pattern] in ``patterns.py``.
        read: ``read(*numbers)`` gives what these are for a call that fits, None for another.
        outputs: ``outputs(*numbers)``, of those, gives the shapes of the results.
        dynamic: the indices of those names that the shapes of arguments and results do not depend on.
        always: whether arguments had these shapes whenever it was needed so far.
        count: how many elements results had when it was made.
        dtypes: the dtypes of the results; ``single`` tells one from a tuple of one.
        forward: what the host runs; None if the kernel is XLA's.
        wide: whether a 64-bit type is involved; None as long as nobody has asked.
        was_traced: whether it was made by a trace, in this process.
        kernels: the symbolic kernels, by what is said of a backward one; () for the forward one.
        entry: what is kept of it, if it comes with the package, and its ``index`` there.
    """

    entry: ShippedEntry | None = None
    index = 0

    def __init__(
        self, op: OperatorLike, specs: tuple, settings: dict, pattern: Pattern, order: Sequence[str] = ()
    ) -> None:
        numbers = signature_of(specs, settings)[2]
        self.names = symbols_in(pattern)
        self.read = reader_for(op, pattern, self.names, order)
        lengths = [name for name in self.names if name[0] != "p"]
        constraints = [*(f"{name} >= 2" for name in lengths), *order]
        self._begin(op, specs, settings)
        self._pattern, self._constraints = pattern, (lengths, constraints)
        self._floats = [name for name in self.names if name[0] == "p"]
        self._passing: dict[tuple[bool, ...], bool] = {}
        self._first = self.read(*numbers)
        self._order = tuple(order)
        outline = self._outline()
        self.single, self._shapes, self.forward = outline.single, outline.shapes, outline.forward
        self.dtypes = [from_numpy(dtype) for dtype in outline.dtypes]
        self.outputs = shapes_for(self._shapes, self.names)
        ranks = sum(spec.ndim for spec in specs if isinstance(spec, Spec))
        sizes = [*pattern[:ranks], *(size for shape in self._shapes for size in shape)]
        shown = {name for size in sizes for name in names_in(str(size))}
        self.dynamic = [index for index, name in enumerate(self.names) if name not in shown]
        self.always = all(isinstance(number, int) for number in pattern[:ranks])
        self.count = max(sum(map(math.prod, self.outputs(*self._first))), 1)

    def _begin(self, op: OperatorLike, specs: tuple, settings: dict) -> None:
        self._op, self._given = op, (specs, settings)
        self._traces: dict[tuple, GeneralTrace | None] = {}
        self.kernels: dict[tuple, SymbolicKernel | None] = {}
        self.wide: bool | None = None

    @classmethod
    def shipped(
        cls, op: OperatorLike, specs: tuple, settings: dict, read: Callable, entry: ShippedEntry, index: int
    ) -> ShapeClass:
        """The one that comes with the package, for these calls."""
        made = object.__new__(cls)
        made._begin(op, specs, settings)
        made.read, made.entry, made.index, made.was_traced = read, entry, index, False
        vars(made).update(zip(SHIPPED, entry(index), strict=True))
        made.dtypes = [from_numpy(one) for one in vars(made)["dtypes"]]
        return made

    @property
    def as_shipped(self) -> tuple:
        """The form of it that is kept for ``shipped``."""
        dtypes = [dtype.numpy for dtype in self.dtypes]
        assert self.forward is not None
        self.outputs = self.forward.shapes
        return tuple([dtypes if name == "dtypes" else getattr(self, name) for name in SHIPPED])

    @cached_property
    def pinned(self) -> list[int]:
        """The indices of the names that shapes depend on."""
        return [index for index in range(len(self.names)) if index not in self.dynamic]

    @cached_property
    def _symbols(self) -> dict[str, Any]:
        return symbols(*self._constraints)

    @cached_property
    def specs(self) -> tuple:
        """The arguments, with symbols in their shapes."""
        return self._filled(dict.fromkeys(self._floats, 0.5))[0]

    @cached_property
    def shapes(self) -> list[tuple]:
        """The shapes of the results, with symbols."""
        return [tuple([measured(size, self._symbols) for size in shape]) for shape in self._shapes]

    def _entry(self, what: str, *others: Any) -> KeptEntry | None:
        return kept_entry(what, self._op, *self._given, self._pattern, self._order, *others)

    def _outline(self) -> Outline:
        """The outline of the calls, from before or by a trace.

        Raises:
            Exception: whatever that stumbles over.
        """
        entry = self._entry("shape class")
        outline = None if entry is None else entry()
        self.was_traced = outline is None
        if outline is None:
            outline = self._made_outline(entry)
        if outline in (REFUSED, WRONG):
            raise Untraceable(outline)
        return outline

    def _made_outline(self, entry: KeptEntry | None) -> Outline:
        prepare = self._op.prepare
        try:
            arguments = [_example(spec) for spec in self.specs if spec is not None]
            closed, tree = self._traced(lambda specs, settings: prepare(specs, settings), arguments)
            single = not isinstance(tree, (tuple, list))
            results = [tree] if single else list(tree)
            self.shapes = [tuple(result.shape) for result in results]
            shapes: Any = [tuple([size if isinstance(size, int) else said_in_python(size) for size in shape])
                           for shape in self.shapes]  # fmt: skip
            dtypes = tuple([np.dtype(result.dtype) for result in results])
            outline = Outline(single, dtypes, shapes, self._written(closed, tree))
        except (MemoryError, RecursionError):
            raise
        except Exception as error:
            if entry is not None:
                entry.keep(WRONG if isinstance(error, RuntimeError) else REFUSED)
            raise
        if entry is not None and self._is_said(shapes):
            entry.keep(outline)
        return outline

    def _is_said(self, shapes: Sequence[tuple]) -> bool:
        """Tell whether shapes are what is said of them."""
        try:
            return all(
                measured(text, self._symbols) == size
                for shape, true in zip(shapes, self.shapes, strict=True)
                for text, size in zip(shape, true, strict=True)
            )
        except Exception:  # what jax does not compute with symbols
            return False

    def out_specs(self, plan: Any) -> tuple:
        """The specs of a plan's results, with symbols in the shapes."""
        pairs = zip(plan.out_specs, self.shapes, strict=True)
        return tuple(symbolic_spec(spec.bare, shape) for spec, shape in pairs)

    def passes(self, plan: Any) -> bool:
        """As ``Plan.passes``, for all numbers: which lengths are one now, or equal by chance, does not count."""
        passing = self._passing.get(plan.needed)
        if passing is None:
            entry = self._entry("shape class passes", plan.needed)
            known = None if entry is None else entry()
            passing = self._passing[plan.needed] = known[0] if known else self._kept_passes(entry, plan)
        return passing

    def _kept_passes(self, entry: KeptEntry | None, plan: Any) -> bool:
        passing = plan.passes_at(self.specs, self.out_specs(plan))
        if entry is not None:
            entry.keep((passing,))
        return passing

    def _filled(self, floats: dict[str, Any]) -> tuple[tuple, dict]:
        """Specs and settings with symbols for lengths, and with these floats."""
        return self.filled({**self._symbols, **floats})

    def filled(self, scope: dict[str, Any]) -> tuple[tuple, dict]:
        """Specs and settings, for what symbols and floats are."""
        numbers = iter([eval(number, scope.copy()) if isinstance(number, str) else number for number in self._pattern])
        specs, settings = self._given
        return tuple([_filled(spec, numbers) for spec in specs]), {
            name: value if name in AXES else _filled(value, numbers) for name, value in settings.items()
        }

    def _traced(self, make: Callable, arguments: Sequence[Any]) -> tuple[Any, Any]:
        """The jaxpr of the function that ``make`` gives for specs and settings, in which floats come first."""
        count = len(self._floats)

        def function(*values: Any) -> Any:
            try:
                return make(*self._filled(dict(zip(self._floats, values[:count], strict=True))))(*values[count:])
            except Exception as error:
                raise Stumbled(error) from None

        token = SPECIAL.set(self._op.special)
        try:
            return traced(function, [float] * count + list(arguments))
        except Stumbled as stumbled:
            raise stumbled.args[0] from None
        finally:
            SPECIAL.reset(token)

    def _written(self, closed: Any, tree: Any) -> GeneralTrace | None:
        """The result of ``_traced``, written for the host; None if it can't be written."""
        lengths = {name: number for name, number in zip(self.names, self._first, strict=True) if name[0] != "p"}
        return general(closed, tree, self.names, lengths)

    def kernel(self, plan: Any, *gradients: tuple[bool, ...]) -> SymbolicKernel | None:
        """The kernel for all lengths of calls like those of a plan, or of their gradients, of which these are wanted,
        and these given; None if there is none.

        See Note [Symbolic kernels] in ``execution/kernels/symbolic_kernel.py``.
        """
        key = (plan.needed, *gradients) if gradients else ()
        if key not in self.kernels:
            self.kernels[key] = None if SYMBOLIC_KERNELS.off else self._kernel(plan, *gradients)
        return self.kernels[key]

    def _kernel(self, plan: Any, *gradients: tuple[bool, ...]) -> SymbolicKernel | None:
        if gradients:
            given = gradients[1]
            general, examples = self.backward(plan, *gradients), plan.backward_arguments(given)
        else:
            given, general, examples = (), self.forward, plan.forward_arguments
        return None if general is None else SymbolicKernel(general, self.names, examples, sum(given))

    def backward(self, plan: Any, wanted: tuple[bool, ...], given: tuple[bool, ...]) -> GeneralTrace | None:
        """As ``ClassBinding.backward``, for all numbers."""
        key = (plan.needed, wanted, given)
        if key not in self._traces:
            if self.entry is not None:
                kept = self.entry((self.index, *key))
                if kept is not None:
                    self._traces[key] = kept[0]
                    return kept[0]
            entry = self._entry("shape class backward", *key)
            known = None if entry is None else entry()
            self._traces[key] = known[0] if known is not None else self._kept_backward(entry, plan, wanted, given)
        return self._traces[key]

    def _kept_backward(
        self, entry: KeptEntry | None, plan: Any, wanted: tuple[bool, ...], given: tuple[bool, ...]
    ) -> GeneralTrace | None:
        try:
            trace = self._written_backward(plan, wanted, given)
        except (MemoryError, RecursionError):
            return None
        except Exception:  # as in ShapeClasses._made
            trace = None
        finally:
            let_frames_go()
        if entry is not None:
            entry.keep((trace,))
        return trace

    def _written_backward(self, plan: Any, wanted: tuple[bool, ...], given: tuple[bool, ...]) -> GeneralTrace | None:
        """A backward kernel, traced with symbols: that of the same plan for such tensors and settings."""
        out_specs = self.out_specs(plan)

        def make(specs: tuple, settings: dict) -> Callable:
            symbolic = plan.replace(specs=specs, given=settings, out_specs=out_specs)
            symbolic.late.sources = None  # shapes among them are those of the plan
            return symbolic.backward_function(wanted, given)

        outputs = [_example(spec) for spec in out_specs]
        grads = [outputs[slot] for slot in range(plan.slots) if given[slot]]
        saved = [_example(self.specs[i]) for i in plan.saved_inputs] + [outputs[i] for i in plan.saved_outputs]
        return self._written(*self._traced(make, [*grads, *saved]))


SHIPPED = (
    "names", "single", "dtypes", "outputs", "forward", "wide", "dynamic", "always", "count",
    "_shapes", "_pattern", "_constraints", "_floats", "_passing", "_first", "_order",
)  # fmt: skip
"""Kept of a shape class that comes with the package."""

REFUSED, WRONG = "refused", "wrong"
"""Kept of a shape class that can't be traced: by jax, and for an error of the operator's own."""


def said_in_python(size: Any) -> str:
    """A length that depends on symbols."""
    return symbolic(size, {})


def measured(size: int | str, lengths: dict[str, Any]) -> Any:
    """A length as it was kept, for what symbols are."""
    return size if isinstance(size, int) else evaluated(size, lengths)


def _example(spec: Any) -> Any:
    return (spec.shape, spec.dtype.numpy) if isinstance(spec, Spec) else spec
