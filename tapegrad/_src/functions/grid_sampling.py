"""Sampling a plane or a volume at points, and the points of affine maps."""

from __future__ import annotations

from collections.abc import Sequence

from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.execution.data.sizes import check_size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.ops import grid_sampling as ops

MODES = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")
"""PyTorch's numbers of modes and paddings are their places here."""


def _check(input: Tensor, grid: Tensor, dims: int | None) -> None:
    """Refuse shapes that don't fit; ``dims`` is how many dimensions space must have.
    Raises RuntimeError: PyTorch's messages.
    """
    sizes = f"but got input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
    if input.shape[:1] != grid.shape[:1]:
        raise RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, {sizes}")
    if grid.shape[-1] != input.ndim - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {input.ndim - 2} in last dimension, but got grid with sizes "
            f"{list(grid.shape)}"
        )
    for axis, length in enumerate(input.shape[2:], 2):
        if not length:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
                f"{list(input.shape)} with dimension {axis} being empty"
            )
    if input.ndim != grid.ndim or input.ndim - 2 not in ((2, 3) if dims is None else (dims,)):
        kinds = "4D or 5D" if dims is None else f"{dims + 2}D"
        raise RuntimeError(f"grid_sampler(): expected {kinds} input and grid with same number of dimensions, {sizes}")


def _sampled(
    dims: int | None, input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    _check(input, grid, dims)
    if interpolation_mode == MODES.index("bicubic") and input.ndim == 5:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    operator = ops.grid_sample if input.ndim == 4 else ops.grid_sample3d
    mode, padding = MODES[interpolation_mode], PADDINGS[padding_mode]
    return operator(input, grid, orders=(0,) * (input.ndim - 2), mode=mode, padding=padding, align=bool(align_corners))


@public("torch")
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """See ``torch.nn.functional.grid_sample``; mode and padding are given as numbers, in the order they are named.

    Args:
        grid: where to read, (..., 2) or (..., 3).
        interpolation_mode, padding_mode: 0 bilinear, 1 nearest, 2 bicubic; 0 zeros, 1 border, 2 reflection.
        align_corners: whether -1 and 1 are the middles of the outermost pixels, not their edges.

    >>> torch.grid_sampler(torch.ones(1, 1, 2, 2), torch.zeros(1, 1, 1, 2), 0, 0, False)
    tensor([[[[1.]]]])
    """
    return _sampled(None, input, grid, interpolation_mode, padding_mode, align_corners)


@public("torch")
def grid_sampler_2d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """``grid_sampler`` of planes: (batch, channels, height, width).

    Args:
        grid, interpolation_mode, padding_mode, align_corners: as there.

    >>> torch.grid_sampler_2d(torch.ones(1, 1, 2, 2), torch.zeros(1, 1, 1, 2), 0, 0, False)
    tensor([[[[1.]]]])
    """
    return _sampled(2, input, grid, interpolation_mode, padding_mode, align_corners)


@public("torch")
def grid_sampler_3d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """``grid_sampler`` of volumes: (batch, channels, depth, height, width).

    Args:
        grid, interpolation_mode, padding_mode, align_corners: as there.

    >>> torch.grid_sampler_3d(torch.ones(1, 1, 2, 2, 2), torch.zeros(1, 1, 1, 1, 3), 0, 0, False)
    tensor([[[[[1.]]]]])
    """
    return _sampled(3, input, grid, interpolation_mode, padding_mode, align_corners)


def _warn_of_corners() -> None:
    warn(
        "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
        "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details."
    )


@public("nn.functional")
def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """The input (batch, channels, *space) at the points of a grid (batch, *points, dimensions of space).

    A point has a coordinate for each dimension of space, the last one first; -1 and 1 are the ends. ``mode`` is
    ``"bilinear"``, ``"nearest"`` or (of planes) ``"bicubic"``; ``padding_mode`` says what lies beyond the ends:
    ``"zeros"``, ``"border"`` (the last elements) or ``"reflection"``.

    Raises:
        ValueError: an unknown mode.
        RuntimeError: shapes or dtypes that don't fit.
        NotImplementedError: integers or complex numbers.

    >>> points = torch.tensor([[[[0.0, 0.0], [-1.0, 1.0]]]])
    >>> torch.nn.functional.grid_sample(torch.arange(4.0).view(1, 1, 2, 2), points, align_corners=True)
    tensor([[[[1.5000, 2.0000]]]])
    """
    if mode not in MODES:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in PADDINGS:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    if align_corners is None:
        _warn_of_corners()
    return _sampled(None, input, grid, MODES.index(mode), PADDINGS.index(padding_mode), bool(align_corners))


# -- the points of affine maps -----------------------------------------------------------------------------------------


def _check_affine(theta: Tensor, size: Sequence[int]) -> None:
    """Refuse what is no batch of affine maps, or no size.
    Raises ValueError: PyTorch's messages. NotImplementedError: another number of dimensions than 4 or 5.
    """
    if theta.dtype.category != 2:
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size "
            f"{size}."
        )
    dims = len(size) - 2
    if theta.ndim != 3 or tuple(theta.shape[-2:]) != (dims, dims + 1):
        raise ValueError(
            f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size {size}. Got "
            f"{theta.shape}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")


@public("nn.functional")
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The points to which affine maps take those of a plane or volume of this ``size``.

    ``theta`` holds the maps, floats (batch, dims, dims + 1), ``size`` is (batch, channels, *space); the result, (batch,
    *space, dims), is a grid for ``grid_sample``. With ``align_corners`` -1 and 1 are the middles of the first and last
    element, otherwise (by default, with a warning) their outer edges.

    Raises:
        ValueError: maps or sizes that don't fit, integers.
        NotImplementedError: neither planes nor volumes.

    >>> identity = torch.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> torch.nn.functional.affine_grid(identity, (1, 1, 1, 2), align_corners=False)
    tensor([[[[-0.5000,  0.0000],
              [ 0.5000,  0.0000]]]])
    """
    _check_affine(theta, size)
    if align_corners is None:
        _warn_of_corners()
    elif align_corners and min(size[2:]) == 1:
        warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This "
            "is not an intended use case of affine_grid. See the documentation of affine_grid for details."
        )
    return affine_grid_generator(theta, size, bool(align_corners))


@public("torch")
def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """See ``torch.nn.functional.affine_grid``.

    Args:
        theta, size, align_corners: as there.

    Raises:
        RuntimeError: shapes that don't fit.
    """
    if len(size) not in (4, 5):
        raise RuntimeError("AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.")
    batch, dims = size[0], len(size) - 2
    if theta.ndim != 3 or theta.shape[0] != batch or theta.shape[2] != dims + 1:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{batch}, {dims + 1}] but got: "
            f"[{theta.shape[0]}, {theta.shape[-1]}]."
        )
    check_size((batch, *size[2:], dims + 1), theta.dtype.itemsize, theta.device.type)
    return ops.affine_grid(theta, size=tuple(size[2:]), align=bool(align_corners))
