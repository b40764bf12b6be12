"""Planning: how a plan is made. See Note [Plans] in ``plan.py``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from tapegrad._src.dispatch.kernels import Kernels
from tapegrad._src.dispatch.nodes.saved_tensor import kept_spec
from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.dispatch.plan import Draft, Late, Plan, frozen
from tapegrad._src.dispatch.shape_class import ClassBinding, Sought
from tapegrad._src.execution.data.devices import META, device, refuse_forked
from tapegrad._src.execution.data.dtypes import complex32
from tapegrad._src.execution.data.sizes import check_size
from tapegrad._src.tape.modes import Modes, thread
from tapegrad._src.tape.node import Node
from tapegrad._src.tensor.spec import Spec
from tapegrad.errors import ComplexHalfError, message

NodeClassOf = Callable[[Any, int, tuple], type[Node]]


def plan_call(
    op: OperatorLike, specs: tuple, given: dict, modes: Modes | None = None, node_class_of: NodeClassOf | None = None,
    binding: ClassBinding | None = None, among: Sought | None = None,
) -> Plan:  # fmt: skip
    """Make the plan of a call.

    Args:
        op, specs, given: the operator, the specs of its arguments (a Spec, a scalar's type, or None), its settings.
        modes: what is switched on; None for the modes of the thread.
        node_class_of: gives the class of the nodes that calls make; None if the plan is for something else.
        binding: the shape class that the call fits, if that is known; ``among``: what is known of calls like it.

    Raises:
        RuntimeError: arguments are on several devices.
        ComplexHalfError: complex halves are computed with, which is done with their parts (Note [Complex halves]).
        Exception: what the operator refuses.
    """
    refuse_forked()
    if given.get("dtype") is complex32 or any([isinstance(spec, Spec) and spec.dtype is complex32 for spec in specs]):
        raise ComplexHalfError(op.name)
    if not op.across_devices:
        check_devices(specs)
    modes = modes or thread.modes
    kernels = Kernels.of(op, specs, given, binding, among)
    results = _results(op, specs, modes, kernels.outputs)
    recorded = any(results["needed"])
    node_class = node_class_of(op, results["slots"], specs) if recorded and node_class_of is not None else None
    saves = _saves(op, specs, modes, results) if recorded else NOTHING_SAVED
    late = Late(kernels, None if recorded else {})
    draft = Draft(op, specs, given, modes, kernels.binding, kernels.single, late, node_class, **results, **saves)
    return frozen(draft)


def _results(op: OperatorLike, specs: tuple, modes: Modes, outputs: list) -> dict[str, Any]:
    """The results, the device that computes them, and the arguments that they may have gradients for."""
    if op.shows:
        for shape, dtype in outputs:
            check_size(shape, dtype.itemsize, owned=False)
    tensors = [spec for spec in specs if isinstance(spec, Spec)]
    device = _device(op, tensors)
    level = max([spec.level for spec in tensors])
    positions = tuple([position for position in range(len(specs)) if op.differentiable(position)])
    needed = _needed(op, specs, modes, positions, outputs)
    recorded, lowest = any(needed), 0 if op.records_integers else 2
    flowing = range(len(outputs) if op.flowing is None else op.flowing)
    out_specs = [
        Spec.of(
            shape, dtype, device, recorded and i in flowing and dtype.category >= lowest, inference=modes.inference,
            strides=op.output_strides(shape, specs), level=level, mismatched=recorded and dtype.category < 2,
        )
        for i, (shape, dtype) in enumerate(outputs)
    ]  # fmt: skip
    return {
        "device": device, "level": level, "mixed": any([spec.device.free is not device for spec in tensors]),
        "positions": positions, "needed": needed, "out_specs": tuple(out_specs),
        "slots": max([i + 1 for i in flowing if outputs[i][1].category >= 2], default=1),
    }  # fmt: skip


def _device(op: OperatorLike, tensors: Sequence[Spec]) -> device:
    """The device of a call: that of the first tensor that is no number on the host."""
    if op.across_devices:
        return tensors[0].device.free
    return next((spec for spec in tensors if spec.ndim > 0 or not spec.device.is_host), tensors[0]).device.free


def _needed(
    op: OperatorLike, specs: tuple, modes: Modes, positions: tuple[int, ...], outputs: list
) -> tuple[bool, ...]:
    """The answer for each argument with a formula whether its gradient may be wanted; no, if nothing is recorded."""
    needed = [modes.grad and isinstance(specs[i], Spec) and specs[i].requires_grad for i in positions]
    lowest = 0 if op.records_integers else 2
    recorded = any(needed) and any([dtype.category >= lowest for _, dtype in outputs])
    if recorded and all([spec.inference for spec in specs if isinstance(spec, Spec)]):
        recorded = op.numbers_are_tensors and not modes.inference and any(map(is_number, specs))
    return tuple(needed) if recorded else (False,) * len(positions)


NOTHING_SAVED: dict[str, Any] = {
    "saved_inputs": (), "saved_outputs": (), "saved_specs": (), "saved_numbers": (), "releases": False,
}  # fmt: skip
"""The saved items of a call that is not recorded: none."""


def _saves(op: OperatorLike, specs: tuple, modes: Modes, results: dict[str, Any]) -> dict[str, Any]:
    """The items that have to be saved, as the names of the formulas in use say."""
    out_specs, ends = results["out_specs"], zip(results["positions"], results["needed"], strict=True)
    each = {op.formula(i): i for i, needed in ends if needed}  # once for all elements of a variadic input
    located = [op.locate(name, i, specs, len(out_specs)) for formula, i in each.items() for name in formula.names]
    inputs = sorted({source[1] for source in located if source[0] == "input"} | {
        i for source in located if source[0] == "inputs" for i in source[1]
    }, key=lambda i: (op.field(op.input_name(i)), i))  # fmt: skip
    outputs = sorted({source[1] for source in located if source[0] == "output"})
    numbers = [index for index, i in enumerate(inputs) if isinstance(specs[i], type)]
    numbers = [] if op.wraps_numbers else numbers
    plain = [index in numbers or op.input_name(i) in op.plain_inputs for index, i in enumerate(inputs)]
    return {
        "saved_inputs": tuple(inputs), "saved_outputs": tuple(outputs),
        "saved_specs": saved_specs(specs, out_specs, modes, inputs, outputs),
        "saved_numbers": tuple(numbers), "releases": bool(outputs) or not all(plain),
    }  # fmt: skip


def saved_specs(specs: tuple, outs: tuple, modes: Modes, inputs: Sequence[int], outputs: Sequence[int]) -> tuple:
    """The specs of the items that are saved; None for one that is no tensor."""
    return (
        *[kept_spec(specs[i], modes) if isinstance(specs[i], Spec) else None for i in inputs],
        *[None if outs[i].requires_grad else outs[i] for i in outputs],
    )


def is_number(spec: Any) -> bool:
    """Tell whether what a plan knows of an argument is that it is a Python number."""
    return isinstance(spec, type)


def check_devices(specs: Sequence) -> None:
    """Arguments must be on one device; 0-dim CPU tensors may meet any.

    Raises:
        RuntimeError: PyTorch's message, naming both devices.
    """
    devices = {spec.device.free for spec in specs if isinstance(spec, Spec)}
    if len(devices) > 1:
        devices = {s.device.free for s in specs if isinstance(s, Spec) and (s.ndim or not s.device.is_host)}
        if len(devices) > 1 and META in devices:
            expected, *others = [s.device for s in specs if isinstance(s, Spec) and s.device in devices]
            other = next(device for device in others if device is not expected)
            raise RuntimeError(f"Tensor on device {other} is not on the expected device {expected}!")
        if len(devices) > 1 and any(device.sharded for device in devices):
            refuse_mixed(devices)
        if len(devices) > 1:
            first, second = sorted(map(str, devices), reverse=True)[:2]
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but found at least two devices, {first} and {second}!"
            )


def refuse_mixed(devices: Iterable[device]) -> NoReturn:
    """Refuse arguments on two meshes, or on a mesh and on one device.

    Raises:
        RuntimeError: always; it says what to write.
    """
    shown = " and ".join(sorted(map(repr, devices)))
    if all(device.sharded for device in devices):
        hint = "bring them to one mesh, with distribute_tensor(x.full_tensor(), mesh, placements)"
        raise RuntimeError(message("got tensors of two meshes", got=shown, hint=hint))
    hint = "distribute the others, too: distribute_tensor(x, mesh, [Replicate()])"
    what = "got mixed torch.Tensor and DTensor"
    raise RuntimeError(message(what, expected="tensors of one mesh", got=shown, hint=hint))
