"""Histories that were taken down, made again: on values of a program, or on tensors, so that they can be recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapegrad._src.dispatch.nodes.accumulate_grad import gradient_edge
from tapegrad._src.dispatch.nodes.saved_tensor import SavedTensor, Saves
from tapegrad._src.dispatch.plan import Plan
from tapegrad._src.tape.node import Edge, Node, next_sequence_nr
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import edge_of, version_of, wrap
from tapegrad.compiler.capture.joint_graph import Item, Joint, Location, NodeTemplate, Stage


class Boundary(Node):
    """Stands where a gradient leaves a stage, and hands it on.

    Args:
        edge: to where; None if it is only wanted itself.
        spec: what the gradient is one of.
    """

    __slots__ = ("spec",)

    def __init__(self, edge: Edge | None, spec: Spec) -> None:
        self.next_edges, self.spec = (() if edge is None else (edge,)), spec
        self.sequence_nr = next_sequence_nr()

    def apply_values(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        return grads[: len(self.next_edges)]

    apply = apply_values

    @property
    def _input_metadata(self) -> tuple[Spec, ...]:
        return (self.spec,)

    def name(self) -> str:
        return "CompiledFunctionBackward"


def rebuilt(
    joint: Joint, number: int, values: Callable[[int], Any], inputs: dict[int, Any], ends: Sequence[Edge | None],
    direct: bool = False,
) -> tuple[list[Edge], list[Edge]]:  # fmt: skip
    """The graph of a stage again: the edges of its outputs, and those of its ends.

    Args:
        joint, number: which stage of which graph.
        values: gives the value of a slot.
        inputs: by number, the inputs that were saved: tensors, or values if the pass is not recorded.
        ends: where gradients go from there, if the pass is recorded; else None each.
        direct: whether the graph leads there itself; else there is a node between that shows what arrives.
    """
    return Rebuilding(joint, joint.stages[number], values, inputs, ends, direct).edges()


class Rebuilding:
    """Makes the graph of a stage again; see ``rebuilt``."""

    def __init__(
        self, joint: Joint, stage: Stage, values: Callable[[int], Any], inputs: dict[int, Any],
        ends: Sequence[Edge | None], direct: bool,
    ) -> None:  # fmt: skip
        self.joint, self.stage, self.values, self.inputs = joint, stage, values, inputs
        self.recorded = any(edge is not None for edge in ends)
        specs = map(self._spec_of, stage.ends)
        self.ends: list[Edge] = [
            edge if direct and edge is not None else (Boundary(edge, spec), 0)
            for edge, spec in zip(ends, specs, strict=True)
        ]
        self.by_input = dict(zip(stage.ends, self.ends, strict=True))
        self.earlier = {
            joint.stages[end[0]].outputs[end[1]]: edge
            for end, edge in self.by_input.items()
            if isinstance(end, tuple)
        }
        self.made = {number: self._bare(joint.nodes[number]) for number in stage.nodes}

    def _spec_of(self, end: int | tuple[int, int]) -> Spec:
        joint = self.joint
        return joint.specs[end] if isinstance(end, int) else joint.stages[end[0]].specs[end[1]]

    @staticmethod
    def _bare(record: NodeTemplate) -> Any:
        node: Any = object.__new__(record.made_as)
        node.plan, node.sequence_nr = record.plan, next_sequence_nr()
        return node

    def edges(self) -> tuple[list[Edge], list[Edge]]:
        """The edges of the outputs, and of the ends."""
        for number, node in self.made.items():
            record = self.joint.nodes[number]
            node.next_edges = tuple(None if location is None else self._edge(location) for location in record.edges)
            inputs = len(record.plan.saved_inputs)
            if self.recorded:
                node.saved = Saves(self._saved(item, i - inputs, record.plan) for i, item in enumerate(record.saved))
            else:
                node.saved = tuple(map(self._kept, record.saved))
        return [(self.made[number], nr) for number, nr in self.stage.outputs], self.ends

    def _edge(self, location: Location) -> Edge:
        number, output_nr = location
        if location in self.earlier:
            return self.earlier[location]
        if number < 0:
            return self.by_input[self.joint.ends[~number]]
        return self.made[number], output_nr

    def _kept(self, item: Item) -> Any:
        """The saved items for a pass on values: whatever required grad has a place in a graph."""
        tag, of, spec, edge = item
        if tag == "number":
            return of
        if tag == "value":
            return self.values(of)
        if tag == "tensor":
            return wrap(self.values(of), spec, None if edge is None else self._edge(edge))
        return wrap(self.inputs[of], spec.fresh, self.ends[0] if spec.requires_grad else None)

    def _saved(self, item: Item, output: int, plan: Plan) -> Any:
        """The saved items for a pass that is recorded: tensors with the histories that they had."""
        tag, of, spec, location = item
        if tag == "number":
            return of
        if tag == "value":
            number = plan.saved_outputs[output] if output >= 0 else -1
            value = self.values(of)
            return value if number < 0 else SavedTensor.of_output(value, plan.out_specs[number], number)
        if tag == "tensor":
            edge = None if location is None else self._edge(location)
            return SavedTensor.of_input(wrap(self.values(of), spec, edge), edge, 0, edge is None)
        tensor = self.inputs[of]
        edge = gradient_edge(tensor)
        return SavedTensor.of_input(tensor, edge, version_of(tensor), edge_of(tensor) is None)
