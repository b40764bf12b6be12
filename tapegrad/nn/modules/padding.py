"""Paddings: what is put around sequences, images and volumes.

``padding`` is one length for all sides, or one for each: (left, right), (left, right, top, bottom), or (left, right,
top, bottom, front, back). Negative ones cut something off. Shapes: 1d (N, C, W) or (C, W), 2d (N, C, H, W) or
(C, H, W), 3d (N, C, D, H, W) or (C, D, H, W), to the same with longer W, H and D.
"""

from __future__ import annotations

from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.nn import functional as F
from tapegrad.nn.modules.module import Module
from tapegrad.nn.modules.settings import settings
from tapegrad.nn.modules.utils import OfDimensions, _check_dims, _ntuple

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
    "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d",
    "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip


@settings(shows="{padding}")
class _Pad(OfDimensions, Module):
    """A padding of ``_dims`` dimensions."""

    _about = "``padding`` is one length for all sides, or one for each: {sides}. Negative ones cut off."
    __constants__ = ["padding"]

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _ntuple(2 * self._dims)(padding)


# -- a number ----------------------------------------------------------------------------------------------------------


@settings(shows="padding={padding}, value={value}")
class _ConstantPadNd(_Pad):
    __constants__ = ["padding", "value"]

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)


class ConstantPad1d(_ConstantPadNd):
    """Puts a number, ``value``, around sequences.

    >>> ConstantPad1d((1, 2), 9.0)(torch.zeros(1, 2))
    tensor([[9., 0., 0., 9., 9.]])
    """

    _dims = 1


class ConstantPad2d(_ConstantPadNd):
    """Puts a number, ``value``, around images.

    >>> ConstantPad2d((1, 0, 0, 1), 9.0)(torch.zeros(1, 1, 2))
    tensor([[[9., 0., 0.],
             [9., 9., 9.]]])
    """

    _dims = 2


class ConstantPad3d(_ConstantPadNd):
    """Puts a number, ``value``, around volumes."""

    _dims = 3


@settings(shows="{padding}")
class ZeroPad1d(ConstantPad1d):
    """Puts zeros around sequences.

    >>> ZeroPad1d(1)(torch.ones(1, 2))
    tensor([[0., 1., 1., 0.]])
    """

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)


@settings(shows="{padding}")
class ZeroPad2d(ConstantPad2d):
    """Puts zeros around images.

    >>> ZeroPad2d((1, 0, 0, 1))(torch.ones(1, 1, 2))
    tensor([[[0., 1., 1.],
             [0., 0., 0.]]])
    """

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)


@settings(shows="{padding}")
class ZeroPad3d(ConstantPad3d):
    """Puts zeros around volumes."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)


# -- what is inside ----------------------------------------------------------------------------------------------------


class _ReflectionPadNd(_Pad):
    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "reflect")


class ReflectionPad1d(_ReflectionPadNd):
    """Puts around sequences what is inside, reflected at the outermost elements.

    >>> ReflectionPad1d(2)(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[3., 2., 1., 2., 3., 2., 1.]])
    """

    _dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Puts around images what is inside, reflected at the outermost pixels."""

    _dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Puts around volumes what is inside, reflected at the outermost elements."""

    _dims = 3


class _ReplicationPadNd(_Pad):
    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "replicate")


class ReplicationPad1d(_ReplicationPadNd):
    """Repeats the outermost elements of sequences.

    >>> ReplicationPad1d(2)(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[1., 1., 1., 2., 3., 3., 3.]])
    """

    _dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Repeats the outermost pixels of images."""

    _dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Repeats the outermost elements of volumes."""

    _dims = 3


class _CircularPadNd(_Pad):
    def _check_input_dim(self, input: Tensor) -> None:
        _check_dims(input, (self._dims + 1, self._dims + 2))

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        return F.pad(input, self.padding, "circular")


class CircularPad1d(_CircularPadNd):
    """Puts in front of sequences what is at their end, and behind them what they begin with.

    >>> CircularPad1d((2, 1))(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[2., 3., 1., 2., 3., 1.]])
    """

    _dims = 1


class CircularPad2d(_CircularPadNd):
    """Puts at each side of images what is at the opposite one."""

    _dims = 2


class CircularPad3d(_CircularPadNd):
    """Puts at each side of volumes what is at the opposite one."""

    _dims = 3
