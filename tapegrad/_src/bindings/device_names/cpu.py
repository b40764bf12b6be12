"""Answers of ``torch.cpu``: there is one CPU, and it is always there."""

from typing import Any

from tapegrad._src.execution.kernels.deferred_checks import look


def current_device() -> str:
    """``"cpu"``."""
    return "cpu"


def device_count() -> int:
    """1."""
    return 1


def is_available() -> bool:
    """True."""
    return True


def is_initialized() -> bool:
    """True."""
    return True


def set_device(device: Any) -> None:
    """Nothing: there is one."""


def synchronize(device: Any = None) -> None:
    """Raises what checks of compiled calls have found; to read a value is to wait for it."""
    look()


class Stream:
    """The one order in which a CPU computes: nothing is waited for."""

    __module__ = "tapegrad.cpu"

    def __init__(self, priority: int = -1) -> None:
        pass

    def wait_stream(self, stream: Any) -> None:
        """Nothing: there is one order."""

    def record_event(self) -> None:
        """Nothing: there is one order."""

    def wait_event(self, event: Any) -> None:
        """Nothing: there is one order."""


class Event:
    """A moment in that order; it is always past."""

    __module__ = "tapegrad.cpu"

    def query(self) -> bool:
        """True."""
        return True

    def record(self, stream: Any = None) -> None:
        """Nothing: there is one order."""

    def synchronize(self) -> None:
        """Raises what checks of compiled calls have found; to read a value is to wait for it."""
        look()

    def wait(self, stream: Any = None) -> None:
        """Nothing: there is one order."""


_streams = [Stream()]


def current_stream(device: Any = None) -> Stream:
    """The stream that was chosen last.

    >>> torch.cpu.current_stream() is torch.cpu.current_stream()
    True
    """
    return _streams[-1]


class StreamContext:
    """A context in which a stream is the current one.

    Args:
        stream: the stream; None changes nothing.
    """

    __module__ = "tapegrad.cpu"

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            _streams.append(self.stream)

    def __exit__(self, *exception: Any) -> None:
        if self.stream is not None:
            _streams.pop()


def stream(stream: Stream | None) -> StreamContext:
    """``StreamContext``, as a function."""
    return StreamContext(stream)
