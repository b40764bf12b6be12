"""Trees: tuples, lists, dicts and named tuples of tensors and other leaves, taken apart and put together again.

As PyTorch's trees (``torch.utils._pytree``), not JAX's: None is a leaf, so is a tensor, and dicts keep their order.
Other classes become nodes when somebody registers them.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple


class TreeSpec(NamedTuple):
    """The structure of a tree without its leaves. ``kind`` is None for a leaf.

    >>> flatten((1, [2, 3]))[1]
    TreeSpec(tuple, None, [*,
      TreeSpec(list, None, [*,
        *])])
    """

    kind: type | None
    context: Any
    below: tuple[TreeSpec, ...]

    @property
    def type(self) -> Any:
        """The class of the node; None for a leaf, and what made its class for a named tuple."""
        return namedtuple if self.is_named() else self.kind

    def is_named(self) -> bool:
        """Tell whether the node is a named tuple; libraries that make such a spec say ``namedtuple`` for its class."""
        return self.kind is not None and (self.context is self.kind or self.kind is namedtuple)

    @property
    def num_leaves(self) -> int:
        """The number of leaves."""
        return 1 if self.kind is None else sum(child.num_leaves for child in self.below)

    @property
    def num_nodes(self) -> int:
        """The number of nodes, leaves and this one among them."""
        return 1 + sum(child.num_nodes for child in self.below)

    @property
    def num_children(self) -> int:
        """The number of nodes right below."""
        return len(self.below)

    def is_leaf(self) -> bool:
        """Tell whether it stands for a leaf."""
        return self.kind is None

    def children(self) -> list[TreeSpec]:
        """The trees right below."""
        return list(self.below)

    def child(self, index: int) -> TreeSpec:
        """One of what is right below."""
        return self.below[index]

    def unflatten(self, leaves: Iterable) -> Any:
        """The tree of this structure with these leaves.

        Raises:
            ValueError: there are more of them, or fewer.
        """
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree that "
                f"holds {self.num_leaves} items ({self})."
            )
        return unflatten(leaves, self)

    def __repr__(self, indent: int = 0) -> str:
        if self.kind is None:
            return "*"
        name = "namedtuple" if self.is_named() else self.kind.__name__
        head = f"TreeSpec({name}, {self.context}, ["
        inner = indent + 2
        parts = [child.__repr__(inner) for child in self.below]
        gap = ",\n" + " " * inner
        return head + (parts[0] + "".join(gap + part for part in parts[1:]) if parts else "") + "])"


TreeSpec.__module__ = "tapegrad.utils._pytree"  # where PyTorch has it


LEAF = TreeSpec(None, None, ())


BUILT_IN: tuple[type, ...] = (tuple, list, dict, OrderedDict, defaultdict, deque)


class Registration(NamedTuple):
    """Functions that take a class apart and put it together; the first gives children and what else has to be known."""

    flatten_fn: Callable[[Any], tuple[Iterable, Any]]
    unflatten_fn: Callable[[list, Any], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[Iterable, Any]] | None = None


registered: dict[type, Registration] = {}
"""The classes that were registered."""


def is_named_tuple(kind: type) -> bool:
    """Tell whether a class is that of a named tuple."""
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def children_of(tree: Any) -> tuple[Any, Sequence] | None:
    """The facts that have to be known of a node, and its children; None for a leaf."""
    kind = type(tree)
    if kind is tuple or kind is list:
        return None, tree
    if kind is dict or kind is OrderedDict:
        return list(tree), list(tree.values())
    if kind is defaultdict:
        return [tree.default_factory, list(tree)], list(tree.values())
    if kind is deque:
        return tree.maxlen, list(tree)
    if kind in registered:
        children, context = registered[kind].flatten_fn(tree)
        return context, list(children)
    return (kind, tree) if is_named_tuple(kind) else None


def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list, TreeSpec]:
    """The leaves of a tree, and its structure. ``is_leaf`` says of a node that it is to be left whole.

    >>> flatten({"a": 1, "b": (2, None)})[0]
    [1, 2, None]
    """
    apart = None if is_leaf is not None and is_leaf(tree) else children_of(tree)
    if apart is None:
        return [tree], LEAF
    context, children = apart
    leaves, specs = [], []
    for child in children:
        below, spec = flatten(child, is_leaf)
        leaves += below
        specs.append(spec)
    return leaves, TreeSpec(type(tree), context, tuple(specs))


def unflatten(leaves: Sequence, spec: TreeSpec) -> Any:
    """The tree of this structure with these leaves."""
    return _put_together(iter(leaves), spec)


def _put_together(leaves: Iterator, spec: TreeSpec) -> Any:
    kind = spec.kind
    if kind is None:
        return next(leaves)
    children = [_put_together(leaves, child) for child in spec.below]
    if kind is dict or kind is OrderedDict:
        return kind(zip(spec.context, children, strict=True))
    if kind is defaultdict:
        return defaultdict(spec.context[0], zip(spec.context[1], children, strict=True))
    if kind is deque:
        return deque(children, maxlen=spec.context)
    if kind in registered:
        return registered[kind].unflatten_fn(children, spec.context)
    return spec.context(*children) if spec.is_named() else kind(children)


def map_leaves(function: Callable, tree: Any) -> Any:
    """The tree with ``function`` of each leaf in its place.

    >>> map_leaves(lambda x: 2 * x, {"a": 1, "b": [2]})
    {'a': 2, 'b': [4]}
    """
    leaves, spec = flatten(tree)
    return unflatten([function(leaf) for leaf in leaves], spec)


def broadcast_prefix(prefix: Any, spec: TreeSpec) -> list | None:
    """A leaf for each leaf of ``spec``, from a tree that ends where ``spec`` goes on; None if they don't fit.

    >>> broadcast_prefix((0, None), flatten((1, (2, 3)))[1])
    [0, None, None]
    """
    apart = children_of(prefix)
    if apart is None or (spec.kind is None):
        return [prefix] * spec.num_leaves if apart is None else None
    context, children = apart
    if type(prefix) is not spec.kind or len(children) != len(spec.below) or context != spec.context:
        return None
    parts = [broadcast_prefix(child, below) for child, below in zip(children, spec.below, strict=True)]
    return None if any(part is None for part in parts) else [leaf for part in parts for leaf in part]  # type: ignore[union-attr]
