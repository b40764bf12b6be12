"""The nonlinearities of ``nn.functional``; some are functions of ``torch`` and methods too."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tapegrad._src.bindings.arguments import wrap_dim
from tapegrad._src.bindings.declaration.declarations import OTHER_DTYPE, Out
from tapegrad._src.bindings.declaration.registry import NAMESPACES, public
from tapegrad._src.bindings.declaration.scalars import computed_with, converted
from tapegrad._src.bindings.layouts import in_row_major_order
from tapegrad._src.bindings.naming import renamed
from tapegrad._src.bindings.state.generator import one_by_one
from tapegrad._src.bindings.writes.in_place import become, before_write, refuse_in_place
from tapegrad._src.dispatch.nodes.packing import while_writing
from tapegrad._src.execution.data.dtypes import BOOL, COMPLEX, INTEGRAL, finfo, float64, int64
from tapegrad._src.functions.random import rand_like
from tapegrad._src.functions.shape import reshaped
from tapegrad._src.functions.unary import check
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import activations, arithmetic, unary
from tapegrad.ops.checks import refuse_dtypes


def _floating_only(input: Tensor, kernel: str) -> None:
    check(input, {BOOL: kernel, INTEGRAL: kernel, COMPLEX: kernel})


def _apply(
    input: Tensor, inplace: bool, function: Callable[..., Tensor], *args: Any, node: str = "", saved: bool = False,
    **settings: Any,
) -> Tensor:  # fmt: skip
    """The function of the tensor; ``inplace``, the tensor becomes that, with another ``node`` if one is named.

    ``saved``: PyTorch's node saves the result.
    """
    if not inplace:
        return function(input, *args, **settings)
    refuse_in_place(input, overlapping=function is activations.threshold)
    with while_writing(saved):
        result = function(before_write(input), *args, **settings)
        return become(input, renamed(result, node) if node else result)


# -- piecewise linear --------------------------------------------------------------------------------------------------

NO_COMPLEX_CLAMP = (NotImplementedError, "clamp is not supported for complex types")


@public("torch", "Tensor", is_settled=True)
def relu(input: Tensor) -> Tensor:
    """``input`` where positive, else 0; the gradient at 0 is 0.

    Raises:
        RuntimeError: for booleans.
        NotImplementedError: for complex numbers.

    >>> torch.relu(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([0., 0., 1.])
    """
    check(input, {BOOL: (RuntimeError, "Boolean inputs not supported for relu"), COMPLEX: NO_COMPLEX_CLAMP})
    return activations.relu(input)


@public("nn.functional", name="relu", is_settled=True)
def _relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``input`` where positive, else 0; the gradient at 0 is 0. ``inplace`` writes it to ``input``."""
    return _apply(input, inplace, relu)


@public("nn.functional", is_settled=True)
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` limited to ``[min_val, max_val]``; no gradient at the bounds. ``inplace`` writes it to ``input``.

    Raises:
        ValueError: ``min_val`` is greater than ``max_val``.

    >>> torch.nn.functional.hardtanh(torch.tensor([-3.0, 0.5, 3.0]), min_val=-1.0, max_val=2.0)
    tensor([-1.0000,  0.5000,  2.0000])
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return _hardtanh(input, inplace, min_val, max_val)


@public("nn.functional", native=True)
def hardtanh_(input: Tensor, min_val: float = -1, max_val: float = 1) -> Tensor:
    """In-place version of ``hardtanh``: ``input`` limited to ``[min_val, max_val]``. Crossed bounds give the upper one.
    """
    return _hardtanh(input, True, min_val, max_val)


def _hardtanh(input: Tensor, inplace: bool, min_val: Any, max_val: Any) -> Tensor:
    check(input, {BOOL: (RuntimeError, "Bool inputs not supported for hardtanh"), COMPLEX: NO_COMPLEX_CLAMP})
    if input.dtype.category == INTEGRAL:
        min_val, max_val = converted(min_val, int64), converted(max_val, int64)
    if not input.dtype.is_signed and (min_val < 0 or max_val < 0):
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    limits = [converted(number, input.dtype) for number in (min_val, max_val)]
    return _apply(input, inplace, activations.hardtanh, min_val=limits[0], max_val=limits[1])


@public("nn.functional", is_settled=True)
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``input`` limited to ``[0, 6]``; no gradient at the bounds. ``inplace`` writes it to ``input``."""
    return hardtanh(input, 0.0, 6.0, inplace)


@public("nn.functional", is_settled=True)
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """``input`` where positive, else ``negative_slope * input``. ``inplace`` writes it to ``input``."""
    _floating_only(input, "leaky_relu_cpu")
    slope = computed_with(negative_slope, input.dtype)
    operator = activations.leaky_relu_in_place if inplace else activations.leaky_relu
    return _apply(input, inplace, operator, negative_slope=slope, node="LeakyReluBackward1")


@public("torch")
def rrelu(
    input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, generator: Any = None
) -> Tensor:
    """``input`` where positive, else ``slope * input``, with the mean of the bounds for the slope.

    In training every element has a slope of its own, drawn between the bounds.

    Args:
        lower, upper: the bounds, numbers.
        training: whether slopes are drawn.

    Raises:
        RuntimeError: the lower bound is above the upper one.

    >>> torch.rrelu(torch.tensor([-48.0, 1.0]), 0.25, 0.5)
    tensor([-18.,   1.])
    """
    return in_row_major_order(_rrelu(input, False, lower, upper, training, generator))


@public("torch", "nn.functional", native=True)
def rrelu_(
    input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, generator: Any = None
) -> Tensor:
    """In-place version of ``rrelu``: negative elements of ``input`` times a slope between ``lower`` and ``upper``.

    In ``training`` each has a slope of its own, which ``generator`` draws; else it is the mean of the bounds.

    >>> torch.nn.functional.rrelu_(torch.tensor([-4.0, 2.0]), lower=0.0, upper=0.5)
    tensor([-1.,  2.])
    """
    return _rrelu(input, True, lower, upper, training, generator)


@public("nn.functional", name="rrelu")
def _functional_rrelu(
    input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """``input`` where positive, else times a slope: in ``training`` drawn from [``lower``, ``upper``) for each element.

    Otherwise the slope is the mean of both. ``inplace`` writes the result to ``input``. From Xu et al., "Empirical
    Evaluation of Rectified Activations in Convolutional Network" (2015).

    >>> torch.nn.functional.rrelu(torch.tensor([-4.0, 2.0]), lower=0.0, upper=0.5)
    tensor([-1.,  2.])
    """
    found = _rrelu(input, inplace, lower, upper, training, None)
    return found if inplace else in_row_major_order(found)


def _rrelu(input: Tensor, inplace: bool, lower: Any, upper: Any, training: bool, generator: Any) -> Tensor:
    lower, upper = converted(lower, float64), converted(upper, float64)
    for name, bound in (("lower", lower), ("upper", upper)):
        if not math.isfinite(bound):
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {bound:g}")
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    _floating_only(input, "rrelu_with_noise_out_cpu" if training else "leaky_relu_cpu")

    def computed(x: Tensor) -> Tensor:
        if not training:
            slope = (lower + upper) / 2
            operator = activations.leaky_relu_in_place if inplace else activations.leaky_relu
            return renamed(operator(x, negative_slope=slope), "RreluWithNoiseBackward0")
        slopes = one_by_one("rrelu", generator, "slopes", x.dtype, x, settings=(lower, upper))
        if slopes is None:
            slopes = rand_like(x, generator=generator) * (upper - lower) + lower
        return renamed(activations.prelu(x, slopes), "RreluWithNoiseBackward0")

    return _apply(input, inplace, computed, node="RreluWithNoiseBackward1", saved=True)


@public("torch", "Tensor", "nn.functional", native=True)
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """``input`` where positive, else ``weight * input``, with one weight or one for each channel (dimension 1).

    Raises:
        RuntimeError: the number of weights doesn't match; the dtypes differ.
    """
    if input.dtype is not weight.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {input.dtype.scalar_name} and {weight.dtype.scalar_name}"
        )
    _check_weights(input, weight)
    refuse_dtypes("prelu_cpu", input._spec, bool=True, integral=True, complex=True)
    if weight.ndim == 0 or weight.shape == (1,) * input.ndim:
        return activations.prelu(input, weight)
    shape = tuple(weight.shape[0] if axis == 1 else 1 for axis in range(input.ndim))
    return activations.prelu(input, reshaped(weight, shape))


def _check_weights(input: Tensor, weight: Tensor) -> None:
    count = weight._spec.numel
    if count != 1 and input.ndim == 0:
        raise RuntimeError("Not allow zero-dim input tensor.")
    channels = input.shape[1] if input.ndim > 1 else 1
    if count not in (1, channels):
        raise RuntimeError(
            f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {count} and channel size "
            f"= {channels}."
        )
    if weight.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")


@public("torch", "nn.functional")
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """``input`` where above the threshold, ``value`` elsewhere. ``inplace`` writes it to ``input``.

    >>> torch.nn.functional.threshold(torch.tensor([0.0, 1.0, 2.0]), threshold=1.0, value=-5.0)
    tensor([-5., -5.,  2.])
    """
    check(input, {BOOL: "threshold_cpu", COMPLEX: "threshold_cpu"})
    threshold, value = converted(threshold, input.dtype), converted(value, input.dtype)
    return _apply(input, inplace, activations.threshold, threshold=threshold, value=value, node="ThresholdBackward1")


@public("torch", "Tensor", "nn.functional", native=True, out=Out(OTHER_DTYPE))
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """0 within ``[-lambd, lambd]``, ``input`` outside."""
    _floating_only(input, "hardshrink_cpu")
    return activations.hardshrink(input, lambd=converted(lambd, input.dtype))


@public("nn.functional", native=True, out=Out(OTHER_DTYPE))
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """``input`` moved towards 0 by ``lambd``, not beyond.

    Raises:
        RuntimeError: ``lambd`` is negative.
    """
    _floating_only(input, "softshrink_check")
    lambd = converted(lambd, float64)
    largest = finfo(input.dtype).max
    if not 0 <= lambd <= largest:
        raise RuntimeError(
            f"lambda must be in range [0, {largest:g}] for input dtype {input.dtype.scalar_name}, but found {lambd:g}"
        )
    return activations.softshrink(input, lambd=lambd)


@public("nn.functional", is_settled=True)
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``input / 6 + 1/2``, limited to ``[0, 1]``. ``inplace`` writes it to ``input``."""
    _floating_only(input, "hardsigmoid_cpu")
    return _apply(input, inplace, activations.hardsigmoid)


@public("nn.functional", is_settled=True)
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * hardsigmoid(input)`` (Howard et al., "Searching for MobileNetV3", 2019). ``inplace`` writes it to
    ``input``.
    """
    _floating_only(input, "hardswish_cpu")
    return _apply(input, inplace, activations.hardswish)


# -- smooth ------------------------------------------------------------------------------------------------------------

SELU = {"alpha": 1.6732632423543772848170429916717, "scale": 1.0507009873554804934193349852946, "input_scale": 1.0}


@public("nn.functional", is_settled=True)
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` where positive, else ``alpha * (exp(input) - 1)``. ``inplace`` writes it to ``input``."""
    return _elu(input, inplace, alpha)


@public("nn.functional", native=True)
def elu_(input: Tensor, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Tensor:
    """In-place version of ``elu``, of ``input_scale * input`` where that is negative, times ``scale``.

    Where ``input`` is negative it becomes ``scale * alpha * (exp(input_scale * input) - 1)``.

    >>> torch.nn.functional.elu_(torch.tensor([-1.0, 1.0]), alpha=2.0)
    tensor([-1.2642,  1.0000])
    """
    return _elu(input, True, alpha, scale, input_scale)


def _elu(
    input: Tensor, inplace: bool, alpha: Any, scale: Any = 1.0, input_scale: Any = 1.0, node: str = "EluBackward1"
) -> Tensor:
    _floating_only(input, "elu_cpu")
    given = {"alpha": alpha, "scale": scale, "input_scale": input_scale}
    settings = {name: computed_with(number, input.dtype) for name, number in given.items()}
    operator = activations.elu_in_place if inplace else activations.elu
    return _apply(input, inplace, operator, **settings, node=node)


@public("torch", is_settled=True)
def selu(input: Tensor) -> Tensor:
    """``elu`` with constants that keep mean 0 and variance 1 through layers (Klambauer et al., 2017)."""
    _floating_only(input, "elu_cpu")
    return activations.elu(input, **SELU)


@public("nn.functional", name="selu", is_settled=True)
def _selu(input: Tensor, inplace: bool = False) -> Tensor:
    """``elu`` with constants that keep mean 0 and variance 1 through layers (Klambauer et al., 2017).

    ``inplace`` writes it to ``input``.
    """
    return _elu(input, True, SELU["alpha"], SELU["scale"]) if inplace else selu(input)


@public("torch")
def celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """``input`` where positive, else ``alpha * (exp(input / alpha) - 1)``.

    Raises:
        RuntimeError: ``alpha`` is 0.
    """
    _check_celu(input, alpha)
    return activations.celu(input, alpha=computed_with(alpha, input.dtype))


def _check_celu(input: Tensor, alpha: Any) -> None:
    if converted(alpha, float64) == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    _floating_only(input, "elu_cpu")


@public("nn.functional", name="celu")
def _celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` where positive, else ``alpha * (exp(input / alpha) - 1)``. ``inplace`` writes it to ``input``.

    Raises:
        RuntimeError: ``alpha`` is 0.
    """
    if not inplace:
        return celu(input, alpha)
    _check_celu(input, alpha)
    return _elu(input, True, alpha, 1.0, 1 / alpha, "CeluBackward1")


@public("nn.functional", native=True, is_settled=True, out=Out(OTHER_DTYPE))
def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """``input`` times the standard normal distribution function of it; ``approximate="tanh"`` for a cheaper one.

    Raises:
        RuntimeError: another ``approximate``.

    >>> torch.nn.functional.gelu(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.1587,  0.0000,  0.8413])
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    _floating_only(input, "GeluKernelImpl")
    return activations.gelu(input, approximate=approximate)


@public("nn.functional", is_settled=True)
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * sigmoid(input)``, also called swish. ``inplace`` writes it to ``input``.

    Raises:
        RuntimeError: complex numbers that require grad, but not if they are written to.
    """
    check(input, {BOOL: "silu_cpu", INTEGRAL: "silu_cpu"})
    if not inplace and input.dtype.is_complex and input._spec.requires_grad and thread.modes.grad:
        raise RuntimeError("silu does not support automatic differentiation for outputs with complex dtype.")
    return _apply(input, inplace, activations.silu)


@public("nn.functional", is_settled=True)
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * tanh(softplus(input))`` (Misra, 2019). ``inplace`` writes it to ``input``."""
    _floating_only(input, "mish_cpu")
    return _apply(input, inplace, activations.mish)


@public("nn.functional", native=True, is_settled=True, out=Out(OTHER_DTYPE))
def softplus(input: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    """``log(1 + exp(beta * input)) / beta``; ``input`` itself where ``beta * input`` is above the threshold.

    >>> torch.nn.functional.softplus(torch.tensor([0.0, 100.0]))
    tensor([  0.6931, 100.0000])
    """
    _floating_only(input, "softplus_cpu")
    numbers = {"beta": computed_with(beta, input.dtype), "threshold": computed_with(threshold, input.dtype)}
    return activations.softplus(input, **numbers)


@public(
    "nn.functional", native=True, is_settled=True,
    out=Out("expected scalar type {R} but found {O}", called="log_sigmoid_forward", resized=""),
)  # fmt: skip
def logsigmoid(input: Tensor) -> Tensor:
    """``log(sigmoid(input))``, without overflow."""
    _floating_only(input, "log_sigmoid_cpu")
    return in_row_major_order(activations.logsigmoid(input))


@public("nn.functional", is_settled=True)
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of ``input`` along ``dim`` times the sigmoid of the second.

    Raises:
        RuntimeError: the length is odd, or there are no dimensions.
    """
    if input.ndim == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    axis = wrap_dim(dim, input.ndim)
    if input.shape[axis] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {axis} is size {input.shape[axis]}")
    _floating_only(input, "glu_cpu")
    return activations.glu(input, axis=axis)


@public("nn.functional", is_settled=True)
def tanhshrink(input: Tensor) -> Tensor:
    """``input - tanh(input)``."""
    return NAMESPACES["Tensor"]["sub"](input, unary.tanh(input))


@public("nn.functional", is_settled=True)
def softsign(input: Tensor) -> Tensor:
    """``input / (1 + |input|)``."""
    return arithmetic.div(input, arithmetic.add(NAMESPACES["torch"]["abs"](input), 1))


@public("nn.functional")
def sigmoid(input: Tensor) -> Tensor:
    """``1 / (1 + exp(-input))``."""
    return unary.sigmoid(input)


@public("nn.functional")
def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent."""
    return unary.tanh(input)


# -- in-place variants -------------------------------------------------------------------------------------------------


def _declare_variant(name: str, *homes: str) -> None:
    function = NAMESPACES["nn.functional"][name]

    def variant(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return function(input, *args, **kwargs, inplace=True)

    variant.__name__ = variant.__qualname__ = f"{name}_"
    variant.__doc__ = f"In-place version of ``{name}``, with the same arguments."
    public("nn.functional", *homes, native=True)(variant)


_declare_variant("leaky_relu")
for _name in ("relu", "threshold", "selu", "celu"):
    _declare_variant(_name, "torch")

NAMESPACES["nn.functional"]["threshold"].__name__ = "_threshold"  # as classes and modes that are handed it know it
NAMESPACES["nn.functional"]["_threshold"] = NAMESPACES["nn.functional"]["threshold"]
