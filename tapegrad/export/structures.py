"""Structures of arguments and results as JSON says them."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Any

from tapegrad._src.tensor.trees import LEAF, TreeSpec, registered
from tapegrad.utils._pytree import SERIALIZED

PLAIN: dict[str, type] = {"tuple": tuple, "list": list, "dict": dict, "OrderedDict": OrderedDict, "deque": deque}
"""Python's containers that files know by name."""

KEYS = (str, int, bool, float, type(None))


def to_json(spec: TreeSpec) -> Any:
    """A structure as JSON.

    Raises:
        NotImplementedError: PyTorch's message: a class in it has no name in files; keys of a dict are no numbers and no
            strings.

    >>> from_json(to_json(LEAF)) == LEAF
    True
    """
    if spec.kind is None:
        return None
    name, context = name_of(spec)
    return {"kind": name, "context": context, "below": [to_json(child) for child in spec.children()]}


def name_of(spec: TreeSpec) -> tuple[str, Any]:
    """The name of the class of a node, and what else has to be known of it."""
    kind: Any = spec.kind
    if kind in PLAIN.values():
        names = spec.context if isinstance(spec.context, list) else []
        if not all(isinstance(name, KEYS) for name in names):
            raise NotImplementedError(f"files can't have the keys {names} of a dict: not all are strings or numbers")
        return kind.__name__, spec.context
    if kind in SERIALIZED:
        known = SERIALIZED[kind]
        if spec.is_named():
            return known.name, None
        return known.name, spec.context if known.to_json is None else known.to_json(spec.context)
    if spec.is_named():
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {kind} because we didn't register a serializated_type_name. "
            "Please register using `_register_namedtuple`."
        )
    raise NotImplementedError(
        f"No registered serialization name for {kind} found. Please update your _register_pytree_node call with a "
        "`serialized_type_name` kwarg."
    )


def from_json(said: Any) -> TreeSpec:
    """The structure that JSON says.

    Raises:
        NotImplementedError: it has a class that isn't registered here under that name.
    """
    if said is None:
        return LEAF
    below = tuple(map(from_json, said["below"]))
    name, context = said["kind"], said["context"]
    if name in PLAIN:
        return TreeSpec(PLAIN[name], context, below)
    for kind, known in SERIALIZED.items():
        if known.name == name:
            own = kind if kind not in registered else context if known.from_json is None else known.from_json(context)
            return TreeSpec(kind, own, below)
    raise NotImplementedError(
        f"no class is registered by the serialized_type_name {name!r}; register it as where the program was exported"
    )
