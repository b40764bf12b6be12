"""Pooling: one number for each window of a sequence, an image or a volume.

Sizes are one number, or one for each dimension; the stride, if None, is the size of the window. Shapes: 1d (N, C, L),
2d (N, C, H, W), 3d (N, C, D, H, W), each also without N, to the same with shorter lengths: of a length L comes

    floor((L + 2 * padding - dilation * (kernel_size - 1) - 1) / stride + 1)

or, with ``ceil_mode``, the same rounded up. Adaptive poolings are told the lengths to come to instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.nn import functional as F
from tapegrad.nn.modules.module import Module
from tapegrad.nn.modules.settings import settings
from tapegrad.nn.modules.utils import Explained, OfDimensions, _ntuple, _single

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d",
    "LPPool1d", "LPPool2d", "LPPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d",
    "MaxUnpool3d",
]  # fmt: skip


# -- the largest -------------------------------------------------------------------------------------------------------


@settings(
    shows="kernel_size={kernel_size}, stride={stride}, padding={padding}, dilation={dilation}, ceil_mode={ceil_mode}"
)
class _MaxPoolNd(Explained, Module):
    """The base class of maximum poolings.

    Args:
        kernel_size: of the window.
        stride: from one window to the next.
        padding: how much of minus infinity is put at both ends.
        dilation: from one element of a window to the next.
        return_indices: whether the places of the largest elements are given too, as ``MaxUnpool`` takes them.
        ceil_mode: whether windows may reach over the end.
    """

    _about = (
        "``kernel_size``, ``stride`` (by default the same), ``padding`` and ``dilation`` (from one element of a\n"
        "window to the next) are {sizes}. ``ceil_mode`` lets windows reach over the end, ``return_indices`` gives\n"
        "(values, indices), as ``MaxUnpool{dims}d`` takes them."
    )
    __constants__ = ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]
    _pool: ClassVar[Callable]

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def forward(self, input: Tensor) -> Any:
        return self._pool(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )


class MaxPool1d(_MaxPoolNd):
    """The largest element of each window of sequences.

    >>> MaxPool1d(2)(torch.tensor([[1.0, 3.0, 2.0, 0.0]]))
    tensor([[3., 2.]])
    """

    _pool = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPoolNd):
    """The largest element of each window of images.

    >>> MaxPool2d(2, return_indices=True)(torch.tensor([[[1.0, 3.0], [2.0, 0.0]]]))
    (tensor([[[3.]]]), tensor([[[1]]]))
    """

    _pool = staticmethod(F.max_pool2d)


class MaxPool3d(_MaxPoolNd):
    """The largest element of each window of volumes.

    >>> torch.nn.MaxPool3d(2, stride=1)(torch.ones(1, 2, 4, 4, 4)).shape
    torch.Size([1, 2, 3, 3, 3])
    """

    _pool = staticmethod(F.max_pool3d)


@settings(shows="kernel_size={kernel_size}, stride={stride}, padding={padding}")
class _MaxUnpoolNd(OfDimensions, Module):
    """The base class of the ways back from maximum pooling; other elements than the largest ones become 0.

    Args:
        kernel_size, stride, padding: those of the pooling.

    ``forward`` takes the maxima, their places, and the ``output_size`` where that can't be known from the others.
    """

    _about = "``kernel_size``, ``stride`` and ``padding`` are those of the pooling: {sizes}."
    _unpool: ClassVar[Callable]

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        spread = _ntuple(self._dims)
        self.kernel_size = spread(kernel_size)
        self.stride = spread(kernel_size if stride is None else stride)
        self.padding = spread(padding)

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        return self._unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool1d(_MaxUnpoolNd):
    """The way back from ``MaxPool1d``.

    >>> pooled = MaxPool1d(2, return_indices=True)(torch.tensor([[1.0, 3.0, 2.0, 0.0]]))
    >>> MaxUnpool1d(2)(*pooled)
    tensor([[0., 3., 2., 0.]])
    """

    _dims, _unpool = 1, staticmethod(F.max_unpool1d)


class MaxUnpool2d(_MaxUnpoolNd):
    """The way back from ``MaxPool2d``."""

    _dims, _unpool = 2, staticmethod(F.max_unpool2d)


class MaxUnpool3d(_MaxUnpoolNd):
    """The way back from ``MaxPool3d``."""

    _dims, _unpool = 3, staticmethod(F.max_unpool3d)


@settings
class _FractionalMaxPoolNd(OfDimensions, Module):
    """The base class of poolings whose windows, of one size, are placed at random, so that any length can be come to.

    Args:
        kernel_size: of the window.
        output_size: the lengths to come to; or
        output_ratio: what part of the lengths they are.
        return_indices: whether the places of the largest elements are given too.

    Raises:
        ValueError: neither or both of the size and the ratio, or a ratio outside (0, 1).
    """

    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]
    _pool: ClassVar[Callable]

    def __init__(
        self, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        spread = _ntuple(self._dims)
        self.kernel_size, self.return_indices = spread(kernel_size), return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else spread(output_size)
        self.output_ratio = None if output_ratio is None else spread(output_ratio)
        if output_size is None and output_ratio is None:
            raise ValueError(
                f"FractionalMaxPool{self._dims}d requires specifying either an output size, or a pooling ratio"
            )
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio[: self._dims]):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        return self._pool(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples
        )


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """The largest elements of windows of images that lie at random places (Graham 2014).

    ``kernel_size`` and ``output_size``, the number of windows, are ints or pairs; ``output_ratio`` says it as a ratio
    to the input's size, a number or a pair. ``return_indices`` gives (values, indices).

    Raises:
        ValueError: both or neither of size and ratio; a ratio outside (0, 1).

    >>> FractionalMaxPool2d(2, output_ratio=0.5)(torch.zeros(1, 8, 6)).shape
    torch.Size([1, 4, 3])
    """

    _dims, _pool = 2, staticmethod(F.fractional_max_pool2d)


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """The largest elements of windows of volumes that lie at random places.

    ``kernel_size`` and ``output_size``, the number of windows, are ints or three of them; ``output_ratio`` says it as a
    ratio to the input's size, a number or three. ``return_indices`` gives (values, indices).

    Raises:
        ValueError: a window of no size, or what ``FractionalMaxPool2d`` refuses.

    >>> torch.nn.FractionalMaxPool3d(2, output_size=2)(torch.zeros(1, 4, 4, 4)).shape
    torch.Size([1, 2, 2, 2])
    """

    _dims, _pool = 3, staticmethod(F.fractional_max_pool3d)

    def __init__(
        self, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:  # fmt: skip
        lengths = (kernel_size,) if isinstance(kernel_size, int) else kernel_size
        if isinstance(lengths, (tuple, list)) and not all(length > 0 for length in lengths):
            raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")
        super().__init__(kernel_size, output_size, output_ratio, return_indices, _random_samples)


# -- means and norms ---------------------------------------------------------------------------------------------------


@settings(shows="kernel_size={kernel_size}, stride={stride}, padding={padding}")
class _AvgPoolNd(Module):
    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"]


class AvgPool1d(_AvgPoolNd):
    """The mean of each window of sequences.

    Args:
        kernel_size: of the window.
        stride: from one window to the next.
        padding: how many zeros are put at both ends.
        ceil_mode: whether windows may reach over the end.
        count_include_pad: whether the zeros that were put there count.

    >>> AvgPool1d(2)(torch.tensor([[1.0, 3.0, 2.0, 0.0]]))
    tensor([[2., 1.]])
    """

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.kernel_size = _single(kernel_size)
        self.stride = _single(kernel_size if stride is None else stride)
        self.padding = _single(padding)
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad
        )


class _DivisorPool(OfDimensions, _AvgPoolNd):
    """The base class of the mean poolings of images and volumes.

    Args:
        kernel_size, stride, padding, ceil_mode, count_include_pad: see ``AvgPool1d``.
        divisor_override: what sums are divided by, if not by the number of elements.
    """

    _about = (
        "``kernel_size``, ``stride`` (by default the same) and ``padding``, of zeros, are {sizes}. ``ceil_mode`` lets\n"
        "windows reach over the end; sums are divided by the number of elements, with padding if\n"
        "``count_include_pad``, or by ``divisor_override``."
    )
    __constants__ = [*_AvgPoolNd.__constants__, "divisor_override"]
    _pool: ClassVar[Callable]

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding, self.ceil_mode, self.count_include_pad = padding, ceil_mode, count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
            self.divisor_override,
        )  # fmt: skip


class AvgPool2d(_DivisorPool):
    """The mean of each window of images.

    >>> AvgPool2d(2)(torch.tensor([[[1.0, 3.0], [2.0, 0.0]]]))
    tensor([[[1.5000]]])
    """

    _dims, _pool = 2, staticmethod(F.avg_pool2d)


class AvgPool3d(_DivisorPool):
    """The mean of each window of volumes.

    >>> torch.nn.AvgPool3d(2, stride=1)(torch.ones(1, 2, 4, 4, 4)).shape
    torch.Size([1, 2, 3, 3, 3])
    """

    _dims, _pool = 3, staticmethod(F.avg_pool3d)


@settings(shows="norm_type={norm_type}, kernel_size={kernel_size}, stride={stride}, ceil_mode={ceil_mode}")
class _LPPoolNd(Explained, Module):
    """The base class of poolings that give ``sum(x ** p) ** (1 / p)`` of each window.

    Args:
        norm_type: p.
        kernel_size: of the window.
        stride: from one window to the next.
        ceil_mode: whether windows may reach over the end.
    """

    _about = (
        "``norm_type`` is the order p of the norm; ``kernel_size`` and ``stride`` (by default the same) are {sizes};\n"
        "``ceil_mode`` lets windows reach over the end."
    )
    norm_type: float
    kernel_size: Any
    stride: Any = None
    ceil_mode: bool = False

    _pool: ClassVar[Callable]

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool1d(_LPPoolNd):
    """A norm of each window of sequences.

    >>> LPPool1d(2, 2)(torch.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """

    _pool = staticmethod(F.lp_pool1d)


class LPPool2d(_LPPoolNd):
    """A norm of each window of images.

    >>> torch.nn.LPPool2d(2, 2, stride=1)(torch.ones(1, 2, 4, 4)).shape
    torch.Size([1, 2, 3, 3])
    """

    _pool = staticmethod(F.lp_pool2d)


class LPPool3d(_LPPoolNd):
    """A norm of each window of volumes.

    >>> torch.nn.LPPool3d(2, 2, stride=1)(torch.ones(1, 2, 4, 4, 4)).shape
    torch.Size([1, 2, 3, 3, 3])
    """

    _pool = staticmethod(F.lp_pool3d)


# -- to a given length -------------------------------------------------------------------------------------------------


@settings(shows="output_size={output_size}")
class _AdaptiveMaxPoolNd(Explained, Module):
    """The base class of maximum poolings that come to given lengths, whatever those of the input are.

    Args:
        output_size: the lengths; in several dimensions None keeps one as it is.
        return_indices: whether the places of the largest elements are given too.
    """

    _about = (
        "``output_size`` says how many windows there are: {sizes}; None for as many as elements. With\n"
        "``return_indices`` the result is (values, indices)."
    )
    output_size: Any
    return_indices: bool = False

    _pool: ClassVar[Callable]

    def forward(self, input: Tensor) -> Any:
        return self._pool(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The largest elements of sequences, in as many windows as are asked for.

    >>> AdaptiveMaxPool1d(2)(torch.tensor([[1.0, 3.0, 2.0, 0.0]]))
    tensor([[3., 2.]])
    """

    _pool = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The largest elements of images, in as many windows as are asked for."""

    _pool = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The largest elements of volumes, in as many windows as are asked for."""

    _pool = staticmethod(F.adaptive_max_pool3d)


@settings(shows="output_size={output_size}")
class _AdaptiveAvgPoolNd(Explained, Module):
    """The base class of mean poolings that come to given lengths.

    Args:
        output_size: the lengths; in several dimensions None keeps one as it is.
    """

    _about = "``output_size`` says how many windows there are: {sizes}; None for as many as elements."
    output_size: Any

    _pool: ClassVar[Callable]

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(input, self.output_size)


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The means of sequences, in as many windows as are asked for.

    >>> AdaptiveAvgPool1d(2)(torch.tensor([[1.0, 3.0, 2.0, 0.0]]))
    tensor([[2., 1.]])
    """

    _pool = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """The means of images, in as many windows as are asked for.

    >>> AdaptiveAvgPool2d((1, None))(torch.ones(2, 4, 3)).shape
    torch.Size([2, 1, 3])
    """

    _pool = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """The means of volumes, in as many windows as are asked for."""

    _pool = staticmethod(F.adaptive_avg_pool3d)
