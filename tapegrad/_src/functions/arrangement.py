"""PyTorch's vocabulary for copies of a tensor's elements: in another order, several times, with padding around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.bindings.arguments import refuse_large, shape_of_arguments, wrap_dim, wrap_dims
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.declaration.scalars import converted, unsupported
from tapegrad._src.bindings.layouts import in_row_major_order, laid_out
from tapegrad._src.execution.data.dtypes import BOOL
from tapegrad._src.functions.shape import expanded, flatten, ravel, unsqueeze
from tapegrad._src.tensor.geometry import preserved_strides
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import arrangement
from tapegrad.ops import shape as ops

# -- several times -----------------------------------------------------------------------------------------------------


def _repeated(input: Tensor, repeats: tuple[int, ...]) -> Tensor:
    lengths = (1,) * (len(repeats) - input.ndim) + tuple(input.shape)
    target = [count * length for count, length in zip(repeats, lengths, strict=True)]
    if min(repeats, default=0) < 0:
        negative = next(length for count, length in zip(repeats, target, strict=True) if count < 0)
        raise RuntimeError(f"Trying to create tensor with negative dimension {negative}: {target}")
    return arrangement.repeat(input, repeats=repeats)


@public("Tensor")
def repeat(self: Tensor, *args: Any, repeats: Any = None) -> Tensor:
    """The tensor laid side by side, so many times along each dimension (there may be new dimensions in front).

    Args:
        repeats: the counts, one by one or as one tuple; at least one for each dimension.

    Raises:
        RuntimeError: fewer counts than dimensions, or a negative one.
        TypeError: no counts.

    >>> torch.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    if not args and repeats is None:
        raise TypeError('repeat() missing 1 required positional arguments: "repeats"')
    counts = shape_of_arguments(args or (repeats,))
    if len(counts) < self.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    return _repeated(self, counts)


@public("torch", "Tensor")
def tile(input: Tensor, *args: Any, dims: Any = None) -> Tensor:
    """``input`` laid side by side; counts belong to the last dimensions, missing ones are 1.

    Args:
        dims: the counts, one by one or as one tuple.

    >>> torch.tile(torch.tensor([[1, 2]]), (2,))
    tensor([[1, 2, 1, 2]])
    """
    counts = shape_of_arguments(args if dims is None else (dims,))
    return _repeated(input, (1,) * (input.ndim - len(counts)) + counts)


def repeat_each(input: Tensor, repeats: int, dim: int | None) -> Tensor:
    """Every item of a dimension (of all elements in a row for None) ``repeats`` times in succession."""
    if repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    if dim is None:
        input, dim = ravel(input), 0
    axis = wrap_dim(dim, input.ndim)
    wide = unsqueeze(input, axis + 1)
    copies = ops.clone(expanded(wide, (*wide.shape[: axis + 1], repeats, *wide.shape[axis + 2 :])))
    return flatten(in_row_major_order(copies), axis, axis + 1)


# -- in another order --------------------------------------------------------------------------------------------------


@public("torch", "Tensor", is_settled=True)
def flip(input: Tensor, *args: Any, dims: Any = None) -> Tensor:
    """``input`` with the order of the items of some dimensions reversed.

    Args:
        dims: the dimensions, one by one or as one tuple.

    Raises:
        TypeError: no dimensions.
        IndexError: one that is out of range.
        RuntimeError: a dimension twice.

    >>> torch.flip(torch.tensor([[1, 2], [3, 4]]), (1,))
    tensor([[2, 1],
            [4, 3]])
    """
    if not args and dims is None:
        raise TypeError('flip() missing 1 required positional arguments: "dims"')
    wanted = shape_of_arguments(args or (dims,))
    return arrangement.flip(input, axes=wrap_dims(wanted, input.ndim) if wanted else ())


@public("torch", "Tensor")
def fliplr(input: Tensor) -> Tensor:
    """``input`` with its columns (dimension 1) reversed.

    Raises:
        RuntimeError: fewer than two dimensions.
    """
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return arrangement.flip(input, axes=(1,))


@public("torch", "Tensor")
def flipud(input: Tensor) -> Tensor:
    """``input`` with its rows (dimension 0) reversed.

    Raises:
        RuntimeError: no dimensions.
    """
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return arrangement.flip(input, axes=(0,))


@public("torch", "Tensor", is_settled=True)
def roll(input: Tensor, shifts: Any, dims: Any = ()) -> Tensor:
    """``input`` with the items of ``dims`` (or of all elements in a row) moved on cyclically by ``shifts``.

    Raises:
        RuntimeError: no ``shifts``, or not as many as ``dims``.
        IndexError: a dimension out of range.

    >>> torch.roll(torch.tensor([1, 2, 3]), 1)
    tensor([3, 1, 2])
    """
    shifts = (shifts,) if isinstance(shifts, int) else tuple(shifts)
    dims = (dims,) if isinstance(dims, int) else tuple(dims or ())
    refuse_large(*shifts)
    if not shifts:
        raise RuntimeError("`shifts` required")
    if len(shifts) != len(dims) and (dims or len(shifts) != 1):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if dims and input.ndim == 0:
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    return arrangement.roll(input, shifts=shifts, axes=tuple(wrap_dim(dim, input.ndim) for dim in dims))


@public("torch", "Tensor")
def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """``input`` turned ``k`` times by a right angle, from the first towards the second of two dimensions.

    Args:
        dims: the two dimensions of the plane.

    Raises:
        RuntimeError: not two dimensions, or the same one twice; ``input`` has fewer.

    >>> torch.rot90(torch.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
    refuse_large(k)
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.ndim}")
    axes = tuple(wrap_dim(dim, input.ndim) for dim in dims)
    if axes[0] == axes[1]:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    made = arrangement.rot90(input, k=k % 4, axes=axes)
    if k % 4 == 0:
        return made
    strides = list(preserved_strides(tuple(input.shape), input._spec.layout))
    if k % 2:
        strides[axes[0]], strides[axes[1]] = strides[axes[1]], strides[axes[0]]
    return laid_out(made, tuple(strides))


# -- padding -----------------------------------------------------------------------------------------------------------


@public("nn.functional", is_settled=True)
def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """``input`` with something put around it: ``pad`` holds (before, after) of the last dimension, then of the one
    before it, and so on; negative numbers cut off. ``mode``: ``"constant"`` (``value``, or zeros), ``"reflect"``,
    ``"replicate"`` or ``"circular"``.

    Raises:
        RuntimeError: an odd number of widths, or widths the mode can't fill.
        NotImplementedError: an unknown mode, or one that doesn't know this number of dimensions.

    >>> torch.nn.functional.pad(torch.tensor([[1.0, 2.0, 3.0]]), (2, -1), value=9.0)
    tensor([[9., 9., 1., 2.]])
    >>> torch.nn.functional.pad(torch.tensor([[1.0, 2.0, 3.0]]), (2, 0), mode="reflect")
    tensor([[3., 2., 1., 2., 3.]])
    """
    pad = shape_of_arguments((pad,))
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * input.ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {input.ndim}"
        )
    widths = tuple(zip(pad[-2::-2], pad[-1::-2], strict=True))
    if isinstance(value, complex):
        raise TypeError("pad(): argument 'value' (position 4) must be float, not complex")
    if mode == "constant":
        return padded(input, widths, 0.0 if value is None else float(value))
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if len(widths) not in (1, 2, 3) or input.ndim not in (len(widths) + 1, len(widths) + 2):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {input.ndim}D input tensor.\n"
            "Supported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    _check_widths(input, widths, mode)
    if mode != "circular" and input.dtype.category == BOOL:
        kernel = "reflection_pad" if mode == "reflect" else "replication_pad"
        raise unsupported(f"{kernel}{len(widths)}d", input.dtype)
    return arrangement.PADS[mode, len(widths)](input, widths=widths)


def padded(input: Tensor, widths: tuple, value: Any) -> Tensor:
    shape = input._spec.shape
    widths = ((0, 0),) * (len(shape) - len(widths)) + widths
    for length, (low, high) in zip(shape, widths, strict=True):
        if (low < 0 or high < 0) and (length + low + high < 0 or length + min(low, 0) + min(high, 0) < 0):
            raise RuntimeError("narrow(): length must be non-negative.")
    return arrangement.constant_pad.with_numbers(input, (converted(value, input.dtype),), {"widths": widths})


def _check_widths(input: Tensor, widths: tuple, mode: str) -> None:
    first = input.ndim - len(widths)
    kept = input.shape[first if mode == "circular" or input.ndim == len(widths) + 1 else 1 :]
    if 0 in kept and mode != "circular":
        n = len(widths)
        raise RuntimeError(
            f"Expected {n + 1}D or {n + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(input.shape)}"
        )
    for position, (low, high) in enumerate(reversed(widths)):
        axis = input.ndim - 1 - position
        length = input.shape[axis]
        if mode == "circular" and max(low, high) > length:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if mode == "circular" and length + low + high < 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
        if mode == "reflect" and max(low, high) >= length:
            raise RuntimeError(
                f"Argument #{4 + 2 * position}: Padding size should be less than the corresponding input dimension, "
                f"but got: padding ({low}, {high}) at dimension {axis} of input {list(input.shape)}"
            )
        if length + low + high < 1 and mode != "circular":
            raise RuntimeError(
                f"input (W: {length}) is too small. Calculated output W: {length + low + high}"
                if len(widths) == 1
                else f"input is too small for the padding: dimension {axis} would have length {length + low + high}"
            )


# -- between channels and pixels ---------------------------------------------------------------------------------------


@public("torch", "nn.functional", native=True)
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(..., C r^2, H, W) to (..., C, H r, W r), ``upscale_factor`` being r: the channels of ``input`` become blocks.

    From Shi et al., "Real-Time Single Image and Video Super-Resolution" (2016).

    Raises:
        RuntimeError: fewer than three dimensions; channels that r^2 doesn't divide; a factor that is not positive.

    >>> torch.nn.functional.pixel_shuffle(torch.arange(4.0).view(4, 1, 1), 2)
    tensor([[[0., 1.],
             [2., 3.]]])
    """
    _check_pixels("pixel_shuffle", input, "upscale_factor", upscale_factor)
    if input.shape[-3] % upscale_factor**2:
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={input.shape[-3]} is not divisible by {upscale_factor**2}"
        )
    return arrangement.pixel_shuffle(input, factor=upscale_factor)


@public("torch", "nn.functional", native=True)
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """(..., C, H r, W r) to (..., C r^2, H, W), ``downscale_factor`` being r: the inverse of ``pixel_shuffle``.

    Raises:
        RuntimeError: fewer than three dimensions in ``input``; lengths that r doesn't divide; a factor that is not
            positive.

    >>> torch.nn.functional.pixel_unshuffle(torch.arange(4.0).view(1, 2, 2), 2).flatten()
    tensor([0., 1., 2., 3.])
    """
    _check_pixels("pixel_unshuffle", input, "downscale_factor", downscale_factor)
    for name, axis in (("height", -2), ("width", -1)):
        if input.shape[axis] % downscale_factor:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({axis})="
                f"{input.shape[axis]} is not divisible by {downscale_factor}"
            )
    return arrangement.pixel_unshuffle(input, factor=downscale_factor)


def _check_pixels(name: str, input: Tensor, argument: str, factor: int) -> None:
    if input.ndim < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)"
        )
    if factor <= 0:
        raise RuntimeError(f"{name} expects a positive {argument}, but got {factor}")


@public("torch", "nn.functional", native=True, name="channel_shuffle", aliases=("native_channel_shuffle",))
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """``input`` (N, C, ...) with the channels of ``groups`` groups dealt out in turn.

    Raises:
        RuntimeError: fewer than three dimensions; channels that ``groups`` doesn't divide; groups that are not
            positive.

    >>> torch.nn.functional.channel_shuffle(torch.arange(6.0).view(1, 6, 1), groups=2).flatten()
    tensor([0., 3., 1., 4., 2., 5.])
    """
    if input.ndim <= 2:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if input.shape[1] % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {input.shape[1]} channels and {groups} groups."
        )
    return arrangement.channel_shuffle(input, groups=groups)
