"""Lists and dictionaries that refuse to be changed: the arguments of nodes."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

from tapegrad.utils._pytree import register_pytree_node

__all__ = ["immutable_dict", "immutable_list"]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(
        f"'{type(self).__name__}' object does not support mutation. If you are attempting to modify the kwargs or args "
        "of a torch.fx.Node object,\ninstead create a new copy of it and assign the copy to the node:\n\n"
        "    new_args = ...  # copy and mutate args\n    node.args = new_args"
    )


class immutable_list(list[T]):
    """A list that is hashed as a tuple, and refuses to be changed.

    Raises:
        TypeError: something would change it.

    >>> len({immutable_list([1, 2]), immutable_list([1, 2])})
    1
    """

    __delitem__ = __iadd__ = __imul__ = __setitem__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> tuple[type, tuple[tuple[T, ...]]]:
        return type(self), (tuple(self),)


class immutable_dict(dict[K, V]):
    """A dictionary that is hashed by its items, and refuses to be changed.

    Raises:
        TypeError: something would change it.

    >>> immutable_dict(a=1)
    {'a': 1}
    """

    __delitem__ = __ior__ = __setitem__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[type, tuple[tuple[tuple[K, V], ...]]]:
        return type(self), (tuple(self.items()),)


register_pytree_node(
    immutable_list, lambda found: (list(found), None), lambda items, _: immutable_list(items),
    serialized_type_name="torch.fx.immutable_collections.immutable_list",
)  # fmt: skip
register_pytree_node(
    immutable_dict, lambda found: (list(found.values()), list(found)),
    lambda values, keys: immutable_dict(zip(keys, values, strict=True)),
    serialized_type_name="torch.fx.immutable_collections.immutable_dict",
)  # fmt: skip
