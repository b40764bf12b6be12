"""``torch.utils._pytree``: trees of containers, for those who take them apart themselves.

What a tree is, is said in ``tensor/trees.py``: the function transforms, checkpoints and compiled steps have the same.

>>> leaves, spec = tree_flatten({"a": 1, "b": [2, 3]})
>>> leaves, tree_unflatten([10 * leaf for leaf in leaves], spec)
([1, 2, 3], {'a': 10, 'b': [20, 30]})
"""

from __future__ import annotations

import types
from collections import ChainMap, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, NamedTuple

from tapegrad._src.bindings import return_types
from tapegrad._src.tensor.trees import (
    BUILT_IN,
    LEAF,
    Registration,
    TreeSpec,
    flatten,
    is_named_tuple,
    registered,
    unflatten,
)

__all__ = [
    "SUPPORTED_NODES", "GetAttrKey", "LeafSpec", "MappingKey", "PyTree", "SequenceKey", "TreeSpec", "is_namedtuple",
    "is_namedtuple_class", "is_namedtuple_instance", "is_structseq", "is_structseq_class", "is_structseq_instance",
    "key_get", "keystr", "register_dataclass", "register_pytree_node", "tree_all", "tree_all_only", "tree_any",
    "tree_any_only",
    "tree_flatten", "tree_flatten_with_path", "tree_is_leaf", "tree_iter", "tree_leaves", "tree_leaves_with_path",
    "tree_map", "tree_map_", "tree_map_only", "tree_map_only_", "tree_map_with_path", "tree_structure",
    "tree_unflatten", "treespec_pprint",
]  # fmt: skip

PyTree = Any
MAPPINGS = {dict, OrderedDict, defaultdict}
Leafness = Callable[[Any], bool] | None
Context = Any
"""The settings of a node, by PyTorch's name."""


# -- keys --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SequenceKey:
    """One step of a path: an element of a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """The element."""
        return sequence[self.idx]


@dataclass(frozen=True)
class MappingKey:
    """One step of a path: an item of a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """The item."""
        return mapping[self.key]


@dataclass(frozen=True)
class GetAttrKey:
    """One step of a path: an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """The attribute."""
        return getattr(obj, self.name)


def keystr(kp: Iterable) -> str:
    """A path as Python writes it.

    >>> keystr((MappingKey("a"), SequenceKey(0)))
    "['a'][0]"
    """
    return "".join(map(str, kp))


def key_get(obj: Any, kp: Iterable) -> Any:
    """The item at a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


# -- what is a node ----------------------------------------------------------------------------------------------------


def register_pytree_node(
    cls: type, flatten_fn: Callable, unflatten_fn: Callable, *, serialized_type_name: str | None = None,
    to_dumpable_context: Callable | None = None, from_dumpable_context: Callable | None = None,
    flatten_with_keys_fn: Callable | None = None,
) -> None:  # fmt: skip
    """Let instances of a class be nodes of trees, for transforms of functions and compiled steps, too.

    Args:
        cls: the class.
        flatten_fn: gives the children of an instance, and what else has to be known of it.
        unflatten_fn: makes an instance of both.
        serialized_type_name: the name of the class in files of ``torch.export``.
        to_dumpable_context, from_dumpable_context: what makes of what else has to be known what JSON can say, and back.
        flatten_with_keys_fn: as ``flatten_fn``, with pairs of a key and a child.

    Raises:
        ValueError: it is a node already.
    """
    if cls in registered or cls in BUILT_IN:
        raise ValueError(f"{cls} is already registered as pytree node.")
    registered[cls] = Registration(flatten_fn, unflatten_fn, flatten_with_keys_fn)
    if serialized_type_name is not None:
        SERIALIZED[cls] = Serialized(serialized_type_name, to_dumpable_context, from_dumpable_context)


def _register_pytree_node(
    cls: type, flatten_fn: Callable, unflatten_fn: Callable, to_str_fn: Any = None, maybe_from_str_fn: Any = None,
    **options: Any,
) -> None:  # fmt: skip
    """``register_pytree_node``, as it was called before.

    Args:
        cls, flatten_fn, unflatten_fn, options: as there.
        to_str_fn, maybe_from_str_fn: not looked at.
    """
    register_pytree_node(cls, flatten_fn, unflatten_fn, **options)


class Serialized(NamedTuple):
    """A class in files: its name, and what makes JSON of what has to be known of a node, and back."""

    name: str
    to_json: Callable | None = None
    from_json: Callable | None = None


SERIALIZED: dict[type, Serialized] = {}
"""The classes of nodes that have a name in files."""


def _register_namedtuple(cls: type, *, serialized_type_name: str) -> None:
    """Let files have the structure of a class of named tuples.

    Args:
        cls: the class.
        serialized_type_name: its name there.
    """
    SERIALIZED[cls] = Serialized(serialized_type_name)


def register_dataclass(
    cls: type, *, field_names: list[str] | None = None, drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:  # fmt: skip
    """Let instances of a dataclass be nodes of trees, with their fields below.

    Args:
        cls: the class.
        field_names: those of the fields; all by which instances are made if there are none.
        drop_field_names: those that are left out, which must have defaults.
        serialized_type_name: the name of the class in files of ``torch.export``.

    Raises:
        ValueError: no dataclass, and no names; or it is a node already.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Point:
    ...     x: int
    ...     y: int
    >>> register_dataclass(Point)
    >>> tree_map(lambda n: 10 * n, Point(1, 2))
    Point(x=10, y=20)
    """
    if field_names is None:
        if not is_dataclass(cls):
            raise ValueError(
                f"field_names must be specified with a list of all fields used to initialize {cls}, as it is not a "
                "dataclass."
            )
        field_names = [one.name for one in fields(cls) if one.init]
    names = [name for name in field_names if name not in (drop_field_names or ())]

    def apart(node: Any) -> tuple[list, list]:
        values = {name: getattr(node, name) for name in names}
        full = [name for name, value in values.items() if value is not None]
        return [values[name] for name in full], [full, [name for name in names if name not in full]]

    def with_keys(node: Any) -> tuple[list, list]:
        values, context = apart(node)
        return [(GetAttrKey(name), value) for name, value in zip(context[0], values, strict=True)], context

    def together(values: Iterable, context: Any) -> Any:
        return cls(**dict(zip(context[0], values, strict=True)), **dict.fromkeys(context[1]))

    register_pytree_node(cls, apart, together, serialized_type_name=serialized_type_name,
                         flatten_with_keys_fn=with_keys)  # fmt: skip


def _dict_flatten(d: dict) -> tuple[list, list]:
    return list(d.values()), list(d)


def _dict_flatten_with_keys(d: dict) -> tuple[list[tuple[MappingKey, Any]], list]:
    """The function that libraries register a class of dictionaries with, if they have one."""
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


def _dict_unflatten(values: Iterable, context: Iterable) -> dict:
    return dict(zip(context, values, strict=True))


def _list_flatten(d: Sequence) -> tuple[list, None]:
    """The functions that a class of lists is registered with, likewise."""
    return [*d], None


def _list_flatten_with_keys(d: Sequence) -> tuple[list[tuple[SequenceKey, Any]], None]:
    return [(SequenceKey(i), item) for i, item in enumerate(d)], None


def _list_unflatten(values: Iterable, context: Any) -> list:
    return [*values]


def _class_of(obj: Any) -> type:
    return obj if isinstance(obj, type) else type(obj)


def is_namedtuple(obj: Any) -> bool:
    """Tell whether this is a named tuple, or the class of one."""
    return is_named_tuple(_class_of(obj)) and not is_structseq(obj)


def is_namedtuple_class(cls: Any) -> bool:
    """Tell whether this is the class of a named tuple."""
    return isinstance(cls, type) and is_namedtuple(cls)


def is_namedtuple_instance(obj: Any) -> bool:
    """Tell whether this is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_structseq(obj: Any) -> bool:
    """Tell whether this is what functions return that give several tensors by name, or its class."""
    return issubclass(_class_of(obj), return_types.StructSequence)


def is_structseq_class(cls: Any) -> bool:
    """Tell whether this is a class of ``torch.return_types``."""
    return isinstance(cls, type) and is_structseq(cls)


def is_structseq_instance(obj: Any) -> bool:
    """Tell whether this is an instance of a class of ``torch.return_types``."""
    return is_structseq_class(type(obj))


def LeafSpec() -> TreeSpec:
    """The structure of a leaf.

    >>> tree_structure(3) == LeafSpec()
    True
    """
    return LEAF


def _get_node_type(tree: Any) -> Any:
    """The class of a node, as ``SUPPORTED_NODES`` has it."""
    return namedtuple if is_namedtuple_instance(tree) else type(tree)


def _built_in(kind: Any) -> Registration:
    """Functions that take apart, and put together, a class that need not be registered."""
    return Registration(
        lambda tree: ((taken := _one_level(tree))[0], taken[1].context),
        lambda parts, context: unflatten(list(parts), TreeSpec(kind, context, (LEAF,) * len(parts))),
    )


SUPPORTED_NODES: ChainMap[Any, Registration] = ChainMap(
    registered, {kind: _built_in(kind) for kind in (*BUILT_IN, namedtuple)}
)
"""Functions that take each class of nodes apart and put it together."""


def tree_is_leaf(tree: Any, is_leaf: Leafness = None) -> bool:
    """Tell whether a tree is but a leaf."""
    return tree_structure(tree, is_leaf).is_leaf()


# -- taking apart, putting together ------------------------------------------------------------------------------------


def tree_flatten(tree: Any, is_leaf: Leafness = None) -> tuple[list, TreeSpec]:
    """The leaves of a tree, and its structure. ``is_leaf`` says of a node that it is to be left whole."""
    return flatten(tree, is_leaf)


def tree_unflatten(leaves: Iterable, treespec: TreeSpec) -> Any:
    """The tree of this structure with these leaves.

    Raises:
        TypeError: ``treespec`` is none.
        ValueError: there are more leaves than it has, or fewer.
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}.")
    return treespec.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: Leafness = None) -> list:
    """The leaves of a tree."""
    return flatten(tree, is_leaf)[0]


def tree_iter(tree: Any, is_leaf: Leafness = None) -> Iterator:
    """The leaves of a tree, one after the other."""
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree: Any, is_leaf: Leafness = None) -> TreeSpec:
    """The structure of a tree."""
    return flatten(tree, is_leaf)[1]


def treespec_pprint(treespec: TreeSpec) -> str:
    """A structure, as a tree of asterisks."""
    return repr(tree_unflatten([_Asterisk()] * treespec.num_leaves, treespec))


class _Asterisk:
    def __repr__(self) -> str:
        return "*"


def _parts(tree: Any, spec: TreeSpec) -> list:
    """The parts of a tree at the leaves of a structure.
    Raises ValueError: it is built otherwise; the message is PyTorch's.
    """
    if spec.kind is None:
        return [tree]
    if type(tree) is not spec.kind and not {type(tree), spec.kind} <= MAPPINGS:
        raise ValueError(f"Node type mismatch; expected {spec.type}, but got {type(tree)}.")
    children, own = _one_level(tree)
    if len(children) != spec.num_children:
        raise ValueError(f"Node arity mismatch; expected {spec.num_children}, but got {len(children)}.")
    if spec.kind in MAPPINGS:
        expected, given = _names(spec), _names(own)
        if set(expected) != set(given):
            raise ValueError(f"Node keys mismatch; {_key_difference(set(expected), set(given))}.")
        by_name = dict(zip(given, children, strict=True))
        children = [by_name[name] for name in expected]
    elif spec.kind is not deque and own.context != spec.context:
        raise ValueError(f"Node context mismatch for custom node type {spec.kind}.")
    return [part for child, below in zip(children, spec.below, strict=True) for part in _parts(child, below)]


def _one_level(tree: Any) -> tuple[list, TreeSpec]:
    """The children of a node, and the structure as if they were leaves."""
    itself = iter((True,))
    return flatten(tree, lambda _: not next(itself, False))


def _names(spec: TreeSpec) -> list:
    """The keys of a mapping."""
    return spec.context[1] if spec.kind is defaultdict else spec.context


def _key_difference(expected: set, given: set) -> str:
    parts = {"missing": expected - given, "extra": given - expected}
    return "; ".join(f"{word} key(s): {names}" for word, names in parts.items() if names)


# -- functions of leaves -----------------------------------------------------------------------------------------------


def tree_map(func: Callable, tree: Any, *rests: Any, is_leaf: Leafness = None) -> Any:
    """The tree with ``func`` of each leaf, and of what the others have at its place.

    >>> tree_map(lambda x, y: x + y, {"a": 1, "b": (2,)}, {"a": 10, "b": (20,)})
    {'a': 11, 'b': (22,)}

    Raises:
        ValueError: one of the others is built otherwise.
    """
    leaves, spec = flatten(tree, is_leaf)
    columns = [leaves, *(_parts(rest, spec) for rest in rests)]
    return spec.unflatten([func(*row) for row in zip(*columns, strict=True)])


def tree_map_(func: Callable, tree: Any, *rests: Any, is_leaf: Leafness = None) -> Any:
    """The tree itself, after ``func`` of each leaf was called for what it does."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _wanted(types_or_pred: Any) -> Callable[[Any], bool]:
    """Tell whether a leaf is one of these types, or fulfils this. Raises TypeError: it is neither."""
    if isinstance(types_or_pred, (type, tuple, types.UnionType)):
        return lambda leaf: isinstance(leaf, types_or_pred)
    if callable(types_or_pred):
        return types_or_pred
    raise TypeError("Argument must be a type, a tuple of types, or a callable.")


def tree_map_only(type_or_types_or_pred: Any, /, func: Callable, tree: Any, is_leaf: Leafness = None) -> Any:
    """The tree with ``func`` of those leaves that are of these types, or fulfil this.

    >>> tree_map_only(int, lambda x: -x, [1, "a"])
    [-1, 'a']
    """
    wanted = _wanted(type_or_types_or_pred)
    return tree_map(lambda leaf: func(leaf) if wanted(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred: Any, /, func: Callable, tree: Any, is_leaf: Leafness = None) -> Any:
    """The tree itself, after ``func`` of those leaves was called for what it does."""
    tree_map_only(type_or_types_or_pred, func, tree, is_leaf)
    return tree


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: Leafness = None) -> bool:
    """Tell whether all leaves fulfil this."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: Leafness = None) -> bool:
    """Tell whether a leaf fulfils this."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: Leafness = None) -> bool:
    """Tell whether all leaves of these types fulfil this."""
    return all(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, type_or_types))


def tree_any_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: Leafness = None) -> bool:
    """Tell whether a leaf of these types fulfils this."""
    return any(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, type_or_types))


# -- with paths --------------------------------------------------------------------------------------------------------


def _paths(tree: Any, path: tuple, is_leaf: Leafness) -> Iterator[tuple[tuple, Any]]:
    if is_leaf is not None and is_leaf(tree):
        yield path, tree
        return
    children, spec = _one_level(tree)
    if spec is LEAF:
        yield path, tree
        return
    for key, child in zip(_keys(tree, spec), children, strict=True):
        yield from _paths(child, (*path, key), is_leaf)


def _keys(tree: Any, spec: TreeSpec) -> list:
    """The keys of a node's children. Raises ValueError: its class was registered without them."""
    kind = spec.kind
    if kind in MAPPINGS:
        return [MappingKey(key) for key in tree]
    if kind in registered:
        with_keys = registered[kind].flatten_with_keys_fn
        if with_keys is None:
            raise ValueError(
                f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass a flatten_with_keys_fn argument to "
                "register_pytree_node."
            )
        return [key for key, _ in with_keys(tree)[0]]
    if is_namedtuple_class(kind):
        return [GetAttrKey(name) for name in kind._fields]  # type: ignore[union-attr]
    return [SequenceKey(index) for index in range(spec.num_children)]


def tree_leaves_with_path(tree: Any, is_leaf: Leafness = None) -> list[tuple[tuple, Any]]:
    """The leaves of a tree, each with its path."""
    return list(_paths(tree, (), is_leaf))


def tree_flatten_with_path(tree: Any, is_leaf: Leafness = None) -> tuple[list[tuple[tuple, Any]], TreeSpec]:
    """The leaves of a tree, each with its path, and its structure."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func: Callable, tree: Any, *rests: Any, is_leaf: Leafness = None) -> Any:
    """As ``tree_map``; ``func`` gets the path of the leaf before it."""
    keypaths = [path for path, _ in _paths(tree, (), is_leaf)]
    leaves, spec = flatten(tree, is_leaf)
    columns = [keypaths, leaves, *(_parts(rest, spec) for rest in rests)]
    return spec.unflatten([func(*row) for row in zip(*columns, strict=True)])
