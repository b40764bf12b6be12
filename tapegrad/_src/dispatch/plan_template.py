"""Plan templates: what is decided once for the plans of calls that differ in numbers alone.

Note [Plan templates]
To make a plan takes ten times as long as a small call, and most of what it decides does not depend on lengths: what is
saved, which arguments need an edge, the Python that runs. Calls that fit one shape class (Note [Shape classes]) and
have the same flags have all this in common. The first of them is planned as ever, and leaves its plan and the code that
was written for it as a ``Template``. Those of other lengths bind it to their numbers: the plan is copied, what does
depend on lengths (specs, kernels) is put in its place, and the code is given other names. Where the host runs the
kernels, not even these are made (Note [Symbolic kernels] in ``execution/kernels/symbolic_kernel.py``), and one function
makes the calls of all lengths: it is given the plan, the specs of the results and the kernel's keys before the
arguments. So does one function for all their nodes, which asks the node's plan for these.

Note [Dynamic settings]
A setting that is another number at each call, a dropout's ``p`` that is annealed, would cost a plan each time, and push
others out of the memory. When the second number has come, what the kernel computes is known for all of them. So from
then on there is one runner for all, which is given the numbers with the arguments (``DynamicRun``); only the node has
a plan of its own, a copy with other settings. A number that comes back many times gets a plan like others: that is
quicker.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tapegrad._src.dispatch.plan import Plan, frozen
from tapegrad._src.dispatch.planning import saved_specs
from tapegrad._src.dispatch.shape_class import ClassBinding, ShapeClass
from tapegrad._src.execution.data.sizes import check_size
from tapegrad._src.execution.kernels.kernel import Kernel
from tapegrad._src.execution.kernels.symbolic_kernel import FloatKernel, SymbolicKernel
from tapegrad._src.execution.recording.execution_mode import note_other_lengths
from tapegrad._src.execution.tiers.symbolic_trace import GeneralTrace
from tapegrad._src.tape.kept import WrittenCode


class Template:
    """A shape class, and a plan without what depends on numbers. See Note [Plan templates].

    Attributes:
        read: that of the shape class.
        plan: that of a call like all; ``applier``: what nodes do at first.
        gradients: the key of its gradients among the kernels of its shape class, where all are given and wanted.
        runs: what makes the calls of all plans that run a kernel for all lengths, by that.
        written: what was written else, by what it is, and by the kernel that it calls.
        last: the specs of the plan that was made last.
    """

    __slots__ = ("shape_class", "read", "plan", "applier", "gradients", "runs", "written", "last")

    def __init__(self, plan: Plan) -> None:
        self.shape_class: ShapeClass = plan.binding.shape_class
        self.read = self.shape_class.read
        self.runs: dict[SymbolicKernel, Callable] = {}
        self.written: dict[Any, Any] = {}
        self.last = plan.specs if self.shape_class.always else None
        self.gradients = plan.needed, plan.needed, (True,) * plan.slots
        self.applier = plan.late.applier
        self.plan = plan.replace(template=self)
        sources = [source for named in plan.sources.values() for source in named]
        if any([origin == "constant" and isinstance(key, tuple) for origin, key in sources]):  # a shape, for one length
            self.plan.late.sources = None

    def bind(self, specs: tuple, settings: dict, numbers: tuple) -> Plan:
        """The plan of a call with these numbers."""
        like, op = self.plan, self.plan.op
        op.check(specs, settings)
        shapes = self.shape_class.outputs(*numbers)
        if op.shows:
            for shape, spec in zip(shapes, like.out_specs, strict=True):
                check_size(shape, spec.dtype.itemsize, owned=False)
        out_specs = tuple([
            spec.shaped(shape, op.output_strides(shape, specs))
            for spec, shape in zip(like.out_specs, shapes, strict=True)
        ])  # fmt: skip
        if like.modes.deferred:
            note_other_lengths()
        draft = like.draft()
        draft.specs, draft.given, draft.out_specs = specs, settings, out_specs
        draft.binding = ClassBinding(self.shape_class, numbers)
        if like.node_class is None:
            return frozen(draft)
        draft.saved_specs = saved_specs(specs, out_specs, like.modes, like.saved_inputs, like.saved_outputs)
        plan = frozen(draft)
        plan.late.applier = self.applier_for(plan) or self.applier
        return plan

    def applier_for(self, plan: Plan) -> Callable | None:
        """An applier of nodes of a plan that share a kernel or pass gradients on, if it was written for another one."""
        kernel = self.shape_class.kernels.get(self.gradients)
        return self.written.get(("apply", plan.fitting(kernel)))

    def instantiated(self, what: str, write: Callable[[], WrittenCode], names: dict[str, Any]) -> Callable:
        """A function for a plan that has kernels of its own: the code is written once."""
        code = self.written.get(what)
        if code is None:
            code = self.written[what] = write()
        return code.instantiate(names)


# -- kernels for all settings ------------------------------------------------------------------------------------------


def dynamic_forward(plan: Plan) -> SymbolicKernel | FloatKernel | None:
    """A kernel for all settings of calls like those of a plan.

    Where more than floats are dynamic XLA would compile one for each, so that the host is quicker.
    """
    return _dynamic(plan, plan.symbolic_forward(), (), float_forward)


def dynamic_backward(plan: Plan) -> SymbolicKernel | FloatKernel | None:
    """The same for gradients, where all are given and wanted."""
    return None if plan.passes else _dynamic(plan, plan.symbolic_backward(), plan.template.gradients, float_backward)


def _dynamic(plan: Plan, kernel: SymbolicKernel | None, key: tuple, floats: Callable) -> Any:
    shape_class = plan.binding.shape_class
    if type(kernel) is not SymbolicKernel and all(shape_class.names[index][0] == "p" for index in shape_class.dynamic):
        return floats(plan)
    return shape_class.kernels.get(key) if plan.size[1] else kernel


def float_forward(plan: Plan) -> FloatKernel | None:
    """A kernel for all floats among a plan's settings, which are all that is dynamic; None if there is no such."""
    shape_class, numbers, specs = plan.binding.shape_class, _numbers(plan), plan.specs
    if shape_class.forward is None:
        return None

    def function(*values: Any) -> Any:
        floats, arguments = _parted(shape_class, values)
        return plan.op.prepare(specs, shape_class.filled({**numbers, **floats})[1])(*arguments)

    return _float_kernel(plan, plan.op.name, function, shape_class.forward, plan.forward_arguments)


def float_backward(plan: Plan) -> FloatKernel | None:
    """The same for the gradients that are computed where all are given and wanted."""
    shape_class, numbers, given = plan.binding.shape_class, _numbers(plan), (True,) * plan.slots
    general = shape_class.backward(plan, plan.needed, given) if any(plan.needed) else None
    if general is None:
        return None
    bare = plan.replace()

    def function(*values: Any) -> Any:
        floats, arguments = _parted(shape_class, values)
        settings = shape_class.filled({**numbers, **floats})[1]
        return bare.replace(given=settings).backward_function(bare.needed, given)(*arguments)

    return _float_kernel(plan, plan.node_class.__name__, function, general, plan.backward_arguments(given))


def _numbers(plan: Plan) -> dict[str, Any]:
    return dict(zip(plan.binding.shape_class.names, plan.binding.numbers, strict=True))


def _parted(shape_class: ShapeClass, values: Sequence[Any]) -> tuple[dict[str, Any], Sequence[Any]]:
    """The floats by their names, and the arguments behind them."""
    names = [name for name in shape_class.names if name[0] == "p"]
    return dict(zip(names, values, strict=False)), values[len(names) :]


def _float_kernel(plan: Plan, name: str, function: Callable, general: GeneralTrace, arguments: Sequence) -> FloatKernel:
    names, growth, numbers = plan.binding.shape_class.names, plan.binding.growth, _numbers(plan)
    floats = [float for name in names if name[0] == "p"]
    kernel = Kernel(
        function, name=name, wide=True, arguments=[*floats, *arguments], settings=plan.settings,
        known=lambda: general.at(growth, numbers, floats=False),
    )  # fmt: skip
    kernel.note_run()
    return FloatKernel(kernel, names)


class DynamicRun:
    """A runner for all values of the numbers among the settings that no shape depends on. See Note [Dynamic settings].

    Args:
        plan: the plan of one of the calls.
        run: ``run(plan, *specs of results, *keys, *arguments)``.
        kernel: the kernel, which ``keys`` are for.

    Attributes:
        applier: what their nodes do.
    """

    __slots__ = ("applier", "_plan", "_run", "_kernel", "_last", "_times")

    def __init__(self, plan: Plan, run: Callable, kernel: SymbolicKernel | FloatKernel) -> None:
        self.applier = plan.late.applier
        self._plan, self._run, self._kernel = plan.replace(dynamic=self), run, kernel
        self._plan.late.size = plan.size
        self._last: tuple | None = None
        self._times = 0

    def bind(self, settings: dict, numbers: tuple) -> Callable | None:
        """A function that runs a call with these settings, in which these are the numbers; None if it needs a plan like
        others."""
        if numbers == self._last:
            self._times += 1
            if self._times > OFTEN:
                return None
        else:
            self._last, self._times = numbers, 0
        like = self._plan
        draft = like.draft()
        draft.given, draft.binding = settings, ClassBinding(like.binding.shape_class, numbers)
        plan = frozen(draft)
        plan.late.applier = self.applier
        return partial(self._run, plan, *plan.out_specs, *self._kernel.keys(numbers, size=like.late.size))


OFTEN = 8
"""The number of times in a row that a number comes back before it is given a plan."""
