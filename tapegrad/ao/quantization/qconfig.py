"""Configurations: which modules observe and round the results of layers, and their weights."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from tapegrad._src.execution.data.dtypes import float16, float32
from tapegrad._src.warn import warn
from tapegrad.ao.quantization.fake_quantize import (
    FakeQuantize,
    FusedMovingAvgObsFakeQuantize,
    default_dynamic_fake_quant,
    default_embedding_fake_quant,
    default_embedding_fake_quant_4bit,
    default_fake_quant,
    default_fused_act_fake_quant,
    default_fused_per_channel_wt_fake_quant,
    default_fused_wt_fake_quant,
    default_per_channel_weight_fake_quant,
    default_weight_fake_quant,
    fused_per_channel_wt_fake_quant_range_neg_127_to_127,
    fused_wt_fake_quant_range_neg_127_to_127,
)
from tapegrad.ao.quantization.observer import (
    HistogramObserver,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    NoopObserver,
    PlaceholderObserver,
    default_debug_observer,
    default_dynamic_quant_observer,
    default_float_qparams_observer,
    default_float_qparams_observer_4bit,
    default_observer,
    default_per_channel_weight_observer,
    default_placeholder_observer,
    default_reuse_input_observer,
    default_weight_observer,
    per_channel_weight_observer_range_neg_127_to_127,
    weight_observer_range_neg_127_to_127,
)
from tapegrad.ao.quantization.observing import PartialWrapper
from tapegrad.ao.quantization.schemes import qint8
from tapegrad.nn.modules.linear import Identity
from tapegrad.nn.modules.module import Module

__all__ = [
    "QConfig", "QConfigAny", "QConfigDynamic", "default_activation_only_qconfig", "default_debug_qconfig",
    "default_dynamic_qat_qconfig", "default_dynamic_qconfig", "default_embedding_qat_qconfig",
    "default_embedding_qat_qconfig_4bit", "default_per_channel_qconfig",
    "default_per_channel_symmetric_qnnpack_qat_qconfig", "default_per_channel_symmetric_qnnpack_qconfig",
    "default_qat_qconfig", "default_qat_qconfig_v2", "default_qconfig", "default_quint8_weight_qconfig",
    "default_reuse_input_qconfig", "default_symmetric_qnnpack_qat_qconfig", "default_symmetric_qnnpack_qconfig",
    "default_weight_only_qconfig", "float16_dynamic_qconfig", "float16_static_qconfig",
    "float_qparams_weight_only_qconfig", "float_qparams_weight_only_qconfig_4bit", "get_default_qat_qconfig",
    "get_default_qconfig", "per_channel_dynamic_qconfig", "qconfig_equals",
]  # fmt: skip


def refuse_modules(kind: type, *given: Any) -> None:
    """Refuse modules in place of factories. Raises ValueError: one is there."""
    if any(isinstance(one, Module) for one in given):
        raise ValueError(f"{kind.__name__} received observer instance, please pass observer class instead. Use "
                         "MyObserver.with_args(x=1) to override arguments to constructor if needed")  # fmt: skip


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
        refuse_modules(cls, activation, weight)
        return super().__new__(cls, activation, weight)


QConfigAny = QConfig | None


class _Dynamic(NamedTuple):
    activation: Any = Identity
    weight: Any = Identity


class QConfigDynamic(_Dynamic):
    """The older form of configurations for layers whose inputs get a scale each.

    Raises:
        ValueError: a module in place of a factory.
    """

    __slots__ = ()

    def __new__(cls, activation: Any = Identity, weight: Any = Identity) -> QConfigDynamic:
        warn("`QConfigDynamic` is going to be deprecated in PyTorch 1.12, please use `QConfig` instead", FutureWarning)
        refuse_modules(cls, weight)
        return super().__new__(cls, activation, weight)


default_qconfig = QConfig(default_observer, default_weight_observer)
default_per_channel_qconfig = QConfig(default_observer, default_per_channel_weight_observer)
default_qat_qconfig = QConfig(default_fake_quant, default_weight_fake_quant)
default_qat_qconfig_v2 = QConfig(default_fused_act_fake_quant, default_fused_wt_fake_quant)
default_debug_qconfig = QConfig(default_debug_observer, default_weight_observer)
default_dynamic_qconfig = QConfig(default_dynamic_quant_observer, default_weight_observer)
float16_dynamic_qconfig = QConfig(
    PlaceholderObserver.with_args(dtype=float16, is_dynamic=True), PlaceholderObserver.with_args(dtype=float16)
)
float16_static_qconfig = QConfig(
    PlaceholderObserver.with_args(dtype=float16), PlaceholderObserver.with_args(dtype=float16)
)
per_channel_dynamic_qconfig = QConfig(default_dynamic_quant_observer, default_per_channel_weight_observer)
float_qparams_weight_only_qconfig = QConfig(default_placeholder_observer, default_float_qparams_observer)
float_qparams_weight_only_qconfig_4bit = QConfig(default_placeholder_observer, default_float_qparams_observer_4bit)
default_dynamic_qat_qconfig = QConfig(default_dynamic_fake_quant, default_weight_fake_quant)
default_weight_only_qconfig = QConfig(Identity, default_weight_fake_quant)
default_activation_only_qconfig = QConfig(default_fake_quant, Identity)
default_reuse_input_qconfig = QConfig(default_reuse_input_observer, NoopObserver)
default_embedding_qat_qconfig = QConfig(NoopObserver.with_args(dtype=float32), default_embedding_fake_quant)
default_embedding_qat_qconfig_4bit = QConfig(NoopObserver.with_args(dtype=float32), default_embedding_fake_quant_4bit)
default_quint8_weight_qconfig = QConfig(HistogramObserver, MinMaxObserver)
_signed = HistogramObserver.with_args(dtype=qint8, reduce_range=False, eps=2**-12)
default_symmetric_qnnpack_qconfig = QConfig(_signed, weight_observer_range_neg_127_to_127)
default_per_channel_symmetric_qnnpack_qconfig = QConfig(_signed, per_channel_weight_observer_range_neg_127_to_127)
_signed_qat = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, quant_min=-128, quant_max=127, dtype=qint8, reduce_range=False, eps=2**-12
)
default_symmetric_qnnpack_qat_qconfig = QConfig(_signed_qat, fused_wt_fake_quant_range_neg_127_to_127)
default_per_channel_symmetric_qnnpack_qat_qconfig = QConfig(
    _signed_qat, fused_per_channel_wt_fake_quant_range_neg_127_to_127
)

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


def get_default_qconfig(backend: str = "x86", version: int = 0) -> QConfig:
    """The configuration with which models are observed that are trained already, for a backend of PyTorch's.

    Args:
        backend: ``"x86"``, ``"fbgemm"``, ``"qnnpack"`` or ``"onednn"``.
        version: 0.

    Raises:
        AssertionError: another backend or version.
    """
    if backend not in BACKENDS:
        raise AssertionError(f"backend: {backend} not supported. backend must be one of {BACKENDS}")
    if version != 0:
        raise AssertionError(
            f"Version number: {version} in get_default_qconfig is not supported. Version number must be 0"
        )
    activation = HistogramObserver.with_args(reduce_range=backend in ("fbgemm", "x86"))
    return QConfig(activation, default_weight_observer if backend == "qnnpack" else default_per_channel_weight_observer)


def qconfig_equals(q1: Any, q2: Any) -> bool:
    """Tell whether two configurations make the same modules, with the same arguments."""
    if q1 is None or q2 is None or not hasattr(q1, "weight") or not hasattr(q2, "weight"):
        return q1 == q2
    return makes_same(q1.activation, q2.activation) and makes_same(q1.weight, q2.weight)


def makes_same(one: Any, two: Any) -> bool:
    """Tell whether two factories make the same."""
    if not (isinstance(one, PartialWrapper) and isinstance(two, PartialWrapper)):
        return one == two
    if not (isinstance(one.p, partial) and isinstance(two.p, partial)):
        return one.p == two.p
    ours, theirs = one.p.keywords, two.p.keywords
    alike = ours.keys() == theirs.keys() and all(
        makes_same(given, theirs[name]) if name == "observer" else given == theirs[name]
        for name, given in ours.items()
    )
    return alike and makes_same(one.p.func, two.p.func) and one.p.args == two.p.args
