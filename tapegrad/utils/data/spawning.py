"""Processes of workers: how they are started, and ended.

Note [Workers are forked early]
A new Python takes a second to import tapegrad. So it is done once, in a process that does nothing else (Python's
``forkserver``): no backend of JAX is started there, and no thread, so that it can be forked, as often as workers are
wanted. Each worker then imports the script as a module. What the server knows it was told when it was started: if the
environment is another one meanwhile, workers are spawned.

Note [What workers are told]
What a worker has to know before it imports the script stands in the environment while it, or the server, is started:
JAX computes on the CPU there, so that a worker takes no accelerator's memory, and seeds stand for the same random
numbers as in the loader's process. Where tapegrad stands in for torch, Note [Children] in ``as_torch/children.py`` has
what else they are told.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import Pipe, get_all_start_methods, get_context, spawn
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from typing import Any

from tapegrad._src.bindings.state.generator import in_use
from tapegrad.as_torch.children import MAIN
from tapegrad.multiprocessing.contexts import environment

PATIENCE = 5.0
"""Seconds after which a worker that doesn't end is terminated."""

UNGUARDED = (
    " It ended while it imported the program: workers are spawned, so a script must keep what it does under "
    "if __name__ == '__main__'."
)


_server: list[Any] = []
"""The preload that the server was told, once it is started."""


def default_context() -> BaseContext:
    """The way in which workers are started: see Note [Workers are forked early]. To be asked when the environment is
    theirs."""
    told = {**os.environ, MAIN: ""}, spawn.get_preparation_data
    if "forkserver" not in get_all_start_methods() or told != (_server or [told])[0]:
        return get_context("spawn")
    context = get_context("forkserver")
    if not _server:
        context.set_forkserver_preload(["tapegrad.utils.data"])
        _server.append(told)
    return context


class WorkerProcess:
    """A process that does tasks.

    Args:
        context: how it is started; None for the usual way.
        target: what runs in it, with the arguments and two connections: the tasks come from the one, results go to the
            other.
        arguments: the arguments.
    """

    def __init__(self, context: BaseContext | None, target: Callable, *arguments: Any) -> None:
        theirs_in, self.tasks = Pipe(duplex=False)
        self.results, theirs_out = Pipe(duplex=False)
        try:
            with environment(JAX_PLATFORMS="cpu", TAPEGRAD_RANDOM=in_use()):
                self.process = (context or default_context()).Process(  # type: ignore[attr-defined]
                    target=target, args=(*arguments, theirs_in, theirs_out), daemon=True
                )
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
