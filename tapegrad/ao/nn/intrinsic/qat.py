"""``torch.ao.nn.intrinsic.qat``: layers in a row that are one, whose weights are fake-quantized in each forward.

Note [Batch norms of fake-quantized layers]
What is rounded is the weight as it will be when the batch norm is gone: scaled by what it has learnt, over the running
deviation. The result is scaled back, so that the batch norm finds what it would without rounding (page 18 of
https://arxiv.org/abs/1806.08342).
"""

from __future__ import annotations

import math
from typing import Any, Self

from tapegrad import nn
from tapegrad._src.functions.creation import empty, zeros, zeros_like
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ao.nn import qat
from tapegrad.ao.nn.intrinsic import fused as nni
from tapegrad.ao.nn.intrinsic.fused import _FusedModule
from tapegrad.nn import functional as F
from tapegrad.nn import init
from tapegrad.nn.parameter import Parameter
from tapegrad.nn.utils.fusion import fuse_conv_bn_weights, fuse_linear_bn_weights

__all__ = [
    "ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d", "ConvBnReLU2d", "ConvBnReLU3d", "ConvReLU1d", "ConvReLU2d",
    "ConvReLU3d", "LinearBn1d", "LinearReLU", "freeze_bn_stats", "update_bn_stats",
]  # fmt: skip


class _WithNorm:
    """The base class of layers with a batch norm: how it is frozen, and how they are made of plain ones."""

    _FLOAT_MODULE: type
    _VALID = "qconfig"
    bn: Any
    weight: Any
    bias: Any
    weight_fake_quant: Any
    training: bool

    def _normalize_by(self, bn: Any, bias: bool, freeze_bn: bool, qconfig: Any, size: int) -> None:
        if not qconfig:
            raise AssertionError("qconfig must be provided for QAT module")
        self.qconfig = qconfig
        self.freeze_bn = freeze_bn if self.training else True
        self.bn, self.weight_fake_quant = bn, qconfig.weight()
        self.bias = Parameter(empty(size)) if bias else None
        self.reset_bn_parameters()
        if self.training and not freeze_bn:
            self.update_bn_stats()
        else:
            self.freeze_bn_stats()

    def reset_running_stats(self) -> None:
        """Forget the running statistics."""
        self.bn.reset_running_stats()

    def reset_bn_parameters(self) -> None:
        """Give the batch norm new parameters, and forget the running statistics."""
        self.bn.reset_running_stats()
        init.uniform_(self.bn.weight)
        init.zeros_(self.bn.bias)

    def update_bn_stats(self) -> Self:
        """Let the batch norm use, and remember, the statistics of each batch."""
        self.freeze_bn, self.bn.training = False, True
        return self

    def freeze_bn_stats(self) -> Self:
        """Let the batch norm use what it remembers."""
        self.freeze_bn, self.bn.training = True, False
        return self

    def train(self, mode: bool = True) -> Self:
        """Choose training mode, or evaluation mode; a frozen batch norm stays as it is."""
        self.training = mode
        for module in () if self.freeze_bn else self.children():  # type: ignore[attr-defined]
            module.train(mode)
        return self

    def _normalized(self, input: Tensor, apply: Any) -> Tensor:
        """The layer and the batch norm: see Note [Batch norms of fake-quantized layers]."""
        if self.bn.running_var is None:
            raise AssertionError("self.bn.running_var must not be None")
        scale = self.bn.weight / (self.bn.running_var + self.bn.eps).sqrt()
        row, column = ([1, -1] + [1] * (self.weight.ndim - 2)), ([-1] + [1] * (self.weight.ndim - 1))
        weight = self.weight_fake_quant(self.weight * scale.reshape(column))
        none = zeros(len(weight), dtype=input.dtype) if self.bias is None else zeros_like(self.bias, dtype=input.dtype)
        out = apply(input, weight, none) / scale.reshape(row)
        return self.bn(out if self.bias is None else out + self.bias.reshape(row))

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer of plain ones, with their parameters, their statistics and their ``qconfig``.

        Args:
            mod: the plain layers, of ``torch.ao.nn.intrinsic``.
            use_precomputed_fake_quant: for conversions, of which there are none.

        Raises:
            AssertionError: layers of another class, or without a ``qconfig``.
        """
        if type(mod) is not cls._FLOAT_MODULE:
            raise AssertionError(f"qat.{cls.__name__}.from_float only works for {cls._FLOAT_MODULE.__name__}")
        if not hasattr(mod, "qconfig"):
            raise AssertionError("Input float module must have qconfig defined")
        if not mod.qconfig:
            raise AssertionError(f"Input float module must have a valid {cls._VALID}")
        plain: Any = mod
        layer, bn = plain[0], plain[1]
        made: Any = cls(
            *cls._settings_of(layer), eps=bn.eps, momentum=bn.momentum, qconfig=plain.qconfig
        )  # type: ignore[call-arg]  # fmt: skip
        made.weight, made.bias = layer.weight, layer.bias
        for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
            setattr(made.bn, name, getattr(bn, name))
        return made

    @classmethod
    def _settings_of(cls, layer: Any) -> tuple:
        raise NotImplementedError


OLD_NAMES = {
    "bn.weight": "gamma", "bn.bias": "beta", "bn.running_mean": "running_mean", "bn.running_var": "running_var",
    "bn.num_batches_tracked": "num_batches_tracked",
}  # fmt: skip
"""The names in state dicts of the first version, which had no batch norm of its own."""


class _ConvBn(_WithNorm):
    """The base class of convolutions with a batch norm."""

    _version = 2
    _NORM: type
    _PLAIN: type
    _WITH_RELU: type | None = None

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, bias: Any = None, padding_mode: str = "zeros", eps: float = 1e-5,
        momentum: float = 0.1, freeze_bn: bool = False, qconfig: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, False, padding_mode
        )  # type: ignore[call-arg]  # fmt: skip
        self._normalize_by(
            self._NORM(out_channels, eps, momentum, True, True), bool(bias), freeze_bn, qconfig, out_channels
        )

    def reset_bn_parameters(self) -> None:
        """Give the batch norm and the bias new parameters, and forget the running statistics."""
        super().reset_bn_parameters()
        if self.bias is not None:
            bound = 1 / math.sqrt(init._calculate_fan_in_and_fan_out(self.weight)[0])
            init.uniform_(self.bias, -bound, bound)

    def _forward(self, input: Tensor) -> Tensor:
        return self._normalized(input, self._conv_forward)  # type: ignore[attr-defined]

    def forward(self, input: Tensor) -> Tensor:
        """The batch norm of the convolution, with the weight as it would be quantized."""
        out = self._forward(input)
        return out if self._WITH_RELU is None else F.relu(out)

    @classmethod
    def _settings_of(cls, layer: Any) -> tuple:
        return (
            layer.in_channels, layer.out_channels, layer.kernel_size, layer.stride, layer.padding, layer.dilation,
            layer.groups, layer.bias is not None, layer.padding_mode,
        )  # fmt: skip

    def to_float(self) -> Any:
        """A plain convolution that does what it and the batch norm do, perhaps with a ReLU."""
        made: Any = self._PLAIN(*self._settings_of(self))
        made.weight = Parameter(self.weight.detach())
        made.bias = None if self.bias is None else Parameter(self.bias.detach())
        made.weight, made.bias = fuse_conv_bn_weights(
            made.weight, made.bias, self.bn.running_mean, self.bn.running_var, self.bn.eps, self.bn.weight,
            self.bn.bias,
        )  # fmt: skip
        made = made if self._WITH_RELU is None else self._WITH_RELU(made, nn.ReLU())
        return made.train(self.training)

    def _load_from_state_dict(
        self, state_dict: dict, prefix: str, local_metadata: dict, strict: bool, missing_keys: list, *args: Any
    ) -> None:
        if local_metadata.get("version") in (None, 1):
            for new, old in OLD_NAMES.items():
                if prefix + old in state_dict:
                    state_dict[prefix + new] = state_dict.pop(prefix + old)
                elif strict and prefix + new not in state_dict:
                    missing_keys.append(prefix + new)
        loading: Any = super()
        loading._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, *args)


class ConvBn1d(_ConvBn, nn.Conv1d, _FusedModule):
    """A ``Conv1d`` with a ``BatchNorm1d``, whose weight is fake-quantized in each forward.

    Raises:
        AssertionError: there is no ``qconfig``.
    """

    _FLOAT_MODULE, _PLAIN, _NORM = nni.ConvBn1d, nn.Conv1d, nn.BatchNorm1d


class ConvBnReLU1d(ConvBn1d):
    """A ``ConvBn1d`` with a ``ReLU``. Raises AssertionError: there is no ``qconfig``."""

    _FLOAT_MODULE, _WITH_RELU = nni.ConvBnReLU1d, nni.ConvReLU1d  # type: ignore[assignment]


class ConvBn2d(_ConvBn, nn.Conv2d, _FusedModule):
    """A ``Conv2d`` with a ``BatchNorm2d``, whose weight is fake-quantized in each forward.

    Raises:
        AssertionError: there is no ``qconfig``.

    >>> qconfig = torch.ao.quantization.get_default_qat_qconfig()
    >>> layer = torch.ao.nn.intrinsic.qat.ConvBn2d(1, 2, 3, qconfig=qconfig)
    >>> layer(torch.ones(2, 1, 3, 3)).shape
    torch.Size([2, 2, 1, 1])
    """

    _FLOAT_MODULE, _PLAIN, _NORM = nni.ConvBn2d, nn.Conv2d, nn.BatchNorm2d


class ConvBnReLU2d(ConvBn2d):
    """A ``ConvBn2d`` with a ``ReLU``. Raises AssertionError: there is no ``qconfig``."""

    _FLOAT_MODULE, _WITH_RELU = nni.ConvBnReLU2d, nni.ConvReLU2d  # type: ignore[assignment]


class ConvBn3d(_ConvBn, nn.Conv3d, _FusedModule):
    """A ``Conv3d`` with a ``BatchNorm3d``, whose weight is fake-quantized in each forward.

    Raises:
        AssertionError: there is no ``qconfig``.
    """

    _FLOAT_MODULE, _PLAIN, _NORM = nni.ConvBn3d, nn.Conv3d, nn.BatchNorm3d


class ConvBnReLU3d(ConvBn3d):
    """A ``ConvBn3d`` with a ``ReLU``. Raises AssertionError: there is no ``qconfig``."""

    _FLOAT_MODULE, _WITH_RELU = nni.ConvBnReLU3d, nni.ConvReLU3d  # type: ignore[assignment]


class LinearBn1d(_WithNorm, nn.Linear, _FusedModule):
    """A ``Linear`` with a ``BatchNorm1d``, whose weight is fake-quantized in each forward.

    Args:
        in_features, out_features, bias: as of ``Linear``.
        eps, momentum: as of ``BatchNorm1d``.
        freeze_bn: whether the batch norm uses the running statistics, and leaves them as they are.
        qconfig: whose ``weight`` makes what quantizes the weight.

    Raises:
        AssertionError: there is no ``qconfig``.
    """

    _FLOAT_MODULE, _VALID = nni.LinearBn1d, "config"

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, eps: float = 1e-5, momentum: float = 0.1,
        freeze_bn: bool = False, qconfig: Any = None,
    ) -> None:  # fmt: skip
        nn.Linear.__init__(self, in_features, out_features, bias)
        norm = nn.BatchNorm1d(out_features, eps, momentum, True, True) if qconfig else None
        self._normalize_by(norm, bias, freeze_bn, qconfig, out_features)

    def forward(self, input: Tensor) -> Tensor:
        """The batch norm of the product, with the weight as it would be quantized."""
        return self._normalized(input, F.linear)

    @classmethod
    def _settings_of(cls, layer: Any) -> tuple:
        return layer.in_features, layer.out_features, layer.bias is not None

    def to_float(self) -> Any:
        """A plain layer that does what it and the batch norm do."""
        made: Any = nn.Linear(self.in_features, self.out_features)
        made.weight, made.bias = fuse_linear_bn_weights(
            self.weight, self.bias, self.bn.running_mean, self.bn.running_var, self.bn.eps, self.bn.weight,
            self.bn.bias,
        )  # fmt: skip
        return made


class _WithReLU:
    """The base class of layers with a ReLU."""

    _FLOAT_MODULE: type

    def forward(self, input: Tensor) -> Tensor:
        """The layer, with the weight as it would be quantized, where its result is positive."""
        layer: Any = super()
        return F.relu(layer.forward(input))

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer of a plain one and a ReLU, with its parameters, and their ``qconfig``.

        Args:
            mod: the plain layers, of ``torch.ao.nn.intrinsic``.
            use_precomputed_fake_quant: for conversions, of which there are none.

        Raises:
            AssertionError: layers of another class, or without a ``qconfig``.
        """
        made: Any = super()
        return made.from_float(mod, use_precomputed_fake_quant)

    def to_float(self) -> Any:
        """A plain layer with the same parameters, and a ReLU."""
        layer: Any = super()
        return self._FLOAT_MODULE(layer.to_float(), nn.ReLU()).train(self.training)  # type: ignore[attr-defined]


class ConvReLU1d(_WithReLU, qat.Conv1d, _FusedModule):
    """A ``Conv1d`` with a ``ReLU``, whose weight is fake-quantized in each forward.

    Raises:
        AssertionError: there is no ``qconfig``.
    """

    _FLOAT_MODULE = nni.ConvReLU1d  # type: ignore[assignment]
    _PLAIN = nn.Conv1d


class ConvReLU2d(_WithReLU, qat.Conv2d, _FusedModule):
    """A ``Conv2d`` with a ``ReLU``, whose weight is fake-quantized in each forward.

    Raises:
        AssertionError: there is no ``qconfig``.
    """

    _FLOAT_MODULE = nni.ConvReLU2d  # type: ignore[assignment]
    _PLAIN = nn.Conv2d


class ConvReLU3d(_WithReLU, qat.Conv3d, _FusedModule):
    """A ``Conv3d`` with a ``ReLU``, whose weight is fake-quantized in each forward.

    Raises:
        AssertionError: there is no ``qconfig``.
    """

    _FLOAT_MODULE = nni.ConvReLU3d  # type: ignore[assignment]
    _PLAIN = nn.Conv3d


class LinearReLU(_WithReLU, qat.Linear, _FusedModule):
    """A ``Linear`` with a ``ReLU``, whose weight is fake-quantized in each forward.

    Raises:
        AssertionError: there is no ``qconfig``.
    """

    _FLOAT_MODULE = nni.LinearReLU  # type: ignore[assignment]
    _PLAIN = nn.Linear


def update_bn_stats(mod: Any) -> None:
    """Let the batch norm of a fused convolution use the statistics of each batch: ``model.apply(update_bn_stats)``."""
    if isinstance(mod, _ConvBn):
        mod.update_bn_stats()


def freeze_bn_stats(mod: Any) -> None:
    """Let the batch norm of a fused convolution use what it remembers: ``model.apply(freeze_bn_stats)``."""
    if isinstance(mod, _ConvBn):
        mod.freeze_bn_stats()
