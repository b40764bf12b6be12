"""For each kink of the table of conventions a call that sits at it, and its gradients by PyTorch and by jax."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log, nan
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


@dataclass(frozen=True)
class Kink:
    """A call that sits at a kink.

    Attributes:
        call: ``call(torch, *tensors)``.
        inputs: the arrays, of which the first is the one that a gradient is taken of.
        jnp: the function in jax's own words, or None.
    """

    call: Callable
    inputs: tuple
    jnp: Callable | None = None

    def gradient(self, torch: Any) -> np.ndarray:
        """The gradient by a module that speaks PyTorch's language."""
        x, *others = map(torch.tensor, self.inputs)
        x.requires_grad_()
        return torch.autograd.grad(self.call(torch, x, *others).sum(), x)[0].detach().numpy()

    def jax_gradient(self) -> np.ndarray:
        """The gradient of the function in jax's own words."""
        x, *others = map(jnp.asarray, self.inputs)
        return np.asarray(jax.grad(lambda x: self.jnp(x, *others).sum())(x))


def f(*numbers: Any) -> np.ndarray:
    return np.array(numbers, "float32")


ZERO, ONES = f(0, 0, 0), f(1, 1, 1)
ROWS = f((1, 2), (1, 3))

KINKS: dict[str, Kink] = {
    "abs": Kink(lambda t, x: x.abs(), (f(0, 1, -2),), jnp=jnp.abs),
    "angle": Kink(lambda t, x: x.angle(), (np.array([0, 1j], "complex64"),)),
    "atan2": Kink(lambda t, x, y: t.atan2(x, y), (f(0, 1, 0), f(0, 1, 1)), jnp=jnp.arctan2),
    "binary_cross_entropy": Kink(lambda t, x, y: t.nn.functional.binary_cross_entropy(x, y, reduction="sum"),
                                 (f(0, 1, 0.5), f(0, 1, 1))),
    "cdist": Kink(lambda t, x, y: t.cdist(x, y, p=1.0), (f((1, 2)), f((1, 3)))),
    "clamp": Kink(lambda t, x: x.clamp(0, 1), (f(0, 1, 2),), jnp=lambda x: jnp.clip(x, 0, 1)),
    "clamp_max": Kink(lambda t, x: t.clamp_max(x, 1), (f(0, 1, 2),), jnp=lambda x: jnp.minimum(x, 1)),
    "clamp_max_tensor": Kink(lambda t, x, y: t.clamp_max(x, y), (f(0, 1, 2), ONES), jnp=jnp.minimum),
    "clamp_min": Kink(lambda t, x: t.clamp_min(x, 1), (f(0, 1, 2),), jnp=lambda x: jnp.maximum(x, 1)),
    "clamp_min_tensor": Kink(lambda t, x, y: t.clamp_min(x, y), (f(0, 1, 2), ONES), jnp=jnp.maximum),
    "clamp_tensor": Kink(lambda t, x, y, z: x.clamp(y, z), (f(0, 1, 2), ZERO, ONES), jnp=jnp.clip),
    "copysign": Kink(lambda t, x, y: t.copysign(x, y), (f(0, 1, 2), f(-1, -1, 1)), jnp=jnp.copysign),
    "copysign_number": Kink(lambda t, x: t.copysign(x, -1.0), (f(0, 1, 2),), jnp=lambda x: jnp.copysign(x, -1.0)),
    "cummax": Kink(lambda t, x: x.cummax(0)[0], (ONES,), jnp=lambda x: jax.lax.cummax(x)),
    "cummin": Kink(lambda t, x: x.cummin(0)[0], (ONES,), jnp=lambda x: jax.lax.cummin(x)),
    "dist": Kink(lambda t, x, y: t.dist(x, y), (ONES, ONES), jnp=lambda x, y: jnp.linalg.norm(x - y)),
    "distance_norm": Kink(lambda t, x, y: t.pairwise_distance(x, y, eps=0.0), (ROWS, ROWS)),
    "euclidean_dist": Kink(lambda t, x, y: t.cdist(x, y, compute_mode="use_mm_for_euclid_dist"), (ROWS, ROWS)),
    "fmax": Kink(lambda t, x, y: t.fmax(x, y), (f(0, 1, 2), ONES), jnp=jnp.fmax),
    "fmin": Kink(lambda t, x, y: t.fmin(x, y), (f(0, 1, 2), ONES), jnp=jnp.fmin),
    "hardtanh": Kink(lambda t, x: t.nn.functional.hardtanh(x), (f(-1, 0, 1),)),
    "hypot": Kink(lambda t, x, y: t.hypot(x, y), (f(0, 3, 0), f(0, 4, 1)), jnp=jnp.hypot),
    "median_all": Kink(lambda t, x: x.median(), (f(0, 1, 1),)),
    "nanmedian_all": Kink(lambda t, x: x.nanmedian(), (f(0, 1, 1),)),
    "pdist": Kink(lambda t, x: t.pdist(x), (f((1, 2), (1, 2)),)),
    "pow": Kink(lambda t, x, y: x**y, (f(0, 1, 2), f(0, 0, 2)), jnp=jnp.power),
    "renorm": Kink(lambda t, x: x.renorm(1, 0, 1.0), (f((0, 2), (1, 3)),)),
    "scatter_amax": Kink(lambda t, x: t.zeros(2).scatter_reduce(0, t.tensor([0, 0, 1]), x, "amax", include_self=False),
                         (ZERO,)),
    "scatter_amin": Kink(lambda t, x: t.zeros(2).scatter_reduce(0, t.tensor([0, 0, 1]), x, "amin", include_self=False),
                         (ZERO,)),
    "std": Kink(lambda t, x: x.std(), (ONES,), jnp=lambda x: jnp.std(x, ddof=1)),
    "std_mean": Kink(lambda t, x: t.std_mean(x)[0], (ONES,), jnp=lambda x: jnp.std(x, ddof=1)),
    "vector_norm": Kink(lambda t, x: t.linalg.vector_norm(x), (ZERO,), jnp=jnp.linalg.norm),
    "xlog1py": Kink(lambda t, x, y: t.special.xlog1py(x, y), (f(0, 0, 2), f(1, -1, 1))),
    "xlog1py_number": Kink(lambda t, x: t.special.xlog1py(x, 1.0), (f(0, 1, 2),)),
    "xlogy": Kink(lambda t, x, y: t.xlogy(x, y), (f(0, 0, 2), f(2, 0, 2))),
    "xlogy_number": Kink(lambda t, x: t.xlogy(x, 2.0), (f(0, 1, 2),)),
}  # fmt: skip

GRADIENTS: dict[str, tuple[list, list]] = {
    "abs": ([0, 1, -1], [1, 1, -1]),
    "angle": ([0, -1], [nan, -1]),
    "atan2": ([0, 0.5, 1], [nan, 0.5, 1]),
    "binary_cross_entropy": ([0, 0, -2], [nan, nan, -2]),
    "cdist": ([[0, -1]], [[1, -1]]),
    "clamp": ([1, 1, 0], [0.5, 0.5, 0]),
    "clamp_max": ([1, 1, 0], [1, 0.5, 0]),
    "clamp_max_tensor": ([1, 1, 0], [1, 0.5, 0]),
    "clamp_min": ([0, 1, 1], [0, 0.5, 1]),
    "clamp_min_tensor": ([0, 1, 1], [0, 0.5, 1]),
    "clamp_tensor": ([1, 1, 0], [0.5, 0.5, 0]),
    "copysign": ([0, -1, 1], [-1, -1, 1]),
    "copysign_number": ([0, -1, -1], [-1, -1, -1]),
    "cummax": ([1, 1, 1], [1.75, 0.75, 0.5]),
    "cummin": ([1, 1, 1], [1.75, 0.75, 0.5]),
    "dist": ([0, 0, 0], [nan, nan, nan]),
    "distance_norm": ([[0, 0], [0, 0]], [[nan, nan], [nan, nan]]),
    "euclidean_dist": ([[0, -1], [0, 1]], [[nan, nan], [nan, nan]]),
    "fmax": ([0, 1, 1], [0, 0, 1]),
    "fmin": ([1, 1, 0], [1, 0, 0]),
    "hardtanh": ([0, 1, 0], [0.5, 1, 0.5]),
    "hypot": ([nan, 0.6, 0], [0.5, 0.6, 0]),
    "median_all": ([0, 0.5, 0.5], [0, 1, 0]),
    "nanmedian_all": ([0, 0.5, 0.5], [0, 1, 0]),
    "pdist": ([[0, 0], [0, 0]], [[nan, nan], [nan, nan]]),
    "pow": ([0, 0, 4], [nan, 0, 4]),
    "renorm": ([[0.5, 0], [0, 0]], [[0, 0], [0, 0]]),
    "scatter_amax": ([1 / 3, 1 / 3, 0.5], [0.5, 0.5, 1]),
    "scatter_amin": ([1 / 3, 1 / 3, 0.5], [0.5, 0.5, 1]),
    "std": ([0, 0, 0], [nan, nan, nan]),
    "std_mean": ([0, 0, 0], [nan, nan, nan]),
    "vector_norm": ([0, 0, 0], [nan, nan, nan]),
    "xlog1py": ([log(2), 0, log(2)], [0, nan, log(2)]),
    "xlog1py_number": ([log(2), log(2), log(2)], [0, log(2), log(2)]),
    "xlogy": ([log(2), 0, log(2)], [0, nan, log(2)]),
    "xlogy_number": ([log(2), log(2), log(2)], [0, log(2), log(2)]),
}
"""The gradients of the sums of these calls: PyTorch's, and jax's."""
