"""Plans: everything about a call that does not depend on data.

Note [Plans]
``call`` finds a *plan* by one dictionary look-up on (modes, specs of the arguments, settings). A plan holds everything
that was decided when it was made: promotion and broadcasting checks, the forward kernel, the specs of the outputs,
which inputs need a gradient, what to save, the node class, the backward kernels. A call is then straight-line code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from typing import Any

from tapegrad.dispatch.backward_code import applier
from tapegrad.dispatch.levels import lifted_forward
from tapegrad.dispatch.nodes import OperatorNode, UnderivableNode, fitting
from tapegrad.dispatch.saved import kept_spec
from tapegrad.dispatch.structures import fit_of
from tapegrad.errors import message
from tapegrad.execution.calls import Call
from tapegrad.execution.devices import META
from tapegrad.execution.dtypes import from_numpy
from tapegrad.execution.forks import refuse_forked
from tapegrad.execution.host import transfer
from tapegrad.execution.kernel import Kernel, abstract
from tapegrad.execution.opaque import Meta
from tapegrad.execution.sizes import check_size
from tapegrad.execution.values import aval, quiet_numbers
from tapegrad.tape.modes import Modes
from tapegrad.tensor.spec import Spec


class Kernels:
    """The compiled side of a call, shared by all plans that differ only in flags (what requires grad, what is plain).

    Attributes:
        forward: the forward kernel; of a call on lifted tensors, or on tensors without data, a function.
        outputs: shape and dtype of each output; ``single`` tells one output from a tuple of one.
        wide: whether a 64-bit type is involved.
        backwards: the backward kernels, by (inputs that require grad, wanted inputs, defined gradients).
        fit: what they have in common with those of other lengths, if that is known. See Note [Structures].
    """

    __slots__ = ("forward", "outputs", "single", "wide", "backwards", "fit", "_recorded", "__weakref__")

    def __init__(self, op: Any, specs: tuple, settings: dict) -> None:
        function = op.prepare(specs, settings)
        if op.real:
            refuse_complex(op, specs)
        arguments = [abstract_argument(spec) for spec in specs if spec is not None]
        self.fit = fit_of(op, specs, settings) if has_structure(specs) else None
        if self.fit is None:
            trace = abstract(function, arguments)
            results, self.single = trace.results
            self.outputs = [(one[0], from_numpy(one[1])) for one in results if one is not None]
        else:
            self.single, self.outputs = self.fit.structure.single, self.fit.outputs
        types = [spec.dtype for spec in specs if isinstance(spec, Spec)] + [dtype for _, dtype in self.outputs]
        self.wide = any(dtype.is_64bit for dtype in types) or op.is_wide(specs, settings)
        if any(isinstance(spec, Spec) and spec.level for spec in specs):
            self.forward: Any = lifted_forward(op, specs, settings)
        elif any(isinstance(spec, Spec) and spec.device is META for spec in specs):
            self.forward = self._shapes
        else:
            same = self.fit is not None or self.wide or trace.is_narrow  # as it is traced in the mode of the kernel
            known = (trace.written if self.fit is None else self.fit.forward) if same else None
            self.forward = Kernel(function, name=op.name, wide=self.wide, arguments=arguments, known=known)
        self.backwards: dict[tuple, Any] = {}
        self._recorded: Call | None = None

    def _shapes(self, *values: Any) -> Any:
        """What stands for a call's results where there is no data. See Note [Values without data]."""
        results = tuple(Meta(shape, dtype.numpy) for shape, dtype in self.outputs)
        return results[0] if self.single else results

    @classmethod
    def of(cls, op: Any, specs: tuple, settings: dict) -> Kernels:
        """The kernels for arguments of these shapes and dtypes."""
        key = (*[spec.bare if isinstance(spec, Spec) else spec for spec in specs], *settings.items())
        kernels = op.kernels.get(key)
        if kernels is None:
            kernels = op.kernels.only(key, cls(op, specs, settings))  # all threads use the same ones
        return kernels

    @property
    def at_once(self) -> Callable:
        """The function of values that computes a call's results now."""
        if not isinstance(self.forward, Kernel):
            return self.forward
        self.forward.note_run()
        return self.forward.run

    def recorded(self, arity: int) -> Call | None:
        """How calls are recorded; None where lifted arguments take care of themselves."""
        if self._recorded is None and isinstance(self.forward, Kernel):
            avals = tuple(aval(shape, dtype.numpy) for shape, dtype in self.outputs)
            self._recorded = Call(self.forward, avals, self.single, arity)
        return self._recorded


def has_structure(specs: tuple) -> bool:
    """Whether a call may share what is known of it with those of other lengths: one that is run here, on arrays."""
    return all(spec.level == 0 and spec.device is not META for spec in specs if isinstance(spec, Spec))


def refuse_complex(op: Any, specs: tuple) -> None:
    """Refuse complex arguments of an operator that is declared real, where its function did not.

    Raises:
        NotImplementedError: as PyTorch says it of a type that it has no kernel for.
    """
    for spec in specs:
        if isinstance(spec, Spec) and spec.dtype.is_complex:
            raise NotImplementedError(f"\"{op.name}\" not implemented for '{spec.dtype.scalar_name}'")


class Plan:
    """Everything about a call that does not depend on data. See Note [Plans].

    Attributes:
        op: the operator, with its settings and the specs of its arguments (a Spec, a scalar's type, or None).
        kernels: what is compiled.
        out_specs: the specs of the outputs.
        slots: how many gradients the node takes: one for each output, up to the last that can have one.
        positions: the arguments that have a formula; the node has an edge for each.
        needed: for each of these, whether a gradient is wanted; all False when nothing is recorded.
        saved_inputs, saved_outputs: the positions of the arguments and outputs that backward reads.
        saved_specs: what to expect of each saved item; None for one that is no tensor.
        saved_numbers: which of the saved items are plain numbers.
        releases: whether anything saved is freed after a backward; plain numbers of a node are not.
        saves_inference: whether an inference tensor would be saved, which is refused if a gradient goes anywhere.
        applier: what a node does when every gradient is given and every possible one is wanted; ``backward_code.py``.
        modes: what was switched on.
        recorded: how the call is recorded, in deferred mode.
        level: at which level the arguments live; see Note [Levels] in ``tensor/lifted.py``.
        device: where it is computed; a 0-dim CPU tensor among the arguments is moved there if it is ``mixed``.
    """

    __slots__ = (
        "op", "settings", "specs", "kernels", "out_specs", "num_outputs", "slots", "positions", "needed",
        "saved_inputs", "saved_outputs", "saved_specs", "saved_numbers", "sources", "applier", "node_class",
        "single", "level", "releases", "saves_inference", "device", "mixed", "modes", "recorded",
        "__weakref__",
    )  # fmt: skip

    def __init__(self, op: Any, specs: tuple, settings: dict, modes: Modes) -> None:
        refuse_forked()
        self.op, self.specs, self.settings, self.modes = op, specs, {**op.defaults, **settings}, modes
        if not op.moves:
            check_devices(specs)
        self.kernels = Kernels.of(op, specs, settings)
        self.single, outputs = self.kernels.single, self.kernels.outputs
        if op.shows:
            for shape, dtype in outputs:
                check_size(shape, dtype.itemsize, owned=False)
        self.num_outputs = len(outputs)
        flowing = range(self.num_outputs if op.flowing is None else op.flowing)
        self.slots = max((i + 1 for i in flowing if outputs[i][1].category >= 2), default=1)
        tensors = [spec for spec in specs if isinstance(spec, Spec)]
        self.device = max(tensors, key=lambda spec: op.moves or spec.ndim > 0 or spec.device.type != "cpu").device
        self.mixed = any(spec.device is not self.device for spec in tensors)
        self.level = max(spec.level for spec in tensors)
        arity = sum(spec is not None for spec in specs)
        self.recorded = self.kernels.recorded(arity) if modes.deferred else None
        self.positions = tuple(position for position in range(len(specs)) if op.differentiable(position))
        self.needed = tuple(
            modes.grad and isinstance(specs[position], Spec) and specs[position].requires_grad
            for position in self.positions
        )
        lowest = 0 if op.records_integers else 2
        recorded = any(self.needed) and any(dtype.category >= lowest for _, dtype in outputs)
        normal = not all(spec.inference for spec in tensors)
        normal = normal or (op.numbers_are_tensors and not modes.inference and any(map(is_number, specs)))
        recorded = recorded and normal
        self.needed = self.needed if recorded else (False,) * len(self.positions)
        self.out_specs = tuple(
            Spec.of(
                shape, dtype, self.device, recorded and i in flowing and dtype.category >= lowest,
                inference=modes.inference, strides=op.output_strides(shape, specs), level=self.level,
                misfit=recorded and dtype.category < 2,
            )
            for i, (shape, dtype) in enumerate(outputs)
        )  # fmt: skip
        self.applier: Callable = first_applier
        self.saved_inputs: tuple[int, ...] = ()
        self.saved_outputs: tuple[int, ...] = ()
        self.sources: dict[int, list] = {}
        self.saved_specs: tuple = ()
        self.saved_numbers: tuple[int, ...] = ()
        self.releases = self.saves_inference = False
        if recorded:
            node_class = op.node_class(UnderivableNode if op.underivable else OperatorNode, self.slots)
            self.node_class: Any = fitting(node_class) if any(spec.misfit for spec in tensors) else node_class
            self._decide_saves()

    def _decide_saves(self) -> None:
        """Read off the names of the formulas in use what has to be saved."""
        op = self.op
        self.locate_sources()
        located = [place for places in self.sources.values() for place in places]
        inputs = sorted({place[1] for place in located if place[0] == "input"} | {
            i for place in located if place[0] == "inputs" for i in place[1]
        }, key=lambda i: (op.field(op.input_name(i)), i))  # fmt: skip
        outputs = sorted({place[1] for place in located if place[0] == "output"})
        self.saved_inputs, self.saved_outputs = tuple(inputs), tuple(outputs)
        self.saved_specs = tuple(
            kept_spec(self.specs[i], self.modes) if isinstance(self.specs[i], Spec) else None for i in inputs
        ) + tuple(None if self.out_specs[i].requires_grad else self.out_specs[i] for i in outputs)  # fmt: skip
        self.saves_inference = any(spec is not None and spec.inference for spec in self.saved_specs)
        numbers = [index for index, i in enumerate(inputs) if isinstance(self.specs[i], type)]
        self.saved_numbers = () if op.wraps_numbers else tuple(numbers)
        plain = [index in self.saved_numbers or op.input_name(i) in op.plain_inputs for index, i in enumerate(inputs)]
        self.releases = bool(outputs) or not all(plain)

    def locate_sources(self) -> None:
        """Find what the formulas in use name."""
        op = self.op
        self.sources = {
            position: [op.locate(name, position, self.specs, self.num_outputs) for name in op.formula(position).names]
            for position, wanted in zip(self.positions, self.needed, strict=True)
            if wanted
        }

    def wanted(self, needed: tuple[bool, ...] | None) -> tuple[bool, ...]:
        """The inputs whose gradient is both possible and asked for."""
        if needed is None:
            return self.needed
        return tuple(mine and asked for mine, asked in zip(self.needed, needed, strict=True))

    def gradients(self, grads: Sequence, saved: Sequence, wanted: tuple[bool, ...]) -> tuple:
        """Run the formulas of the wanted inputs, on arrays, tracers or tensors."""
        op = self.op
        index = {("input", position): item for position, item in zip(self.saved_inputs, saved, strict=False)}
        for position, item in zip(self.saved_outputs, saved[len(self.saved_inputs) :], strict=True):
            index["output", position] = item
        grads = op.materialize([*grads, *[None] * (self.num_outputs - self.slots)], self.out_specs)
        if op.joint:
            return op.gradients(self, grads, saved, wanted)
        results: list[Any] = []
        for position, want in zip(self.positions, wanted, strict=True):
            if not want:
                results.append(None)
                continue
            arguments = []
            for place in self.sources[position]:
                kind, key = place
                if kind == "grad":
                    arguments.append(grads[key])
                elif kind == "inputs":
                    arguments.append(tuple(index["input", i] for i in key))
                elif kind == "setting":
                    arguments.append(self.settings[key])
                elif kind == "constant":
                    arguments.append(key)
                else:
                    arguments.append(index[place])
            results.append(op.gradient(position, arguments, self.specs[position]))
        return tuple(results)

    def backward(self, wanted: tuple[bool, ...], defined: tuple[bool, ...]) -> Callable:
        """The backward kernel for these wanted inputs and these defined gradients, made when first asked for."""
        if not any(wanted):
            return lambda *values: (None,) * len(wanted)
        made = self.backward_kernel(wanted, defined)
        kernel = made.shapes if self.device is META else made.bind()
        return self._across_devices(kernel) if self.mixed else kernel

    def backward_kernel(self, wanted: tuple[bool, ...], defined: tuple[bool, ...]) -> Kernel:
        """The kernel of ``backward``, shared by all plans that differ only in flags."""
        key = (self.needed, wanted, defined)
        kernel = self.kernels.backwards.get(key)
        if kernel is None:
            kernel = self.kernels.backwards.setdefault(key, self._make_backward(wanted, defined))
        return kernel

    def _across_devices(self, kernel: Callable) -> Callable:
        """``kernel`` for arguments on several devices: run where the plan is, each gradient put where it belongs."""

        def backward(*values: Any) -> tuple:
            numbers = (int, float, complex)
            grads = kernel(*[x if isinstance(x, numbers) else transfer(x, self.device) for x in values])
            return tuple(
                None if grad is None else transfer(grad, self.specs[position].device)
                for position, grad in zip(self.positions, grads, strict=True)
            )

        return backward

    def _make_backward(self, wanted: tuple[bool, ...], defined: tuple[bool, ...]) -> Kernel:
        fit = self.kernels.fit
        return Kernel(
            self.backward_function(wanted, defined),
            name=self.node_class.__name__,
            wide=self.kernels.wide,
            arguments=self._backward_arguments(defined),
            known=None if fit is None else partial(fit.backward, self, wanted, defined),
            checked=sum(defined),  # gradients of what was cast when it was written, or of a misfit
        )

    def backward_function(self, wanted: tuple[bool, ...], defined: tuple[bool, ...]) -> Callable:
        """The array function of a backward kernel."""
        count, formulas, node_name = sum(defined), self.formulas(), self.node_class.__name__

        def backward(*values: Any) -> tuple:
            given = iter(values[:count])
            grads = [next(given) if has else None for has in defined]
            results = formulas.gradients(grads, values[count:], wanted)
            for position, grad in zip(formulas.positions, results, strict=True):
                if grad is not None:
                    check_gradient(node_name, position, grad, formulas.specs[position])
            return results

        return backward

    def _backward_arguments(self, defined: tuple[bool, ...]) -> list[Any]:
        """What a backward kernel takes: gradients, then what was saved."""
        specs = [self.specs[i] for i in self.saved_inputs]
        grads = [spec for spec, has in zip(self.out_specs, defined, strict=False) if has]
        return [abstract_argument(spec) for spec in (*grads, *specs, *(self.out_specs[i] for i in self.saved_outputs))]

    def formulas(self) -> Plan:
        """This plan without what is compiled for it, for what is compiled: so none of it holds itself."""
        twin = copy(self)
        twin.kernels = twin.applier = None  # type: ignore[assignment]
        return twin


def first_applier(node: OperatorNode, grads: list, saved: tuple) -> Sequence:
    """Stands in for the ``applier`` of a plan until its first use makes it."""
    if any(grad is None for grad in grads):
        return node.apply_some(grads, None)
    apply = node.plan.applier = applier(node.plan, [*grads, *node.saved_values()])
    with quiet_numbers():
        return apply(node, grads, saved)


def is_number(spec: Any) -> bool:
    """Whether what a plan knows of an argument is that it is a Python number."""
    return isinstance(spec, type)


def check_gradient(node: str, position: int, grad: Any, spec: Spec) -> None:
    """A formula must return a gradient of its input's shape and dtype; checked when the kernel is traced.

    Raises:
        RuntimeError: naming the node, the gradient, and what is wrong with it.
    """
    if tuple(grad.shape) != spec.shape:
        raise RuntimeError(message(f"{node}: grad_input {position} has the wrong shape", expected=tuple(spec.shape),
                                   got=tuple(grad.shape), hint="does its formula undo broadcasting?"))  # fmt: skip
    if grad.dtype != spec.dtype.numpy:
        raise RuntimeError(
            message(f"{node}: grad_input {position} has the wrong dtype", expected=spec.dtype.numpy, got=grad.dtype)
        )


def check_devices(specs: Sequence) -> None:
    """Arguments must be on one device; 0-dim CPU tensors may meet any.

    Raises:
        RuntimeError: PyTorch's message, naming both devices.
    """
    devices = {spec.device for spec in specs if isinstance(spec, Spec)}
    if len(devices) > 1:
        devices = {s.device for s in specs if isinstance(s, Spec) and (s.ndim or s.device.type != "cpu")}
        if len(devices) > 1 and META in devices:
            expected, *others = [s.device for s in specs if isinstance(s, Spec) and s.device in devices]
            other = next(device for device in others if device is not expected)
            raise RuntimeError(f"Tensor on device {other} is not on the expected device {expected}!")
        if len(devices) > 1:
            first, second = sorted(map(str, devices), reverse=True)[:2]
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but found at least two devices, {first} and {second}!"
            )


def abstract_argument(spec: Spec | type | None) -> Any:
    """What shape inference needs of an argument: shape and dtype of a tensor, the type of a scalar."""
    return (tuple(spec.shape), spec.dtype.numpy) if isinstance(spec, Spec) else spec or type(None)
