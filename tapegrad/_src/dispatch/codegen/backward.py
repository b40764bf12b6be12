"""Appliers: what a node of an operator does in backward, written for its plan.

Note [Appliers are written]
Which values a backward kernel takes is decided by the plan, as the call is (Note [Runners are written] in
``codegen/runner.py``). ``applier`` writes it down as straight-line Python, for the common case: nothing is packed by
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

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

from tapegrad._src.dispatch.nodes.operator import OperatorNode
from tapegrad._src.dispatch.plan import Plan
from tapegrad._src.dispatch.plan_template import dynamic_backward
from tapegrad._src.execution.array_functions.host import is_traced
from tapegrad._src.execution.data.devices import META
from tapegrad._src.execution.data.values import quiet_numbers
from tapegrad._src.execution.kernels.symbolic_kernel import Symbolic
from tapegrad._src.execution.recording.capturing import capturing, unwatched
from tapegrad._src.execution.recording.execution_mode import is_recording
from tapegrad._src.execution.recording.recorded_call import Call, call_lines, program_for, recording_names
from tapegrad._src.tape.kept import WrittenCode, code_of, written_once
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.tensor import window_value


def first_applier(node: OperatorNode, grads: list, saved: tuple) -> Sequence:
    """Stands in for the ``applier`` of a plan that is used for the first time: many are never used again."""
    plan = node.plan
    is_shared = plan.template is not None or plan.dynamic is not None
    if is_shared or plan.modes.deferred or any([grad is None for grad in grads]):
        return writing_applier(node, grads, saved)
    plan.late.applier = writing_applier
    if plan.passes and node.output_storages is None:
        return tuple([grads[0] if needed else None for needed in plan.needed])
    with quiet_numbers():
        return node.apply_some(grads, None)


def writing_applier(node: OperatorNode, grads: list, saved: tuple) -> Sequence:
    """Stands in for the ``applier`` of a plan until it is worth while to write it."""
    if any([grad is None for grad in grads]):
        return node.apply_some(grads, None)
    plan = node.plan
    apply = None if plan.template is None or plan.dynamic is not None else plan.template.applier_for(plan)
    if apply is None:
        values = [*grads, *node.saved_values()]
        with nullcontext() if capturing.tracer is None else unwatched(plan.op.is_own(plan.settings)):
            apply = applier(plan, values)
    plan.late.applier = apply
    with quiet_numbers():
        return apply(node, grads, saved)


def applier(plan: Plan, values: Sequence) -> Callable:
    """The function that applies a node of a plan to gradients: ``apply(node, grads, saved)``.

    ``values`` are an example of what the backward kernel takes.
    """
    if plan.node_class.saved_values is not OperatorNode.saved_values:
        return some
    if plan.template is not None and not plan.modes.deferred:
        kernel = plan.symbolic_backward() if plan.dynamic is None else dynamic_backward(plan)
        if kernel is not None or plan.passes:
            return applier_of_all(plan, kernel)
    names: dict[str, Any] = {f"spec{i}": spec for i, spec in enumerate(plan.saved_specs)}
    call = None
    if not plan.passes:
        names |= kernels_of(plan)
        if plan.modes.deferred and not plan.mixed and plan.device is not META and not any(map(is_traced, values)):
            call = plan.backward_kernel(plan.needed, (True,) * plan.slots).call_for(values)
            names |= recording_names(call)
    write = partial(code_for, plan, call)
    if plan.template is None or plan.passes or (plan.modes.deferred and call is None):  # that of a template records
        return write().instantiate(names)
    return plan.template.instantiated("apply", write, names)


def applier_of_all(plan: Plan, kernel: Symbolic | None) -> Callable:
    """A function that applies nodes of a plan, and of all others that run a kernel, or pass gradients on as this one
    does."""

    def keyed(plan: Plan) -> list[Any]:
        assert kernel is not None
        plan.late.keys = kernel.keys(plan.binding.numbers, [spec.shape for spec in plan.out_specs], plan.size)
        return plan.late.keys

    names = {} if kernel is None else {"symbolic": kernel.run, "keyed": keyed, "is_recording": is_recording}
    made = code_for(plan, kernel=kernel).instantiate(names)
    if plan.dynamic is None:
        plan.template.written["apply", kernel] = made
    elif kernel is not None:
        plan.dynamic.applier = made
    return made


def code_for(plan: Plan, call: Call | None = None, kernel: Symbolic | None = None) -> WrittenCode:
    """The code of a plan's applier: see ``source_of``."""
    names = {"some": some, "thread": thread, "device": plan.device, "window_value": window_value}
    if call is not None:
        return WrittenCode("apply", code_of(source_of(plan, call, kernel)), names)
    return written_once("apply", decisive(plan, kernel), partial(source_of, plan, None, kernel), names)


def decisive(plan: Plan, kernel: Symbolic | None) -> tuple:
    """The parts of a plan that the source of its applier depends on, if its calls are not recorded."""
    saved = [None if spec is None else (spec.plain, spec.inference, spec.window) for spec in plan.saved_specs]
    passed = plan.needed if plan.passes else None
    keys = None if kernel is None else tuple(kernel.key_names)
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


def source_of(plan: Plan, call: Call | None = None, kernel: Symbolic | None = None) -> str:
    """The source of a plan's applier.

    ``call`` is how the call of the backward kernel is recorded, if it is; ``kernel``, for all lengths, is tried before
    the plan's: Note [Symbolic kernels] in ``execution/kernels/symbolic_kernel.py``.
    """
    return "def apply(node, grads, saved):\n" + "".join([f"    {line}\n" for line in _lines(plan, call, kernel)])


def _lines(plan: Plan, call: Call | None, kernel: Symbolic | None) -> list[str]:
    grads = [f"grad{i}" for i in range(plan.slots)]
    special = [f"{grad} is None" for grad in grads]
    if plan.saved_outputs and not plan.modes.surviving:  # somebody made a storage of an output: it may be written to
        special.append("node.output_storages is not None")
    lines = [f"{', '.join(grads)}, = grads", f"if {' or '.join(special)}:", "    return some(node, grads, saved)"]
    if plan.passes:
        return [*lines, f"return ({''.join(['grad0, ' if needed else 'None, ' for needed in plan.needed])})"]
    indices = range(len(plan.saved_specs))
    if plan.saved_specs:
        lines.append(f"{', '.join([f'x{i}' for i in indices])}, = saved")
    if kernel is not None:
        lines.append("plan = node.plan")
        if any(plan.saved_specs):
            lines.append(f"{', '.join([f'spec{i}' for i in indices])}, = plan.saved_specs")
        if kernel.key_names:
            lines.append(f"{', '.join(kernel.key_names)}, = plan.late.keys or keyed(plan)")
    for i, spec in enumerate(plan.saved_specs):
        lines.append(f"value{i} = {_value(i, spec, counted=not plan.modes.surviving)}")
    operands = [*grads, *[f"value{i}" for i in indices]]
    if call is not None:
        return [*lines, *call_lines(call, operands, program_for("device"))]
    return [*lines, *_kernel_lines(plan, kernel, ", ".join(operands))]


def _kernel_lines(plan: Plan, kernel: Symbolic | None, values: str) -> Sequence[str]:
    """Run the kernel."""
    if kernel is not None:
        gradients = f"symbolic({', '.join([*kernel.key_names, values])})"
        return (
            f"found = None if thread.modes.deferred and is_recording() else {gradients}",
            "if found is None:",
            f"    return plan.own_backward(plan.needed, {(True,) * plan.slots})({values})",
            "return found",
        )
    deferred = () if plan.modes.deferred else ("if thread.modes.deferred:", f"    return dispatcher({values})")
    return (
        *deferred,
        "try:", f"    return backward({values})", "except TypeError:", f"    return dispatcher({values})",
    )  # fmt: skip


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
