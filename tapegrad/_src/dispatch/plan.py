"""Plans: everything about a call that does not depend on data.

Note [Plans]
``call`` finds a *plan* by one dictionary look-up on (modes, specs of the arguments, settings). A plan holds everything
that was decided when it was made: promotion and broadcasting checks, the specs of the outputs, which inputs need a
gradient, what to save, the node class. A call is then straight-line code. It is a record: ``plan_call`` makes it
(``planning.py``), nobody changes it, and a plan that is like another one is a copy of that (``replace``). What is made
only when somebody asks, the compiled kernels among it, is kept beside the record (``Late``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import FrozenInstanceError, dataclass, fields
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

from tapegrad._src.dispatch.call_keys import Rather, kept_entry
from tapegrad._src.dispatch.kernels import Kernels, abstract_argument, is_run_here, may_be_symbolic
from tapegrad._src.dispatch.many_operands import host_function
from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.dispatch.shape_class import ClassBinding, sought
from tapegrad._src.execution.array_functions.host import transfer
from tapegrad._src.execution.data.devices import META, device
from tapegrad._src.execution.kernels.kernel import Kernel
from tapegrad._src.execution.kernels.symbolic_kernel import SMALL, SymbolicKernel
from tapegrad._src.execution.recording.recorded_call import Call
from tapegrad._src.execution.tiers.host_trace import flat
from tapegrad._src.tape.kept import defined
from tapegrad._src.tape.modes import Modes, thread
from tapegrad._src.tensor.spec import Spec
from tapegrad.errors import message

numel_of = attrgetter("numel")


class Late:
    """Parts of a plan that are made when somebody asks for them.

    Attributes:
        applier: what a node does when every gradient is given and every possible one is wanted: first what writes that,
            at its first use (``codegen/backward.py``).
        kernels: the compiled kernels.
        sources: where the formulas in use find what they name.
        size: how many times as many elements results have as when the shape class was made, and whether all arrays are
            small.
        keys: what nodes give the kernel that they share, before its arguments.
        layouts: the layouts of gradients, by that of the output's: Note [Gradients as views].
    """

    __slots__ = ("applier", "kernels", "sources", "size", "keys", "layouts")

    def __init__(self, kernels: Kernels | None = None, sources: dict[int, list] | None = None) -> None:
        self.kernels, self.sources = kernels, sources
        self.applier: Any = None
        self.size: tuple[float, bool] | None = None
        self.keys: list[Any] | None = None
        self.layouts: dict[tuple[int, ...] | None, tuple | None] = {}


@dataclass(eq=False, slots=True, weakref_slot=True)
class Draft:
    """The fields of a plan, as they are put together.

    Attributes:
        op, specs: the operator, and the specs of its arguments (a Spec, a scalar's type, or None).
        given: the settings that were given, where ``settings`` are all.
        modes: what is switched on.
        binding: the shape class that the call fits, if there is one, and what its symbols are.
        single: whether there is one output, not in a tuple.
        device: where it is computed; a 0-dim CPU tensor among the arguments is moved there if it is ``mixed``.
        level: at which level the arguments live; see Note [Levels] in ``tensor/lifted.py``.
        positions: the arguments that have a formula; the node has an edge for each.
        needed: for each of these, whether a gradient is wanted; all False when nothing is recorded.
        out_specs: the specs of the outputs.
        slots: how many gradients the node takes: one for each output, up to the last that can have one.
        node_class: the class of the nodes that calls make, if they are recorded.
        saved_inputs, saved_outputs: the positions of the arguments and outputs that backward reads.
        saved_specs: what to expect of each saved item; None for one that is no tensor.
        saved_numbers: which of the saved items are plain numbers.
        releases: whether anything saved is freed after a backward; plain numbers of a node are not.
        template: what it has in common with plans of other lengths, if that is known: Note [Plan templates].
        dynamic: what makes calls of all settings, if this is the plan of such a call: Note [Dynamic settings].
        late: what is made when somebody asks.
    """

    op: OperatorLike
    specs: tuple
    given: dict
    modes: Modes
    binding: Any
    single: bool
    late: Late
    node_class: Any
    device: device
    level: int
    mixed: bool
    positions: tuple[int, ...]
    needed: tuple[bool, ...]
    out_specs: tuple[Spec, ...]
    slots: int
    saved_inputs: tuple[int, ...]
    saved_outputs: tuple[int, ...]
    saved_specs: tuple
    saved_numbers: tuple[int, ...]
    releases: bool
    template: Any = None
    dynamic: Any = None


class Plan(Draft):
    """Everything about a call that does not depend on data: a record. See Note [Plans]; ``Draft`` has its fields."""

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise FrozenInstanceError(f"a plan is a record: use replace({name}=...)")

    if TYPE_CHECKING:

        def draft(self) -> Draft:
            """A draft like this plan, without what was compiled or written for it: so none of that holds itself."""

    def replace(self, **changes: Any) -> Plan:
        """This plan with ``changes``, without what was compiled or written for it."""
        draft = self.draft()
        for name, value in changes.items():
            setattr(draft, name, value)
        return frozen(draft)

    @property
    def settings(self) -> dict:
        """All settings."""
        return {**self.op.defaults, **self.given}

    @property
    def num_outputs(self) -> int:
        """The number of outputs."""
        return len(self.out_specs)

    @property
    def kernels(self) -> Kernels:
        """The compiled kernels, made when somebody asks."""
        late = self.late
        if late.kernels is None:
            late.kernels = Kernels.of(self.op, self.specs, self.given, self.binding)
        return late.kernels

    @property
    def recorded(self) -> Call | None:
        """The form in which the call is recorded, in deferred mode."""
        return self.kernels.recorded(sum(spec is not None for spec in self.specs)) if self.modes.deferred else None

    @property
    def saves_inference(self) -> bool:
        """True if an inference tensor would be saved, which is refused if a gradient goes anywhere."""
        return any([spec is not None and spec.inference for spec in self.saved_specs])

    @property
    def sources(self) -> dict[int, list]:
        """The sources of what the formulas in use name, by their positions."""
        late = self.late
        if late.sources is None:
            op, specs, count = self.op, self.specs, self.num_outputs
            late.sources = {
                position: [op.locate(name, position, specs, count) for name in op.formula(position).names]
                for position, wanted in zip(self.positions, self.needed, strict=True)
                if wanted
            }
        return late.sources

    @property
    def size(self) -> tuple[float, bool]:
        """As ``Late`` has it."""
        late = self.late
        if late.size is None:
            results = list(map(numel_of, self.out_specs))
            small = max([*results, *[spec.numel for spec in self.specs if isinstance(spec, Spec)]]) <= SMALL
            late.size = sum(results) / self.binding.shape_class.count, small
        return late.size

    @property
    def passes(self) -> bool:
        """True if each gradient that is wanted is that of the output, as it is."""
        if self.mixed or self.level:
            return False
        if self.binding is None:
            return self.passes_at(self.specs, self.out_specs)
        return self.binding.shape_class.passes(self)

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
        op, settings = self.op, self.settings
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
            for source in self.sources[position]:
                origin, key = source
                if origin == "grad":
                    arguments.append(grads[key])
                elif origin == "inputs":
                    arguments.append(tuple(index["input", i] for i in key))
                elif origin == "setting":
                    arguments.append(settings[key])
                elif origin == "constant":
                    arguments.append(key)
                else:
                    arguments.append(index[source])
            results.append(op.gradient(position, arguments, self.specs[position]))
        return tuple(results)

    def gradient_layouts(self, strides: tuple[int, ...] | None) -> tuple | None:
        """The layouts of gradients, at each position, where that of the (first) output lies so: Note [Gradients as
        views].

        None: all in row-major order, as those of mismatches, which are made to fit.
        """
        joint = self.op.joint
        by_operand = tuple(
            self.op.gradient_strides(self, position, strides)
            if wanted and not joint and not self.specs[position].mismatched
            else None
            for position, wanted in zip(self.positions, self.needed, strict=True)
        )
        layouts = self.late.layouts[strides] = by_operand if any(by_operand) else None
        return layouts

    # -- kernels for all lengths: Note [Symbolic kernels] in ``execution/kernels/symbolic_kernel.py``
    # ---------------------------------

    def fitting(self, kernel: SymbolicKernel | None) -> SymbolicKernel | None:
        """The form of a kernel for calls as large as these; None if XLA runs them."""
        return None if kernel is None else kernel.fitting(*self.size)

    def symbolic_forward(self) -> SymbolicKernel | None:
        """The kernel for all lengths that calls run; None if they need one of their own."""
        shape_class = self.binding.shape_class
        kernel = shape_class.kernels.get(()) or shape_class.kernel(self)
        return None if kernel is None else kernel.fitting(*self.size)

    def symbolic_backward(self, *some: tuple[bool, ...]) -> SymbolicKernel | None:
        """The same for gradients: for all that it needs, or for those that are wanted, of those given."""
        wanted, given = some or (self.needed, (True,) * self.slots)
        passing = wanted == self.needed and all(given) and self.passes
        if passing or not any(wanted):
            return None
        return self.fitting(self.binding.shape_class.kernel(self, wanted, given))

    # -- backward kernels --------------------------------------------------------------------------------------------

    def backward(self, wanted: tuple[bool, ...], defined: tuple[bool, ...]) -> Callable:
        """The backward kernel for these wanted inputs and these defined gradients, made when first asked for."""
        if not any(wanted):
            return lambda *values: (None,) * len(wanted)
        symbolic = None if self.template is None else self.symbolic_backward(wanted, defined)
        if symbolic is not None:
            return partial(self._backward_symbolic, symbolic, wanted, defined)
        return self.own_backward(wanted, defined)

    def _backward_symbolic(
        self, symbolic: SymbolicKernel, wanted: tuple[bool, ...], defined: tuple[bool, ...], *values: Any
    ) -> Any:
        """Have gradients computed by a kernel for all lengths, or by one of its own, if that does not take them."""
        shapes = [spec.shape for spec, has in zip(self.out_specs, defined, strict=False) if has]
        keys = symbolic.keys(self.binding.numbers, shapes, self.size)
        gradients = None if thread.modes.deferred else symbolic.run(*keys, *values)
        return self.own_backward(wanted, defined)(*values) if gradients is None else gradients

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
        binding: ClassBinding | None = self.binding
        known: Any = None
        if binding is None and may_be_symbolic(self.specs):  # perhaps there is one by now
            given = self.op, self.specs, self.given
            like, numbers = sought(*given)
            binding = like.classes.bound(*given, numbers)
        call = "backward", self.op, self.specs, self.given, self.needed, wanted, defined
        if binding is not None:
            known = Rather(partial(binding.backward, self, wanted, defined), *call)
        elif is_run_here(self.specs) and not self.kernels.many:
            known = kept_entry(*call)
        elif self.kernels.many and all(defined) and all(wanted) and len(wanted) == len(self.specs):
            grads, shapes = ([tuple(spec.shape) for spec in specs] for specs in (self.out_specs, self.specs))
            function = partial(self.op.loop.backward, shapes=shapes)
            known = partial(host_function, function, grads, shapes, False, self.specs[0].dtype.numpy, self.settings)
        return Kernel(
            self.backward_function(wanted, defined),
            name=self.node_class.__name__,
            wide=self.kernels.wide,
            arguments=self.backward_arguments(defined),
            known=known,
            settings=self.settings,
            checked=sum(defined),  # gradients of what was cast when it was written, or of a mismatch
        )

    def backward_function(self, wanted: tuple[bool, ...], defined: tuple[bool, ...]) -> Callable:
        """The array function of a backward kernel."""
        count, formulas, node_name = sum(defined), self.replace(), self.node_class.__name__
        op, widens = self.op, self._widens(wanted)

        @partial(flat, own=op.is_own(self.settings))
        def backward(*values: Any) -> tuple:
            taken = op.widened(values) if widens else values
            given = iter(taken[:count])
            grads = [next(given) if has else None for has in defined]
            results = formulas.gradients(grads, taken[count:], wanted)
            for position, grad in zip(formulas.positions, results, strict=True):
                if grad is not None:
                    check_gradient(node_name, position, grad, formulas.specs[position])
            return results

        return backward

    def _widens(self, wanted: tuple[bool, ...]) -> bool:
        """Tell whether the formulas are computed in float32, and rounded once, if they are given halves: Note
        [Halves]."""
        once, names = self.op.rounds_once, self.op.inputs
        if once is True or not once:
            return bool(once)
        return all(names[i] in once for i, want in zip(self.positions, wanted, strict=True) if want)

    @property
    def forward_arguments(self) -> list[Any]:
        """The arguments of a forward kernel."""
        return [abstract_argument(spec) for spec in self.specs if spec is not None]

    def backward_arguments(self, defined: tuple[bool, ...]) -> list[Any]:
        """The arguments of a backward kernel: gradients, then what was saved."""
        specs = [self.specs[i] for i in self.saved_inputs]
        grads = [spec for spec, has in zip(self.out_specs, defined, strict=False) if has]
        return [abstract_argument(spec) for spec in (*grads, *specs, *(self.out_specs[i] for i in self.saved_outputs))]


def frozen(draft: Draft) -> Plan:
    """A draft, as the plan that it is from then on."""
    draft.__class__ = Plan
    return draft  # type: ignore[return-value]


Plan.draft = defined([  # type: ignore[method-assign]
    "def draft(plan):",
    "    copy, late = new(Draft), new(Late)",
    *(f"    copy.{one.name} = plan.{one.name}" for one in fields(Draft)),
    *(f"    late.{name} = None" for name in Late.__slots__),
    "    late.sources, late.layouts = plan.late.sources, {}",
    "    copy.late = late",
    "    return copy",
], "draft", {"new": object.__new__, "Draft": Draft, "Late": Late})  # fmt: skip


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
