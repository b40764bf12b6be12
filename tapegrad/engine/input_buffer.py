"""What has arrived for a node that waits to be run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
