"""Functions over the arguments of nodes: lists, tuples, dictionaries and slices of nodes and values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tapegrad.fx._node_list import Linked
from tapegrad.fx.immutable_collections import immutable_dict, immutable_list


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """The structure ``a`` with ``fn`` called on what is no structure; lists and dictionaries of it can't be changed.

    >>> map_aggregate([1, (2, {"a": slice(3)})], lambda x: x and x + 1)
    [2, (3, {'a': slice(None, 4, None)})]
    """
    if isinstance(a, tuple):
        items = [map_aggregate(item, fn) for item in a]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, list):
        return immutable_list(map_aggregate(item, fn) for item in a)
    if isinstance(a, dict):
        return immutable_dict((key, map_aggregate(item, fn)) for key, item in a.items())
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


def map_arg(a: Any, fn: Callable[[Any], Any]) -> Any:
    """The structure ``a`` with ``fn`` called on its nodes.

    Raises:
        AssertionError: ``fn`` can't be called.

    >>> x = torch.fx.Graph().placeholder("x")
    >>> map_arg((x, [1, x]), lambda node: node.name)
    ('x', [1, 'x'])
    """
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Linked) else x)


def nodes_in(a: Any) -> Iterator[Any]:
    """The nodes in a structure, in its order."""
    if isinstance(a, Linked):
        yield a
    elif isinstance(a, (tuple, list)):
        for item in a:
            yield from nodes_in(item)
    elif isinstance(a, dict):
        for item in a.values():
            yield from nodes_in(item)
    elif isinstance(a, slice):
        yield from nodes_in((a.start, a.stop, a.step))
