"""Devices beside computing: their names, their memory, and whether they are done."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from tapegrad._src.execution.data.devices import device, jax_device
from tapegrad._src.execution.recording.program import run_recorded


def wait_for(where: device) -> None:
    """Wait until a device has computed what it was given: it works in order, so something new comes last.

    >>> wait_for(device("cpu"))
    """
    run_recorded()
    jax.block_until_ready(jax.device_put(np.zeros(()), jax_device(where)) + 0)


def memory_of(where: device) -> dict[str, int]:
    """The bytes of a device that are in use, and all else of which XLA keeps count; nothing where it doesn't.

    >>> memory_of(device("cpu"))
    {}
    """
    return dict(jax_device(where).memory_stats() or {})


def properties_of(where: device) -> dict[str, Any]:
    """The name of a device's kind, its compute capability and its number of cores, as far as JAX knows them.

    >>> sorted(properties_of(device("cpu")))
    ['cores', 'major', 'minor', 'name']
    """
    chip = jax_device(where)
    major, _, minor = str(getattr(chip, "compute_capability", "0.0")).partition(".")
    cores = getattr(chip, "core_count", 0)
    return {"name": chip.device_kind, "major": int(major), "minor": int(minor or 0), "cores": int(cores or 0)}
