"""Channels as pixels, and pixels as channels."""

from __future__ import annotations

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.nn import functional as F
from tapegrad.nn.modules.module import Module
from tapegrad.nn.modules.settings import settings

__all__ = ["PixelShuffle", "PixelUnshuffle"]


@settings(shows="upscale_factor={upscale_factor}")
class PixelShuffle(Module):
    """Makes an image r times as high and as wide out of r * r channels.

    Shape: (*, C * r * r, H, W) to (*, C, H * r, W * r), where r is ``upscale_factor``.

    >>> PixelShuffle(2)(torch.arange(4.0).reshape(4, 1, 1))
    tensor([[[0., 1.],
             [2., 3.]]])
    """

    upscale_factor: int

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)


@settings(shows="downscale_factor={downscale_factor}")
class PixelUnshuffle(Module):
    """The way back from ``PixelShuffle``.

    Shape: (*, C, H * r, W * r) to (*, C * r * r, H, W), where r is ``downscale_factor``.

    >>> PixelUnshuffle(2)(torch.arange(4.0).reshape(1, 2, 2)).flatten()
    tensor([0., 1., 2., 3.])
    """

    downscale_factor: int

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)
