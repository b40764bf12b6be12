"""Observers: modules that remember the extrema of what passes, and choose scales and zero points by them."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from tapegrad._src.execution.data.dtypes import finfo, float32, int64
from tapegrad._src.execution.data.dtypes import int32 as int32_dtype
from tapegrad._src.functions.construction import tensor
from tapegrad._src.functions.creation import ones_like, zeros_like
from tapegrad._src.functions.reductions import aminmax
from tapegrad._src.functions.selection import where
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.ao.quantization.schemes import (
    PER_CHANNEL,
    PER_TENSOR,
    SYMMETRIC,
    bounds_of,
    per_channel_affine,
    per_channel_affine_float_qparams,
    per_tensor_affine,
    per_tensor_symmetric,
    qint8,
    quint8,
)
from tapegrad.nn.modules.module import Module
from tapegrad.ops.selection import maximum, minimum

__all__ = [
    "FixedQParamsObserver", "MinMaxObserver", "MovingAverageMinMaxObserver", "MovingAveragePerChannelMinMaxObserver",
    "ObserverBase", "PerChannelMinMaxObserver", "UniformQuantizationObserverBase", "default_observer",
    "default_per_channel_weight_observer", "default_weight_observer",
]  # fmt: skip

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
        scale, zero_point = (one if one.ndim else one.reshape(1) for one in self._chosen())
        return scale, zero_point

    def _chosen(self) -> tuple[Tensor, Tensor]:
        low, high = minimum(self.min_val, zeros_like(self.min_val)), maximum(self.max_val, zeros_like(self.max_val))
        span = float(self.quant_max - self.quant_min)
        if self.qscheme in SYMMETRIC:
            scale = maximum(maximum(-low, high) / (span / 2), self.eps)
            return scale, zeros_like(low, dtype=int64) + self._middle()
        if self.qscheme is per_channel_affine_float_qparams:
            scale = (self.max_val - self.min_val) / span
            scale = where(scale > self.eps, scale, ones_like(scale))
            return scale, -1 * self.min_val / scale
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


def is_observed(low: Tensor, high: Tensor) -> bool:
    """Tell whether anything was observed. Warns if not.
    Raises AssertionError: a least number above the largest.
    """
    if low.numel() == 0 or high.numel() == 0:
        reason = "must run observer before calling calculate_qparams. Returning default values."
        warn(reason, UserWarning)
        return False
    if low.ndim == 0 and (low == math.inf and high == -math.inf):
        reason = "must run observer before calling calculate_qparams. Returning default values."
        warn(reason, UserWarning)
        return False
    if not (low <= high).all():
        raise AssertionError(f"min {low} should be less than max {high}")
    return True


class MinMaxObserver(UniformQuantizationObserverBase):
    """An observer of the least and the largest number of all that passed.

    Args:
        dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic: as of
            ``UniformQuantizationObserverBase``; the scheme is one for tensors.

    Raises:
        NotImplementedError: a scheme for channels.

    >>> observer = torch.ao.quantization.MinMaxObserver(quant_min=0, quant_max=15)
    >>> _ = observer(torch.tensor([-1.0, 2.0]))
    >>> observer.calculate_qparams()
    (tensor([0.2000]), tensor([5], dtype=torch.int32))
    """

    def __init__(
        self, dtype: Any = quint8, qscheme: Any = per_tensor_affine, reduce_range: bool = False,
        quant_min: int | None = None, quant_max: int | None = None, factory_kwargs: dict | None = None,
        eps: float = EPS, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if qscheme not in PER_TENSOR:
            raise NotImplementedError(
                "MinMaxObserver's qscheme only support torch.per_tensor_symmetric                     and "
                "torch.per_tensor_affine."
            )
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs)
        given = made_with(factory_kwargs)
        self.register_buffer("min_val", tensor(math.inf, **given))
        self.register_buffer("max_val", tensor(-math.inf, **given))

    def forward(self, x_orig: Tensor) -> Tensor:
        """Give the input, which has been observed."""
        if x_orig.numel():
            low, high = aminmax(x_orig.detach().to(self.min_val.dtype))
            self._observe(low, high)
        return x_orig

    def _observe(self, low: Tensor, high: Tensor) -> None:
        self.min_val.copy_(minimum(low, self.min_val))
        self.max_val.copy_(maximum(high, self.max_val))

    def reset_min_max_vals(self) -> None:
        """Forget what was observed."""
        self.min_val.fill_(math.inf)
        self.max_val.fill_(-math.inf)


class MovingAverageMinMaxObserver(MinMaxObserver):
    """An observer of the moving averages of the least and the largest number of each input.

    Args:
        averaging_constant: how much of the new extrema is in the average.
        dtype, qscheme, reduce_range, quant_min, quant_max, eps, is_dynamic: as of ``MinMaxObserver``.

    Raises:
        NotImplementedError: a scheme for channels; a dynamic one that averages.
    """

    def __init__(
        self, averaging_constant: float = 0.01, dtype: Any = quint8, qscheme: Any = per_tensor_affine,
        reduce_range: bool = False, quant_min: int | None = None, quant_max: int | None = None, eps: float = EPS,
        is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if qscheme not in PER_TENSOR:
            raise NotImplementedError(
                "MovingAverageMinMaxObserver's qscheme only support                 torch.per_tensor_symmetric and "
                f"torch.per_tensor_affine.                 but got: {qscheme}"
            )
        if is_dynamic and averaging_constant != 1:
            raise NotImplementedError(
                "MovingAverageMinMaxObserver doesn't support dynamic quantization for averaging constant of "
                f"{averaging_constant}"
            )
        super().__init__(
            dtype, qscheme, reduce_range, quant_min, quant_max, eps=eps, is_dynamic=is_dynamic, **kwargs
        )
        self.averaging_constant = averaging_constant

    def _observe(self, low: Tensor, high: Tensor) -> None:
        first = self.min_val.isinf() & self.max_val.isinf()
        for old, new in ((self.min_val, low), (self.max_val, high)):
            old.copy_(where(first, new, old + self.averaging_constant * (new - old)))


class PerChannelMinMaxObserver(UniformQuantizationObserverBase):
    """An observer of the least and the largest number of each channel.

    Args:
        ch_axis: the dimension of the channels.
        dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic: as of
            ``UniformQuantizationObserverBase``; the scheme is one for channels.

    Raises:
        NotImplementedError: a scheme for tensors, or a dynamic one.
    """

    def __init__(
        self, ch_axis: int = 0, dtype: Any = quint8, qscheme: Any = per_channel_affine, reduce_range: bool = False,
        quant_min: int | None = None, quant_max: int | None = None, factory_kwargs: dict | None = None,
        eps: float = EPS, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        name = type(self).__name__
        if qscheme not in PER_CHANNEL:
            raise NotImplementedError(
                f"{name}'s qscheme only support                     torch.per_channel_symmetric, "
                "torch.per_channel_affine and torch.per_channel_affine_float_qparams."
            )
        if is_dynamic:
            raise NotImplementedError(f"{name} doesn't support dynamic quantization")
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs)
        given = made_with(factory_kwargs)
        self.ch_axis = ch_axis
        self.register_buffer("min_val", tensor([], **given))
        self.register_buffer("max_val", tensor([], **given))

    def forward(self, x_orig: Tensor) -> Tensor:
        """Give the input, which has been observed."""
        if x_orig.numel():
            rows = x_orig.detach().transpose(0, self.ch_axis).to(self.min_val.dtype).flatten(start_dim=1)
            self._observe(*aminmax(rows, dim=1))
        return x_orig

    def _observe(self, low: Tensor, high: Tensor) -> None:
        if self.min_val.numel():
            low, high = self._joined(low, high)
        for old, new in ((self.min_val, low), (self.max_val, high)):
            old.resize_(new.shape)
            old.copy_(new)

    def _joined(self, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        return minimum(low, self.min_val), maximum(high, self.max_val)

    def reset_min_max_vals(self) -> None:
        """Forget what was observed."""
        self.min_val, self.max_val = tensor([]), tensor([])

    def _load_from_state_dict(self, state_dict: dict, prefix: str, *args: Any) -> None:
        for name in ("min_val", "max_val"):
            if prefix + name in state_dict:
                getattr(self, name).resize_(state_dict[prefix + name].shape)
        super()._load_from_state_dict(state_dict, prefix, *args)


class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    """An observer of the moving averages of the extrema of each channel.

    Args:
        averaging_constant: how much of the new extrema is in the average.
        ch_axis, dtype, qscheme, reduce_range, quant_min, quant_max, eps, is_dynamic: as of
            ``PerChannelMinMaxObserver``.
    """

    def __init__(
        self, averaging_constant: float = 0.01, ch_axis: int = 0, dtype: Any = quint8,
        qscheme: Any = per_channel_affine, reduce_range: bool = False, quant_min: int | None = None,
        quant_max: int | None = None, eps: float = EPS, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            ch_axis, dtype, qscheme, reduce_range, quant_min, quant_max, eps=eps, is_dynamic=is_dynamic, **kwargs
        )
        self.averaging_constant = averaging_constant

    def _joined(self, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        share = self.averaging_constant
        return self.min_val + share * (low - self.min_val), self.max_val + share * (high - self.max_val)


class FixedQParamsObserver(ObserverBase):
    """An observer that looks at nothing: its scale and its zero point are given.

    Args:
        scale, zero_point: these.
        dtype, qscheme, quant_min, quant_max, is_dynamic: as of ``MinMaxObserver``.

    Raises:
        NotImplementedError: a dynamic one.
    """

    scale: Tensor
    zero_point: Tensor

    def __init__(
        self, scale: float, zero_point: int, dtype: Any = quint8, qscheme: Any = per_tensor_affine,
        quant_min: int = 0, quant_max: int = 255, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if is_dynamic:
            raise NotImplementedError("FixedQParamsObserver doesn't support dynamic quantization")
        super().__init__(dtype, is_dynamic, **kwargs)
        self.quant_min, self.quant_max, self.qscheme = quant_min, quant_max, qscheme
        self.register_buffer("scale", tensor([float(scale)]))
        self.register_buffer("zero_point", tensor([int(zero_point)], dtype=int32_dtype))

    def forward(self, X: Tensor) -> Tensor:
        """Give the input."""
        return X

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """The scale and the zero point."""
        return self.scale, self.zero_point


default_fixed_qparams_range_0to1_observer = FixedQParamsObserver.with_args(
    scale=1.0 / 256.0, zero_point=0, dtype=quint8, quant_min=0, quant_max=255
)
default_fixed_qparams_range_neg1to1_observer = FixedQParamsObserver.with_args(
    scale=2.0 / 256.0, zero_point=128, dtype=quint8, quant_min=0, quant_max=255
)
default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_weight_observer = MinMaxObserver.with_args(dtype=qint8, qscheme=per_tensor_symmetric)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(dtype=qint8, qscheme=SYMMETRIC[1])
