"""Dimensions made one, and one made several."""

from __future__ import annotations

from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.nn.modules.module import Module
from tapegrad.nn.modules.settings import settings

__all__ = ["Flatten", "Unflatten"]


@settings(shows="start_dim={start_dim}, end_dim={end_dim}")
class Flatten(Module):
    """Makes one dimension of those from ``start_dim`` to ``end_dim``.

    Shape: (N, *) to (N, product of the others), with the defaults.

    >>> Flatten()(torch.zeros(2, 3, 4)).shape
    torch.Size([2, 12])
    """

    start_dim: int = 1
    end_dim: int = -1

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)


@settings(shows="dim={dim}, unflattened_size={unflattened_size}")
class Unflatten(Module):
    """Makes several dimensions of one.

    Args:
        dim: the dimension.
        unflattened_size: the lengths, a tuple or a list, of which one may be -1.

    Shape: (*, length at dim, *) to (*, *unflattened_size, *).

    Raises:
        TypeError: lengths that aren't integers in a tuple or a list.

    >>> Unflatten(1, (3, -1))(torch.zeros(2, 12)).shape
    torch.Size([2, 3, 4])
    """

    __constants__ = ["dim", "unflattened_size"]

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(
                f"unflattened_size must be a tuple of ints, but found type {type(unflattened_size).__name__}"
            )
        for position, length in enumerate(unflattened_size):
            if not isinstance(length, int):
                raise TypeError(
                    "unflattened_size must be tuple of ints, but found element of type "
                    f"{type(length).__name__} at pos {position}"
                )
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)
