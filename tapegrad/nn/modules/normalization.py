"""Normalizations over features or groups of channels of each sample, and over neighbouring channels."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

from tapegrad._src.functions.creation import empty
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.nn import functional as F
from tapegrad.nn import init
from tapegrad.nn.modules.module import Module
from tapegrad.nn.modules.settings import settings
from tapegrad.nn.parameter import Parameter

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


class _Affine(Module):
    """The base class of normalizations with a weight and a bias."""

    def _make_parameters(self, shape: Any, wanted: bool, bias: bool, device: Any, dtype: Any) -> None:
        for name, present in (("weight", wanted), ("bias", wanted and bias)):
            self.register_parameter(name, Parameter(empty(shape, device=device, dtype=dtype)) if present else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to ones and the bias to zeros."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class LayerNorm(_Affine):
    """``weight * (x - mean) / sqrt(var + eps) + bias``, with mean and variance over the last dimensions.

    Args:
        normalized_shape: the lengths of these dimensions, or that of the last one.
        eps: what is added to the variance.
        elementwise_affine: whether there are parameters.
        bias: whether there is one, besides the weight.
        device, dtype: those of the parameters.

    Attributes:
        weight, bias: of ``normalized_shape``, ones and zeros at first; None where there are none.

    Shape: (*, *normalized_shape) to the same.

    >>> LayerNorm(2, elementwise_affine=False)(torch.tensor([[1.0, 3.0]]))
    tensor([[-1.0000,  1.0000]])
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(
        self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape = shape_of(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._make_parameters(self.normalized_shape, elementwise_affine, bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, *self._two("_parameters", "weight", "bias"), self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class GroupNorm(_Affine):
    """``weight * (x - mean) / sqrt(var + eps) + bias``, with mean and variance over groups of channels.

    Args:
        num_groups: how many groups.
        num_channels: C, how many channels; a multiple of the groups.
        eps: what is added to the variance.
        affine: whether there are parameters.
        device, dtype: those of the parameters.
        bias: whether there is one, besides the weight.

    Attributes:
        weight, bias: (C,), ones and zeros at first; None where there are none.

    Shape: (N, C, *) to the same.

    Raises:
        ValueError: channels that can't be shared out among the groups.

    >>> GroupNorm(1, 2, affine=False)(torch.tensor([[[1.0], [3.0]]])).flatten()
    tensor([-1.0000,  1.0000])
    """

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device: Any = None,
        dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self._make_parameters(num_channels, affine, bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, *self._two("_parameters", "weight", "bias"), self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """``weight * x / sqrt(mean(x * x) + eps)``, with the mean over the last dimensions.

    Args:
        normalized_shape: the lengths of these dimensions, or that of the last one.
        eps: what is added to the mean; the dtype's precision if None.
        elementwise_affine: whether there is a weight.
        device, dtype: those of the weight.

    Attributes:
        weight: of ``normalized_shape``, ones at first; or None.

    Shape: (*, *normalized_shape) to the same.

    >>> RMSNorm(2, elementwise_affine=False)(torch.tensor([[3.0, -3.0]]))
    tensor([[ 1., -1.]])
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(
        self, normalized_shape: Any, eps: float | None = None, elementwise_affine: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape = shape_of(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        weight = Parameter(empty(self.normalized_shape, device=device, dtype=dtype)) if elementwise_affine else None
        self.register_parameter("weight", weight)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to ones."""
        if self.elementwise_affine:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


def shape_of(lengths: Any) -> tuple[int, ...]:
    """Lengths as a tuple; one is that of the last dimension."""
    return (lengths,) if isinstance(lengths, Integral) else tuple(lengths)  # type: ignore[return-value]


# -- over neighbouring channels ----------------------------------------------------------------------------------------


@settings(shows="{size}, alpha={alpha}, beta={beta}, k={k}")
class LocalResponseNorm(Module):
    """``x / (k + alpha * mean) ** beta``, with the mean of the squares of ``size`` neighbouring channels.

    Shape: (N, C, *) to the same.

    >>> LocalResponseNorm(1, alpha=1.0, beta=0.5, k=0.0)(torch.tensor([[[2.0]]]))
    tensor([[[1.]]])
    """

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1.0

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)


@settings(shows="{size}, alpha={alpha}, beta={beta}, k={k}")
class CrossMapLRN2d(Module):
    """``LocalResponseNorm`` of images, with ``(size - 1) // 2`` neighbours on either side.

    Shape: (N, C, H, W) to the same.

    Raises:
        ValueError: another number of dimensions.

    >>> CrossMapLRN2d(1, alpha=1.0, beta=0.5, k=0.0)(torch.full((1, 1, 1, 1), 2.0))
    tensor([[[[1.]]]])
    """

    __constants__: ClassVar[list[str]] = []
    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1

    def forward(self, input: Any) -> Tensor:
        """The input (batch, channels, height, width), each number divided by those of the channels around.

        Raises:
            ValueError: another number of dimensions.
        """
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        channels, reach = input.size(1), int((self.size - 1) / 2)
        squares = F.pad(input.square(), (0, 0, 0, 0, reach, reach))
        total: Any = sum(squares.narrow(1, first, channels) for first in range(2 * reach + 1))
        return input * (total * (self.alpha / self.size) + self.k).pow(-self.beta)
