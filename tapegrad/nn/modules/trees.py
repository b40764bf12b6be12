"""Modules as trees of jax, so that ``jax.jit``, ``jax.tree.map`` and optax take and return them.

Note [Modules as trees]
To jax a module is one node. Its children are its parameters and buffers, each once and by its path, whatever number of
places it has: weights that are tied stay tied. All else, the modules below, attributes, hooks and the mode, is its
structure: what jax compiles is compiled again when that is another. What comes out is a new module with the tensors
that came out, and structure of its own; the module that went in stays as it is. What is said of tensors in
Note [Tensors as trees] is true of its tensors, too: ``.grad`` does not travel.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

from tapegrad._src.tensor.paths import owners
from tapegrad.nn.parameter import is_lazy

TABLES = ("_parameters", "_buffers", "_modules")

OWN = "_compiled_call_impl", "_compiled_attachments"
"""The attributes that belong to the very module, as they do when one is copied."""


Found = dict[int, tuple[int, str, Any]]  # the number, the path and the tensor, by the tensor's identity


class ModuleStructure:
    """A module without its tensors, in whose places there are numbers.

    Attributes:
        kind: the module's class.
        attributes: what it has besides its three tables; copies, where that is tables itself.
        numbers: the number of each parameter and buffer, by table and name; None for those that are None.
        below: the structures of its modules, by name; None for those that are None.
    """

    __slots__ = ("attributes", "below", "kind", "numbers")

    def __init__(self, module: Any, found: Found, known: dict[int, ModuleStructure], path: str) -> None:
        known[id(module)] = self
        own = vars(module)
        self.kind = type(module)
        self.attributes = {name: copied(value) for name, value in own.items() if name not in (*TABLES, *OWN)}
        self.numbers = {
            table: {name: number_of(tensor, found, path + name) for name, tensor in own[table].items()}
            for table in ("_parameters", "_buffers")
        }
        self.below: dict[str, ModuleStructure | None] = {}
        for name, child in own["_modules"].items():
            same = None if child is None else known.get(id(child))
            if child is not None and same is None:
                same = ModuleStructure(child, found, known, f"{path}{name}.")
            self.below[name] = same

    def module(self, tensors: Sequence[Any], made: dict[int, Any]) -> Any:
        """A module of this structure with these tensors."""
        new = made[id(self)] = object.__new__(self.kind)
        own = vars(new)
        own.update((name, copied(value)) for name, value in self.attributes.items())
        for table, numbers in self.numbers.items():
            own[table] = {name: None if number is None else tensors[number] for name, number in numbers.items()}
        own["_modules"] = {
            name: None if child is None else made.get(id(child)) or child.module(tensors, made)
            for name, child in self.below.items()
        }
        owners[id(new)] = new
        return new

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, ModuleStructure) or self.kind is not other.kind or self.numbers != other.numbers:
            return False
        ours, theirs = self.attributes, other.attributes
        return (
            ours.keys() == theirs.keys()
            and all(same(value, theirs[name]) for name, value in ours.items())
            and list(self.below.items()) == list(other.below.items())
        )

    def __hash__(self) -> int:
        return hash((self.kind, tuple(self.below.items())))

    def __repr__(self) -> str:
        return self.kind.__name__


def flatten(module: Any) -> tuple[list[str], list[Any], ModuleStructure]:
    """The paths of a module's tensors, the tensors, and the module without them.

    Raises:
        ValueError: a parameter has no shape yet.

    >>> flatten(torch.nn.Linear(2, 3))[0]
    ['weight', 'bias']
    """
    found: Found = {}
    structure = ModuleStructure(module, found, {}, "")
    for _, path, tensor in found.values():
        if is_lazy(tensor):
            raise ValueError(
                f"the uninitialized parameter {path} of {type(module).__name__} can't go into a tree of jax; call the "
                "module once before, which gives it a shape"
            )
    return [path for _, path, _ in found.values()], [tensor for _, _, tensor in found.values()], structure


def unflatten(structure: ModuleStructure, tensors: Iterable[Any]) -> Any:
    """The module of a structure with these tensors, or with what jax puts into their places.

    >>> _, _, structure = flatten(torch.nn.Linear(2, 3))
    >>> unflatten(structure, [torch.zeros(3, 2), torch.ones(3)])(torch.ones(2))
    tensor([1., 1., 1.])
    """
    return structure.module(list(tensors), {})


def number_of(tensor: Any, found: Found, path: str) -> int | None:
    """The number of a tensor, which is found under a path now, and perhaps was before; None of None."""
    return None if tensor is None else found.setdefault(id(tensor), (len(found), path, tensor))[0]


def copied(value: Any) -> Any:
    """A table of its own, where an attribute is one, as hooks are; other values as they are."""
    return copy.copy(value) if isinstance(value, (dict, set, list)) else value


def same(one: Any, other: Any) -> bool:
    """Tell whether two attributes are equal, as far as that can be asked: of tensors and arrays, if they are one."""
    if one is other:
        return True
    try:
        return type(one) is type(other) and bool(one == other) and not hasattr(one, "dtype")
    except Exception:
        return False
