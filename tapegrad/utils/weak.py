"""``torch.utils.weak``: references that don't keep what they refer to alive, and dictionaries with such keys.

Tensors are compared element by element, so keys are compared by identity.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

from tapegrad._src.tensor.tensor import Tensor

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(weakref.ref):
    """A weak reference that is equal to another one if both are of the same object.

    Args:
        key: the object.
        callback: called with the reference when the object is gone.

    >>> x = torch.ones(2)
    >>> WeakIdRef(x) == WeakIdRef(x), WeakIdRef(x) == WeakIdRef(torch.ones(2))
    (True, False)
    """

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Callable[[Any], Any] | None = None) -> None:
        super().__init__(key, callback)  # type: ignore[call-arg]
        self._id = id(key)

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        mine, its = self(), other() if isinstance(other, WeakIdRef) else None
        return self is other if mine is None or its is None else mine is its


class WeakIdKeyDictionary(MutableMapping):
    """A dictionary whose keys are compared by identity; an entry goes when its key does.

    Args:
        dict: what it is filled with.
        ref_type: the class of its references.

    >>> x, names = torch.ones(2), WeakIdKeyDictionary()
    >>> names[x] = "x"
    >>> len(names), names[x]
    (1, 'x')
    >>> del x
    >>> len(names)
    0
    """

    def __init__(self, dict: Any = None, ref_type: Callable[..., Any] = WeakIdRef) -> None:
        self.data: Any = {}
        self.ref_type = ref_type
        own = weakref.ref(self)

        def remove(key: Any) -> None:
            found = own()
            if found is not None:
                found.data.pop(key, None)

        self._remove = remove
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._remove)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # to which there are no weak references
            return False

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[Any]:
        return iter([key for reference in [*self.data] if (key := reference()) is not None])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"

    def copy(self) -> WeakIdKeyDictionary:
        """Another one with the same entries."""
        return WeakIdKeyDictionary(self)

    __copy__ = copy

    def keyrefs(self) -> list[Any]:
        """The references to the keys, some of which may be gone already."""
        return [*self.data]


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor, which calling it gives; None when it is gone.

    Args:
        tensor: the tensor.

    Raises:
        AssertionError: it is none.
    """

    def __init__(self, tensor: Tensor) -> None:
        if not isinstance(tensor, Tensor):
            raise AssertionError(f"expected torch.Tensor, got {type(tensor)}.")
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Tensor | None:
        return self.ref()
