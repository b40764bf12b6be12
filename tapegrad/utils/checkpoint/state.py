"""State around a checkpointed function that it must find again: random numbers, the default device, autocast."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tapegrad._src.bindings.state.generator import default_generator, fork_rng, get_rng_state, set_rng_state
from tapegrad._src.execution.data.devices import accelerator_type, get_default_device
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.amp.autocast_mode import AutocastSettings


class DefaultDeviceType:
    """The type of device whose random state is kept when no argument of a function is on an accelerator."""

    _default_device_type: str | None = None

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Set it."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        """The type that was set; if none was, the accelerator's type, or ``"cpu"`` where there is none."""
        if not DefaultDeviceType._default_device_type:
            DefaultDeviceType._default_device_type = accelerator_type() or "cpu"
        return DefaultDeviceType._default_device_type


def _tensors_in(structure: Any) -> list[Tensor]:
    """The tensors in nested tuples, lists and dicts."""
    found, stack = [], [structure]
    while stack:
        item = stack.pop()
        if isinstance(item, Tensor):
            found.append(item)
        elif isinstance(item, (tuple, list)):
            stack.extend(reversed(item))
        elif isinstance(item, dict):
            stack.extend(reversed(item.values()))
    return found


def _infer_device_type(*args: Any) -> str:
    """The type of accelerator that the tensors among ``args`` are on; if they are on several, the GPU's comes first."""
    types = [tensor.device.type for tensor in _tensors_in(args) if tensor.device.type != "cpu"]
    if len(set(types)) > 1:
        warn(
            "Tensor arguments, excluding CPU tensors, are detected on at least two types of devices. Device state will "
            "only be saved for devices of a single device type, and the remaining devices will be ignored. "
            "Consequently, if any checkpointed functions involve randomness, this may result in incorrect gradients. "
            "(Note that if CUDA devices are among the devices detected, it will be prioritized; otherwise, the first "
            f"device encountered will be selected.)\nDevice types: {sorted(set(types))} first device type: {types[0]}"
        )
    if not types:
        return DefaultDeviceType.get_device_type()
    return "cuda" if "cuda" in types else types[0]


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The indices of the accelerators that tensors among ``args`` are on, and the random state for each.

    One generator serves all devices here, so the states are all the same.

    >>> get_device_states(torch.ones(2), [torch.ones(3)])
    ([], [])
    """
    devices = [tensor.device for tensor in _tensors_in(args) if tensor.device.type not in ("cpu", "meta")]
    return [device.index or 0 for device in devices], [get_rng_state() for _ in devices]


def set_device_states(devices: Sequence[int], states: Sequence[Tensor], *, device_type: str | None = None) -> None:
    """Go back to random states that ``get_device_states`` gave.

    Args:
        devices: indices of devices; without effect, for one generator serves all.
        states: their states.
        device_type: the type of the devices; nothing is done for ``"meta"``.
    """
    if device_type == "meta":
        return
    for _, state in zip(devices, states, strict=False):
        set_rng_state(state)


class Surroundings:
    """The state that a function found around it when it was made.

    Args:
        preserve_rng_state: whether random numbers belong to it.
    """

    def __init__(self, preserve_rng_state: bool) -> None:
        stream = default_generator.stream
        self.rng_state = (stream, stream.mark()) if preserve_rng_state else None
        self.device, self.autocast = get_default_device(), AutocastSettings()

    @contextmanager
    def again(self) -> Iterator[None]:
        """A block in which all is as it was then. Afterwards random numbers go on as if it had not been."""
        with fork_rng(enabled=self.rng_state is not None), self.device, self.autocast.again():
            if self.rng_state is not None:
                stream, mark = self.rng_state
                default_generator.take(stream)
                stream.restore(mark)
            yield
