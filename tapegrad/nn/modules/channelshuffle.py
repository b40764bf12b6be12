"""Channels in another order."""

from __future__ import annotations

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.nn import functional as F
from tapegrad.nn.modules.module import Module
from tapegrad.nn.modules.settings import settings

__all__ = ["ChannelShuffle"]


@settings(shows="groups={groups}")
class ChannelShuffle(Module):
    """Takes the first channel of each group, then the second of each, and so on.

    Shape: (N, C, *) to the same; C is a multiple of ``groups``.

    >>> ChannelShuffle(2)(torch.arange(4.0).reshape(1, 4, 1, 1)).flatten()
    tensor([0., 2., 1., 3.])
    """

    groups: int

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)
