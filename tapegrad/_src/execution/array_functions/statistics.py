"""Statistics of several values at once.

Where NumPy may compute (Note [Tiers] in ``tiers/tiered_kernel.py``) it does, which takes a fraction of what XLA's
reductions take, and nothing to compile. Elsewhere one kernel does, which nobody waits for until they are read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from tapegrad._src.execution.array_functions.host import to_host
from tapegrad._src.execution.kernels.kernel import Kernel, kernel_for
from tapegrad._src.execution.tiers.host_trace import WIDE
from tapegrad._src.execution.tiers.settings import hosted


class Statistics(NamedTuple):
    """Statistics of the elements of a value; of complex ones their size is taken.

    Attributes:
        mean, std, least, greatest, norm: of the elements that are finite.
        zeros: which part of the elements is 0.
        nonfinite: how many are nan or infinite.
    """

    mean: float
    std: float
    least: float
    greatest: float
    norm: float
    zeros: float
    nonfinite: int


def ask_statistics(values: Sequence[Any]) -> Any:
    """Begin to compute the statistics of some values, which have elements; ``read_statistics`` gives them."""
    if hosted():
        with np.errstate(all="ignore"):
            return [statistics_on_host(to_host(value)) for value in values]
    types = tuple((tuple(value.shape), np.dtype(value.dtype)) for value in values)
    return kernel_for(_statistics, types)(*values)


def _statistics(types: tuple) -> Callable:
    wide = any(dtype in WIDE for _, dtype in types)
    return Kernel(statistics_of_all, name="statistics", wide=wide, arguments=types).dispatcher()


def read_statistics(asked: Any) -> list[Statistics]:
    """The statistics that ``ask_statistics`` began to compute: waits for them.

    >>> f"{read_statistics(ask_statistics([np.array([3.0, -4.0, np.inf, 0.0], 'float32')]))[0].norm:.4f}"
    '5.0000'
    """
    if isinstance(asked, list):
        return asked
    rows = np.asarray(to_host(asked), "float64").tolist()
    return [Statistics._make([*numbers, int(nonfinite)]) for *numbers, nonfinite in rows]


def statistics_on_host(array: np.ndarray) -> Statistics:
    """The statistics of an array by NumPy, as ``statistics_of`` has them. Least and greatest tell if all is finite."""
    numbers = (np.abs(array) if np.iscomplexobj(array) else array).astype("float32", copy=False).reshape(-1)
    zeros, kept = np.count_nonzero(numbers == 0) / numbers.size, numbers
    least, greatest = numbers.min(), numbers.max()
    if not (np.isfinite(least) and np.isfinite(greatest)):
        kept = numbers[np.isfinite(numbers)]
        if not kept.size:
            return Statistics(0.0, 0.0, 0.0, 0.0, 0.0, zeros, numbers.size)
        least, greatest = kept.min(), kept.max()
    distances = kept - kept[0]
    shift = float(distances.sum()) / kept.size
    variance = max(float(np.dot(distances, distances)) / kept.size - shift * shift, 0.0)
    mean = float(kept[0]) + shift
    norm = math.sqrt(kept.size * (variance + mean * mean))
    return Statistics(
        mean, math.sqrt(variance), float(least), float(greatest), norm, zeros, numbers.size - kept.size
    )  # fmt: skip


def statistics_of_all(*values: Any) -> Any:
    """The kernel: a row for each value."""
    return jnp.stack([jnp.stack(statistics_of(value)) for value in values])


def statistics_of(value: Any) -> list[Any]:
    """The statistics of one array, in the order of ``Statistics``, in float32, by one pass over it for each sum.

    The variance is that of the distances from the first element, so that a large mean takes nothing from it.
    """
    numbers = (jnp.abs(value) if jnp.iscomplexobj(value) else value).astype("float32").reshape(-1)
    finite = jnp.isfinite(numbers)
    first = jnp.where(finite[0], numbers[0], 0)
    distances = jnp.where(finite, numbers - first, 0)
    count = jnp.sum(finite.astype("float32"))
    some = jnp.maximum(count, 1)
    shift = jnp.sum(distances) / some
    variance = jnp.maximum(jnp.sum(distances * distances) / some - shift * shift, 0)
    mean = jnp.where(count > 0, first + shift, 0)
    norm = jnp.sqrt(count * (variance + mean * mean))
    least = jnp.where(count > 0, jnp.min(jnp.where(finite, numbers, jnp.inf)), 0)
    greatest = jnp.where(count > 0, jnp.max(jnp.where(finite, numbers, -jnp.inf)), 0)
    zeros = jnp.sum((numbers == 0).astype("float32")) / numbers.size
    return [mean, jnp.sqrt(variance), least, greatest, norm, zeros, numbers.size - count]
