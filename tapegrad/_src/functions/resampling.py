"""Interpolation, and planes as columns of windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.bindings.declaration.factory import whole
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.execution.data.sizes import check_size, scaled
from tapegrad._src.functions.pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.ops import resampling
from tapegrad.ops.checks import refuse_dtypes
from tapegrad.ops.resampling import Sampling

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

    Args:
        input: floats, or uint8 where ``mode`` is one of the nearest or of planes; one to three dimensions of space.
        size: the lengths of space in the result: an int, or one for each dimension.
        scale_factor: by what lengths are multiplied instead, rounding down: a number, or one for each dimension.
        mode: ``"nearest"``, ``"nearest-exact"``, ``"linear"`` (1-D; ``"bilinear"``, ``"trilinear"``), ``"bicubic"``, or
            ``"area"``, which averages.
        align_corners: whether corner elements lie on corner elements, rather than corners of elements on each other.
        recompute_scale_factor: find positions by the ratio of the lengths, not by ``scale_factor`` as given.
        antialias: widen the filter when the result is smaller (``"bilinear"`` and ``"bicubic"``).

    Raises:
        ValueError: both of ``size`` and ``scale_factor`` or none; numbers that don't fit the dimensions.
        NotImplementedError: a mode that the number of dimensions doesn't have.
        RuntimeError: empty sizes.

    >>> x = torch.tensor([[[0.0, 4.0]]])
    >>> torch.nn.functional.interpolate(x, size=4, mode="linear", align_corners=False)
    tensor([[[0., 1., 3., 4.]]])
    >>> torch.nn.functional.interpolate(x, scale_factor=2)
    tensor([[[0., 0., 4., 4.]]])
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
    if mode in ("linear", "trilinear"):
        name = "compute_indices_weights_linear"
    bytes_too = dims == 2 or mode.startswith("nearest")
    integral = not (bytes_too and input.dtype.name == "uint8")
    refuse_dtypes(name, input._spec, bool=True, integral=integral, complex=True)
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
    sizes = tuple(scaled(length, factor) for length, factor in zip(input.shape[2:], factors, strict=True))
    return sizes, (None,) * dims if recompute else factors


def _given_sizes(input: Tensor, size: Any, dims: int) -> tuple[int, ...]:
    if not isinstance(size, (tuple, list)):
        return (whole(size),) * dims
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
    """The old name of ``interpolate``, of whose arguments it takes ``input``, ``size``, ``scale_factor``, ``mode`` and
    ``align_corners``.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.nn.functional.upsample(torch.tensor([[[0.0, 4.0]]]), scale_factor=2)
    tensor([[[0., 0., 4., 4.]]])
    """
    warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode, align_corners)


@public("nn.functional")
def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """``interpolate`` of ``input`` to a ``size`` or by a ``scale_factor`` with ``mode="nearest"``, under its old name.
    """
    warn("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode="nearest")


@public("nn.functional")
def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """``interpolate`` of ``input`` to a ``size`` or by a ``scale_factor`` with ``mode="bilinear"`` and aligned corners,
    under its old name.
    """
    warn("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
