"""``torch.ao.nn.qat``: layers whose weights are fake-quantized in each forward."""

from __future__ import annotations

from typing import Any, cast

from tapegrad import nn
from tapegrad.nn import functional as F

__all__ = ["Conv1d", "Conv2d", "Conv3d", "Linear"]


class _FakeQuantized:
    """The base class of these layers: the fake quantization of the weight, and how they are made of plain ones."""

    _FLOAT_MODULE: type
    _SETTINGS: tuple[str, ...]
    """The attributes that the layer's class is called with, in order."""

    _PLAIN: type
    """The class of the plain layer; ``_FLOAT_MODULE`` may have a ReLU, too."""

    weight_fake_quant: Any
    qconfig: Any

    def _quantize_by(self, qconfig: Any, device: Any, dtype: Any) -> None:
        if not qconfig:
            raise AssertionError("qconfig must be provided for QAT module")
        self.qconfig = qconfig
        self.weight_fake_quant = qconfig.weight(factory_kwargs={"device": device, "dtype": dtype})

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer of a plain one, with its parameters, and its ``qconfig``.

        Args:
            mod: the plain layer.
            use_precomputed_fake_quant: for conversions, of which there are none.

        Raises:
            AssertionError: a layer of another class, or without a ``qconfig``.
        """
        if type(mod) is not cls._FLOAT_MODULE:
            raise AssertionError(
                f"qat.{cls.__name__}.from_float only works for {cls._FLOAT_MODULE.__name__}, got {type(mod).__name__}"
            )
        if not hasattr(mod, "qconfig"):
            raise AssertionError("Input float module must have qconfig defined")
        if not mod.qconfig:
            raise AssertionError("Input float module must have a valid qconfig")
        kind, plain = cast(Any, cls), cast(Any, mod)
        layer: Any = plain if type(plain) is cls._PLAIN else plain[0]
        made = kind(**cls._settings_of(layer), qconfig=plain.qconfig)
        made.weight, made.bias = layer.weight, layer.bias
        return made

    @classmethod
    def _settings_of(cls, mod: Any) -> dict[str, Any]:
        return {name: getattr(mod, name) for name in cls._SETTINGS} | {"bias": mod.bias is not None}

    def to_float(self) -> Any:
        """A plain layer with the same parameters."""
        made: Any = self._PLAIN(**self._settings_of(self))
        made.weight = nn.Parameter(self.weight.detach())  # type: ignore[attr-defined]
        if self.bias is not None:  # type: ignore[attr-defined]
            made.bias = nn.Parameter(self.bias.detach())  # type: ignore[attr-defined]
        return made.train(self.training)  # type: ignore[attr-defined]


class Linear(_FakeQuantized, nn.Linear):
    """``nn.Linear`` whose weight is fake-quantized in each forward.

    Args:
        in_features, out_features, bias, device, dtype: as of ``nn.Linear``.
        qconfig: whose ``weight`` makes what quantizes it.

    Raises:
        AssertionError: there is no ``qconfig``.

    >>> qconfig = torch.ao.quantization.get_default_qat_qconfig()
    >>> torch.ao.nn.qat.Linear(2, 3, qconfig=qconfig)(torch.ones(1, 2)).shape
    torch.Size([1, 3])
    """

    _FLOAT_MODULE = _PLAIN = nn.Linear
    _SETTINGS = ("in_features", "out_features")

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, qconfig: Any = None, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(in_features, out_features, bias, device=device, dtype=dtype)
        self._quantize_by(qconfig, device, dtype)

    def forward(self, input: Any) -> Any:
        """The product with the weight as it would be quantized."""
        return F.linear(input, self.weight_fake_quant(self.weight), self.bias)


class _Convolving(_FakeQuantized):
    """The base class of convolutions."""

    _SETTINGS = (
        "in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "groups", "padding_mode"
    )  # fmt: skip

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros", qconfig: Any = None,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode,
            device=device, dtype=dtype,
        )  # type: ignore[call-arg]  # fmt: skip
        self._quantize_by(qconfig, device, dtype)

    def forward(self, input: Any) -> Any:
        """The convolution with the weight as it would be quantized."""
        weight = self.weight_fake_quant(self.weight)  # type: ignore[attr-defined]
        return self._conv_forward(input, weight, self.bias)  # type: ignore[attr-defined]


class Conv1d(_Convolving, nn.Conv1d):
    """``nn.Conv1d`` whose weight is fake-quantized in each forward, by what ``qconfig.weight`` makes.

    Raises:
        AssertionError: there is no ``qconfig``.
    """

    _FLOAT_MODULE = _PLAIN = nn.Conv1d


class Conv2d(_Convolving, nn.Conv2d):
    """``nn.Conv2d`` whose weight is fake-quantized in each forward, by what ``qconfig.weight`` makes.

    Raises:
        AssertionError: there is no ``qconfig``.
    """

    _FLOAT_MODULE = _PLAIN = nn.Conv2d


class Conv3d(_Convolving, nn.Conv3d):
    """``nn.Conv3d`` whose weight is fake-quantized in each forward, by what ``qconfig.weight`` makes.

    Raises:
        AssertionError: there is no ``qconfig``.
    """

    _FLOAT_MODULE = _PLAIN = nn.Conv3d
