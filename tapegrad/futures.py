"""``torch.futures``: values that another thread is going to have."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from tapegrad._src.execution.data.devices import device as device_class

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Future(Generic[T]):
    """A value that is going to be there.

    Args:
        devices: where tensors of the value may be; each with its number.

    Raises:
        ValueError: a device without its number.

    >>> future = Future()
    >>> doubled = future.then(lambda future: 2 * future.value())
    >>> future.set_result(21)
    >>> doubled.wait()
    42
    """

    def __init__(self, *, devices: Sequence[Any] | None = None) -> None:
        for one in map(device_class, devices or ()):
            if one.index is None:
                raise ValueError(f"Expected devices to have indices, got {one}")
        self._complete = threading.Event()
        self._changing = threading.Lock()
        self._callbacks: list[Callable[[], Any]] = []
        self._value: Any = None
        self._error: BaseException | None = None

    def done(self) -> bool:
        """Tell whether there is a result, or an exception."""
        return self._complete.is_set()

    def wait(self) -> Any:
        """The result, when it is there; an exception is raised."""
        self._complete.wait()
        return self.value()

    def value(self) -> Any:
        """The result, which has to be there.

        Raises:
            RuntimeError: it isn't.
        """
        if not self.done():
            raise RuntimeError("value() of a Future that is not complete; wait() waits for it")
        if self._error is not None:
            raise self._error
        return self._value

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """Give the future result of a function of this one, when that is done: at once, if it is done by now."""
        result: Future = Future()
        self._when_done(lambda: result._run(callback, self))
        return result

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        """Call a function with this one when it is done; what it raises is logged.

        Raises:
            TypeError: it can't be called.
        """

        def call() -> None:
            try:
                callback(self)
            except Exception as error:
                _log.error("Got the following error when running the callback: %s: %s", type(error).__name__, error)

        if not callable(callback):
            raise TypeError(f"add_done_callback(): the callback has to be callable, not {callback!r}")
        self._when_done(call)

    def set_result(self, result: Any) -> None:
        """Give it its result, and call what waits for that.

        Raises:
            RuntimeError: it is complete.
        """
        self._finish(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Let whoever asks for its result get an exception.

        Raises:
            AssertionError: ``result`` is no exception.
            RuntimeError: it is complete.
        """
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._finish(None, result)

    def _finish(self, value: Any, error: BaseException | None) -> None:
        with self._changing:
            if self.done():
                raise RuntimeError(
                    "Attempting to mark a completed Future as complete again. Note that a Future can only be marked "
                    "completed once."
                )
            self._value, self._error = value, error
            self._complete.set()
            waiting, self._callbacks = self._callbacks, []
        for callback in waiting:
            callback()

    def _when_done(self, callback: Callable[[], Any]) -> None:
        with self._changing:
            if not self.done():
                self._callbacks.append(callback)
                return
        callback()

    def _run(self, callback: Callable[[Future], Any], before: Future) -> None:
        try:
            value, error = callback(before), None
        except Exception as raised:
            value, error = (
                None,
                RuntimeError(f"Got the following error when running the callback: {type(raised).__name__}: {raised}"),
            )
            error.__cause__ = raised
        self._finish(value, error)


def collect_all(futures: Sequence[Future]) -> Future:
    """A future of these futures, which is done when all of them are; it has the exception of the first that has one."""
    together: Future = Future()
    waited_for = [len(futures)]
    counting = threading.Lock()

    def finish() -> None:
        together._finish(list(futures), next((one._error for one in futures if one._error is not None), None))

    def one_more() -> None:
        with counting:
            waited_for[0] -= 1
            last = not waited_for[0]
        if last:
            finish()

    for future in futures:
        future._when_done(one_more)
    if not futures:
        finish()
    return together


def wait_all(futures: Sequence[Future]) -> list[Any]:
    """The results of all of them; the first exception is raised.

    >>> done = Future()
    >>> done.set_result(1)
    >>> wait_all([done])
    [1]
    """
    return [future.wait() for future in collect_all(futures).wait()]
