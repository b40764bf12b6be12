"""What programs ask about GPUs before they choose a device: ``torch.cuda``. See ``accelerator.py`` for any device."""

from __future__ import annotations

from typing import Any

from tapegrad.bindings.generator import manual_seed as seed_default
from tapegrad.bindings.registry import public
from tapegrad.execution.devices import device_count as count_devices
from tapegrad.execution.late import look


@public("cuda")
def is_available() -> bool:
    """Whether JAX has a GPU here."""
    return count_devices("cuda") > 0


@public("cuda")
def device_count() -> int:
    """How many GPUs JAX has here."""
    return count_devices("cuda")


@public("cuda")
def current_device() -> int:
    """The index of the GPU that ``cuda`` without an index means: always the first.

    Raises:
        RuntimeError: there is none.
    """
    if not is_available():
        raise RuntimeError("No CUDA GPUs are available")
    return 0


@public("cuda")
def is_bf16_supported() -> bool:
    """Whether bfloat16 can be computed with: XLA can on every GPU."""
    return is_available()


@public("cuda", aliases=("manual_seed_all",))
def manual_seed(seed: int) -> None:
    """Seed random numbers; there is one default generator for all devices."""
    seed_default(seed)


@public("cuda", aliases=("empty_cache",))
def synchronize(device: Any = None) -> None:
    """Raises what checks of compiled calls have found. Reading a value waits for it, and XLA keeps its memory pool."""
    look()
