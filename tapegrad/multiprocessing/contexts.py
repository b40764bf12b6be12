"""Contexts that start processes: see Note [Other processes]."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import context
from typing import Any

from tapegrad._src.bindings.state.generator import in_use

_one_at_a_time = threading.RLock()


@contextmanager
def environment(**variables: str) -> Iterator[None]:
    """Environment variables for processes that are started inside."""
    with _one_at_a_time:
        before = {name: os.environ.get(name) for name in variables}
        os.environ.update(variables)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value


class SpawnProcess(context.SpawnProcess):
    """A process that is spawned, and told which random numbers seeds stand for."""

    @staticmethod
    def _Popen(process_obj: Any) -> Any:
        with environment(TAPEGRAD_RANDOM=in_use()):
            return context.SpawnProcess._Popen(process_obj)


class SpawningContext(context.SpawnContext):
    """Python's context ``spawn``, with such processes."""

    Process = SpawnProcess


class Process(context.Process):
    """A process that is started as the program has chosen, by ``spawn`` if it hasn't."""

    @staticmethod
    def _Popen(process_obj: Any) -> Any:
        return default.get_context().Process._Popen(process_obj)


class DefaultContext(context.DefaultContext):
    """A context as Python's default one, but for what processes are started by if nobody has chosen."""

    Process = Process

    def get_context(self, method: str | None = None) -> Any:
        """The context of a start method."""
        method = method or self.get_start_method()
        return spawned if method == "spawn" else multiprocessing.get_context(method)

    def get_start_method(self, allow_none: bool = False) -> Any:
        """The start method: ``spawn``, if nobody has chosen another."""
        return multiprocessing.get_start_method(allow_none=True) or (None if allow_none else "spawn")

    def set_start_method(self, method: str | None, force: bool = False) -> None:
        """Choose the start method, for Python's own ``multiprocessing`` as well."""
        multiprocessing.set_start_method(method, force)


spawned = SpawningContext()
default = DefaultContext(spawned)
