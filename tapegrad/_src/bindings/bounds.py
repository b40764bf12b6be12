"""Checks that need a tensor's numbers: where PyTorch refuses an index or a probability that is out of range.

They are made where the numbers are at hand: on the CPU, and not inside somebody's ``jax.jit``; in a compiled call, late
(Note [Late errors] in ``execution/kernels/deferred_checks.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._src.execution.array_functions.host import innermost, is_readable, is_traced, may_look, to_host
from tapegrad._src.execution.data.devices import META
from tapegrad._src.execution.kernels.deferred_checks import Complaint, check_later, first_bad
from tapegrad._src.execution.numpy_backend.indexing import UNSIGNED
from tapegrad._src.tensor.lifted import all_elements
from tapegrad._src.tensor.tensor import Tensor, value_of


def numbers(tensor: Tensor) -> np.ndarray | None:
    """The elements of a tensor; None where they are on another device or not known yet.

    For what is done in another way if they are known; what is refused is ``refuse_elements``'s.
    """
    value = all_elements(tensor)
    return to_host(value) if tensor.device.is_host and is_readable(value) else None


def refuse_elements(
    tensor: Tensor, bad: Callable, *settings: Any, complaint: Complaint, anywhere: bool = False
) -> None:
    """Refuse a tensor that has wrong elements: now, or late.

    Args:
        tensor: the tensor.
        bad, settings: which elements are wrong, as ``first_bad`` takes it. Functions of a module, and hashable
            settings: a compiled program has a kernel for each.
        complaint: makes the error. It must not hold tensors.
        anywhere: whether it is worth while to wait for the numbers on another device than the CPU.

    >>> refuse_elements(torch.tensor([0, 3]), outside, 0, 3, complaint=lambda found: IndexError(f"no {found.number}"))
    Traceback (most recent call last):
        ...
    IndexError: no 3
    """
    if not tensor._spec.numel:
        return
    value = value_of(tensor)
    if type(value) is np.ndarray and may_look():
        finding = first_bad(value, bad, settings)
        if finding is not None:
            raise complaint(finding)
        return
    value = innermost(value)
    if tensor.device is META or not (anywhere or tensor.device.is_host):
        return
    if not may_look():
        if not is_traced(value):
            check_later(value, bad, settings, complaint)
        return
    if is_traced(value):
        return
    if not is_readable(value):  # other processes have some of it
        return
    finding = first_bad(to_host(value), bad, settings)
    if finding is not None:
        raise complaint(finding)


def refuse_unless(valid: Tensor, told: str, more: Callable[[], str]) -> None:
    """Refuse something of which not all is valid: now, or late, when nobody knows its numbers any more.

    Args:
        valid: booleans.
        told: what is said late.
        more: gives what is said now, with numbers.

    Raises:
        ValueError: one is false.
    """
    if not may_look():
        refuse_elements(valid, zero, complaint=lambda finding: ValueError(told), anywhere=True)
    elif not valid.all():
        raise ValueError(more())


FEW = 1 << 30
"""Bounds below it can be added to 32-bit integers, if those are within them."""


def outside(x: Any, low: int, high: int, ignored: int | None = None) -> Any:
    """Which indices are not in [low, high), and are not ``ignored``."""
    if type(x) is np.ndarray and x.size and x.dtype.char in "il" and low < high < FEW:
        steps = (x - low if low else x).view(UNSIGNED[x.itemsize])
        if steps.item(steps.argmax()) < high - low:  # those below are beyond all others
            return np.False_  # none, which is quick to tell
    bad = (x < low) | (x >= high)
    return bad if ignored is None else bad & (x != ignored)


def nonzero(x: Any) -> Any:
    """Which numbers are not 0."""
    return x != 0


def zero(x: Any) -> Any:
    """Which numbers are 0."""
    return x == 0


def differs(x: Any, number: int) -> Any:
    """Which numbers are others than this one."""
    return x != number


def negative(x: Any) -> Any:
    """Which numbers are below 0."""
    return x < 0


def not_in_unit_interval(x: Any) -> Any:
    """Which numbers are not in [0, 1]: nan is not."""
    return ~((x >= 0) & (x <= 1))


def not_nonnegative(x: Any) -> Any:
    """Which numbers are not at least 0: nan is not."""
    return ~(x >= 0)


def not_finite(x: Any) -> Any:
    """Which numbers are nan or infinite."""
    return ~(abs(x) < float("inf"))


def nan_along(x: Any, axes: tuple[int, ...]) -> Any:
    """Which parts have a nan, that lie along some axes."""
    return (x != x).any(axes)


def batch_element(index: int, ndim: int) -> str:
    """PyTorch's words for which matrix of a batch is meant; none if there is no batch."""
    return f"(Batch element {index}): " if ndim else ""
