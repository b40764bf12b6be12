"""``spawn``: a function that runs in several processes."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tapegrad.utils.data.spawning import spawning

__all__ = [
    "Process", "ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException", "SpawnContext",
    "spawn", "start_processes",
]  # fmt: skip


class ProcessException(Exception):
    """A process has failed.

    Attributes:
        error_index: which.
        error_pid: its number.
    """

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.pid, self.error_pid = msg, error_index, pid, pid

    def __reduce__(self) -> tuple:
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """A process has raised; the message has its traceback."""


class ProcessExitedException(ProcessException):
    """A process was ended by a signal, or has exited with a status."""

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> tuple:
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def _run(function: Callable, number: int, arguments: Sequence[Any], errors: str) -> None:
    """What a process does."""
    try:
        function(number, *arguments)
    except KeyboardInterrupt:
        pass  # the one that started us was interrupted
    except Exception:
        Path(errors).write_bytes(pickle.dumps(traceback.format_exc()))
        sys.exit(1)


class Process(multiprocessing.Process):
    """A process, as Python's own, which finds tapegrad under the name of torch where this one does."""

    def start(self) -> None:
        """Start it."""
        with spawning(platforms=None):
            super().start()


class ProcessContext:
    """Processes that were started: see ``start_processes``."""

    def __init__(self, processes: Sequence[Any], error_files: Sequence[str]) -> None:
        self.processes, self.error_files = list(processes), list(error_files)
        self.sentinels = {process.sentinel: i for i, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """The numbers of the processes."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait for one of the processes to end.

        Returns:
            whether all have.

        Raises:
            ProcessRaisedException, ProcessExitedException: one has failed, and the others were ended.
        """
        if not self.sentinels:
            return True
        ready = multiprocessing.connection.wait(self.sentinels.keys(), timeout=timeout)
        failed = None
        for sentinel in ready:
            index = self.sentinels.pop(sentinel)
            process = self.processes[index]
            process.join()
            if process.exitcode != 0:
                failed = index
                break
        if failed is None:
            return not self.sentinels
        self._end(grace_period)
        raise self._error(failed)

    def _end(self, grace_period: float | None) -> None:
        end = time.monotonic() + (grace_period or 0)
        for process in self.processes:
            process.join(max(0.0, end - time.monotonic()))
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        for process in self.processes:
            process.join(5.0)
            if process.is_alive():
                process.kill()
                process.join()

    def _error(self, index: int) -> ProcessException:
        process, file = self.processes[index], Path(self.error_files[index])
        if file.exists():
            text = pickle.loads(file.read_bytes())
            file.unlink()
            began = f"\n\n-- Process {index} terminated with the following error:\n"
            return ProcessRaisedException(began + text, index, process.pid)
        code = process.exitcode
        if code < 0:
            name = signal.Signals(-code).name
            return ProcessExitedException(f"process {index} terminated with signal {name}", index, process.pid, code,
                                          name)  # fmt: skip
        return ProcessExitedException(f"process {index} terminated with exit code {code}", index, process.pid, code)


SpawnContext = ProcessContext


def start_processes(
    fn: Callable, args: Sequence[Any] = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:  # fmt: skip
    """Run ``fn(i, *args)`` in ``nprocs`` processes.

    Args:
        fn: a function of a module.
        args: what it is given after its number.
        nprocs: how many processes there are.
        join: whether to wait for them.
        daemon: whether they end with this process.
        start_method: "spawn", "forkserver" or "fork"; a process that was forked can't compute if this one has.

    Returns:
        the processes, if they are not waited for.

    Raises:
        ProcessRaisedException, ProcessExitedException: one has failed.
    """
    context = multiprocessing.get_context(start_method)
    folder = tempfile.mkdtemp()
    files = [os.path.join(folder, str(i)) for i in range(nprocs)]
    started = []
    with spawning(platforms=None):
        for i in range(nprocs):
            process = context.Process(  # type: ignore[attr-defined]
                target=_run, args=(fn, i, args, files[i]), daemon=daemon
            )
            process.start()
            started.append(process)
    found = ProcessContext(started, files)
    if not join:
        return found
    try:
        while not found.join():
            pass
    finally:
        for file in files:
            Path(file).unlink(missing_ok=True)
        os.rmdir(folder)
    return None


def spawn(
    fn: Callable, args: Sequence[Any] = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:  # fmt: skip
    """Run ``fn(i, *args)`` in ``nprocs`` processes: see ``start_processes``."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)
