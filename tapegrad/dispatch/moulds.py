"""Moulds: what is decided once for the plans of calls that differ in numbers alone.

Note [Moulds]
To make a plan takes ten times as long as a small call, and most of what it decides does not depend on lengths: what is
saved, which arguments need an edge, the Python that runs. Calls that fit one structure (Note [Structures]) and whose
specs differ in their shapes alone have all this in common. The first of them is planned as ever, and leaves its plan
and the code that was written for it in the structure, as a ``Mould``, which is found by what does not depend on
lengths. Those of other lengths are cast: the plan is copied, what does depend on lengths (specs, kernels) is put in its
place, and the code is given other names. Where the host runs the kernels, not even these are made (Note [Shared
kernels] in ``execution/shared.py``), and one function makes the calls of all lengths: it is given the plan, the specs
of the results and the kernel's keys before the arguments. So does one function for all their nodes, which asks the
node's plan for these.

Note [Moving settings]
A setting that is another number at each call, a dropout's ``p`` that is annealed, would cost a plan each time, and push
others out of the memory. When the second number has come, what the kernel computes is known for all of them. So from
then on there is one runner for all, which is given the numbers with the arguments (``MovingRunner``); only the node has
a plan of its own, a copy with other settings. A number that comes back many times gets a plan like others: that is
quicker.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from types import CodeType
from typing import Any

from tapegrad.dispatch.kernels import abstract_argument
from tapegrad.dispatch.plan import Plan
from tapegrad.dispatch.structures import Fit, settings_skeleton
from tapegrad.execution.kernel import Kernel
from tapegrad.execution.shared import SMALL, FloatKernel, SharedKernel
from tapegrad.execution.symbolic import GeneralTrace
from tapegrad.tape.mechanisms import SYMBOLIC_KERNELS
from tapegrad.tape.modes import Modes
from tapegrad.tape.sources import function_of
from tapegrad.tensor.spec import Spec

_UNKNOWN: Any = object()


class Mould:
    """A plan without what depends on lengths, and the code of its functions.

    Attributes:
        runs: what makes the calls of all plans that share a kernel, by that.
        appliers: what all nodes do that share a kernel, by that; None: those that pass gradients on as they are.
        runner, applier: what makes those of a plan that has kernels of its own; ``replayer``: that is replayed.
        structure: what the plans are cast by.
        last: the specs of the plan that was made last.
    """

    __slots__ = (
        "last", "runs", "appliers", "runner", "replayer", "applier", "structure", "_plan", "_forward", "_backward",
        "_some",
    )  # fmt: skip

    def __init__(self, plan: Plan) -> None:
        self.runs: dict[SharedKernel, Callable] = {}
        self.appliers: dict[SharedKernel | None, Callable] = {}
        self.runner: Casting | None = None
        self.replayer: Casting | None = None
        self.applier: Casting | None = None
        self.structure = plan.fit.structure
        self.last = plan.specs if plan.fit.structure.always else None
        self._plan = plan.general()
        self._plan.applier, self._plan.mould = plan.applier, self
        self._forward = self._backward = _UNKNOWN
        self._some: dict[tuple, SharedKernel | None] = {}

    def cast(self, specs: tuple, settings: dict, fit: Fit) -> Plan:
        """The plan for other lengths."""
        plan = self._plan.like(specs, settings, fit)
        if self.appliers:
            plan.applier = self.applier_for(plan) or plan.applier
        return plan

    def applier_for(self, plan: Plan) -> Callable | None:
        """An applier of nodes of a plan that share a kernel or pass gradients on, if it was written for another one."""
        return self.appliers.get(fitting(plan, self._backward)) if self.appliers else None

    def shared_forward(self, plan: Plan) -> SharedKernel | None:
        """The kernel that is shared, for calls of a plan; None if the plan needs one of its own."""
        if self._forward is _UNKNOWN:
            structure = plan.fit.structure
            examples = [abstract_argument(spec) for spec in plan.specs if spec is not None]
            self._forward = _shared(structure.forward, structure.names, examples)
        return fitting(plan, self._forward)

    def moving_forward(self, plan: Plan) -> SharedKernel | FloatKernel | None:
        """A kernel for all settings of calls like those of a plan.

        Where more than floats move XLA would compile one for each, so that the host is quicker.
        """
        shared = self.shared_forward(plan)
        return _moving(plan, shared, self._forward, float_forward)

    def moving_backward(self, plan: Plan) -> SharedKernel | FloatKernel | None:
        """The same for gradients: see ``shared_backward``."""
        shared = self.shared_backward(plan)
        return None if plan.passes else _moving(plan, shared, self._backward, float_backward)

    def shared_backward(self, plan: Plan) -> SharedKernel | None:
        """The same for the gradients that plans of this mould compute where all are given and wanted."""
        structure = plan.fit.structure
        if self._backward is _UNKNOWN:
            given = (True,) * plan.slots
            passing = not any(plan.needed) or plan.passes
            general = None if passing else structure.backward(plan, plan.needed, given)
            self._backward = _shared(general, structure.names, plan.backward_arguments(given), sum(given))
        return fitting(plan, self._backward)

    def shared_some(self, plan: Plan, wanted: tuple[bool, ...], given: tuple[bool, ...]) -> SharedKernel | None:
        """The same where perhaps not all of them are given, or wanted."""
        if wanted == plan.needed and all(given):
            return self.shared_backward(plan)
        key = wanted, given
        if key not in self._some:
            general = self.structure.backward(plan, wanted, given)
            self._some[key] = _shared(general, self.structure.names, plan.backward_arguments(given), sum(given))
        return fitting(plan, self._some[key])


# -- kernels for all floats --------------------------------------------------------------------------------------------


def float_forward(plan: Plan) -> FloatKernel | None:
    """A kernel for all floats among a plan's settings, which are all that moves; None if there is no such."""
    structure, numbers, specs = plan.fit.structure, _numbers(plan), plan.specs
    if structure.forward is None:
        return None

    def function(*values: Any) -> Any:
        floats, arguments = _parted(structure, values)
        return plan.op.prepare(specs, structure.filled({**numbers, **floats})[1])(*arguments)

    arguments = [abstract_argument(spec) for spec in specs if spec is not None]
    return _float_kernel(plan, plan.op.name, function, structure.forward, arguments)


def float_backward(plan: Plan) -> FloatKernel | None:
    """The same for the gradients that are computed where all are given and wanted."""
    structure, numbers, given = plan.fit.structure, _numbers(plan), (True,) * plan.slots
    general = structure.backward(plan, plan.needed, given) if any(plan.needed) else None
    if general is None:
        return None
    bare = plan.formulas()

    def function(*values: Any) -> Any:
        floats, arguments = _parted(structure, values)
        settings = structure.filled({**numbers, **floats})[1]
        return bare.with_others(bare.specs, settings, bare.out_specs).backward_function(bare.needed, given)(*arguments)

    return _float_kernel(plan, plan.node_class.__name__, function, general, plan.backward_arguments(given))


def _numbers(plan: Plan) -> dict[str, Any]:
    return dict(zip(plan.fit.structure.names, plan.fit.numbers, strict=True))


def _only_floats_move(plan: Plan) -> bool:
    structure = plan.fit.structure
    return all(structure.names[place][0] == "p" for place in structure.moving)


def _parted(structure: Any, values: Sequence[Any]) -> tuple[dict[str, Any], Sequence[Any]]:
    """The floats by their names, and the arguments behind them."""
    names = [name for name in structure.names if name[0] == "p"]
    return dict(zip(names, values, strict=False)), values[len(names) :]


def _float_kernel(plan: Plan, name: str, function: Callable, general: GeneralTrace, arguments: Sequence) -> FloatKernel:
    structure, growth, numbers = plan.fit.structure, plan.fit.growth, _numbers(plan)
    floats = [float for name in structure.names if name[0] == "p"]
    kernel = Kernel(
        function, name=name, wide=True, arguments=[*floats, *arguments], settings=plan.settings,
        known=lambda: general.at(growth, numbers, floats=False),
    )  # fmt: skip
    kernel.note_run()
    return FloatKernel(kernel, structure.names)


def _shared(general: GeneralTrace | None, names: Sequence[str], examples: Sequence[Any], checked: int = 0) -> Any:
    return None if general is None or SYMBOLIC_KERNELS.off else SharedKernel(general, names, examples, checked)


def _moving(plan: Plan, shared: SharedKernel | None, small: SharedKernel | None, floats: Callable) -> Any:
    if type(shared) is not SharedKernel and _only_floats_move(plan):
        return floats(plan)
    return small if plan.size is not None and plan.size[1] else shared


numel_of = attrgetter("numel")


def fitting(plan: Plan, shared: SharedKernel | None) -> SharedKernel | None:
    """A function that runs a plan's calls of a kernel that is shared, as large as they are; None if XLA does."""
    if shared is None:
        return None
    if plan.size is None:
        results = list(map(numel_of, plan.out_specs))
        small = max([*results, *[spec.numel for spec in plan.specs if isinstance(spec, Spec)]]) <= SMALL
        plan.size = sum(results) / plan.fit.structure.count, small
    return shared.fitting(*plan.size)


class Casting:
    """A function that was written for a plan, to be given to others: its code, and the names that mean the same."""

    __slots__ = ("name", "code", "names")

    def __init__(self, name: str, code: CodeType, names: dict[str, Any]) -> None:
        self.name, self.code, self.names = name, code, names

    def made(self, names: dict[str, Any]) -> Callable:
        """The function, with names that mean something else for each plan."""
        return function_of(self.code, self.name, {**self.names, **names})


class MovingRunner:
    """A runner for all values of some numbers among the settings. See Note [Moving settings].

    Args:
        plan: the plan of one of the calls.
        run: ``run(plan, *specs of results, *keys, *arguments)``.
        shared: the kernel, which ``keys`` are for.
    """

    __slots__ = ("_plan", "_run", "_shared", "_lengths", "_fixed", "_appliers", "_last", "_times")

    def __init__(self, plan: Plan, run: Callable, shared: SharedKernel | FloatKernel) -> None:
        structure, numbers = plan.fit.structure, plan.fit.numbers
        self._plan, self._run, self._shared = plan.formulas(), run, shared
        self._lengths = [length for spec in plan.specs if isinstance(spec, Spec) for length in spec.shape]
        places = range(len(numbers))
        self._fixed = [(place, numbers[place]) for place in places if place not in structure.moving]
        self._appliers = self._plan.moving = [plan.applier]
        self._last: Any = None
        self._times = 0

    def runner(self, settings: dict, numbers: list) -> Callable | None:
        """A function that runs a call with these settings, in which these are the numbers; None if it needs a plan like
        others."""
        structure = self._plan.fit.structure
        found = structure.read(*self._lengths, *numbers)
        if found is None:
            return None
        for place, number in self._fixed:
            if found[place] != number:
                return None
        if numbers == self._last:
            self._times += 1
            if self._times > OFTEN:
                return None
        else:
            self._last, self._times = numbers, 0
        plan = self._plan.moved(settings, Fit(structure, found), self._appliers[0])
        return partial(self._run, plan, *plan.out_specs, *self._shared.keys(found, size=self._plan.size))


OFTEN = 8
"""The number of times in a row that a number comes back before it is given a plan."""


def mould_key(specs: tuple, settings: dict, modes: Modes, numbers: list[Any]) -> tuple:
    """The key that plans of one mould share; the numbers of the call, as structures read them, are appended."""
    key: list[Any] = [modes]
    for spec in specs:
        if isinstance(spec, Spec):
            key += spec.flags, spec.ndim
            numbers.extend(spec.shape)
        else:
            key.append(spec)
    if settings:
        key += settings_skeleton(settings, numbers)
    return tuple(key)
