"""``torch.fx._pytree``: trees taken apart by a structure that is known, whose leaves they then have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad.utils._pytree import TreeSpec, tree_flatten

__all__ = ["register_pytree_flatten_spec", "tree_flatten_spec"]

Taking = Callable[[Any, TreeSpec], list[Any]]

SUPPORTED_NODES: dict[type, Taking] = {
    dict: lambda tree, spec: [tree[key] for key in spec.context],
    list: lambda tree, spec: [tree[place] for place in range(len(spec.children()))],
    tuple: lambda tree, spec: [tree[place] for place in range(len(spec.children()))],
}
"""For each class, what takes the parts of a tree that a structure has."""


def register_pytree_flatten_spec(cls: type, flatten_fn_spec: Taking, flatten_fn_exact_match_spec: Any = None) -> None:
    """Say what takes the parts that a structure has out of an instance of ``cls``."""
    SUPPORTED_NODES[cls] = flatten_fn_spec


def tree_flatten_spec(pytree: Any, spec: TreeSpec) -> list[Any]:
    """The leaves that a structure has, of a tree that may have more.

    Raises:
        RuntimeError: the structure has a class of which nobody said how parts are taken.

    >>> _, spec = torch.utils._pytree.tree_flatten({"a": 1, "b": [2]})
    >>> tree_flatten_spec({"a": 5, "b": [6], "c": 7}, spec)
    [5, 6]
    """
    if spec.is_leaf():
        return [pytree]
    if spec.type is not None and spec.type not in SUPPORTED_NODES:
        return _by_registration(pytree, spec)
    parts = SUPPORTED_NODES[spec.type](pytree, spec)
    return [leaf for part, child in zip(parts, spec.children(), strict=True) for leaf in tree_flatten_spec(part, child)]


def _by_registration(pytree: Any, spec: TreeSpec) -> list[Any]:
    leaves, found = tree_flatten(pytree)
    if found != spec:
        raise RuntimeError(
            f"{type(pytree)} does not have a flatten_fn_spec associated with it. Please register one with "
            "torch.fx._pytree.register_pytree_flatten_spec.  If you have serialized your model, make sure that any "
            "custom pytrees have been registered before loading it."
        )
    return leaves
