"""Convolutions and transposed convolutions of one, two and three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.naming import renamed
from tapegrad._src.bindings.windows import hashable
from tapegrad._src.caches import tabulated
from tapegrad._src.functions.shape import squeeze, unsqueeze
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.errors import warn_once
from tapegrad.ops import convolution as conv
from tapegrad.ops.shape import permute

Sizes = Any
"""An int, or one for each dimension of space."""


def expanded(value: Any, count: int, name: str) -> tuple[int, ...]:
    """An int, or a sequence of one or ``count`` of them, as a tuple of ``count``.
    Raises RuntimeError: another number of them.
    """
    if isinstance(value, int):
        return (value,) * count
    if len(value) == 1:
        return tuple(value) * count
    if len(value) != count:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {count} values to match the convolution "
            f"dimensions, but got {name}={list(value)}"
        )
    return tuple(value)


def _check_numbers(padding: Any, output_padding: Any, stride: Any, dilation: Any, groups: int) -> None:
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if any(number < 0 for number in padding):
        raise RuntimeError("negative padding is not supported")
    if any(number < 0 for number in output_padding):
        raise RuntimeError("negative output_padding is not supported")
    if any(number <= 0 for number in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(number <= 0 for number in dilation):
        raise RuntimeError(f"dilation should be greater than zero, but got {list(dilation)}")


def _check_groups(weight: Sequence[int], groups: int) -> None:
    if weight[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size "
            f"[{list(weight)}] instead"
        )
    if weight[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of "
            f"size [{list(weight)}] instead"
        )


def _check_channels(
    x: Sequence[int], weight: Sequence[int], bias: Sequence[int] | None, channels: int, outputs: int, given: str
) -> None:
    if x[1] != channels:
        raise RuntimeError(
            f"Given {given}, weight of size {list(weight)}, expected input{list(x)} to have {channels} channels, but "
            f"got {x[1]} channels instead"
        )
    if bias is not None and tuple(bias) != (outputs,):
        given = "transposed=1, " if given.startswith("transposed") else ""
        raise RuntimeError(
            f"Given {given}weight of size {list(weight)}, expected bias to be 1-dimensional with {outputs} elements, "
            f"but got bias of size {list(bias)} instead"
        )


def _dimensions(x: Sequence[int], weight: Sequence[int], same: bool = False) -> int:
    """The number of dimensions that a weight is moved along. Raises RuntimeError: too few, or other than the input
    has."""
    if len(weight) < 3:
        raise RuntimeError("weight should have at least three dimensions")
    if len(weight) != len(x):
        gap = "" if same else " "
        raise RuntimeError(
            f"Expected {len(weight)}-dimensional input for {len(weight)}-dimensional weight{gap}{list(weight)}, but "
            f"got {len(x)}-dimensional input of size {list(x)} instead"
        )
    return len(weight) - 2


def _by(lengths: Sequence[int]) -> str:
    return " x ".join(map(str, lengths))


@tabulated(4096)
def _settings(
    x: tuple[int, ...], weight: tuple[int, ...], bias: tuple[int, ...] | None, stride: Any, padding: Any, dilation: Any,
    groups: int,
) -> dict:  # fmt: skip
    """The operator's settings for these shapes and arguments, after all of PyTorch's checks of them."""
    count = _dimensions(x, weight)
    stride, dilation = expanded(stride, count, "stride"), expanded(dilation, count, "dilation")
    if isinstance(padding, str):
        pairs = _named_padding(padding, weight[2:], stride, dilation)
    else:
        pairs = tuple((one, one) for one in expanded(padding, count, "padding"))
    _check_numbers([low for low, _ in pairs], (), stride, dilation, groups)
    _check_groups(weight, groups)
    _check_channels(x, weight, bias, weight[1] * groups, weight[0], f"groups={groups}")
    padded = [length + low + high for length, (low, high) in zip(x[2:], pairs, strict=True)]
    kernel = [d * (k - 1) + 1 for k, d in zip(weight[2:], dilation, strict=True)]
    if any(length < size for length, size in zip(padded, kernel, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({_by(padded)}). Kernel size: ({_by(kernel)}). Kernel size "
            "can't be greater than actual input size"
        )
    return {"stride": stride, "padding": pairs, "dilation": dilation, "groups": groups}


def _named_padding(padding: str, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> tuple:
    if padding == "valid":
        return ((0, 0),) * len(kernel)
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if any(number != 1 for number in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    totals = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    return tuple((total // 2, total - total // 2) for total in totals)


@tabulated(4096)
def _transposed_settings(
    x: tuple[int, ...], weight: tuple[int, ...], bias: tuple[int, ...] | None, stride: Any, padding: Any,
    output_padding: Any, groups: int, dilation: Any,
) -> dict:  # fmt: skip
    count = _dimensions(x, weight)
    stride, dilation = expanded(stride, count, "stride"), expanded(dilation, count, "dilation")
    padding = expanded(padding, count, "padding")
    output_padding = expanded(output_padding, count, "output_padding")
    _check_numbers(padding, output_padding, stride, dilation, groups)
    _check_groups(weight, groups)
    _check_channels(x, weight, bias, weight[0], weight[1] * groups, "transposed=1")
    sizes = [
        (length - 1) * s - 2 * p + d * (k - 1) + o + 1
        for length, s, p, d, k, o in zip(x[2:], stride, padding, dilation, weight[2:], output_padding, strict=True)
    ]
    _check_output(x[2:], sizes, stride, output_padding, dilation)
    pairs = tuple((one, one) for one in padding)
    return {"output_size": tuple(sizes), "stride": stride, "padding": pairs, "dilation": dilation, "groups": groups}


def _check_output(
    lengths: Sequence[int], sizes: Sequence[int], stride: Sequence[int], output_padding: Sequence[int],
    dilation: Sequence[int],
) -> None:  # fmt: skip
    """Refuse what a transposed convolution makes too long, or nothing of. To PyTorch sequences are images, 1 high."""
    if len(stride) == 1:
        lengths, sizes, stride, dilation = ((1, *values) for values in (lengths, sizes, stride, dilation))
        output_padding = (0, *output_padding)
    if any(o >= s and o >= d for o, s, d in zip(output_padding, stride, dilation, strict=True)):
        names = ["depth", "height", "width"][-len(stride) :]
        numbers = {"output_padding": output_padding, "stride": stride, "dilation": dilation}
        got = " ".join(
            f"{key}_{name}: {number}"
            for key, values in numbers.items()
            for name, number in zip(names, values, strict=True)
        )
        raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got {got}")
    if any(size < 1 for size in sizes):
        raise RuntimeError(
            f"Given input size per channel: ({_by(lengths)}). Calculated output size per channel: ({_by(sizes)}). "
            "Output size is too small"
        )


def _convolved(
    name: str, count: int, input: Tensor, weight: Tensor, bias: Tensor | None, arguments: tuple, *, transposed: bool
) -> Tensor:
    """Add the batch that an unbatched input lacks, find the settings, and take it away again."""
    if input.ndim not in (count + 1, count + 2):
        raise RuntimeError(
            f"Expected {count + 1}D (unbatched) or {count + 2}D (batched) input to {name}, but got input of size: "
            f"{list(input.shape)}"
        )
    arguments = tuple(map(hashable, arguments))
    if arguments[1] == "same" or weight.ndim < 3:
        _dimensions(input.shape if input.ndim == count + 2 else (1, *input.shape), weight.shape, same=True)
    if weight.ndim != count + 2:
        expanded((arguments[0],) * count if isinstance(arguments[0], int) else arguments[0], weight.ndim - 2, "stride")
    x = input if input.ndim == count + 2 else unsqueeze(input, 0)
    find = _transposed_settings if transposed else _settings
    both = (conv.conv_transpose, conv.complex_conv_transpose) if transposed else CONVOLUTIONS
    operator = both[input.dtype.is_complex]
    settings = find(tuple(x.shape), tuple(weight.shape), None if bias is None else tuple(bias.shape), *arguments)
    if arguments[1] == "same" and any(low != high for low, high in settings["padding"]):
        warn_once(
            "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the "
            "input be created"
        )
    y = operator(x, weight, bias, **settings)
    return y if x is input else squeeze(y, 0)


@public("torch", "nn.functional", native=True, is_settled=True)
def conv1d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1, padding: Any = 0, dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:  # fmt: skip
    """The cross-correlation of (batch, in, length), or (in, length), with a weight (out, in / groups, kernel).

    Args:
        input: (batch, in, length), or without the batch.
        weight: (out, in / groups, kernel), of the input's dtype.
        bias: (out,), added to each channel.
        stride: how far the windows are apart: an int, or a tuple of one, like ``dilation``.
        padding: how many zeros are put at both ends; ``"valid"`` (none), or ``"same"`` (so that the length stays, which
            asks for a stride of 1).
        dilation: how far a window's elements are apart.
        groups: into how many groups the channels are cut; each group of outputs sees its group of inputs only.

    The result has ``(length + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1`` elements in its last
    dimension.

    Raises:
        RuntimeError: shapes, dtypes or settings that don't fit.

    >>> torch.nn.functional.conv1d(torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([[[1.0, -1.0]]]))
    tensor([[-1., -1.]])
    """
    return _convolved("conv1d", 1, input, weight, bias, (stride, padding, dilation, groups), transposed=False)


@public("torch", "nn.functional", native=True, is_settled=True)
def conv2d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1, padding: Any = 0, dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:  # fmt: skip
    """The cross-correlation of (batch, in, height, width) with a weight (out, in / groups, *kernel). See ``conv1d``.

    The batch may be left out of ``input``; ``bias`` is (out,). ``stride``, ``padding`` and ``dilation`` are ints, or
    pairs for height and width; ``padding`` may be ``"valid"`` or ``"same"``.

    Raises:
        RuntimeError: shapes, dtypes or settings that don't fit.

    >>> torch.nn.functional.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2), stride=1).shape
    torch.Size([1, 1, 2, 2])
    """
    return _convolved("conv2d", 2, input, weight, bias, (stride, padding, dilation, groups), transposed=False)


@public("torch", "nn.functional", native=True)
def conv3d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1, padding: Any = 0, dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:  # fmt: skip
    """The cross-correlation of (batch, in, depth, height, width) with a weight (out, in / groups, *kernel). See
    ``conv1d``.

    The batch may be left out of ``input``; ``bias`` is (out,). ``stride``, ``padding`` and ``dilation`` are ints, or
    three of them; ``padding`` may be ``"valid"`` or ``"same"``.

    Raises:
        RuntimeError: shapes, dtypes or settings that don't fit.

    >>> torch.nn.functional.conv3d(torch.ones(1, 1, 3, 3, 3), torch.ones(2, 1, 3, 3, 3), padding="same").shape
    torch.Size([1, 2, 3, 3, 3])
    """
    return _convolved("conv3d", 3, input, weight, bias, (stride, padding, dilation, groups), transposed=False)


@public("torch", "nn.functional", native=True)
def conv_transpose1d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1, padding: Sizes = 0,
    output_padding: Sizes = 0, groups: int = 1, dilation: Sizes = 1,
) -> Tensor:  # fmt: skip
    """The transpose of ``conv1d``: what takes its outputs' gradients to its input's.

    Args:
        input: (batch, in, length), or without the batch.
        weight: (in, out / groups, kernel), of the input's dtype.
        bias: (out,), added to each channel.
        stride: how far the windows lie apart in the result: an int, or a tuple of one, like the numbers below.
        padding: how many elements are cut off at both ends.
        output_padding: how many more elements the result has at its end; fewer than ``stride`` or ``dilation``.
        groups: into how many groups the channels are cut.
        dilation: how far a window's elements are apart.

    The last dimension of the result has
    ``(length - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1`` elements.

    Raises:
        RuntimeError: shapes, dtypes or settings that don't fit.

    >>> torch.nn.functional.conv_transpose1d(torch.tensor([[1.0, 2.0]]), torch.tensor([[[1.0, 10.0]]]), stride=2)
    tensor([[ 1., 10.,  2., 20.]])
    """
    arguments = (stride, padding, output_padding, groups, dilation)
    return _convolved("conv_transpose1d", 1, input, weight, bias, arguments, transposed=True)


@public("torch", "nn.functional", native=True)
def conv_transpose2d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1, padding: Sizes = 0,
    output_padding: Sizes = 0, groups: int = 1, dilation: Sizes = 1,
) -> Tensor:  # fmt: skip
    """The transpose of ``conv2d``: ``input`` (batch, in, height, width), with a weight (in, out / groups, *kernel).

    ``bias`` is (out,). ``stride``, ``padding``, ``output_padding`` and ``dilation`` are ints, or pairs, with the
    meanings that they have in ``conv_transpose1d``.

    Raises:
        RuntimeError: shapes, dtypes or settings that don't fit.

    >>> torch.nn.functional.conv_transpose2d(torch.ones(1, 1, 3, 3), torch.ones(1, 2, 2, 2), stride=2).shape
    torch.Size([1, 2, 6, 6])
    """
    arguments = (stride, padding, output_padding, groups, dilation)
    return _convolved("conv_transpose2d", 2, input, weight, bias, arguments, transposed=True)


@public("torch", "nn.functional", native=True)
def conv_transpose3d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1, padding: Sizes = 0,
    output_padding: Sizes = 0, groups: int = 1, dilation: Sizes = 1,
) -> Tensor:  # fmt: skip
    """The transpose of ``conv3d``: ``input`` (batch, in, depth, height, width), a weight (in, out / groups, *kernel).

    ``bias`` is (out,). ``stride``, ``padding``, ``output_padding`` and ``dilation`` are ints, or three of them, with
    the meanings that they have in ``conv_transpose1d``.

    Raises:
        RuntimeError: shapes, dtypes or settings that don't fit.

    >>> torch.nn.functional.conv_transpose3d(torch.ones(1, 1, 2, 2, 2), torch.ones(1, 1, 2, 2, 2)).shape
    torch.Size([1, 1, 3, 3, 3])
    """
    arguments = (stride, padding, output_padding, groups, dilation)
    return _convolved("conv_transpose3d", 3, input, weight, bias, arguments, transposed=True)


CONVOLUTIONS = (conv.convolution, conv.complex_convolution)
"""Of real numbers, and of complex ones."""

@public("torch", "nn.functional", native=True)
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """``conv1d`` with the dimensions in another order.

    Args:
        input: (time, batch, in).
        weight: (kernel, in, out).
        bias: (out,).
        pad: how many zeros are put at both ends.

    Raises:
        RuntimeError: shapes that don't fit; more zeros taken off than there are.

    >>> torch.conv_tbc(torch.ones(3, 1, 1), torch.ones(2, 1, 1), torch.zeros(1)).flatten()
    tensor([2., 2.])
    """
    if input.ndim != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel")
    if weight.ndim != 3:
        raise RuntimeError("Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.")
    if bias.ndim != 1:
        raise RuntimeError("Bias must be 1-D")
    if input.shape[2] != weight.shape[1]:
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if bias.shape[0] != weight.shape[2]:
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    sequences: Any = conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return renamed(permute(sequences, axes=(2, 0, 1)), "ConvTbcBackward0")
