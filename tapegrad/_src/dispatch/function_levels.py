"""Calls at a level: operators on lifted tensors are operators on tensors one level further out.

See Note [Levels] in ``tensor/lifted.py``. A plan for lifted arguments differs from others in its forward kernel alone,
which is the operator itself, called outside (``lifted_forward``); where the level maps, the operator is one that JAX
has batched (``Vmapped`` in ``ops/levels.py``). What a plan can't be made for is brought to one level first
(``levelled``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tapegrad._src.dispatch.nodes.accumulate_grad import gradient_edge
from tapegrad._src.dispatch.nodes.error import DelayedError
from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.doors import Door
from tapegrad._src.execution.data.opaque import Opaque
from tapegrad._src.tape.modes import Modes, thread
from tapegrad._src.tensor.dual import set_tangent
from tapegrad._src.tensor.level_messages import ESCAPED, LOST_TANGENT
from tapegrad._src.tensor.lifted import Level, Lifted, lifted_runner, raised
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import Tensor, describe, sharing_handle, storage_of, value_of, wrap


class LevelOperators(NamedTuple):
    """Functions that make operators: of one for a batch, of the formulas of a plan, of a function of jax."""

    vmapped: Callable[[Any, tuple[bool, ...]], Any]
    gradients: Callable[[Any, tuple[bool, ...], tuple[bool, ...]], Any]
    foreign: Callable[[Callable], Any]


level_operators: Door[LevelOperators] = Door("level_operators", filled_by="ops/levels.py")
"""The operators that calls on lifted tensors are, one level further out."""


# -- tensors -----------------------------------------------------------------------------------------------------------


def live(tensor: Tensor) -> Tensor:
    """A tensor as it counts now: one of a level that is over is what it was lifted from.

    Raises:
        RuntimeError: it is one of the examples of a ``vmap`` that is over.
    """
    while tensor._spec.level:
        value = value_of(tensor)
        if not isinstance(value, Lifted):  # a constant that was made with the spec of a lifted tensor
            return wrap(value, describe(value))
        if value.level.alive:
            break
        if value.batched:
            raise RuntimeError(ESCAPED)
        tensor = value.tensor
    return tensor


def handle(tensor: Tensor) -> Tensor:
    """A handle on the memory of a tensor, with the place in the graph and the tangent that it has now.

    One of a tensor without data, with which its class computes, is of that class.
    """
    if isinstance(tensor._value, Opaque) and tensor._value.is_answered:
        result = of_its_class(tensor._value, tensor._spec.replace(plain=True, window=False, dual=False),
                              gradient_edge(tensor))  # fmt: skip
    else:
        result = sharing_handle(tensor, gradient_edge(tensor))
    if tensor._spec.dual:
        set_tangent(result, tensor._tangent)
    return result


def of_its_class(value: Any, spec: Spec, edge: Any) -> Tensor:
    """A tensor around a value: of the class that answers for it, if one does."""
    if not (isinstance(value, Opaque) and value.is_answered):
        return wrap(value, spec, edge)
    result: Tensor = value.as_tensor()
    result._spec, result._edge = spec.replace(overrides=value.spec.overrides), edge
    return result


def is_answered(tensor: Tensor) -> bool:
    """Tell whether a tensor's class answers for the operators on it, and it has no data itself."""
    value = tensor._value
    while isinstance(value, Lifted):
        value = value._tensor._value
    return isinstance(value, Opaque) and value.is_answered


def unreached(value: Lifted) -> Lifted:
    """A lifted value with a memory of its own."""
    tensor = value.tensor
    spec = tensor._spec.fresh
    with value.level.reading():
        inner = value_of(tensor)
        inner = unreached(inner) if isinstance(inner, Lifted) else inner
        result = of_its_class(inner, spec.replace(dual=False), gradient_edge(tensor))
    if spec.dual:
        set_tangent(result, tensor._tangent)
    return Lifted(result, value.level, value.batched)


def lift(
    tensor: Tensor, level: Level, batched: bool = False, requires_grad: bool = False,
    placed: tuple[Tensor, int] | None = None,
) -> Tensor:  # fmt: skip
    """A tensor of the level outside as one of the innermost level. ``placed``: see ``Lifted``."""
    with level.outside():
        origin = live(tensor)
        below = handle(origin)
    return raised(Lifted(below, level, batched, origin, placed), requires_grad)


def at(tensor: Tensor, level: Level) -> Tensor:
    """A tensor at the innermost level: itself, or lifted."""
    tensor = live(tensor)
    if level.tangents_lost:
        refuse_lost(level, [tensor])
    return tensor if tensor._spec.level == level.depth else lift(tensor, level)


def lower(tensor: Tensor, level: Level) -> tuple[Tensor, bool]:
    """The tensor outside a level that a tensor is there, and whether its first dimension is the mapped one.

    It is what was lifted, or a view, or else a tensor of its own.
    """
    tensor = live(tensor)
    value = value_of(tensor)
    if not (isinstance(value, Lifted) and value.level is level):
        return tensor, False
    if value.origin is not None and tensor._view is None and not tensor._detached_from_outside:
        return value.origin, value.batched
    tensor, batched = value.tensor, value.batched
    with level.outside():
        return tensor if tensor._view is not None else handle(tensor), batched


def untransformed(result: Tensor, base: Tensor) -> Tensor:
    """A result that is written to ``base`` as it is there, if the levels further in are no transforms, and it owes them
    nothing.

    What is still further in then has a tangent, or is a batch, or belongs to a transform.
    """
    level = thread.levels[result._spec.level - 1] if result._spec.level > base._spec.level else None
    if level is None or level.transforms or (result._spec.dual and level.tangents_lost is None):
        return result
    if result._spec.dual:
        assert level.tangents_lost is not None
        level.tangents_lost.append(storage_of(base))
        result = wrap(value_of(result), result._spec.replace(dual=False), result._edge)
    below, batched = lower(result, level)
    if batched:
        return result
    with level.outside():
        return untransformed(below, base)


def refuse_lost(level: Level, tensors: Sequence[Any]) -> None:
    """Refuse to compute with memory that was written to at a level at which it has lost its tangent.
    Raises RuntimeError: it would be a constant.
    """
    for tensor in tensors:
        if isinstance(tensor, Tensor) and any(tensor._storage is one for one in level.tangents_lost or ()):
            raise RuntimeError(LOST_TANGENT)


def as_placed(tensor: Tensor, level: Level) -> tuple[Tensor, int | None]:
    """The tensor outside a level, and which of its dimensions is the mapped one: that of what was given."""
    tensor = live(tensor)
    value = value_of(tensor)
    if (
        isinstance(value, Lifted)
        and value.level is level
        and value.placed is not None
        and not tensor._detached_from_outside
    ):
        return live(value.placed[0]), value.placed[1]
    below, batched = lower(tensor, level)
    return below, 0 if batched else None


def tracked(tensor: Tensor, modes: Modes) -> bool:
    """Tell whether what is computed from a tensor may be recorded, or have a tangent, at its level or further out."""
    while True:
        spec = tensor._spec
        if (spec.requires_grad and modes.grad) or spec.dual:
            return True
        value = value_of(tensor) if spec.level else None
        if not isinstance(value, Lifted):
            return False
        tensor, modes = value.tensor, value.level.modes_outside()


def not_further(tensor: Tensor, message: str) -> Tensor:
    """A tensor that is not to be differentiated: who does so, at its level or further out, gets an error.
    Raises RuntimeError: at once if it has a tangent.
    """
    if tensor._spec.dual:
        raise RuntimeError(message)
    value = value_of(tensor) if tensor._spec.level else None
    if isinstance(value, Lifted):
        with value.level.reading():
            below = not_further(value.tensor, message)
        if below is not value.tensor:
            tensor = wrap(Lifted(below, value.level, value.batched), tensor._spec.fresh, tensor._edge)
    return DelayedError(message, 1)(tensor) if tensor._spec.requires_grad else tensor


# -- calls -------------------------------------------------------------------------------------------------------------


def is_level_call(specs: tuple) -> bool:
    """Tell whether a plan can't be made for arguments like these: they have to be brought to the innermost level
    first."""
    depth = thread.modes.level
    return any([isinstance(spec, Spec) and spec.level != depth for spec in specs])


def levelled(op: OperatorLike, settings: dict, call: Callable) -> Callable:
    """In place of a runner: bring the arguments to the innermost level, or call outside if it has nothing to do."""

    def run(*args: Any) -> Any:
        args = tuple(live(arg) if isinstance(arg, Tensor) else arg for arg in args)
        if not thread.levels:
            return call(op, args, settings)
        level = thread.levels[-1]
        if level.tangents_lost:
            refuse_lost(level, args)
        if level.leaves_out and not any(isinstance(arg, Tensor) and arg._spec.level == level.depth for arg in args):
            with level.outside():
                return call(op, args, settings)
        return call(op, tuple(at(arg, level) if isinstance(arg, Tensor) else arg for arg in args), settings)

    return run


def lifted_forward(op: OperatorLike, specs: Sequence, settings: dict) -> Callable:
    """A function in the place of the forward kernel where arguments are lifted: it calls the operator outside."""
    absent = [position for position, spec in enumerate(specs) if spec is None]

    def forward(*values: Any) -> Any:
        level = thread.levels[-1]
        arguments = [_outside(value, level) for value in values]
        mask = [isinstance(value, Lifted) and value.batched for value in values]
        for position in absent:
            arguments.insert(position, None)
            mask.insert(position, False)
        batched = any(mask)
        with level.outside():
            out = (level_operators.content.vmapped(op, tuple(mask)) if batched else op)(*arguments, **settings)
        if isinstance(out, tuple):
            return tuple(Lifted(item, level, batched) for item in out)
        return Lifted(out, level, batched)

    return forward


def _outside(value: Any, level: Level) -> Any:
    """An argument of an operator that is called outside."""
    if isinstance(value, Lifted):
        if value.batched and value.level is not level:
            raise RuntimeError(ESCAPED)
        return value.tensor
    return value if isinstance(value, (bool, int, float, complex)) else wrap(value, describe(value))


def run_outside(function: Callable, values: tuple, level: Level) -> Any:
    """A pure array function of values of which some are lifted: the function as an operator, called outside.

    If the level is over, it is called here, on what the values were lifted from. No write reaches what it saves: it
    reads and writes memory, of which PyTorch saves nothing.
    """
    innermost = thread.levels[-1] if level in thread.levels else level
    if not any(isinstance(value, Lifted) and value.level is innermost for value in values):
        with innermost.outside():  # a vmap, in which what has nothing to do with it is written to
            return run_outside(function, values, level)
    op, settings = level_operators.content.foreign(function), {"x64": True}
    values = tuple(unreached(value) if isinstance(value, Lifted) else value for value in values)
    if level.alive:
        return lifted_forward(op, [type(value) for value in values], settings)(*values)
    if any(isinstance(value, Lifted) and value.batched for value in values):
        raise RuntimeError(ESCAPED)
    return Lifted(op(*[_outside(value, level) for value in values], **settings), level, False)


def gradients_below(plan: Any, grads: Sequence, saved: Sequence, wanted: tuple[bool, ...]) -> Sequence:
    """The formulas of a plan for lifted arguments: as one operator, unless what it computes with is recorded."""
    if not any(wanted):
        return (None,) * len(wanted)
    grads = [None if grad is None else live(grad) for grad in grads]
    saved = [live(item) if isinstance(item, Tensor) else item for item in saved]
    tensors = [item for item in (*grads, *saved) if isinstance(item, Tensor)]
    if plan.op.looks or any(tracked(tensor, thread.modes) or is_answered(tensor) for tensor in tensors):
        return plan.gradients(grads, saved, wanted)
    given = [grad for grad in grads if grad is not None]
    op = level_operators.content.gradients(plan, wanted, tuple(grad is not None for grad in grads))
    results = iter(op(*given, *saved))
    return tuple(next(results) if want else None for want in op.wanted)


lifted_runner.fill(run_outside)
