"""Where to put the boxes of a directed acyclic graph: in layers, every edge downwards, few crossings.

The method is Sugiyama's: longest-path layers, stand-ins for the edges that pass a layer, orders within layers by
the mean position of neighbours, then coordinates that pull neighbours over one another. (K. Sugiyama, S. Tagawa,
M. Toda, "Methods for visual understanding of hierarchical system structures", 1981.)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

Item = Hashable
Waypoint = tuple[Item, Item, int]
"""The stand-in of an edge (from, to) in the layer with this number."""


@dataclass(frozen=True)
class LayeredLayout:
    """Layers from top to bottom, the horizontal centre of every item, and the way of every edge.

    Attributes:
        layers: the items (and waypoints) of each layer, from left to right.
        centre: the x coordinate of each; the leftmost box begins at 0.
        paths: for each edge, its two ends with the waypoints between them.
    """

    layers: tuple[tuple[Item, ...], ...]
    centre: Mapping[Item, float]
    paths: Mapping[tuple[Item, Item], tuple[Item, ...]]


def arrange(edges: Mapping[Item, Sequence[Item]], widths: Mapping[Item, float], *, gap: float = 24.0) -> LayeredLayout:
    """Lay out a graph.

    Args:
        edges: for every item, the items its edges lead to; without cycles.
        widths: how wide the box of every item is.
        gap: the space between neighbours of a layer.

    >>> layout = arrange({"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}, dict.fromkeys("abcd", 10.0))
    >>> [len(layer) for layer in layout.layers], layout.centre["a"] == layout.centre["d"]
    ([1, 2, 1], True)
    """
    rank = longest_paths(edges)
    layers: list[list[Item]] = [[] for _ in range(max(rank.values()) + 1)]
    for item, number in rank.items():
        layers[number].append(item)
    paths = {(item, to): _waypoints(item, to, rank) for item in edges for to in dict.fromkeys(edges[item])}
    for path in paths.values():
        for number, waypoint in enumerate(path[1:-1], rank[path[0]] + 1):
            layers[number].append(waypoint)
    above, below = _neighbours(paths.values())
    _order(layers, above, below)
    centre = _coordinates(layers, above, below, widths, gap)
    return LayeredLayout(tuple(map(tuple, layers)), centre, paths)


def longest_paths(edges: Mapping[Item, Sequence[Item]]) -> dict[Item, int]:
    """How many edges the longest path to each item has, from those that no edge leads to."""
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
    left = min(centre[item] - half[item] for item in centre)
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
