"""Distances between vectors that are paired."""

from __future__ import annotations

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.nn import functional as F
from tapegrad.nn.modules.module import Module
from tapegrad.nn.modules.settings import settings

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class PairwiseDistance(Module):
    """The p-norm of ``x1 - x2 + eps``, over the last dimension.

    Args:
        p: which norm.
        eps: what keeps gradients finite where vectors are equal.
        keepdim: whether the last dimension stays, with length 1.

    Shape: (N, D) or (D,), twice, to (N,) or (), or to (N, 1) or (1,) with ``keepdim``.

    >>> PairwiseDistance()(torch.zeros(1, 2), torch.tensor([[3.0, 4.0]]))
    tensor([5.0000])
    """

    __constants__ = ["norm", "eps", "keepdim"]

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


@settings
class CosineSimilarity(Module):
    """The cosine of the angle between ``x1`` and ``x2``, as vectors of the dimension ``dim``.

    Args:
        dim: the dimension.
        eps: the least length that a vector is taken to have.

    Shape: (*, D, *), twice, to (*, *).

    >>> CosineSimilarity(dim=0)(torch.tensor([1.0, 1.0]), torch.tensor([3.0, 0.0]))
    tensor(0.7071)
    """

    dim: int = 1
    eps: float = 1e-8

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
