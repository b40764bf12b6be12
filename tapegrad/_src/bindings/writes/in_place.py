"""In-place variants: ``x.add_(y)`` computes ``add`` on what ``x`` was and makes ``x`` the result.

Arrays are immutable, so a function in place is the function followed by a write: the storage gets the new value and one
more version, the tensor the new history, and its base too, if it is a view (Note [Views] in
``dispatch/view_history.py``). Which methods have such a variant, and what is particular about it: Note [Declared once]
in ``declaration/declarations.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from tapegrad._src.bindings.declaration.declarations import ARITHMETIC, ORDINARY_IN_PLACE, InPlace, is_method
from tapegrad._src.bindings.declaration.dunders import AUGMENTED, Asks, named, operator
from tapegrad._src.bindings.declaration.parser import chosen, overloads_of
from tapegrad._src.bindings.declaration.parser_table import FUNCTIONS, NUMBERS_AS_TENSORS
from tapegrad._src.bindings.declaration.registry import IN_PLACE, NAMESPACES, public, shown_as, wrapped
from tapegrad._src.bindings.declaration.scalars import cast_number, element, is_number, no_overload, wrong_type
from tapegrad._src.bindings.naming import renamed, underivable
from tapegrad._src.bindings.tangents import (
    lie_where_it_is_written,
    noting_who_reads,
    take_tangent,
    unwritten_tangent,
    written_tangent,
)
from tapegrad._src.bindings.writes.cached import fast_method, no_operand, one_operand
from tapegrad._src.bindings.writes.overlaps import last_written, refuse_shared_parts, shows_the_same
from tapegrad._src.dispatch.function_levels import handle, unreached, untransformed
from tapegrad._src.dispatch.nodes.packing import while_writing
from tapegrad._src.dispatch.view_history import refuse_view, take_history
from tapegrad._src.execution.data.dtypes import FLOATING, dtype
from tapegrad._src.execution.data.promotion import can_cast, warn_of_cast
from tapegrad._src.tape.modes import switched, thread
from tapegrad._src.tape.positions import explain
from tapegrad._src.tensor.dual import set_tangent, tangent_of
from tapegrad._src.tensor.geometry import overlaps_itself
from tapegrad._src.tensor.lifted import Level, Lifted, mapped_over, mapping, origin_of, sizes_of, write_outside
from tapegrad._src.tensor.paths import fact_of
from tapegrad._src.tensor.refusals import refuse_captured
from tapegrad._src.tensor.storage import Storage
from tapegrad._src.tensor.tensor import (
    Tensor,
    edge_of,
    passes_for_leaf,
    refuse_inference,
    storage_of,
    value_of,
    wrap,
    write,
    writing,
)
from tapegrad.errors import LEAF, SHOWN_TWICE, VIEW_OF_LEAF
from tapegrad.ops import assignment
from tapegrad.ops.kinds import broadcast_shapes, cast


def refuse_in_place(tensor: Tensor, *, overlapping: bool = False, recorded: bool = True) -> None:
    """Raise if ``tensor`` may not be written to now.

    Args:
        overlapping: whether it may show one place of its memory several times, as what was expanded does.
        recorded: whether the write is recorded where gradients are.

    Raises:
        RuntimeError: in grad mode, a leaf that requires grad, a view of one, or a view whose creation forbids it; an
            inference tensor outside inference mode; memory that is shown several times. PyTorch's messages.
    """
    spec = tensor._spec
    if recorded and thread.modes.grad and spec.requires_grad:
        if tensor._view is not None:
            refuse_view(tensor)
            if tensor._view.base._edge is None:
                raise RuntimeError(VIEW_OF_LEAF)
        if passes_for_leaf(tensor):
            raise RuntimeError(explain(LEAF, [fact_of(tensor)]))
    refuse_inference(tensor)
    if spec.level and not tensor._detached_from_outside:
        _refuse_outside(tensor, overlapping, recorded)
    if spec.strides is not None and not overlapping and overlaps_itself(spec.shape, spec.strides):
        raise RuntimeError(SHOWN_TWICE)


def _refuse_outside(tensor: Tensor, overlapping: bool, recorded: bool) -> None:
    """Raise if what a tensor of a level shares its memory with may not be written to."""
    lifted, value = origin_of(tensor), value_of(tensor)
    if lifted is not None:
        origin, level = lifted
        part = value.tensor if value.is_part_of(storage_of(tensor).value) else origin
        with level.outside():
            is_leaf = thread.modes.grad and passes_for_leaf(origin) and origin._spec.requires_grad
            if tensor._view is not None and recorded and is_leaf and part is origin:
                raise RuntimeError(VIEW_OF_LEAF)
            refuse_in_place(part, overlapping=overlapping, recorded=recorded)
    elif tensor._view is not None and isinstance(value, Lifted) and value.level in thread.levels[-1:]:
        with value.level.outside():  # what was computed here is there a view of something that was, too
            if value.tensor._view is not None and recorded and thread.modes.grad and value.tensor._spec.requires_grad:
                refuse_view(value.tensor)


def before_write(tensor: Tensor) -> Tensor:
    """A handle on what ``tensor`` is now, with its place in the graph, that the write will not touch."""
    value, spec = value_of(tensor), tensor._spec.fresh
    value = unreached(value) if isinstance(value, Lifted) else value
    before = wrap(value, spec, edge_of(tensor) if thread.modes.grad else None)
    if thread.modes.saved_hooks:  # which may share it: it must not turn out to share the storage that is written to
        before._storage = Storage(value, spec.strides)
        before._storage.admit(before)
    if spec.dual:
        before._spec = spec.replace(dual=False)
        set_tangent(before, unwritten_tangent(tensor))
    return before


def become(tensor: Tensor, result: Tensor, name: str = "copy_") -> Tensor:
    """Make ``tensor`` the result of an operator: its value, one more version, and its history.

    Raises:
        RuntimeError: the result has another shape or device, or a dtype that can't be cast to the tensor's; or it is
            recorded and the tensor is a view whose creation forbids that; or the tensor was captured by a function
            transform, in which ``name``, with its overload if it has one, writes to it.
    """
    base = tensor if tensor._view is None else tensor._view.base
    if result._spec.level != base._spec.level:
        result = untransformed(result, base)
    if result._spec.level != base._spec.level:
        refuse_captured(name, tensor, result, _called_by_vmap(name))
    if tensor._spec.level and tensor._detached_from_outside and (captured := captured_base(tensor)) is not None:
        refuse_captured(name, captured, result, _called_by_vmap(name))
    check_result(tensor, result)
    if result.dtype is not tensor.dtype:
        edge, result = result._edge, cast(result, dtype=tensor.dtype)
        result._edge = edge  # no node for the cast: that of the operator takes gradients of the dtype that was written
    if result._edge is not None:
        refuse_view(tensor)
    with writing:
        write(tensor, value_of(result))
        if result._edge is not None:
            take_history(tensor, result._edge)
    if (result._spec.dual or tensor._spec.dual) and thread.modes.forward_grad:
        _become_tangent(tensor, tangent_of(result))
    return tensor


def captured_base(tensor: Tensor) -> Tensor | None:
    """A tensor from further out, whose memory a detached one of a level shows a part of; None if it does not."""
    if not tensor._detached_from_outside:
        return None
    value = storage_of(tensor).value
    if isinstance(value, Lifted) and value.level.depth == tensor._spec.level:
        return None
    return next((one for one in storage_of(tensor).living() if one._spec.level < tensor._spec.level), None)


def _write_outside(origin: Tensor, target: Tensor, result: Tensor, writer: Tensor) -> Tensor:
    """Write to what was lifted, or a view of it, as it is written at a level through ``writer``, and lift it again."""
    if result._storage is not None and result._storage is origin._storage:  # it has been written there
        if result._edge is not None and target is origin:
            take_history(origin, result._edge)
    elif writer._detached_from_outside:
        write(target, value_of(result))
    else:
        become(target, result)
    return handle(origin)


write_outside.fill(_write_outside)


def _particulars_of(name: str) -> InPlace:
    """The particulars that were declared of an in-place method: with it, or with the function whose variant it is."""
    name = AUGMENTED.get(name, name)
    return IN_PLACE.get(name) or IN_PLACE.get(name.removesuffix("_"), ORDINARY_IN_PLACE)


def _called_by_vmap(name: str) -> str | None:
    method, _, overload = name.partition(".")
    captured = _particulars_of(method).captured
    return captured if captured is None or isinstance(captured, str) else captured.get(overload)


def overload_of(name: str, variant: InPlace, args: tuple, kwargs: dict[str, Any]) -> str:
    """The name of an in-place variant with that of PyTorch's overload which takes these arguments.

    >>> overload_of("pow_", InPlace(), (2,), {}), overload_of("atan2_", InPlace(), (2,), {})
    ('pow_.Scalar', 'atan2_')
    """
    if callable(variant.overloads):
        overload = variant.overloads(*args, **kwargs)
    else:
        overloads = overloads_of(name, True)
        if sum(not one.hidden for one in overloads) < 2 and name not in NUMBERS_AS_TENSORS:
            return name
        types = {given.type for given in chosen(overloads, args, kwargs)[0].parameters if not given.by_name}
        of_number, of_tensor = variant.overloads
        overload = of_number if "Number" in types else of_tensor if "Tensor" in types else ""
    return f"{name}.{overload}" if overload else name


def _become_tangent(tensor: Tensor, tangent: Tensor | None) -> None:
    """Let the tangent of a tensor that was written to be that of what was written; it is written to itself."""
    present = written_tangent(tensor)
    if present is None:
        if tangent is not None:
            take_tangent(tensor, tangent)
        return
    refuse_in_place(present)
    before = before_write(present)
    become(present, assignment.fill(before, 0) if tangent is None else assignment.copy(before, tangent))


def _become_along(tensor: Tensor, before: Tensor, compute: Callable[[Tensor], Tensor]) -> Tensor:
    """``become`` where tangents are read that the write reaches.

    As in PyTorch, tangents are computed when it is done; from what was the tensor's own if its value is needed, too.
    """
    with noting_who_reads(before) as reads:
        result = compute(before)
    with switched(forward_grad=False):
        become(tensor, result)
    again = wrap(value_of(before), before._spec.fresh.replace(dual=False), before._edge)
    if tensor._spec.dual:
        set_tangent(again, tangent_of(before) if any(reads) else unwritten_tangent(tensor))
    _become_tangent(tensor, tangent_of(compute(again)))
    return tensor


def mismatched(tensor: Tensor, shape: tuple[int, ...], levels: Sequence[Level] = ()) -> str:
    """PyTorch's words for a result of another shape, which is an example at some levels; that of all is told."""
    mine, its = sizes_of(mapping(tensor)), sizes_of(levels)
    ones = (1,) * (len(shape) - tensor.ndim if mine else 0)
    own, other = [*mine, *ones, *tensor.shape], [*its, *shape]
    return f"output with shape {own} doesn't match the broadcast shape {other}"


def written_shape(tensor: Tensor, operand: Tensor, name: str) -> tuple[int, ...]:
    """The common shape of a tensor that is written to by ``name`` and of an operand of another shape.
    Raises RuntimeError: PyTorch's messages, where there is none, or examples are written to what has none.
    """
    if operand._spec.level > tensor._spec.level:
        refuse_captured(name, tensor, operand, ARITHMETIC)
    return broadcast_shapes([tensor.shape, operand.shape], mapped_over(tensor._spec, operand._spec))


def check_result(tensor: Tensor, result: Tensor) -> None:
    """Refuse a result that does not fit into ``tensor``."""
    if result.shape != tensor.shape:
        raise RuntimeError(mismatched(tensor, result.shape, mapping(result)))
    if result.device is not tensor.device:
        raise RuntimeError(f"Tensor on device {result.device} is not on the expected device {tensor.device}!")
    check_castable(result.dtype, tensor.dtype)


def check_castable(result: dtype, target: dtype) -> None:
    """Refuse a target of a lower category than what is computed for it."""
    if not can_cast(result, target):
        raise RuntimeError(
            f"result type {result.scalar_name} can't be cast to the desired output type {target.scalar_name}"
        )


def in_place(name: str, function: Callable[..., Tensor], variant: InPlace = ORDINARY_IN_PLACE) -> Callable[..., Tensor]:
    """The in-place variant of a method.

    Args:
        name: what it is called.
        function: the method.
        variant: what is particular about it.
    """
    strict = variant.apart == "strictly"
    particular = variant.check or variant.node or variant.underivable or variant.overlapping == "deprecated"
    overlapping, apart, recorded, first = bool(variant.overlapping), variant.apart, variant.recorded, variant.first

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if first is not None:
            if not variant.composed:
                refuse_in_place(self, overlapping=True, recorded=recorded)
            first(self, *args, **kwargs)
        refuse_in_place(self, overlapping=overlapping, recorded=recorded)
        if apart and (strict or self._storage is not None):
            refuse_shared_parts(self, (*args, *kwargs.values()) if kwargs else args, strict)
        with while_writing():
            before = before_write(self)
            if thread.modes.forward_level >= 0 and lie_where_it_is_written(self, (*args, *kwargs.values())):
                return _become_along(self, before, lambda before: function(before, *args, **kwargs))
            result = function(before, *args, **kwargs)
            called = overload_of(name, variant, args, kwargs) if thread.modes.level else name
            return become(self, _particular(variant, name, self, before, result) if particular else result, called)

    method.__doc__ = f"In-place version of ``{AUGMENTED.get(name) or name.rstrip('_')}``."
    method = wrapped(method, name, role="method")
    return method if variant.fast is None else shown_as(method, variant.fast[0](method, *variant.fast[1:]))


def _particular(variant: InPlace, name: str, tensor: Tensor, before: Tensor, result: Tensor) -> Tensor:
    """The result of a variant, checked and with a node of the right name."""
    if variant.check is not None:
        variant.check(tensor, result)
    if variant.overlapping == "deprecated":
        result = last_written(name, tensor, before, result)
    if variant.underivable:
        underivable(result, f"aten::{name}")
    return result if variant.node is None else renamed(result, variant.node)


def declare_variants() -> None:
    """Declare the in-place variants that nobody wrote; called once, when every family has been imported."""
    methods, functions = NAMESPACES["Tensor"], NAMESPACES["torch"]
    for name, method in tuple(methods.items()):
        variant = IN_PLACE.get(name, ORDINARY_IN_PLACE)
        if (variant.unlisted or is_method(f"{name}_")) and f"{name}_" not in methods:
            unchecked = getattr(method, "unchecked", None)
            function = method if unchecked is None else wrapped(unchecked, name, role="method")
            methods[f"{name}_"] = in_place(f"{name}_", function, variant)
            if variant.unlisted and name in functions:
                functions[f"{name}_"] = as_function(f"{name}_", methods[f"{name}_"])
    for name, called in AUGMENTED.items():
        own = called.endswith("__")
        method = in_place(name, methods[called], IN_PLACE[called]) if own else methods[called]
        asks: Asks = "method" if own else "python" if name == "__ipow__" else "function"
        methods[name] = named(name if own else called, operator(method, asks), method)
    for name, method in methods.items():
        if name.endswith("_") and name in FUNCTIONS and name not in functions:
            functions[name] = as_function(name, method)


def as_function(name: str, method: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """An in-place method as a function of ``torch``."""

    def function(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return method(input, *args, **kwargs)

    function.__doc__ = method.__doc__
    return wrapped(function, name)


def not_of_integers(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A function that gives no integers which require grad; its in-place variant does, and computes it ``unchecked``.

    See Note [Written integers] in ``ops/assignment.py``.
    """

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Tensor:
        result = function(*args, **kwargs)
        if result._spec.mismatched and result.dtype.category < FLOATING:
            raise RuntimeError(f"Autograd not support dtype: {result.dtype.scalar_name}")
        return result

    checked.unchecked = function  # type: ignore[attr-defined]
    return checked


@public("torch")
@not_of_integers
def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor like ``input`` whose every element is ``value``, a number or a 0-dim tensor.

    Raises:
        RuntimeError: ``value`` has dimensions, or is a number that the dtype can't hold.
    """
    if isinstance(value, Tensor):
        _check_filling(value)
        return assignment.fill(input, value)
    if not is_number(value):
        raise no_overload("fill", (input, value), ("Tensor input, Tensor value", "Tensor input, Number value"))
    return assignment.fill_number(input, element(value, input.dtype, input.shape))


def _check_filling(value: Tensor) -> None:
    if value.ndim:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")


@public("Tensor", in_place=InPlace(captured="fill_"))
def fill_(self: Tensor, value: Any) -> Tensor:
    """Replace every element by ``value``, a number or a 0-dim tensor.

    Raises:
        RuntimeError: ``value`` has dimensions, or is a number that the dtype can't hold.
    """
    if not isinstance(value, Tensor):
        value = element(value, self.dtype, self.shape)
        refuse_in_place(self, overlapping=True)
        return become(self, renamed(assignment.fill_number(before_write(self), value), "FillBackward2"), "fill_.Scalar")
    refuse_in_place(self)
    _check_filling(value)
    warn_of_cast(value.dtype, self.dtype)
    return become(self, renamed(assignment.fill(before_write(self), value), "FillBackward3"), "fill_.Tensor")


@fast_method(no_operand, assignment.zero)
@public("Tensor", in_place=InPlace(captured="zero_"))
def zero_(self: Tensor) -> Tensor:
    """Replace every element by zero."""
    refuse_in_place(self, overlapping=True)
    return become(self, assignment.zero(before_write(self)), "zero_")


@fast_method(one_operand, assignment.copy)
@public("Tensor", in_place=InPlace(captured=ARITHMETIC))
def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Replace the elements by those of ``src`` (a tensor or a number), broadcast and cast as need be.

    Raises:
        RuntimeError: ``src`` can't be broadcast to this shape.
    """
    if not isinstance(src, Tensor):
        return _copy_number(self, src)
    refuse_in_place(self, overlapping=shows_the_same(self, src))
    if self._storage is not None:
        refuse_shared_parts(self, (src,))
    if self.shape != src.shape and written_shape(self, src, "copy_") != tuple(self.shape):
        raise RuntimeError(mismatched(self, written_shape(self, src, "copy_"), mapping(self)))
    warn_of_cast(src.dtype, self.dtype)
    before = before_write(self)
    if thread.modes.forward_level >= 0 and lie_where_it_is_written(self, (src,)):
        return _become_along(self, before, lambda before: assignment.copy(before, src))
    return become(self, assignment.copy(before, src))


def _copy_number(self: Tensor, number: Any) -> Tensor:
    if not is_number(number):
        raise wrong_type("copy_", "other", 1, number)
    refuse_in_place(self)
    result = assignment.fill(before_write(self), cast_number(number, self.dtype))
    return become(self, renamed(result, "torch::autograd::CopyBackwards"))
