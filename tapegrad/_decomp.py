"""``torch._decomp``: operators in terms of others, for graphs (``make_fx(decomposition_table=...)``).

PyTorch has these for some 800 operators, here are those that programs ask for most. Programs register their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tapegrad._src.bindings.declaration.registry import NAMESPACES
from tapegrad.ops.overloads import OpOverload, OpOverloadPacket, aten

__all__ = ["core_aten_decompositions", "decomposition_table", "get_decompositions", "register_decomposition"]

FUNCTIONS = NAMESPACES["torch"]

decomposition_table: dict[OpOverload, Callable] = {}
"""The decompositions, by operator."""


def _overloads(op: Any) -> list[OpOverload]:
    """The overloads that an operator, or each of several, has."""
    if isinstance(op, OpOverload):
        return [op]
    if isinstance(op, OpOverloadPacket):
        return [getattr(op, name) for name in op.overloads()]
    return [one for each in op for one in _overloads(each)]


def register_decomposition(
    aten_op: Any, registry: dict[OpOverload, Callable] | None = None, *, type: str = "post_autograd",
    unsafe: bool = False,
) -> Callable[[Callable], Callable]:  # fmt: skip
    """A decorator for a function that computes an operator by others.

    Args:
        aten_op: the operator, one of its overloads, or several.
        registry: where to put it; ``decomposition_table`` if it is left out.
        type: ``"post_autograd"``, ``"pre_autograd"`` or ``"meta"``; they are kept in one table.
        unsafe: accepted.

    Raises:
        AssertionError: there is no such type, or the operator has a decomposition there.

    >>> table = {}
    >>> @register_decomposition(torch.ops.aten.square.default, table)
    ... def square(x):
    ...     return x * x
    >>> list(table)
    [<OpOverload(op='aten.square', overload='default')>]
    """
    if type not in ("post_autograd", "pre_autograd", "meta"):
        raise AssertionError(f"Unknown type: {type}")
    table = decomposition_table if registry is None else registry

    def register(function: Callable) -> Callable:
        for op in _overloads(aten_op):
            if op in table:
                raise AssertionError(f"duplicate registrations for {op}")
            table[op] = function
        return function

    return register


def get_decompositions(aten_ops: Sequence[Any], type: str = "post_autograd") -> dict[OpOverload, Callable]:
    """The decompositions of operators, by overload; those that have none are left out.

    Args:
        aten_ops: operators or overloads.
        type: accepted.

    >>> list(get_decompositions([torch.ops.aten.silu, torch.ops.aten.sin]))
    [<OpOverload(op='aten.silu', overload='default')>]
    """
    found = [one for op in aten_ops for one in _overloads(op)]
    return {one: decomposition_table[one] for one in found if one in decomposition_table}


def core_aten_decompositions() -> dict[OpOverload, Callable]:
    """All decompositions that are here.

    >>> torch.ops.aten.addmm.default in core_aten_decompositions()
    True
    """
    return dict(decomposition_table)


# -- the decompositions ------------------------------------------------------------------------------------------------


@register_decomposition(aten.addmm.default)
def _addmm(self: Any, mat1: Any, mat2: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    product = mat1.mm(mat2) * alpha
    return product if beta == 0 else product + self * beta


@register_decomposition(aten.silu.default)
def _silu(self: Any) -> Any:
    return self * self.sigmoid()


@register_decomposition(aten.gelu.default)
def _gelu(self: Any, approximate: str = "none") -> Any:
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (self + 0.044715 * (self * self * self))
        return 0.5 * self * (1 + inner.tanh())
    return self * 0.5 * ((self * math.sqrt(0.5)).erf() + 1)


@register_decomposition(aten.mse_loss.default)
def _mse_loss(self: Any, target: Any, reduction: int = 1) -> Any:
    return _reduced((self - target).pow(2), reduction)


def _reduced(loss: Any, reduction: int) -> Any:
    return loss if reduction == 0 else loss.mean() if reduction == 1 else loss.sum()


@register_decomposition(aten._softmax.default)
def _softmax(x: Any, dim: int, half_to_float: bool) -> Any:
    powers = (x - x.amax(dim, True)).exp()
    return powers / powers.sum(dim, True)


@register_decomposition(aten._log_softmax.default)
def _log_softmax(x: Any, dim: int, half_to_float: bool) -> Any:
    shifted = x - x.amax(dim, True)
    return shifted - shifted.exp().sum(dim, True).log()


@register_decomposition(aten._softmax_backward_data.default)
def _softmax_backward(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    weighed = grad_output * output
    return weighed - output * weighed.sum(dim, True)


@register_decomposition(aten._log_softmax_backward_data.default)
def _log_softmax_backward(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    return grad_output - output.exp() * grad_output.sum(dim, True)


@register_decomposition(aten.native_layer_norm.default)
def _native_layer_norm(input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    axes = list(range(input.ndim - len(normalized_shape), input.ndim))
    variance, mean = FUNCTIONS["var_mean"](input, axes, correction=0, keepdim=True)
    scale = (variance + eps).rsqrt()
    out = (input - mean) * scale
    out = out if weight is None else out * weight
    return out if bias is None else out + bias, mean, scale


@register_decomposition(aten.t.default)
def _t(self: Any) -> Any:
    return self.transpose(0, 1) if self.ndim == 2 else self


@register_decomposition(aten.addcmul.default)
def _addcmul(self: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    return self + value * tensor1 * tensor2


@register_decomposition(aten.addcdiv.default)
def _addcdiv(self: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    return self + value * tensor1 / tensor2


@register_decomposition(aten.tanh_backward.default)
def _tanh_backward(grad_output: Any, output: Any) -> Any:
    return grad_output * (1 - output * output)


@register_decomposition(aten.sigmoid_backward.default)
def _sigmoid_backward(grad_output: Any, output: Any) -> Any:
    return grad_output * (output * (1 - output))


@register_decomposition(aten.threshold_backward.default)
def _threshold_backward(grad_output: Any, self: Any, threshold: Any) -> Any:
    return FUNCTIONS["where"](self <= threshold, 0, grad_output)


@register_decomposition(aten.leaky_relu.default)
def _leaky_relu(self: Any, negative_slope: Any = 0.01) -> Any:
    return self.where(self > 0, self * negative_slope)


@register_decomposition(aten.hardtanh.default)
def _hardtanh(self: Any, min_val: Any = -1, max_val: Any = 1) -> Any:
    return self.clamp(min_val, max_val)


@register_decomposition(aten.softplus.default)
def _softplus(self: Any, beta: Any = 1, threshold: Any = 20) -> Any:
    scaled = self if beta == 1 else self * beta
    soft = scaled.exp().log1p()
    return self.where(scaled > threshold, soft if beta == 1 else soft / beta)


@register_decomposition(aten.hardswish.default)
def _hardswish(self: Any) -> Any:
    return self * (self + 3).clamp(0).clamp(None, 6) / 6


@register_decomposition(aten.hardsigmoid.default)
def _hardsigmoid(self: Any) -> Any:
    return (self + 3).clamp(0).clamp(None, 6) / 6


@register_decomposition(aten.mish.default)
def _mish(self: Any) -> Any:
    return self * aten.softplus.default(self).tanh()
