"""The nodes of a graph by what they do."""

from __future__ import annotations

from typing import Any


class _FindNodesLookupTable:
    """The nodes with an operation and, for calls of functions, a target; in the order in which they were made."""

    def __init__(self) -> None:
        self.table: dict[tuple[str, Any], dict[Any, None]] = {}

    def _key(self, node: Any) -> tuple[str, Any]:
        return node.op, node.target if node.op == "call_function" else None

    def __contains__(self, node: Any) -> bool:
        return node in self.table.get(self._key(node), ())

    def insert(self, node: Any) -> None:
        """Put a node in."""
        self.table.setdefault(self._key(node), {})[node] = None

    def remove(self, node: Any) -> None:
        """Take a node out, if it is there."""
        self.table.get(self._key(node), {}).pop(node, None)

    def find_nodes(self, *, op: str, target: Any = None) -> list[Any]:
        """The nodes with this operation and target.

        Raises:
            AssertionError: calls of functions are asked for without a target.
        """
        if op == "call_function":
            if target is None:
                raise AssertionError("target must not be None for call_function op")
            return list(self.table.get((op, target), ()))
        found = self.table.get((op, None), ())
        return [node for node in found if target is None or node.target == target]
