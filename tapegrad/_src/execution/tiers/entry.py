"""Entries: the functions of straight-line Python that calls of a kernel pass, and in which NumPy warns of nothing.

Note [Quiet calls]
NumPy warns of overflows and divisions by zero; PyTorch does not. That it is silent is a matter of the context, and to
call a function in a context in which NumPy was told so once costs a tenth of telling it each time. A context can't be
entered twice: where another thread or a finalizer is in it, NumPy is told after all.

Note [Entries]
A call passes a function of straight-line Python (``Tiered.run``), written for the number of arguments. That of
``x * 2.5`` reads::

    def run(x0, x1):
        if type(x0) is ndarray and type(x1) is float:
            try:
                return quietly(body, x0, x1)
            except Exception as error:
                return failed(error, x0, x1)
        return other(x0, x1)

    def body(x0, x1):
        return written(x0, array(x1, dtype1))

What the names mean is changed when the tier is; whoever holds the function need not know. Where XLA runs the kernel,
``ndarray`` is a class that has no instances.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np

from tapegrad._src.execution.data.allocating import HUGE, align_in
from tapegrad._src.execution.tiers.xla_copies import LARGE

_quiet = contextvars.copy_context()
_quiet.run(partial(np.seterr, all="ignore"))
quietly = _quiet.run
"""``quietly(function, *arguments)``: a call in which NumPy warns of nothing. See Note [Quiet calls]."""

quiet_context = _quiet.copy
"""Gives a context of one's own in which NumPy warns of nothing."""

_aligning = _quiet.copy()
_aligned = align_in(_aligning)


def quietly_with(largest: int) -> Callable:
    """``quietly`` for arrays of which the largest has so many bytes. See Note [Memory at a multiple]."""
    return _aligning.run if _aligned and LARGE <= largest < HUGE else quietly


class Nothing:
    """A class without instances. See Note [Entries]."""


NUMPY = frozenset((np.ndarray, bool, int, float, complex, type(None)))
"""The types that functions of the host take: NumPy's arrays, and Python's numbers."""

_concrete: dict[type, bool] = dict.fromkeys(NUMPY, True)


def is_concrete(value: Any) -> bool:
    """Tell whether a value is an array of NumPy's or jax's that has elements, or a Python number; quick."""
    cls = type(value)
    known = _concrete.get(cls)
    if known is None:
        known = _concrete[cls] = isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer)
    return known


def entry_lines(examples: Sequence[object], checked: int = 0) -> list[str]:
    """The source of an entry, which makes sure of the types of its first arguments. See Note [Entries].

    >>> print("\\n".join(entry_lines([((3,), np.dtype("float32")), int])[:4]))
    def run(x0, x1):
        if type(x0) is ndarray and type(x1) is int:
            try:
                return quietly(body, x0, x1)
    """
    arguments = [f"x{i}" for i in range(len(examples))]
    checks, given = [], []
    for name, example in zip(arguments, examples, strict=True):
        if example is type(None):
            checks.append(f"{name} is None")
        elif isinstance(example, type):
            checks.append(f"type({name}) is {example.__name__}")
            given.append(name)
        else:
            checks.append(f"type({name}) is ndarray")
            given.append(name)
    checks.sort(key=lambda check: not check.endswith("ndarray"))
    checks += [f"{x}.dtype is dtype{i} and {x}.shape == shape{i}" for i, x in enumerate(given[:checked])]
    passed = ", ".join(arguments)
    return [
        f"def run({passed}):",
        f"    if {' and '.join(checks)}:",
        "        try:",
        f"            return quietly({', '.join(['body', *given])})",
        "        except Exception as error:",
        f"            return failed({', '.join(['error', *arguments])})",
        f"    return other({passed})",
    ]
