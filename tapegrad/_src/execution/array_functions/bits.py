"""The bytes of an array read as another dtype."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax


def reinterpreted(items: Any, dtype: np.dtype) -> Any:
    """The bytes of each last dimension of an array, read as another dtype.

    >>> import jax.numpy as jnp
    >>> reinterpreted(jnp.asarray([[1.0 + 2.0j], [3.0 + 4.0j]], "complex64"), np.dtype("float32")).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    unit = min(_real(items.dtype).itemsize, _real(dtype).itemsize)
    if not items.size:
        return jnp.zeros((*items.shape[:-1], items.shape[-1] * items.dtype.itemsize // dtype.itemsize), dtype)
    if _real(items.dtype) == _real(dtype) and items.dtype.kind != dtype.kind:
        return _regrouped(items, dtype)
    words = _words(items, np.dtype(f"uint{8 * unit}"))
    return _from_words(words.reshape(*items.shape[:-1], -1, dtype.itemsize // unit), dtype)


def _regrouped(items: Any, dtype: np.dtype) -> Any:
    """Complex numbers as their parts, or the other way round: without bits, so that it can be differentiated."""
    if dtype.kind == "f":
        return jnp.stack([jnp.real(items), jnp.imag(items)], -1).reshape(*items.shape[:-1], -1)
    parts = items.reshape(*items.shape[:-1], -1, 2)
    return lax.complex(parts[..., 0], parts[..., 1])


def _words(items: Any, word: np.dtype) -> Any:
    """The bytes of an array as unsigned integers, in a new last dimension."""
    if items.dtype.kind == "b":
        items = items.astype(np.dtype("uint8"))
    parts = jnp.stack([jnp.real(items), jnp.imag(items)], -1) if jnp.iscomplexobj(items) else items
    return lax.bitcast_convert_type(parts, word).reshape(*items.shape, -1)


def _from_words(words: Any, dtype: np.dtype) -> Any:
    """The elements whose bytes the last dimension has."""
    parts = 2 if dtype.kind == "c" else 1
    real = np.dtype("uint8") if dtype.kind == "b" else _real(dtype)
    words = words.reshape(*words.shape[:-1], parts, -1)
    words = words[..., 0] if words.dtype.itemsize == real.itemsize else words
    items = lax.bitcast_convert_type(words, real)
    if dtype.kind == "c":
        return lax.complex(items[..., 0], items[..., 1])
    return items[..., 0] != 0 if dtype.kind == "b" else items[..., 0]


def _real(dtype: np.dtype) -> np.dtype:
    """The dtype itself, or that of the parts of complex numbers."""
    return np.dtype(f"float{4 * dtype.itemsize}") if dtype.kind == "c" else dtype
