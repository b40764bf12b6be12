"""Kernels of which a platform of XLA's has no implementation: there they run on the host.

Note [Kernels on the host]
XLA compiles nearly every kernel of the table for CPUs, CUDA and TPUs; ``test_lowering.py`` asks it to, kernel by
kernel. Of the others the declaration says where that is not so, ``on_host="tpu"``: where a program is compiled for such
a platform, the arrays are moved to the host, NumPy computes what is written from the kernel's own jaxpr (Note [The
NumPy backend]), and the results are moved back. That takes a transfer each way and waits for the device, and the table
of operators names it. Processes without such a platform don't see any of this.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import jax
import numpy as np
from jax import lax

from tapegrad._src.execution.numpy_backend.writer import written


def on_host(function: Callable, platforms: str) -> Callable:
    """A kernel that runs on the host where it is compiled for one of these platforms, and otherwise where it should.

    >>> import jax.numpy as jnp
    >>> on_host(jnp.sin, "tpu")(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    named = platforms.split(", ")

    @wraps(function)
    def anywhere(*arrays: Any, **settings: Any) -> Any:
        direct = partial(function, **settings)
        if jax.default_backend() not in named:
            return direct(*arrays)
        return lax.platform_dependent(*arrays, default=direct, **dict.fromkeys(named, partial(called, direct)))

    return anywhere


def called(function: Callable, *arrays: Any) -> Any:
    """The result of a function of arrays, computed on the host and moved to and fro."""
    results = jax.eval_shape(function, *arrays)
    return jax.pure_callback(partial(by_numpy, function), results, *arrays, vmap_method="sequential")


def by_numpy(function: Callable, *arrays: Any) -> Any:
    """The result of a function of arrays, computed by NumPy.

    >>> import jax.numpy as jnp
    >>> by_numpy(lambda x: jnp.linalg.eigvals(x), np.eye(2, dtype="float32"))
    array([1.+0.j, 1.+0.j], dtype=complex64)
    """
    values = [np.asarray(array) for array in arrays]
    with jax.enable_x64(True), np.errstate(all="ignore"):
        return written(function, values).body(*values)
