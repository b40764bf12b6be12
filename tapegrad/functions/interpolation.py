"""Interpolation, and planes as columns of windows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from tapegrad.execution.sizes import check_size
from tapegrad.functions.pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from tapegrad.functions.registry import public
from tapegrad.functions.windows import several
from tapegrad.ops import patches, resampling
from tapegrad.ops.checks import refuse_dtypes
from tapegrad.ops.resampling import Sampling
from tapegrad.tensor.tensor import Tensor

KINDS = {
    ("nearest", 3): "nearest", ("nearest", 4): "nearest", ("nearest", 5): "nearest",
    ("nearest-exact", 3): "nearest-exact", ("nearest-exact", 4): "nearest-exact", ("nearest-exact", 5): "nearest-exact",
    ("linear", 3): "linear", ("bilinear", 4): "linear", ("trilinear", 5): "linear", ("bicubic", 4): "cubic",
    ("area", 3): "area", ("area", 4): "area", ("area", 5): "area",
}  # fmt: skip
"""The kind of a ``Sampling``, by mode and number of dimensions."""

AREAS = {3: adaptive_avg_pool1d, 4: adaptive_avg_pool2d, 5: adaptive_avg_pool3d}


@public("nn.functional")
def interpolate(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None, antialias: bool = False,
) -> Tensor:  # fmt: skip
    """The input (batch, channels, *space) in another size of space, or scaled by a factor.

    ``mode`` is ``"nearest"``, ``"nearest-exact"``, ``"linear"`` (``"bilinear"``, ``"trilinear"``), ``"bicubic"`` or
    ``"area"``; ``align_corners`` puts corner elements onto corner elements; ``antialias`` widens the filter when the
    result is smaller.

    Raises:
        ValueError: both of ``size`` and ``scale_factor`` or none; numbers that don't fit the dimensions.
        NotImplementedError: a mode that the number of dimensions doesn't have.
        RuntimeError: empty sizes.
    """
    if mode in ("nearest", "area", "nearest-exact") and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    align = bool(align_corners)
    sizes, scales = _sizes(input, size, scale_factor, recompute_scale_factor)
    if antialias and not (mode in ("bilinear", "bicubic") and input.ndim == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    kind = KINDS.get((mode, input.ndim))
    if kind is None:
        raise NotImplementedError(_no_such_mode(mode, input.ndim))
    if kind == "area":
        return AREAS[input.ndim](input, sizes if input.ndim > 3 else sizes[0])
    _check_sizes(input, sizes)
    dims = input.ndim - 2
    name = f"{'upsample_' + mode if mode != 'nearest-exact' else '_upsample_nearest_exact'}{dims}d"
    if mode.startswith("nearest") and dims == 2:
        name += "_channels_last"
    refuse_dtypes(name, input._spec, bool=True, integral=input.dtype.name != "uint8", complex=True)
    check_size((*input.shape[:2], *sizes), input.dtype.itemsize, input.device.type)
    kind += "-antialias" if antialias else ""
    samplings = tuple(
        Sampling(kind, length, scale=scale, align=align) for length, scale in zip(sizes, scales, strict=True)
    )
    return resampling.INTERPOLATIONS[kind, dims](input, samplings=samplings)


def _sizes(
    input: Tensor, size: Any, scale_factor: Any, recompute: bool | None
) -> tuple[tuple[int, ...], tuple[float | None, ...]]:
    """The lengths of the result, and the factors that say where its elements lie (None: the lengths say it)."""
    dims = max(input.ndim - 2, 0)
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if size is not None:
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        return _given_sizes(input, size, dims), (None,) * dims
    if isinstance(scale_factor, (tuple, list)):
        if len(scale_factor) != dims:
            raise ValueError(
                "Input and scale_factor must have the same number of spatial dimensions, but got input with spatial "
                f"dimensions of {list(input.shape[2:])} and scale_factor of shape {scale_factor}. Please provide input "
                "tensor in (N, C, d1, d2, ...,dK) format and scale_factor in (s1, s2, ...,sK) format."
            )
        factors = tuple(map(float, scale_factor))
    else:
        factors = (float(scale_factor),) * dims
    sizes = tuple(math.floor(length * factor) for length, factor in zip(input.shape[2:], factors, strict=True))
    return sizes, (None,) * dims if recompute else factors


def _given_sizes(input: Tensor, size: Any, dims: int) -> tuple[int, ...]:
    if not isinstance(size, (tuple, list)):
        return (size,) * dims
    if len(size) != dims:
        raise ValueError(
            "Input and output must have the same number of spatial dimensions, but got input with spatial dimensions "
            f"of {list(input.shape[2:])} and output size of {size}. Please provide input tensor in (N, C, d1, d2, "
            "...,dK) format and output size in (o1, o2, ...,oK) format."
        )
    return tuple(size)


def _no_such_mode(mode: str, ndim: int) -> str:
    needs = {"linear": 3, "bilinear": 4, "trilinear": 5}.get(mode)
    if needs is not None and ndim in (3, 4, 5):
        return f"Got {ndim}D input, but {mode} mode needs {needs}D input"
    return (
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {ndim}D) for the modes: nearest | linear | "
        f"bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got {mode})"
    )


def _check_sizes(input: Tensor, sizes: Sequence[int]) -> None:
    lengths = input.shape[2:]
    if any(length <= 0 for length in (*lengths, *sizes)):
        names = {1: "W", 2: "HW", 3: "DHW"}[len(sizes)]

        def shown(numbers: Sequence[int]) -> str:
            return ", ".join(f"{name}: {number}" for name, number in zip(names, numbers, strict=True))

        between = " and" if len(sizes) == 1 else ""
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input ({shown(lengths)}){between} output "
            f"({shown(sizes)})"
        )
    if input.shape[1] == 0:
        raise RuntimeError(
            f"Non-empty {input.ndim}D data tensor expected but got a tensor with sizes {list(input.shape)}"
        )


@public("nn.functional")
def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """The old name of ``interpolate``."""
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=3)
    return interpolate(input, size, scale_factor, mode, align_corners)


@public("nn.functional")
def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """``interpolate`` with ``mode="nearest"``, under its old name."""
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=3
    )
    return interpolate(input, size, scale_factor, mode="nearest")


@public("nn.functional")
def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """``interpolate`` with ``mode="bilinear"`` and aligned corners, under its old name."""
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=3
    )
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


# -- windows as columns ------------------------------------------------------------------------------------------------


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

    Raises:
        RuntimeError: another number of dimensions; sizes that leave no window.
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

    Raises:
        RuntimeError: shapes and sizes that don't fit.
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
