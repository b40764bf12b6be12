"""Functions of the host as bytes, and back: what Note [Kept functions] in ``tape/kept.py`` keeps of kernels.

A written function is its code and the names that it refers to: functions of NumPy's and of this room by their names,
dtypes, arrays. A function with anything else is not kept. Arrays come back as they were: how their elements lie in
memory, and whether they may be written to, could decide how NumPy computes with them.
"""

from __future__ import annotations

import io
import marshal
import pickle
from collections.abc import Callable
from operator import attrgetter
from types import FunctionType
from typing import Any

import jax
import numpy as np

from tapegrad._src.execution.data.dtypes import dtype, get_default_dtype
from tapegrad._src.execution.numpy_backend.operands import along_rows
from tapegrad._src.tape import kept
from tapegrad._src.tape.mechanisms import written_without
from tapegrad._src.warn import WRITTEN


class Pickler(pickle.Pickler):
    """Writes what ``pickle`` can, and functions that were written, and arrays as they are."""

    def reducer_override(self, obj: Any) -> Any:
        """The way in which such a thing is made again.

        Raises:
            PicklingError: a function that is found under no name, or an array that can't be kept.
        """
        cls = type(obj)
        if cls is FunctionType:
            if obj.__code__.co_filename == WRITTEN:
                globals_read = sorted(names_in(obj.__code__).intersection(obj.__globals__))
                names = {name: obj.__globals__[name] for name in globals_read}
                return function_of, (marshal.dumps(obj.__code__), names)
            if hasattr(obj, "ufunc"):
                return along_rows, (obj.ufunc,)
        elif cls is np.ndarray:
            if obj.dtype.hasobject or span_of(obj) > WIDEST:
                raise pickle.PicklingError("an array of objects, or a window on a large one")
            strides = None if obj.flags.c_contiguous else obj.strides
            return array_of, (obj.tobytes(), obj.dtype, obj.shape, strides, obj.flags.writeable)
        elif isinstance(obj, np.dtype):  # there is one of each, with which others are compared
            return np.dtype, (obj.type,)
        elif cls is slice:
            return slice, (obj.start, obj.stop, obj.step)
        return NotImplemented


def names_in(code: Any) -> set[str]:
    """The names that some code refers to, with what is inside it.

    >>> sorted(names_in((lambda: [len(x) for x in y]).__code__))
    ['len', 'y']
    """
    inside = [names_in(constant) for constant in code.co_consts if hasattr(constant, "co_names")]
    return set(code.co_names).union(*inside)


def function_of(code: bytes, names: dict[str, Any]) -> Callable:
    """A function that was written, with its names."""
    return FunctionType(marshal.loads(code), names)


WIDEST = 1 << 20
"""The most bytes that an array may lie on."""


def span_of(array: np.ndarray) -> int:
    """On how many bytes an array lies."""
    reach = zip(array.strides, array.shape, strict=True)
    return sum([abs(stride) * (length - 1) for stride, length in reach]) + array.itemsize if array.size else 0


def array_of(data: bytes, dtype: np.dtype, shape: tuple[int, ...], strides: Any, writeable: bool) -> np.ndarray:
    """An array with these elements, which lie in order, or so many bytes apart."""
    array = np.frombuffer(data, dtype).reshape(shape)
    if strides is None or not array.size:
        array = array.copy()
    else:
        before = -sum([stride * (length - 1) for stride, length in zip(strides, shape, strict=True) if stride < 0])
        after = sum([stride * (length - 1) for stride, length in zip(strides, shape, strict=True) if stride > 0])
        memory = np.zeros(before + after + dtype.itemsize, np.uint8)
        elements, array = array, np.ndarray(shape, dtype, memory, before, strides)
        array[...] = elements
    array.flags.writeable = writeable
    return array


def as_bytes(made: Any) -> bytes | None:
    """The bytes of what was made; None if something of it can't be said so.

    >>> of_bytes(as_bytes((1, np.dtype("int8"), np.add)))
    (1, dtype('int8'), <ufunc 'add'>)
    """
    buffer = io.BytesIO()
    try:
        Pickler(buffer, pickle.HIGHEST_PROTOCOL).dump(made)
    except (pickle.PicklingError, AttributeError, TypeError, ValueError):
        return None
    return buffer.getvalue()


of_bytes = pickle.loads
"""Gives the object that ``as_bytes`` was given."""

EXACT = frozenset((bool, int, float, complex, str, bytes, type(None), type(Ellipsis), dtype, np.dtype))
"""Settings of these types are said by their ``repr``."""


class Unkept(Exception):
    """Something that can't be said in a key."""


def said(value: Any) -> str:
    """A setting, or a part of one, as a text that no other one has.

    Raises:
        Unkept: there is none.

    >>> said((1, True, 0.5)), said(float)
    ('tuple(1, True, 0.5, )', 'float')
    """
    cls = type(value)
    if cls in EXACT:
        return repr(value)
    if isinstance(value, tuple):
        return f"{cls.__qualname__}({''.join([f'{said(item)}, ' for item in value])})"
    if cls is slice:
        return f"slice({said(value.start)}, {said(value.stop)}, {said(value.step)})"
    if cls is type and value in EXACT:
        return value.__name__
    raise Unkept


def outlined(value: Any) -> str:
    """A setting without its numbers, as a text.

    Raises:
        Unkept: there is none.

    >>> outlined((1, 0.5, "same"))
    "tuple(int, float, 'same', )"
    """
    cls = type(value)
    if cls is int or cls is float:
        return cls.__name__
    if isinstance(value, tuple):
        return f"{cls.__qualname__}({''.join([f'{outlined(item)}, ' for item in value])})"
    return said(value)


def circumstances() -> str:
    """The circumstances that decide, too, how a kernel is traced."""
    return repr((get_default_dtype(), *_configured(jax.config), *written_without()))


_configured = attrgetter(
    "jax_default_matmul_precision", "jax_numpy_dtype_promotion", "jax_numpy_rank_promotion",
    "jax_threefry_partitionable", "jax_default_prng_impl",
)  # fmt: skip


class ShippedEntry:
    """The entry that the package has for some calls: parts, each of which is read when it is asked for.

    Attributes:
        key: the digest of what it follows from.
        parts: what was written, by name; empty if there is nothing.
    """

    __slots__ = ("key", "parts")

    def __init__(self, family: str, outline: tuple) -> None:
        self.key = kept.digest(f"{family}\n{outline}".encode())
        entry = kept.shipped.find(self.key)
        self.parts: dict[Any, bytes] = {} if entry is None else marshal.loads(entry)

    def __call__(self, part: Any) -> Any:
        """The kept part; None if nothing is."""
        data = self.parts.get(part)
        return None if data is None else of_bytes(data)


class KeptEntry:
    """The place where something is kept, or would be.

    Attributes:
        key: the digest of what it follows from.
    """

    __slots__ = ("key",)

    def __init__(self, *texts: str) -> None:
        self.key = kept.digest("\n".join([*texts, circumstances()]).encode())

    def __call__(self) -> Any:
        """The thing that is kept there; None if nothing is."""
        entry = kept.store.find(self.key)
        if entry is None:
            return None
        try:
            return of_bytes(entry)
        except Exception:  # whatever it is that a name leads to nothing by now: it is made again
            return None

    def keep(self, made: Any) -> None:
        """Keep something there, if it can be."""
        if kept.store.room > 0:
            entry = as_bytes(made)
            if entry is not None:
                kept.store.keep(self.key, entry)
