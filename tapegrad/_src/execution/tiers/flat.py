"""Traces of kernels: Note [Flat traces].

Note [Flat traces]
Most functions of ``jax.numpy`` are jitted, so that a kernel that calls ten of them has ten jaxprs in its own: jax sets
up a trace for each, which takes two thirds of the time, and a program whose shapes are new waits for that. What XLA
compiles, and what is written for the host, is the same without them. So kernels are traced while jitted functions are
called as they are. Loops would be unrolled then, and branches taken at once where what they depend on is a constant:
what has some is ``staged``, as are functions of others, of which nobody knows.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from typing import Any

import jax
from jax import lax

from tapegrad._src.execution.recording.capturing import unwatched
from tapegrad._src.tape.mechanisms import FLAT_TRACES


def flat(function: Callable, *, own: bool = False) -> Callable:
    """An array function, to be traced without jaxprs inside its own. See Note [Flat traces].

    ``own``: whether it calls nothing but ours (Note [What is not watched], ``recording/capturing.py``).

    >>> jax.make_jaxpr(flat(lambda x: jax.numpy.square(x)))(1.0)
    { lambda ; a:f32[]. let b:f32[] = square a in (b,) }
    """

    @wraps(function)
    def call(*values: Any) -> Any:
        with unwatched() if own else nullcontext(), nullcontext() if FLAT_TRACES.off else jax.disable_jit():
            return function(*values)

    call.own = own  # type: ignore[attr-defined]
    return call


def is_own(function: Callable) -> bool:
    """Tell whether an array function was declared to call nothing but ours."""
    return getattr(function, "own", False)


def staged(function: Callable) -> Callable:
    """An array function that is traced as jax does it, inside kernels too.

    >>> "scan" in str(jax.make_jaxpr(flat(lambda x: scan(lambda a, b: (a + b, None), 0.0, x)))(jax.numpy.ones(3)))
    True
    """

    @wraps(function)
    def call(*values: Any, **settings: Any) -> Any:
        with jax.disable_jit(False):
            return function(*values, **settings)

    return call


scan, fori_loop, while_loop = staged(lax.scan), staged(lax.fori_loop), staged(lax.while_loop)
