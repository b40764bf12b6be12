"""Windows of images as columns of a matrix, and back."""

from __future__ import annotations

from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.nn import functional as F
from tapegrad.nn.modules.module import Module
from tapegrad.nn.modules.settings import settings

__all__ = ["Fold", "Unfold"]


@settings(shows="kernel_size={kernel_size}, dilation={dilation}, padding={padding}, stride={stride}")
class Unfold(Module):
    """Writes each window of an image into a column. Sizes are one number or one for each dimension.

    ``kernel_size`` is the size of windows, ``stride`` the distance from one to the next, ``dilation`` that of a
    window's elements, ``padding`` the number of zeros around the image: ints, or pairs (height, width).

    Shape: (N, C, H, W) to (N, C * kernel height * kernel width, L) with L windows; or without N.

    >>> Unfold(2)(torch.arange(9.0).reshape(1, 1, 3, 3))[0, :, 0]
    tensor([0., 1., 3., 4.])
    """

    kernel_size: Any
    dilation: Any = 1
    padding: Any = 0
    stride: Any = 1

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


@settings(
    shows="output_size={output_size}, kernel_size={kernel_size}, dilation={dilation}, padding={padding}, "
    "stride={stride}"
)
class Fold(Module):
    """Writes columns back as windows of an image of the size ``output_size``; where windows overlap they are added.

    ``kernel_size`` is the size of windows, ``stride`` the distance from one to the next, ``dilation`` that of a
    window's elements, ``padding`` the number of zeros around the image: ints, or pairs (height, width).

    Shape: (N, C * kernel height * kernel width, L) to (N, C, *output_size); or without N.

    >>> Fold((2, 3), 2)(torch.ones(1, 4, 2))[0, 0, 0]
    tensor([1., 2., 1.])
    """

    output_size: Any
    kernel_size: Any
    dilation: Any = 1
    padding: Any = 0
    stride: Any = 1

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)
