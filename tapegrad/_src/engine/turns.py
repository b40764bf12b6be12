"""In which order leaves are accumulated to that become ready at once, which hooks see.

Note [Turns]
All accumulators have the same number, the highest. PyTorch keeps ready nodes in a binary heap of C++'s standard
library, which is not stable: of four leaves that are stacked the third is accumulated to before the second. What is
taken next depends on how many other nodes are ready, and on nothing else. Here nodes that are equal run in the order in
which they become ready; so gradients are handed out in such an order that it comes to the same. Where one node here
stands for several of PyTorch's, its operator declares in which order its inputs have their turns (``turns``, a fact).
Nobody can tell without hooks, and then nothing of this is done.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tapegrad._src.tape.node import HIGHEST_SEQUENCE_NR, Edge, Node


def turns_of(node: Node, waiting: dict[Node, int], others: int) -> Sequence[int] | None:
    """The positions of a node's edges in the order in which its gradients are to be handed out; None: as they stand.

    Args:
        node: the node that has run.
        waiting: for how many gradients each node waits.
        others: how many other nodes are ready.
    """
    edges = node.next_edges
    declared = getattr(node, "turns", None)
    if declared is not None:
        return declared
    if len(edges) < 3:
        return None
    ready = [(at, _is_leaf(edge)) for at, edge in enumerate(edges) if edge is not None and waiting.get(edge[0]) == 1]
    leaves = [at for at, leaf in ready if leaf]
    if len(leaves) < 3:
        return None
    order = list(range(len(edges)))
    for at, turn in zip(leaves, heap_order(others, tuple(leaf for _, leaf in ready)), strict=True):
        order[at] = leaves[turn]
    return order


def _is_leaf(edge: Edge) -> bool:
    return edge[0].sequence_nr == HIGHEST_SEQUENCE_NR


@lru_cache(maxsize=256)
def heap_order(others: int, pushed: tuple[bool, ...]) -> tuple[int, ...]:
    """In which order C++'s heap gives those of what was ``pushed`` that are greater than all the rest, and equal.

    Args:
        others: how many of the rest are in the heap before.
        pushed: of what is put into it, one after the other, whether it is one of the greatest.

    >>> heap_order(0, (True, True, True, True))
    (0, 2, 1, 3)
    """
    heap = [-1] * others  # -1: one of the rest; else which of the greatest
    for number, greatest in enumerate(pushed):
        heap.append(-1)
        _raise(heap, len(heap) - 1, sum(pushed[:number]) if greatest else -1)
    taken = []
    while heap and heap[0] >= 0:
        taken.append(heap[0])
        last = heap.pop()
        if heap:
            _raise(heap, _sink(heap), last)
    return tuple(taken)


def _sink(heap: list[int]) -> int:
    """Move greater children up from the root, down to a leaf of the heap; where the gap is then."""
    gap, count = 0, len(heap)
    while (child := 2 * gap + 2) < count:
        if heap[child] < 0 <= heap[child - 1]:  # of equals, the right one
            child -= 1
        heap[gap], gap = heap[child], child
    if child == count:
        heap[gap], gap = heap[child - 1], child - 1
    return gap


def _raise(heap: list[int], gap: int, item: int) -> None:
    """Put an item into the gap, or as far above it as it is greater."""
    while gap and heap[(gap - 1) // 2] < 0 <= item:
        heap[gap], gap = heap[(gap - 1) // 2], (gap - 1) // 2
    heap[gap] = item
