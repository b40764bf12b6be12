"""Windows of planes as columns, and back: ``unfold`` and ``fold``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._src.bindings.declaration.parser import type_name
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import patches
from tapegrad.ops.checks import refuse_dtypes
from tapegrad.ops.resampling import Sampling

IM2COL = ("im2col", "input", "kernel_size", "dilation", "padding", "stride")
COL2IM = ("col2im", "input", "output_size", "kernel_size", "dilation", "padding", "stride")
"""The names of functions and their arguments in PyTorch's messages, in their order."""


def _pair(signature: Sequence[str], name: str, value: Any) -> tuple[int, int]:
    """An int, or one or two of them, as two.
    Raises RuntimeError: another number of them. TypeError: no ints, or such as 64 bits don't hold.
    """
    given = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    if len(given) not in (1, 2):
        raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(given)}")
    for place, number in enumerate(given):
        where = f"{signature[0]}(): argument '{name}'"
        if not isinstance(number, (int, np.integer)) or (isinstance(number, bool) and not place):
            kind = f"must be tuple of ints, but found element of type {type_name(number)} at pos {place}"
            raise TypeError(f"{where} (position {signature.index(name)}) {kind}")
        if not -(2**63) <= number < 2**63:
            why = "Overflow when unpacking long long"
            raise TypeError(f'{where} failed to unpack the object at pos {place + 1} with error "{why}"')
    return int(given[0]), int(given[-1])


def _settings(signature: Sequence[str], **given: Any) -> dict[str, tuple[int, int]]:
    """The settings of windows, as pairs by name: judged before shapes are."""
    return {name: _pair(signature, name, value) for name, value in given.items()}


def _windows(lengths: Sequence[int], numbers: dict[str, tuple[int, int]]) -> tuple[Sampling, Sampling]:
    """The windows along both dimensions."""
    for name, shown in (("kernel_size", "kernel"), ("stride", "stride"), ("dilation", "dilation")):
        height, width = numbers[name]
        if height <= 0 or width <= 0:
            full = "kernel size" if name == "kernel_size" else shown
            raise RuntimeError(
                f"{full} should be greater than zero, but got {shown}_height: {height} {shown}_width: {width}"
            )
    if min(numbers["padding"]) < 0:
        height, width = numbers["padding"]
        raise RuntimeError(f"padding should be non-negative, but got pad_height: {height} pad_width: {width}")
    samplings = []
    for length, k, d, p, s in zip(lengths, *numbers.values(), strict=True):
        size = (length + 2 * p - d * (k - 1) - 1) // s + 1
        samplings.append(Sampling("window", size, kernel=k, stride=s, low=p, dilation=d, high=p))
    return samplings[0], samplings[1]


@public("nn.functional")
def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Every window of a plane as a column: (batch, channels, height, width) to (batch, channels * taps, windows).

    The batch may be left out of ``input``. ``kernel_size``, the distance ``dilation`` of a window's elements, the zeros
    ``padding`` at each side and the distance ``stride`` of windows are ints, or pairs.

    Raises:
        RuntimeError: another number of dimensions; sizes that leave no window.

    >>> torch.nn.functional.unfold(torch.arange(6.0).view(1, 2, 3), kernel_size=2)
    tensor([[0., 1.],
            [1., 2.],
            [3., 4.],
            [4., 5.]])
    """
    numbers = _settings(IM2COL, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)
    for dim in (1, 2):  # PyTorch looks at them before it counts them
        input.size(dim)
    if input.ndim not in (3, 4) or 0 in input.shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, "
            f"but got: {list(input.shape)}"
        )
    samplings = _windows(input.shape[-2:], numbers)
    sizes = tuple(sampling.size for sampling in samplings)
    if min(sizes) < 1:
        raise RuntimeError(
            f"Given input with spatial size {tuple(input.shape[-2:])}, kernel_size={numbers['kernel_size']}, "
            f"dilation={numbers['dilation']}, padding={numbers['padding']}, calculated shape of the array of sliding "
            f"blocks as {sizes}, but its components must be at least one."
        )
    refuse_dtypes("im2col_out_cpu", input._spec, integral=True)
    return patches.im2col(input, samplings=samplings)


@public("nn.functional")
def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Columns added to the windows of a plane: (batch, channels * taps, windows) to (batch, channels, *output_size).

    It is the transpose of ``unfold``: what several windows share is summed. The batch may be left out of ``input``.
    ``kernel_size``, ``dilation``, ``padding`` and ``stride`` are those of ``unfold``, and ``output_size`` the (height,
    width) of its input: ints, or pairs.

    Raises:
        RuntimeError: shapes and sizes that don't fit.

    >>> columns = torch.nn.functional.unfold(torch.ones(1, 2, 3), kernel_size=2)
    >>> torch.nn.functional.fold(columns, output_size=(2, 3), kernel_size=2)
    tensor([[[1., 2., 1.],
             [1., 2., 1.]]])
    """
    lengths = _pair(COL2IM, "output_size", output_size)
    numbers = _settings(COL2IM, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)
    if input.ndim not in (2, 3) or 0 in input.shape[-2:]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
            f"input, but got: {list(input.shape)}"
        )
    samplings = _windows(lengths, numbers)
    kernel = numbers["kernel_size"]
    depth_axis = input.ndim - 2
    if input.shape[depth_axis] % (kernel[0] * kernel[1]):
        raise RuntimeError(
            f"Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={input.shape[depth_axis]} and kernel_size={kernel}."
        )
    count = samplings[0].size * samplings[1].size
    if input.shape[-1] != count:
        raise RuntimeError(
            f"Given output_size={lengths}, kernel_size={kernel}, dilation={numbers['dilation']}, "
            f"padding={numbers['padding']}, stride={numbers['stride']}, expected size of input's dimension 2 to match "
            f"the calculated number of sliding blocks {samplings[0].size} * {samplings[1].size} = {count}, but got "
            f"input.size(2)={input.shape[-1]}."
        )
    return patches.col2im(input, samplings=samplings, lengths=lengths)
