"""Kernels: pure array functions, compiled. Every computation on a tensor's data is a ``Kernel`` call.

Note [The backend interface]
Above this room, *values* are opaque handles with ``.shape`` and ``.dtype``. A kernel takes values and gives values. How
is nobody's business but the kernel's: at once, as one jitted XLA call, or as a NumPy function (Note [Tiers] in
``tiers/tiered_kernel.py``); inlined, when its inputs are tracers; or, with ``modes.deferred``, by appending to a
program that is run later, and giving deferred values (Note [Deferred programs] in ``recording/program.py``).
``dispatcher()`` gives a function that does what is right at each call. Those who know more, plans, take ``run`` or
``record``.

Note [64-bit without configuration]
tapegrad never changes the process's JAX configuration. A kernel which touches a 64-bit type is traced and run inside
``jax.enable_x64(True)``. Whether it does is known from the types of its inputs and outputs, once, when it is made.

Note [Interrupts and donation]
An array that is donated is deleted, and the result lies in its place. An interrupt (ctrl-C) that comes during a call of
XLA's is raised by Python right after it, before the result has a name: it would be lost, with what it replaces. So such
calls are made by C: ``starmap`` gives what they return to an unpacking or a list, and Python does not look for
interrupts until that is where it belongs (``Kernel.overwrite``), or where whoever catches the interrupt finds it
(``call_into``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import starmap
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tapegrad._src.caches import EXECUTABLE, Cache, Interned, remembered, weigh
from tapegrad._src.execution.data.devices import jitted, only_device, refuse_forked
from tapegrad._src.execution.data.opaque import Meta, Opaque
from tapegrad._src.execution.data.sizes import MEMORY_ERRORS, SYMBOL, out_of_memory
from tapegrad._src.execution.data.values import NUMBERS, DeferredValue, Traced, aval, materialized
from tapegrad._src.execution.recording.capturing import capturing, unwatched
from tapegrad._src.execution.recording.execution_mode import is_recording
from tapegrad._src.execution.recording.recorded_call import Call, recorders
from tapegrad._src.execution.tiers.entry import is_concrete, quietly, quietly_with
from tapegrad._src.execution.tiers.host_trace import WIDE, Trace, is_own
from tapegrad._src.execution.tiers.settings import Tier, hosted
from tapegrad._src.execution.tiers.tiered_kernel import Tiered, by_shapes
from tapegrad._src.execution.tiers.xla_copies import LARGE
from tapegrad._src.tape.modes import thread


def scoped(function: Callable) -> Callable:
    """``function``, called in JAX's 64-bit mode whatever the process's configuration is."""
    enable_x64 = jax.enable_x64

    def call(*values: Any) -> Any:
        with enable_x64(True):
            return function(*values)

    call.__wrapped__ = function.__wrapped__  # type: ignore[attr-defined]
    return call


def call_into(results: list[Any], function: Callable, wide: bool, values: Sequence[Any]) -> None:
    """Call a jitted function, and put what it gives into a list. See Note [Interrupts and donation].

    >>> found = []
    >>> call_into(found, jax.jit(lambda x: x + 1), False, [jnp.int32(2)])
    >>> found
    [Array(3, dtype=int32)]
    """
    if wide:
        with jax.enable_x64(True):
            results += starmap(function, (values,))
    else:
        results += starmap(function, (values,))


def dispatched(dispatcher: Callable, *values: Any) -> Any:
    """Call what ``Kernel.dispatcher`` gave, with values of any sort."""
    for value in values:
        if isinstance(value, Opaque):
            return value.run(dispatcher, values)
    return dispatcher(*values)


class Jitted:
    """An array function as jax has jitted it, when that is asked for: most kernels are run by NumPy alone.

    Attributes:
        function: the function, jitted.
        xla: call it on arrays, Python numbers, or tracers, now, by XLA.
    """

    __slots__ = ("name", "wide", "array_function", "_reuse", "_function", "_xla")

    def __init__(self, array_function: Callable, name: str, wide: bool, reuse: bool) -> None:
        self.array_function, self.name, self.wide, self._reuse = array_function, name, wide, reuse
        self._function: Any = None
        self._xla: Any = None

    @property
    def function(self) -> Any:
        if self._function is None:
            function = self.array_function

            def kernel(*values: Any) -> Any:
                return function(*values)

            kernel.__name__ = kernel.__qualname__ = self.name
            self._function = jitted(kernel, inline=True, donate_argnums=(0,) if self._reuse else ())
        return self._function

    @property
    def is_new(self) -> bool:
        """True if nobody has asked for that yet."""
        return self._function is None

    def forget(self) -> None:
        """Free what jax remembers of it: the jaxpr, above all. It is jitted anew for who asks later."""
        self._function = self._xla = None

    @property
    def xla(self) -> Callable:
        if self._xla is None:
            self._xla = scoped(self.function) if self.wide else self.function
        return self._xla


class Kernel:
    """A pure function of arrays, with all its settings bound, that XLA compiles once per shape.

    Args:
        function: takes arrays (or Python scalars) positionally and returns an array or a tuple of arrays; ``None``
            may stand in the tuple for a result that nobody wants.
        name: what profiles and HLO dumps call it.
        wide: whether an input, an output or an intermediate has a 64-bit type.
        reuse: whether the result may be put where the first argument lies; for ``overwrite``.
        arguments: what it takes, if that is always the same: for each argument a pair (shape, NumPy dtype), or the type
            of a Python number.
        known: gives what the host runs, if that is known already: a ``HostFunction``, or None.
        checked: how many of the first arguments may yet be arrays of other types than that.
        settings: the settings that are bound, by name, for what is said of it.

    >>> import jax.numpy as jnp
    >>> double = Kernel(lambda x: x + x, name="double", wide=False).dispatcher()
    >>> float(double(jnp.float32(3)))
    6.0
    """

    __slots__ = ("name", "wide", "run", "ran", "arguments", "settings", "_jitted", "_tiered", "__weakref__")

    def __init__(
        self, function: Callable, *, name: str, wide: bool, reuse: bool = False, arguments: Sequence | None = None,
        known: Callable | None = None, checked: int = 0, settings: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.name = name
        self.wide = wide
        self.arguments, self.settings = tuple(arguments or ()), settings or {}
        self._jitted = Jitted(function, name, wide, reuse)
        self._tiered: Tiered | None = None
        self.run: Callable
        """Call it on arrays, Python numbers, or tracers, now, on the tier that is right."""
        if arguments is not None and only_device() is not None:
            self._tiered = Tiered(self._jitted, arguments, known, checked)
            self.run = self._tiered.entry()
        else:
            self.run = partial(overwriting, self._jitted) if reuse else partial(by_shapes, self._jitted, {})
        self.ran = False
        """True if it is run by itself, so that XLA has compiled it."""

    def note_run(self) -> None:
        """Note that it is run by itself, and takes memory from now on if XLA runs it."""
        if not self.ran:
            self.ran = True
            if not hosted():
                weigh(self, EXECUTABLE)

    @property
    def function(self) -> Any:
        """The function as jax has jitted it."""
        return self._jitted.function

    def dispatcher(self) -> Callable:
        """A function to call with values, whatever they are. It holds the kernel, and is not held by it."""
        run, deferred = self.run, self.deferred

        def call(*values: Any) -> Any:
            if thread.modes.deferred:
                return deferred(*values)
            if not self.ran:
                self.note_run()
            try:
                return run(*values)
            except TypeError:
                return self.otherwise(values)
            except MEMORY_ERRORS as error:
                raise out_of_memory(error) from None

        call.__wrapped__ = self._jitted.array_function  # type: ignore[attr-defined]
        return call

    def postpone(self, calls: int) -> None:
        """Have XLA compile it by itself so many calls later, if that has not begun."""
        if self._tiered is not None:
            self._tiered.postpone(calls)

    def cost_on_host(self) -> float | None:
        """The nanoseconds that a call takes which NumPy computes; None if it does not, or this is not known."""
        tiered = self._tiered
        return tiered.cost.host if tiered is not None and tiered.tier is Tier.HOST else None

    def cost_by_xla(self) -> float | None:
        """The nanoseconds that a call of XLA's takes; None if this is not known."""
        tiered = self._tiered
        return None if tiered is None or not tiered.cost.xla else tiered.cost.xla

    def present_cost(self) -> float | None:
        """The nanoseconds that a call takes of who runs it now; None if this is not known."""
        tiered = self._tiered
        if tiered is None or not tiered.cost.xla:
            return None
        return tiered.cost.xla if tiered.tier is Tier.XLA else tiered.cost.host

    def overwrite(self, holder: Any, *values: Any) -> Any:
        """The result for arrays and numbers, put where the first one lies, which nobody may use afterwards.

        It is ``holder.value`` from then on, also if an interrupt comes. See Note [Interrupts and donation].
        """
        self.note_run()
        if self.wide:
            with jax.enable_x64(True):
                (holder.value,) = starmap(self.function, (values,))
        else:
            (holder.value,) = starmap(self.function, (values,))
        return holder.value

    def deferred(self, *values: Any) -> Any:
        """Record a call if a value is deferred; with arrays alone, there mostly is no reason not to run it now."""
        if thread.modes.forked:
            refuse_forked()
        if capturing.by is not None or any(type(value) is DeferredValue for value in values):
            try:
                return self.call_for(values).record(*values)
            except Traced:
                values = tuple(map(materialized, values))
        return self.at_once(*values)

    def at_once(self, *values: Any) -> Any:
        """The result for values that no program can take."""
        try:
            return self.run(*values)
        except TypeError:
            return self.otherwise(values)

    def otherwise(self, values: Sequence[Any]) -> Any:
        """The result for values that XLA did not take; called while that error is handled.

        Raises:
            TypeError: the error that is handled, if there is no other way.
        """
        if any(type(value) is Meta for value in values):
            return self.shapes(*values)
        for value in values:
            if isinstance(value, Opaque) and value.as_tensor is not None:  # a sparse gradient
                return value.run(self.dispatcher(), tuple(values))
        return self.run(*materialized_or_raise(values))

    def shapes(self, *values: Any) -> Any:
        """Stand-ins for the results where a value has no elements. See Note [Values without data]."""
        call = self.call_for(values)
        results = tuple(None if aval is None else Meta(aval.shape, aval.dtype) for aval in call.avals)
        return results[0] if call.single else results

    def call_for(self, values: Sequence[Any]) -> Call:
        """A function that records calls with arguments such as these.

        Raises:
            Traced: one of them is a tracer.
        """
        types = (type(value) if isinstance(value, NUMBERS) else (value.shape, value.dtype) for value in values)
        key = (self, *types)
        call = _calls.get(key)
        if call is None:
            if any(isinstance(value, jax.core.Tracer) for value in values):
                raise Traced
            with unwatched(capturing.tracer is not None and is_own(self._jitted.array_function)):
                call = _calls.only(key, Call(self, *self.results_for(values), len(values)))
        return call

    def results_for(self, values: Sequence[Any]) -> tuple[tuple, bool]:
        """Shape and dtype of each result, and whether it is one that is not in a tuple."""
        types = tuple([type(x) if isinstance(x, NUMBERS) else (x.shape, x.dtype) for x in values])
        if self._tiered is not None and types == self._tiered.examples:
            known = self._tiered.results()
            if known is not None:
                return tuple(None if one is None else aval(*one) for one in known[0]), known[1]
        examples = [x if isinstance(x, NUMBERS) else jax.ShapeDtypeStruct(x.shape, x.dtype) for x in values]
        with jax.enable_x64(self.wide):
            results = jax.eval_shape(self.function, *examples)
        single = not isinstance(results, (tuple, list))
        results = (results,) if single else tuple(results)
        return tuple(None if result is None else aval(result.shape, result.dtype) for result in results), single

    def __call__(self, *values: Any) -> Any:
        return self.dispatcher()(*values)

    def __repr__(self) -> str:
        return f"Kernel({self.name}{', wide' if self.wide else ''})"


def overwriting(function: Jitted, *values: Any) -> Any:
    """``run`` of a kernel that gives its first argument away."""
    return function.xla(*values)


_calls = Interned()
"""The recorded forms of calls of kernels, by kernel and types of the arguments."""


class Shaped:
    """A function of arrays of any shapes: a kernel for each shape and dtype of the first of them.

    So those for shapes that do not come back can be forgotten. ``wide`` is so, too, where that has a 64-bit type.

    >>> double = Shaped(lambda x: x + x, name="double")
    >>> float(double(jnp.float32(3)))
    6.0
    """

    def __init__(self, function: Callable, *, name: str, wide: bool = False, reuse: bool = False) -> None:
        self._function, self._name, self._wide, self._reuse = function, name, wide, reuse
        self._kernels = Cache("kernels")

    def _made(self, value: Any) -> tuple[Kernel, Callable]:
        kernel = Kernel(self._function, name=self._name, wide=self._wide or value.dtype in WIDE, reuse=self._reuse)
        return kernel, kernel.dispatcher()

    def of(self, value: Any) -> Kernel:
        """The kernel for arguments of which this is the first."""
        key = value.shape, value.dtype
        return (self._kernels.get(key) or self._kernels.keep(key, self._made(value)))[0]

    def __call__(self, value: Any, *others: Any) -> Any:
        key, known = (value.shape, value.dtype), self._kernels
        return (known.recent.get(key) or known.get(key) or known.keep(key, self._made(value)))[1](value, *others)


@remembered("kernels")
def kernel_for(make: Callable[..., Any], *facts: Any) -> Any:
    """The kernel, or the function that runs one, that ``make`` gives for facts about arguments: made once for each.

    >>> kernel_for(lambda name: Kernel(jnp.negative, name=name, wide=False), "neg").name
    'neg'
    """
    return make(*facts)


def materialized_or_raise(values: Sequence[Any]) -> tuple:
    """Values that a kernel did not take, with those that are deferred as arrays; called while that error is handled.

    Raises:
        TypeError: the error that is handled, if none was.
    """
    if not any(type(value) is DeferredValue for value in values):
        raise  # noqa: PLE0704 - it is called in an except clause
    return tuple(map(materialized, values))


def abstract(function: Callable, arguments: Sequence[Any]) -> Trace:
    """An array function as it is traced, without running it, in jax's 64-bit mode.

    Args:
        function: an array function.
        arguments: for each argument a pair (shape, NumPy dtype), or the type of a Python scalar.

    >>> abstract(lambda x, y: x.sum() * y, [((3,), np.dtype("float64")), float]).results
    ([((), dtype('float64'))], True)
    """
    structs = [_example(arg) if isinstance(arg, type) else jax.ShapeDtypeStruct(*arg) for arg in arguments]
    with unwatched(capturing.tracer is not None and is_own(function)), jax.core.eval_context(), jax.enable_x64(True):
        traced = jax.jit(lambda *values: function(*values)).trace(*structs)  # jax keeps a jaxpr as long as the function
    return Trace(traced.jaxpr, traced.out_info)


def _example(cls: type) -> Any:
    """A number of a type; a length that is not known is an integer."""
    return 1 if cls is SYMBOL else cls(1)


def is_here(value: Any) -> bool:
    """Tell whether a value is an array that has elements: no tracer, and nothing deferred."""
    return type(value) not in NUMBERS and is_concrete(value)


_add = Shaped(jnp.add, name="accumulate")
_recent_recorders = recorders.recent


def add_values(left: Any, right: Any) -> Any:
    """The sum of two values of one shape and dtype: how gradients accumulate."""
    if type(left) is DeferredValue and type(right) is DeferredValue and thread.modes.deferred:
        key = left.aval, right.aval
        record = recorders.get(key) or recorders.keep(key, _add.of(left).call_for((left, right)).record)
        return record(left, right)
    if type(left) is type(right) is np.ndarray and left.shape == right.shape and not is_recording():
        return host_sum(left, right)
    return _add(left, right)


def host_sum(left: np.ndarray, right: np.ndarray, into: Any = ...) -> np.ndarray:
    """The sum of two NumPy arrays, perhaps put into one of them."""
    try:
        if into is ...:
            small = left.nbytes < LARGE
            into = np.empty_like(left) if small else quietly_with(left.nbytes)(np.empty_like, left)
        return quietly(np.add, left, right, into)
    except MEMORY_ERRORS as error:
        raise out_of_memory(error) from None
    except RuntimeError:  # another thread is in that context: see Note [Quiet calls]
        with np.errstate(all="ignore"):
            return np.add(left, right, np.empty_like(left) if into is ... else into)


def record_sum(left: Any, right: Any) -> Any:
    """``add_values`` in deferred mode: the sums that were recorded before are found by one look-up."""
    try:
        record = _recent_recorders[left.aval, right.aval]
    except (KeyError, AttributeError):
        return add_values(left, right)
    return record(left, right)
