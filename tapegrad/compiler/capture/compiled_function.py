"""``CompiledFunctionBackward``: the node of what a compiled function returns with a history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from sys import getrefcount
from typing import Any

from tapegrad._src.dispatch.nodes.accumulate_grad import WorkerOfDevice, gradient_edge
from tapegrad._src.dispatch.nodes.saved_tensor import check_version, modified, second_backward, was_written
from tapegrad._src.execution.array_functions.host import is_traced
from tapegrad._src.execution.data.values import materialized
from tapegrad._src.execution.programs.step_executable import StepExecutable
from tapegrad._src.execution.recording.capturing import capturing
from tapegrad._src.tape.modes import thread
from tapegrad._src.tape.node import Edge, Node, next_sequence_nr
from tapegrad._src.tensor.geometry import overlaps_itself
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import Tensor, value_of, version_of
from tapegrad.autograd.differentiate import run_backward
from tapegrad.autograd.edges import GradientEdge
from tapegrad.autograd.laid_out import without_gaps
from tapegrad.compiler.capture.backward_programs import Backward
from tapegrad.compiler.capture.capture import Capture
from tapegrad.compiler.capture.joint_graph import Joint, outgoing
from tapegrad.compiler.capture.rebuilt_graph import rebuilt


class CompiledFunctionBackward(Node):
    """The backward pass of one stage of a compiled call, as one node. See Note [Histories that leave a call].

    Args:
        backward: what is the same for all calls.
        kept: what the forward program has kept of this one, in the order of ``backward.locations()``.
        tensors: the inputs that were saved, which must not be written to.
        edges: where the gradients go.
    """

    __slots__ = ("backward", "kept", "tensors", "versions")

    worker: Any = WorkerOfDevice()
    kept: Any
    tensors: Sequence[Tensor]

    def __init__(
        self, backward: Backward, kept: list[Any], tensors: Sequence[Tensor], edges: Sequence[Edge | None]
    ) -> None:
        self.backward, self.kept, self.tensors = backward, kept, tensors
        self.next_edges, self.sequence_nr = tuple(edges), next_sequence_nr()
        self.input_slots = len(backward.stage.specs)
        self.note_versions()

    def note_versions(self) -> None:
        """Note that what was saved is as it was up to here."""
        self.versions = list(map(version_of, self.tensors))

    def _check(self) -> None:
        """Refuse to go on if anything was freed, or written to.

        Raises:
            RuntimeError: so it is.
        """
        if type(self.kept) is not list:
            raise RuntimeError(second_backward(self.kept))
        for tensor, version in zip(self.tensors, self.versions, strict=True):
            check_version(tensor, version, self)
        if self.output_storages is not None:
            for number in self.backward.stage.checked:
                if was_written(self, number):
                    _, counter, expected, _ = self.output_storages[number]
                    spec = self._input_metadata[number]
                    raise RuntimeError(modified(spec, None, counter.version, expected, self, counter.writes))

    def apply_values(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        self._check()
        defined = tuple(grad is not None for grad in grads)
        wanted = (True,) * len(self.next_edges) if needed is None else tuple(needed)
        if not (any(defined) and any(wanted)):
            return (None,) * len(wanted)
        given = [grad for grad in grads if grad is not None]
        given += self.kept
        given += map(value_of, self.tensors)
        backward, pattern = self.backward, (defined, wanted)
        if capturing.by is not None or any(map(is_traced, given)):
            return backward.walk(pattern, given)
        given = list(map(materialized, given))
        program = backward.program(pattern, given)
        if program is None:
            return list(map(materialized, backward.walk(pattern, given)))
        return program.run(given, backward.is_compiled)

    def apply(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        self._check()
        wanted = (True,) * len(self.next_edges) if needed is None else needed
        there = [grad is not None for grad in grads]
        if not (any(there) and any(wanted)):
            return (None,) * len(wanted)
        backward = self.backward
        values = backward.values(list(map(materialized, self.kept)))
        outputs, ends = self.graph(values.__getitem__)
        roots = [GradientEdge(*edge) for edge, is_there in zip(outputs, there, strict=True) if is_there]
        seeds = [grad for grad in grads if grad is not None]
        targets = [GradientEdge(*edge) for edge, want in zip(ends, wanted, strict=True) if want]
        gradients = iter(run_backward(roots, seeds, True, thread.modes.grad, targets, accumulate_grad=False))
        return [next(gradients) if want else None for want in wanted]

    def graph(self, values: Callable[[int], Any], direct: bool = False) -> tuple[list[Edge], list[Edge]]:
        """The graph of operators that it stands for: the edges of its outputs, and those where gradients leave it."""
        backward = self.backward
        inputs = dict(zip(backward.stage.inputs, self.tensors, strict=True))
        return rebuilt(backward.joint, backward.number, values, inputs, self.next_edges, direct)

    def release_variables(self) -> None:
        self.kept, self.tensors = thread.backward_call, ()

    def name(self) -> str:
        return "CompiledFunctionBackward"

    @property
    def _input_metadata(self) -> tuple[Spec, ...]:
        return self.backward.stage.specs


class Histories:
    """The histories that leave the calls of one kind, and what is the same for them all.

    Attributes:
        joint: the graph; ``backwards``: the passes of its stages.
    """

    def __init__(self, joint: Joint, capture: Capture) -> None:
        self.joint = joint
        self.backwards = [Backward(joint, number, capture) for number in range(len(joint.stages))]
        self._inputs = joint.inputs
        self._all = tuple(dict.fromkeys(slot for one in self.backwards for slot in one.kept.slots))
        self.held = frozenset(position for one in self.backwards for position in one.kept.held)

    @property
    def slots(self) -> tuple[int, ...]:
        """The results of the program that are kept."""
        return self._all

    @property
    def programs(self) -> list[StepExecutable]:
        """The programs of the backward passes that have been asked for."""
        return [program for backward in self.backwards for program in backward.programs]

    @classmethod
    def of(cls, capture: Capture, given: Sequence[Any]) -> Histories | None:
        """The histories of what a call returns, if there are some that are not used up.

        Raises:
            Unaccounted: they can't be had without running Python.
        """
        leaves = list(outgoing(capture, given))
        return cls(Joint(capture, leaves), capture) if leaves else None

    def nodes(
        self, value: Any, inputs: Sequence[Any], tensors: Sequence[Tensor]
    ) -> list[CompiledFunctionBackward]:
        """The nodes of a call, one for each stage.

        Args:
            value: gives the result in a slot.
            inputs: of the program.
            tensors: the inputs of the graph.
        """
        made: list[CompiledFunctionBackward] = []
        for backward in self.backwards:
            kept = [value(slot) for slot in backward.kept.slots]
            kept += [inputs[position] for position in backward.kept.held]
            saved = [tensors[number] for number in backward.stage.inputs]
            edges = [
                gradient_edge(tensors[end]) if isinstance(end, int) else (made[end[0]], end[1])
                for end in backward.stage.ends
            ]
            made.append(CompiledFunctionBackward(backward, kept, saved, edges))
        return made

    def take_over(self, capture: Capture, given: Sequence[Any]) -> list[CompiledFunctionBackward]:
        """Give the outputs of the captured call their nodes, in place of the histories that they have."""
        nodes = self.nodes(capture.values.__getitem__, capture.inputs, self._inputs)
        outputs = {id(leaf): leaf for leaf in given if id(leaf) in self.joint.location}.values()
        for leaf in outputs:
            stage, number = self.joint.location[id(leaf)]
            _location(leaf, (nodes[stage], number))
        self._taken_apart = taken_apart(outputs)
        return nodes

    def give_back(
        self, capture: Capture, nodes: Sequence[CompiledFunctionBackward], given: Sequence[Any]
    ) -> None:
        """Give the outputs histories of operators again: the call could not be accounted for."""
        made: dict[int, list[Edge]] = {}

        def value(slot: int) -> Any:
            return capture.values[slot] if slot >= 0 else capture.inputs[~slot]

        for number, node in enumerate(nodes):
            node.next_edges = tuple(
                made[end[0]][end[1]] if isinstance(end, tuple) else edge
                for end, edge in zip(node.backward.stage.ends, node.next_edges, strict=True)
            )
            made[number] = node.graph(value, True)[0]
        for view, spec, inside in self._taken_apart:
            view._spec = spec
            view.__dict__.update(inside)
        for leaf in given:
            if isinstance(leaf, Tensor) and id(leaf) in self.joint.location:
                stage, number = self.joint.location[id(leaf)]
                _location(leaf, made[stage][number])

    def let_go(self) -> None:
        """Forget what outputs were views of, which would count as somebody who holds it."""
        self._taken_apart = []

    def settle(self, sources: Any) -> None:
        """Note how the inputs are found in other calls: ``sources(tensor)`` says it."""
        self.joint.settle(sources)
        self._inputs = []


def taken_apart(outputs: Iterable[Tensor]) -> list[tuple[Tensor, Spec, dict[str, Any]]]:
    """Make outputs that are views of what nobody else has no views any more, as PyTorch does; gives what they were.

    Several views of one tensor stay views, unless they were made as its parts, and so do those that show one element
    of it several times.
    """
    by_base: dict[int, list[Tensor]] = {}
    for leaf in outputs:
        if leaf._view is not None:
            by_base.setdefault(id(leaf._view.base), []).append(leaf)
    before = []
    for views in by_base.values():
        held = getrefcount(views[0]._view.base) - len(views)  # type: ignore[union-attr]
        if held == 1 and _are_apart(views):  # getrefcount's
            before += [(view, view._spec, dict(view.__dict__)) for view in views]
    for view, spec, _ in before:
        view._value = value_of(view)
        view._spec = without_gaps(spec.fresh, spec.strides)
        view.__dict__.clear()
    return before


def _are_apart(views: list[Tensor]) -> bool:
    """Tell whether no two elements of some views of one tensor are one."""
    for view in views:
        storage, strides = view._storage, view._spec.strides
        written = storage is not None and storage.written
        if written or (strides is not None and overlaps_itself(tuple(view.shape), strides)):
            return False
    return len(views) == 1 or all(view._view.creation == "multi_output" for view in views)  # type: ignore[union-attr]


def _location(leaf: Tensor, edge: Edge) -> None:
    """Put an output into the graph; who writes to it is noticed there."""
    leaf._edge = edge
    if leaf._storage is not None:
        leaf._storage.comes_from(edge)
