"""Weighted sums of neighbours along the dimensions of space: average pooling, adaptive pooling, interpolation.

Note [Taps]
All of these act on each dimension of space by itself, and along one dimension an output is a sum of a few inputs with
fixed weights, its *taps*. A ``Sampling`` says where the taps are. Positions and weights are constants of the kernel,
found with NumPy when it is traced; where a length is a symbol (Note [Shape classes]) the kernel finds them itself. The
adjoint adds to the same positions with the same weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial, reduce
from operator import add, mul
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tapegrad._src.caches import remembered
from tapegrad._src.execution.numpy_backend.forms import on_host
from tapegrad.ops.kinds import linear, same
from tapegrad.ops.memory_formats import IMAGES, as_images, gradient_of_images
from tapegrad.ops.operator import Operator
from tapegrad.ops.reductions import widened


class Sampling(NamedTuple):
    """The sampling of one dimension.

    Attributes:
        kind: ``"window"``, ``"adaptive"``, ``"nearest"``, ``"nearest-exact"``, ``"linear"``, ``"cubic"``, or one of the
            last two with ``"-antialias"``.
        size: the length of the result.
        kernel, stride, low, dilation: of windows: their length, their distance, the padding in front, the distance of
            taps. Adaptive windows have the first two where they are all as long.
        counted: of windows, by what their sum is divided: ``"padded"`` (places, padding included), ``"inside"`` (places
            that are not padding), or ``""`` (by ``divisor``).
        high: of windows: how much of the padding behind counts as padded.
        scale: of interpolation: the distance of taps, if it is not given by the lengths.
        align: of interpolation: whether the corners lie on one another.
    """

    kind: str
    size: int
    kernel: int = 1
    stride: int = 1
    low: int = 0
    dilation: int = 1
    counted: str = ""
    high: int = 0
    divisor: float = 1
    scale: float | None = None
    align: bool = False


def taps(sampling: Sampling, length: Any) -> tuple[Any, Any]:
    """Positions, (taps, size), and weights, which broadcast to them; a tap that reads nothing has the position -1.

    Of windows the weights are one row: such a tap reads 0.
    """
    return _known_taps(sampling, length) if _is_known(sampling, length) else _taps(jnp, sampling, length)


def _is_known(sampling: Sampling, length: Any) -> bool:
    """Tell whether no number is a symbol."""
    return all(one is None or isinstance(one, (int, float, str)) for one in (length, *sampling))


def _lie_inside(sampling: Sampling, length: Any) -> bool:
    """Tell whether windows lie inside, whatever their symbols stand for."""
    if sampling.kind != "window" or sampling.low:
        return False
    with suppress(jax.errors.InconclusiveDimensionOperation):
        return bool(_first(sampling, sampling.kernel - 1) + (sampling.size - 1) * sampling.stride < length)
    return False


@remembered("sampling taps", nbytes=8 << 10)
def _known_taps(sampling: Sampling, length: int) -> tuple[np.ndarray, np.ndarray]:
    positions, weights = _taps(np, sampling, length)
    positions.setflags(write=False)
    weights.setflags(write=False)
    return positions, weights


def _taps(lib: Any, sampling: Sampling, length: Any) -> tuple[Any, Any]:
    """``taps`` by NumPy or by jax's."""
    if sampling.kind == "window":
        return _windows(lib, sampling, length)
    if sampling.kind == "adaptive":
        return _adaptive(sampling.size, length)
    if sampling.kind.startswith("nearest"):
        return _nearest(lib, sampling, length)
    return (_antialiased if sampling.kind.endswith("antialias") else partial(_interpolated, lib))(sampling, length)


def _windows(lib: Any, sampling: Sampling, length: Any) -> tuple[Any, Any]:
    starts = lib.arange(sampling.size) * sampling.stride - sampling.low
    positions = starts + lib.arange(sampling.kernel)[:, None] * sampling.dilation
    if lib is jnp and _lie_inside(sampling, length):
        return positions, np.full((1, 1), 1 / (sampling.kernel if sampling.counted else sampling.divisor))
    inside = (positions >= 0) & (positions < length)
    counts = lib.asarray([float(sampling.divisor)])
    if sampling.counted == "padded":
        counts = lib.minimum(starts + sampling.kernel, length + sampling.high) - starts
    elif sampling.counted == "inside":
        counts = inside.sum(0)
    return lib.where(inside, positions, -1), (1 / lib.where(counts == 0, lib.inf, counts))[None]


def _adaptive(size: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    out = np.arange(size)
    starts, stops = out * length // max(size, 1), -(-(out + 1) * length // max(size, 1))
    widest = int((stops - starts).max(initial=0))
    positions = starts + np.arange(widest)[:, None]
    inside = positions < stops
    return np.where(inside, positions, -1), np.where(inside, 1 / (stops - starts), 0)


def _spacing(sampling: Sampling, length: int) -> float:
    """The distance, in the input, of neighbours in the output."""
    if sampling.align:
        return (length - 1) / (sampling.size - 1) if sampling.size > 1 else 0.0
    if sampling.scale is None or same(sampling.scale, 0):
        return length / sampling.size
    return 1 / sampling.scale


def _nearest(lib: Any, sampling: Sampling, length: Any) -> tuple[Any, Any]:
    shift = 0.5 if sampling.kind == "nearest-exact" else 0.0
    spacing = lib.float32(_spacing(sampling, length))
    source = lib.floor((lib.arange(sampling.size, dtype=lib.float32) + lib.float32(shift)) * spacing)
    return lib.minimum(source.astype(int), length - 1)[None], np.ones((1, 1))


def _cubic(lib: Any, distance: Any, a: float) -> Any:
    """Keys' cubic convolution kernel with the parameter ``a``."""
    d = lib.abs(distance)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((d - 5) * d + 8) * d * a - 4 * a
    return lib.where(d <= 1, near, lib.where(d < 2, far, 0))


def _interpolated(lib: Any, sampling: Sampling, length: Any) -> tuple[Any, Any]:
    """Two taps, or four, around each point; what lies beyond the ends counts as the last element."""
    out, spacing = lib.arange(sampling.size), _spacing(sampling, length)
    if sampling.kind == "linear" and sampling.size == length:
        spacing = 1  # as in PyTorch, whatever the scale is
    elif sampling.kind == "linear" and lib is jnp:
        spacing = lib.where(lib.asarray(sampling.size) == lib.asarray(length), 1, spacing)
    source = out * spacing if sampling.align else (out + 0.5) * spacing - 0.5
    if sampling.kind == "linear":
        source = lib.maximum(source, 0)
    base = lib.floor(source)
    offsets = lib.arange(2)[:, None] if sampling.kind == "linear" else lib.arange(-1, 3)[:, None]
    distance = source - base - offsets
    weights = 1 - lib.abs(distance) if sampling.kind == "linear" else _cubic(lib, distance, -0.75)
    return lib.clip(base + offsets, 0, length - 1).astype(int), weights


def _antialiased(sampling: Sampling, length: int) -> tuple[np.ndarray, np.ndarray]:
    """A filter as wide as the distance of outputs, so that every input counts when the result is shorter."""
    is_linear = sampling.kind.startswith("linear")
    spacing = _spacing(sampling, length)
    stretch = max(spacing, 1.0)
    support = (1 if is_linear else 2) * stretch
    center = spacing * (np.arange(sampling.size) + 0.5)
    starts = np.maximum((center - support + 0.5).astype(int), 0)
    stops = np.minimum((center + support + 0.5).astype(int), length)
    positions = starts + np.arange(int((stops - starts).max(initial=0)))[:, None]
    inside = positions < stops
    distance = (positions - center + 0.5) / stretch
    weights = np.maximum(1 - np.abs(distance), 0) if is_linear else _cubic(np, distance, -0.5)
    weights = np.where(inside, weights, 0)
    return np.where(inside, positions, -1), weights / weights.sum(0)


def _whole_taps(sampling: Sampling, length: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Positions, weights as integers, and how many of their bits are behind the point: as many as 15 have room for."""
    positions, weights = _taps(np, sampling, length)
    weights = np.array(weights)
    for later in range(1, len(positions)):
        for tap in range(later):  # what reads one place has one weight, which is rounded once
            same = (positions[tap] == positions[later]) & (positions[later] >= 0)
            weights[tap] += np.where(same, weights[later], 0)
            weights[later] = np.where(same, 0, weights[later])
    largest, bits = float(weights.max(initial=0)), 0
    while bits < 22 and int(0.5 + largest * 2 ** (bits + 1)) < 2**15:
        bits += 1
    scaled = weights * 2**bits
    return positions, np.trunc(scaled + np.where(scaled < 0, -0.5, 0.5)).astype(np.int32), bits


MOST_ALIKE = 8
"""Up to so many outputs that read one element are added as arrays, one after the other."""

# -- along one axis ----------------------------------------------------------------------------------------------------


def _first(sampling: Sampling, tap: int) -> int:
    """The place where the first window reads with a tap; outside if it reads padding."""
    return tap * sampling.dilation - sampling.low


def window_ends(sampling: Sampling, tap: int, length: int) -> tuple[int, int, int]:
    """The padding that puts what windows read with a tap back to where it was among ``length`` elements."""
    first = _first(sampling, tap)
    return first, length - first - (sampling.size - 1) * sampling.stride - 1, sampling.stride - 1


def tapped(x: Any, axis: int, sampling: Sampling, tap: int, fill: Any) -> Any:
    """The elements that all outputs read with one of their taps; ``fill`` where that is nothing."""
    length = x.shape[axis]
    if sampling.kind != "window" or not (_is_known(sampling, length) or _lie_inside(sampling, length)):
        return taken(x, axis, taps(sampling, x.shape[axis])[0][tap], fill)
    first = _first(sampling, tap)
    span = (sampling.size - 1) * sampling.stride + 1
    low, high = (max(-first, 0), max(first + span - length, 0)) if _is_known(sampling, length) else (0, 0)
    if low or high:
        widths = [(low, high, 0) if i == axis else (0, 0, 0) for i in range(x.ndim)]
        x = lax.pad(x, jnp.asarray(fill, x.dtype), widths)
    return lax.slice_in_dim(x, first + low, first + low + span, sampling.stride, axis)


def taken(x: Any, axis: int, positions: Any, fill: Any) -> Any:
    """The elements at these positions, ``fill`` at negative ones."""
    lib = library(positions)
    found = jnp.take(x, lib.maximum(positions, 0), axis=axis, mode="clip")
    if lib is np and (positions >= 0).all():
        return found
    return jnp.where(on_axis(positions >= 0, axis, x.ndim), found, jnp.asarray(fill, x.dtype))


def library(values: Any) -> Any:
    """The library that computes with such positions: NumPy, as long as they are constants of the kernel."""
    return np if isinstance(values, np.ndarray) else jnp


def on_axis(values: Any, axis: int, ndim: int) -> np.ndarray:
    """Values for each place along an axis, in the shape that broadcasts."""
    return values.reshape([-1 if i == axis else 1 for i in range(ndim)])


def _is_even(sampling: Sampling, length: Any) -> bool:
    """Tell whether adaptive windows in a length that is not known are all as long, and so lie side by side."""
    known = isinstance(length, int) or sampling.kind != "adaptive"
    return not known and sampling.size * sampling.kernel == length


def _average(x: np.ndarray, axis: int, size: int, kernel: int) -> np.ndarray:
    """The averages of windows side by side, of which there are ``size``, along an axis: as by taps."""
    places, share = np.arange(0, size * kernel, kernel), x.dtype.type(1 / kernel)
    total = x.take(places, axis) * share
    for tap in range(1, kernel):
        total += x.take(places + tap, axis) * share
    return total


def _averaged_shape(x: Any, axis: int, size: Any, kernel: Any) -> tuple[Any, Any]:
    return (*x.shape[:axis], size, *x.shape[axis + 1 :]), x.dtype


@on_host(_average, nanoseconds=2.0, gives=_averaged_shape)
def _averaged(x: Any, *, axis: int, size: int, kernel: int) -> Any:
    return _by_taps(x, axis, Sampling("adaptive", size, kernel, kernel))


def _sampled(x: Any, axis: int, sampling: Sampling) -> Any:
    if _is_even(sampling, x.shape[axis]):
        return _averaged(x, axis=axis, size=sampling.size, kernel=sampling.kernel)
    return _by_taps(x, axis, sampling)


def _by_taps(x: Any, axis: int, sampling: Sampling) -> Any:
    positions, weights = taps(sampling, x.shape[axis])
    if len(positions) == 1 and _alike(weights) and weights[0, 0] == 1:
        return tapped(x, axis, sampling, 0, 0)
    if isinstance(positions, np.ndarray) and not positions.size:
        return jnp.zeros((*x.shape[:axis], sampling.size, *x.shape[axis + 1 :]), x.dtype)
    read = [tapped(x, axis, sampling, tap, 0) for tap in range(len(positions))]
    if _alike(weights):
        return reduce(add, read) * weights[0, 0].astype(x.dtype)
    if len(weights) == 1:
        return reduce(add, read) * on_axis(weights[0].astype(x.dtype), axis, x.ndim)
    factors = [on_axis(weight.astype(x.dtype), axis, x.ndim) for weight in weights]
    return reduce(add, map(mul, read, factors))


def _sampled_bytes(x: Any, axis: int, sampling: Sampling) -> Any:
    """Bytes sampled in whole numbers, rounded to bytes along each axis, as PyTorch does it."""
    if sampling.size == x.shape[axis] and not sampling.align:
        return x
    positions, weights, bits = _whole_taps(sampling, x.shape[axis])
    wide = x.astype(jnp.int32)
    read = [taken(wide, axis, row, 0) for row in positions]
    total = reduce(add, map(mul, read, [on_axis(weight, axis, x.ndim) for weight in weights]))
    return jnp.clip((total + (1 << (bits - 1))) >> bits, 0, 255).astype(x.dtype)


def _alike(weights: Any) -> bool:
    """Tell whether all are known to be the same."""
    return isinstance(weights, np.ndarray) and weights.size > 0 and bool((weights == weights[0, 0]).all())


def _spread(g: Any, axis: int, sampling: Sampling, length: Any) -> Any:
    if not _is_even(sampling, length):
        return _spread_by_taps(g, axis, sampling, length)
    before, behind = g.shape[:axis], g.shape[axis + 1 :]
    share = g * (1 / jnp.asarray(sampling.kernel, float)).astype(g.dtype) + jnp.zeros((), g.dtype)  # no -0, as of sums
    each = share.reshape(*before, sampling.size, 1, *behind)
    windows = jnp.broadcast_to(each, (*before, sampling.size, sampling.kernel, *behind))
    return windows.reshape(*before, length, *behind)


def _run(sampling: Sampling, positions: Any, length: Any) -> int:
    """The number of outputs, side by side, that read each element, where that is the same of all; 0 otherwise."""
    if not isinstance(positions, np.ndarray):  # of powers of two no position is rounded
        runs = [run for run in (2, 4, 8) if sampling.size == length * run and sampling.scale in (None, run)]
        return runs[0] if runs and sampling.kind.startswith("nearest") else 0
    if len(positions) != 1 or not length or positions.size % length:
        return 0
    run = positions.size // length
    return run if run <= MOST_ALIKE and np.array_equal(positions[0], np.arange(positions.size) // run) else 0


def _spread_by_taps(g: Any, axis: int, sampling: Sampling, length: Any) -> Any:
    positions, weights = taps(sampling, length)
    if _alike(weights):
        parts = [g * weights[0, 0].astype(g.dtype)]
    else:
        parts = [g * on_axis(weight.astype(g.dtype), axis, g.ndim) for weight in weights]
    if len(parts) == 1:
        parts *= len(positions)
    if sampling.kind == "window" and parts and (_is_known(sampling, length) or _lie_inside(sampling, length)):
        ends = [window_ends(sampling, tap, length) for tap in range(len(parts))]
        widths = [[one if i == axis else (0, 0, 0) for i in range(g.ndim)] for one in ends]
        return reduce(add, map(lax.pad, parts, [jnp.zeros((), g.dtype)] * len(parts), widths))
    total = jnp.zeros((*g.shape[:axis], length, *g.shape[axis + 1 :]), g.dtype)
    run = _run(sampling, positions, length)
    if run:
        size = g.shape[axis]
        return reduce(add, [lax.slice_in_dim(parts[0], tap, size, run, axis) for tap in range(run)], total)
    for part, row in zip(parts, positions, strict=True):
        places = library(row).where(row < 0, length, row)
        total = total.at[(*[slice(None)] * axis, places)].add(part, mode="drop")
    return total


# -- the operators -----------------------------------------------------------------------------------------------------


def _resampled(x, samplings):
    if x.dtype == jnp.uint8 and samplings[0].kind.startswith(("linear", "cubic")):
        for axis, sampling in reversed([*zip(range(x.ndim - len(samplings), x.ndim), samplings, strict=True)]):
            x = _sampled_bytes(x, axis, sampling)
        return x
    wide = widened(x) if jnp.issubdtype(x.dtype, jnp.inexact) or _keeps_values(samplings) else x.astype(float)
    for axis, sampling in zip(range(x.ndim - len(samplings), x.ndim), samplings, strict=True):
        wide = _sampled(wide, axis, sampling)
    return wide.astype(x.dtype)


def _keeps_values(samplings):
    return all(sampling.kind.startswith("nearest") for sampling in samplings)


@linear(x=lambda g, samplings: resample(g, samplings=samplings), aten=None, special=(0,), indifferent=True)
def resample_adjoint(x, *, samplings, lengths):
    """The adjoint of ``resample``: what was taken from inputs of ``lengths`` elements, given back."""
    wide = widened(x)
    for axis, sampling, length in zip(range(x.ndim - len(samplings), x.ndim), samplings, lengths, strict=True):
        wide = _spread(wide, axis, sampling, length)
    return wide.astype(x.dtype)


def _adjoint(g: Any, shape: Sequence[int], samplings: tuple[Sampling, ...]) -> Any:
    return resample_adjoint(g, samplings=samplings, lengths=tuple(shape[len(shape) - len(samplings) :]))


def _by_shape(g: Any, x_shape: Sequence[int], samplings: tuple[Sampling, ...]) -> Any:
    return _adjoint(g, x_shape, samplings)


def _by_input(g: Any, x: Any, samplings: tuple[Sampling, ...]) -> Any:
    """The same: PyTorch keeps the input of an average, and refuses a backward after it was written to."""
    return _adjoint(g, x.shape, samplings)


def refuse_nothing(name: str, g: Any) -> None:
    """Refuse a gradient of an adaptive pooling to nothing. Raises RuntimeError: PyTorch's message."""
    if 0 in g.shape[1:]:
        raise RuntimeError(
            f"{name}_backward(): Expected grad_output to have non-zero size for non-batch dimensions, but grad_output "
            f"has sizes {list(g.shape)} with dimension {g.shape.index(0, 1)} being empty"
        )


def _of_averages(name: str) -> Callable:
    """The formula of an adaptive average."""

    def formula(g: Any, x: Any, samplings: tuple[Sampling, ...]) -> Any:
        refuse_nothing(name, g)
        return _adjoint(g, x.shape, samplings)

    return formula


def sampled(attribute: str) -> Callable[[Any], tuple]:
    """A saved field: an attribute of the samplings, for each dimension."""
    return lambda plan: tuple(getattr(sampling, attribute) for sampling in plan.settings["samplings"])


def _declare(name: str, formula: Callable = _by_shape, **facts: Any) -> Operator:
    @linear(x=formula, name=name, real=True, special=(0,), indifferent=True, **facts)
    def operator(x, *, samplings):
        """``x`` sampled along its last dimensions, one ``Sampling`` for each. See Note [Taps]."""
        return _resampled(x, samplings)

    return operator


resample = _declare("resample", aten=None)

AVERAGES = {
    2: _declare("avg_pool2d", _by_input, again="zeros", **IMAGES),
    3: _declare("avg_pool3d", _by_input, again="zeros"),
}
"""Average pooling, by the number of dimensions of space: lines are pooled as planes."""

ADAPTIVE_AVERAGES = {
    2: _declare(
        "adaptive_avg_pool2d", _of_averages("adaptive_avg_pool2d"), aten="_adaptive_avg_pool2d", again="zeros", **IMAGES
    ),
    3: _declare("adaptive_avg_pool3d", _of_averages("adaptive_avg_pool3d"), aten="_adaptive_avg_pool3d", again="zeros"),
}


def _interpolation(name: str, aten: str = "") -> Operator:
    saved: dict[str, Any] = {"output_size": sampled("size")}
    if name.endswith("1d"):
        saved["scales"] = lambda plan: plan.settings["samplings"][0].scale
    if "nearest" not in name:
        saved["align_corners"] = lambda plan: plan.settings["samplings"][0].align
    follows = "linear" in name or (name.endswith("2d") and "nearest" in name)
    rule = gradient_of_images if follows else None
    return _declare(name, aten=aten, saved=saved, lies=as_images, gradient_lies=rule)


INTERPOLATIONS = {
    ("nearest", 1): _interpolation("upsample_nearest1d"),
    ("nearest", 2): _interpolation("upsample_nearest2d"),
    ("nearest", 3): _interpolation("upsample_nearest3d"),
    ("nearest-exact", 1): _interpolation("upsample_nearest_exact1d", "_upsample_nearest_exact1d"),
    ("nearest-exact", 2): _interpolation("upsample_nearest_exact2d", "_upsample_nearest_exact2d"),
    ("nearest-exact", 3): _interpolation("upsample_nearest_exact3d", "_upsample_nearest_exact3d"),
    ("linear", 1): _interpolation("upsample_linear1d"),
    ("linear", 2): _interpolation("upsample_bilinear2d"),
    ("linear", 3): _interpolation("upsample_trilinear3d"),
    ("cubic", 2): _interpolation("upsample_bicubic2d"),
    ("linear-antialias", 2): _interpolation("upsample_bilinear2d_aa", "_upsample_bilinear2d_aa"),
    ("cubic-antialias", 2): _interpolation("upsample_bicubic2d_aa", "_upsample_bicubic2d_aa"),
}
"""Interpolation, by kind and the number of dimensions of space."""
