"""Values, and the questions that rooms above this one may ask of them.

Note [Values]
Above ``execution/`` a tensor's data is a *value*: an opaque handle with ``.shape`` and ``.dtype``. It is an array of
jax's or NumPy's; a tracer; what stands for something without elements (``opaque.py``); or a ``DeferredValue``, which a
program will compute, or has computed since. Nobody outside asks which. He asks whether it can be used as it is
(``is_ready``), has its elements computed (``materialized``), or asks whether two values are one (``same``). Whether
elements may be looked at is asked of ``array_functions/host.py``; whether what a thread computes is captured, of
``recording/capturing.py``. What programs are made of (``recording/program.py``) only ``compiler/`` sees.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import jax
import numpy as np

from tapegrad._src.caches import Interned
from tapegrad._src.execution.data.opaque import Opaque

new = object.__new__


class Aval:
    """The description of a value before it is computed. There is one object for each shape and dtype: ``aval``.

    Attributes:
        shape: the lengths of the dimensions; ``dtype``: NumPy's type of the elements.
        size, nbytes: how many elements there are, and how many bytes of memory they take.
    """

    __slots__ = ("shape", "dtype", "size", "nbytes", "__weakref__")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.shape, self.dtype = shape, dtype
        self.size = math.prod(shape)
        self.nbytes = self.size * dtype.itemsize


_avals = Interned()


def aval(shape: tuple[int, ...], dtype: np.dtype) -> Aval:
    """The ``Aval`` of this shape and dtype.

    >>> aval((2, 3), np.dtype("float32")).nbytes
    24
    """
    return _avals.get((shape, dtype)) or _avals.only((shape, dtype), Aval(tuple(shape), np.dtype(dtype)))


class DeferredValue:
    """A value that will be computed, or has been since.

    Attributes:
        program: the program that computes it; None when it has been run.
        slot: which result of the program it is.
        aval: its shape and dtype.
        array: the array that it is, once the program has been run.
    """

    __slots__ = ("program", "slot", "aval", "array")

    program: Any
    slot: int
    aval: Aval
    array: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the dimensions."""
        return self.aval.shape

    @property
    def dtype(self) -> np.dtype:
        """The type of the elements."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.aval.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.aval.size

    @property
    def nbytes(self) -> int:
        """The bytes of memory that the elements take, once they are there."""
        return self.aval.nbytes

    def materialize(self) -> Any:
        """The array, computed now if it has not been."""
        program = self.program
        if program is not None:
            program.materialize(self)
        return self.array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.materialize(), dtype)

    def __repr__(self) -> str:
        return f"DeferredValue({self.aval.dtype}{list(self.shape)})"


def deferred_value(program: Any, slot: int, aval: Aval) -> DeferredValue:
    """The value that a program computes as one of its results."""
    value = new(DeferredValue)
    value.program, value.slot, value.aval = program, slot, aval
    return value


UNSEEN = new(DeferredValue)
"""Stands among the values of a program for those that nobody will see."""


def materialized(value: Any) -> Any:
    """The array that a value is; computed now if it is deferred. Anything else as it is."""
    return value.materialize() if type(value) is DeferredValue else value


def described(value: Any) -> Any:
    """The description of a value that a program is compiled for: its shape and dtype; a number as it is."""
    if isinstance(value, NUMBERS):
        return value
    return jax.ShapeDtypeStruct(value.shape, value.dtype, weak_type=getattr(value, "weak_type", False))


def is_ready(value: Any) -> bool:
    """Tell whether kernels that are run at once take a value as it is: no deferred one is, not even when it was
    computed."""
    return type(value) is not DeferredValue


def same(left: Any, right: Any) -> bool:
    """Tell whether two values are one, computed or not."""
    return left is right or known_array(left) is known_array(right)


def known_array(value: Any) -> Any:
    """The array that a value is, if it has been computed."""
    return value.array if type(value) is DeferredValue and value.program is None else value


_tracers: dict[type, bool] = {}


def is_tracer(value: Any) -> bool:
    """Tell whether a value stands for what a traced function will be given, or for nothing; quicker than
    ``isinstance``."""
    cls = type(value)
    known = _tracers.get(cls)
    if known is None:
        known = _tracers[cls] = issubclass(cls, (jax.core.Tracer, Opaque))
    return known


class Traced(Exception):
    """An argument is a tracer: what is called with it belongs to the trace, not to a program.

    So it is with what has no elements: nothing of it is run.
    """


NUMBERS = (bool, int, float, complex, type(None))
"""The arguments of kernels besides arrays: Python numbers, and None for what is absent."""


def number_key(number: Any) -> Any:
    """The key of Python numbers that kernels must tell apart: also by the signs of zeros."""
    return (type(number), number if number and type(number) is not complex else repr(number))


quiet_numbers = partial(np.errstate, over="ignore")
"""Around the first call of a kernel: jax converts numbers by NumPy then, which warns of those that become infinite."""
