"""Calls: find the plan, run the kernel, wire the node, wrap the result.

Note [Runners are written]
What a call has to do is decided by its plan: which arguments are tensors, which of them need an edge, what is saved,
how many outputs there are. ``runner`` writes that down as a function of straight-line Python, without a loop or a
condition, and compiles it. ``print(source_of(plan))`` shows it; that of ``x * y`` where ``x`` requires grad reads::

    def run(x0, x1):
        value0 = forward(x0._value, x1._value)
        node = new(node_class)
        node.plan = plan
        node.next_edges = (x0._edge or leaf_edge(x0), None,)
        node.sequence_nr = next_sequence_nr()
        out0 = new(Tensor)
        out0._value = value0
        out0._spec = spec0
        out0._edge = (node, 0)
        node.saved = (x1,)
        return out0
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from tapegrad._src.dispatch.nodes.accumulate_grad import leaf_edge, node_made
from tapegrad._src.dispatch.nodes.lost_gradients import note_losses
from tapegrad._src.dispatch.nodes.saved_tensor import held, snapshot
from tapegrad._src.dispatch.plan import Plan
from tapegrad._src.execution.array_functions.host import transfer
from tapegrad._src.execution.data.sizes import MEMORY_ERRORS, out_of_memory
from tapegrad._src.execution.kernels.symbolic_kernel import Symbolic
from tapegrad._src.execution.recording.recorded_call import Call, program_for, recording_lines, recording_names
from tapegrad._src.tape.kept import WrittenCode, code_of, written_once
from tapegrad._src.tape.modes import alone, thread
from tapegrad._src.tape.node import HIGHEST_SEQUENCE_NR, next_sequence_nr
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.storage import Storage
from tapegrad._src.tensor.tensor import Tensor, edge_of, materialize, new_tensor, version_of, window_operand
from tapegrad.errors import INFERENCE_SAVED


def runner(plan: Plan, forward: Callable | None = None) -> Callable:
    """The function that makes the calls of a plan. See Note [Runners are written].

    ``forward`` is run in place of the plan's kernel, if it is given.
    """
    template = plan.template
    kernel = None if template is None or forward is not None or plan.modes.deferred else plan.symbolic_forward()
    if kernel is not None:
        run = template.runs.get(kernel)
        if run is None:
            run = template.runs[kernel] = runner_of_all(plan, kernel)
        return partial(run, plan, *plan.out_specs, *kernel.keys(plan.binding.numbers, size=plan.late.size))
    recorded = plan.recorded
    names = {} if recorded is None else recording_names(recorded)
    names |= {"plan": plan, **{f"spec{i}": spec for i, spec in enumerate(plan.out_specs)}}
    if forward is not None or recorded is None:
        names["forward"] = forward or plan.kernels.at_once
    write = partial(code_for, plan, forward is not None)
    return write().instantiate(names) if template is None else template.instantiated(
        "run" if forward is None else "replay", write, names
    )  # fmt: skip


def runner_of_all(plan: Plan, kernel: Symbolic) -> Callable:
    """A function that makes the calls of a plan, and of all that run its kernel: ``run(plan, *specs, *keys,
    *arguments)``."""
    return code_for(plan, kernel=kernel).instantiate({"symbolic": kernel.run})


def code_for(plan: Plan, replayed: bool = False, kernel: Symbolic | None = None) -> WrittenCode:
    """The code of a plan's runner: see ``source_of``."""
    names = {**_NAMES, "node_class": plan.node_class}
    if plan.modes.deferred:
        return WrittenCode("run", code_of(source_of(plan, replayed, kernel)), names)
    return written_once("run", decisive(plan, replayed, kernel), partial(source_of, plan, replayed, kernel), names)


def decisive(plan: Plan, replayed: bool, kernel: Symbolic | None) -> tuple:
    """The parts of a plan that the source of its runner depends on, if its calls are not recorded."""
    specs = [spec.flags if isinstance(spec, Spec) else spec is None for spec in plan.specs]
    saved = [spec is None or spec.flags for spec in plan.saved_specs]
    return (
        plan.modes, replayed, kernel and tuple(kernel.key_names), plan.single, plan.mixed, plan.level,
        plan.level and bool(plan.op.again), plan.op.underivable is None, plan.positions, plan.needed,
        plan.saved_inputs, plan.saved_outputs, *specs, None, *[spec.flags for spec in plan.out_specs], None, *saved,
    )  # fmt: skip


def operator_ran(plan: Plan, args: tuple, results: tuple) -> None:
    """Tell this thread's watchers of an operator that was run. See Note [Watchers] in ``tape/modes.py``."""
    for watcher in thread.result_watchers:
        watcher(plan, args, results)


def source_of(plan: Plan, replayed: bool = False, kernel: Symbolic | None = None) -> str:
    """The source of a plan's runner.

    ``replayed``: something else is run in place of the kernel. ``kernel``, for all lengths, is tried before the plan's:
    Note [Symbolic kernels] in ``execution/kernels/symbolic_kernel.py``.
    """
    specs = [f"spec{i}" for i in range(len(plan.out_specs))]
    given = [] if kernel is None else ["plan", *specs, *kernel.key_names]
    arguments = ", ".join([*given, *[f"x{i}" for i in range(len(plan.specs))]])
    return f"def run({arguments}):\n" + "".join([f"    {line}\n" for line in _lines(plan, replayed, kernel)])


def _lines(plan: Plan, replayed: bool, kernel: Symbolic | None) -> list[str]:
    lines: list[str] = []
    values = [_value(i, spec, plan.mixed) for i, spec in enumerate(plan.specs) if spec is not None]
    recorded, outputs = any(plan.needed), range(len(plan.out_specs))
    if plan.saves_inference:
        lines += [f"refuse_inference({_tuple([_edge(i, plan.specs[i]) for i in _sources(plan)])})"]
    hooked = recorded and plan.modes.saved_hooks  # hooks on inputs come before the kernel, and may prevent it
    if hooked:
        lines += _node_lines(plan)
        lines += [f"node.save_inputs({_tuple([f'x{i}' for i in plan.saved_inputs])})"]
    lines += _computing_lines(plan, replayed, kernel, values)
    if recorded and not hooked:
        lines += _node_lines(plan)
    for i in outputs:
        lines += [
            f"out{i} = new(Tensor)", f"out{i}._value = value{i}", f"out{i}._spec = spec{i}",
            f"out{i}._edge = {f'(node, {i})' if plan.out_specs[i].requires_grad else None}",
        ]  # fmt: skip
    if recorded and not hooked:
        lines += _save_lines(plan)
    if hooked and plan.saved_outputs and not has_tangents(plan.specs):  # else hooks get them with their tangents, later
        lines += [f"node.save_outputs({_tuple([f'out{i}' for i in plan.saved_outputs])})"]
    lines += _telling_lines(plan)
    return [*lines, "return out0" if plan.single else f"return {_tuple([f'out{i}' for i in outputs])}"]


def _computing_lines(plan: Plan, replayed: bool, kernel: Symbolic | None, values: Sequence[str]) -> Sequence[str]:
    """Compute the values of the results."""
    targets = ", ".join([f"value{i}" for i in range(len(plan.out_specs))]) + ("" if plan.single else ",")
    if kernel is None:
        return _forward_lines(plan, targets, values, replayed)
    return (
        f"found = symbolic({', '.join([*kernel.key_names, *values])})",
        "if found is None:",
        "    forward = plan.kernels.at_once",
        *[f"    {line}" for line in _forward_lines(plan, "found", values, replayed)],
        f"{targets} = found",
    )


def _telling_lines(plan: Plan) -> Sequence[str]:
    """Tell those who watch calls."""
    lines = ["made(node)"] if any(plan.needed) and plan.modes.watched else []
    if not (plan.modes.recording or plan.modes.results_watched):
        return lines
    met = (*plan.specs, *plan.out_specs)
    arguments = _tuple([f"x{i}" for i in range(len(plan.specs))])
    results = _tuple([f"out{i}" for i in range(len(plan.out_specs))])
    if plan.modes.recording and any([isinstance(spec, Spec) and not spec.requires_grad for spec in met]):
        lines += [f"note_losses(plan, {arguments}, {results})"]
    return [*lines, f"ran(plan, {arguments}, {results})"] if plan.modes.results_watched else lines


def _forward_lines(plan: Plan, targets: str, values: Sequence[str], replayed: bool) -> Sequence[str]:
    """Run the kernel. What a program has computed in the meantime it does not take as it is, and says so for free."""
    called = f"{targets} = forward({'' if replayed else ', '.join(values)})"
    recorded = None if replayed else plan.recorded
    if recorded is not None:
        return _recording_lines(recorded, targets, values)
    if plan.level or replayed:
        return (called,)
    tensors = _tuple([f"x{i}" for i, spec in enumerate(plan.specs) if isinstance(spec, Spec)])
    return (
        "try:", f"    {called}", "except TypeError:", f"    materialize({tensors})", f"    {called}",
        "except MEMORY_ERRORS as error:", "    raise out_of_memory(error) from None",
    )  # fmt: skip


def _recording_lines(call: Call, targets: str, values: Sequence[str]) -> Sequence[str]:
    """Append the kernel call to the thread's program."""
    operands = [f"v{i}" for i in range(len(values))]
    results = [f"value{i}" for i in range(len(call.avals))]
    return (
        *[f"{operand} = {value}" for operand, value in zip(operands, values, strict=True)],
        f"program = {program_for('plan.device')}",
        "try:",
        *[f"    {line}" for line in recording_lines(call, operands, results)],
        "except Traced:",
        f"    {targets} = call.at_once({', '.join(operands)})",
    )


def materialize_or_raise(tensors: tuple) -> None:
    """Let tensors whose values have been deferred have arrays; called while a kernel's error is handled.

    Raises:
        TypeError: that error, if none has, and there is no other thread that may have been first.
    """
    if not any([materialize(tensor) for tensor in tensors]) and alone():
        raise  # noqa: PLE0704 - it is called in an except clause


def _sources(plan: Plan) -> list[int]:
    """The arguments that a gradient may be wanted for."""
    return [position for position, needed in zip(plan.positions, plan.needed, strict=True) if needed]


def refuse_inference(edges: tuple) -> None:
    """Refuse to save an inference tensor, unless no gradient goes anywhere: as of views that nothing recorded.

    Raises:
        RuntimeError: PyTorch's message.
    """
    if any(edge is not None for edge in edges):
        raise RuntimeError(INFERENCE_SAVED)


def _node_lines(plan: Plan) -> list[str]:
    ends = zip(plan.positions, plan.needed, strict=True)
    edges = [_edge(i, plan.specs[i]) if need else "None" for i, need in ends]
    kept = [f"node.inputs = {_tuple([f'x{i}' for i in plan.positions])}"] if plan.level and plan.op.again else []
    number = HIGHEST_SEQUENCE_NR if plan.op.underivable else "next_sequence_nr()"
    return [
        "node = new(node_class)", "node.plan = plan", f"node.next_edges = {_tuple(edges)}", *kept,
        f"node.sequence_nr = {number}",
    ]  # fmt: skip


def _save_lines(plan: Plan) -> list[str]:
    """Keep what backward reads. An output that does not require grad is kept as the tensor that it is."""
    outputs = [f"{'value' if plan.out_specs[i].requires_grad else 'out'}{i}" for i in plan.saved_outputs]
    if plan.modes.surviving:
        inputs = [f"snapshot(x{i})" if isinstance(plan.specs[i], Spec) else f"x{i}" for i in plan.saved_inputs]
        return [f"node.saved = {_tuple([*inputs, *outputs])}"]
    inputs = [_saved(i, plan.specs[i]) for i in plan.saved_inputs]
    lines = [f"node.saved = {_tuple([*inputs, *outputs])}"]
    if any([isinstance(spec, Spec) and not spec.plain for spec in plan.saved_specs]):
        lines += [f"node.versions = {_tuple([_version(i, plan.specs[i]) for i in plan.saved_inputs])}"]
    return lines


def has_tangents(specs: tuple) -> bool:
    """Tell whether an argument may have a tangent that is to be propagated."""
    modes = thread.modes
    if modes.forward_level < 0 or not modes.forward_grad:
        return False
    return any([isinstance(spec, Spec) and spec.dual for spec in specs])


def _saved(position: int, spec: Any) -> str:
    """Code of what is saved of an argument: the tensor, but of memory that NumPy sees what is there now."""
    x = f"x{position}"
    return f"{x} if type({x}._storage) is Storage else held({x})" if isinstance(spec, Spec) and not spec.plain else x


def _version(position: int, spec: Any) -> str:
    """Code that counts the writes to an argument."""
    if not isinstance(spec, Spec) or spec.plain:
        return f"version_of(x{position})" if isinstance(spec, Spec) else "0"
    name = f"x{position}"
    return f"version_of({name})" if spec.inference else f"({name}._counter or {name}._storage.counter).version"


def _tuple(items: Iterable[str]) -> str:
    return f"({''.join([f'{item}, ' for item in items])})".replace(", )", ",)")


def _edge(position: int, spec: Spec) -> str:
    """Code of the edge that the gradient of an argument goes along."""
    return f"{f'edge_of(x{position})' if spec.window else f'x{position}._edge'} or leaf_edge(x{position})"


def _value(position: int, spec: Any, mixed: bool) -> str:
    """Code that reads an argument's value."""
    if not isinstance(spec, Spec):
        return f"x{position}"
    value = f"x{position}._value" if spec.plain else f"x{position}._storage.operand"
    value = f"window_operand(x{position})" if spec.window else value
    return f"transfer({value}, plan.device)" if mixed else value


_NAMES: dict[str, Any] = {
    "materialize": materialize_or_raise, "new": new_tensor, "Tensor": Tensor, "leaf_edge": leaf_edge,
    "next_sequence_nr": next_sequence_nr, "transfer": transfer, "made": node_made, "window_operand": window_operand,
    "edge_of": edge_of, "version_of": version_of, "snapshot": snapshot, "held": held, "Storage": Storage,
    "refuse_inference": refuse_inference, "MEMORY_ERRORS": MEMORY_ERRORS, "out_of_memory": out_of_memory,
    "note_losses": note_losses, "ran": operator_ran,
}  # fmt: skip
"""The names that runners refer to."""
