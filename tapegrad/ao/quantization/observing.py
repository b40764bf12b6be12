"""Base classes of observers: how scales and zero points are chosen by the extrema of what passes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from tapegrad._src.execution.data.dtypes import finfo, float32, int64
from tapegrad._src.execution.data.dtypes import int32 as int32_dtype
from tapegrad._src.functions.construction import tensor
from tapegrad._src.functions.creation import ones_like, zeros_like
from tapegrad._src.functions.selection import where
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.ao.quantization.schemes import (
    PER_CHANNEL,
    PER_TENSOR,
    SYMMETRIC,
    bounds_of,
    per_channel_affine_float_qparams,
    per_tensor_affine,
    quint8,
)
from tapegrad.nn.modules.module import Module
from tapegrad.ops.selection import maximum, minimum

EPS = finfo(float32).eps


class PartialWrapper:
    """A class with some of its arguments given: a factory of modules, of which each layer gets one of its own."""

    def __init__(self, p: Callable) -> None:
        self.p = p
        self.callable_args: dict[str, Callable] = {}

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        late = {name: make() for name, make in self.callable_args.items() if name not in keywords}
        return self.p(*args, **keywords, **late)

    def __repr__(self) -> str:
        return f"{self.p!r}{self.callable_args!r}"

    def with_args(self, **kwargs: Any) -> PartialWrapper:
        """A factory with more arguments given."""
        return PartialWrapper(partial(self, **kwargs))

    def with_callable_args(self, **kwargs: Callable) -> PartialWrapper:
        """A factory of which functions give more arguments, when it is called."""
        made = PartialWrapper(self.p)
        made.callable_args = {**self.callable_args, **kwargs}
        return made


OBSERVED = (
    "torch.qint8", "torch.quint8", "torch.quint4x2", "torch.qint32", "torch.int8", "torch.uint8", "torch.int16",
    "torch.int32", "torch.float8_e5m2", "torch.float8_e4m3fn", "torch.uint16",
)  # fmt: skip
"""The dtypes that integers would have, by the texts of these."""


class ObserverBase(Module):
    """A module that observes what passes. Subclasses have ``forward`` and ``calculate_qparams``.

    Args:
        dtype: of the integers that would be.
        is_dynamic: whether scales are to be chosen anew for each input.
    """

    def __init__(self, dtype: Any, is_dynamic: bool = False) -> None:
        super().__init__()
        self.dtype, self.is_dynamic = dtype, is_dynamic

    @classmethod
    def with_args(cls, **kwargs: Any) -> PartialWrapper:
        """A factory of observers with these arguments."""
        return PartialWrapper(partial(cls, **kwargs))

    @classmethod
    def with_callable_args(cls, **kwargs: Callable) -> PartialWrapper:
        """A factory of observers, of whose arguments functions give these when it is called."""
        return PartialWrapper(cls).with_callable_args(**kwargs)

    def calculate_qparams(self, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """The scale and the zero point for what was observed."""
        raise NotImplementedError("calculate_qparams is to be defined by subclasses")


class UniformQuantizationObserverBase(ObserverBase):
    """The base class of observers of extrema: how scales and zero points are chosen by these.

    Args:
        dtype: ``torch.qint8``, ``quint8``, or another that integers would have.
        qscheme: for the tensor or for each channel, about 0 (symmetric) or not.
        reduce_range: whether to do with half of the integers.
        quant_min, quant_max: the bounds of the integers; those of the dtype if None.
        factory_kwargs: the device and the dtype of what is remembered.
        eps: the smallest scale.
        is_dynamic: whether scales are to be chosen anew for each input.

    Raises:
        AssertionError: an unknown dtype or scheme, bounds that don't have 0 in between.
    """

    _version = 3
    eps: Tensor
    min_val: Tensor
    max_val: Tensor

    def __init__(
        self, dtype: Any = quint8, qscheme: Any = per_tensor_affine, reduce_range: bool = False,
        quant_min: int | None = None, quant_max: int | None = None, factory_kwargs: dict | None = None,
        eps: float = EPS, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(dtype, is_dynamic, **kwargs)
        if reduce_range:
            warn(
                "Please use quant_min and quant_max to specify the range for observers.                     "
                "reduce_range will be deprecated in a future release of PyTorch."
            )  # fmt: skip
        self.qscheme, self.reduce_range = qscheme, reduce_range
        self.register_buffer("eps", tensor([eps], **made_with(factory_kwargs)))
        if qscheme not in (*PER_TENSOR, *PER_CHANNEL):
            raise AssertionError(
                "Default Observer only works for per_tensor_affine, per_tensor_symmetric, per_channel_affine, "
                "per_channel_symmetric and per_channel_float_qparams quantization scheme"
            )
        if repr(dtype) not in OBSERVED:
            raise AssertionError(f"Default Observer only works for ({', '.join(OBSERVED)}) data type")
        self.has_customized_qrange = quant_min is not None and quant_max is not None
        self.quant_min, self.quant_max = self._bounds(quant_min, quant_max)

    def _bounds(self, quant_min: Any, quant_max: Any) -> tuple[int, int]:
        if not self.has_customized_qrange:
            return bounds_of(self.dtype, self.reduce_range)
        if not quant_min <= 0 <= quant_max:
            raise AssertionError("Used-specified quantization range must include 0.")
        if quant_min >= quant_max:
            raise AssertionError("qmin must be strictly less than qmax for user-specified quantization range.")
        if repr(self.dtype) in ("torch.qint8", "torch.int8") and quant_max - quant_min >= 256:
            raise AssertionError(
                "quantization range should be positive and not exceed the maximum bit range (=256)."
            )
        return (quant_min // 2, quant_max // 2) if self.reduce_range else (quant_min, quant_max)

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """The scale and the zero point that represent all between the extrema, and 0 exactly."""
        if not is_observed(self.min_val, self.max_val):
            return tensor([1.0], device=self.min_val.device), tensor([0], device=self.min_val.device)
        return self._between(self.min_val, self.max_val)

    def _between(self, least: Tensor, largest: Tensor) -> tuple[Tensor, Tensor]:
        """The scale and the zero point for what lies between these, with a dimension each."""
        scale, zero_point = (one if one.ndim else one.reshape(1) for one in self._chosen(least, largest))
        return scale, zero_point

    def _chosen(self, least: Tensor, largest: Tensor) -> tuple[Tensor, Tensor]:
        low, high = minimum(least, zeros_like(least)), maximum(largest, zeros_like(largest))
        span = float(self.quant_max - self.quant_min)
        if self.qscheme in SYMMETRIC:
            scale = maximum(maximum(-low, high) / (span / 2), self.eps)
            return scale, zeros_like(low, dtype=int64) + self._middle()
        if self.qscheme is per_channel_affine_float_qparams:
            scale = (largest - least) / span
            scale = where(scale > self.eps, scale, ones_like(scale))
            return scale, -1 * least / scale
        scale = maximum((high - low) / span, self.eps)
        zero_point = self.quant_min - (low / scale).round().to(int32_dtype)
        return scale, zero_point.clamp(self.quant_min, self.quant_max)

    def _middle(self) -> int:
        """The integer that stands for 0, where it is in the middle."""
        if repr(self.dtype) in ("torch.quint8", "torch.uint8"):
            return (self.quant_min + self.quant_max) // 2 if self.has_customized_qrange else 128
        return 2**15 if repr(self.dtype) == "torch.uint16" else 0

    def extra_repr(self) -> str:
        """The extrema."""
        return f"min_val={self.min_val}, max_val={self.max_val}"


def made_with(factory_kwargs: dict | None) -> dict[str, Any]:
    """With what tensors are made: what is given, and is not None."""
    return {name: given for name, given in (factory_kwargs or {}).items() if given is not None}


def refuse_channels(name: str, qscheme: Any) -> None:
    """Refuse a scheme for channels, of which an observer of that name has none. Raises NotImplementedError."""
    if qscheme not in PER_TENSOR:
        raise NotImplementedError(
            f"{name}'s qscheme only support torch.per_tensor_symmetric                     and torch.per_tensor_affine."
        )


def is_observed(low: Tensor, high: Tensor) -> bool:
    """Tell whether anything was observed. Warns if not.
    Raises AssertionError: a least number above the largest.
    """
    if low.numel() == 0 or high.numel() == 0 or (low.ndim == 0 and low == math.inf and high == -math.inf):
        warn("must run observer before calling calculate_qparams. Returning default values.", UserWarning)
        return False
    if not (low <= high).all():
        raise AssertionError(f"min {low} should be less than max {high}")
    return True
