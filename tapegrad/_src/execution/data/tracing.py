"""Regions that jax's own profiler is told of, and waiting for results."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

import jax

from tapegrad._src.execution.data.values import materialized


def annotation(name: str) -> AbstractContextManager:
    """A span of this name in the traces that ``jax.profiler`` takes; costs next to nothing while it takes none."""
    return jax.profiler.TraceAnnotation(name)


def wait_for(values: Iterable[Any]) -> None:
    """Return when these values have been computed; None among them is passed over."""
    jax.block_until_ready([materialized(value) for value in values if value is not None])
