"""In-place methods that come down to one operator, reached without a detour.

Note [Repeated writes]
The way through an in-place method is long: what may not be written to is refused; operands are checked and converted;
the result is compared with the tensor, which takes over its history. Nearly all of that is decided by the modes and the
specs. So a method that has gone the long way twice does, for calls of the same kind, only what is left: it runs the
operator and writes the result. That is so where nothing is recorded and nobody watches, where the tensor does not show
a place of its memory several times, and where the result fits it without a cast: of floating numbers, and of counters.
What is looked at each time is whether the other operand shows the same memory (Note [Overlapping memory] in
``overlaps.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from tapegrad._src.bindings.declaration.registry import NAMESPACES, shown_as
from tapegrad._src.bindings.declaration.scalars import EXACT, FITS_ALL
from tapegrad._src.dispatch import plan_for, runner, waiting_runner
from tapegrad._src.dispatch.call_cache import NEVER
from tapegrad._src.dispatch.call_keys import WRITE, Counts
from tapegrad._src.execution.data.dtypes import FLOATING, int64
from tapegrad._src.execution.recording.execution_mode import is_recording
from tapegrad._src.tape.mechanisms import WRITE_CACHE
from tapegrad._src.tape.modes import Modes, switched, thread
from tapegrad._src.tensor.geometry import overlaps_itself
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import Tensor, write, writing
from tapegrad.ops.operator import Operator

_counts = Counts()

Method = Callable[..., Any]


def fast_method(fast: Callable[..., Method], *ops: Operator) -> Callable[[Method], Method]:
    """Put a method of Tensor, made fast, in place of the one that was declared."""

    def replace(method: Method) -> Method:
        NAMESPACES["Tensor"][method.__name__] = made = shown_as(method, fast(method, *ops))
        return made

    return replace


def one_operand(whole: Method, op: Operator, scaled: Operator | None = None) -> Method:
    """An in-place method of one other operand, a tensor or a number, by the shortest way. See Note [Repeated writes].

    Args:
        whole: the method as it is, which goes the long way.
        op: what it comes down to, for tensors and for a tensor and a float.
        scaled: the same for a method that was given ``alpha``, a float.
    """

    @wraps(whole)
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if len(args) != 1 or (kwargs and (scaled is None or tuple(kwargs) != ("alpha",))):
            return whole(self, *args, **kwargs)
        (other,) = args
        key: tuple
        operands: tuple
        described = other._spec if isinstance(other, Tensor) else type(other)
        if described is int:
            if not -EXACT < other < EXACT:
                return whole(self, *args, **kwargs)
            if self._spec.dtype is not int64:
                other, described = float(other), float
            elif kwargs:
                return whole(self, *args, **kwargs)
        if scaled is not None and kwargs:
            operator, alpha = scaled, kwargs["alpha"]
            key, operands = (WRITE, thread.modes, self._spec, described, type(alpha)), (other, alpha)
        else:
            operator, key, operands = op, (WRITE, thread.modes, self._spec, described), (other,)
        run, storage = operator.plans.get(key) or operator.calls.exact.get(key), self._storage
        if not run or (storage is not None and other is not self and getattr(other, "_storage", None) is storage):
            return _long_way(whole, operator, key, self, args, kwargs)
        return _written(self, run(self, *operands))

    return method


def two_operands(whole: Method, op: Operator, *names: str) -> Method:
    """``one_operand`` for a method of two other operands, and numbers of these ``names``."""

    @wraps(whole)
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if len(args) != 2 or tuple(kwargs) != names:
            return whole(self, *args, **kwargs)
        operands, storage = (*args, *kwargs.values()), self._storage
        key = (WRITE, thread.modes, self._spec, *[x._spec if isinstance(x, Tensor) else type(x) for x in operands])
        run, plain = op.plans.get(key) or op.calls.exact.get(key), True
        for x in operands:
            if isinstance(x, Tensor):
                plain = plain and (x is self or storage is None or x._storage is not storage)
            else:
                plain = plain and type(x) is float and -FITS_ALL < x < FITS_ALL
        if not run or not plain:
            return _long_way(whole, op, key, self, args, kwargs)
        return _written(self, run(self, *operands))

    return method


def no_operand(whole: Method, op: Operator) -> Method:
    """``one_operand`` for a method without one."""

    @wraps(whole)
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        key = (WRITE, thread.modes, self._spec)
        run = op.plans.get(key) or op.calls.exact.get(key)
        if not run or args or kwargs:
            return _long_way(whole, op, key, self, args, kwargs)
        return _written(self, run(self))

    return method


def _written(tensor: Tensor, result: Tensor) -> Tensor:
    with writing:
        write(tensor, result._value)
    return tensor


def _long_way(
    whole: Method, op: Operator, key: tuple, tensor: Tensor, args: tuple, kwargs: dict[str, Any]
) -> Tensor:
    """Call a method as it is; when that went well a second time, the next call of its kind need not go this way."""
    result = whole(tensor, *args, **kwargs)
    if not WRITE_CACHE.off and op.calls.exact.get(key) is None and _counts.came((op, key)):
        op.calls.exact.keep(key, _as_planned_now(op, key) or NEVER)
    return result


def _as_planned_now(op: Operator, key: tuple) -> Any:
    """``_run_of_write``, by a plan of immediate mode where nothing is recorded now."""
    if not key[1].deferred or is_recording():
        return _run_of_write(op, key[1], key[2:])
    with switched(deferred=False):
        run = _run_of_write(op, thread.modes, key[2:])
    return None if run is None else waiting_runner(op, {}, key, run)


def _run_of_write(op: Operator, modes: Modes, specs: tuple) -> Any:
    """A function that runs an operator on a tensor and operands of these specs if its result may be written as it is,
    or None."""
    if not is_usual(modes) or not all(map(is_simple, specs)):
        return None
    if op.promote == "none" and (float in specs or int in specs):  # it may be that not every number fits
        return None
    if specs[0].dtype.category < FLOATING and specs[0].dtype is not int64:
        return None
    if specs[0].strides is not None and overlaps_itself(specs[0].shape, specs[0].strides):
        return None
    if any(isinstance(spec, Spec) and spec.dtype.category > specs[0].dtype.category for spec in specs):
        return None  # a copy, which may be warned of
    plan = plan_for(op, specs, {})
    fits = plan.out_specs[0].bare is specs[0].bare and not any(plan.needed) and not plan.mixed
    return runner(plan) if fits else None


def is_usual(modes: Modes) -> bool:
    """Tell whether nobody watches what is written under such modes, and nothing is done besides."""
    watched = modes.intercepted or modes.results_watched or modes.saved_hooks or modes.recording or modes.function_modes
    return not (watched or modes.inference or modes.level) and modes.forward_level < 0


def is_simple(spec: Any) -> bool:
    """Tell whether an operand is a number, or a tensor that needs no other treatment than any."""
    if not isinstance(spec, Spec):
        return spec is float or spec is int
    return not (spec.overrides or spec.inference or spec.dual or spec.level)
