"""Joint graphs: the histories that leave a captured call, taken down so that they can be made again for other calls.

Note [Histories that leave a call]
A captured call may return tensors with a history: the outputs of a model, whose backward pass is asked for later, or
never. What it has recorded is taken down by plans, slots of the captured program and numbers (``Joint``); the outputs
get one node instead, ``CompiledFunctionBackward`` (``compiled_function.py``), whose edges lead to where the gradients
of parameters and inputs go. From what is taken down the graph can be made again whenever it is needed
(``rebuilt_graph.py``): on values of a program, to record a backward pass that XLA compiles (``backward_programs.py``),
or on tensors, for ``create_graph=True``.

What is between must be nodes of operators, without hooks, that have kept what they saved as it was. Everything else
(custom functions, hooks on tensors inside, saved-tensor hooks) belongs to one call alone: its history stays its own,
and Python is run.

An output that another output was computed from keeps its place between: hooks on it, and gradients asked for at it, see
what comes from both. So outputs are put in *stages*: the nodes of one stage lead to outputs of earlier ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from sys import getrefcount
from typing import Any, NamedTuple

from tapegrad._src.dispatch.nodes.accumulate_grad import AccumulateGrad, leaf_edge
from tapegrad._src.dispatch.nodes.operator import OperatorNode
from tapegrad._src.dispatch.plan import Plan
from tapegrad._src.execution.data.values import NUMBERS, number_key
from tapegrad._src.tape.node import Edge, Node
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import Tensor, edge_of, value_of
from tapegrad.autograd.backward_cache import is_usual
from tapegrad.compiler.capture.autograd_histories import is_used_up
from tapegrad.compiler.capture.capture import Capture
from tapegrad.compiler.capture.sources import TensorSource, Unaccounted

_OF_NODES = frozenset({"versions", "output_storages"})
"""The attributes that a node may have had set, and be taken down."""

MAY_BE_ASKED = "it returns a tensor with a history: its backward pass may still be asked for"

Location = tuple[int, int]
"""An edge that was taken down: the number of a node and the output; or, below 0, which of the ends (``~number``)."""


class Item(NamedTuple):
    """An item that a node has saved.

    ``tag`` is ``"input"`` (tensor number ``of`` of those that were there before), ``"tensor"`` (made in the call: its
    elements are slot ``of``), ``"value"`` (the elements alone) or ``"number"`` (whatever else; ``of`` itself, and what
    tells it apart in place of the spec).
    """

    tag: str
    of: Any
    spec: Any = None
    edge: Location | None = None


class NodeTemplate(NamedTuple):
    """A node that was taken down."""

    made_as: type
    plan: Plan
    edges: tuple[Location | None, ...]
    saved: tuple[Item, ...]


class Stage(NamedTuple):
    """Outputs that share a node, and what is computed backward from them.

    Attributes:
        outputs: their edges, and ``specs``: what they are.
        ends: where gradients leave it: an input, by number, or an output of an earlier stage (stage, number).
        nodes: the numbers of its nodes.
        slots: what these have saved that was computed in the call, or given to the program.
        inputs: which of the inputs they have saved.
        checked: the outputs that were saved: they must not be written to.
    """

    outputs: tuple[Location, ...]
    specs: tuple[Spec, ...]
    ends: tuple[int | tuple[int, int], ...]
    nodes: tuple[int, ...]
    slots: tuple[int, ...]
    inputs: tuple[int, ...]
    checked: tuple[int, ...]


class Joint:
    """The histories that leave a call, taken down. See Note [Histories that leave a call].

    Args:
        capture: the call.
        leaves: the outputs with histories that are not used up, each once.

    Raises:
        Unaccounted: there is something in them that belongs to this call alone.

    Attributes:
        inputs: tensors from before: those that nodes have saved, and those where gradients go; ``specs``: what these
            are.
        ends: of which of them a gradient is computed, in the order in which places count them.
        nodes: the nodes, in the order in which they were made.
        stages: the outputs in stages, and ``location``: by the identity of an output, its stage and number there.
        sources: how the inputs are found in other calls, as soon as that is known (``settle``).
    """

    def __init__(self, capture: Capture, leaves: Sequence[Tensor]) -> None:
        self._capture = capture
        self.inputs: list[Tensor] = []
        self._numbers: dict[int, int] = {}
        self.ends: list[int] = []
        self._edges = {
            (id(one.edge[0]), one.edge[1]): one.tensor
            for one in reversed(capture.seen.values())
            if one.before and one.edge is not None
        }
        self._outputs = frozenset(map(id, leaves))
        made = sorted(self._nodes(leaves), key=lambda node: node.sequence_nr)
        self._own = self._own_leaves(made)
        self._locations: dict[int, int] = {id(node): number for number, node in enumerate(made)}
        self._numbers_of_ends: dict[tuple[int, int], int] = {}
        self.nodes = [self._taken_down(node) for node in made]
        self._put_in_stages(leaves)
        self.sources: list[TensorSource] = []
        self.specs = [tensor._spec for tensor in self.inputs]
        del self._capture, self._numbers, self._edges, self._locations, self._numbers_of_ends, self._own, self._outputs

    def settle(self, sources: Callable[[Tensor], TensorSource]) -> None:
        """Note how the inputs are found in other calls, and forget those of this one."""
        self.sources = [sources(tensor) for tensor in self.inputs]
        self.inputs = []

    # -- taking down ---------------------------------------------------------------------------------------------------

    def _nodes(self, leaves: Sequence[Tensor]) -> list[OperatorNode]:
        """All nodes that the call has made and that lead to the outputs, or to what other nodes have saved."""
        stack: list[Node] = [edge[0] for leaf in leaves if (edge := edge_of(leaf)) is not None]
        known: dict[int, OperatorNode] = {}
        while stack:
            node = stack.pop()
            if id(node) in known or self._is_outside(node):
                continue
            known[id(node)] = self._checked(node)
            kept = [item for item in node.saved if isinstance(item, Tensor)]  # type: ignore[attr-defined]
            edges = [*node.next_edges, *(edge_of(item) for item in kept if not self._was_there(item))]
            stack += [edge[0] for edge in edges if edge is not None]
        return list(known.values())

    def _is_outside(self, node: Node) -> bool:
        return isinstance(node, AccumulateGrad) or node.sequence_nr < self._capture.started

    def _checked(self, node: Any) -> OperatorNode:
        """A node that can be taken down."""
        usual = isinstance(node, OperatorNode) and is_usual(type(node)) and type(node.saved) is tuple  # type: ignore
        if not usual or node.hook_slots is not None or node.__dict__.keys() - _OF_NODES:
            raise Unaccounted(f"{MAY_BE_ASKED}, and {node.name()} in it is of this call alone")
        if node.plan.level or node.plan.modes.surviving:
            raise Unaccounted(MAY_BE_ASKED)
        try:
            node.saved_values()
        except RuntimeError as error:
            raise Unaccounted(f"{MAY_BE_ASKED}, and would fail") from error
        return node

    def _was_there(self, tensor: Tensor) -> bool:
        seen = self._capture.seen.get(id(tensor))
        return seen is not None and seen.before

    def _input(self, tensor: Tensor) -> int:
        number = self._numbers.setdefault(id(tensor), len(self.inputs))
        if number == len(self.inputs):
            self.inputs.append(tensor)
        return number

    def _taken_down(self, node: OperatorNode) -> NodeTemplate:
        edges = tuple(None if edge is None else self._location(edge) for edge in node.next_edges)
        return NodeTemplate(type(node), node.plan, edges, tuple(map(self._item, node.saved)))  # type: ignore[arg-type]

    def _location(self, edge: Edge) -> Location | None:
        """The end of an edge; None if no gradient can ever be asked for there."""
        node, output_nr = edge
        number = self._locations.get(id(node))
        if number is not None:
            return number, output_nr
        return None if id(node) in self._own else (~self._end(edge), 0)

    def _own_leaves(self, made: Sequence[OperatorNode]) -> set[int]:
        """The accumulators of leaves that the call has made and that only the history holds."""
        kept = Counter(id(item) for node in made for item in node.saved if isinstance(item, Tensor))  # type: ignore
        ends = {id(edge[0]): edge[0] for node in made for edge in node.next_edges if edge is not None}
        return {key for key, node in ends.items() if type(node) is AccumulateGrad and self._is_own(node, kept)}

    def _is_own(self, node: AccumulateGrad, kept: Counter[int]) -> bool:
        leaf = node.variable
        if self._was_there(leaf) or node.hook_slots is not None or "_hooks" in leaf.__dict__:
            return False
        known = 3 + kept[id(leaf)] + (id(leaf) in self._capture.seen)  # ours, the node's, getrefcount's
        return id(leaf) not in self._outputs and getrefcount(leaf) == known

    def _end(self, edge: Edge) -> int:
        """Which of the ends an edge is that leads out of the call."""
        key = id(edge[0]), edge[1]
        number = self._numbers_of_ends.get(key)
        if number is None:
            leaf = edge[0].variable if isinstance(edge[0], AccumulateGrad) else None
            tensor = self._edges.get(key) if leaf is None else leaf
            if tensor is None or not self._was_there(tensor):
                raise Unaccounted(f"{MAY_BE_ASKED}, and leads to what is not known to have been there before")
            number = self._numbers_of_ends[key] = len(self.ends)
            self.ends.append(self._input(tensor))
        return number

    def _item(self, item: Any) -> Item:
        if isinstance(item, Tensor):
            return self._saved_tensor(item)
        if type(item) in NUMBERS or type(item) in (str, tuple):
            if self._capture.is_dynamic(item):
                raise Unaccounted(f"{MAY_BE_ASKED}, and a number in it is another one in each call")
            return Item("number", item, number_key(item))
        return Item("value", self._slot(item))

    def _saved_tensor(self, tensor: Tensor) -> Item:
        if self._was_there(tensor):
            return Item("input", self._input(tensor), tensor._spec)
        edge, spec = edge_of(tensor), tensor._spec.fresh
        if edge is None and spec.requires_grad:
            if self._location(leaf_edge(tensor)) is not None:  # type: ignore[arg-type]
                raise Unaccounted(f"{MAY_BE_ASKED}, and begins at a leaf that the call has made")
            spec = spec.replace(requires_grad=False)
        if type(tensor) is not Tensor or spec.inference:
            raise Unaccounted(MAY_BE_ASKED)
        return Item("tensor", self._slot(value_of(tensor)), spec, None if edge is None else self._location(edge))

    def _slot(self, value: Any) -> int:
        slot = self._capture.known(value)
        if slot is None or (slot < 0 and ~slot in self._capture.dynamic):
            raise Unaccounted(f"{MAY_BE_ASKED}, and reads what is not known to be there in other calls")
        return slot

    # -- stages --------------------------------------------------------------------------------------------------------

    def _put_in_stages(self, leaves: Sequence[Tensor]) -> None:
        roots: list[Location] = [self._location(edge_of(leaf)) for leaf in leaves]  # type: ignore[arg-type, misc]
        if any(number < 0 for number, _ in roots):
            raise Unaccounted(MAY_BE_ASKED)
        depths = self._depths({number for number, _ in roots})
        order = sorted({depths[number] for number, _ in roots})
        outputs = [tuple(dict.fromkeys(one for one in roots if depths[one[0]] == depth)) for depth in order]
        where = {one: (stage, number) for stage, ones in enumerate(outputs) for number, one in enumerate(ones)}
        specs = {root: leaf._spec.fresh for root, leaf in zip(roots, leaves, strict=True)}
        slots = {root: self._capture.known(value_of(leaf)) for root, leaf in zip(roots, leaves, strict=True)}
        self.location = {id(leaf): where[root] for leaf, root in zip(leaves, roots, strict=True)}
        self.stages = [self._stage(stage, ones, where, specs, slots) for stage, ones in enumerate(outputs)]

    def _depths(self, roots: Collection[int]) -> list[int]:
        """For each node, how many outputs one after the other lie on the way from it."""
        depths: list[int] = []
        for number, record in enumerate(self.nodes):
            followers = [edge[0] for edge in record.edges if edge is not None and edge[0] >= 0]
            if max(followers, default=-1) >= number:
                raise Unaccounted(MAY_BE_ASKED)
            depths.append(max((depths[one] + (one in roots) for one in followers), default=0))
        return depths

    def _stage(
        self, stage: int, outputs: tuple[Location, ...], where: dict[Location, tuple[int, int]],
        specs: dict[Location, Spec], slots: dict[Location, Any],
    ) -> Stage:  # fmt: skip
        earlier = {location: at for location, at in where.items() if at[0] < stage}
        nodes = sorted(self._reached(outputs, earlier))
        ends: dict[int | tuple[int, int], None] = {}
        for number in nodes:
            for edge in self.nodes[number].edges:
                if edge is not None and (edge in earlier or edge[0] < 0):
                    ends[earlier[edge] if edge in earlier else self.ends[~edge[0]]] = None
        items = [item for number in nodes for item in self.nodes[number].saved]
        kept = dict.fromkeys(item.of for item in items if item.tag in ("tensor", "value"))
        inputs = tuple(dict.fromkeys(item.of for item in items if item.tag == "input"))
        checked = tuple(number for number, location in enumerate(outputs) if slots[location] in kept)
        of = tuple(specs[location] for location in outputs)
        return Stage(outputs, of, tuple(ends), tuple(nodes), tuple(kept), inputs, checked)

    def _reached(self, outputs: Sequence[Location], earlier: Collection[Location]) -> set[int]:
        """The nodes of a stage, those included that only what is saved leads to."""
        stack, known = [number for number, _ in outputs], set()
        while stack:
            number = stack.pop()
            if number not in known:
                known.add(number)
                record = self.nodes[number]
                edges = [*record.edges, *(item.edge for item in record.saved)]
                stack += [edge[0] for edge in edges if edge is not None and edge[0] >= 0 and edge not in earlier]
        return known

    # -- comparing -----------------------------------------------------------------------------------------------------

    def same(self, other: Joint) -> bool:
        """Tell whether it is the same for other tensors."""
        return (
            self.ends == other.ends
            and self.stages == other.stages
            and self.specs == other.specs
            and len(self.sources) == len(other.sources)
            and all(mine.same(its) for mine, its in zip(self.sources, other.sources, strict=True))
            and self.nodes == other.nodes
        )


def outgoing(capture: Capture, given: Sequence[Any]) -> Iterator[Tensor]:
    """The tensors among results, each once, that have a history of the call which is not used up.

    Raises:
        Unaccounted: one is a view that has none any more, for what it is a view of was written to.
    """
    known: set[int] = set()
    for leaf in given:
        if isinstance(leaf, Tensor) and id(leaf) not in known and id(leaf) not in capture.seen:
            known.add(id(leaf))
            try:
                edge = edge_of(leaf)
            except RuntimeError as error:  # which is for who asks for its history
                raise Unaccounted(f"it returns a view without a history: {error}") from None
            if edge is not None and not is_used_up(edge, capture):
                yield leaf
