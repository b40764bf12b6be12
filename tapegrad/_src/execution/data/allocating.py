"""Memory of large arrays of NumPy's: at multiples of 64 bytes, where XLA reads them without a copy.

Note [Memory at a multiple]
NumPy takes memory from C's ``malloc``, which gives multiples of 16 bytes: three of four arrays would be copied before
XLA reads them (Note [Copies for XLA] in ``tiers/xla_copies.py``). Whose memory NumPy takes is a matter of the context,
and may be chosen by C code (NEP 49): a *handler*, of four functions that take a pointer of its own first. Ours is
NumPy's, but for ``malloc``: that is C's ``aligned_alloc``, whose first argument is the multiple, in place of the
pointer. What it gives is freed as all memory is, by the handler that each array remembers. So no Python runs, arrays of
users are as they were, and who is given one of these can't tell.

From ``HUGE`` bytes on NumPy asks for large pages, which are quicker than what copies cost.

Note [Memory that is given back]
What is freed stays with the process, in holes between what is not: C's ``malloc`` gives back the end of its memory
alone, and what NumPy wants next often has no room in them: so a process that trains grows for dozens of steps. The
holes are given back, too (``give_back``): before a large program of XLA's runs for the first time, which takes memory
of its own; and after steps of optimizers, when graphs are gone, so seldom that it takes no more than a hundredth of the
time, with what it takes to get the memory again (``GivingBack``).
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from contextvars import Context
from time import perf_counter

import numpy as np

from tapegrad._src.tape.mechanisms import GIVING_BACK

ALIGNED = 64
"""XLA reads an array where it lies if that is at a multiple of so many bytes."""

HUGE = 1 << 22
"""From how many bytes on NumPy's own memory is better."""

SET_HANDLER, GET_HANDLER = 304, 305
"""Places in the table of NumPy's functions for C, which never change."""

_NAME = b"mem_handler"


class _Allocator(ctypes.Structure):
    """``PyDataMem_Allocator``, and behind it the name by which it is known."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        *[(name, ctypes.c_void_p) for name in ("pointer", "malloc", "calloc", "realloc", "free")],
        ("known_as", ctypes.c_char * len(_NAME + b"\0")),
    )


_malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
"""C's, if there is one."""


def _trim() -> None:
    if _malloc_trim is not None:
        _malloc_trim(0)


def give_back() -> None:
    """Give memory that was freed back to the system, if it can be. See Note [Memory that is given back].

    >>> give_back()
    """
    if not GIVING_BACK.off:
        _trim()


SHARE = 0.01
"""The part of the time that it may take to give memory back."""

TO_GET_AGAIN = 0.3e-9
"""About how many seconds it takes to get a byte again that was given back."""


class GivingBack:
    """Gives memory back after steps of training.

    Attributes:
        due: when it is time for the next, by ``time.perf_counter``.
    """

    __slots__ = ("due",)

    def __init__(self) -> None:
        self.due = 0.0

    def after_step(self) -> None:
        """A step has ended."""
        start = perf_counter()
        if start < self.due or GIVING_BACK.off:
            return
        before = _resident()
        _trim()
        given_back, end = max(0, before - _resident()), perf_counter()
        self.due = end + (end - start + TO_GET_AGAIN * given_back) / SHARE


giving_back = GivingBack()


def _resident() -> int:
    """The bytes that the process has in memory; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * mmap.PAGESIZE
    except OSError:
        return 0


def align_in(context: Context) -> bool:
    """Have NumPy put what is computed in a context at multiples of ``ALIGNED``; False where there is no way to.

    >>> import contextvars
    >>> context = contextvars.copy_context()
    >>> not align_in(context) or context.run(np.empty, 10_000).ctypes.data % ALIGNED == 0
    True
    """
    table = getattr(np._core.multiarray, "_ARRAY_API", None)  # type: ignore[attr-defined]
    if sys.platform != "linux" or sys.implementation.name != "cpython" or table is None:
        return False
    c, python = ctypes.CDLL(None), ctypes.pythonapi
    pointer_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", python))
    capsule_of = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(
        ("PyCapsule_New", python)
    )
    functions = ctypes.cast(pointer_in(table, None), ctypes.POINTER(ctypes.c_void_p))
    known = ctypes.PYFUNCTYPE(ctypes.py_object)(functions[GET_HANDLER])()
    handler = _Allocator()
    ctypes.memmove(ctypes.addressof(handler), pointer_in(known, _NAME), _Allocator.known_as.offset)
    if handler.version != 1 or handler.name != b"default_allocator":
        return False
    handler.name, handler.known_as, handler.pointer = b"tapegrad_aligned", _NAME, ALIGNED
    handler.malloc = ctypes.cast(c.aligned_alloc, ctypes.c_void_p)
    python.Py_IncRef(ctypes.py_object(handler))  # the last array may be freed after this module
    there = ctypes.addressof(handler)
    context.run(ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(functions[SET_HANDLER]),
                capsule_of(there, there + _Allocator.known_as.offset, None))  # fmt: skip
    return True
