"""Activations: functions of each element, and those that turn a dimension into probabilities.

Shapes: any, and the same, unless a class says otherwise. With ``inplace`` the input is overwritten.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad._src.bindings.declaration.registry import NAMESPACES
from tapegrad._src.declaring import on_demand
from tapegrad._src.functions.creation import empty
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.nn import functional as F
from tapegrad.nn.init import constant_
from tapegrad.nn.modules.module import Module
from tapegrad.nn.modules.settings import settings
from tapegrad.nn.parameter import Parameter

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "SELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU",
    "LogSigmoid", "LogSoftmax", "Mish", "PReLU", "RReLU", "ReLU", "ReLU6", "SiLU", "Sigmoid", "Softmax", "Softmax2d",
    "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold",
]  # fmt: skip


__getattr__, _ = on_demand(__name__, {"tapegrad.nn.modules.attention": "MultiheadAttention"})  # where PyTorch has it

_sigmoid: Callable = NAMESPACES["torch"]["sigmoid"]
_tanh: Callable = NAMESPACES["torch"]["tanh"]

# -- rectifiers --------------------------------------------------------------------------------------------------------


@settings(shows="")
class ReLU(Module):
    """``max(x, 0)``.

    >>> ReLU()(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)


@settings(shows="threshold={threshold}, value={value}")
class Threshold(Module):
    """``x`` where it is above ``threshold``, ``value`` elsewhere.

    >>> Threshold(0.5, 9)(torch.tensor([0.0, 0.5, 1.0]))
    tensor([9., 9., 1.])
    """

    threshold: float
    value: float
    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)


@settings(shows="negative_slope={negative_slope}")
class LeakyReLU(Module):
    """``x`` where it is positive, ``negative_slope * x`` elsewhere.

    >>> LeakyReLU(0.1)(torch.tensor([-1.0, 2.0]))
    tensor([-0.1000,  2.0000])
    """

    __constants__ = ["inplace", "negative_slope"]
    negative_slope: float = 0.01
    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)


@settings(shows="lower={lower}, upper={upper}")
class RReLU(Module):
    """A leaky ReLU with slopes drawn from [lower, upper] in training, and their mean otherwise.

    >>> RReLU(0.1, 0.3).eval()(torch.tensor([-1.0, 2.0]))
    tensor([-0.2000,  2.0000])
    """

    lower: float = 1.0 / 8
    upper: float = 1.0 / 3
    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


@settings(shows="num_parameters={num_parameters}")
class PReLU(Module):
    """A leaky ReLU whose slope is learnt: one for all, or one for each channel, the input's second dimension.

    Args:
        num_parameters: 1, or the number of channels.
        init: the slope at first.
        device, dtype: those of the parameter ``weight``, which has ``num_parameters`` elements.

    >>> PReLU()(torch.tensor([-1.0, 2.0]))
    tensor([-0.2500,  2.0000], grad_fn=<PreluKernelBackward0>)
    """

    __constants__ = ["num_parameters"]

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the slopes to what they were at first."""
        constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)


@settings(shows="min_val={min_val}, max_val={max_val}")
class Hardtanh(Module):
    """``x``, but no less than ``min_val`` and no more than ``max_val``.

    Args:
        min_val, max_val: the bounds.
        inplace: whether the input is overwritten.
        min_value, max_value: their old names, which warn.

    Raises:
        AssertionError: the upper bound isn't above the lower one.

    >>> Hardtanh(-2, 2)(torch.tensor([-3.0, 1.0, 3.0]))
    tensor([-2.,  1.,  2.])
    """

    __constants__ = ["min_val", "max_val", "inplace"]

    def __init__(
        self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False, min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        for old, value in (("min_value", min_value), ("max_value", max_value)):
            if value is not None:
                renamed = f"keyword argument `{old}` is deprecated and renamed to `{old[:-2]}`"
                warn(renamed, FutureWarning)
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


@settings(shows="")
class ReLU6(Hardtanh):
    """``min(max(x, 0), 6)``.

    >>> ReLU6()(torch.tensor([-1.0, 2.0, 9.0]))
    tensor([0., 2., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)


# -- smooth relatives --------------------------------------------------------------------------------------------------


@settings(shows="alpha={alpha}")
class ELU(Module):
    """``x`` where it is positive, ``alpha * (exp(x) - 1)`` elsewhere.

    >>> ELU()(torch.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """

    alpha: float = 1.0
    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)


@settings(shows="alpha={alpha}")
class CELU(Module):
    """``x`` where it is positive, ``alpha * (exp(x / alpha) - 1)`` elsewhere: an ELU whose slope has no jump.

    >>> CELU(2.0)(torch.tensor([-1.0, 2.0]))
    tensor([-0.7869,  2.0000])
    """

    alpha: float = 1.0
    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)


@settings(shows="")
class SELU(Module):
    """An ELU, scaled such that mean 0 and variance 1 stay what they are from layer to layer.

    >>> SELU()(torch.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """

    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


@settings(shows="approximate={approximate!r}")
class GELU(Module):
    """``x`` times the chance that a standard normal number is below ``x``.

    Args:
        approximate: ``"none"``, or ``"tanh"`` for an approximation.

    >>> GELU()(torch.tensor([-1.0, 2.0]))
    tensor([-0.1587,  1.9545])
    """

    approximate: str = "none"

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)


@settings(shows="")
class SiLU(Module):
    """``x * sigmoid(x)``.

    >>> SiLU()(torch.tensor([-1.0, 2.0]))
    tensor([-0.2689,  1.7616])
    """

    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)


@settings(shows="")
class Mish(Module):
    """``x * tanh(softplus(x))``.

    >>> Mish()(torch.tensor([-1.0, 2.0]))
    tensor([-0.3034,  1.9440])
    """

    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)


@settings
class Hardswish(Module):
    """``x * relu6(x + 3) / 6``.

    >>> Hardswish()(torch.tensor([-1.0, 3.0]))
    tensor([-0.3333,  3.0000])
    """

    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)


@settings(shows="beta={beta}, threshold={threshold}")
class Softplus(Module):
    """``log(1 + exp(beta * x)) / beta``; ``x`` itself where ``beta * x`` is above ``threshold``.

    >>> Softplus()(torch.tensor([0.0, 30.0]))
    tensor([ 0.6931, 30.0000])
    """

    beta: float = 1.0
    threshold: float = 20.0

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)


# -- sigmoids and shrinkages -------------------------------------------------------------------------------------------


class Sigmoid(Module):
    """``1 / (1 + exp(-x))``.

    >>> Sigmoid()(torch.tensor([0.0, 2.0]))
    tensor([0.5000, 0.8808])
    """

    def forward(self, input: Tensor) -> Tensor:
        return _sigmoid(input)


class LogSigmoid(Module):
    """``log(sigmoid(x))``.

    >>> LogSigmoid()(torch.tensor([0.0, 2.0]))
    tensor([-0.6931, -0.1269])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


@settings
class Hardsigmoid(Module):
    """``relu6(x + 3) / 6``.

    >>> Hardsigmoid()(torch.tensor([0.0, 3.0]))
    tensor([0.5000, 1.0000])
    """

    inplace: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)


class Tanh(Module):
    """``tanh(x)``.

    >>> Tanh()(torch.tensor([0.0, 2.0]))
    tensor([0.0000, 0.9640])
    """

    def forward(self, input: Tensor) -> Tensor:
        return _tanh(input)


class Tanhshrink(Module):
    """``x - tanh(x)``.

    >>> Tanhshrink()(torch.tensor([0.0, 2.0]))
    tensor([0.0000, 1.0360])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class Softsign(Module):
    """``x / (1 + abs(x))``.

    >>> Softsign()(torch.tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


@settings(shows="{lambd}")
class Softshrink(Module):
    """``x`` brought nearer to 0 by ``lambd``, and 0 where it would pass it.

    >>> Softshrink()(torch.tensor([-1.0, 0.2]))
    tensor([-0.5000,  0.0000])
    """

    lambd: float = 0.5

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)


@settings(shows="{lambd}")
class Hardshrink(Module):
    """``x`` where it is further from 0 than ``lambd``, 0 elsewhere.

    >>> Hardshrink()(torch.tensor([-1.0, 0.2]))
    tensor([-1.,  0.])
    """

    lambd: float = 0.5

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)


# -- over a dimension --------------------------------------------------------------------------------------------------


@settings(shows="dim={dim}")
class GLU(Module):
    """``a * sigmoid(b)``, where ``a`` and ``b`` are the halves of a dimension.

    Shape: (*, 2 N, *) to (*, N, *), at ``dim``.

    >>> GLU()(torch.tensor([4.0, 0.0]))
    tensor([2.])
    """

    dim: int = -1

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)


@settings(shows="dim={dim}")
class Softmax(Module):
    """``exp(x)`` divided by its sum over a dimension: numbers from 0 to 1 that add up to 1.

    Args:
        dim: the dimension; PyTorch guesses one, and warns, if it is None.

    >>> Softmax(dim=0)(torch.tensor([0.0, 0.0, 1.0]))
    tensor([0.2119, 0.2119, 0.5761])
    """

    dim: int | None = None

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim, 5)


@settings(shows="dim={dim}")
class Softmin(Module):
    """``Softmax`` of ``-x``.

    >>> Softmin(dim=0)(torch.tensor([0.0, 0.0, -1.0]))
    tensor([0.2119, 0.2119, 0.5761])
    """

    dim: int | None = None

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim, 5)


@settings(shows="dim={dim}")
class LogSoftmax(Module):
    """The logarithm of ``Softmax``.

    >>> LogSoftmax(dim=0)(torch.tensor([0.0, 0.0]))
    tensor([-0.6931, -0.6931])
    """

    dim: int | None = None

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim, 5)


class Softmax2d(Module):
    """``Softmax`` over the channels of images.

    Shape: (N, C, H, W) or (C, H, W) to the same.

    Raises:
        ValueError: another number of dimensions.

    >>> Softmax2d()(torch.zeros(2, 1, 1)).flatten()
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The softmax over channels, of (batch, channels, height, width) or without a batch.

        Raises:
            ValueError: another number of dimensions.
        """
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, 5)
