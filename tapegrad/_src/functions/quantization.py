"""Fake quantization, with one scale and zero point, or one for each channel."""

from __future__ import annotations

from typing import Any

from tapegrad._src.bindings.arguments import wrap_dim
from tapegrad._src.bindings.bounds import refuse_elements
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.execution.data.dtypes import bfloat16, float16, float32, int32
from tapegrad._src.functions.losses import refuse_gradient
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import quantization, shape
from tapegrad.ops.kinds import cast

OUT_OF_BOUNDS = "`zero_point` must be between `quant_min` and `quant_max`."


def _check_bounds(quant_min: int, quant_max: int) -> None:
    if quant_min > quant_max:
        raise RuntimeError("`quant_min` should be less than or         equal to `quant_max`.")


def _check_input(input: Tensor, what: str) -> None:
    if input.dtype.category != 2:
        raise NotImplementedError(f"\"{what}\" not implemented for '{input.dtype.scalar_name}'")


@public("torch")
def fake_quantize_per_tensor_affine(
    input: Tensor, scale: Any, zero_point: Any, quant_min: int, quant_max: int
) -> Tensor:
    """The numbers that integers between two bounds stand for, the nearest ones; the gradient passes where they do.

    ``(clamp(round(input / scale) + zero_point, quant_min, quant_max) - zero_point) * scale``

    Args:
        input: floating numbers.
        scale: a number, or a tensor with one.
        zero_point: an integer, or a tensor with one (if ``scale`` is a tensor).
        quant_min, quant_max: the bounds, inclusive.

    Raises:
        RuntimeError: bounds in the wrong order, a zero point outside of them, a scale that requires grad, or of several
            elements.
        NotImplementedError: integers or complex numbers.

    >>> torch.fake_quantize_per_tensor_affine(torch.tensor([0.04, 0.26, 9.0]), 0.1, 0, 0, 15)
    tensor([0.0000, 0.3000, 1.5000])
    """
    kernel = "fake_quantize_tensor_cachemask_kernel_type_handling"
    bounds = {"quant_min": int(quant_min), "quant_max": int(quant_max)}
    if isinstance(scale, Tensor):
        function = "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams"
        for name, tensor in (("scale", scale), ("zero_point", zero_point)):
            refuse_gradient(function, name, tensor)
        _check_bounds(quant_min, quant_max)
        _check_input(input, kernel)
        for tensor in (scale, zero_point):
            if tensor.numel() != 1:
                raise RuntimeError(f"a Tensor with {tensor.numel()} elements cannot be converted to Scalar")
        scale, point = shape.view(scale, shape=()), shape.view(cast(zero_point, dtype=int32), shape=())
        return quantization.fake_quantize_by_tensors(input, scale, point, **bounds)
    _check_bounds(quant_min, quant_max)
    if not quant_min <= zero_point <= quant_max:
        raise RuntimeError(OUT_OF_BOUNDS)
    _check_input(input, kernel)
    return quantization.fake_quantize_per_tensor(input, float(scale), int(zero_point), **bounds)


def _channels(input: Tensor, scale: Tensor, zero_point: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """Scales and zero points with dimensions to broadcast, if they are one for each channel.
    Raises RuntimeError: they are not.
    """
    for name, tensor in (("scale", scale), ("zero point", zero_point)):
        if tensor.ndim != 1:
            raise RuntimeError(f"{name} should be a 1-D tensor")
    if scale.numel() != zero_point.numel():
        raise RuntimeError("scale and zero-point need to have the same dimensions")
    if scale.numel() != input.shape[wrap_dim(axis, input.ndim)]:
        raise RuntimeError("dimensions of scale and zero-point are not consistent with input tensor")
    if axis < 0:
        raise RuntimeError("`axis` must be between 0 and number of dimensions of input")
    alone = tuple(length if dim == axis else 1 for dim, length in enumerate(input.shape))
    return shape.view(scale, shape=alone), shape.view(zero_point, shape=alone)


def _outside(zero_point: Any, quant_min: int, quant_max: int) -> Any:
    return (zero_point < quant_min) | (zero_point > quant_max)


@public("torch")
def fake_quantize_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """As ``fake_quantize_per_tensor_affine``, with a scale and a zero point for each channel.

    Args:
        input: floating numbers.
        scale: (channels,), float32 or bfloat16.
        zero_point: (channels,), int32, float16 or float32; one that is no integer is added before rounding.
        axis: the dimension of the channels.
        quant_min, quant_max: the bounds, inclusive.

    Raises:
        RuntimeError: other dtypes or lengths, bounds in the wrong order, a zero point outside of them.

    >>> x = torch.tensor([[0.04, 0.26], [0.04, 0.26]])
    >>> torch.fake_quantize_per_channel_affine(x, torch.tensor([0.1, 0.2]), torch.zeros(2, dtype=torch.int32), 0, 0, 15)
    tensor([[0.0000, 0.3000],
            [0.0000, 0.2000]])
    """
    for name, tensor in (("scale", scale), ("zero_point", zero_point)):
        refuse_gradient("fake_quantize_per_channel_affine_cachemask", name, tensor)
    if scale.dtype not in (float32, bfloat16):
        raise RuntimeError(f"Scale must be Float or BFloat16, found {scale.dtype.scalar_name}")
    if zero_point.dtype not in (int32, float32, float16):
        raise RuntimeError(f"Zero-point must be Int32, Float or Half, found {zero_point.dtype.scalar_name}")
    scales, points = _channels(input, scale, zero_point, axis)
    _check_bounds(quant_min, quant_max)
    if zero_point.dtype is int32:
        refuse_elements(zero_point, _outside, int(quant_min), int(quant_max),
                        complaint=lambda _: RuntimeError(OUT_OF_BOUNDS))  # fmt: skip
    _check_input(input, "fake_quantize_channel_cachemask_cpu_type_handling")
    bounds = {"quant_min": int(quant_min), "quant_max": int(quant_max)}
    return quantization.fake_quantize_per_channel(input, scales, points, **bounds)


@public("torch")
def _fake_quantize_learnable_per_tensor_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int, grad_factor: float = 1.0
) -> Tensor:
    """As ``fake_quantize_per_tensor_affine``; ``scale`` and ``zero_point`` are floats that have gradients, too.

    Args:
        grad_factor: by which their gradients are multiplied.

    >>> scale = torch.tensor([0.1], requires_grad=True)
    >>> x = torch.tensor([0.04, 9.0])
    >>> torch._fake_quantize_learnable_per_tensor_affine(x, scale, torch.zeros(1), 0, 15).sum().backward()
    >>> scale.grad
    tensor([14.6000])
    """
    settings = {"quant_min": int(quant_min), "quant_max": int(quant_max), "grad_factor": float(grad_factor)}
    return quantization.fake_quantize_learnable_per_tensor_affine(input, scale, zero_point, **settings)


@public("torch")
def _fake_quantize_learnable_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int,
    grad_factor: float = 1.0,
) -> Tensor:  # fmt: skip
    """As ``fake_quantize_per_channel_affine``; ``scale`` and ``zero_point`` are floats that have gradients, too.

    Args:
        grad_factor: by which their gradients are multiplied.

    >>> scale = torch.tensor([0.1, 0.2], requires_grad=True)
    >>> x = torch.tensor([[0.04, 9.0], [0.05, 9.0]])
    >>> torch._fake_quantize_learnable_per_channel_affine(x, scale, torch.zeros(2), 0, 0, 15).sum().backward()
    >>> scale.grad
    tensor([14.6000, 14.7500])
    """
    scales, points = _channels(input, scale, zero_point, axis)
    settings = {"quant_min": int(quant_min), "quant_max": int(quant_max), "grad_factor": float(grad_factor)}
    return quantization.fake_quantize_learnable_per_channel_affine(input, scales, points, **settings)
