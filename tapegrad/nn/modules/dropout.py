"""Dropout: in training, elements or channels are set to 0 at random, and the others scaled to make up for them.

In evaluation the input is given back as it is. Shapes stay what they are.
"""

from __future__ import annotations

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.nn import functional as F
from tapegrad.nn.modules.module import Module
from tapegrad.nn.modules.settings import settings
from tapegrad.nn.modules.utils import Explained

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


@settings(shows="p={p}, inplace={inplace}")
class _DropoutNd(Explained, Module):
    """The base class of the dropout layers.

    Args:
        p: with which probability something is set to 0.
        inplace: whether the input is overwritten.

    Raises:
        ValueError: a probability outside of [0, 1].
    """

    _about = "``p`` is the probability, in training; ``inplace`` writes the result to the input."
    __constants__ = ["p", "inplace"]

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace


class Dropout(_DropoutNd):
    """Sets single elements to 0, with probability ``p``; the others are divided by ``1 - p``.

    Shape: any to the same.

    >>> sorted(set(Dropout(0.5)(torch.ones(100)).tolist()))
    [0.0, 2.0]
    >>> Dropout(0.5).eval()(torch.ones(2))
    tensor([1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Sets whole channels of sequences to 0.

    Shape: (N, C, L) or (C, L) to the same.
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Sets whole channels of images to 0.

    Shape: (N, C, H, W) or (N, C, L) to the same.
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Sets whole channels of volumes to 0.

    Shape: (N, C, D, H, W) or (C, D, H, W) to the same.
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout for networks of ``SELU``: elements are set to its floor, so that mean 0 and variance 1 are kept.

    Shape: any to the same.
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """``AlphaDropout`` of whole channels.

    Shape: (N, C, *) to the same.
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
