"""The names of inputs and outputs of exported programs, which are PyTorch's, and of places in the arguments."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tapegrad._src.tensor.trees import TreeSpec
from tapegrad.export.dynamic_shapes import GivenLeaf
from tapegrad.nn import Module
from tapegrad.utils._pytree import MappingKey, SequenceKey, keystr, tree_leaves_with_path

Path = tuple[Any, ...]


def paths_of(module: Module, flat: Sequence, spec: TreeSpec) -> list[Path]:
    """The place of each leaf of ``(args, kwargs)`` among the arguments: the first key is the name of one.

    Raises:
        TypeError: ``forward`` doesn't take so many.
    """
    args, kwargs = spec.unflatten([GivenLeaf(index, leaf) for index, leaf in enumerate(flat)])
    named = {**inspect.signature(module.forward).bind_partial(*args).arguments, **kwargs}
    found = {leaf.index: path for path, leaf in tree_leaves_with_path(named) if isinstance(leaf, GivenLeaf)}
    return [found[index] for index in range(len(flat))]


def shown(path: Path) -> str:
    """A place in the arguments as messages about calls have it: ``x['key'][0]``."""
    return f"{path[0].key}{keystr(path[1:])}"


def key_name(key: Any) -> str:
    """A step of a path as a part of a name."""
    if isinstance(key, MappingKey):
        return re.sub(r"[^a-zA-Z0-9]", "_", str(key.key))
    return str(key.idx) if isinstance(key, SequenceKey) else key.name


class Names:
    """A supply of names, each of which is given once.

    >>> names = Names()
    >>> names.fresh("x"), names.fresh("x"), names.fresh("x")
    ('x', 'x_1', 'x_2')
    """

    def __init__(self) -> None:
        self.used: set[str] = set()

    def fresh(self, name: str) -> str:
        """A name, with a number behind it if it is taken."""
        number, found = 0, name
        while found in self.used:
            number += 1
            found = f"{name}_{number}"
        self.used.add(found)
        return found

    def of_input(self, path: Path) -> str:
        """The name of what the user gives at a place of the arguments."""
        return self.fresh("_".join(key_name(key).lower() for key in path))

    def of_target(self, prefix: str, target: str) -> str:
        """The name of what a module has.

        >>> Names().of_target("p_", "layer.0.weight")
        'p_layer_0_weight'
        """
        return self.fresh(prefix + re.sub(r"[^a-zA-Z0-9]", "_", target.removeprefix("self_")).lower())


def forward_names(module: Module, args: Sequence, kwargs: Mapping[str, Any]) -> list[str]:
    """The names of the arguments of a call, in their order: one for each of ``*args``."""
    signature, names = inspect.signature(module.forward), []
    for name, value in signature.bind_partial(*args).arguments.items():
        several = signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
        names += [f"{name}_{number}" for number in range(len(value))] if several else [name]
    return [*names, *kwargs]
