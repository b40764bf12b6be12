"""``torch.distributed.elastic.multiprocessing.errors``: what becomes of an error in one of many processes."""

from __future__ import annotations

import json
import os
import time
import traceback
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

__all__ = ["ErrorHandler", "get_error_handler", "record"]

F = TypeVar("F", bound=Callable)


class ErrorHandler:
    """A writer of an error into the file that ``TORCHELASTIC_ERROR_FILE`` names, if it names one."""

    def initialize(self) -> None:
        """Does nothing: what a process prints when it dies is Python's affair."""

    def record_exception(self, e: BaseException) -> None:
        """Write an exception, with where it was raised and when, as JSON."""
        path = os.environ.get("TORCHELASTIC_ERROR_FILE")
        if path is None:
            return
        details = {"py_callstack": traceback.format_exc(), "timestamp": str(int(time.time()))}
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "w") as file:
            json.dump({"message": {"message": f"{type(e).__name__}: {e}", "extraInfo": details}}, file)


class ChildFailedError(Exception):
    """Processes have failed: what a launcher raises.

    Args:
        name: the program.
        failures: what is known of each, by its number.
    """

    def __init__(self, name: str, failures: dict[int, Any] | None = None) -> None:
        self.name, self.failures = name, failures or {}
        super().__init__(f"{name} FAILED: {len(self.failures)} processes")


def get_error_handler() -> ErrorHandler:
    """A new one."""
    return ErrorHandler()


def record(fn: F, error_handler: ErrorHandler | None = None) -> F:
    """The function, whose errors are written down, and raised as ever.

    Args:
        fn: the main function of a process.
        error_handler: who writes.

    >>> record(lambda: 3)()
    3
    """
    handler = error_handler or get_error_handler()

    @wraps(fn)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        handler.initialize()
        try:
            return fn(*args, **kwargs)
        except Exception as error:
            handler.record_exception(error)
            raise

    return recorded  # type: ignore[return-value]
