"""Windows of planes as columns, and back: ``unfold`` and ``fold``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad.bindings.registry import public
from tapegrad.bindings.windows import several
from tapegrad.ops import patches
from tapegrad.ops.checks import refuse_dtypes
from tapegrad.ops.resampling import Sampling
from tapegrad.tensor.tensor import Tensor


def _numbers(value: Any, name: str) -> tuple[int, int]:
    if isinstance(value, (tuple, list)) and len(value) not in (1, 2):
        raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(value)}")
    first, second = several("unfold", name, value, 2)
    return first, second


def _windows(
    lengths: Sequence[int], kernel_size: Any, dilation: Any, padding: Any, stride: Any
) -> tuple[tuple[Sampling, Sampling], dict[str, tuple[int, int]]]:
    """The windows along both dimensions, and the numbers that they are made of."""
    numbers = {"kernel_size": _numbers(kernel_size, "kernel_size"), "dilation": _numbers(dilation, "dilation"),
               "padding": _numbers(padding, "padding"), "stride": _numbers(stride, "stride")}  # fmt: skip
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
    return (samplings[0], samplings[1]), numbers


@public("nn.functional")
def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Every window of a plane as a column: (batch, channels, height, width) to (batch, channels * taps, windows).

    The batch may be left out of ``input``. ``kernel_size``, the distance ``dilation`` of a window's elements, the zeros
    ``padding`` at each side and the distance ``stride`` of windows are ints, or pairs.

    Raises:
        RuntimeError: another number of dimensions; sizes that leave no window.

    >>> import tapegrad as torch
    >>> torch.nn.functional.unfold(torch.arange(6.0).view(1, 2, 3), kernel_size=2)
    tensor([[0., 1.],
            [1., 2.],
            [3., 4.],
            [4., 5.]])
    """
    if input.ndim not in (3, 4) or 0 in input.shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, "
            f"but got: {list(input.shape)}"
        )
    samplings, numbers = _windows(input.shape[-2:], kernel_size, dilation, padding, stride)
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

    >>> import tapegrad as torch
    >>> columns = torch.nn.functional.unfold(torch.ones(1, 2, 3), kernel_size=2)
    >>> torch.nn.functional.fold(columns, output_size=(2, 3), kernel_size=2)
    tensor([[[1., 2., 1.],
             [1., 2., 1.]]])
    """
    lengths = _numbers(output_size, "output_size")
    if input.ndim not in (2, 3) or 0 in input.shape[-2:]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
            f"input, but got: {list(input.shape)}"
        )
    samplings, numbers = _windows(lengths, kernel_size, dilation, padding, stride)
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
