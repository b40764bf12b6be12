"""Max pooling undone, and max pooling of windows that lie at random."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp

from tapegrad.ops.kinds import general, linear
from tapegrad.ops.memory_formats import as_images
from tapegrad.ops.operator import Operator
from tapegrad.ops.pooling import plane_gather, plane_scatter


def _declare_unpool(name: str, **facts: Any) -> Operator:
    @linear(x=lambda g, indices, lengths: plane_gather(g, indices, dims=len(lengths)), name=name, real=True, **facts)
    def operator(x, indices, *, lengths):
        """``x`` put, in an array of zeros whose last dimensions have these ``lengths``, at flat indices into them.

        Of several elements for one place the last is there, but all get the gradient, as in PyTorch.
        """
        dims = len(lengths)
        rows, places = math.prod(x.shape[: x.ndim - dims]), math.prod(x.shape[x.ndim - dims :])
        flat, at = x.reshape(rows, places), indices.reshape(rows, places)
        zeros = jnp.zeros((rows, math.prod(lengths)), x.dtype)
        put = zeros.at[jnp.arange(rows)[:, None], at].set(flat, mode="drop")
        return put.reshape(*x.shape[: x.ndim - dims], *lengths)

    return operator


UNPOOLS = {
    2: _declare_unpool("max_unpool2d", lies=as_images),
    3: _declare_unpool("max_unpool3d"),
}
"""Max unpooling, by the number of dimensions of space: lines are unpooled as planes."""


# -- windows at random -------------------------------------------------------------------------------------------------


def _starts(sample: Any, length: int, size: int, kernel: int) -> Any:
    """The places where ``size`` windows begin, spread over ``length`` elements by a number from [0, 1): (..., size).

    The sequence of Graham, 2014 ("Fractional max-pooling"); the last window always lies at the end.
    """
    last = jnp.full((*sample.shape, 1), length - kernel, jnp.int32)
    if size == 1:
        return last
    spacing = (length - kernel) / (size - 1)
    inner = jnp.trunc((jnp.arange(size - 1, dtype=sample.dtype) + sample[..., None]) * spacing)
    inner = inner - jnp.trunc(sample * spacing)[..., None]
    return jnp.concatenate([inner.astype(jnp.int32), last], -1)


def _windows(samples: Any, lengths: Any, sizes: Any, kernel: Any) -> Any:
    """The flat indices of the elements of each window: (batch, channels, *sizes, taps)."""
    dims = len(lengths)
    order = (1, 0) if dims == 2 else range(dims)  # in PyTorch, the first number of two is that of the width
    flat: Any = 0
    for axis, (length, size, k) in enumerate(zip(lengths, sizes, kernel, strict=True)):
        starts = _starts(samples[..., list(order)[axis]], length, size, k)
        places = starts[..., None] + jnp.arange(k)
        shape = [1] * (2 * dims)
        shape[axis], shape[dims + axis] = size, k
        flat = flat * length + places.reshape(*samples.shape[:2], *shape)
    return flat.reshape(*samples.shape[:2], *sizes, math.prod(kernel))


def _declare_fractional(name: str) -> Operator:
    @general(
        x=lambda g_out, x, indices, sizes: plane_scatter(
            g_out, indices, lengths=tuple(x.shape[x.ndim - len(sizes) :])
        ),
        jvp=lambda t_x, indices, sizes: (plane_gather(t_x, indices, dims=len(sizes)), None),
        outputs=("out", "indices"), real=True, name=name, again="zeros",
        saved={"result1": "indices", "kernel_size": "kernel", "output_size": "sizes"},
    )  # fmt: skip
    def operator(x, samples, *, kernel, sizes):
        """The greatest of each of ``sizes`` windows of ``kernel`` elements, and its flat index, of int32.

        ``samples`` (batch, channels, dimensions of space) are numbers from [0, 1) which say where windows begin.
        """
        dims = len(sizes)
        lengths = x.shape[x.ndim - dims :]
        planes = x.reshape(-1 if x.size else x.shape[0], x.shape[x.ndim - dims - 1], math.prod(lengths))
        windows = _windows(samples[: planes.shape[0]], lengths, sizes, kernel)
        batch, channels = windows.shape[:2]
        flat = windows.reshape(batch, channels, math.prod(sizes) * math.prod(kernel))
        values = jnp.take_along_axis(planes, flat, 2, mode="clip").reshape(windows.shape)
        best = jnp.argmax(values, -1, keepdims=True)
        picked = (jnp.take_along_axis(all, best, -1)[..., 0] for all in (values, windows))
        shape = (*x.shape[: x.ndim - dims], *sizes)
        out, indices = (each.reshape(shape) for each in picked)
        return out, indices.astype(jnp.int32)

    return operator


FRACTIONAL = {
    2: _declare_fractional("fractional_max_pool2d"),
    3: _declare_fractional("fractional_max_pool3d"),
}
"""Fractional max pooling, by the number of dimensions of space."""
