"""Fake quantization by scales that follow what was observed."""

from __future__ import annotations

from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.execution.data.dtypes import float32, float64, int32
from tapegrad._src.functions.reductions import amax, amin
from tapegrad._src.functions.selection import where
from tapegrad._src.tape.modes import switched
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import quantization, shape
from tapegrad.ops.selection import maximum as _larger
from tapegrad.ops.selection import minimum as _smaller

SMALLEST = 6.1e-5
"""The smallest scale: others are too small for half precision."""


@public("torch")
def fused_moving_avg_obs_fake_quant(
    input: Tensor, observer_on: Tensor, fake_quant_on: Tensor, running_min: Tensor, running_max: Tensor,
    scale: Tensor, zero_point: Tensor, averaging_const: float, quant_min: int, quant_max: int, ch_axis: int,
    per_row_fake_quant: bool = False, symmetric_quant: bool = False,
) -> Tensor:  # fmt: skip
    """Fake quantization of ``input``; if ``observer_on``, by extrema that first are averaged with its own.

    ``running_min``, ``running_max``, ``scale`` and ``zero_point`` are written to.

    Args:
        observer_on, fake_quant_on: tensors of one element each.
        averaging_const: how much of the new extrema is in the average.
        quant_min, quant_max: the bounds of the integers.
        ch_axis: the dimension of the channels, which have scales of their own if ``per_row_fake_quant``.
        symmetric_quant: whether 0 is in the middle of the bounds.

    Raises:
        RuntimeError: there is no such dimension.

    >>> state = [torch.tensor(torch.inf), torch.tensor(-torch.inf), torch.ones(1), torch.zeros(1, dtype=torch.int32)]
    >>> on = torch.ones(1)
    >>> torch.fused_moving_avg_obs_fake_quant(torch.tensor([-1.0, 0.3, 2.0]), on, on, *state, 0.01, 0, 15, -1)
    tensor([-1.0000,  0.4000,  2.0000])
    """
    if ch_axis >= input.ndim:
        raise RuntimeError("Error in fused_moving_avg_obs_fake_quant_cpu: ch_axis must be < self.dim()")
    axis = ch_axis if per_row_fake_quant else None
    if observer_on.item():
        with switched(grad=False):
            _observe(input.detach(), running_min, running_max, averaging_const, axis)
            scales, points = chosen(running_min, running_max, quant_min, quant_max, symmetric_quant)
            for old, new in ((scale, scales), (zero_point, points)):
                _write(old, new.reshape(-1))
    if not fake_quant_on.item():
        return input.clone()
    alone = () if axis is None else tuple(length if dim == axis else 1 for dim, length in enumerate(input.shape))
    given = [shape.view(one.detach(), shape=alone) for one in (scale, zero_point.to(int32))]
    return quantization.fused_fake_quantize(input, *given, quant_min=int(quant_min), quant_max=int(quant_max))


def _write(old: Tensor, new: Tensor) -> None:
    if old.shape != new.shape:
        old.resize_(new.shape)
    old.copy_(new)


def _observe(x: Tensor, low: Tensor, high: Tensor, share: float, axis: int | None) -> None:
    """Move the extrema that are known towards those of ``x``, of each channel if there is an ``axis``."""
    others = [dim for dim in range(x.ndim) if dim != axis]
    extrema = [function(x, dim=others) if others else x for function in (amin, amax)]
    known = low.numel() == extrema[0].numel()
    for old, new in zip((low, high), extrema, strict=True):
        new = new.to(float32)
        first = old.isinf() if known else None
        _write(old, new if first is None else where(first, new, old + share * (new - old)))


def chosen(low: Tensor, high: Tensor, quant_min: int, quant_max: int, symmetric: bool) -> tuple[Tensor, Tensor]:
    """Scales and zero points that represent all between extrema, and 0 exactly."""
    span, low, high = quant_max - quant_min, _smaller(low, low.new_zeros(())), _larger(high, high.new_zeros(()))
    both = (low < 0) & (high > 0)
    if symmetric:
        lowest, highest = -(span // 2 + 1), span // 2
        widest = _larger((low / lowest).abs(), (high / highest).abs())
        low, high = where(both, widest * lowest, low), where(both, widest * highest, high)
    scale = ((high.to(float64) - low) / span).to(float32)
    scale = where((scale == 0) | (1 / scale).isinf(), 0.1, scale).to(float32)
    low, high, scale = _widened(low, high, scale, span)
    from_low, from_high = (bound - end.to(float64) / scale for bound, end in ((quant_min, low), (quant_max, high)))
    errors = [abs(bound) + (end.to(float64) / scale).abs() for bound, end in ((quant_min, low), (quant_max, high))]
    point = where(errors[0] < errors[1], from_low, from_high)
    point = where(both, (quant_min + quant_max) / 2, point) if symmetric else point
    return scale, point.clamp(quant_min, quant_max).round().to(int32)


def _widened(low: Tensor, high: Tensor, scale: Tensor, span: int) -> tuple[Tensor, Tensor, Tensor]:
    """The same with a scale that is not too small, and extrema that are as far apart."""
    small, factor = scale < SMALLEST, SMALLEST / scale
    wide = SMALLEST * span
    lower = where(low == 0, low, where(high == 0, -wide, low * factor))
    higher = where(high == 0, high, where(low == 0, wide, high * factor))
    return where(small, lower, low), where(small, higher, high), where(small, SMALLEST, scale).to(float32)
