"""Attachments: what is compiled for an object, and lives no longer than that.

Note [What is compiled for an object]
A compiled method, a program for calls that are given a model, or the compiled call of a model that a step enters: each
of them refers to an object, and whoever it was compiled by, often a function that stays, must not keep that alive. So
the object has it, in a dictionary of attachments, under a key that its user holds; the two are garbage together. The
key is held weakly: what is forgotten by its user is gone, too. Optimizers have a slot for it, so that their attributes
are what they were.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary, ref

ATTACHMENTS = "_compiled_attachments"
"""The attribute in which an object has them."""


class Attachments:
    """The things that are compiled for one object, by keys. Copies and pickles are empty.

    Args:
        owner: the object.
    """

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.by_key: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

    def __reduce__(self) -> tuple:
        return dict, ()


def attachments_of(owner: Any) -> WeakKeyDictionary[Any, Any] | None:
    """The things that are compiled for an object, by keys; None if it can't have any: it has slots, or is a class."""
    if isinstance(owner, type):
        return None
    try:
        kept = object.__getattribute__(owner, ATTACHMENTS)
    except AttributeError:
        kept = None
    if type(kept) is not Attachments or kept.owner is not owner:  # that of which the object is a copy
        kept = Attachments(owner)
        try:
            object.__setattr__(owner, ATTACHMENTS, kept)
        except (AttributeError, TypeError):
            return None
    return kept.by_key


class Attached:
    """The key of one attachment: as long as somebody has it, the owner keeps the thing.

    Args:
        owner: the object that the thing refers to.
        thing: the thing.
    """

    __slots__ = ("_owner", "__weakref__")

    def __init__(self, owner: Any, thing: Any) -> None:
        self._owner = ref(owner)
        attachments_of(owner)[self] = thing  # type: ignore[index]

    def __call__(self) -> Any:
        """Give the thing, or None if its owner is gone."""
        owner = self._owner()
        return None if owner is None else attachments_of(owner).get(self)  # type: ignore[union-attr]
