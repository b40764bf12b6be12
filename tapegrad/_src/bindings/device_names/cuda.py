"""Questions about GPUs that programs ask before they choose a device: ``torch.cuda``. See ``accelerator.py`` for any
device."""

from __future__ import annotations

from typing import Any

from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.state.generator import manual_seed as seed_default
from tapegrad._src.execution.data.devices import device as Device
from tapegrad._src.execution.data.devices import device_count as count_devices
from tapegrad._src.execution.kernels.deferred_checks import look
from tapegrad._src.execution.programs.hardware import wait_for


@public("cuda")
def is_available() -> bool:
    """Tell whether JAX has a GPU here."""
    return count_devices("cuda") > 0


@public("cuda")
def device_count() -> int:
    """Count the GPUs that JAX has here."""
    return count_devices("cuda")


@public("cuda")
def current_device() -> int:
    """The index of the GPU that ``cuda`` without an index means: always the first.

    Raises:
        AssertionError: there is none.
    """
    init()
    return 0


@public("cuda")
def init() -> None:
    """Does nothing where there is a GPU: JAX makes it ready.

    Raises:
        AssertionError: there is none.
    """
    if not is_available():
        raise AssertionError("Torch not compiled with CUDA enabled")


@public("cuda")
def is_initialized() -> bool:
    """Tell whether GPUs can be computed on: JAX makes them ready when it is asked for its devices."""
    return is_available()


@public("cuda")
def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Tell whether bfloat16 can be computed with: XLA can on every GPU."""
    return is_available()


@public("cuda", aliases=("manual_seed_all",))
def manual_seed(seed: int) -> None:
    """Seed random numbers; there is one default generator for all devices."""
    seed_default(seed)


@public("cuda")
def synchronize(device: Any = None) -> None:
    """Wait for a GPU, the first by default, and raise what checks of compiled calls have found.

    Args:
        device: a GPU, or its index.

    Raises:
        AssertionError: there is none.
    """
    init()
    wait_for(gpu(device))
    look()


@public("cuda")
def empty_cache() -> None:
    """Does nothing: XLA keeps its pool of memory."""


def gpu(where: Any = None) -> Device:
    """A GPU that is asked for by index, by name, or as none in particular: the first.
    Raises ValueError: another device.
    """
    device = Device("cuda", 0 if where is None else where) if where is None or isinstance(where, int) else Device(where)
    if device.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {device}")
    return device
