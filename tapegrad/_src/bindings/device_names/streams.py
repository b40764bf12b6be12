"""``torch.Stream`` and ``torch.Event``, of a device of any type. See Note [One stream] in ``gpus.py``."""

from __future__ import annotations

import time
from typing import Any, Self

from tapegrad._src.execution.data.devices import accelerator_type
from tapegrad._src.execution.data.devices import device as Device
from tapegrad._src.execution.programs.hardware import wait_for


def _chosen(device: Any) -> Device:
    """A device; by default the accelerator, if there is one."""
    return Device(accelerator_type() or "cpu") if device is None else Device(device)


class Stream:
    """The order in which a device computes: there is one for each.

    Args:
        device: the accelerator by default, or the CPU where there is none.
        priority: ignored.

    >>> with torch.Stream() as stream:
    ...     x = torch.ones(2) + 1
    >>> stream.synchronize()
    >>> stream.query()
    True
    """

    __module__ = "tapegrad"
    stream_id = 0

    def __init__(self, device: Any = None, *, priority: int = 0) -> None:
        self.device, self.priority = _chosen(device), priority

    @property
    def device_index(self) -> int:
        """The index of the device; -1 of the CPU."""
        return -1 if self.device.type == "cpu" else self.device.index or 0

    def synchronize(self) -> None:
        """Wait for the device."""
        wait_for(self.device)

    def query(self) -> bool:
        """Tell whether the device has computed what it was given: waits for it."""
        self.synchronize()
        return True

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event, a new one if there is none.

        Args:
            event: which.
        """
        event = event or Event(self.device)
        event.record(self)
        return event

    def wait_event(self, event: Any) -> None:
        """Does nothing: what was given to the device before is computed before."""

    def wait_stream(self, other: Any) -> None:
        """Does nothing: there is one stream."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.device == self.device

    def __hash__(self) -> int:
        return hash(self.device)

    def __repr__(self) -> str:
        return f"torch.Stream device_type={self.device.type}, device_index={self.device_index}, stream_id=0"


class Event:
    """A moment in what a device computes.

    Args:
        device: the accelerator by default, or the CPU where there is none, which has no events.
        enable_timing: whether it can be asked for times.
        blocking, interprocess: ignored.

    >>> torch.Event("cpu").query()
    True
    """

    __module__ = "tapegrad"

    def __init__(
        self, device: Any = None, *, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        self.device, self.enable_timing = _chosen(device), enable_timing
        self.recorded: float | None = None

    def record(self, stream: Stream | None = None) -> None:
        """Wait for the device, and note the time.

        Args:
            stream: that of the device.

        Raises:
            RuntimeError: the device is a CPU; the stream is that of another device.
        """
        if self.device.type == "cpu":
            raise RuntimeError("cpu backend doesn't support events.")
        if stream is not None and stream.device.type != self.device.type:
            raise RuntimeError(
                f"Event device type {self.device.type} does not match recording stream's device type "
                f"{stream.device.type}."
            )
        wait_for(self.device if stream is None else stream.device)
        self.recorded = time.perf_counter()

    def synchronize(self) -> None:
        """Does nothing: to record it was to wait."""

    def query(self) -> bool:
        """Tell whether all is computed that was given to the device before: to record it was to wait for that."""
        return True

    def wait(self, stream: Any = None) -> None:
        """Does nothing: what was given to the device before is computed before."""

    def elapsed_time(self, end_event: Event) -> float:
        """The milliseconds between this event and a later one.

        Args:
            end_event: the later one.

        Raises:
            ValueError: one of them has not been recorded, or was made without ``enable_timing``.
        """
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self.recorded is None or end_event.recorded is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return 1000 * (end_event.recorded - self.recorded)

    def __repr__(self) -> str:
        index = -1 if self.device.type == "cpu" else self.device.index or 0
        flag = int(self.enable_timing)
        return f"torch.Event device_type={self.device.type}, device_index={index}, event_flag={flag}, event_id=0"
