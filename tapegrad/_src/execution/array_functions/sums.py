"""Sums of gradients that are put where one of the summands lies.

Note [Sums in place]
A sum of two large arrays costs as much again for the memory that it is put into: fresh pages. So a running sum takes
the place of the one before, wherever nobody can have seen that: XLA is given the array (it is *donated*), which is then
deleted; NumPy writes to it. There are two such places. A sum of gradients that the engine has made itself, when more
than two meet at one place (``InputBuffer``), belongs to the buffer alone until all have arrived. A ``.grad`` that was
added to before is what a write has made; whether somebody holds it is known from its reference count (Note [Memory that
is reused] in ``tensor/tensor.py``). What comes out of a node is never given away: a custom function may return what it
keeps.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from tapegrad._src.execution.kernels.kernel import Shaped, add_values, host_sum, is_here
from tapegrad._src.execution.recording.execution_mode import is_recording
from tapegrad._src.execution.tiers.xla_copies import forget_xla_copy
from tapegrad._src.tape.modes import thread

WORTH_DONATING = 1 << 18
"""From how many bytes on it pays."""

FEW = WORTH_DONATING // 16
"""So many numbers take as many bytes, or fewer."""

_into = Shaped(jnp.add, name="accumulate", reuse=True)


def add_into(left: Any, right: Any, holder: Any = None) -> Any:
    """The sum of two values of one shape and dtype, put where ``left`` lies if that pays; nobody may use ``left`` then.

    Then it is ``holder.value`` at once. See Note [Interrupts and donation] in ``kernels/kernel.py``.

    >>> import jax.numpy as jnp
    >>> total = jnp.zeros(WORTH_DONATING // 4, jnp.float32)
    >>> float(add_into(total, total + 1)[0]), total.is_deleted()
    (1.0, True)
    """
    if type(left) is type(right) is np.ndarray:  # which is quick, and pays at any size
        now = not thread.modes.deferred or not is_recording()
        if now and left.base is None and left.shape == right.shape and left.dtype is right.dtype:
            return add_in_place(left, right)
        return add_values(left, right)
    if getattr(left, "size", 0) < FEW or left.nbytes < WORTH_DONATING:  # the first of them is quick to tell
        return add_values(left, right)
    if is_recording() or not (is_here(left) and is_here(right)):
        return add_values(left, right)
    if left.shape != right.shape or left.dtype != right.dtype:
        return add_values(left, right)
    if type(left) is np.ndarray and left.base is None:
        return add_in_place(left, np.asarray(right))
    kernel = _into.of(left)
    return kernel.run(left, right) if holder is None else kernel.overwrite(holder, left, right)


def add_in_place(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """``left``, to which ``right`` is added: one call into NumPy, so that no interrupt comes between."""
    forget_xla_copy(left)
    return host_sum(left, right, left)
