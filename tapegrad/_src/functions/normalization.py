"""Normalization functions, with PyTorch's treatment of running statistics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tapegrad._src.bindings.arguments import wrap_dim
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.viewing import geometry_of
from tapegrad._src.dispatch.function_levels import lower
from tapegrad._src.dispatch.nodes.packing import while_writing
from tapegrad._src.execution.data.dtypes import finfo, float32, float64, int64
from tapegrad._src.functions.shape import reshaped
from tapegrad._src.tape.modes import switched, thread
from tapegrad._src.tensor.lifted import mapping
from tapegrad._src.tensor.placing import window_on
from tapegrad._src.tensor.tensor import Tensor, put, value_of, write
from tapegrad.ops import arithmetic, normalization, reductions, resampling, unary
from tapegrad.ops.checks import refuse_dtypes
from tapegrad.ops.kinds import broadcast_to, cast
from tapegrad.ops.resampling import Sampling
from tapegrad.ops.shape import view

UNSHARED = (
    "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in place, "
    "were not batched.\nIf you are using a module and do not need eval mode, please set `track_running_stats` to be "
    "False.If you are using a prebuilt module and do not need eval mode, please see the functorch website for "
    "resources on how to patch your module to work with vmap"
)


def require_statistics(running_mean: Tensor | None, running_var: Tensor | None) -> None:
    """Refuse to do without running statistics. Raises RuntimeError: PyTorch's message."""
    for name, buffer in (("running_mean", running_mean), ("running_var", running_var)):
        if buffer is None:
            raise RuntimeError(f"{name} must be defined in evaluation mode")


def check_statistics(
    function: str, input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, training: bool
) -> None:
    """Refuse running statistics that a function of PyTorch's, of this name, does not take.

    Raises:
        ValueError: one without the other.
        RuntimeError: PyTorch's messages, if one requires grad, or, not in ``training``, has a tangent as the input has;
            in ``training``, if the input is an example at a ``vmap`` and one of them is not.
    """
    if running_mean is None and running_var is None:
        return
    if running_mean is None or running_var is None:
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    for name, buffer in (("running_mean", running_mean), ("running_var", running_var)):
        if buffer._spec.requires_grad and thread.modes.grad:
            raise RuntimeError(
                f"The function '{function}' is not differentiable with respect to argument '{name}'. This input cannot "
                "have requires_grad True."
            )
        if buffer._spec.dual and input._spec.dual and not training:
            raise RuntimeError(
                "batch_norm is not differentiable wrt running_mean and running_var, they cannot have forward grad "
                "defined"
            )
        if thread.levels and training and not set(mapping(input)).issubset(mapping(buffer)):
            raise RuntimeError(UNSHARED)


def renew(buffer: Tensor, value: Tensor, counted: bool = False) -> None:
    """Put a new value into a buffer; as in PyTorch, the buffer's version mostly does not count this write.

    Inside function transforms it is made to what the buffer was lifted from, without history. Where there is one buffer
    for several values, these are the same.
    """
    if thread.levels:
        _renew_outside(buffer, value, counted)
    elif counted:
        write(buffer, value_of(value))
    elif buffer._storage is None:
        buffer._value = value_of(value)
    else:
        put(buffer, value_of(value))


def _renew_outside(buffer: Tensor, value: Tensor, counted: bool) -> None:
    """``renew``, one level further out."""
    level, base = thread.levels[-1], buffer._base
    (below, several), (given, examples) = lower(buffer, level), lower(value, level)
    with level.outside(), switched(grad=False):
        if base is not None and base._spec.level != level.depth:  # it was captured, and a view of it was made here
            below = window_on(base, geometry_of(buffer))
        if several and not examples:
            given = broadcast_to(given, shape=tuple(below.shape))
        renew(below, given.select(0, 0) if examples and not several else given, counted)


@public("nn.functional", asks="nobody")
def _verify_batch_size(size: Sequence[int]) -> None:
    """Refuse a batch that has one value of each channel. Raises ValueError."""
    _refuse_single_values(_values_per_channel(size), str(size))


@public("nn.functional", asks="nobody")
def _verify_spatial_size(size: Sequence[int]) -> None:
    """Refuse examples that have one value of each channel. Raises ValueError."""
    if math.prod(size[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {size}")


def _refuse_single_values(per_channel: int, size: str) -> None:
    if per_channel == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


def _values_per_channel(shape: Sequence[int]) -> int:
    count = shape[0]
    for length in shape[2:]:
        count *= length
    return count


@public("nn.functional")
def batch_norm(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None,
    bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Each channel (dimension 1) less its mean, over its standard deviation, times ``weight``, plus ``bias``.

    Args:
        input: floats (batch, channels, *space).
        running_mean: (channels,); used instead of the batch's mean outside training.
        running_var: (channels,); used instead of the batch's variance outside training.
        weight: (channels,); 1 by default.
        bias: (channels,); 0 by default.
        training: whether to use the batch's statistics. The running ones, if given, move towards them in place (the
            variance unbiased).
        momentum: how far they move, from 0 to 1.
        eps: added to the variance.

    The method is from Ioffe and Szegedy, "Batch Normalization" (2015).

    Raises:
        ValueError: training on one value per channel; a negative ``eps``, or 0 in training; one running statistic
            without the other.
        RuntimeError: no running statistics outside training; shapes or dtypes that don't fit.
        TypeError: a ``momentum`` that is no number.

    >>> x, mean, var = torch.tensor([[0.0], [2.0]]), torch.zeros(1), torch.ones(1)
    >>> torch.nn.functional.batch_norm(x, mean, var, training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    >>> mean, var
    (tensor([0.1000]), tensor([1.1000]))
    """
    if training:
        _refuse_single_values(_values_per_channel(input.shape), str(input.shape))
    if eps < 0.0 or (training and eps == 0.0):
        bound = "positive during training" if training else "non-negative"
        raise ValueError(f"batch_norm eps must be {bound}, but got {eps}")
    if not isinstance(momentum, (int, float)):
        raise TypeError(f"batch_norm(): argument 'momentum' (position 7) must be float, not {type(momentum).__name__}")
    if not input._spec.numel:
        return _of_nothing(input, weight, bias)
    if input.ndim < 2 and running_mean is not None:
        raise RuntimeError(f"running_mean should contain 0 elements not {running_mean._spec.numel}")
    if training:
        return _batch_norm_training(input, running_mean, running_var, weight, bias, momentum, eps)
    require_statistics(running_mean, running_var)
    check_statistics("native_batch_norm", input, running_mean, running_var, False)
    return normalization.batch_norm_inference(input, weight, bias, running_mean, running_var, eps=float(eps))


def _of_nothing(input: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """The normalization of no elements; weight and bias take part in the graph, by their first element."""
    out: Any = input.clone()
    out = out if weight is None else out * weight.select(0, 0)
    return out if bias is None else out + bias.select(0, 0)


def _batch_norm_training(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None, bias: Tensor | None,
    momentum: float, eps: float,
) -> Tensor:  # fmt: skip
    wrap_dim(1, input.ndim)
    check_statistics("native_batch_norm", input, running_mean, running_var, True)
    arguments = (input, weight, bias, running_mean, running_var, float(momentum))
    with while_writing(saves_results=True) as block:
        out, new_mean, new_var = normalization.batch_norm(*arguments, eps=float(eps))
        if running_mean is not None and running_var is not None and not block.replayed:
            renew(running_mean, new_mean)
            renew(running_var, new_var)
    return out


@public("nn.functional")
def instance_norm(
    input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None,
    bias: Tensor | None = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Each channel of each element of the batch less its mean, over its standard deviation, times ``weight``, plus
    ``bias``.

    Args:
        input: floats (batch, channels, *space).
        running_mean: (channels,), or None.
        running_var: (channels,), or None.
        weight: (channels,); 1 by default.
        bias: (channels,); 0 by default.
        use_input_stats: use the input's statistics. The running ones, if given, move towards their means over the
            batch. With False, the running ones are used.
        momentum: how far the running ones move, from 0 to 1.
        eps: added to the variance.

    Raises:
        ValueError: one element of space only.
        RuntimeError: no running statistics, where they are needed; shapes that don't fit.

    >>> torch.nn.functional.instance_norm(torch.tensor([[[0.0, 2.0], [0.0, 20.0]]]), eps=0.0)
    tensor([[[-1.,  1.],
             [-1.,  1.]]])
    """
    if use_input_stats:
        _verify_spatial_size(input.shape)
    elif running_mean is None or running_var is None:
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    check_statistics("native_batch_norm", input, running_mean, running_var, use_input_stats)
    batch, channels, *space_shape = input.shape
    repeated = [None if one is None else _repeated(one, batch) for one in (weight, bias, running_mean, running_var)]
    x = reshaped(input, (1, batch * channels, *space_shape))
    if weight is None and bias is None and input.dtype in _FULL:
        repeated[2:] = _in_dtype_of(input, *repeated[2:])
    if not use_input_stats:
        return view(normalization.batch_norm_inference(x, *repeated, eps=float(eps)), shape=tuple(input.shape))
    out, new_mean, new_var = normalization.batch_norm(x, *repeated, float(momentum), eps=float(eps))
    with switched(grad=False):
        for buffer, new in ((running_mean, new_mean), (running_var, new_var)):
            if buffer is not None:
                average = reductions.mean(view(new, shape=(batch, channels)), axis=(0,), keepdims=False)
                renew(buffer, average, counted=True)
    return view(out, shape=tuple(input.shape))


_FULL = (float32, float64)
"""The dtypes of inputs without weights whose running statistics may have another one."""


def _in_dtype_of(input: Tensor, *statistics: Tensor | None) -> list[Tensor | None]:
    """Running statistics that share a dtype in that of the input."""
    if len({one.dtype for one in statistics if one is not None}) != 1:
        return [*statistics]
    return [one if one is None or one.dtype is input.dtype else cast(one, dtype=input.dtype) for one in statistics]


def _repeated(parameter: Tensor, batch: int) -> Tensor:
    """A number for each channel, once for each element of the batch."""
    channels = parameter.shape[0]
    return view(broadcast_to(parameter, shape=(batch, channels)), shape=(batch * channels,))


def normalized_axes(input: Tensor, normalized_shape: Any, function: str) -> tuple[int, ...]:
    """The last dimensions, which must have this shape."""
    if not isinstance(normalized_shape, (tuple, list)):
        raise TypeError(
            f"{function}(): argument 'normalized_shape' (position 2) must be tuple of ints, not "
            f"{type(normalized_shape).__name__}"
        )
    count = len(normalized_shape)
    if count == 0:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    shape = list(normalized_shape)
    if input.ndim < count or list(input.shape[-count:]) != shape:
        shown = ", ".join(map(str, shape))
        star = "*" if function == "rms_norm" else "*, "
        raise RuntimeError(
            f"Given normalized_shape={shape}, expected input with shape [{star}{shown}], but got input of "
            f"size{list(input.shape)}"
        )
    return tuple(range(input.ndim - count, input.ndim))


@public("nn.functional", is_settled=True)
def layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """The input less its mean, over its standard deviation, both over the last dimensions (which must be
    ``normalized_shape``), times ``weight``, plus ``bias``, of that shape.

    Raises:
        RuntimeError: shapes or dtypes that don't fit.
        NotImplementedError: integers or complex numbers.

    >>> torch.nn.functional.layer_norm(torch.tensor([[1.0, 3.0]]), (2,), eps=0.0)
    tensor([[-1.,  1.]])
    """
    axes = normalized_axes(input, normalized_shape, "layer_norm")
    return normalization.layer_norm(input, weight, bias, axes=axes, eps=float(eps))


@public("torch", name="layer_norm")
def torch_layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None,
    eps: float = 1e-5, cudnn_enable: bool = True,
) -> Tensor:  # fmt: skip
    """See ``torch.nn.functional.layer_norm``.

    Args:
        normalized_shape, weight, bias, eps: as there.
        cudnn_enable: changes nothing.

    >>> torch.layer_norm(torch.tensor([[1.0, 3.0]]), (2,)).round()
    tensor([[-1.,  1.]])
    """
    return layer_norm(input, normalized_shape, weight, bias, eps)


@public("nn.functional", "torch")
def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """The input over the root mean square of its last dimensions, times ``weight``.

    ``normalized_shape`` are the lengths of these dimensions, and the shape of ``weight``. ``eps`` is added to the mean
    of the squares; without it, it is the dtype's. From Zhang and Sennrich, "Root Mean Square Layer Normalization"
    (2019).

    Raises:
        RuntimeError: shapes that don't fit.
        NotImplementedError: integers or complex numbers.

    >>> torch.nn.functional.rms_norm(torch.tensor([[3.0, 4.0]]), (2,), eps=0.0)
    tensor([[0.8485, 1.1314]])
    """
    axes = normalized_axes(input, normalized_shape, "rms_norm")
    if eps is None:
        dtype = input.dtype
        eps = finfo(dtype if dtype.category >= 2 and dtype.itemsize > 2 else float32).eps
    if input.dtype.is_complex:  # of squares, not of squared sizes, as in PyTorch
        x: Any = input
        x = x.contiguous() * ((x * x).mean(axes, keepdim=True) + float(eps)).rsqrt()
        return x if weight is None else x * weight
    return normalization.rms_norm(input, weight, axes=axes, eps=float(eps))


def _check_groups(num_groups: int) -> None:
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")


@public("nn.functional")
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """The input less its mean, over its standard deviation, both over each of ``num_groups`` groups of channels and
    over space, times ``weight``, plus ``bias``, of one number for each channel.

    ``input`` is (batch, channels, *space), ``weight`` and ``bias`` are (channels,); ``eps`` is added to the variance.
    From Wu and He, "Group Normalization" (2018).

    Raises:
        ValueError: one value for each group in the whole batch.
        RuntimeError: channels that can't be grouped so; shapes or dtypes that don't fit.

    >>> torch.nn.functional.group_norm(torch.tensor([[0.0, 2.0, 0.0, 20.0]]), num_groups=2, eps=0.0)
    tensor([[-1.,  1., -1.,  1.]])
    """
    if input.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    per_group = input.shape[0] * input.shape[1] // num_groups
    for length in input.shape[2:]:
        per_group *= length
    _refuse_single_values(per_group, str([input.shape[0] * input.shape[1] // num_groups, num_groups, *input.shape[2:]]))
    _check_groups(num_groups)
    if input.shape[1] % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={num_groups}"
        )
    return normalization.group_norm(input, weight, bias, groups=num_groups, eps=float(eps))


@public("torch", name="group_norm")
def torch_group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:  # fmt: skip
    """See ``torch.nn.functional.group_norm``.

    Args:
        num_groups, weight, bias, eps: as there.
        cudnn_enabled: changes nothing.

    >>> torch.group_norm(torch.tensor([[1.0, 3.0]]), 1).round()
    tensor([[-1.,  1.]])
    """
    _check_groups(num_groups)
    return group_norm(input, num_groups, weight, bias, eps)


@public("nn.functional")
def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """The input over ``(k + alpha * mean) ** beta``, with the mean of the squares of ``size`` neighbouring channels.

    ``input`` is (batch, channels, *space). Beyond the ends there are zeros, which count. From Krizhevsky et al.,
    "ImageNet Classification with Deep Convolutional Neural Networks" (2012), with a mean in the place of a sum.

    Raises:
        ValueError: fewer than three dimensions.

    >>> x = torch.ones(1, 3, 1)
    >>> torch.nn.functional.local_response_norm(x, size=3, alpha=3.0, beta=1.0, k=1.0).flatten()
    tensor([0.3333, 0.2500, 0.3333])
    """
    if input.ndim < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality                          input (got {input.ndim} dimensions)"
        )
    channels = input.shape[1]
    window = Sampling("window", channels, kernel=size, low=size // 2, divisor=size)
    squares = arithmetic.mul(input, input)
    if not input._spec.numel:
        return input
    refuse_dtypes("avg_pool2d" if input.ndim == 3 else "avg_pool3d_out_frame", squares._spec, bool=True,
                  integral=squares.dtype is not int64, complex=True)  # fmt: skip
    flat = view(squares, shape=(input.shape[0], 1, channels, squares._spec.numel // (input.shape[0] * channels)))
    whole = Sampling("window", flat.shape[-1])
    means = view(resampling.AVERAGES[2](flat, samplings=(window, whole)), shape=tuple(input.shape))
    return arithmetic.div(input, unary.power(arithmetic.add(arithmetic.mul(means, alpha), k), exponent=beta))
