"""What waits to be run, and what has arrived for it."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple

from tapegrad.tape.node import Node

Sum = Callable[[Any, Any], Any]


class InputBuffer(list):
    """The gradients that have arrived for a node, one slot for each of its inputs; gradients that meet are summed.

    >>> buffer = InputBuffer([None, None])
    >>> buffer.accumulate(0, 2.0, float.__add__), buffer.accumulate(0, 3.0, float.__add__)
    (None, None)
    >>> buffer
    [5.0, None]

    Attributes:
        summed: a bit for each slot: whether it holds a sum that was made here, and so belongs to the buffer alone.
    """

    summed = 0

    def accumulate(self, position: int, gradient: Any, add: Sum, add_into: Sum | None = None) -> None:
        """Put ``gradient`` into a slot, or add it to what is there; ``None`` (undefined) adds nothing.

        Where a sum of this buffer's own is added to, that is done by ``add_into``, if it is given.
        """
        present = self[position]
        if present is None:
            self[position] = gradient
        elif gradient is not None:
            if add_into is None:
                self[position] = add(present, gradient)
            elif self.summed >> position & 1:
                self[position] = add_into(present, gradient)
            else:
                self[position] = add(present, gradient)
                self.summed |= 1 << position


class NodeTask(NamedTuple):
    """A node that is ready to run. Tasks compare by urgency: depth of the backward call, then sequence number.

    ``rank`` and ``order`` are minus the depth and minus the sequence number, so that the most urgent is the least;
    ``tick`` tells equals apart by time of arrival.
    """

    rank: int
    order: int
    tick: int
    node: Node | None
    inputs: list

    @property
    def depth(self) -> int:
        """How many backward calls enclose the one that this task belongs to."""
        return -self.rank

    @property
    def is_shutdown(self) -> bool:
        """Whether this asks the receiver to stop."""
        return self.node is None


SHUTDOWN_RANK = -(2**62)


class ReadyQueue(list):
    """Nodes that are ready, the most urgent first: shutdown, then the deeper backward call, then the node made later.

    It is a list with the heap property, so that the engine's loop may use ``heapq`` on it directly.

    >>> from tapegrad.tape.node import Node
    >>> early, late, queue = Node(), Node(), ReadyQueue()
    >>> early.sequence_nr, late.sequence_nr = 1, 2
    >>> for node, depth in ((early, 0), (late, 0), (early, 1)):
    ...     queue.push(node, InputBuffer(), depth)
    >>> [(task.depth, task.node is late) for task in (queue.pop_task(), queue.pop_task())]
    [(1, False), (0, True)]
    """

    __slots__ = ("tick",)

    def __init__(self) -> None:
        super().__init__()
        self.tick: Callable[[], int] = count().__next__

    def push(self, node: Node, inputs: InputBuffer, depth: int = 0) -> None:
        """Add a node whose inputs have all arrived."""
        heapq.heappush(self, (-depth, -node.sequence_nr, self.tick(), node, inputs))

    def push_shutdown(self) -> None:
        """Ask whoever pops to stop; overtakes everything that waits."""
        heapq.heappush(self, (SHUTDOWN_RANK, 0, self.tick(), None, InputBuffer()))

    def pop_task(self) -> NodeTask:
        """Take the most urgent entry."""
        return NodeTask(*heapq.heappop(self))
