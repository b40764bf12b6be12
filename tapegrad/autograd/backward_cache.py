"""Backward passes that come back are not walked again.

Note [Cached backward passes]
A training loop builds the same graph again and again, of other nodes. In deferred mode all that a backward pass does to
it is to record instructions, and to accumulate what they will compute; so if a graph is wired as one before, and what
its nodes saved stands at the same places of the program, the pass will record the very same instructions. A
``CachedBackward`` remembers them. Instead of counting dependencies, queueing nodes, running each and adding up,
``fits`` compares the graph with the one that was remembered, the program is extended by the instructions, the nodes let
go what they saved, and the leaves accumulate.

What ``fits`` compares is all that the engine, the nodes and their appliers would have looked at: the classes and plans
of the nodes, their order, where each edge leads, that there are no hooks, that nothing was freed or written to since it
was saved, and that it makes no difference when the leaves accumulate. It does so in C: each comparison is one of two
lists, got by mapping an ``attrgetter`` over the nodes. Where anything differs the engine does the work, and raises the
errors.

Only plain passes are remembered: from one root to all leaves, which accumulate or are asked for (``autograd.grad``),
with nothing but operators' nodes between. The first time that a pass looks as one before (``PassSignature``) the engine
runs it under observation; if it can't be remembered, or what was remembered does not fit later, this is tried more and
more rarely.

Without all this, a step of the perceptron of single numbers (``benchmarks/workloads.py``) takes Python 1.4 times as
long, a chain of multiplications 1.0 to 1.3 times, a loop of LSTM cells up to 1.2 times, and a net of few large
operators as long as with it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from contextlib import suppress
from functools import cache
from itertools import chain, compress, islice, repeat
from operator import attrgetter, gt, is_
from typing import Any, cast

from tapegrad._src.caches import Cache, weigh
from tapegrad._src.dispatch.nodes.accumulate_grad import AccumulateGrad
from tapegrad._src.dispatch.nodes.operator import OperatorNode
from tapegrad._src.engine.gradient_ops import GradientOps
from tapegrad._src.engine.graph_task import next_task_id
from tapegrad._src.execution.programs.segment import ProgramLocation, RecordedSegment, Unrepeatable, present_location
from tapegrad._src.tape.mechanisms import CACHED_BACKWARD
from tapegrad._src.tape.modes import thread
from tapegrad._src.tape.node import Edge, Node
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.gradient_types import RecordedValues
from tapegrad.autograd.laid_out import LaidOut, laid, strides_of, value_in
from tapegrad.autograd.running import engine

FEWEST = 16
"""A graph with fewer nodes than this is as quickly walked."""

NODE = 512
"""About how many bytes a cached backward pass takes for each node: measured."""

Way = tuple[int, int]
"""A way to find a node: which edge of which node leads to it."""

next_edges, hook_slots, sequence_nr = attrgetter("next_edges"), attrgetter("hook_slots"), attrgetter("sequence_nr")
plan, saved, output_storages = attrgetter("plan"), attrgetter("saved"), attrgetter("output_storages")
spec, value, stored_value = attrgetter("_spec"), attrgetter("_value"), attrgetter("_storage.value")
versions, counter, version = attrgetter("versions"), attrgetter("_counter"), attrgetter("_storage.counter.version")
edge_of_leaf, view_of_leaf = attrgetter("variable._edge"), attrgetter("variable._view")



class Mismatch(Exception):
    """A graph is not as the one that was remembered."""


MISMATCHES = Mismatch, Unrepeatable, RuntimeError, AttributeError, IndexError, KeyError
"""The errors raised where a graph is looked at that is not as expected. The user sees what the engine says of it."""


class CachedBackward:
    """The recording of a backward pass, and all that must be as it was for it to record the same again.

    Attributes:
        ways, leaf_ways: how the operators' nodes are found, in the order in which they ran, and the leaves.
        segment: the instructions; its results are the gradients of the leaves.
        layouts: how these lie in memory.
    """

    def __init__(self, observed: Observed, since: ProgramLocation, seed: Any) -> None:
        nodes, leaves = observed.nodes, [leaf for leaf, _ in observed.arrived]
        self._note_graph(nodes, leaves)
        self._note_saved(nodes)
        arrived = [grad for _, grad in observed.arrived]
        self.layouts = list(map(strides_of, arrived))
        self.segment = RecordedSegment(since, self._values(nodes, seed), list(map(value_in, arrived)), seed)

    def _note_graph(self, nodes: list[OperatorNode], leaves: list[AccumulateGrad]) -> None:
        """Note the wiring of the nodes: one edge for each by which it is found, and where the others lead."""
        numbers: dict[Any, int] = {node: number for number, node in enumerate([*nodes, *leaves])}
        ways: dict[int, Way] = {}
        crossing: list[tuple[int, int, int]] = []
        self.undefined: list[Way] = []
        self.input_nrs: list[tuple[int, int, int]] = []
        for number, node in enumerate(nodes):
            for position, edge in enumerate(node.next_edges):
                if edge is None:
                    self.undefined += [(number, position)] * node.plan.needed[position]
                    continue
                end = numbers[edge[0]]
                if ways.setdefault(end, (number, position)) != (number, position):
                    crossing.append((number, position, end))
                if edge[0].input_slots != 1:
                    self.input_nrs.append((number, position, edge[1]))
        self.ways = [ways[number] for number in range(1, len(nodes))]
        self.leaf_ways = [ways[number] for number in range(len(nodes), len(numbers))]
        self.crossing = [(number, position) for number, position, _ in crossing]
        self.ends = [end for _, _, end in crossing]
        self.plans = list(map(plan, nodes))
        self._check_graph(nodes, leaves)

    def _note_saved(self, nodes: list[OperatorNode]) -> None:
        """Note where all is found that the nodes read.

        Of most nodes what was saved is read as it is: the values of plain tensors, those in the storages of tensors
        that had been written to before, and what is no tensor. Other nodes are asked for what they saved (``careful``).
        """
        self.with_numbers = [number for number, plan in enumerate(self.plans) if plan.saved_numbers]
        self.releasing = [plan.releases and not plan.saved_numbers for plan in self.plans]
        self.ordinary = list(map(is_ordinary, nodes))
        self.careful = [number for number, ordinary in enumerate(self.ordinary) if not ordinary]
        ordinary = list(zip(nodes, self.ordinary, strict=True))
        self.savers = [easy and bool(node.plan.saved_outputs) for node, easy in ordinary]
        self.versioned = [easy and hasattr(node, "versions") for node, easy in ordinary]
        items = list(chain.from_iterable(map(saved, compress(nodes, self.ordinary))))
        self.tensors = [isinstance(item, Tensor) for item in items]
        self.specs = list(map(spec, compress(items, self.tensors)))
        self.stored = list(map(is_stored, items))
        self.plain = [tensor and not stored for tensor, stored in zip(self.tensors, self.stored, strict=True)]
        self.others = [not tensor for tensor in self.tensors]
        self.counted = [
            is_stored(item)
            for node in compress(nodes, self.versioned)
            for item in cast(tuple, node.saved)[: len(node.versions)]
        ]

    def _values(self, nodes: list[OperatorNode], seed: Any) -> list[Any]:
        """All that the nodes read, and the seed."""
        kept = list(map(saved, compress(nodes, self.ordinary)))
        if list(map(type, kept)).count(tuple) != len(kept):
            raise Mismatch  # it has been freed, or packed by hooks
        items = list(chain.from_iterable(kept))
        if list(map(spec, compress(items, self.tensors))) != self.specs:
            raise Mismatch  # it has been written to
        values = list(map(value, compress(items, self.plain)))
        stored = list(compress(items, self.stored))
        if stored:
            expected = compress(chain.from_iterable(map(versions, compress(nodes, self.versioned))), self.counted)
            if list(map(version, stored)) != list(expected) or list(map(counter, stored)).count(None) != len(stored):
                raise Mismatch
            values += map(stored_value, stored)
        values += compress(items, self.others)
        for number in self.careful:
            values += nodes[number].saved_values()
        values.append(seed)
        return values

    def nodes_from(self, root: Any) -> tuple[list[OperatorNode], list[AccumulateGrad]]:
        """The nodes and leaves of a graph that is wired as the one remembered. Raises Unlike: it is not."""
        nodes = [root]
        add = nodes.append
        try:
            for number, position in self.ways:
                add(nodes[number].next_edges[position][0])
            leaves = [nodes[number].next_edges[position][0] for number, position in self.leaf_ways]
            self._check_graph(nodes, leaves)
        except (TypeError, IndexError, AttributeError):
            raise Mismatch from None
        return nodes, leaves

    def _check_graph(self, nodes: list[OperatorNode], leaves: list[AccumulateGrad]) -> None:
        """Raises ``Mismatch`` if the nodes are not wired and ordered so that the engine would do the same."""
        edges: list[Any] = list(map(next_edges, nodes))
        ends = (edges[number][position][0] for number, position in self.crossing)
        numbers = list(map(sequence_nr, nodes))
        like = (
            list(map(plan, nodes)) == self.plans
            and list(map(type, leaves)).count(AccumulateGrad) == len(set(leaves)) == len(self.leaf_ways)
            and all(map(is_, ends, map([*nodes, *leaves].__getitem__, self.ends)))
            and all(edges[number][position][1] == nr for number, position, nr in self.input_nrs)
            and all(edges[number][position] is None for number, position in self.undefined)
            and list(map(hook_slots, nodes)).count(None) == len(nodes)
            and list(map(hook_slots, leaves)).count(None) == len(leaves)
            and list(map(edge_of_leaf, leaves)).count(None) == len(leaves)
            and list(map(view_of_leaf, leaves)).count(None) == len(leaves)
            and all(map(gt, numbers, islice(numbers, 1, None)))
        )
        if not like:
            raise Mismatch

    def fits(self, nodes: list[OperatorNode], leaves: list[AccumulateGrad], place: ProgramLocation, seed: Any) -> bool:
        """Tell whether what the nodes saved is where it was in the program."""
        if not self.segment.begins_at(place):
            return False
        savers = list(compress(nodes, self.savers))
        if list(map(output_storages, savers)).count(None) != len(savers) or not may_accumulate_last(nodes, leaves):
            return False
        try:
            return self.segment.fits(place, self._values(nodes, seed))
        except MISMATCHES:
            return False

    def release(self, nodes: list[OperatorNode]) -> None:
        """Have the nodes let go what they saved."""
        deque(map(setattr, compress(nodes, self.releasing), repeat("saved"), repeat(thread.backward_call)), maxlen=0)
        for number in self.with_numbers:
            nodes[number].release_variables()


def is_ordinary(node: OperatorNode) -> bool:
    """Tell whether what a node saved can be read as it is."""
    if node.plan.saved_outputs and node.output_storages is not None:
        return False
    return not isinstance(node.saved, tuple) or all(map(is_readable, node.saved))


def is_stored(item: Any) -> bool:
    """Tell whether a saved item is a tensor whose value its storage has."""
    return isinstance(item, Tensor) and not item._spec.plain


def is_readable(item: Any) -> bool:
    """Tell whether a saved item is no tensor, a plain one, or one that shows all of its storage and shares no
    counter."""
    if not is_stored(item):
        return True
    return not (item._spec.window or item._spec.inference) and item._storage is not None and item._counter is None


class Observed(LaidOut):
    """Values of a pass that is observed: leaves get what arrives at them when all is known."""

    def __init__(self) -> None:
        super().__init__(RecordedValues)
        self.nodes: list[OperatorNode] = []
        self.arrived: list[tuple[AccumulateGrad, Any]] = []

    def run(self, node: Node, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        if type(node) is AccumulateGrad:
            self.arrived.append((node, grads[0]))
            return ()
        if isinstance(node, OperatorNode):
            self.nodes.append(node)
        return super().run(node, grads, needed)


class PassSignature:
    """Passes that look alike before their nodes are looked at.

    Attributes:
        passes: those that are remembered.
        walked: how many were left to the engine; ``due``: with which of them one is observed.
    """

    __slots__ = ("passes", "walked", "due")

    FIRST = 2
    """With which of them one is observed first."""

    def __init__(self) -> None:
        self.passes: list[CachedBackward] = []
        self.walked, self.due = 0, self.FIRST


MOST_ALIKE = 4
"""The most passes of a kind that are looked through."""

_kinds = Cache("backward passes")
_remembering = threading.RLock()


def kind_of(key: tuple) -> PassSignature:
    """The kind with this key."""
    return _kinds.get(key) or _kinds.keep(key, PassSignature())


def remember(kind: PassSignature, new: CachedBackward) -> None:
    """Keep a pass, in place of the first of its kind if there are too many."""
    with _remembering:
        kind.passes = [*kind.passes[1 - MOST_ALIKE :], new]
    weigh(new, NODE * len(new.plans))


def run(edge: Edge, seed: Any, keep_graph: bool, targets: Sequence[Edge], single_thread: Callable[[], bool]) -> Any:
    """Run the pass from ``edge`` if it is known, or to get to know it; it is on values, and the thread's outermost.

    Returns:
        The gradients at ``targets``; an empty list if there are none, and the leaves have accumulated. None if the pass
        was not run: the engine is to do it.
    """
    place, (root, output_nr) = present_location(), edge
    if place is None or not isinstance(root, OperatorNode):
        return None
    kind = kind_of((thread.modes, place.size, root.plan, output_nr))
    for known in kind.passes:
        try:
            nodes, leaves = known.nodes_from(root)
        except Mismatch:
            continue
        if are_ends(targets, leaves) and known.fits(nodes, leaves, place, seed):
            grads = known.segment.append(place, seed)
            if grads is None:
                return None
            next_task_id()  # the call counts as one of the engine's
            if not keep_graph:
                known.release(nodes)
            return delivered(zip(leaves, map(laid, grads, known.layouts), strict=True), targets)
    kind.walked += 1
    if kind.walked < kind.due or CACHED_BACKWARD.off:
        return None
    kind.due = 2 * kind.walked
    found = graph_of(root)
    if found is None or not are_ends(targets, found[1]) or not may_accumulate_last(*found):
        return None
    return observe(kind, edge, seed, keep_graph, targets, single_thread)


def observe(
    kind: PassSignature,
    edge: Edge,
    seed: Any,
    keep_graph: bool,
    targets: Sequence[Edge],
    single_thread: Callable[[], bool],
) -> list[Any]:
    """Have the engine run the pass, and remember it if that is possible."""
    since, seen = cast(ProgramLocation, present_location()), Observed()
    since.hold(True)
    try:
        engine.execute([edge], [seed], True, False, True, [], cast(GradientOps, seen), single_thread)
        with suppress(*MISMATCHES):
            remember(kind, CachedBackward(seen, since, seed))
    finally:
        since.hold(False)
        if not keep_graph:
            for node in seen.nodes:
                node.release_variables()
        captured = delivered(seen.arrived, targets)
    return captured


def are_ends(targets: Sequence[Edge], leaves: Collection[Node]) -> bool:
    """Tell whether gradients are wanted of all leaves, or are to be accumulated in all: then no node is left out."""
    return not targets or {node for node, _ in targets} == set(leaves)


def delivered(arrived: Iterable[tuple[AccumulateGrad, Any]], targets: Sequence[Edge]) -> list[Any]:
    """The gradients that have arrived at the targets; without any, the leaves accumulate."""
    if targets:
        found = dict(arrived)
        return [found.get(node) for node, _ in targets]  # type: ignore[call-overload]
    for leaf, grad in arrived:
        leaf.apply_values([value_in(grad)], None)
    return []


def may_accumulate_last(nodes: Sequence[OperatorNode], leaves: Sequence[AccumulateGrad]) -> bool:
    """Tell whether the leaves can accumulate when all nodes have run, as if each had when its gradient was there.

    So it is if that neither fails nor changes what a node has saved: the gradients that are there have memory of their
    own, and what is added to them is of their kind.
    """
    present = [(leaf.variable._grad, leaf.variable) for leaf in leaves if leaf.variable._grad is not None]
    if not present:
        return True
    grads = {id(grad) for grad, _ in present}
    kept = (items for items in map(saved, nodes) if type(items) is tuple)
    if not all(is_own(grad, tensor) for grad, tensor in present) or not grads.isdisjoint(map(id, chain(*kept))):
        return False
    storages = [made for made in map(output_storages, nodes) if made is not None]
    counters = {id(made.counter) for outputs in storages for made in outputs.values()}
    return not any(grad._storage is not None and id(grad._storage.counter) in counters for grad, _ in present)


def is_own(grad: Tensor, tensor: Tensor) -> bool:
    """Tell whether no other tensor shares the memory of a gradient of a leaf, to which another can be added."""
    spec, storage = grad._spec, grad._storage
    alike = spec.shape == tensor._spec.shape and spec.dtype is tensor._spec.dtype and not spec.inference
    return alike and not spec.window and (storage is None or len(list(storage.living())) == 1)


def graph_of(root: OperatorNode) -> tuple[list[OperatorNode], list[AccumulateGrad]] | None:
    """The nodes and the leaves of a graph of which a pass may be remembered; None of one that is small or special."""
    found: set[Any] = {root}
    stack: list[Any] = [root]
    nodes: list[OperatorNode] = []
    leaves: list[AccumulateGrad] = []
    while stack:
        node = stack.pop()
        if type(node) is AccumulateGrad:
            usual = node.variable._edge is None and node.variable._view is None
            leaves.append(node)
        else:
            usual = (
                isinstance(node, OperatorNode) and is_usual(cast(Hashable, type(node))) and type(node.saved) is tuple
            )
            nodes.append(node)
        if not usual or node.hook_slots is not None:
            return None
        ends = {edge[0] for edge in node.next_edges if edge is not None} - found
        found |= ends
        stack += ends
    return (nodes, leaves) if len(found) >= FEWEST else None


@cache
def is_usual(node_class: Hashable) -> bool:
    """Tell whether the nodes of an operator do what those of all operators do."""
    methods = ("apply_values", "apply_some", "saved_values", "release_variables")
    return all(getattr(node_class, name) is getattr(OperatorNode, name) for name in methods)
