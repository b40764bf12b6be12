"""``make_tensor``: random tensors of any dtype for tests."""

from __future__ import annotations

import math
from typing import Any

from tapegrad._src.execution.data.dtypes import BOOL, FLOATING, INTEGRAL, dtype, finfo, iinfo
from tapegrad._src.functions.construction import tensor
from tapegrad._src.functions.creation import empty
from tapegrad._src.functions.unary import complex as complex_of
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn


def make_tensor(
    *shape: Any, dtype: dtype, device: Any, low: float | None = None, high: float | None = None,
    requires_grad: bool = False, noncontiguous: bool = False, exclude_zero: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """A tensor of random numbers, uniform in [low, high).

    Args:
        shape: the lengths, or one sequence of them.
        dtype, device: of the result.
        low, high: -9 and 9 for floating and complex dtypes (of which it is the real and the imaginary part), -9 and 10
            for integral ones, 0 and 10 for ``uint8``, 0 and 2 for ``bool``. What the dtype can't hold is cut off.
        requires_grad: for floating and complex dtypes.
        noncontiguous: whether there are gaps between the elements, if there is more than one.
        exclude_zero: put the smallest number (1 for integers) where a zero was drawn.
        memory_format: how it lies in memory.

    Raises:
        ValueError: bounds that are nan or in the wrong order, and arguments that exclude one another.

    >>> torch.testing.make_tensor(2, 3, dtype=torch.float64, device="cpu").shape
    torch.Size([2, 3])
    """
    lengths = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"{noncontiguous=} and {memory_format=}"
        )
    if requires_grad and dtype.category < FLOATING:
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype=}")
    gaps = noncontiguous and math.prod(lengths) > 1
    room = (*lengths[:-1], 2 * lengths[-1]) if gaps else lengths
    drawn: Any = _drawn(room, dtype, device, *_bounds(dtype, low, high))
    drawn = drawn[..., ::2] if gaps else drawn
    if memory_format is not None:
        drawn = drawn.clone(memory_format=memory_format)
    if exclude_zero:
        least = 1 if dtype.category < FLOATING else finfo(dtype).tiny
        drawn[drawn == 0] = tensor(least, dtype=dtype, device=device)
    return drawn.requires_grad_() if requires_grad else drawn


def _bounds(of: dtype, low: float | None, high: float | None) -> tuple[Any, Any]:
    """The bounds that numbers are drawn between: those given or the dtype's, within what it can hold."""
    least: Any
    most: Any
    if of.category == BOOL:
        least, most, default = 0, 2, (0, 2)
    elif of.category == INTEGRAL:
        limits = iinfo(of)
        least, most, default = limits.min, limits.max + 1, (0, 10) if limits.min == 0 else (-9, 10)
    else:
        most = finfo(of).max
        least, default = -most, (-9, 9)
    first, last = default[0] if low is None else low, default[1] if high is None else high
    if math.isnan(first) or math.isnan(last):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={first} and high={last}")
    if first > last or (first == last and of.category < FLOATING):
        raise ValueError(f"`low` must be less than `high`, but got {first} >= {last}")
    if first == last:
        warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since 2.1 "
            "and will be removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
        )
    return max(first, least), min(last, most)


def _drawn(lengths: tuple, of: dtype, device: Any, low: Any, high: Any) -> Tensor:
    if of.is_complex:
        parts = [_drawn(lengths, of.to_real(), device, low, high) for _ in range(2)]
        return complex_of(*parts)
    made = empty(lengths, dtype=of, device=device)
    if of.category < FLOATING:
        return made.random_(math.floor(low), math.ceil(high))
    return made.uniform_(low, high)
