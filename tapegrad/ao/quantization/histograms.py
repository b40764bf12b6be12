"""An observer of histograms: it chooses the bounds with which rounding makes the smallest squared error."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad._src.functions.construction import tensor
from tapegrad._src.functions.creation import linspace, zeros
from tapegrad._src.functions.gathering import repeat_interleave
from tapegrad._src.functions.reductions import aminmax
from tapegrad._src.functions.sorting import bincount, bucketize, histc
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.ao.quantization.observing import EPS, UniformQuantizationObserverBase, made_with, refuse_channels
from tapegrad.ao.quantization.schemes import bounds_of, per_tensor_affine, quint8
from tapegrad.ops.selection import maximum, minimum

FINER = 16
"""The number of parts into which a bin is cut before it is spread over wider ones."""

STEP = 1e-5
"""The share of the numbers that one step of the search leaves out."""


class HistogramObserver(UniformQuantizationObserverBase):
    """An observer of a histogram of all numbers that passed.

    Bounds of what is represented are sought between the extrema: as long as the squared error gets smaller, numbers are
    left out at one end or the other (norm minimization, as in caffe2).

    Args:
        bins: the number of bins.
        dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic: as of
            ``UniformQuantizationObserverBase``; the scheme is one for tensors.

    Raises:
        NotImplementedError: a scheme for channels, or a dynamic one.

    >>> observer = torch.ao.quantization.HistogramObserver(bins=4)
    >>> _ = observer(torch.tensor([0.0, 1.0, 1.0, 4.0]))
    >>> observer.histogram
    tensor([1., 2., 0., 1.])
    """

    histogram: Tensor

    def __init__(
        self, bins: int = 2048, dtype: Any = quint8, qscheme: Any = per_tensor_affine, reduce_range: bool = False,
        quant_min: int | None = None, quant_max: int | None = None, factory_kwargs: dict | None = None,
        eps: float = EPS, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        refuse_channels("HistogramObserver", qscheme)
        if is_dynamic:
            raise NotImplementedError("HistogramObserver doesn't support dynamic quantization")
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs)
        given = made_with(factory_kwargs)
        self.bins, self.upsample_rate = bins, FINER
        self.register_buffer("histogram", zeros(bins, **given))
        self.register_buffer("min_val", tensor(math.inf, **given))
        self.register_buffer("max_val", tensor(-math.inf, **given))
        least, largest = bounds_of(dtype, False)
        self.dst_nbins = max(largest - least + 1, 2**8)  # of smaller integers, too

    def forward(self, x_orig: Tensor) -> Tensor:
        """Give the input, whose finite numbers have been counted."""
        x = x_orig.detach()
        if x.numel() and x.isinf().any():
            warn("torch.inf detected in input tensor, ignoring input")
            x = x[~x.isinf()]
        if x.numel():
            self._count(x)
        return x_orig

    def _count(self, x: Tensor) -> None:
        low, high = aminmax(x)
        if self.min_val == math.inf or self.max_val == -math.inf:
            self.reset_histogram(x, low, high)
            return
        low, high = minimum(self.min_val, low), maximum(self.max_val, high)
        counts = histc(x, self.bins, min=low.item(), max=high.item())
        self.histogram.copy_(counts + self._spread(low, high))
        self.min_val.copy_(low)
        self.max_val.copy_(high)

    def reset_histogram(self, x: Tensor, min_val: Tensor, max_val: Tensor) -> None:
        """Count the numbers of ``x`` between two bounds, and forget what was counted before."""
        if min_val.numel() != 1 or max_val.numel() != 1:
            raise AssertionError("histogram min/max values must be scalar.")
        self.min_val.copy_(min_val)
        self.max_val.copy_(max_val)
        self.histogram.copy_(histc(x, self.bins, min=min_val.item(), max=max_val.item()))

    def _spread(self, low: Tensor, high: Tensor) -> Tensor:
        """The counts up to now, in the bins between other bounds: each bin's parts lie where their middles do."""
        old_low, old_high = self.min_val, self.max_val
        if low == old_low and high == old_high:
            return self.histogram
        if old_low == old_high:
            return histc(old_low, self.bins, min=low.item(), max=high.item()) * self.histogram.sum()
        parts = self.bins * self.upsample_rate
        middles = linspace(old_low, old_high, parts + 1)[:-1] + 0.5 * ((old_high - old_low) / parts)
        bins = bucketize(middles, linspace(low, high, self.bins + 1), right=True) - 1
        shares = repeat_interleave(self.histogram, self.upsample_rate) / self.upsample_rate
        return bincount(bins.clamp(0, self.bins - 1), weights=shares, minlength=self.bins)

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """The scale and the zero point that represent all between the bounds that were found."""
        if self.min_val == math.inf and self.max_val == -math.inf:
            warn(
                "must run observer before calling calculate_qparams.                                    Returning "
                "default scale and zero point "
            )  # fmt: skip
            return tensor([1.0], device=self.min_val.device), tensor([0], device=self.min_val.device)
        if self.bins != len(self.histogram):
            raise AssertionError(
                "The number of bins in histogram should be equal to the number of bins supplied while making this "
                "observer"
            )
        first, last = searched(
            self.histogram.numpy(), (self.max_val.item() - self.min_val.item()) / self.bins, self.dst_nbins
        )
        width = (self.max_val - self.min_val) / self.bins
        return self._between(self.min_val + width * first, self.min_val + width * (last + 1))


def searched(histogram: np.ndarray, width: float, levels: int) -> tuple[int, int]:
    """The first and the last bin between which ``levels`` integers make the smallest error that the search finds."""
    counted = np.cumsum(histogram, dtype=histogram.dtype)
    total = float(histogram.sum())
    alpha, beta, first, last, least = 0.0, 1.0, 0, len(histogram) - 1, math.inf
    while alpha < beta:
        low, high = (counted.dtype.type(share * total) for share in (alpha + STEP, beta - STEP))
        left = max(first, min(int(counted.searchsorted(low, "left")), last))
        right = min(last, max(int(counted.searchsorted(high, "right")) - 1, first))
        if left - first > last - right:
            alpha, candidates = alpha + STEP, (left, last)
        else:
            beta, candidates = beta - STEP, (first, right)
        if candidates == (first, last):
            continue
        error = squared_error(histogram, width, levels, *candidates)
        if error > least:
            break
        least, (first, last) = error, candidates
    return first, last


def squared_error(histogram: np.ndarray, width: float, levels: int, first: int, last: int) -> float:
    """The squared error of rounding to ``levels`` numbers from the first bin to the last, if numbers lie evenly in
    bins: the integral of the square of the distance to the number that they are rounded to.
    """
    step = width * (last - first + 1) / levels
    if step == 0:
        return 0.0
    kind = histogram.dtype.type
    begin = (np.arange(len(histogram)) - first).astype(kind) * kind(width)
    end = begin + kind(width)
    levels_of = [np.clip(np.floor(edge / kind(step)), 0, levels - 1) for edge in (begin, end)]
    half, density = kind(step / 2), histogram / kind(width)
    centers = (levels_of[0] + kind(0.5)) * kind(step), levels_of[1] * kind(step) + half
    cubes = half**3 - (begin - centers[0]) ** 3
    whole = (levels_of[1] - levels_of[0] - 1) * (half**3 + half**3)
    rest = (end - centers[1]) ** 3 + half**3
    return float((density * cubes / 3 + density * whole / 3 + density * rest / 3).sum())
