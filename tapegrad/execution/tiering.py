"""Tiers: how a kernel is run on a CPU, by NumPy or by XLA, and who decides.

Note [Tiers]
In a process whose only device is one CPU a kernel can be run in two ways: by XLA, or as the NumPy function that is
written from its jaxpr (Note [The host tier] in ``host_tier/writer.py``). So a value there may be a NumPy array as well
as a jax array, and nobody above this room can tell. Which way is decided for each kernel and each combination of shapes
(``Tiered``), when it is called for the first time, by what it is likely to cost (Note [Costs] in ``costs.py``):

- *host*: a call on the host costs no more than one of XLA's, as with small arrays, and with what XLA is slow at.
- *cold*: XLA would be quicker, but has to compile first. The next calls are the host's. When they have lost, by what
  they are likely to cost, what compiling costs (``starts``), it is begun on a thread in the background (*compiling*);
  when the calls after that cost ``PATIENCE`` times as much, again by what is likely (``swaps``), the rest are XLA's.
- *xla*: one call on the host would take longer than compiling; or there is no way to write the kernel for the host.

Nothing of this is measured: who computes a call depends on the calls before it, and a program gives the same bits in
each run. So the figures of the cost model have to be right where they decide, and ``python -m benchmarks.tiers`` lays
them beside what is measured. If the compiler is not ready when a kernel is swapped, that call waits for it, or compiles
what has not been begun (``Due``): it never waits for what others have in the queue, and so never longer than it would
have taken to compile the kernel at first, and once for each kernel. What fails to be compiled is the host's from there.

``tiers("xla")`` has everything run by XLA, ``tiers("host")`` by NumPy what can be; ``"auto"`` decides as above. With
``use_deterministic_algorithms(True)`` nothing is ever cold: what is not the host's is XLA's from the first call on, so
that all calls of a kernel give the same bits, whatever was called before.

Note [Quiet calls]
NumPy warns of overflows and divisions by zero; PyTorch does not. That it is silent is a matter of the context, and to
call a function in a context in which NumPy was told so once costs a tenth of telling it each time. A context can't be
entered twice: where another thread or a finalizer is in it, NumPy is told after all.

Note [Entries]
A call passes a function of straight-line Python (``Tiered.run``), written for the number of arguments. That of
``x * 2.5`` reads::

    def run(x0, x1):
        if type(x0) is ndarray and type(x1) is float:
            try:
                return quietly(body, x0, x1)
            except Exception as error:
                return failed(error, x0, x1)
        return other(x0, x1)

    def body(x0, x1):
        return written(x0, array(x1, dtype1))

What the names mean is changed when the tier is; whoever holds the function need not know. Where XLA runs the kernel,
``ndarray`` is a class that has no instances.

Note [Twins]
XLA reads a NumPy array where it lies if that is at a multiple of ``ALIGNED`` bytes and its elements are in order; then
jax holds it until that is over, so that its reference count tells those who would write to it. Of any other array XLA
makes a copy at each call. So a copy is made that lies well, kept as long as the array lives, and given to XLA the next
time; there are few of those, for what the host computes lies well (Note [Memory at a multiple] in ``allocating.py``).
What is lent (``Lent``) is copied always: others write to that whenever they like, and XLA may not have begun.
"""

from __future__ import annotations

import atexit
import contextvars
import math
import threading
import warnings
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache, partial
from queue import SimpleQueue
from types import CodeType, TracebackType
from typing import Any, NamedTuple

import jax
import numpy as np

from tapegrad.caches import EXECUTABLE, tabulated, weigh
from tapegrad.errors import message
from tapegrad.execution.allocating import ALIGNED, HUGE, align_in
from tapegrad.execution.costs import NOTHING, Cost, cost_of, jaxprs_in
from tapegrad.execution.devices import only_device
from tapegrad.execution.host_tier.rules import Unwritable
from tapegrad.execution.host_tier.writer import numbers_in, written_jaxpr
from tapegrad.tape.mechanisms import BACKGROUND_COMPILING, NUMPY_BACKEND
from tapegrad.tape.modes import help_only
from tapegrad.tape.showing import shown_in_html
from tapegrad.tape.sources import code_of, defined, function_of

NAMES = ("auto", "host", "xla")

WIDE = frozenset(map(np.dtype, ("int64", "uint64", "float64", "complex128")))
"""The NumPy dtypes for which JAX needs its 64-bit mode."""

_quiet = contextvars.copy_context()
_quiet.run(partial(np.seterr, all="ignore"))
quietly = _quiet.run
"""``quietly(function, *arguments)``: a call in which NumPy warns of nothing. See Note [Quiet calls]."""

_aligning = _quiet.copy()
_aligned = align_in(_aligning)


def quietly_with(largest: int) -> Callable:
    """``quietly`` for arrays of which the largest has so many bytes. See Note [Memory at a multiple]."""
    return _aligning.run if _aligned and LARGE <= largest < HUGE else quietly


class Nothing:
    """A class without instances. See Note [Entries]."""


PATIENCE = 1.0
"""The least time that calls of a kernel take on the host, as a multiple of what it takes to compile it meanwhile."""

COPYING = 0.4
"""About how many nanoseconds it takes to copy a byte of a large array, for XLA."""


class Lent(np.ndarray):
    """Memory that others may write to, lent to one call: no result may lie in it, and XLA gets a copy."""

    __slots__ = ()


class Settings:
    """The settings of the whole process.

    Attributes:
        tiers: one of ``NAMES``.
        deterministic: whether all calls of a kernel are run the same way.
        background: whether XLA compiles on a thread of its own; the call that finds it due waits for it, if not.
    """

    tiers = "auto"
    deterministic = False
    background = True


settings = Settings()
awaiting_decisions: weakref.WeakSet[Any] = weakref.WeakSet()
"""Kernels that have to decide anew how they are run when another way is chosen."""
_changing = threading.RLock()


@cache
def one_cpu() -> bool:
    """Whether this process has a CPU, and nothing else, to compute on."""
    return only_device() is not None and jax.process_count() == 1


def hosted() -> bool:
    """Whether values may be NumPy arrays here."""
    return settings.tiers != "xla" and one_cpu()


def in_background() -> bool:
    """Whether XLA compiles on another thread, while kernels are run one by one."""
    return hosted() and settings.background and not settings.deterministic


Results = tuple[list[tuple[tuple[int, ...], np.dtype] | None], bool]
"""Shape and dtype of each result of a kernel, None for one that is left out; and whether it is one, not in a tuple."""


def results_in(tree: Any) -> Results:
    """The results of a kernel, by what jax says of them.

    >>> results_in((jax.ShapeDtypeStruct((2,), "int8"), None))
    ([((2,), dtype('int8')), None], False)
    """
    single = not isinstance(tree, (tuple, list))
    leaves = [tree] if single else tree
    return [None if leaf is None else (leaf.shape, np.dtype(leaf.dtype)) for leaf in leaves], single


class Trace(NamedTuple):
    """A trace by jax: the jaxpr, and shapes and dtypes of what it gives."""

    jaxpr: Any
    tree: Any

    @property
    def results(self) -> Results:
        """Shape and dtype of each result."""
        return results_in(self.tree)

    @property
    def is_narrow(self) -> bool:
        """Whether a trace outside jax's 64-bit mode would be the same: there is nothing that it could make narrower."""
        return not has_wide(self.jaxpr)

    def written(self) -> HostFunction:
        """The function that the host runs.

        Raises:
            Unwritable: there is no rule for a primitive.
        """
        cost, numbers = cost_of(self.jaxpr), numbers_in(self.jaxpr.jaxpr)
        body = written_jaxpr(self.jaxpr, self.tree, None, numbers).body
        return HostFunction(body, cost, dtypes_of(self.jaxpr.jaxpr.invars, numbers), self.results)


def has_wide(jaxpr: Any) -> bool:
    """Whether a jaxpr, or one inside it, has anything of a 64-bit type, Python's numbers and a few integers aside.

    >>> has_wide(jax.make_jaxpr(jax.jit(lambda x: x + 1))(np.float32(1)))
    False
    """
    inside = getattr(jaxpr, "jaxpr", jaxpr)
    for atoms in (inside.invars, *[(*equation.invars, *equation.outvars) for equation in inside.eqns]):
        for atom in atoms:
            if is_wide(atom.aval):
                return True
    parameters = [value for equation in inside.eqns for value in equation.params.values()]
    return any(has_wide(one) for value in parameters if value is not None for one in jaxprs_in(value))


FEW = 1 << 12
"""The number of integers that take no longer to compute with if they are twice as wide."""


def is_wide(aval: Any) -> bool:
    """Whether something of this type would be another number in a trace outside jax's 64-bit mode, or more costly.

    Signed integers inside are places and counts, which fit into 32 bits: what is made of them is the same.
    """
    if getattr(aval, "dtype", None) not in WIDE:
        return False
    few = aval.dtype.kind == "i" and math.prod(aval.shape) <= FEW
    return not (aval.weak_type or few or (aval.dtype.kind == "u" and aval.shape == ()))


class HostFunction(NamedTuple):
    """A function that the host runs in place of a kernel: a function of NumPy arrays, what a call of it and of XLA's
    costs, the dtype of each argument, and what it gives (see ``results_in``)."""

    body: Any
    cost: Cost
    dtypes: tuple[np.dtype, ...]
    results: Results


def dtypes_of(variables: Sequence[Any], numbers: Mapping[Any, np.dtype]) -> tuple[np.dtype, ...]:
    """The dtypes in which what is written takes the arguments of a jaxpr, by its variables. See ``numbers_in``."""
    return tuple([numbers.get(variable) or np.dtype(variable.aval.dtype) for variable in variables])


class Due:
    """Something that is compiled once: in the background, or by the call that needs it, if that comes first.

    Attributes:
        compiled: whether that is done, and has not failed.
    """

    __slots__ = ("compiled", "_error", "_compiling")

    def __init__(self) -> None:
        self.compiled, self._compiling = False, threading.RLock()
        self._error: Exception | None = None

    def compile(self) -> None:
        """Compile it, unless that was tried before: an error is kept for ``finish``."""
        with self._compiling:
            if self.compiled or self._error is not None:
                return
            try:
                self._compile()
            except Exception as error:
                self._error = error
            else:
                self.compiled = True

    def finish(self, name: str) -> bool:
        """Return when it is compiled. If it can't be, warn of that, under this name, and say False."""
        self.compile()
        if self._error is not None:
            gave_up(name, self._error)
        return self.compiled

    def _compile(self) -> None:
        raise NotImplementedError


# -- one kernel for arguments of certain shapes ------------------------------------------------------------------------


class Tiered(Due):
    """A kernel for arguments of certain types, and the way in which it is run. See Note [Tiers].

    Args:
        kernel: its name, ``function`` (jitted), ``xla`` (the same, in 64-bit mode if that is needed), ``wide``, whether
            it ``is_new``, and ``forget``.
        examples: for each argument a pair (shape, NumPy dtype), or the type of a Python number.
        known: gives the ``HostFunction`` where it is known already, or None.
        checked: how many of the first arguments may, though seldom, be arrays of another type than their examples.

    Attributes:
        tier: "new", "host", "cold", "compiling" or "xla".
        cost: what it is likely to cost, when that is known.
        calls: how many calls there were while it was cold, or compiled.
        starts, swaps: after how many of them it is compiled, and is XLA's.
    """

    __slots__ = ("kernel", "examples", "tier", "cost", "calls", "starts", "swaps", "_entry", "_body", "_traced",
                 "_was_new", "_known", "_left", "_checked", "_others", "_results", "_quietly",
                 "__weakref__")  # fmt: skip

    def __init__(
        self, kernel: Any, examples: Sequence[Any], known: Callable | None = None, checked: int = 0
    ) -> None:  # fmt: skip
        super().__init__()
        self.kernel, self.examples, self._known = kernel, tuple(examples), known
        self._checked = [example for example in self.examples if example is not type(None)][:checked]
        self._others: dict[tuple, Callable] = {}
        self._results: Results | None = None
        self._quietly: Callable = quietly
        self.cost, self.calls, self.starts, self.swaps = NOTHING, 0, 0, 0
        self._entry: Callable[[], Any] = lambda: None
        self._body: Callable | None = None
        self._traced: Any = None
        self._was_new = False
        self._left = False  # to XLA, for good
        self.tier = "new"

    def entry(self) -> Callable:
        """The function to call with arrays and numbers: made now, once. It holds this, and is not held by it."""
        names: dict[str, Any] = {"failed": self._failed}
        for i, (shape, dtype) in enumerate(self._checked):
            names |= {f"shape{i}": shape, f"dtype{i}": dtype}
        kinds = tuple([one if isinstance(one, type) else None for one in self.examples])
        run = function_of(_entry_code(kinds, len(self._checked)), "run", names)
        self._entry = weakref.ref(run)
        self.reset()
        awaiting_decisions.add(self)
        return run

    def reset(self) -> None:
        """Decide anew, at the next call."""
        self._be("new" if hosted() else "xla")

    def _be(self, tier: str) -> None:
        """Change what the entry's names mean: in such an order that each step leaves something that works."""
        self.tier, run = tier, self._entry()
        names = {} if run is None else run.__globals__
        if tier in ("host", "cold"):
            names["body"], names["other"] = self._body, self._mixed
            names["quietly"] = self._quietly if tier == "host" else self._cold
            names["ndarray"] = np.ndarray
        else:
            names["other"] = self._first if tier == "new" else self._by_xla if one_cpu() else self.kernel.xla
            names["ndarray"] = Nothing
        if tier == "xla" and hosted():
            weigh(self, EXECUTABLE)

    # -- calls ---------------------------------------------------------------------------------------------------------

    def _first(self, *values: Any) -> Any:
        """The first call with arrays decides."""
        if Lent in map(type, values):
            return self._of_lent(values)
        if not all(map(is_concrete, values)):
            return self.kernel.xla(*values)
        with _changing:
            if self.tier == "new":
                self._be(self._decided())
        return self._entry()(*values)

    def _mixed(self, *values: Any) -> Any:
        """A call with other things than NumPy's arrays: jax's are read where they lie, others are not for the host."""
        if Lent in map(type, values):
            return self._of_lent(values)
        if not all(map(is_concrete, values)):
            return self._by_xla(*values)
        if any((x.shape, x.dtype) != one for x, one in zip(values, self._checked, strict=False)):
            return by_shapes(self.kernel, self._others, *values)
        if NUMPY.issuperset(map(type, values)):
            return self._by_xla(*values)
        return self._entry()(*[value if type(value) in NUMPY else np.asarray(value) for value in values])

    def _by_xla(self, *values: Any) -> Any:
        """A call of XLA's. See Note [Twins]."""
        if Lent in map(type, values):
            return self._of_lent(values)
        return self.kernel.xla(*[readable(value) if type(value) is np.ndarray else value for value in values])

    def _of_lent(self, values: Sequence[Any]) -> Any:
        """A call with memory that others may write to afterwards."""
        lent = [value.view(np.ndarray) if type(value) is Lent else value for value in values]
        mine = [one for one, value in zip(lent, values, strict=True) if one is not value]
        copying = COPYING * sum([one.nbytes for one in mine])
        body = self._body
        if body is not None and self._is_better_off(copying) and all(map(is_concrete, lent)):
            arrays = [one if type(one) in NUMPY else np.asarray(one) for one in lent if one is not None]
            try:
                results = self._quietly(body, *arrays)
            except Exception as error:
                results = self._failed(error, *lent)
        else:
            with lending():
                results = self._entry()(*lent)

        def own(array: Any) -> Any:
            shares = type(array) is np.ndarray and any(np.may_share_memory(array, one) for one in mine)
            return array.copy() if shares else array

        return tuple(map(own, results)) if type(results) is tuple else own(results)

    def _is_better_off(self, copying: float) -> bool:
        """Whether NumPy is quicker than XLA, which is given a copy; that takes so many nanoseconds."""
        chosen = settings.tiers == "auto" and not settings.deterministic and self.tier in ("compiling", "xla")
        return chosen and self.cost.host <= self.cost.xla + copying

    def _cold(self, body: Callable, *arrays: Any) -> Any:
        """A call on the host, while XLA would be quicker; the last one is XLA's."""
        self.calls += 1
        if self.calls >= self.starts:
            if self.calls > self.swaps:
                return self._swapped(arrays)
            if self.tier == "cold":
                self._compile_later()
        return self._quietly(body, *arrays)

    def postpone(self, calls: int) -> None:
        """Compile it so many calls later, if that has not begun: meanwhile what has them is compiled as a whole."""
        with _changing:
            if self.tier == "cold":
                self.starts, self.swaps = self.starts + calls, self.swaps + calls

    def _compile_later(self) -> None:
        with _changing:
            begins, self.tier = self.tier == "cold", "compiling"
        if begins and settings.background:
            compiler.add(self)

    def _swapped(self, arrays: Sequence[Any]) -> Any:
        """A call of XLA's, as all that follow are; of the host's, if XLA can't compile it."""
        try:
            self.finish(self.kernel.name)
        finally:
            with _changing:
                if self.tier == "compiling" and (self.compiled or self._error is not None):
                    self._be("xla" if self.compiled else "host")
        given = iter(arrays)
        return self._entry()(*[None if one is type(None) else next(given) for one in self.examples])

    def _compile(self) -> None:
        traced, self._traced = self._traced or self._trace(), None
        with jax.enable_x64(True) if self.kernel.wide else nullcontext():
            traced.lower().compile()
        counters["compiled"] += 1

    def _failed(self, error: Exception, *values: Any) -> Any:
        """Called while an error of a call on the host is handled: what is done instead.

        Raises:
            MemoryError: that error.
            Warning: that warning, where they are errors.
        """
        if isinstance(error, (MemoryError, Warning)):
            raise error
        if type(error) is RuntimeError and "cannot enter context" in str(error):
            with np.errstate(all="ignore"):
                return self._body(*[value for value in values if value is not None])  # type: ignore[misc]
        if isinstance(error, OverflowError):  # an integer that its dtype can't hold
            return self._by_xla(*values)
        with _changing:
            first, self._left = not self._left, True
            self._be("xla")
        if first:
            counters["failures"] += 1
            warnings.warn(f"{self.kernel.name} could not be computed by NumPy and is left to XLA: {error!r}",
                          RuntimeWarning, stacklevel=2)  # fmt: skip
        return self._by_xla(*values)

    # -- decisions -----------------------------------------------------------------------------------------------------

    def _decided(self) -> str:
        """The tier that a kernel begins with."""
        if self._left or (self._body is None and not self._is_written()):
            return "xla"
        host, xla, compiling = self.cost
        if settings.tiers == "host" or host <= xla:
            if self._traced is not None and self._was_new:
                self.kernel.forget()
            self._traced = None
            return "host"
        if settings.deterministic or host > compiling or self.compiled:
            return "xla"
        self.calls, self.starts = 0, math.ceil(compiling / (host - xla))
        self.swaps = self.starts + math.ceil(PATIENCE * compiling / host)
        return "cold"

    def results(self) -> Results | None:
        """The results of the kernel; None if they are not known without tracing it again."""
        with _changing:
            if self.tier == "new" and self._results is None:
                self._be(self._decided())
        return self._results

    def _is_written(self) -> bool:
        """Have the kernel written for the host, if that is not known; False if it can't be."""
        known, self._known = self._known, None
        try:
            found = (None if known is None else known()) or self._traced_and_written(known)
        except Exception as error:  # XLA raises it again, if it is the kernel's own
            unwritten[str(error) if isinstance(error, Unwritable) else f"{self.kernel.name}: {error!r}"] += 1
            self._left, self._traced = True, None
            return False
        self.cost, self._results = found.cost, found.results
        self._quietly = quietly_with(largest_of([*self.examples, *found.results[0]]))
        self._body = separating(self._taking_numbers(found.body, found.dtypes), self.examples)
        return True

    def _trace(self) -> Any:
        """The kernel, traced for these arguments."""
        with jax.core.eval_context(), jax.enable_x64(True) if self.kernel.wide else nullcontext():
            self._was_new = self.kernel.is_new
            self._traced = self.kernel.function.trace(*map(_stand_in, self.examples))
        return self._traced

    def _traced_and_written(self, place: Any) -> HostFunction:
        traced = self._trace()
        found = Trace(traced.jaxpr, traced.out_info).written()
        if hasattr(place, "keep"):  # Note [Kept functions] in ``tape/kept.py``
            place.keep(found)
        return found

    def _taking_numbers(self, function: Callable, dtypes: Sequence[Any]) -> Callable:
        """A written function that takes Python numbers, and converts them as jax does."""
        given = list(zip([one for one in self.examples if one is not type(None)], dtypes, strict=True))
        if not any([isinstance(example, type) for example, _ in given]):
            return function
        names = {"array": np.array, "written": function} | {f"dtype{i}": dtype for i, (_, dtype) in enumerate(given)}
        arguments = [f"x{i}" for i in range(len(given))]
        arrays = [f"array(x{i}, dtype{i})" if isinstance(one, type) else f"x{i}" for i, (one, _) in enumerate(given)]
        lines = [f"def body({', '.join(arguments)}):", f"    return written({', '.join(arrays)})"]
        return defined(lines, "body", names)


MOST_SHAPES = 256
"""For how many combinations of shapes it is remembered how a kernel is run."""


def by_shapes(kernel: Any, entries: dict[tuple, Callable], *values: Any) -> Any:
    """Run a kernel that is called with arrays of any shapes; how, is remembered in ``entries``."""
    if not all(map(is_concrete, values)) or not one_cpu():
        return kernel.xla(*values)
    key = tuple([(x.shape, x.dtype) if hasattr(x, "dtype") else type(x) for x in values])
    run = entries.get(key)
    if run is None:
        if len(entries) >= MOST_SHAPES:
            entries.clear()
        run = entries[key] = Tiered(kernel, key).entry()
    return run(*values)


WORTH_KEEPING_APART = 1 << 16
"""From how many bytes on it matters what keeps an array alive."""


def largest_of(examples: Sequence[Any]) -> int:
    """The bytes of the largest array, of pairs of a shape and a dtype, and other things."""
    arrays = [one for one in examples if isinstance(one, tuple)]
    return max([math.prod(shape) * dtype.itemsize for shape, dtype in arrays], default=0)


def separating(body: Callable, examples: Sequence[Any]) -> Callable:
    """A written function whose results are no views of small parts of large arguments.

    Such a part would keep all of it alive, and from being written to in place (Note [Memory that is reused] in
    ``tensor/tensor.py``).
    """
    largest = largest_of(examples)
    if largest < WORTH_KEEPING_APART:
        return body

    def run(*arrays: Any) -> Any:
        return separated(body(*arrays), largest)

    return run


def separated(results: Any, largest: int) -> Any:
    """The results of a written function, of whose arguments the largest has so many bytes."""
    if type(results) is tuple:
        return tuple([separated(result, largest) for result in results])
    small = results is not None and results.base is not None and 2 * results.nbytes <= largest
    return results.copy() if small else results


def entry_lines(examples: Sequence[Any], checked: int = 0) -> list[str]:
    """The source of an entry, which makes sure of the types of its first arguments. See Note [Entries].

    >>> print("\\n".join(entry_lines([((3,), np.dtype("float32")), int])[:4]))
    def run(x0, x1):
        if type(x0) is ndarray and type(x1) is int:
            try:
                return quietly(body, x0, x1)
    """
    arguments = [f"x{i}" for i in range(len(examples))]
    checks, given = [], []
    for name, example in zip(arguments, examples, strict=True):
        if example is type(None):
            checks.append(f"{name} is None")
        elif isinstance(example, type):
            checks.append(f"type({name}) is {example.__name__}")
            given.append(name)
        else:
            checks.append(f"type({name}) is ndarray")
            given.append(name)
    checks.sort(key=lambda check: not check.endswith("ndarray"))
    checks += [f"{x}.dtype is dtype{i} and {x}.shape == shape{i}" for i, x in enumerate(given[:checked])]
    passed = ", ".join(arguments)
    return [
        f"def run({passed}):",
        f"    if {' and '.join(checks)}:",
        "        try:",
        f"            return quietly({', '.join(['body', *given])})",
        "        except Exception as error:",
        f"            return failed({', '.join(['error', *arguments])})",
        f"    return other({passed})",
    ]


@tabulated(1 << 10)
def _entry_code(kinds: tuple, checked: int) -> CodeType:
    """The code of an entry for arguments of these types, None for arrays."""
    return code_of("\n".join(entry_lines(kinds, checked)))


def _stand_in(example: Any) -> Any:
    if isinstance(example, type):
        return None if example is type(None) else example(1)
    return jax.ShapeDtypeStruct(*example)


NUMPY = frozenset((np.ndarray, bool, int, float, complex, type(None)))
"""The types that functions of the host take: NumPy's arrays, and Python's numbers."""

_concrete: dict[type, bool] = dict.fromkeys(NUMPY, True)


def is_concrete(value: Any) -> bool:
    """Whether a value is an array of NumPy's or jax's that has elements, or a Python number; quick."""
    kind = type(value)
    found = _concrete.get(kind)
    if found is None:
        found = _concrete[kind] = isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer)
    return found


# -- values for XLA ----------------------------------------------------------------------------------------------------

LARGE = 1 << 14
"""From how many bytes on the copy that XLA gets is kept: smaller ones are copied while XLA looks at the arguments."""

_copies: dict[int, tuple[Any, np.ndarray]] = {}
_twins: dict[int, tuple[Any, jax.Array]] = {}
_calls = threading.local()


@contextmanager
def lending() -> Iterator[None]:
    """Calls in it are given memory that others may write to: XLA gets copies of all."""
    before, _calls.lent = getattr(_calls, "lent", False), True
    try:
        yield
    finally:
        _calls.lent = before


def readable(array: np.ndarray) -> np.ndarray:
    """The array that XLA is given for one: itself, if it is read where it lies, or is small; else a copy. See Note
    [Twins].

    >>> array = np.ones((100, 100))
    >>> readable(array.T) is readable(array.T), readable(readable(array.T)).shape
    (False, (100, 100))
    """
    if array.nbytes < LARGE:
        return array
    if getattr(_calls, "lent", False):
        return aligned(array)
    if array.flags.c_contiguous and array.ctypes.data % ALIGNED == 0:
        return array
    return _kept(_copies, array, aligned)


def stays(array: np.ndarray) -> bool:
    """Whether an array, to which nobody writes any more, is a value as it is, that every kernel reads where it lies.

    >>> stays(aligned(np.arange(5000))), stays(aligned(np.arange(5000))[1:])
    (True, False)
    """
    lies_well = array.flags.c_contiguous and array.ctypes.data % ALIGNED == 0
    return lies_well and hosted()


def aligned(array: np.ndarray) -> np.ndarray:
    """A copy of an array that XLA reads where it lies.

    >>> copy = aligned(np.arange(5000)[1:])
    >>> copy.ctypes.data % ALIGNED, copy[:2].tolist()
    (0, [1, 2])
    """
    memory = np.empty(array.nbytes + ALIGNED, np.uint8)
    copy: np.ndarray = np.ndarray(array.shape, array.dtype, memory, -memory.ctypes.data % ALIGNED)
    copy[...] = array
    return copy


def twin(array: np.ndarray) -> Any:
    """A jax array with the same elements, the same one as long as the array lives.

    >>> array = np.ones(10_000)
    >>> twin(array) is twin(array), twin(array).dtype
    (True, dtype('float64'))
    """
    return _kept(_twins, array, _put)


def _put(array: np.ndarray) -> jax.Array:
    with jax.core.eval_context(), jax.enable_x64(True):
        return jax.device_put(aligned(array))  # of the array itself jax would keep hold


def _kept(kept: dict[int, tuple[Any, Any]], array: np.ndarray, make: Callable[[np.ndarray], Any]) -> Any:
    """The thing that is made of an array, kept as long as that lives."""
    found = kept.get(id(array))
    if found is None or found[0]() is not array:
        made, key = make(array), id(array)
        found = kept[key] = weakref.ref(array, partial(_forget, kept, key)), made
    return found[1]


def forget_twin(array: np.ndarray) -> None:
    """An array is going to be written to, which nobody else has, but perhaps a copy of it is kept for XLA."""
    if _copies or _twins:
        _copies.pop(id(array), None)
        _twins.pop(id(array), None)


def forget_twins(arrays: Iterable[np.ndarray]) -> None:
    """``forget_twin`` of many, without a call of Python for each."""
    for kept in (_copies, _twins):
        if kept:
            for key in map(id, arrays):
                kept.pop(key, None)


def _forget(kept: dict[int, tuple[Any, Any]], key: int, reference: Any) -> None:
    found = kept.get(key)
    if found is not None and found[0] is reference:
        del kept[key]


def as_jax(value: Any) -> Any:
    """A value as jax's functions take it: a NumPy array as one of jax's, anything else as it is."""
    return twin(value) if type(value) is np.ndarray else value


# -- the compiler in the background ------------------------------------------------------------------------------------


class Compiler:
    """A thread that compiles what is due, one thing after the other. It is started when there is something."""

    def __init__(self) -> None:
        self._due: SimpleQueue[Any] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._ended = False

    def add(self, due: Any) -> None:
        """Have something compiled: its ``compile`` is called."""
        self._due.put(due)
        with _changing:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="tapegrad-compiler", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        help_only()
        while not self._ended:
            due = self._due.get()
            if due is not None and not self._ended:
                try:
                    due.compile()
                except Exception as error:  # warnings may be errors: told as those of threads are, and gone on
                    how = type(error), error, error.__traceback__, self._thread
                    threading.excepthook(threading.ExceptHookArgs(how))
            if isinstance(due, threading.Event):
                due.set()
            del due

    def wait(self) -> None:
        """Return when all that is due has been compiled.

        >>> compiler.wait()
        """
        if self._thread is not None and self._thread.is_alive():
            done = _Mark()
            self._due.put(done)
            done.wait()

    def end(self) -> None:
        """Let the thread finish what it does, and nothing else: at the end of the process."""
        self._ended = True
        if self._thread is not None:
            self._due.put(None)
            self._thread.join()


class _Mark(threading.Event):
    def compile(self) -> None:
        """There is nothing to be done but to say so."""


def gave_up(name: str, error: Exception) -> None:
    """Warn that something that NumPy has computed so far can't be compiled."""
    counters["failures"] += 1
    text = f"{name} could not be compiled and is left to NumPy: {error!r}"
    warnings.warn(text, RuntimeWarning, stacklevel=3)


compiler = Compiler()
atexit.register(compiler.end)


# -- the switch --------------------------------------------------------------------------------------------------------

counters: Counter[str] = Counter()
unwritten: Counter[str] = Counter()
"""Why kernels could not be written for the host, and how many."""


class Switched:
    """The result of ``tiers(name)``: as a context manager it restores what was chosen before."""

    def __init__(self, before: str) -> None:
        self._before = before

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        tiers(self._before)


def tiers(name: str | None = None) -> Any:
    """Say how kernels are run on a CPU, from here on and in all threads; without a name: what was said.

    Args:
        name: ``"xla"``: all by XLA, as on other devices. ``"host"``: by NumPy whatever can be. ``"auto"``: small calls
            by NumPy, so many of the first large ones, too, that XLA has compiled them meanwhile, and then by that;
            how many is known before, so that each run of a program gives the same bits. Between NumPy and XLA the last
            digit of a result may differ.

    Returns:
        The name, if none was given; else something that restores what was said before, at the end of a ``with``.

    Raises:
        ValueError: no such name.

    >>> with torch.execution.tiers("xla"):
    ...     torch.execution.tiers()
    'xla'
    """
    if name is None:
        return settings.tiers
    if name not in NAMES:
        raise ValueError(message("no such tiers", expected=" or ".join(map(repr, NAMES)), got=repr(name)))
    before, settings.tiers = settings.tiers, name
    if before != name:
        _decide_anew()
    return Switched(before)


@contextmanager
def compiling_at_once() -> Iterator[None]:
    """Have XLA compile on the thread that calls, in a block."""
    before, settings.background = settings.background, False
    try:
        yield
    finally:
        settings.background = before


NUMPY_BACKEND.switch, BACKGROUND_COMPILING.switch = partial(tiers, "xla"), compiling_at_once


def be_deterministic(deterministic: bool) -> None:
    """Have all calls of a kernel run in one way, or no longer."""
    if settings.deterministic != deterministic:
        settings.deterministic = deterministic
        _decide_anew()


def _decide_anew() -> None:
    with _changing:
        for tiered in list(awaiting_decisions):
            tiered.reset()


class TierStats(NamedTuple):
    """The ways in which kernels are run. See Note [Tiers].

    Attributes:
        host, cold, compiling, xla: how many kernels are on which tier, counted once for each combination of shapes.
        compiled: how many kernels and programs were compiled after calls of NumPy's.
        failures: how many were given to another tier because theirs failed.
        unwritten: why kernels are XLA's that could not be written for the host, and how many.
    """

    host: int
    cold: int
    compiling: int
    xla: int
    compiled: int
    failures: int
    unwritten: dict[str, int]

    def _repr_html_(self) -> str:
        return shown_in_html(self)


def tier_stats() -> TierStats:
    """The ways in which kernels are run at present."""
    with _changing:
        found = Counter(tiered.tier for tiered in list(awaiting_decisions))
    return TierStats(
        found["host"], found["cold"], found["compiling"], found["xla"], counters["compiled"],
        counters["failures"], dict(unwritten),
    )  # fmt: skip
