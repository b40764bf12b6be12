"""Looking for nan and inf in values: flags that are read later, many at a time, and summaries for error messages.

Note [Flags]
To ask whether a value has a nan must not make the program wait for it. ``flag`` starts the question: for a small value
in the host's memory it is the value itself (a look at it costs less than a kernel); otherwise a kernel reduces
the value to two booleans. ``read`` waits and answers, for all at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from tapegrad._src.execution.array_functions.host import has_accelerator
from tapegrad._src.execution.kernels.kernel import Shaped

_LOOKED_AT = 1 << 12  # elements: smaller values on the host are looked at as they are

_TRACER = jax.core.Tracer

_ask = Shaped(lambda x: jnp.stack([jnp.isnan(x).any(), jnp.isinf(x).any()]), name="nonfinite")


def flag(value: Any) -> Any:
    """Ask whether a value has nan or inf; ``read`` answers. None for a value that can't, or that is traced.

    >>> read([flag(jnp.array([1.0, jnp.inf]))])
    [(False, True)]
    """
    if isinstance(value, _TRACER) or value.dtype.kind in "biu":
        return None
    if value.size <= _LOOKED_AT and not has_accelerator():
        return value
    return _ask(value)


def read(flags: Sequence[Any]) -> list[tuple[bool, bool]]:
    """Tell whether the value behind each flag has nan, and whether it has inf."""
    arrays = list(map(np.asarray, jax.device_get(list(flags)) if has_accelerator() else flags))
    if _all_finite(arrays):
        return [(False, False)] * len(arrays)
    return [_look(array) for array in arrays]


def _all_finite(arrays: list[np.ndarray]) -> bool:
    """Tell whether there is nothing to be found, in one look at all."""
    if len(arrays) == 1 and arrays[0].dtype.kind != "b":
        return bool(np.isfinite(arrays[0]).all())
    by_dtype: dict[np.dtype, list[np.ndarray]] = {}
    for array in arrays:
        by_dtype.setdefault(array.dtype, []).append(array)
    joined = {dtype: np.concatenate(several, axis=None) for dtype, several in by_dtype.items()}
    return all(not both.any() if dtype.kind == "b" else np.isfinite(both).all() for dtype, both in joined.items())


def _look(array: np.ndarray) -> tuple[bool, bool]:
    if array.dtype.kind == "b":
        return bool(array[0]), bool(array[1])
    return bool(np.isnan(array).any()), bool(np.isinf(array).any())


class Summary(NamedTuple):
    """The range of a value's finite elements (None if it has none, or is complex), and counts of special ones."""

    least: float | None
    greatest: float | None
    nan: int
    inf: int
    zero: int

    def __str__(self) -> str:
        span = "no finite element" if self.least is None else f"min {self.least:.6g}, max {self.greatest:.6g}"
        return f"{span}, {self.nan} nan, {self.inf} inf"


def summarize(value: Any) -> Summary:
    """The summary of a value for a message; it is read on the host.

    >>> str(summarize(np.array([0.5, -2.0, np.nan])))
    'min -2, max 0.5, 1 nan, 0 inf'
    """
    array = np.asarray(value)
    nan, inf, zero = (int(np.count_nonzero(mask)) for mask in (np.isnan(array), np.isinf(array), array == 0))
    finite = np.abs(array[np.isfinite(array)]) if np.iscomplexobj(array) else array[np.isfinite(array)]
    if not finite.size:
        return Summary(None, None, nan, inf, zero)
    return Summary(float(finite.min()), float(finite.max()), nan, inf, zero)


def zeros_meet(left: Any, right: Any) -> bool:
    """Tell whether two values are zero at the same place, as they are broadcast."""
    return bool(np.any((np.asarray(left) == 0) & (np.asarray(right) == 0)))
