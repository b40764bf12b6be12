"""Modules that observe what passes, and round it to what integers would stand for."""

from __future__ import annotations

from functools import partial
from typing import Any

from tapegrad._src.execution.data.dtypes import float32, iinfo, int32, int64, uint8
from tapegrad._src.functions.construction import tensor
from tapegrad._src.functions.observing import fused_moving_avg_obs_fake_quant
from tapegrad._src.functions.quantization import fake_quantize_per_channel_affine, fake_quantize_per_tensor_affine
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ao.quantization.observer import (
    FixedQParamsObserver,
    HistogramObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    default_fixed_qparams_range_0to1_observer,
    default_fixed_qparams_range_neg1to1_observer,
)
from tapegrad.ao.quantization.observing import PartialWrapper
from tapegrad.ao.quantization.schemes import (
    PER_CHANNEL,
    SYMMETRIC,
    QuantizedDtype,
    per_channel_affine_float_qparams,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
    qint8,
    quint4x2,
    quint8,
)
from tapegrad.nn.modules.module import Module

__all__ = [
    "FakeQuantize", "FakeQuantizeBase", "FixedQParamsFakeQuantize", "FusedMovingAvgObsFakeQuantize",
    "default_affine_fixed_qparams_fake_quant", "default_dynamic_fake_quant", "default_embedding_fake_quant",
    "default_embedding_fake_quant_4bit", "default_fake_quant", "default_fixed_qparams_range_0to1_fake_quant",
    "default_fixed_qparams_range_neg1to1_fake_quant", "default_fused_act_fake_quant",
    "default_fused_per_channel_wt_fake_quant", "default_fused_wt_fake_quant", "default_histogram_fake_quant",
    "default_per_channel_weight_fake_quant", "default_symmetric_fixed_qparams_fake_quant",
    "default_weight_fake_quant", "disable_fake_quant", "disable_observer", "enable_fake_quant", "enable_observer",
    "fused_per_channel_wt_fake_quant_range_neg_127_to_127", "fused_wt_fake_quant_range_neg_127_to_127",
]  # fmt: skip


class FakeQuantizeBase(Module):
    """The base class of such modules: whether they observe, and whether they round."""

    fake_quant_enabled: Tensor
    observer_enabled: Tensor

    def __init__(self) -> None:
        super().__init__()
        for name in ("fake_quant_enabled", "observer_enabled"):
            self.register_buffer(name, tensor([1], dtype=uint8))

    def calculate_qparams(self, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """The scale and the zero point for what was observed."""
        raise NotImplementedError("calculate_qparams is to be defined by subclasses")

    def enable_fake_quant(self, enabled: bool = True) -> None:
        """Round from here on, or don't."""
        self.fake_quant_enabled[0] = 1 if enabled else 0

    def disable_fake_quant(self) -> None:
        """Don't round from here on."""
        self.enable_fake_quant(False)

    def enable_observer(self, enabled: bool = True) -> None:
        """Observe from here on, or don't."""
        self.observer_enabled[0] = 1 if enabled else 0

    def disable_observer(self) -> None:
        """Don't observe from here on."""
        self.enable_observer(False)

    @classmethod
    def with_args(cls, **kwargs: Any) -> PartialWrapper:
        """A factory of such modules with these arguments."""
        return PartialWrapper(partial(cls, **kwargs))


class FakeQuantize(FakeQuantizeBase):
    """A module that rounds what passes to what integers stand for, by scales that an observer chooses.

    Args:
        observer: the class of the observer, or a factory.
        quant_min, quant_max: the bounds of the integers; those of the observer if None.
        is_dynamic: whether scales are to be chosen anew for each input.
        observer_kwargs: the observer's other arguments.

    Attributes:
        activation_post_process: the observer.
        scale, zero_point: (1,), or one for each channel.

    Raises:
        AssertionError: bounds in the wrong order, or beyond those of the dtype.

    >>> quantize = torch.ao.quantization.FakeQuantize(quant_min=0, quant_max=15)
    >>> quantize(torch.tensor([-1.0, 0.3, 2.0])), quantize.zero_point
    (tensor([-1.0000,  0.4000,  2.0000]), tensor([5], dtype=torch.int32))
    """

    scale: Tensor
    zero_point: Tensor

    def __init__(
        self, observer: Any = MovingAverageMinMaxObserver, quant_min: int | None = None, quant_max: int | None = None,
        is_dynamic: bool = False, **observer_kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        if quant_min is not None and quant_max is not None:
            given = getattr(getattr(observer, "p", None), "keywords", {})
            check_bounds(quant_min, quant_max, given.get("dtype", observer_kwargs.get("dtype", quint8)))
            observer_kwargs.update(quant_min=quant_min, quant_max=quant_max)
        made: Any = observer(**observer_kwargs, is_dynamic=is_dynamic)
        self.activation_post_process = made
        self.quant_min, self.quant_max, self.is_dynamic = made.quant_min, made.quant_max, made.is_dynamic
        self.register_buffer("scale", tensor([1.0], dtype=float32))
        exact = made.qscheme is not per_channel_affine_float_qparams
        self.register_buffer("zero_point", tensor([0], dtype=int32 if exact else float32))
        self.dtype, self.qscheme = made.dtype, made.qscheme
        self.ch_axis = getattr(made, "ch_axis", -1)
        self.is_per_channel = made.qscheme in PER_CHANNEL

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """The scale and the zero point for what was observed."""
        return self.activation_post_process.calculate_qparams()

    def forward(self, X: Tensor) -> Tensor:
        """Give the input, rounded; it is observed before."""
        if self.observer_enabled[0] == 1:
            self.activation_post_process(X.detach())
            for old, new in zip((self.scale, self.zero_point), self.calculate_qparams(), strict=True):
                if old.shape != new.shape:
                    old.resize_(new.shape)
                old.copy_(new)
        return self._rounded(X) if self.fake_quant_enabled[0] == 1 else X

    def _rounded(self, X: Tensor) -> Tensor:
        bounds = self.activation_post_process.quant_min, self.activation_post_process.quant_max
        if self.is_per_channel:
            return fake_quantize_per_channel_affine(X, self.scale, self.zero_point, self.ch_axis, *bounds)
        return fake_quantize_per_tensor_affine(X, self.scale, self.zero_point, *bounds)

    def extra_repr(self) -> str:
        """The settings, the scale and the zero point."""
        names = ["fake_quant_enabled", "observer_enabled", "quant_min", "quant_max", "dtype", "qscheme", "ch_axis",
                 "scale", "zero_point"]  # fmt: skip
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)

    def _load_from_state_dict(
        self, state_dict: dict, prefix: str, local_metadata: dict, strict: bool, missing_keys: list, *args: Any
    ) -> None:
        for name in ("scale", "zero_point"):
            if prefix + name in state_dict:
                getattr(self, name).resize_(state_dict[prefix + name].shape)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, *args)


def check_bounds(quant_min: int, quant_max: int, dtype: Any) -> None:
    """Refuse bounds that integers of a dtype can't keep to."""
    if quant_min > quant_max:
        raise AssertionError("quant_min must be less than or equal to quant_max")
    info = dtype if isinstance(dtype, QuantizedDtype) else iinfo(dtype)
    if info.min > quant_min:
        raise AssertionError("quant_min out of bound")
    if quant_max > info.max:
        raise AssertionError("quant_max out of bound")


class FusedMovingAvgObsFakeQuantize(FakeQuantize):
    """``FakeQuantize`` by moving averages of extrema, in one operator.

    Args:
        observer: ``MovingAverageMinMaxObserver``, or that for channels.
        quant_min, quant_max, observer_kwargs: as of ``FakeQuantize``.

    Raises:
        AssertionError: another observer.
    """

    def __init__(
        self, observer: Any = MovingAverageMinMaxObserver, quant_min: int = 0, quant_max: int = 255,
        **observer_kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(observer, quant_min, quant_max, **observer_kwargs)
        averaging = (MovingAverageMinMaxObserver, MovingAveragePerChannelMinMaxObserver)
        if not isinstance(self.activation_post_process, averaging):
            raise AssertionError("Fused observer+fake_quant module only works with MovingAverageMinMaxObserver")
        for name in ("fake_quant_enabled", "observer_enabled"):
            self.register_buffer(name, tensor([1], dtype=int64))
        self.is_symmetric_quant = self.qscheme in SYMMETRIC

    def forward(self, X: Tensor) -> Tensor:
        """Give the input, rounded; it is observed before."""
        seen: Any = self.activation_post_process
        return fused_moving_avg_obs_fake_quant(
            X, self.observer_enabled, self.fake_quant_enabled, seen.min_val, seen.max_val, self.scale, self.zero_point,
            seen.averaging_constant, seen.quant_min, seen.quant_max, self.ch_axis, self.is_per_channel,
            self.is_symmetric_quant,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """The settings, the scale and the zero point."""
        names = ["fake_quant_enabled", "observer_enabled", "scale", "zero_point", "dtype", "quant_min", "quant_max",
                 "qscheme"]  # fmt: skip
        shown = [f"{name}={getattr(self, name)}" for name in names]
        return ", ".join([*shown, f"reduce_range={self.activation_post_process.reduce_range}"])


class FixedQParamsFakeQuantize(FakeQuantize):
    """``FakeQuantize`` by a scale and a zero point that are given.

    Args:
        observer: a factory of ``FixedQParamsObserver``.

    Raises:
        AssertionError: another observer.
    """

    def __init__(self, observer: Any) -> None:
        super().__init__(observer=observer)
        if type(self.activation_post_process) is not FixedQParamsObserver:
            raise AssertionError("FixedQParamsFakeQuantize's observer must be a FixedQParamsObserver")
        self.scale, self.zero_point = self.activation_post_process.calculate_qparams()

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """The scale and the zero point that were given."""
        return self.scale, self.zero_point

    def extra_repr(self) -> str:
        """The settings, the scale and the zero point."""
        names = ["fake_quant_enabled", "observer_enabled", "scale", "zero_point", "dtype", "quant_min", "quant_max",
                 "qscheme"]  # fmt: skip
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)


default_fixed_qparams_range_0to1_fake_quant = FixedQParamsFakeQuantize.with_args(
    observer=default_fixed_qparams_range_0to1_observer
)
default_fixed_qparams_range_neg1to1_fake_quant = FixedQParamsFakeQuantize.with_args(
    observer=default_fixed_qparams_range_neg1to1_observer
)
default_symmetric_fixed_qparams_fake_quant = default_fixed_qparams_range_neg1to1_fake_quant
default_affine_fixed_qparams_fake_quant = default_fixed_qparams_range_0to1_fake_quant
default_fake_quant = FakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255, dtype=quint8, qscheme=per_tensor_affine,
    reduce_range=True,
)  # fmt: skip
default_weight_fake_quant = FakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, quant_min=-128, quant_max=127, dtype=qint8, qscheme=per_tensor_symmetric,
    reduce_range=False,
)  # fmt: skip
default_per_channel_weight_fake_quant = FakeQuantize.with_args(
    observer=MovingAveragePerChannelMinMaxObserver, quant_min=-128, quant_max=127, dtype=qint8,
    qscheme=per_channel_symmetric, reduce_range=False, ch_axis=0,
)  # fmt: skip
default_fused_act_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255, dtype=quint8
)
default_fused_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, quant_min=-128, quant_max=127, dtype=qint8, qscheme=per_tensor_symmetric
)
default_fused_per_channel_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAveragePerChannelMinMaxObserver, quant_min=-128, quant_max=127, dtype=qint8,
    qscheme=per_channel_symmetric,
)  # fmt: skip
fused_wt_fake_quant_range_neg_127_to_127 = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, quant_min=-127, quant_max=127, dtype=qint8, qscheme=per_tensor_symmetric,
    eps=2**-12,
)  # fmt: skip
fused_per_channel_wt_fake_quant_range_neg_127_to_127 = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAveragePerChannelMinMaxObserver, quant_min=-127, quant_max=127, dtype=qint8,
    qscheme=per_channel_symmetric, eps=2**-12,
)  # fmt: skip
default_dynamic_fake_quant = FakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255, is_dynamic=True, dtype=quint8,
    averaging_constant=1,
)  # fmt: skip
default_embedding_fake_quant = FakeQuantize.with_args(
    observer=MovingAveragePerChannelMinMaxObserver, qscheme=per_channel_affine_float_qparams, dtype=quint8,
    quant_min=0, quant_max=255, ch_axis=0, averaging_constant=1,
)  # fmt: skip
default_embedding_fake_quant_4bit = FakeQuantize.with_args(
    observer=MovingAveragePerChannelMinMaxObserver, qscheme=per_channel_affine_float_qparams, ch_axis=0,
    dtype=quint4x2, averaging_constant=1,
)  # fmt: skip
default_histogram_fake_quant = FakeQuantize.with_args(
    observer=HistogramObserver, quant_min=0, quant_max=255, dtype=quint8, qscheme=per_tensor_affine, reduce_range=True,
)  # fmt: skip


def disable_fake_quant(mod: Any) -> None:
    """Let a module not round, if it is one that does: ``model.apply(disable_fake_quant)``."""
    if isinstance(mod, FakeQuantizeBase):
        mod.disable_fake_quant()


def enable_fake_quant(mod: Any) -> None:
    """Let a module round, if it is one that does: ``model.apply(enable_fake_quant)``."""
    if isinstance(mod, FakeQuantizeBase):
        mod.enable_fake_quant()


def disable_observer(mod: Any) -> None:
    """Let a module not observe, if it is one that does: ``model.apply(disable_observer)``."""
    if isinstance(mod, FakeQuantizeBase):
        mod.disable_observer()


def enable_observer(mod: Any) -> None:
    """Let a module observe, if it is one that does: ``model.apply(enable_observer)``."""
    if isinstance(mod, FakeQuantizeBase):
        mod.enable_observer()
