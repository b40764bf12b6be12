"""jax's keys of random numbers, which no tensor can hold: their numbers in their place, and back."""

from __future__ import annotations

from typing import Any

import jax


def kinds_of_keys(tree: Any) -> list[Any]:
    """Of each leaf of a tree: which kind of key it is, or None if it is none."""
    return [jax.random.key_impl(leaf) if _is_key(leaf) else None for leaf in jax.tree.leaves(tree)]


def without_keys(tree: Any) -> Any:
    """A tree with the numbers of its keys in their place.

    >>> without_keys([jax.random.key(3)])
    [Array([0, 3], dtype=uint32)]
    """
    return jax.tree.map(lambda leaf: jax.random.key_data(leaf) if _is_key(leaf) else leaf, tree)


def with_keys(tree: Any, kinds: list[Any]) -> Any:
    """The argument that ``without_keys`` was given, whose keys were of these kinds.

    >>> keys = [jax.random.key(3)]
    >>> bool(with_keys(without_keys(keys), kinds_of_keys(keys))[0] == keys[0])
    True
    """
    leaves, structure = jax.tree.flatten(tree)
    pairs = zip(leaves, kinds, strict=True)
    whole = [leaf if kind is None else jax.random.wrap_key_data(leaf, impl=kind) for leaf, kind in pairs]
    return jax.tree.unflatten(structure, whole)


def _is_key(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
