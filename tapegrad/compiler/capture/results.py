"""Results of calls as trees: which containers are in one, whose history it has, numbers in place of proxies."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.compiler.capture.arguments import is_plain_dataclass, replace_leaves
from tapegrad.compiler.capture.autograd_histories import begins
from tapegrad.compiler.capture.dynamic_number import plain
from tapegrad.compiler.guards.guards import Guards
from tapegrad.compiler.guards.locations import Rebound


def plain_items(tree: Any) -> Any:
    """A tree with numbers in place of proxies; the dataclasses in it are the same."""
    return replace_leaves(tree, plain)


def containers_kept(result: Any, reached: Guards) -> list[str]:
    """Why a call can't be replayed that returns certain containers."""
    containers = containers_of(result)
    if reached.holds(containers):
        return ["it returns a container that was there before"]
    changeable = [id(one) for one in containers if type(one) is not tuple]
    return ["it returns one container twice"] if len(changeable) != len(set(changeable)) else []


def containers_of(tree: Any) -> list[Any]:
    """The containers in a tree of results."""
    if isinstance(tree, dict):
        return [tree, *(inner for value in tree.values() for inner in containers_of(value))]
    if isinstance(tree, (list, tuple)):
        return [tree, *(inner for value in tree for inner in containers_of(value))]
    if is_plain_dataclass(tree):
        inside = (object.__getattribute__(tree, field.name) for field in dataclasses.fields(tree))
        return [tree, *(inner for value in inside for inner in containers_of(value))]
    return []


def histories_lost(given: Sequence[Any], rebound: list[Rebound]) -> list[str]:
    """Why a call can't be replayed that returns the history of a tensor of which another one takes the place."""
    olds = {id(one.old) for one in rebound}
    edges = (leaf._edge for leaf in given if isinstance(leaf, Tensor) and leaf._edge is not None)
    if olds and any(begins(edge, olds) for edge in edges):
        return ["it returns a tensor whose history begins in a place that it rebinds; return detach() of it"]
    return []
