"""Plans: everything about a call that does not depend on data.

Note [Plans]
``call`` finds a *plan* by one dictionary look-up on (modes, specs of the arguments, settings). A plan holds everything
that was decided when it was made: promotion and broadcasting checks, the forward kernel, the specs of the outputs,
which inputs need a gradient, what to save, the node class, the backward kernels. A call is then straight-line code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NoReturn

from tapegrad.dispatch.kernels import Kernels, abstract_argument, has_structure, is_run_here
from tapegrad.dispatch.keys import Rather, place_of
from tapegrad.dispatch.pieces import host_function
from tapegrad.dispatch.saved import kept_spec
from tapegrad.dispatch.structures import Fit, Sought
from tapegrad.errors import message
from tapegrad.execution.devices import META, device
from tapegrad.execution.flat import flat
from tapegrad.execution.forks import refuse_forked
from tapegrad.execution.host import transfer
from tapegrad.execution.kernel import Kernel
from tapegrad.execution.modes import note_other_lengths
from tapegrad.execution.sizes import check_size
from tapegrad.tape.modes import Modes, thread
from tapegrad.tape.node import Node
from tapegrad.tape.sources import defined
from tapegrad.tensor.spec import Spec


class Plan:
    """Everything about a call that does not depend on data. See Note [Plans].

    Args:
        op, specs, settings: the operator, the specs of its arguments (a Spec, a scalar's type, or None), its settings.
        modes: what is switched on.
        node_class_of: gives the class of the nodes that calls make; None if the plan is for something else.
        applier: what a node does until its first use has written what it does from then on.
        fit: the structure that the call fits, if that is known.

    Attributes:
        given: the settings that were given, where ``settings`` are all.
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
        recorded: how the call is recorded, in deferred mode.
        level: at which level the arguments live; see Note [Levels] in ``tensor/lifted.py``.
        device: where it is computed; a 0-dim CPU tensor among the arguments is moved there if it is ``mixed``.
        fit: the structure, if there is one, and what its symbols are.
        size: how many times as many elements results have as when the structure was made, and whether all arrays are
            small; None as long as nobody has asked.
        moving: where its applier belongs, for calls with other settings: Note [Moving settings] in ``moulds.py``.
        keys: what nodes give the kernel that they share, before its arguments, as soon as one was asked.
        mould: what it has in common with plans of other lengths, if that is known: Note [Moulds] in ``moulds.py``.
    """

    __slots__ = (
        "op", "settings", "given", "specs", "_kernels", "out_specs", "num_outputs", "slots", "positions", "needed",
        "saved_inputs", "saved_outputs", "saved_specs", "saved_numbers", "_sources", "applier", "node_class",
        "single", "level", "releases", "saves_inference", "device", "mixed", "modes", "recorded", "mould",
        "fit", "size", "moving", "keys", "layouts", "__weakref__",
    )  # fmt: skip

    def __init__(
        self, op: Any, specs: tuple, settings: dict, modes: Modes,
        node_class_of: Callable[[Plan], type[Node]] | None = None, applier: Callable | None = None,
        fit: Fit | None = None,
    ) -> None:  # fmt: skip
        refuse_forked()
        self.op, self.specs, self.settings, self.modes = op, specs, {**op.defaults, **settings}, modes
        if not op.moves:
            check_devices(specs)
        self._kernels: Kernels | None = Kernels.of(op, specs, settings, fit)
        self.given = settings
        self.single, outputs = self.kernels.single, self.kernels.outputs
        if op.shows:
            for shape, dtype in outputs:
                check_size(shape, dtype.itemsize, owned=False)
        self.num_outputs = len(outputs)
        flowing = range(self.num_outputs if op.flowing is None else op.flowing)
        self.slots = max((i + 1 for i in flowing if outputs[i][1].category >= 2), default=1)
        tensors = [spec for spec in specs if isinstance(spec, Spec)]
        self.device = max(tensors, key=lambda spec: op.moves or spec.ndim > 0 or not spec.device.is_host).device.free
        self.mixed = any(spec.device.free is not self.device for spec in tensors)
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
        self.applier: Any = applier
        self.node_class: Any = None
        self.layouts: dict[tuple[int, ...] | None, tuple | None] = {}
        self.saved_inputs: tuple[int, ...] = ()
        self.saved_outputs: tuple[int, ...] = ()
        self._sources: dict[int, list] | None = {}
        self.saved_specs: tuple = ()
        self.saved_numbers: tuple[int, ...] = ()
        self.releases = self.saves_inference = False
        if recorded:
            self.node_class = None if node_class_of is None else node_class_of(self)
            self._decide_saves()
        self.mould: Any = None
        self.fit: Any = self._kernels.fit
        self.size: tuple[float, bool] | None = None
        self.moving: Any = None
        self.keys: list[Any] | None = None

    def _decide_saves(self) -> None:
        """Read off the names of the formulas in use what has to be saved."""
        op = self.op
        self._sources = None
        wanted = [position for position, needed in zip(self.positions, self.needed, strict=True) if needed]
        each = {op.formula(position): position for position in wanted}  # once for all elements of a variadic input
        located = [
            op.locate(name, position, self.specs, self.num_outputs)
            for formula, position in each.items()
            for name in formula.names
        ]
        inputs = sorted({place[1] for place in located if place[0] == "input"} | {
            i for place in located if place[0] == "inputs" for i in place[1]
        }, key=lambda i: (op.field(op.input_name(i)), i))  # fmt: skip
        outputs = sorted({place[1] for place in located if place[0] == "output"})
        self.saved_inputs, self.saved_outputs = tuple(inputs), tuple(outputs)
        self._decide_saved_specs()
        self.saves_inference = any(spec is not None and spec.inference for spec in self.saved_specs)
        numbers = [index for index, i in enumerate(inputs) if isinstance(self.specs[i], type)]
        self.saved_numbers = () if op.wraps_numbers else tuple(numbers)
        plain = [index in self.saved_numbers or op.input_name(i) in op.plain_inputs for index, i in enumerate(inputs)]
        self.releases = bool(outputs) or not all(plain)

    def _decide_saved_specs(self) -> None:
        specs, outs, modes = self.specs, self.out_specs, self.modes
        self.saved_specs = (
            *[kept_spec(specs[i], modes) if isinstance(specs[i], Spec) else None for i in self.saved_inputs],
            *[None if outs[i].requires_grad else outs[i] for i in self.saved_outputs],
        )

    @property
    def sources(self) -> dict[int, list]:
        """The places where the formulas in use find what they name."""
        if self._sources is None:
            op, specs, count = self.op, self.specs, self.num_outputs
            self._sources = {
                position: [op.locate(name, position, specs, count) for name in op.formula(position).names]
                for position, wanted in zip(self.positions, self.needed, strict=True)
                if wanted
            }
        return self._sources

    def like(self, specs: tuple, settings: dict, fit: Fit) -> Plan:
        """The plan of a call that differs in numbers alone. See Note [Moulds] in ``moulds.py``."""
        op, plan = self.op, _copied(self)
        plan.specs, plan.given, plan.fit, plan.size = specs, settings, fit, None
        if settings:
            plan.settings = {**op.defaults, **settings}
        op.check(specs, settings)
        shapes = fit.structure.outputs(*fit.numbers)
        if op.shows:
            for shape, spec in zip(shapes, self.out_specs, strict=True):
                check_size(shape, spec.dtype.itemsize, owned=False)
        plan.out_specs = tuple([
            spec.shaped(shape, op.output_strides(shape, specs))
            for spec, shape in zip(self.out_specs, shapes, strict=True)
        ])  # fmt: skip
        if self._sources != {}:
            plan._decide_saved_specs()
        if self.recorded is not None:
            plan._kernels = None
            plan.recorded = plan.kernels.recorded(self.recorded.arity)
            note_other_lengths()
        return plan

    def with_others(self, specs: tuple, settings: dict, out_specs: tuple) -> Plan:
        """This plan with other specs and settings, to trace what it computes."""
        plan = self.twin()
        plan.specs, plan.settings, plan.out_specs = specs, {**self.op.defaults, **settings}, out_specs
        plan._sources = None
        return plan

    def moved(self, settings: dict, fit: Fit, applier: Callable) -> Plan:
        """The plan of a call that differs in settings that no shape depends on. See Note [Moving settings]."""
        plan = self.twin()
        plan.given, plan.settings, plan.fit, plan.applier = settings, {**self.op.defaults, **settings}, fit, applier
        return plan

    @property
    def kernels(self) -> Kernels:
        """The compiled kernels; plans that are cast have them made when somebody asks."""
        if self._kernels is None:
            self._kernels = Kernels.of(self.op, self.specs, self.given)
        return self._kernels

    def twin(self) -> Plan:
        """A copy."""
        return _copied(self)

    @property
    def passes(self) -> bool:
        """Whether each gradient that is wanted is that of the output, as it is."""
        if self.mixed or self.level:
            return False
        return self.passes_at(self.specs, self.out_specs) if self.fit is None else self.fit.structure.passes(self)

    def passes_at(self, specs: Sequence, out_specs: Sequence) -> bool:
        """The same for these specs."""
        ends = zip(self.positions, self.needed, strict=True)
        return all(self.op.passes(position, specs[position], out_specs) for position, needed in ends if needed)

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

    def gradient_layouts(self, strides: tuple[int, ...] | None) -> tuple | None:
        """The layouts of gradients, at each position, where that of the (first) output lies so: Note [Gradients as
        views].

        None: all in row-major order, as those of misfits, which are made to fit.
        """
        joint = self.op.joint
        found = tuple(
            self.op.gradient_strides(self, position, strides)
            if wanted and not joint and not self.specs[position].misfit
            else None
            for position, wanted in zip(self.positions, self.needed, strict=True)
        )
        layouts = self.layouts[strides] = found if any(found) else None
        return layouts

    def backward(self, wanted: tuple[bool, ...], defined: tuple[bool, ...]) -> Callable:
        """The backward kernel for these wanted inputs and these defined gradients, made when first asked for."""
        if not any(wanted):
            return lambda *values: (None,) * len(wanted)
        shared = None if self.mould is None else self.mould.shared_some(self, wanted, defined)
        if shared is not None:
            return partial(self._backward_shared, shared, wanted, defined)
        return self.own_backward(wanted, defined)

    def _backward_shared(self, shared: Any, wanted: tuple[bool, ...], defined: tuple[bool, ...], *values: Any) -> Any:
        """Have gradients computed by a kernel that is shared, or by one of its own, if that does not take them."""
        shapes = [spec.shape for spec, has in zip(self.out_specs, defined, strict=False) if has]
        keys = shared.keys(self.fit.numbers, shapes, self.size)
        found = None if thread.modes.deferred else shared.run(*keys, *values)
        return self.own_backward(wanted, defined)(*values) if found is None else found

    def own_backward(self, wanted: tuple[bool, ...], defined: tuple[bool, ...]) -> Callable:
        """The same, by a kernel of the plan's own."""
        made = self.backward_kernel(wanted, defined)
        kernel = made.shapes if self.device is META else made.dispatcher()
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
        fit = self.fit
        known: Any = None
        if fit is None and has_structure(self.specs):  # perhaps there is one by now
            fit = Sought.of(self.op, self.specs, self.given).known(self.op, self.specs, self.given)
        call = "backward", self.op, self.specs, self.given, self.needed, wanted, defined
        if fit is not None:
            known = Rather(partial(fit.backward, self, wanted, defined), *call)
        elif is_run_here(self.specs) and not self.kernels.many:
            known = place_of(*call)
        elif self.kernels.many and all(defined) and all(wanted) and len(wanted) == len(self.specs):
            given, shapes = ([tuple(spec.shape) for spec in specs] for specs in (self.out_specs, self.specs))
            function = partial(self.op.pieces.backward, shapes=shapes)
            known = partial(host_function, function, given, shapes, False, self.specs[0].dtype.numpy, self.settings)
        return Kernel(
            self.backward_function(wanted, defined),
            name=self.node_class.__name__,
            wide=self.kernels.wide,
            arguments=self.backward_arguments(defined),
            known=known,
            settings=self.settings,
            checked=sum(defined),  # gradients of what was cast when it was written, or of a misfit
        )

    def backward_function(self, wanted: tuple[bool, ...], defined: tuple[bool, ...]) -> Callable:
        """The array function of a backward kernel."""
        count, formulas, node_name = sum(defined), self.formulas(), self.node_class.__name__
        op, widens = self.op, self._widens(wanted)

        @flat
        def backward(*values: Any) -> tuple:
            values = op.widened(values) if widens else values
            given = iter(values[:count])
            grads = [next(given) if has else None for has in defined]
            results = formulas.gradients(grads, values[count:], wanted)
            for position, grad in zip(formulas.positions, results, strict=True):
                if grad is not None:
                    check_gradient(node_name, position, grad, formulas.specs[position])
            return results

        return backward

    def _widens(self, wanted: tuple[bool, ...]) -> bool:
        """Whether the formulas are computed in float32, and rounded once, if they are given halves: Note [Halves]."""
        once, names = self.op.rounds_once, self.op.inputs
        if once is True or not once:
            return bool(once)
        return all(names[i] in once for i, want in zip(self.positions, wanted, strict=True) if want)

    def backward_arguments(self, defined: tuple[bool, ...]) -> list[Any]:
        """The arguments of a backward kernel: gradients, then what was saved."""
        specs = [self.specs[i] for i in self.saved_inputs]
        grads = [spec for spec, has in zip(self.out_specs, defined, strict=False) if has]
        return [abstract_argument(spec) for spec in (*grads, *specs, *(self.out_specs[i] for i in self.saved_outputs))]

    def general(self) -> Plan:
        """The same with what goes for other lengths, too: where formulas find what they name, if that is no shape."""
        twin, places = self.formulas(), [place for found in self.sources.values() for place in found]
        shaped = any(kind == "constant" and isinstance(key, tuple) for kind, key in places)
        twin._sources = None if shaped else self.sources
        return twin

    def formulas(self) -> Plan:
        """This plan without what is compiled for it, for what is compiled: so none of it holds itself."""
        twin = self.twin()
        twin._kernels = twin.applier = None
        return twin


_copied: Callable[[Plan], Plan] = defined([
    "def copied(plan):",
    "    twin = new(Plan)",
    *(f"    twin.{name} = plan.{name}" for name in Plan.__slots__ if name not in ("layouts", "keys", "__weakref__")),
    "    twin.layouts, twin.keys = {}, None",  # they are those of its own lengths
    "    return twin",
], "copied", {"new": object.__new__, "Plan": Plan})  # fmt: skip


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
    devices = {spec.device.free for spec in specs if isinstance(spec, Spec)}
    if len(devices) > 1:
        devices = {s.device.free for s in specs if isinstance(s, Spec) and (s.ndim or not s.device.is_host)}
        if len(devices) > 1 and META in devices:
            expected, *others = [s.device for s in specs if isinstance(s, Spec) and s.device in devices]
            other = next(device for device in others if device is not expected)
            raise RuntimeError(f"Tensor on device {other} is not on the expected device {expected}!")
        if len(devices) > 1 and any(device.spread for device in devices):
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
    if all(device.spread for device in devices):
        hint = "bring them to one mesh, with distribute_tensor(x.full_tensor(), mesh, placements)"
        raise RuntimeError(message("got tensors of two meshes", got=shown, hint=hint))
    hint = "distribute the others, too: distribute_tensor(x, mesh, [Replicate()])"
    what = "got mixed torch.Tensor and DTensor"
    raise RuntimeError(message(what, expected="tensors of one mesh", got=shown, hint=hint))
