"""Copies of NumPy arrays that XLA reads.

Note [Copies for XLA]
XLA reads a NumPy array where it lies if that is at a multiple of ``ALIGNED`` bytes and its elements are in order; then
jax holds it until that is over, so that its reference count tells those who would write to it. Of any other array XLA
makes a copy at each call. So a copy is made that lies well, kept as long as the array lives, and given to XLA the next
time; there are few of those, for what the host computes lies well (Note [Memory at a multiple] in
``data/allocating.py``). What is borrowed (``Borrowed``) is copied always: others write to that whenever they like, and
XLA may not have begun.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import jax
import numpy as np

from tapegrad._src.execution.data.allocating import ALIGNED
from tapegrad._src.execution.tiers.settings import hosted

COPYING = 0.4
"""About how many nanoseconds it takes to copy a byte of a large array, for XLA."""


class Borrowed(np.ndarray):
    """Memory that others may write to, borrowed by one call: no result may lie in it, and XLA gets a copy."""

    __slots__ = ()


LARGE = 1 << 14
"""From how many bytes on the copy that XLA gets is kept: smaller ones are copied while XLA looks at the arguments."""

_copies: dict[int, tuple[Any, np.ndarray]] = {}
_xla_copies: dict[int, tuple[Any, jax.Array]] = {}
_calls = threading.local()


@contextmanager
def borrowing() -> Iterator[None]:
    """Calls in it are given memory that others may write to: XLA gets copies of all."""
    before, _calls.borrowed = getattr(_calls, "borrowed", False), True
    try:
        yield
    finally:
        _calls.borrowed = before


def xla_readable(array: np.ndarray) -> np.ndarray:
    """The array that XLA is given for one: itself, if it is read where it lies, or is small; else a copy. See Note
    [Copies for XLA].

    >>> array = np.ones((100, 100))
    >>> xla_readable(array.T) is xla_readable(array.T), xla_readable(xla_readable(array.T)).shape
    (False, (100, 100))
    """
    if array.nbytes < LARGE:
        return array
    if getattr(_calls, "borrowed", False):
        return aligned(array)
    if array.flags.c_contiguous and array.ctypes.data % ALIGNED == 0:
        return array
    return _kept(_copies, array, aligned)


def readable(value: Any) -> Any:
    """A value as a program of XLA's is given it: a large NumPy array that lies badly as a copy, anything else as it is.

    >>> array = aligned(np.ones(10_000))
    >>> readable(array) is array, readable(2.5)
    (True, 2.5)
    """
    return xla_readable(value) if type(value) is np.ndarray else value


def is_xla_readable(array: np.ndarray) -> bool:
    """Tell whether an array, to which nobody writes any more, is a value as it is, that every kernel reads where it
    lies.

    >>> is_xla_readable(aligned(np.arange(5000))), is_xla_readable(aligned(np.arange(5000))[1:])
    (True, False)
    """
    lies_well = array.flags.c_contiguous and array.ctypes.data % ALIGNED == 0
    return lies_well and hosted()


def aligned(array: np.ndarray) -> np.ndarray:
    """A copy of an array that XLA reads where it lies.

    >>> copy = aligned(np.arange(5000)[1:])
    >>> copy.ctypes.data % ALIGNED, copy[:2].tolist()
    (0, [1, 2])
    """
    memory = np.empty(array.nbytes + ALIGNED, np.uint8)
    copy: np.ndarray = np.ndarray(array.shape, array.dtype, memory, -memory.ctypes.data % ALIGNED)
    copy[...] = array
    return copy


def xla_copy(array: np.ndarray) -> Any:
    """A jax array with the same elements, the same one as long as the array lives.

    >>> array = np.ones(10_000)
    >>> xla_copy(array) is xla_copy(array), xla_copy(array).dtype
    (True, dtype('float64'))
    """
    return _kept(_xla_copies, array, _put)


def _put(array: np.ndarray) -> jax.Array:
    with jax.core.eval_context(), jax.enable_x64(True):
        return jax.device_put(aligned(array))  # of the array itself jax would keep hold


def _kept(kept: dict[int, tuple[Any, Any]], array: np.ndarray, make: Callable[[np.ndarray], Any]) -> Any:
    """The thing that is made of an array, kept as long as that lives."""
    entry = kept.get(id(array))
    if entry is None or entry[0]() is not array:
        made, key = make(array), id(array)
        entry = kept[key] = weakref.ref(array, partial(_forget, kept, key)), made
    return entry[1]


def forget_xla_copy(array: np.ndarray) -> None:
    """An array is going to be written to, which nobody else has, but perhaps a copy of it is kept for XLA."""
    if _copies or _xla_copies:
        _copies.pop(id(array), None)
        _xla_copies.pop(id(array), None)


def forget_xla_copies(arrays: Iterable[np.ndarray]) -> None:
    """``forget_xla_copy`` of many, without a call of Python for each."""
    for kept in (_copies, _xla_copies):
        if kept:
            for key in map(id, arrays):
                kept.pop(key, None)


def _forget(kept: dict[int, tuple[Any, Any]], key: int, reference: Any) -> None:
    entry = kept.get(key)
    if entry is not None and entry[0] is reference:
        del kept[key]


def as_jax(value: Any) -> Any:
    """A value as jax's functions take it: a NumPy array as one of jax's, anything else as it is."""
    return xla_copy(value) if type(value) is np.ndarray else value
