"""Appliers: what a node of an operator does in backward, written for its plan.

Note [Appliers are written]
Which values a backward kernel takes is decided by the plan, as the call is (Note [Runners are written] in
``forward_code.py``). ``applier`` writes it down as straight-line Python, for the common case: nothing is packed by
hooks, all gradients are there, and all that can be computed are wanted. ``print(source_of(plan))`` shows it; that of
``x * y`` reads, where only ``x`` requires grad::

    def apply(node, grads, saved):
        grad0, = grads
        if grad0 is None:
            return some(node, grads, saved)
        x0, = saved
        value0 = x0._value if x0._spec is spec0 else node._checked_value(x0, 0)
        if thread.modes.deferred:
            return dispatcher(grad0, value0)
        try:
            return backward(grad0, value0)
        except TypeError:
            return dispatcher(grad0, value0)

A tensor that has the spec which it was saved with, a plain one, has not been written to since: there is no version to
compare; of one that had been written to before, the version is compared. ``backward`` takes arrays only, ``dispatcher``
also what a program computes or has computed in the meantime (``kernel.py``). Where the call was deferred, that of the
backward kernel is written down in place of all this. Where gradients pass unchanged, as through ``x + y``, no kernel is
run at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tapegrad.caches import Cache
from tapegrad.dispatch.moulds import Casting
from tapegrad.dispatch.operator_node import OperatorNode
from tapegrad.dispatch.plan import Plan
from tapegrad.execution.calls import Call, call_lines, program_for, recording_names
from tapegrad.execution.devices import META
from tapegrad.execution.host import is_traced
from tapegrad.execution.modes import is_recording
from tapegrad.execution.shared import Shared
from tapegrad.execution.values import quiet_numbers
from tapegrad.tape.modes import thread
from tapegrad.tape.sources import code_of
from tapegrad.tensor.tensor import window_value


def first_applier(node: OperatorNode, grads: list, saved: tuple) -> Sequence:
    """Stands in for the ``applier`` of a plan that is used for the first time: many are never used again."""
    plan = node.plan
    if plan.mould is not None or plan.moving is not None or plan.modes.deferred or any(grad is None for grad in grads):
        return writing_applier(node, grads, saved)
    plan.applier = writing_applier
    if plan.passes and node.output_storages is None:
        return tuple([grads[0] if needed else None for needed in plan.needed])
    with quiet_numbers():
        return node.apply_some(grads, None)


def writing_applier(node: OperatorNode, grads: list, saved: tuple) -> Sequence:
    """Stands in for the ``applier`` of a plan until it is worth while to write it."""
    if any(grad is None for grad in grads):
        return node.apply_some(grads, None)
    plan = node.plan
    apply = None if plan.mould is None or plan.moving is not None else plan.mould.applier_for(plan)
    if apply is None:
        apply = applier(plan, [*grads, *node.saved_values()])
    plan.applier = apply
    with quiet_numbers():
        return apply(node, grads, saved)


def applier(plan: Plan, values: Sequence) -> Callable:
    """The function that applies a node of a plan to gradients: ``apply(node, grads, saved)``.

    ``values`` are an example of what the backward kernel takes.
    """
    if plan.node_class.saved_values is not OperatorNode.saved_values:
        return some
    mould, moves = plan.mould, plan.moving is not None
    shared: Shared | None = None
    if mould is not None and not plan.modes.deferred:
        shared = mould.moving_backward(plan) if moves else mould.shared_backward(plan)
    if mould is not None and (shared is not None or (plan.passes and not plan.modes.deferred)):
        plan.applier = sharing_applier(plan, shared)
        if not moves:
            mould.appliers[shared] = plan.applier
        elif shared is not None:
            plan.moving[0] = plan.applier
        return plan.applier
    names: dict[str, Any] = {f"spec{i}": spec for i, spec in enumerate(plan.saved_specs)}
    call = None
    if not plan.passes:
        names |= kernels_of(plan)
        if plan.modes.deferred and not plan.mixed and plan.device is not META and not any(map(is_traced, values)):
            call = plan.backward_kernel(plan.needed, (True,) * plan.slots).call_for(values)
            names |= recording_names(call)
    if mould is None or plan.passes or (plan.modes.deferred and call is None):  # that of a mould records
        plan.applier = casting_of(plan, call).made(names)
        return plan.applier
    mould.applier = mould.applier or casting_of(plan, call)
    plan.applier = mould.applier.made(names)
    return plan.applier


def sharing_applier(plan: Plan, shared: Shared | None) -> Callable:
    """A function that applies nodes of a plan, and of all others that share a kernel or pass gradients on as this one
    does."""

    def keyed(plan: Plan) -> list[Any]:
        assert shared is not None
        plan.keys = shared.keys(plan.fit.numbers, [spec.shape for spec in plan.out_specs], plan.size)
        return plan.keys

    names = {} if shared is None else {"shared": shared.run, "keyed": keyed, "is_recording": is_recording}
    return casting_of(plan, shared=shared).made(names)


def casting_of(plan: Plan, call: Call | None = None, shared: Shared | None = None) -> Casting:
    """A function that makes a plan's applier: see ``source_of``."""
    names = {"some": some, "thread": thread, "device": plan.device, "window_value": window_value}
    if call is not None:
        return Casting("apply", code_of(source_of(plan, call, shared)), names)
    key = decisive(plan, shared)
    return Casting("apply", _codes.get(key) or _codes.keep(key, code_of(source_of(plan, None, shared))), names)


_codes = Cache("written code", nbytes=8 << 10)
"""The code of appliers, by what it depends on: it takes longer to write the same again."""


def decisive(plan: Plan, shared: Shared | None) -> tuple:
    """The parts of a plan that the source of its applier depends on, if its calls are not recorded."""
    saved = [None if spec is None else (spec.plain, spec.inference, spec.window) for spec in plan.saved_specs]
    passed = plan.needed if plan.passes else None
    keys = None if shared is None else tuple(shared.key_names)
    return plan.modes, plan.slots, bool(plan.saved_outputs), passed, keys, *saved


def kernels_of(plan: Plan) -> dict[str, Callable]:
    """The functions that an applier calls: of values of any sort, and of arrays only."""
    full = (True,) * plan.slots
    dispatcher = plan.own_backward(plan.needed, full)
    if plan.mixed or plan.device is META or plan.modes.deferred:
        return {"dispatcher": dispatcher, "backward": dispatcher}
    kernel = plan.backward_kernel(plan.needed, full)
    kernel.note_run()
    return {"dispatcher": dispatcher, "backward": kernel.run}


def some(node: OperatorNode, grads: list, saved: tuple) -> Any:
    """The applier that looks at everything: where gradients are missing, or a node has its own way to read values."""
    return node.apply_some(grads, None)


def source_of(plan: Plan, call: Call | None = None, shared: Shared | None = None) -> str:
    """The source of a plan's applier.

    ``call`` is how the call of the backward kernel is recorded, if it is; ``shared`` is tried before the kernel: Note
    [Shared kernels] in ``execution/shared.py``.
    """
    lines = _lines(plan, call, shared)
    return "def apply(node, grads, saved):\n" + "".join(f"    {line}\n" for line in lines)


def _lines(plan: Plan, call: Call | None, shared: Shared | None) -> Iterator[str]:
    grads = [f"grad{i}" for i in range(plan.slots)]
    special = [f"{grad} is None" for grad in grads]
    if plan.saved_outputs and not plan.modes.surviving:  # somebody made a storage of an output: it may be written to
        special.append("node.output_storages is not None")
    yield f"{', '.join(grads)}, = grads"
    yield f"if {' or '.join(special)}:"
    yield "    return some(node, grads, saved)"
    if plan.passes:
        yield f"return ({''.join('grad0, ' if needed else 'None, ' for needed in plan.needed)})"
        return
    if plan.saved_specs:
        yield f"{', '.join(f'x{i}' for i in range(len(plan.saved_specs)))}, = saved"
    if shared is not None:
        yield "plan = node.plan"
        if any(plan.saved_specs):
            yield f"{', '.join(f'spec{i}' for i in range(len(plan.saved_specs)))}, = plan.saved_specs"
        if shared.key_names:
            yield f"{', '.join(shared.key_names)}, = plan.keys or keyed(plan)"
    for i, spec in enumerate(plan.saved_specs):
        yield f"value{i} = {_value(i, spec, counted=not plan.modes.surviving)}"
    operands = [*grads, *(f"value{i}" for i in range(len(plan.saved_specs)))]
    if call is not None:
        yield from call_lines(call, operands, program_for("device"))
        return
    values = ", ".join(operands)
    if shared is not None:
        found = f"shared({', '.join([*shared.key_names, values])})"
        yield f"found = None if thread.modes.deferred and is_recording() else {found}"
        yield "if found is None:"
        yield f"    return plan.own_backward(plan.needed, {(True,) * plan.slots})({values})"
        yield "return found"
        return
    if not plan.modes.deferred:
        yield "if thread.modes.deferred:"
        yield f"    return dispatcher({values})"
    yield "try:"
    yield f"    return backward({values})"
    yield "except TypeError:"
    yield f"    return dispatcher({values})"


def _value(index: int, spec: Any, counted: bool) -> str:
    """Code that reads the value of a saved item; ``counted``: the node knows the versions of what was written to
    before."""
    x = f"x{index}"
    if spec is None:
        return x
    checked = f"node._checked_value({x}, {index})"
    if spec.plain:
        return f"{x}._value if {x}._spec is spec{index} else {checked}"
    if spec.inference or not counted:
        return checked
    value = f"window_value({x})" if spec.window else f"{x}._storage.value"
    version = f"({x}._counter or {x}._storage.counter).version"
    return f"{value} if {x}._spec is spec{index} and {version} == node.versions[{index}] else {checked}"
