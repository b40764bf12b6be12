"""Sizes of tensors: those that no memory can hold are refused before XLA sees them, which aborts at some.

``check_size`` is asked where a spec is made (``tensor/spec.py``) and where a constant is, so that every operator and
every function that makes a tensor is covered, and nothing is asked twice. ``out_of_memory`` words what XLA and NumPy
say of memory that they could not get.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import jax
import numpy as np
from jax import export, lax

from tapegrad.errors import OutOfMemoryError

LARGEST = 2**63 - 1
"""As many elements, or bytes, may there be."""

_NEVER_ASKED = 1 << 30  # bytes: what any machine has is not compared with what this one has

MEMORY_ERRORS = (MemoryError, jax.errors.JaxRuntimeError)
"""The errors that NumPy and XLA raise where there is no memory, and, the latter, for other reasons."""


SYMBOL: Any = type(export.symbolic_shape("n")[0])
"""The class of jax's lengths that are not known, and of what is computed from them."""

class _Exporting(threading.local):
    on = False


exporting = _Exporting()
"""True if what the calling thread traces with symbols for lengths is to be a program of its own, for any platform."""

MOST_DIMENSIONS = 64
"""The most dimensions, which NumPy has, too. PyTorch has tensors of more, but no function that reduces one."""


def check_size(shape: Sequence[int], itemsize: int, device_type: str = "cpu", owned: bool = True) -> None:
    """Refuse a shape that is too large; ``owned``: for memory of its own, not for what shows others' memory.

    Raises:
        RuntimeError: PyTorch's messages. More than 64 dimensions. More elements or bytes than 63 bits count, or than
            this machine has.

    >>> check_size((2, 3), 4)
    >>> check_size((1 << 32, 1 << 32), 4)
    Traceback (most recent call last):
    RuntimeError: Storage size calculation overflowed with sizes=[4294967296, 4294967296]
    """
    if len(shape) > MOST_DIMENSIONS:
        raise RuntimeError(f"only tensors with up to {MOST_DIMENSIONS} dims are supported")
    if is_symbolic(shape):
        return  # what it will be is not known
    size = itemsize if owned else 1
    for length in shape:
        size *= length
        if size > LARGEST or length < 0:  # jax counts modulo 2^64
            if not owned:
                raise RuntimeError("numel: integer multiplication overflow")
            raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")
    if not size:
        _check_strides(shape)
    if owned and size > _NEVER_ASKED and device_type == "cpu" and size > host_memory():
        raise refused(size)


def _check_strides(shape: Sequence[int]) -> None:
    """Of a tensor without elements, whose lengths may be of any size, the distances must be numbers of 64 bits."""
    stride = 1
    for length in reversed(shape[1:]):
        stride *= max(length, 1)
    if stride > LARGEST:
        raise RuntimeError("Stride calculation overflowed")


def host_memory() -> int:
    """The bytes that a process could get at best: the machine's memory and what it can swap out to."""
    try:
        with open("/proc/meminfo") as lines:
            known = dict(re.findall(r"(MemTotal|SwapTotal): +(\d+) kB", lines.read()))
    except OSError:
        known = {}
    return 1024 * sum(map(int, known.values())) if known else 1 << 47  # more has no address


def refused(size: int) -> RuntimeError:
    """PyTorch's error for memory that the host does not have."""
    return RuntimeError(
        "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to "
        f"allocate {size} bytes. Error code 12 (Cannot allocate memory)"
    )


def out_of_memory(error: BaseException) -> BaseException:
    """PyTorch's error in place of one of ``MEMORY_ERRORS``; the error itself if it is about something else.

    >>> out_of_memory(MemoryError())
    RuntimeError('std::bad_alloc')
    """
    if isinstance(error, MemoryError):
        shape, np_dtype = error.args if len(error.args) == 2 else ((), None)
        if not np_dtype:
            return RuntimeError("std::bad_alloc")
        return refused(int(np.prod(shape, dtype=object)) * np_dtype.itemsize)
    text = str(error)
    if not text.startswith("RESOURCE_EXHAUSTED"):
        return error
    asked: Any = re.search(r"allocat\w+ (\d+)(?: bytes|B)", text)
    if jax.default_backend() == "cpu":
        return refused(int(asked[1])) if asked else RuntimeError(text)
    return OutOfMemoryError(text)


# -- lengths in kernels ------------------------------------------------------------------------------------------------


def as_number(length: Any) -> Any:
    """A length for kernels to compute with: a float, or the symbol that it is. See Note [Shape classes].

    >>> as_number(3)
    3.0
    """
    return float(length) if isinstance(length, (int, float)) else length


def lies_further(one: Any, other: Any) -> bool:
    """Tell whether one distance in memory is more than another one; of symbols the multiple counts as more.

    >>> lies_further(12, 4)
    True
    """
    try:
        return one > other
    except jax.errors.InconclusiveDimensionOperation:
        return one % other == 0


def is_symbolic(shape: Sequence[Any]) -> bool:
    """Tell whether a length of a shape is not known.

    >>> is_symbolic((2, 3))
    False
    """
    return SYMBOL in map(type, shape)


def slice_extent(length: Any, start: Any, stop: Any, step: int) -> tuple[Any, Any]:
    """The first item of a Python slice of a length, or of the symbol that it is, and how many there are.

    >>> slice_extent(5, 1, None, 2)
    (1, 2)
    """
    if not is_symbolic((length, start, stop)):
        indices = range(*slice(start, stop, step).indices(length))
        return indices.start, len(indices)
    first, end = (
        default if bound is None else min(bound + length if bound < 0 else bound, length)
        for bound, default in ((start, 0), (stop, length))
    )
    return first, max((end - first + step - 1) // step, 0)


def scaled(length: Any, factor: float) -> Any:
    """So many times a length, or the symbol that it is, rounded down.

    Raises:
        TypeError: the length is a symbol, and the factor no fraction of small numbers.

    >>> scaled(5, 1.5)
    7
    """
    if not is_symbolic((length,)):
        return math.floor(length * factor)
    fraction = Fraction(factor).limit_denominator(1000)
    if float(fraction) != factor:
        raise TypeError(f"a length that is not known can't be multiplied by {factor}")
    return length * fraction.numerator // fraction.denominator


def at_most(length: Any, limit: int) -> bool:
    """Tell whether a length is at most so much; a symbol counts as a length for the host, where arrays are small, and
    as a large one in what is exported.

    >>> at_most(5, 4)
    False
    """
    return length <= limit if isinstance(length, int) else not exporting.on


def exceeds(length: Any, number: float) -> bool:
    """Tell whether a length, or the symbol that it is, is more than a number.

    >>> exceeds(3, 2.5), exceeds(3, 3)
    (True, False)
    """
    return length > (number if isinstance(length, int) else math.floor(number))


def counting_along(length: Any) -> Any:
    """0, 1, ... up to a length, in int32: an array of NumPy's, a constant of kernels; of a symbol one of jax's.

    >>> counting_along(3)
    array([0, 1, 2], dtype=int32)
    """
    return np.arange(length, dtype=np.int32) if isinstance(length, int) else lax.iota(np.int32, length)
