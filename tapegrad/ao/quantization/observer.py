"""Observers: modules that remember the extrema of what passes, and choose scales and zero points by them."""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Any

from tapegrad._src.execution.data.dtypes import float16, float32
from tapegrad._src.execution.data.dtypes import int32 as int32_dtype
from tapegrad._src.functions.construction import tensor
from tapegrad._src.functions.reductions import aminmax
from tapegrad._src.functions.selection import where
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.ao.quantization.histograms import HistogramObserver
from tapegrad.ao.quantization.observing import (
    EPS,
    ObserverBase,
    UniformQuantizationObserverBase,
    made_with,
    refuse_channels,
)
from tapegrad.ao.quantization.schemes import (
    PER_CHANNEL,
    PER_TENSOR,
    SYMMETRIC,
    per_channel_affine,
    per_channel_affine_float_qparams,
    per_tensor_affine,
    per_tensor_symmetric,
    qint8,
    quint4x2,
    quint8,
)
from tapegrad.nn.modules.module import Module
from tapegrad.ops.selection import maximum, minimum

__all__ = [
    "FixedQParamsObserver", "HistogramObserver", "MinMaxObserver", "MovingAverageMinMaxObserver",
    "MovingAveragePerChannelMinMaxObserver", "NoopObserver", "ObserverBase", "PerChannelMinMaxObserver",
    "PlaceholderObserver", "RecordingObserver", "ReuseInputObserver", "UniformQuantizationObserverBase",
    "default_affine_fixed_qparams_observer", "default_debug_observer", "default_dynamic_quant_observer",
    "default_fixed_qparams_range_0to1_observer", "default_fixed_qparams_range_neg1to1_observer",
    "default_float_qparams_observer", "default_float_qparams_observer_4bit", "default_histogram_observer",
    "default_observer", "default_per_channel_weight_observer", "default_placeholder_observer",
    "default_reuse_input_observer", "default_symmetric_fixed_qparams_observer", "default_weight_observer",
    "get_observer_state_dict", "load_observer_state_dict", "per_channel_weight_observer_range_neg_127_to_127",
    "weight_observer_range_neg_127_to_127",
]  # fmt: skip


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
        refuse_channels("MinMaxObserver", qscheme)
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


class PassingObserver(ObserverBase):
    """The base class of observers that choose nothing, but only pass on what they are given."""

    def forward(self, x: Tensor) -> Tensor:
        """Give the input."""
        return x

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        """Refuse to choose. Raises Exception: always."""
        raise Exception(f"calculate_qparams should not be called for {type(self).__name__}")


class PlaceholderObserver(PassingObserver):
    """An observer that only tells what a layer is to become.

    Args:
        dtype: of the results of the layer.
        custom_op_name: for an operator that needs no observer.
        compute_dtype: deprecated; what gives one means ``is_dynamic``.
        quant_min, quant_max: the bounds of the integers.
        qscheme: for the tensor or for each channel.
        eps: the smallest scale.
        is_dynamic: whether scales are to be chosen anew for each input.
    """

    def __init__(
        self, dtype: Any = float32, custom_op_name: str = "", compute_dtype: Any = None, quant_min: int | None = None,
        quant_max: int | None = None, qscheme: Any = None, eps: float | None = None, is_dynamic: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(dtype, is_dynamic)
        self.qscheme = per_tensor_affine if qscheme is None else qscheme
        self.quant_min, self.quant_max, self.custom_op = quant_min, quant_max, custom_op_name
        self.eps = EPS if eps is None else eps
        if compute_dtype:
            warn(
                "Please use `is_dynamic` instead of `compute_dtype`.                     `compute_dtype` will be "
                "deprecated in a future release                     of PyTorch."
            )  # fmt: skip

    def extra_repr(self) -> str:
        """The dtype."""
        return f"dtype={self.dtype}, is_dynamic={self.is_dynamic}"


class RecordingObserver(PassingObserver):
    """An observer that keeps a copy of each input.

    Args:
        dtype: of the integers that would be.

    >>> observer = torch.ao.quantization.RecordingObserver()
    >>> _ = observer(torch.tensor([1.0]))
    >>> observer.get_tensor_value()
    [tensor([1.])]
    """

    def __init__(self, dtype: Any = quint8) -> None:
        super().__init__(dtype)
        self.tensor_val: list[Tensor] = []

    def forward(self, x: Tensor) -> Tensor:
        """Give the input, of which a copy is kept."""
        self.tensor_val.append(x.clone())
        return x

    def get_tensor_value(self) -> list[Tensor]:
        """The copies."""
        return self.tensor_val


class NoopObserver(PassingObserver):
    """An observer that only tells a dtype.

    Args:
        dtype: this.
        custom_op_name: for an operator that needs no observer.
    """

    def __init__(self, dtype: Any = float16, custom_op_name: str = "") -> None:
        super().__init__(dtype)
        self.custom_op = custom_op_name


class ReuseInputObserver(PassingObserver):
    """An observer that tells that the one of the layer before is to be used."""

    def __init__(self) -> None:
        super().__init__(quint8)


def get_observer_state_dict(mod: Module) -> OrderedDict[str, Any]:
    """The part of a model's state dict that its observers remember."""
    state = mod.state_dict()
    kept: Any = OrderedDict((name, one) for name, one in state.items() if "activation_post_process" in name)
    kept._metadata = state._metadata
    return kept


def load_observer_state_dict(mod: Module, obs_dict: dict) -> None:
    """Give the observers in a model what others have remembered; those of which nothing is there stay as they are.

    Args:
        mod: the model.
        obs_dict: what ``get_observer_state_dict`` gave.
    """
    for name, module in mod.named_modules():
        if isinstance(module, ObserverBase) or hasattr(module, "fake_quant_enabled"):
            module._load_from_state_dict(obs_dict, f"{name}.", {}, False, [], [], [])


default_fixed_qparams_range_0to1_observer = FixedQParamsObserver.with_args(
    scale=1.0 / 256.0, zero_point=0, dtype=quint8, quant_min=0, quant_max=255
)
default_fixed_qparams_range_neg1to1_observer = FixedQParamsObserver.with_args(
    scale=2.0 / 256.0, zero_point=128, dtype=quint8, quant_min=0, quant_max=255
)
default_symmetric_fixed_qparams_observer = default_fixed_qparams_range_neg1to1_observer
default_affine_fixed_qparams_observer = default_fixed_qparams_range_0to1_observer
default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_placeholder_observer, default_debug_observer = PlaceholderObserver, RecordingObserver
default_reuse_input_observer = ReuseInputObserver
default_weight_observer = MinMaxObserver.with_args(dtype=qint8, qscheme=per_tensor_symmetric)
weight_observer_range_neg_127_to_127 = MinMaxObserver.with_args(
    dtype=qint8, qscheme=per_tensor_symmetric, quant_min=-127, quant_max=127, eps=2**-12
)
default_histogram_observer = HistogramObserver.with_args(quant_min=0, quant_max=127)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(dtype=qint8, qscheme=SYMMETRIC[1])
per_channel_weight_observer_range_neg_127_to_127 = PerChannelMinMaxObserver.with_args(
    dtype=qint8, qscheme=SYMMETRIC[1], quant_min=-127, quant_max=127, eps=2**-12
)
default_dynamic_quant_observer = PlaceholderObserver.with_args(
    dtype=quint8, quant_min=0, quant_max=255, is_dynamic=True
)
default_float_qparams_observer = PerChannelMinMaxObserver.with_args(
    dtype=quint8, qscheme=per_channel_affine_float_qparams, ch_axis=0
)
default_float_qparams_observer_4bit = PerChannelMinMaxObserver.with_args(
    dtype=quint4x2, qscheme=per_channel_affine_float_qparams, ch_axis=0
)
