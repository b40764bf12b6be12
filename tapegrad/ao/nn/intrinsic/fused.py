"""Layers in a row that count as one, as ``fuse_modules`` makes of them."""

from __future__ import annotations

from typing import Any

from tapegrad import nn

__all__ = [
    "BNReLU2d", "BNReLU3d", "ConvAdd2d", "ConvAddReLU2d", "ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d",
    "ConvBnReLU2d", "ConvBnReLU3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearBn1d", "LinearLeakyReLU",
    "LinearReLU", "LinearTanh",
]  # fmt: skip


class _FusedModule(nn.Sequential):
    """The base class of layers in a row that count as one."""

    _KINDS: tuple[type, ...]
    """The classes of the layers."""

    def _checked(self, *layers: Any) -> None:
        if tuple(map(type, layers)) != self._KINDS:
            *names, last = (type(layer).__name__ for layer in layers)
            comma = "," if len(names) > 1 else ""
            raise AssertionError(f"Incorrect types for input modules: {', '.join(names)}{comma} and {last}")


class _Convolved(_FusedModule):
    """The base class of a convolution and a ReLU."""

    def __init__(self, conv: Any, relu: Any) -> None:
        self._checked(conv, relu)
        super().__init__(conv, relu)


class ConvReLU1d(_Convolved):
    """A ``Conv1d`` and a ``ReLU``. Raises AssertionError: layers of other classes."""

    _KINDS = (nn.Conv1d, nn.ReLU)


class ConvReLU2d(_Convolved):
    """A ``Conv2d`` and a ``ReLU``. Raises AssertionError: layers of other classes."""

    _KINDS = (nn.Conv2d, nn.ReLU)


class ConvReLU3d(_Convolved):
    """A ``Conv3d`` and a ``ReLU``. Raises AssertionError: layers of other classes."""

    _KINDS = (nn.Conv3d, nn.ReLU)


class _Normalized(_FusedModule):
    """The base class of a convolution and a batch norm."""

    def __init__(self, conv: Any, bn: Any) -> None:
        self._checked(conv, bn)
        super().__init__(conv, bn)


class ConvBn1d(_Normalized):
    """A ``Conv1d`` and a ``BatchNorm1d``. Raises AssertionError: layers of other classes."""

    _KINDS = (nn.Conv1d, nn.BatchNorm1d)


class ConvBn2d(_Normalized):
    """A ``Conv2d`` and a ``BatchNorm2d``. Raises AssertionError: layers of other classes."""

    _KINDS = (nn.Conv2d, nn.BatchNorm2d)


class ConvBn3d(_Normalized):
    """A ``Conv3d`` and a ``BatchNorm3d``. Raises AssertionError: layers of other classes."""

    _KINDS = (nn.Conv3d, nn.BatchNorm3d)


class _NormalizedReLU(_FusedModule):
    """The base class of a convolution, a batch norm and a ReLU."""

    def __init__(self, conv: Any, bn: Any, relu: Any) -> None:
        self._checked(conv, bn, relu)
        super().__init__(conv, bn, relu)


class ConvBnReLU1d(_NormalizedReLU):
    """A ``Conv1d``, a ``BatchNorm1d`` and a ``ReLU``. Raises AssertionError: layers of other classes."""

    _KINDS = (nn.Conv1d, nn.BatchNorm1d, nn.ReLU)


class ConvBnReLU2d(_NormalizedReLU):
    """A ``Conv2d``, a ``BatchNorm2d`` and a ``ReLU``. Raises AssertionError: layers of other classes."""

    _KINDS = (nn.Conv2d, nn.BatchNorm2d, nn.ReLU)


class ConvBnReLU3d(_NormalizedReLU):
    """A ``Conv3d``, a ``BatchNorm3d`` and a ``ReLU``. Raises AssertionError: layers of other classes."""

    _KINDS = (nn.Conv3d, nn.BatchNorm3d, nn.ReLU)


class _NormReLU(_FusedModule):
    """The base class of a batch norm and a ReLU."""

    def __init__(self, batch_norm: Any, relu: Any) -> None:
        self._checked(batch_norm, relu)
        super().__init__(batch_norm, relu)


class BNReLU2d(_NormReLU):
    """A ``BatchNorm2d`` and a ``ReLU``. Raises AssertionError: layers of other classes."""

    _KINDS = (nn.BatchNorm2d, nn.ReLU)


class BNReLU3d(_NormReLU):
    """A ``BatchNorm3d`` and a ``ReLU``. Raises AssertionError: layers of other classes."""

    _KINDS = (nn.BatchNorm3d, nn.ReLU)


class LinearReLU(_FusedModule):
    """A ``Linear`` and a ``ReLU``. Raises AssertionError: layers of other classes."""

    _KINDS = (nn.Linear, nn.ReLU)

    def __init__(self, linear: Any, relu: Any) -> None:
        self._checked(linear, relu)
        super().__init__(linear, relu)


class LinearBn1d(_FusedModule):
    """A ``Linear`` and a ``BatchNorm1d``. Raises AssertionError: layers of other classes."""

    _KINDS = (nn.Linear, nn.BatchNorm1d)

    def __init__(self, linear: Any, bn: Any) -> None:
        self._checked(linear, bn)
        super().__init__(linear, bn)


class LinearLeakyReLU(_FusedModule):
    """A ``Linear`` and a ``LeakyReLU``. Raises AssertionError: layers of other classes."""

    _KINDS = (nn.Linear, nn.LeakyReLU)

    def __init__(self, linear: Any, leaky_relu: Any) -> None:
        self._checked(linear, leaky_relu)
        super().__init__(linear, leaky_relu)


class LinearTanh(_FusedModule):
    """A ``Linear`` and a ``Tanh``. Raises AssertionError: layers of other classes."""

    _KINDS = (nn.Linear, nn.Tanh)

    def __init__(self, linear: Any, tanh: Any) -> None:
        self._checked(linear, tanh)
        super().__init__(linear, tanh)


class ConvAdd2d(_FusedModule):
    """A ``Conv2d`` to whose result something is added.

    Args:
        conv: the convolution.
        add: a function of its result and a second input.
    """

    def __init__(self, conv: Any, add: Any) -> None:
        super().__init__(conv)
        self.add = add

    def forward(self, x1: Any, x2: Any) -> Any:  # type: ignore[override]
        """The convolution of the first input, with the second one added."""
        return self.add(self[0](x1), x2)


class ConvAddReLU2d(_FusedModule):
    """A ``Conv2d`` to whose result something is added, and a ``ReLU``.

    Args:
        conv: the convolution.
        add: a function of its result and a second input.
        relu: the ``ReLU``.
    """

    def __init__(self, conv: Any, add: Any, relu: Any) -> None:
        super().__init__(conv)
        self.add, self.relu = add, relu

    def forward(self, x1: Any, x2: Any) -> Any:  # type: ignore[override]
        """The convolution of the first input, with the second one added, where it is positive."""
        return self.relu(self.add(self[0](x1), x2))
