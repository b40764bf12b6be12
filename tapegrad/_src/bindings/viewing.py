"""Views: PyTorch's view functions call an operator and put its result on the memory of its input.

Note [View rules]
Where a view lies follows from where its base lies, the operator and its settings: ``declare_view`` says how, where the
function is that calls the operator. Numbers among the arguments (an index, a start) only move the beginning, by so many
elements for each step; so that a rule is asked once for a spec and settings, and is then one look-up.

Note [Unread views]
A view of memory that has been written to is a window: it reads its part when somebody asks for its value, and again
after each write. Where the memory is an array of NumPy's, of which a part is read at no cost to speak of, it is not
read before: ``x[0] += 1`` reads the part once, and nobody holds the array when it is written to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numpy import ndarray

from tapegrad._src.dispatch.call_cache import replay, unread_runner
from tapegrad._src.dispatch.call_keys import GEOMETRY, VIEW, key_of
from tapegrad._src.dispatch.function_levels import level_operators
from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.dispatch.view_history import Reinterpretation, creation_of
from tapegrad._src.execution.data.dtypes import FLOATING
from tapegrad._src.execution.recording.capturing import capturing
from tapegrad._src.tape.hooks import making
from tapegrad._src.tape.mechanisms import VIEW_CACHE
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.dual import set_tangent, tangent_of
from tapegrad._src.tensor.geometry import Geometry
from tapegrad._src.tensor.lifted import Lifted
from tapegrad._src.tensor.shared import is_shared
from tapegrad._src.tensor.spec import Spec, named_strides
from tapegrad._src.tensor.storage import Counter, Storage
from tapegrad._src.tensor.tensor import (
    Tensor,
    View,
    counter_of,
    join,
    remember_astray,
    share,
    storage_of,
    value_of,
    wrap,
)
from tapegrad.ops import joining
from tapegrad.ops.shape import alias

ViewRule = Callable[..., Geometry | None]


def geometry_of(tensor: Tensor) -> Geometry:
    """The geometry of a tensor: where its elements lie in its memory."""
    return Geometry(tuple(tensor.shape), tensor._spec.layout, tensor._offset)


VIEW_RULES: dict[Any, ViewRule] = {}
"""The geometry of the view that an operator gives: a function of where its input lies, numbers and settings."""

VIEW_BITS: dict[Any, int] = {}
"""The bits in which a view that an operator gives shows its memory otherwise than its input does."""


def declare_view(op: OperatorLike, rule: ViewRule, view_bits: int = 0) -> None:
    """Declare where the views lie that an operator gives. See Note [View rules]."""
    VIEW_RULES[op] = rule
    if view_bits:
        VIEW_BITS[op] = view_bits


UNREAD = -1
"""The data version of a window that nobody has read."""


def move_of(op: OperatorLike, spec: Spec, numbers: tuple, settings: dict) -> tuple[tuple[int, ...] | None, int, int]:
    """The strides of a view (None: contiguous), how much further it begins, and how much for a step of its number."""
    key = key_of((GEOMETRY, spec), settings)
    move = op.plans.get(key) or op.calls.exact.get(key)
    if move is None:
        geometry = Geometry(tuple(spec.shape), spec.layout, 0)
        first = VIEW_RULES[op](geometry, *(0 for _ in numbers), **settings)
        assert first is not None
        step = VIEW_RULES[op](geometry, *(1 for _ in numbers), **settings).offset - first.offset if numbers else 0  # type: ignore[union-attr]
        move = op.calls.exact.keep(key, (named_strides(first.shape, first.strides), first.offset, step))
    return move


def data_version_of(tensor: Tensor) -> float:
    """Which version of its data is there now: to be asked before its value, for another thread may write to it."""
    storage = tensor._storage
    return 0 if storage is None else storage.data_version


def view_of(input: Tensor, op: OperatorLike, *numbers: int, **settings: Any) -> Tensor:
    """The view of ``input`` that an operator gives."""
    storage, spec, view = input._storage, input._spec, input._view
    data_version = 0 if storage is None else storage.data_version
    key = (VIEW, thread.modes, spec, *map(type, numbers), *settings.items())
    later = data_version and reads_later(storage)  # type: ignore[arg-type]
    known = None if data_version and not later else op.plans.get(key) or op.calls.exact.get(key)
    if known is not None and (view is None or is_ordinary(input, view)):
        return _known_view(input, numbers, known)
    if data_version and is_shared(storage) and _may_wait(input):
        result = replay(op, (input, *numbers), settings, _unread)
    else:
        result = op.with_numbers(input, numbers, settings)
    if spec.overrides == "dispatch" or result._spec.overrides == "dispatch":  # its class says where it lies
        return result
    if data_version:
        result._seen = data_version
    strides, start, step = move_of(op, spec, numbers, settings)
    if spec.dtype is not result._spec.dtype or op in VIEW_BITS:
        return _in_other_dtype(input, result, op, numbers, settings)
    as_view(input, result, strides, input._offset + start + (step * numbers[0] if numbers else 0))
    if spec.dual and result._spec.dual:
        tangent: Any = tangent_of(input)
        set_tangent(result, tangent if op is alias else view_of(tangent, op, *numbers, **settings))
    elif (view is None or is_ordinary(input, view)) and not (
        thread.modes.intercepted or thread.modes.level or (data_version and not later) or spec.level or spec.inference
        or spec.overrides or spec.mismatched or VIEW_CACHE.off
    ):  # fmt: skip
        run, seen = op.plans.get(key[1:]), 0
        if later and _may_wait(input):
            run, seen = unread_runner(op, (input, *numbers), settings), UNREAD
        if run is not None and type(result) is Tensor and not thread.modes.inference:
            op.calls.exact.keep(key, (run, result._spec, result._view.creation, start, step, seen))  # type: ignore[union-attr]
    return result


def reads_later(storage: Storage) -> bool:
    """Tell whether views of memory that has been written to are read when somebody asks. See Note [Unread views]."""
    unseen = capturing.by is None and not thread.modes.deferred
    return unseen and type(storage.memory) is ndarray and not storage.shared


def _known_view(input: Tensor, numbers: tuple[int, ...], known: tuple) -> Tensor:
    """A view of which all is known that its input does not say itself."""
    run, shown, creation, start, step, seen = known
    view, storage, counter = input._view, input._storage, input._counter
    seen = seen or (0 if storage is None else storage.data_version)  # before its value is read
    result = run(input, *numbers)
    if seen:
        result._seen = seen
    if storage is None:
        storage = storage_of(input)
    offset = input._offset + start + (step * numbers[0] if numbers else 0)
    result._spec = shown
    result._view = View(input if view is None else view.base, creation, (counter or storage.counter).version)
    if offset:
        result._offset = offset
    if input._view_bits:
        result._view_bits = input._view_bits
    if input._detached_from_outside:
        result._detached_from_outside = True
    if counter is not None:
        result._counter = counter
    with making:
        if storage.written and shown.plain:  # since the operator has run
            join(result, storage)
        else:
            storage.admit(result)
            result._storage = storage
    return result


def view_again(
    input: Tensor, result: Tensor, op: OperatorLike, numbers: tuple, settings: dict
) -> Callable[..., Tensor] | None:
    """A function that makes such a view of a tensor of the same spec, in these modes, as an operator has given; None if
    too much depends on the tensor.
    """
    known = op.calls.exact.get(key_of((VIEW, thread.modes, input._spec, *map(type, numbers)), settings))
    if known is None or result._spec is not known[1] or result._view is None or result._view.creation is not known[2]:
        return None

    def again(input: Tensor, *_: Any, **named: Any) -> Tensor:
        storage, view = input._storage, input._view
        ready = storage is None or not storage.data_version or reads_later(storage)
        if not ready or not (view is None or is_ordinary(input, view)):
            return view_of(input, op, *numbers, **settings)
        return _known_view(input, numbers, known)

    return again


def is_ordinary(input: Tensor, view: View) -> bool:
    """Tell whether a view of a view is what a view of a tensor of its spec would be, but for the base."""
    base = view.base
    plain = view.creation is None and view.reinterpretation is None and base._storage is input._storage
    return plain and base._spec.requires_grad is input._spec.requires_grad


def _may_wait(input: Tensor) -> bool:
    """Tell whether a view can be made without reading it: nobody is told of the operator, or takes its call."""
    modes, spec = thread.modes, input._spec
    told = modes.intercepted or modes.results_watched or modes.function_modes or modes.saved_hooks
    return not (told or spec.dual or spec.level or spec.overrides)


def _unread() -> None:
    """In place of the value of a view that is read when somebody asks."""


def _in_other_dtype(input: Tensor, result: Tensor, op: OperatorLike, numbers: tuple, settings: dict) -> Tensor:
    """A view that shows the same memory as other numbers: how it was made is remembered."""
    geometry = VIEW_RULES[op](geometry_of(input), *numbers, **settings)
    assert geometry is not None
    view_bits = input._view_bits ^ VIEW_BITS.get(op, 0)
    made = Reinterpretation(input, op, numbers, settings)
    as_view(input, result, named_strides(geometry.shape, geometry.strides), geometry.offset, None, view_bits, made)
    if input._spec.dual and result._spec.dual:
        set_tangent(result, view_of(tangent_of(input), op, *numbers, **settings))  # type: ignore[arg-type]
    return result


def views_of(input: Tensor, op: OperatorLike, axis: int, **settings: Any) -> tuple[Tensor, ...]:
    """The views, one after another along a dimension, that an operator with several outputs gives."""
    data_version = data_version_of(input)
    results = op(input, axis=axis, **settings)
    key = key_of((GEOMETRY, input._spec, results[0]._spec, axis), settings)
    geometries = op.plans.get(key) or op.calls.exact.get(key)
    geometries = geometries or op.calls.exact.keep(key, _geometries(input._spec, results, axis, op))
    if _are_alike(input):
        _share_alike(input, results, geometries)
        return results
    for result, (strides, start, _) in zip(results, geometries, strict=True):
        result._seen = data_version
        as_view(input, result, strides, input._offset + start, "multi_output")
    if input._spec.dual and results[0]._spec.dual:
        tangents = views_of(tangent_of(input), op, axis, **settings)  # type: ignore[arg-type]
        for result, tangent in zip(results, tangents, strict=True):
            set_tangent(result, tangent)
    return results


def views_again(
    input: Tensor, results: tuple, op: OperatorLike, settings: dict
) -> Callable[..., tuple[Tensor, ...]] | None:
    """``view_again`` for several views, which an operator has given of a tensor."""
    run = op.calls.exact.get(key_of((thread.modes, input._spec), settings))
    view = results[0]._view
    if run is None or view is None or view.base is not input or not _are_alike(input):
        return None
    geometries = [(None, result._offset - input._offset, result._spec) for result in results]

    def again(input: Tensor, *_: Any, **named: Any) -> tuple[Tensor, ...]:
        if input._view is not None or input._detached_from_outside:
            return views_of(input, op, **settings)
        results = run(input)
        _share_alike(input, results, geometries)
        return results

    return again


def _geometries(spec: Spec, results: Sequence[Tensor], axis: int, op: OperatorLike) -> list[tuple[Any, int, Spec]]:
    """For each of these views the strides, how much further it begins, and its spec with these strides."""
    layout, gone, start, geometries = spec.layout, op is joining.unbind, 0, []
    for result in results:
        strides = named_strides(result.shape, layout[:axis] + layout[axis + gone :])
        geometries.append((strides, start * layout[axis], result._spec.replace(strides=strides)))
        start += 1 if gone else result.shape[axis]
    return geometries


def _are_alike(input: Tensor) -> bool:
    """Tell whether several views of a tensor need nothing but their places: they are plain, and require grad as it
    does."""
    spec, view, modes = input._spec, input._view, thread.modes
    plain = spec.plain and not (
        spec.inference or spec.level or spec.dual or modes.inference or input._detached_from_outside
    )
    return plain and view is None and (modes.grad or not spec.requires_grad)


def _share_alike(input: Tensor, results: Sequence[Tensor], geometries: Sequence[tuple[Any, int, Spec]]) -> None:
    """``as_view`` of several results that are alike."""
    storage, counter, creation = storage_of(input), input._counter, creation_of(input, "multi_output")
    version, offset = (counter or storage.counter).version, input._offset
    with making:
        for result, (_, start, spec) in zip(results, geometries, strict=True):
            result._view, result._spec = View(input, creation, version), spec
            if offset + start:
                result._offset = offset + start
            if counter is not None:
                result._counter = counter
            if storage.written:  # since the operator has run
                join(result, storage)
            else:
                storage.admit(result)
                result._storage = storage


def parts_of(input: Tensor, op: OperatorLike, axis: int, **settings: Any) -> tuple[Tensor, ...]:
    """``views_of`` as PyTorch's unsafe functions have them: on the memory of ``input``, but each counts its own writes.

    For autograd they are no views, except those that inference mode makes of a normal tensor.
    """
    results = views_of(input, op, axis, **settings)
    for result in results:
        _count_apart(result)
    return results


def _count_apart(part: Tensor) -> None:
    """Let a view count its own writes, and be none for autograd; also what it was lifted from."""
    value = part._value
    if isinstance(value, Lifted) and value.tensor._view is not None:
        with value.level.reading():
            _count_apart(value.tensor)
    part._counter = Counter()
    if part._view is not None and thread.modes.inference:
        part._view.version = 0
    else:
        part._view = None
        part._spec = part._spec.replace(requires_grad=part._edge is not None)


def as_view(
    input: Tensor, result: Tensor, strides: tuple[int, ...] | None, offset: int, creation: str | None = None,
    view_bits: int | None = None, made: Reinterpretation | None = None,
) -> Tensor:  # fmt: skip
    """Put a result on the memory of ``input``, of which, or of whose base, it is a view."""
    spec, view = input._spec, input._view
    if strides is not None and strides != result._spec.strides:
        result._spec = result._spec.replace(strides=strides)
    if thread.modes.inference or spec.inference or result._spec.inference:
        result._spec = result._spec.replace(inference=spec.inference)
    if not spec.inference:
        base = input if view is None else view.base
        if made is None and view is not None and view.reinterpretation is not None:
            made = Reinterpretation(input, None, (), {})
        result._view = View(base, creation_of(input, creation), counter_of(input).version, made)
        if base._spec.requires_grad and not result._spec.requires_grad and result.dtype.category >= FLOATING:
            known = base._spec.level == result._spec.level  # elsewhere it is a constant
            result._spec = result._spec.replace(requires_grad=known)
        if base is not input and base._storage is not input._storage:
            remember_astray(result, base)
    if spec.level:
        _view_outside(input, result, offset, creation, view_bits, made)
    share(result, input, offset, view_bits)
    if spec.inference:
        result._counter = None  # what was detached outside counts, but no view of it
    return result


def _view_outside(
    input: Tensor, result: Tensor, offset: int, creation: str | None, view_bits: int | None,
    made: Reinterpretation | None,
) -> None:  # fmt: skip
    """Let what a view was lifted from be a view of what its input was, in the same place of its memory."""
    whole, part = value_of(input), result._value
    if not (isinstance(whole, Lifted) and isinstance(part, Lifted) and whole.batched is part.batched):
        return
    outer, inner, before, after = whole.tensor, part.tensor, input.dtype.itemsize, result.dtype.itemsize
    front = outer._spec.layout[: whole.batched]
    steps = [step * before // after for step in (*front, outer._offset, -input._offset)]
    if outer._spec.layout != (*front, *input._spec.layout) or inner._storage is not None:
        return
    strides = named_strides(inner.shape, (*steps[:-2], *result._spec.layout))
    with whole.level.reading():
        known = outer if whole.origin is None else whole.origin
        if view_bits is not None:
            view_bits ^= input._view_bits ^ known._view_bits
        if made is not None:
            mask = (whole.batched, *(False for _ in made.numbers))
            op = level_operators.content.vmapped(made.op, mask) if whole.batched and made.op is not None else made.op
            made = made._replace(origin=known, op=op)
        offset += steps[-2] + steps[-1]
        as_view(known, inner, strides, offset, creation, view_bits, made)
        shown, tangent = tangent_of(known), tangent_of(inner)
        if shown is not None and tangent is not None:
            inner._tangent = tangent = wrap(value_of(tangent), tangent._spec.fresh, tangent._edge)
            made = None if made is None else made._replace(origin=shown)
            further = (shown._offset - known._offset) * before // after
            as_view(shown, tangent, strides, offset + further, creation, view_bits, made)


def sharing(tensor: Tensor, requires_grad: bool = False) -> Tensor:
    """A new leaf on the memory of ``tensor``, with its shape, dtype and device; no view as far as autograd knows."""
    spec = tensor._spec.replace(requires_grad=requires_grad, plain=True, window=False, overrides=False, dual=False,
                                mismatched=False)  # fmt: skip
    data_version = data_version_of(tensor)
    result = wrap(None if is_shared(tensor._storage) else value_of(tensor), spec)
    result._seen = data_version
    return share(result, tensor)
