"""The one place where tensors, nodes and kernels meet: run the kernel, wire the node, wrap the result.

Note [Plans]
``call`` finds a *plan* by one dictionary look-up on (modes, specs of the arguments, settings). A plan holds everything
that was decided when it was made: promotion and broadcasting checks, the forward kernel, the specs of the outputs,
which inputs need a gradient, what to save, the node class, the backward kernels. A call is then straight-line code.

Note [Saved outputs and reference cycles]
A node that saves its own output must not own a tensor that owns the node. It keeps the output's value only; the tensor
is made again, with this node as its ``grad_fn``, when somebody asks.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from tapegrad.errors import SECOND_BACKWARD, message
from tapegrad.execution.dtypes import from_numpy
from tapegrad.execution.kernel import Kernel, abstract, add_values
from tapegrad.tape.modes import Modes, thread
from tapegrad.tape.node import HIGHEST_SEQUENCE_NR, Edge, Node, next_sequence_nr
from tapegrad.tensor.spec import Spec
from tapegrad.tensor.tensor import Tensor, new_tensor, value_of, wrap, write

Argument = Any
"""What an operator takes for an array: a Tensor, a Python scalar, or None for an absent optional."""


class AccumulateGrad(Node):
    """The end of the tape: adds what arrives to the ``.grad`` of a leaf. There is at most one for each leaf."""

    __slots__ = ("variable",)
    next_edges: tuple = ()

    def __init__(self, variable: Tensor) -> None:
        self.variable = variable
        self.sequence_nr = HIGHEST_SEQUENCE_NR

    def apply_values(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        grad, variable = grads[0], self.variable
        if grad is not None:
            present = variable._grad
            if present is None:
                variable._grad = wrap(grad, variable._spec.replace(requires_grad=False, plain=True, overrides=False))
            else:
                write(present, add_values(value_of(present), grad))
        return ()

    def apply(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        grad, variable = grads[0], self.variable
        if grad is not None:
            variable._grad = grad if variable._grad is None else variable._grad + grad  # type: ignore[operator]
        return ()

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"


def leaf_edge(tensor: Tensor) -> Edge:
    """The edge to the accumulator of a leaf that requires grad; the accumulator is made when first asked for."""
    reference = tensor._accumulator
    node = None if reference is None else reference()
    if node is None:
        node = AccumulateGrad(tensor)
        if tensor._leaf_hooks is not None:
            node.hooks = tensor._leaf_hooks
        tensor._accumulator = weakref.ref(node)
    return (node, 0)


def gradient_edge(tensor: Tensor) -> Edge | None:
    """Where the gradient of a tensor goes; None if it doesn't require one."""
    if tensor._edge is not None:
        return tensor._edge
    return leaf_edge(tensor) if tensor._spec.requires_grad else None


class OperatorNode(Node):
    """The backward of one call of an operator of the table. A subclass for each operator carries its name."""

    __slots__ = ("plan", "saved", "versions")

    plan: Plan
    saved: tuple | None
    versions: tuple[int, ...] | None

    def apply_values(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        plan = self.plan
        if plan.num_outputs == 1:
            if grads[0] is None:
                return (None,) * len(plan.needed)
            defined = None
        else:
            defined = tuple(grad is not None for grad in grads)
            if not any(defined):
                return (None,) * len(plan.needed)
            grads = [grad for grad in grads if grad is not None]
        return plan.backward(needed, defined)(*grads, *self.saved_values())

    def saved_values(self) -> list:
        """The values saved for backward, after checking that none was written since."""
        saved = self.saved
        if saved is None:
            raise RuntimeError(SECOND_BACKWARD)
        values = []
        for item, spec in zip(saved, self.plan.saved_specs):  # noqa: B905 - same length by construction, hot
            if spec is None:
                values.append(item)
            elif item._spec is spec and spec.plain:
                values.append(item._value)
            else:
                values.append(self._checked_value(item, len(values)))
        return values

    def _checked_value(self, tensor: Tensor, position: int) -> Any:
        expected = 0 if self.versions is None else self.versions[position]
        if tensor._version != expected:
            edge = tensor._edge
            origin = f", which is output {edge[1]} of {edge[0].name()}," if edge is not None else ""
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: "
                f"[{legacy_type_name(tensor._spec)} {list(tensor.shape)}]{origin} is at version {tensor._version}; "
                f"expected version {expected} instead. Hint: enable anomaly detection to find the operation that "
                "failed to compute its gradient, with torch.autograd.set_detect_anomaly(True)."
            )
        return value_of(tensor)

    def saved_tensors(self) -> list:
        """What was saved, as the formulas see it on tensors: inputs as they are, outputs with this node as grad_fn."""
        saved = self.saved
        if saved is None:
            raise RuntimeError(SECOND_BACKWARD)
        self.saved_values()  # checks versions
        plan = self.plan
        inputs = len(plan.saved_inputs)
        tensors = list(saved[:inputs])
        for position, value in zip(plan.saved_outputs, saved[inputs:], strict=True):
            spec = plan.out_specs[position]
            tensors.append(wrap(value, spec, (self, position) if spec.requires_grad else None))
        return tensors

    def apply(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        plan = self.plan
        if all(grad is None for grad in grads):
            return (None,) * len(plan.needed)
        saved = self.saved_tensors() if plan.saved_specs else []
        return plan.gradients(grads, saved, plan.wanted(needed))

    def release_variables(self) -> None:
        if self.plan.saved_specs:
            self.saved = None

    @property
    def _input_metadata(self) -> tuple[Spec, ...]:
        return self.plan.out_specs

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_saved_"):
            return self.plan.op.read_saved(self, name[len("_saved_") :])
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


def legacy_type_name(spec: Spec) -> str:
    """What PyTorch calls a tensor type in old messages: ``torch.FloatTensor``, ``torch.cuda.DoubleTensor``."""
    names = {"float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16", "int64": "Long",
             "int32": "Int", "int16": "Short", "int8": "Char", "uint8": "Byte", "bool": "Bool",
             "complex64": "ComplexFloat", "complex128": "ComplexDouble"}  # fmt: skip
    where = "" if spec.device.type == "cpu" else f".{spec.device.type}"
    return f"torch{where}.{names.get(spec.dtype.name, spec.dtype.name)}Tensor"


class Plan:
    """Everything about a call that does not depend on data. See Note [Plans].

    Attributes:
        op: the operator, with its settings and the specs of its arguments (a Spec, a scalar's type, or None).
        out_specs: the specs of the outputs.
        needed: for each argument, whether a gradient is wanted; all False when nothing is recorded.
        saved_inputs, saved_outputs: the positions of the arguments and outputs that backward reads.
        saved_specs: what to expect of each saved item; None for one that is no tensor.
    """

    __slots__ = (
        "op", "settings", "specs", "out_specs", "num_outputs", "needed", "saved_inputs", "saved_outputs", "saved_specs",
        "sources", "forward", "_backwards", "node_class", "wide", "single",
    )  # fmt: skip

    def __init__(self, op: Any, specs: tuple, settings: dict, modes: Modes) -> None:
        self.op, self.specs, self.settings = op, specs, settings
        check_devices(specs)
        function = op.prepare(specs, settings)
        outputs = abstract(function, [abstract_argument(spec) for spec in specs if spec is not None])
        self.single = not isinstance(outputs, tuple)
        outputs = (outputs,) if self.single else outputs
        self.num_outputs = len(outputs)
        on = next((spec.device for spec in specs if isinstance(spec, Spec) and spec.ndim), None)
        on = on or next((spec.device for spec in specs if isinstance(spec, Spec)), None)
        dtypes = [from_numpy(output.dtype) for output in outputs]
        self.needed = tuple(
            modes.grad and isinstance(spec, Spec) and spec.requires_grad and op.differentiable(position)
            for position, spec in enumerate(specs)
        )
        recorded = any(self.needed) and any(dtype.category >= 2 for dtype in dtypes)
        self.needed = self.needed if recorded else (False,) * len(specs)
        self.out_specs = tuple(
            Spec.of(output.shape, dtype, on, recorded and dtype.category >= 2)
            for output, dtype in zip(outputs, dtypes, strict=True)
        )
        self.wide = any(
            spec.dtype.is_64bit for spec in (*specs, *self.out_specs) if isinstance(spec, Spec)
        ) or op.is_wide(settings)
        self.forward = Kernel(function, name=op.name, wide=self.wide).bind()
        self._backwards: dict[tuple, Callable] = {}
        self.saved_inputs: tuple[int, ...] = ()
        self.saved_outputs: tuple[int, ...] = ()
        self.sources: dict[int, list] = {}
        self.saved_specs: tuple = ()
        if recorded:
            self.node_class = op.node_class(OperatorNode, self.num_outputs)
            self._decide_saves()

    def _decide_saves(self) -> None:
        """Read off the names of the formulas in use what has to be saved."""
        op = self.op
        names = {
            position: [op.locate(name, position, self.specs, self.num_outputs) for name in op.formula(position).names]
            for position, wanted in enumerate(self.needed)
            if wanted
        }
        located = [place for places in names.values() for place in places]
        inputs = sorted({place[1] for place in located if place[0] == "input"} | {
            i for place in located if place[0] == "inputs" for i in place[1]
        })  # fmt: skip
        outputs = sorted({place[1] for place in located if place[0] == "output"})
        self.saved_inputs, self.saved_outputs = tuple(inputs), tuple(outputs)
        self.saved_specs = tuple(
            self.specs[i] if isinstance(self.specs[i], Spec) else None for i in inputs
        ) + (None,) * len(outputs)  # fmt: skip
        self.sources = names

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
        grads = op.materialize(grads, self.out_specs)
        results: list[Any] = []
        for position, want in enumerate(wanted):
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

    def backward(self, needed: tuple[bool, ...] | None, defined: tuple[bool, ...] | None) -> Callable:
        """The backward kernel for these wanted inputs and these defined gradients, compiled when first asked for."""
        key = (needed, defined)
        kernel = self._backwards.get(key)
        if kernel is None:
            kernel = self._backwards[key] = self._make_backward(self.wanted(needed), defined)
        return kernel

    def _make_backward(self, wanted: tuple[bool, ...], defined: tuple[bool, ...] | None) -> Callable:
        count = 1 if defined is None else sum(defined)

        def backward(*values: Any) -> tuple:
            given = iter(values[:count])
            grads = [next(given) if has else None for has in (defined or (True,))]
            results = self.gradients(grads, values[count:], wanted)
            for position, grad in enumerate(results):
                if grad is not None:
                    check_gradient(self.node_class.__name__, position, grad, self.specs[position])
            return results

        if not any(wanted):
            return lambda *values: (None,) * len(wanted)
        return Kernel(backward, name=self.node_class.__name__, wide=self.wide).bind()


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
        if len(devices) > 1:
            first, second = sorted(map(str, devices), reverse=True)[:2]
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but found at least two devices, {first} and {second}!"
            )


def abstract_argument(spec: Spec | type) -> Any:
    """What shape inference needs of an argument: shape and dtype of a tensor, the type of a scalar."""
    return (tuple(spec.shape), spec.dtype.numpy) if isinstance(spec, Spec) else spec


def spec_of(argument: Argument) -> Any:
    """What a plan knows of an argument: the spec of a tensor, the type of a scalar, None."""
    if isinstance(argument, Tensor):
        return argument._spec
    return None if argument is None else type(argument)


def call(op: Any, args: tuple, settings: dict) -> Any:
    """Run an operator on tensors (scalars and None may stand among them), recording it if a gradient may be wanted."""
    specs = tuple(map(spec_of, args))
    key = (thread.modes, *specs, *settings.items())
    run = op.plans.get(key)
    if run is None:
        run = op.plans[key] = make_runner(Plan(op, specs, settings, thread.modes))
    return run(*args)


def make_runner(plan: Plan) -> Callable:
    """The straight-line code of a plan: a function of the arguments."""
    plain = all(isinstance(spec, Spec) and spec.plain for spec in plan.specs)
    if not any(plan.needed):
        return _unrecorded(plan)
    if plain and plan.single and len(plan.specs) == 1:
        return _recorded_unary(plan)
    if plain and plan.single and len(plan.specs) == 2:
        return _recorded_binary(plan)
    return _recorded(plan)


def _unrecorded(plan: Plan) -> Callable:
    forward, specs, single = plan.forward, plan.out_specs, plan.single
    out_spec = specs[0]

    def run(*args: Argument) -> Any:
        values = [value_of(arg) if isinstance(arg, Tensor) else arg for arg in args if arg is not None]
        result = forward(*values)
        if single:
            return wrap(result, out_spec)
        return tuple(map(wrap, result, specs))

    return run


def _recorded_unary(plan: Plan) -> Callable:
    forward, spec, node_class = plan.forward, plan.out_specs[0], plan.node_class
    saves_input, saves_output = bool(plan.saved_inputs), bool(plan.saved_outputs)

    def run(x: Tensor) -> Tensor:
        value = forward(x._value)
        node = new_tensor(node_class)
        node.plan = plan
        node.next_edges = (x._edge or leaf_edge(x),)
        node.sequence_nr = next_sequence_nr()
        node.versions = None
        if saves_input:
            node.saved = (x, value) if saves_output else (x,)
        else:
            node.saved = (value,) if saves_output else ()
        out = new_tensor(Tensor)
        out._value = value
        out._spec = spec
        out._edge = (node, 0)
        return out

    return run


def _recorded_binary(plan: Plan) -> Callable:
    forward, spec, node_class = plan.forward, plan.out_specs[0], plan.node_class
    needs_x, needs_y = plan.needed
    inputs, saves_output = plan.saved_inputs, bool(plan.saved_outputs)

    def run(x: Tensor, y: Tensor) -> Tensor:
        value = forward(x._value, y._value)
        node = new_tensor(node_class)
        node.plan = plan
        node.next_edges = (
            (x._edge or leaf_edge(x)) if needs_x else None,
            (y._edge or leaf_edge(y)) if needs_y else None,
        )
        node.sequence_nr = next_sequence_nr()
        node.versions = None
        if inputs == (0, 1):
            saved: tuple = (x, y)
        elif inputs:
            saved = (y,) if inputs[0] else (x,)
        else:
            saved = ()
        node.saved = (*saved, value) if saves_output else saved
        out = new_tensor(Tensor)
        out._value = value
        out._spec = spec
        out._edge = (node, 0)
        return out

    return run


def _recorded(plan: Plan) -> Callable:
    forward, specs, node_class, single = plan.forward, plan.out_specs, plan.node_class, plan.single
    needed, saved_inputs, saved_outputs = plan.needed, plan.saved_inputs, plan.saved_outputs
    plain = all(spec.plain for spec in plan.specs if isinstance(spec, Spec))

    def run(*args: Argument) -> Any:
        values = [value_of(arg) if isinstance(arg, Tensor) else arg for arg in args if arg is not None]
        result = forward(*values)
        results = (result,) if single else result
        node = new_tensor(node_class)
        node.plan = plan
        node.next_edges = tuple(
            [(arg._edge or leaf_edge(arg)) if need else None for arg, need in zip(args, needed, strict=True)]
        )
        node.sequence_nr = next_sequence_nr()
        node.saved = (*[args[i] for i in saved_inputs], *[results[i] for i in saved_outputs])
        node.versions = None if plain else tuple(
            [args[i]._version if isinstance(args[i], Tensor) else 0 for i in saved_inputs]
        )  # fmt: skip
        outs = tuple(
            [
                wrap(value, spec, (node, position) if spec.requires_grad else None)
                for position, (value, spec) in enumerate(zip(results, specs, strict=True))
            ]
        )
        return outs[0] if single else outs

    return run
