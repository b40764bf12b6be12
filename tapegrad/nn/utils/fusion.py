"""Batch norms in evaluation are linear: the layer before can do what they do."""

from __future__ import annotations

import copy
from typing import Any

from tapegrad._src.functions.creation import ones_like, zeros_like
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.nn.parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A convolution that does what one and the batch norm after it do.

    Args:
        conv: the convolution, in evaluation mode.
        bn: the batch norm, in evaluation mode.
        transpose: whether the convolution is a transposed one.

    Raises:
        AssertionError: one of them is in training mode, or there are no running statistics.
    """
    fused = checked_copy(conv, bn)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def checked_copy(layer: Any, bn: Any) -> Any:
    """A copy of a layer, if it and the batch norm can be fused."""
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    copied = copy.deepcopy(layer)
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    return copied


def fuse_conv_bn_weights(
    conv_w: Tensor, conv_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor | None,
    bn_b: Tensor | None, transpose: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """The weight and the bias of a convolution that does what one and the batch norm after it do.

    Args:
        conv_w: the weight of the convolution.
        conv_b: its bias, or None.
        bn_rm: the running mean.
        bn_rv: the running variance.
        bn_eps: what is added to it.
        bn_w: the weight of the batch norm, or None.
        bn_b: its bias, or None.
        transpose: whether the convolution is a transposed one, whose outputs are the weight's second dimension.

    >>> weight, mean, var = torch.ones(1, 1, 1, 1), torch.tensor([3.0]), torch.tensor([4.0])
    >>> torch.nn.utils.fuse_conv_bn_weights(weight, None, mean, var, 0.0, None, None)[1]
    Parameter containing:
    tensor([-1.5000])
    """
    bias: Any = zeros_like(bn_rm) if conv_b is None else conv_b
    bn_w = ones_like(bn_rm) if bn_w is None else bn_w
    bn_b = zeros_like(bn_rm) if bn_b is None else bn_b
    scale = (bn_rv + bn_eps).rsqrt()
    shape = [1, -1] if transpose else [-1, 1]
    weight = (conv_w * (bn_w * scale).reshape(shape + [1] * (conv_w.ndim - 2))).to(dtype=conv_w.dtype)
    shifted = ((bias - bn_rm) * scale * bn_w + bn_b).to(dtype=conv_w.dtype if conv_b is None else bias.dtype)
    return Parameter(weight, conv_w.requires_grad), Parameter(shifted, bias.requires_grad)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A linear layer that does what one and the batch norm after it do.

    Args:
        linear: the layer, in evaluation mode.
        bn: the batch norm, in evaluation mode, of as many features as the layer has outputs, or of one.

    Raises:
        AssertionError: one of them is in training mode, there are no running statistics, or the features differ.
    """
    fused = checked_copy(linear, bn)
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor, bn_b: Tensor
) -> tuple[Any, Any]:
    """The weight and the bias of a linear layer that does what one and the batch norm after it do.

    Args:
        linear_w: the weight of the layer.
        linear_b: its bias, or None.
        bn_rm: the running mean.
        bn_rv: the running variance.
        bn_eps: what is added to it.
        bn_w: the weight of the batch norm.
        bn_b: its bias.

    >>> weight, mean, var, one = torch.ones(1, 1), torch.tensor([3.0]), torch.tensor([4.0]), torch.ones(1)
    >>> torch.nn.utils.fuse_linear_bn_weights(weight, None, mean, var, 0.0, one, one)[0]
    Parameter containing:
    tensor([[0.5000]])
    """
    bias: Any = zeros_like(bn_rm) if linear_b is None else linear_b
    scale = bn_w * (bn_rv + bn_eps).rsqrt()
    weight = linear_w * scale.unsqueeze(-1).to(dtype=linear_w.dtype)
    shifted = ((bias - bn_rm) * scale + bn_b).to(dtype=linear_w.dtype if linear_b is None else bias.dtype)
    return Parameter(weight, linear_w.requires_grad), Parameter(shifted, bias.requires_grad)
