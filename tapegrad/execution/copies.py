"""Copies of values."""

from __future__ import annotations

from typing import Any

import jax


def copied(array: Any) -> Any:
    """An array with the same elements in memory of its own; nothing is compiled for that."""
    with jax.enable_x64(True):
        return jax.device_put(array, may_alias=False)
