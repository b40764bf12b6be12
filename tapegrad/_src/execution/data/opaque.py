"""Values that are no arrays: those of transforms, and those of the device ``meta``.

Note [Values without data]
A tensor on the device ``meta`` has a ``Meta`` for its value: a shape and a dtype, and no elements. What an operator
gives is known from its plan, which is one of its own, for the device is in the spec; a kernel that is asked to compute
with such values gives others of the shapes and dtypes that its results would have (``Kernel.shapes``). So nothing is
compiled or run, no memory is taken, and the graph is recorded and walked as ever. Who wants elements (``to_host``,
``transfer``) is refused; checks that look at elements ask ``is_readable`` (``array_functions/host.py``) and are left
out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


class Opaque:
    """A value that is no array: it says itself how a kernel is run on it, with arrays and other such values.

    Attributes:
        shape, dtype: as an array has them.
        spec: what a tensor with this value is known by, above this room; None if by shape, dtype and device.
    """

    __slots__ = ()

    shape: tuple[int, ...]
    dtype: Any
    spec: Any
    as_tensor: Any = None
    """Gives the tensor with this value, where that has a class of its own."""
    is_answered: bool = False
    """True if that class answers for operators."""

    def run(self, function: Callable, values: tuple) -> Any:
        """The results of a function that ``Kernel.dispatcher`` gave, of these values, of which this is one."""
        raise NotImplementedError

    @property
    def below(self) -> Any:
        """The value that has its elements; None if nothing has."""
        raise NotImplementedError

    def is_part_of(self, whole: Any) -> bool:
        """Tell whether this shows by itself what is written to another value, of the whole memory."""
        return False

    def written_through(self, writer: Any, before: Any) -> Any:
        """The memory after this is written to the part that ``writer`` shows; None if it can't say."""
        return None


class Meta(Opaque):
    """A value without elements. See Note [Values without data].

    >>> Meta((1 << 20, 1 << 20), "float32").size
    1099511627776
    """

    __slots__ = ("shape", "dtype", "size", "__weakref__")

    spec = None
    below = None
    nbytes = 0
    """Nothing of it can be written over."""

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape, self.dtype = tuple(shape), dtype
        self.size = math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def run(self, function: Callable, values: tuple) -> Any:
        return function(*values)

    def __repr__(self) -> str:
        return f"Meta({self.dtype}{list(self.shape)})"
