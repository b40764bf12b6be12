"""Configurations: which modules observe and round the results of layers, and their weights."""

from __future__ import annotations

from typing import Any, NamedTuple

from tapegrad.ao.quantization.fake_quantize import (
    FakeQuantize,
    FusedMovingAvgObsFakeQuantize,
    default_fake_quant,
    default_fused_act_fake_quant,
    default_fused_per_channel_wt_fake_quant,
    default_fused_wt_fake_quant,
    default_per_channel_weight_fake_quant,
    default_weight_fake_quant,
)
from tapegrad.ao.quantization.observer import (
    MovingAverageMinMaxObserver,
    default_observer,
    default_per_channel_weight_observer,
    default_weight_observer,
)
from tapegrad.nn.modules.module import Module

__all__ = ["QConfig", "default_per_channel_qconfig", "default_qat_qconfig", "default_qat_qconfig_v2", "default_qconfig",
           "get_default_qat_qconfig"]  # fmt: skip


class _Pair(NamedTuple):
    activation: Any
    weight: Any


class QConfig(_Pair):
    """Factories of what observes the results of layers (``activation``), and their weights (``weight``).

    Raises:
        ValueError: a module in place of a factory.

    >>> fake = torch.ao.quantization.FakeQuantize
    >>> torch.ao.quantization.QConfig(activation=fake, weight=fake).weight is fake
    True
    """

    __slots__ = ()

    def __new__(cls, activation: Any, weight: Any) -> QConfig:
        if isinstance(activation, Module) or isinstance(weight, Module):
            raise ValueError(
                "QConfig received observer instance, please pass observer class instead. Use "
                "MyObserver.with_args(x=1) to override arguments to constructor if needed"
            )
        return super().__new__(cls, activation, weight)


default_qconfig = QConfig(default_observer, default_weight_observer)
default_per_channel_qconfig = QConfig(default_observer, default_per_channel_weight_observer)
default_qat_qconfig = QConfig(default_fake_quant, default_weight_fake_quant)
default_qat_qconfig_v2 = QConfig(default_fused_act_fake_quant, default_fused_wt_fake_quant)

BACKENDS = ["fbgemm", "x86", "qnnpack", "onednn"]


def get_default_qat_qconfig(backend: str = "x86", version: int = 1) -> QConfig:
    """The configuration of quantization-aware training for a backend of PyTorch's.

    Args:
        backend: ``"x86"``, ``"fbgemm"``, ``"qnnpack"`` or ``"onednn"``.
        version: 1 observes and rounds in one operator, 0 in two.

    Raises:
        AssertionError: another backend or version.

    >>> torch.ao.quantization.get_default_qat_qconfig("qnnpack").weight().qscheme
    torch.per_tensor_symmetric
    """
    if backend not in BACKENDS:
        raise AssertionError(f"backend: {backend} not supported. backend must be one of {BACKENDS}")
    if version not in (0, 1):
        raise AssertionError(
            f"Version number: {version}in get_default_qat_qconfig is not supported. Version number must be 0 or 1"
        )
    kind: Any = FusedMovingAvgObsFakeQuantize if version else FakeQuantize
    reduced = {} if backend == "onednn" else {"reduce_range": backend != "qnnpack"}
    activation = kind.with_args(observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255, **reduced)
    if backend == "qnnpack":
        return QConfig(activation, default_fused_wt_fake_quant if version else default_weight_fake_quant)
    return QConfig(
        activation, default_fused_per_channel_wt_fake_quant if version else default_per_channel_weight_fake_quant
    )
