"""Places for the boxes of a directed acyclic graph: in layers, every edge downwards, few crossings.

The method is Sugiyama's: longest-path layers, stand-ins for the edges that pass a layer, orders within layers by
the mean position of neighbours, then coordinates that pull neighbours over one another. (K. Sugiyama, S. Tagawa,
M. Toda, "Methods for visual understanding of hierarchical system structures", 1981.)
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

Item = Hashable
Waypoint = tuple[Item, Item, int]
"""The stand-in of an edge (from, to) in the layer with this number."""


@dataclass(frozen=True)
class LayerRows:
    """Which items stand in which layer, and the way of every edge: all of a layout that no width changes.

    Attributes:
        rows: the items (and waypoints) of each layer, from left to right, from top to bottom.
        paths: for each edge, its two ends with the waypoints between them.
    """

    rows: tuple[tuple[Item, ...], ...]
    paths: Mapping[tuple[Item, Item], tuple[Item, ...]]

    def centres(self, widths: Mapping[Item, float], *, gap: float = 24.0) -> dict[Item, float]:
        """The horizontal centre of every item; the leftmost box begins at 0.

        Args:
            widths: how wide the box of every item is; 0 if nothing is said.
            gap: the space between neighbours of a layer.
        """
        above, below = _neighbours(self.paths.values())
        return _coordinates([list(row) for row in self.rows], above, below, widths, gap)


def layered(edges: Mapping[Item, Sequence[Item]], *, last: Collection[Item] = ()) -> LayerRows:
    """Put the items of a graph into layers.

    Args:
        edges: for every item, the items its edges lead to; without cycles.
        last: those that stand in the last layer, wherever their edges would let them; none lead on from there.

    >>> layers = layered({"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []})
    >>> [len(row) for row in layers.rows]
    [1, 2, 1]
    >>> centre = layers.centres(dict.fromkeys("abcd", 10.0))
    >>> centre["a"] == centre["d"]
    True
    """
    rank = longest_paths(edges)
    depth = max(rank.values(), default=0)
    rank.update(dict.fromkeys(last, max([depth, *(rank[item] + 1 for item in rank if last and item not in last)])))
    layers: list[list[Item]] = [[] for _ in range(max(rank.values(), default=-1) + 1)]
    for item, number in rank.items():
        layers[number].append(item)
    paths = {(item, to): _waypoints(item, to, rank) for item in edges for to in dict.fromkeys(edges[item])}
    for path in paths.values():
        for number, waypoint in enumerate(path[1:-1], rank[path[0]] + 1):
            layers[number].append(waypoint)
    above, below = _neighbours(paths.values())
    _order(layers, above, below)
    return LayerRows(tuple(map(tuple, layers)), paths)


def without_cycles(edges: Mapping[Item, Sequence[Item]]) -> dict[Item, list[Item]]:
    """The same edges, but for those that lead back to where a walk along the others came from.

    >>> without_cycles({"a": ["b"], "b": ["c", "a"], "c": ["c"]})
    {'a': ['b'], 'b': ['c'], 'c': []}
    """
    kept: dict[Item, list[Item]] = {item: [] for item in edges}
    state: dict[Item, int] = {}  # 1: being walked from, 2: done with
    for start in edges:
        stack = [] if start in state else [(start, iter(edges[start]))]
        state.setdefault(start, 1)
        while stack:
            item, successors = stack[-1]
            successor = next(successors, None)
            if successor is None:
                state[item] = 2
                stack.pop()
            elif state.get(successor) != 1:
                kept[item].append(successor)
                if successor not in state:
                    state[successor] = 1
                    stack.append((successor, iter(edges[successor])))
    return kept


def longest_paths(edges: Mapping[Item, Sequence[Item]]) -> dict[Item, int]:
    """The number of edges of the longest path to each item, from those that no edge leads to."""
    waiting = dict.fromkeys(edges, 0)
    for successors in edges.values():
        for item in successors:
            waiting[item] += 1
    ready = [item for item, count in waiting.items() if not count]
    rank = dict.fromkeys(ready, 0)
    while ready:
        item = ready.pop()
        for successor in edges[item]:
            rank[successor] = max(rank.get(successor, 0), rank[item] + 1)
            waiting[successor] -= 1
            if not waiting[successor]:
                ready.append(successor)
    return rank


def _waypoints(item: Item, to: Item, rank: Mapping[Item, int]) -> tuple[Item, ...]:
    return (item, *[(item, to, number) for number in range(rank[item] + 1, rank[to])], to)


def _neighbours(paths: Iterable[tuple[Item, ...]]) -> tuple[dict[Item, list[Item]], dict[Item, list[Item]]]:
    above: dict[Item, list[Item]] = {}
    below: dict[Item, list[Item]] = {}
    for path in paths:
        for upper, lower in pairwise(path):
            above.setdefault(lower, []).append(upper)
            below.setdefault(upper, []).append(lower)
    return above, below


def _order(layers: list[list[Item]], above: dict[Item, list[Item]], below: dict[Item, list[Item]]) -> None:
    """Sort each layer by the mean position of the neighbours, downwards and upwards in turn."""
    position = {item: float(index) for layer in layers for index, item in enumerate(layer)}

    def mean(item: Item, neighbours: dict[Item, list[Item]]) -> float:
        near = neighbours.get(item)
        return sum(position[other] for other in near) / len(near) if near else position[item]

    for sweep in range(8):
        neighbours, ordered = (above, layers) if sweep % 2 == 0 else (below, layers[::-1])
        for layer in ordered:
            means = {item: mean(item, neighbours) for item in layer}
            layer.sort(key=means.__getitem__)
            position.update((item, float(index)) for index, item in enumerate(layer))


def _coordinates(
    layers: list[list[Item]], above: dict[Item, list[Item]], below: dict[Item, list[Item]],
    widths: Mapping[Item, float], gap: float,
) -> dict[Item, float]:  # fmt: skip
    """Pull every item towards its neighbours, as far as the boxes beside it allow."""
    half = {item: widths.get(item, 0.0) / 2 for layer in layers for item in layer}
    centre: dict[Item, float] = {}
    for layer in layers:
        centre.update(zip(layer, _pushed(layer, [0.0] * len(layer), half, gap), strict=True))
    for sweep in range(12):
        for layer in layers if sweep % 2 == 0 else layers[::-1]:
            wishes = []
            for item in layer:
                near = [*above.get(item, ()), *below.get(item, ())]
                wishes.append(sum(centre[other] for other in near) / len(near) if near else centre[item])
            centre.update(zip(layer, _pushed(layer, wishes, half, gap), strict=True))
    left = min((centre[item] - half[item] for item in centre), default=0.0)
    return {item: x - left for item, x in centre.items()}


def _pushed(layer: list[Item], wishes: list[float], half: dict[Item, float], gap: float) -> list[float]:
    """The wishes, moved apart until no boxes overlap: half way between pushing rightwards and pushing leftwards."""
    spaces = [half[a] + half[b] + gap for a, b in pairwise(layer)]
    right, left = list(wishes), list(wishes)
    for index, space in enumerate(spaces, 1):
        right[index] = max(right[index], right[index - 1] + space)
    for index in range(len(spaces) - 1, -1, -1):
        left[index] = min(left[index], left[index + 1] - spaces[index])
    return [(a + b) / 2 for a, b in zip(right, left, strict=True)]
