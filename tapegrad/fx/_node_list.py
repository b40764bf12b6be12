"""The order of the nodes of a graph: a list that is linked both ways, with keys by which two nodes are compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class Linked:
    """An item of a list that is linked both ways; a new one is linked to itself."""

    _prev: Any
    _next: Any
    _sort_key: tuple[int, ...]
    _erased: bool

    def _unlink(self) -> None:
        before, after = self._prev, self._next
        before._next, after._prev = after, before

    def _link_before(self, other: Any) -> None:
        """Put ``other`` before this item, wherever it was."""
        other._unlink()
        before = self._prev
        before._next, other._prev = other, before
        other._next, self._prev = self, other
        other._sort_key = key_between(before, other, self)

    def __lt__(self, other: Any) -> bool:
        return self._sort_key < other._sort_key

    def __gt__(self, other: Any) -> bool:
        return self._sort_key > other._sort_key

    def __le__(self, other: Any) -> bool:
        return self is other or self < other

    def __ge__(self, other: Any) -> bool:
        return self is other or self > other


def key_between(before: Any, item: Any, after: Any) -> tuple[int, ...]:
    """A key that sorts an item between its neighbours; the root, which has none, begins and ends the list.

    >>> class Item:
    ...     def __init__(self, *key):
    ...         self._sort_key, self._next = key, None
    >>> key_between(Item(1), Item(), Item(2)), key_between(Item(1, 0), Item(), Item(1, 1))
    ((1, 0), (1, 0, 0))
    """
    low, high = before._sort_key, after._sort_key
    if not low and not high:
        return (0,)
    if not high:
        return (low[0] + 1,)
    if not low:
        return (high[0] - 1,)
    if len(low) > len(high):
        return (*low[: len(high)], low[len(high)] + 1)
    if len(low) < len(high):
        return (*high[: len(low)], high[len(low)] - 1)
    return (*low, 0)


class _node_list:
    """The nodes of a graph in their order, each of which may be moved or erased while they are looped over.

    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> len(graph.nodes), list(reversed(graph.nodes))
    (1, [x])
    """

    def __init__(self, graph: Any, direction: str = "_next") -> None:
        self.graph, self.direction = graph, direction

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Any]:
        root = self.graph._root
        node = getattr(root, self.direction)
        while node is not root:
            if not node._erased:
                yield node
            node = getattr(node, self.direction)

    def __reversed__(self) -> _node_list:
        return _node_list(self.graph, "_prev" if self.direction == "_next" else "_next")
