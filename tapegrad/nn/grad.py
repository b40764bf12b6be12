"""``torch.nn.grad``: gradients of convolutions by themselves, for who knows what came in and what gradient came back.

Sizes are one number, or one for each dimension. Shapes are those of ``conv1d``, ``conv2d`` and ``conv3d``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapegrad._src.functions.creation import zeros
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.differentiate import grad
from tapegrad.autograd.grad_mode import enable_grad, is_grad_enabled
from tapegrad.nn import functional as F

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]


def _of_input(convolve: Callable, name: str) -> Callable:
    def of_input(
        input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1,
    ) -> Tensor:  # fmt: skip
        input = zeros(input_size, dtype=grad_output.dtype, device=grad_output.device, requires_grad=True)
        return _gradient(convolve, weight, (input, weight), input, grad_output, (stride, padding, dilation, groups))

    return _named(of_input, name, f"The gradient of ``{name.partition('_')[0]}`` for an input of this shape.")


def _of_weight(convolve: Callable, name: str) -> Callable:
    def of_weight(
        input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1,
    ) -> Tensor:  # fmt: skip
        weight = zeros(weight_size, dtype=grad_output.dtype, device=grad_output.device, requires_grad=True)
        return _gradient(convolve, input, (input, weight), weight, grad_output, (stride, padding, dilation, groups))

    return _named(of_weight, name, f"The gradient of ``{name.partition('_')[0]}`` for a weight of this shape.")


def _gradient(
    convolve: Callable, other: Tensor, given: tuple, wanted: Tensor, grad_output: Tensor, settings: tuple
) -> Any:
    recorded = is_grad_enabled() and (other.requires_grad or grad_output.requires_grad)
    with enable_grad():
        output = convolve(*given, None, *settings)
    (found,) = grad(output, wanted, grad_output, create_graph=recorded, materialize_grads=True)
    return found


def _named(function: Callable, name: str, text: str) -> Callable:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


conv1d_input, conv1d_weight = _of_input(F.conv1d, "conv1d_input"), _of_weight(F.conv1d, "conv1d_weight")
conv2d_input, conv2d_weight = _of_input(F.conv2d, "conv2d_input"), _of_weight(F.conv2d, "conv2d_weight")
conv3d_input, conv3d_weight = _of_input(F.conv3d, "conv3d_input"), _of_weight(F.conv3d, "conv3d_weight")
