"""Dual tensors: a tensor and its tangent, which operators compute alongside (forward-mode differentiation).

Note [Duals]
A dual tensor is a tensor with a tangent (``_tangent``) and ``dual`` in its spec, so that calls on it run by plans of
their own (``dispatch/jvp.py``). Tangents belong to the dual level of their thread: the thread remembers, weakly,
which tensors have one, and forgets all tangents when the level is left. So a tensor must become dual by
``set_tangent``, never by a spec that says so: it would still be dual in the next level.
"""

from __future__ import annotations

import weakref

from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.tensor import Tensor, value_of, wrap


def tangent_of(tensor: Tensor) -> Tensor | None:
    """The tangent of a tensor at the present level, or None."""
    return tensor._tangent if tensor._spec.dual else None


def set_tangent(tensor: Tensor, tangent: Tensor | None) -> None:
    """Give a tensor a tangent of its shape, or take it away."""
    tensor._tangent = tangent
    if tangent is None:
        tensor._spec = tensor._spec.replace(dual=False)
    elif not tensor._spec.dual:
        tensor._spec = tensor._spec.replace(dual=True)
        thread.duals.append(weakref.ref(tensor))


def holder_of(tensor: Tensor) -> Tensor:
    """A tensor that has the tangent of ``tensor`` until the level is left, for those who keep the data otherwise."""
    holder = wrap(value_of(tensor), tensor._spec.bare)
    set_tangent(holder, tensor._tangent)
    return holder


def forget_tangents() -> None:
    """Make every dual tensor of this thread a plain one again."""
    duals, thread.duals = thread.duals, []
    for reference in duals:
        tensor = reference()
        if tensor is not None:
            set_tangent(tensor, None)
