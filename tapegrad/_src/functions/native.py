"""Functions that PyTorch's own functions are made of, and shows: their results include what the backward pass uses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.bindings.arguments import wrap_dim
from tapegrad._src.bindings.declaration.declarations import Out
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.layouts import copy_strides, laid_out
from tapegrad._src.bindings.state.generator import sampled
from tapegrad._src.bindings.windows import hashable, windows
from tapegrad._src.dispatch.nodes.packing import while_writing
from tapegrad._src.execution.array_functions import random as sampling
from tapegrad._src.execution.data.dtypes import bool as boolean
from tapegrad._src.execution.data.dtypes import dtype, uint8
from tapegrad._src.functions.arrangement import padded
from tapegrad._src.functions.creation import empty, ones_like
from tapegrad._src.functions.normalization import (
    check_statistics,
    instance_norm,
    normalized_axes,
    renew,
    require_statistics,
)
from tapegrad._src.functions.resampling import interpolate
from tapegrad._src.tape.modes import switched
from tapegrad._src.tensor.refusals import refuse_examples
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import attention, normalization, resampling
from tapegrad.ops import native as ops
from tapegrad.ops.kinds import cast
from tapegrad.ops.resampling import Sampling
from tapegrad.ops.shape import view

# -- normalization -----------------------------------------------------------------------------------------------------


def _statistics(input: Tensor, kind: str, argument: Any, eps: float, shape: Sequence[int]) -> tuple[Tensor, Tensor]:
    """The mean and the inverse of the standard deviation, which record nothing."""
    with switched(grad=False):
        found = normalization.moments(input, kind=kind, argument=argument, eps=float(eps))
        center, scale = (view(one, shape=tuple(shape)) for one in found)
    return center, scale


def _batch_normalized(
    name: str, input: Tensor, weight: Tensor | None, bias: Tensor | None, means: Tensor | None,
    variances: Tensor | None, training: bool, momentum: float, eps: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    check_statistics(name.removesuffix(".no_stats"), input, means, variances, training)
    if not training:
        require_statistics(means, variances)
        out = normalization.GIVEN[name](input, weight, bias, means, variances, eps=float(eps))
        return out, *(empty(0, dtype=input.dtype, device=input.device) for _ in range(2))
    arguments = (input, weight, bias, means, variances, float(momentum))
    with while_writing(saves_results=True) as block:
        out, new_mean, new_var = normalization.TRAINED[name](*arguments, eps=float(eps))
        for buffer, new in ((means, new_mean), (variances, new_var)):
            if buffer is not None and not block.replayed:
                renew(buffer, new)
    found = _statistics(input, "channel", None, eps, (input.shape[1],))
    kind = next((one.dtype for one in (weight, bias, means, variances) if one is not None), input.dtype)
    return out, *(one if one.dtype is kind else cast(one, dtype=kind) for one in found)


_OTHER_DTYPE = "expected scalar type {R} but found {O}"


@public("torch", out=Out(_OTHER_DTYPE))
def native_batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, training: bool, momentum: float, eps: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """``batch_norm``, and, in training, the mean and the inverse standard deviation of each channel.

    Args:
        weight, bias, running_mean, running_var: (channels,) each, or None.
        training: whether the statistics are those of the batch, which are then mixed into the running ones.
        momentum, eps: how much of them is mixed in; what is added to the variance.

    >>> out, mean, invstd = torch.native_batch_norm(torch.ones(2, 3), None, None, None, None, True, 0.1, 1e-5)
    >>> out.shape, mean
    (torch.Size([2, 3]), tensor([1., 1., 1.]))
    """
    return _batch_normalized(
        "native_batch_norm", input, weight, bias, running_mean, running_var, training, momentum, eps
    )


@public("torch", out=Out(_OTHER_DTYPE, history="unknown"))
def _native_batch_norm_legit(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Any, running_var: Any,
    training: Any, momentum: float = 0.0, eps: float | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """``native_batch_norm``; without the running statistics: ``(input, weight, bias, training, momentum, eps)``."""
    if eps is None:
        training, momentum, eps = running_mean, running_var, training
        name = "_native_batch_norm_legit.no_stats"
        return _batch_normalized(name, input, weight, bias, None, None, training, momentum, float(eps))
    name = "_native_batch_norm_legit"
    return _batch_normalized(name, input, weight, bias, running_mean, running_var, training, momentum, eps)


@public("torch")
def _native_batch_norm_legit_no_training(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor, running_var: Tensor,
    momentum: float, eps: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """``native_batch_norm`` with the running statistics, which stay as they are."""
    name = "_native_batch_norm_legit_no_training"
    return _batch_normalized(name, input, weight, bias, running_mean, running_var, False, momentum, eps)


@public("ops.aten")
def _batch_norm_with_update(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor, running_var: Tensor,
    momentum: float, eps: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """``native_batch_norm`` in training; the last result is a reserve, empty here."""
    name = "_batch_norm_with_update"
    rule = f"Batching rule not implemented for aten::{name}; the fallback path doesn't work on out= or view ops."
    refuse_examples(rule, input, *(x for x in (weight, bias, running_mean, running_var) if x is not None))
    found = _batch_normalized(name, input, weight, bias, running_mean, running_var, True, momentum, eps)
    return *found, empty(0, dtype=uint8, device=input.device)


@public("torch")
def native_layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """``layer_norm``, and the mean and the inverse standard deviation that it found.

    Args:
        normalized_shape: the last dimensions, over which is normalized.
        weight, bias: of that shape, or None.
        eps: what is added to the variance.

    >>> out, mean, rstd = torch.native_layer_norm(torch.tensor([[1.0, 3.0]]), (2,), None, None, 1e-5)
    >>> mean
    tensor([[2.]])
    """
    axes = normalized_axes(input, normalized_shape, "native_layer_norm")
    out = normalization.layer_norm(input, weight, bias, axes=axes, eps=float(eps))
    shape = (*input.shape[: axes[0]], *[1] * len(axes))
    found = _statistics(input, "layer", axes, eps, shape)
    return out, *(one if one.dtype is input.dtype else cast(one, dtype=input.dtype) for one in found)


@public("torch")
def native_group_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """``group_norm`` of N examples of C channels of HxW elements, and mean and inverse standard deviation of groups.

    Args:
        weight, bias: (C,) each, or None.
        group: how many groups the channels are in.
        eps: what is added to the variance.

    Raises:
        RuntimeError: numbers that don't fit.

    >>> out, mean, rstd = torch.native_group_norm(torch.ones(2, 4, 3), None, None, 2, 4, 3, 2, 1e-5)
    >>> out.shape, mean.shape
    (torch.Size([2, 4, 3]), torch.Size([2, 2]))
    """
    if group <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {group}")
    if C % group:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={group}"
        )
    if input._spec.numel != N * C * HxW:
        raise RuntimeError(
            "Expected X.numel() == N * C * HxW to be true, but got false.  (Could this error message be improved?  If "
            "so, please report an enhancement request to PyTorch.)"
        )
    return normalization.native_group_norm(input, weight, bias, groups=group, eps=float(eps))


@public("torch")
def batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, training: bool, momentum: float, eps: float, cudnn_enabled: bool,
) -> Tensor:  # fmt: skip
    """See ``torch.nn.functional.batch_norm``.

    Args:
        weight, bias, running_mean, running_var: (channels,) each, or None.
        training: whether the statistics are those of the batch.
        momentum, eps: how much of them is mixed into the running ones; what is added to the variance.
        cudnn_enabled: changes nothing.

    >>> torch.batch_norm(torch.tensor([[1.0], [3.0]]), None, None, None, None, True, 0.1, 1e-5, False).round()
    tensor([[-1.],
            [ 1.]])
    """
    if not training:
        require_statistics(running_mean, running_var)
    return native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)[0]


@public("torch", name="instance_norm")
def torch_instance_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, use_input_stats: bool, momentum: float, eps: float, cudnn_enabled: bool,
) -> Tensor:  # fmt: skip
    """See ``torch.nn.functional.instance_norm``.

    Args:
        weight, bias, running_mean, running_var: (channels,) each, or None.
        use_input_stats: whether the statistics are those of each example, not the running ones.
        momentum, eps: how much of them is mixed into the running ones; what is added to the variance.
        cudnn_enabled: changes nothing.

    >>> torch.instance_norm(torch.tensor([[[1.0, 3.0]]]), None, None, None, None, True, 0.1, 1e-5, False).round()
    tensor([[[-1.,  1.]]])
    """
    return instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


# -- others ------------------------------------------------------------------------------------------------------------


@public("torch")
def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """``dropout``, and which elements were kept.

    Args:
        p: the probability that an element is set to 0.
        train: whether any is; None: yes.
    """
    if not train or p == 0:
        return input.clone(), ones_like(input, dtype=boolean)
    with switched(grad=False):
        strides = copy_strides("native_dropout", input, None)
        spec = Spec.of(tuple(input.shape), boolean, input.device)
        kept = laid_out(sampled("native_dropout", None, sampling.bernoulli, spec, 1 - p, strides=strides), strides)
    return ops.masked_dropout(input, kept, scale=0.0 if p == 1 else 1 / (1 - p)), kept


@public("ops.aten")
def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
    """``grad_output`` times ``scale`` where ``mask`` is True, and 0 elsewhere."""
    return ops.dropout_gradient(grad_output, mask, scale=float(scale))


@public("torch")
def constant_pad_nd(input: Tensor, pad: Sequence[int], value: float = 0) -> Tensor:
    """``nn.functional.pad`` with a constant.

    Args:
        value: the constant.

    Raises:
        RuntimeError: widths that don't fit.
    """
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) > 2 * input.ndim:
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
            f"{len(pad)}while the input has {input.ndim}dimensions."
        )
    return padded(input, tuple(zip(pad[-2::-2], pad[-1::-2], strict=True)), value)


@public("ops.aten")
def _safe_softmax(self: Tensor, dim: int, dtype: dtype | None = None) -> Tensor:
    """``softmax``, but 0 where all along ``dim`` are -inf."""
    x = self if dtype is None or dtype is self.dtype else cast(self, dtype=dtype)
    return attention.safe_softmax(x, axis=wrap_dim(dim, self.ndim))


@public("torch")
def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: dtype) -> Tensor:
    """The gradient of ``softmax``, from that of its result and the result.

    >>> torch._softmax_backward_data(torch.tensor([1.0, 0.0]), torch.tensor([0.5, 0.5]), 0, torch.float32)
    tensor([ 0.2500, -0.2500])
    """
    gradient = ops.softmax_gradient(grad_output, output, axis=wrap_dim(dim, output.ndim))
    return gradient if gradient.dtype is input_dtype else cast(gradient, dtype=input_dtype)


@public("ops.aten")
def _upsample_bilinear2d_aa(
    input: Tensor, output_size: Sequence[int] | None, align_corners: bool, scales_h: Any = None,
    scales_w: float | None = None, *, scale_factors: Sequence[float] | None = None,
) -> Tensor:  # fmt: skip
    """``interpolate`` with ``mode="bilinear"`` and ``antialias=True``; sizes may be given by ``scale_factors``."""
    if scale_factors is not None or output_size is None:
        scale_factors = scales_h if scale_factors is None else scale_factors
        return interpolate(input, scale_factor=tuple(scale_factors), mode="bilinear",
                           align_corners=bool(align_corners), antialias=True)  # fmt: skip
    samplings = tuple(
        Sampling("linear-antialias", size, scale=scale, align=bool(align_corners))
        for size, scale in zip(output_size, (scales_h, scales_w), strict=True)
    )
    return resampling.INTERPOLATIONS["linear-antialias", 2](input, samplings=samplings)


@public("ops.aten")
def max_pool2d_with_indices_backward(
    grad_output: Tensor, self: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool,
    indices: Tensor,
) -> Tensor:  # fmt: skip
    """The gradient of ``max_pool2d``, from that of its result and the indices."""
    arguments = map(hashable, (kernel_size, stride or kernel_size, padding, dilation))
    windows("max_pool2d", 2, tuple(self.shape), *arguments, ceil_mode, "", None)
    return ops.max_pool2d_gradient(grad_output, self, indices)
