"""Doors: places in a room for things of rooms above it.

Note [Doors]
A module imports only from rooms below its own. Where it has to call something that a room above it has, it has a
``Door``, and that room fills it, once, when it is imported. So who knows whom can still be read off the imports;
all doors, with who fills them and why, are listed in ``tapegrad/README.md``.
"""

from __future__ import annotations

from typing import Generic, TypeVar

Content = TypeVar("Content")


class Door(Generic[Content]):
    """A place for one thing from a room above.

    Args:
        name: what errors call it.
        filled_by: the module that fills it.

    Attributes:
        content: what it was filled with. RuntimeError if it has not been filled.
        is_filled: whether it has been.

    >>> door = Door[str]("an example", filled_by="here")
    >>> door.content
    Traceback (most recent call last):
      ...
    RuntimeError: the door 'an example' is empty: here has to be imported, which fills it
    >>> door.fill("something")
    >>> door.content
    'something'
    """

    __slots__ = ("name", "filled_by", "is_filled", "content")

    content: Content

    def __init__(self, name: str, *, filled_by: str) -> None:
        self.name, self.filled_by = name, filled_by
        self.is_filled = False

    def fill(self, content: Content) -> None:
        """Put something into it.

        Raises:
            RuntimeError: there is something already.
        """
        if self.is_filled:
            raise RuntimeError(f"the door {self.name!r} is filled already: by {self.filled_by}")
        self.content, self.is_filled = content, True

    def __getattr__(self, name: str) -> Content:  # called where a slot is empty
        if name == "content":
            raise RuntimeError(f"the door {self.name!r} is empty: {self.filled_by} has to be imported, which fills it")
        raise AttributeError(name)

    def __repr__(self) -> str:
        return f"Door({self.name!r}, filled_by={self.filled_by!r})"
