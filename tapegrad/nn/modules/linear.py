"""Linear layers, and the one that does nothing."""

from __future__ import annotations

import math
from typing import Any

from tapegrad._src.functions.creation import empty
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.grad_mode import no_grad
from tapegrad.nn import functional as F
from tapegrad.nn import init
from tapegrad.nn.modules.lazy import LazyModuleMixin
from tapegrad.nn.modules.module import Module
from tapegrad.nn.parameter import Parameter, UninitializedParameter

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear"]


class Identity(Module):
    """Gives its input back; what it is made with makes no difference.

    >>> Identity(54, unused=True)(torch.ones(1))
    tensor([1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """``x @ weight.T + bias``.

    Args:
        in_features, out_features: how many numbers come in and go out.
        bias: whether there is one.
        device, dtype: those of the parameters.

    Attributes:
        weight: (out_features, in_features); at first uniform within ``1 / sqrt(in_features)`` of 0.
        bias: (out_features,), at first like the weight; or None.

    Shape: (*, in_features) to (*, out_features).

    >>> layer = Linear(3, 2)
    >>> layer, layer(torch.ones(4, 3)).shape
    (Linear(in_features=3, out_features=2, bias=True), torch.Size([4, 2]))
    """

    __constants__ = ["in_features", "out_features"]

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(empty((out_features, in_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters as at first."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, *self._two("_parameters", "weight", "bias"))

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """``Linear`` by another name, as the output of attention is in PyTorch."""


class Bilinear(Module):
    """``x1 @ weight[k] @ x2 + bias[k]`` for each output ``k``.

    Args:
        in1_features, in2_features, out_features: how many numbers come in and go out.
        bias: whether there is one.
        device, dtype: those of the parameters.

    Attributes:
        weight: (out_features, in1_features, in2_features); at first uniform within ``1 / sqrt(in1_features)`` of 0.
        bias: (out_features,), at first like the weight; or None.

    Shape: (*, in1_features) and (*, in2_features) to (*, out_features).

    Raises:
        ValueError: no first input.

    >>> Bilinear(3, 4, 2)(torch.ones(5, 3), torch.ones(5, 4)).shape
    torch.Size([5, 2])
    """

    __constants__ = ["in1_features", "in2_features", "out_features"]

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = Parameter(empty((out_features, in1_features, in2_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters as at first.

        Raises:
            ValueError: there are no features on the left.
        """
        if self.in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={self.in1_features})")
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """``input1`` (..., in1_features) and ``input2`` (..., in2_features), of which ``(..., out_features)`` is
        made."""
        return F.bilinear(input1, input2, *self._two("_parameters", "weight", "bias"))

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class LazyLinear(LazyModuleMixin, Linear):
    """A ``Linear`` that learns ``in_features`` from its first input.

    Args:
        out_features: how many numbers go out.
        bias: whether there is one.
        device, dtype: those of the parameters.

    >>> torch.nn.LazyLinear(3)(torch.ones(2, 5)).shape
    torch.Size([2, 3])
    """

    cls_to_become = Linear

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw the parameters as at first, if their shapes are known."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Read ``in_features`` off an input, and draw the parameters.

        Raises:
            AssertionError: the input does not have as many features as the weight that was loaded.
        """
        if self.has_uninitialized_params():
            with no_grad():
                self.in_features = input.shape[-1]
                self.weight.materialize((self.out_features, self.in_features))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        if self.in_features == 0:  # a state was loaded
            if input.shape[-1] != self.weight.shape[-1]:
                raise AssertionError(
                    f"The in_features inferred from input: {input.shape[-1]} is not equal to in_features from "
                    f"self.weight: {self.weight.shape[-1]}"
                )
            self.in_features = input.shape[-1]
