"""How processes of workers are started, and ended.

Note [What workers are told]
Workers are spawned: a new Python imports the script as a module, and tapegrad with it. What it has to know before that
stands in the environment while it is started: JAX computes on the CPU there, so that a worker takes no accelerator's
memory, and seeds stand for the same random numbers as in the loader's process.

Where tapegrad stands in for torch (``as_torch.py``), the script's ``import torch`` has to find it. So the process is
told that its main module is ``main_of_worker``, which installs tapegrad and then runs the script: ``multiprocessing``
reads the name off the ``__spec__`` of ``__main__``, where it is put meanwhile.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.machinery import ModuleSpec
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from typing import Any

from tapegrad.as_torch import is_installed
from tapegrad.bindings.generator import in_use

SCRIPT = "TAPEGRAD_SCRIPT_OF_WORKER"
"""The variable that names the script to a process where tapegrad stands in for torch."""

PATIENCE = 5.0
"""Seconds after which a worker that doesn't end is terminated."""

UNGUARDED = (
    " It ended while it imported the program: workers are spawned, so a script must keep what it does under "
    "if __name__ == '__main__'."
)

_one_at_a_time = threading.Lock()


@contextmanager
def environment(**variables: str) -> Iterator[None]:
    """Environment variables for processes that are started inside."""
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


@contextmanager
def main_replaced() -> Iterator[None]:
    """Let processes that are started inside have ``main_of_worker`` as their main module."""
    main = sys.modules["__main__"]
    spec, script = getattr(main, "__spec__", None), getattr(main, "__file__", None) or ""
    if spec is not None and (spec.name == "__main__" or spec.name.endswith(".__main__")):
        script = ""  # a package that is run, whose main module multiprocessing leaves out as well
    main.__spec__ = ModuleSpec("tapegrad.utils.data.main_of_worker", None)
    try:
        with environment(**{SCRIPT: os.path.abspath(script) if script else ""}):
            yield
    finally:
        main.__spec__ = spec


@contextmanager
def spawning(platforms: str | None = "cpu") -> Iterator[None]:
    """What processes that are started inside are told: see Note [What workers are told].

    Args:
        platforms: on what JAX computes there; None for what it would by itself.
    """
    told = {"TAPEGRAD_RANDOM": in_use()} | ({} if platforms is None else {"JAX_PLATFORMS": platforms})
    with _one_at_a_time, environment(**told):
        if not is_installed():
            yield
        else:
            with main_replaced():
                yield


class WorkerProcess:
    """A process that does tasks.

    Args:
        context: how it is started.
        target: what runs in it, with the arguments and two connections: the tasks come from the one, results go to the
            other.
        arguments: the arguments.
    """

    def __init__(self, context: BaseContext, target: Callable, *arguments: Any) -> None:
        theirs_in, self.tasks = context.Pipe(duplex=False)
        self.results, theirs_out = context.Pipe(duplex=False)
        self.process = context.Process(  # type: ignore[attr-defined]
            target=target, args=(*arguments, theirs_in, theirs_out), daemon=True
        )
        try:
            with spawning():
                self.process.start()
        except BaseException:
            self.close()
            raise
        finally:
            theirs_in.close()
            theirs_out.close()

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self.process.pid

    def put(self, task: Any) -> None:
        """Send a task; a worker that is gone is found when its result is wanted."""
        with suppress(BrokenPipeError, ConnectionResetError):
            self.tasks.send(task)

    def close(self) -> None:
        """Close both connections."""
        self.tasks.close()
        self.results.close()

    def cause_of_death(self, starting: bool) -> RuntimeError:
        """Why it is gone, in PyTorch's words; while it was starting it was mostly the script, which it imports."""
        self.process.join(PATIENCE)
        status = self.process.exitcode
        if status is not None and status < 0:
            return RuntimeError(
                f"DataLoader worker (pid {self.pid}) is killed by signal: {signal.strsignal(-status)}. "
            )
        return RuntimeError(
            f"DataLoader worker (pid {self.pid}) exited unexpectedly with exit code {status}. Details are lost due to "
            "multiprocessing. Rerunning with num_workers=0 may give better error trace."
            + (UNGUARDED if starting else "")
        )


def end(workers: list[WorkerProcess], drop: Callable[[bytes], None], owner: int) -> None:
    """End workers: they finish what they are at, what they have sent is dropped; who doesn't end is terminated.

    Args:
        workers: the workers; the list is empty afterwards.
        drop: gives back what a result holds.
        owner: the process that started them; a fork of it leaves them alone.
    """
    if os.getpid() != owner:
        return
    for worker in workers:
        worker.put(None)
        worker.tasks.close()
    deadline = time.monotonic() + PATIENCE
    for worker in workers:
        _drain(worker.results, drop, deadline)
        worker.process.join(max(0.0, deadline - time.monotonic()))
        if worker.process.is_alive():
            worker.process.terminate()
            worker.process.join(PATIENCE)
        worker.results.close()
    workers.clear()


def _drain(results: Connection, drop: Callable[[bytes], None], deadline: float) -> None:
    try:
        while results.poll(max(0.0, deadline - time.monotonic())):
            drop(results.recv_bytes())
    except (EOFError, OSError):
        return
