"""``spawn(fn, args, nprocs)``: processes that run one function, and what is raised when one of them fails."""

from __future__ import annotations

import ctypes
import logging
import pickle
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import wait
from typing import Any

from tapegrad._src.warn import warn
from tapegrad.multiprocessing.contexts import default

DIES_WITH_ITS_PARENT = 1  # prctl's PR_SET_PDEATHSIG, of Linux
PATIENCE = 30.0
"""Seconds after which a process that was told to end is killed."""

_log = logging.getLogger(__name__)


class ProcessException(Exception):
    """A process failed.

    Attributes:
        msg, error_index, error_pid: what happened; to which of the processes; the number that the system has of it.
    """

    __slots__ = ["error_index", "error_pid"]

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid = msg, error_index, error_pid

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """The function raised an exception, whose traceback is in the message."""


class ProcessExitedException(ProcessException):
    """A process ended with an exit status, or by a signal."""

    __slots__ = ["exit_code"]

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ) -> None:  # fmt: skip
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)


def _run(fn: Callable, index: int, args: Sequence[Any], error_file: str) -> None:
    """Run a process."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(DIES_WITH_ITS_PARENT, signal.SIGINT)
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass  # the parent has ended it
    except Exception:
        with open(error_file, "wb") as file:
            pickle.dump(traceback.format_exc(), file)
        sys.exit(1)


class ProcessContext:
    """Processes that run one function.

    Args:
        processes: the processes, which have been started.
        error_files: where each of them writes what it failed by.
    """

    def __init__(self, processes: Sequence[Any], error_files: Sequence[str]) -> None:
        self.processes, self.error_files = processes, error_files
        self.sentinels = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """The numbers that the system has of them."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until one of them ends. If it failed, the others are ended, too.

        Args:
            timeout: how many seconds to wait at most.
            grace_period: how many seconds the others have to end by themselves, and then to end when they are told to.

        Returns:
            whether all have ended well.

        Raises:
            ProcessRaisedException: the function raised an exception.
            ProcessExitedException: the process ended otherwise.
        """
        for sentinel in wait(list(self.sentinels), timeout) if self.sentinels else ():
            index = self.sentinels.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode:
                self._end(grace_period)
                self._raise(index)
        return not self.sentinels

    def _end(self, grace_period: float | None) -> None:
        if grace_period is not None:
            self._join_all(grace_period)
        for process in filter(lambda process: process.is_alive(), self.processes):
            _log.warning("Terminating process %s via signal SIGTERM", process.pid)
            process.terminate()
        self._join_all(PATIENCE if grace_period is None else grace_period)
        for process in filter(lambda process: process.is_alive(), self.processes):
            _log.warning("Unable to shutdown process %s via SIGTERM , forcefully exiting via SIGKILL", process.pid)
            process.kill()
            process.join()

    def _join_all(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        for process in self.processes:
            process.join(max(0.0, end - time.monotonic()))

    def _raise(self, index: int) -> None:
        status, pid = self.processes[index].exitcode, self.processes[index].pid
        with suppress(FileNotFoundError), open(self.error_files[index], "rb") as file:
            trace = pickle.load(file)
            raise ProcessRaisedException(
                f"\n\n-- Process {index} terminated with the following error:\n{trace}", index, pid
            )
        if status > 0:
            raise ProcessExitedException(f"process {index} terminated with exit code {status}", index, pid, status)
        known = status in [-number for number in signal.Signals]
        name = signal.Signals(-status).name if known else f"<Unknown signal {-status}>"
        raise ProcessExitedException(f"process {index} terminated with signal {name}", index, pid, status, name)


class SpawnContext(ProcessContext):
    """The old name of ``ProcessContext``."""

    def __init__(self, processes: Sequence[Any], error_files: Sequence[str]) -> None:
        warn("SpawnContext is renamed to ProcessContext since 1.4 release.")
        super().__init__(processes, error_files)


def start_processes(
    fn: Callable, args: Sequence[Any] = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:  # fmt: skip
    """Run ``fn(i, *args)`` in ``nprocs`` processes.

    Args:
        fn: a function of a module, so that another process finds it.
        args: its arguments after the number of the process; tensors are copied.
        nprocs: how many processes.
        join: whether to wait for them.
        daemon: whether they end with this process.
        start_method: how they are started. What is forked after the first tensor was made can't compute.

    Returns:
        None if ``join``, otherwise the processes.

    Raises:
        ProcessRaisedException: ``fn`` raised an exception.
        ProcessExitedException: a process ended otherwise.
    """
    processes, files = [], []
    for index in range(nprocs):
        with tempfile.NamedTemporaryFile(prefix="pytorch-errorfile-", suffix=".pickle") as file:
            files.append(file.name)
        context = default.get_context(start_method)
        processes.append(context.Process(target=_run, args=(fn, index, args, files[-1]), daemon=daemon))
        processes[-1].start()
    started = ProcessContext(processes, files)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable, args: Sequence[Any] = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:  # fmt: skip
    """Run ``fn(i, *args)`` in ``nprocs`` processes, which are spawned: see ``start_processes``."""
    if start_method != "spawn":
        warn(
            f"This method only supports start_method=spawn (got: {start_method}).\nTo use a different start_method "
            "use:\n\t\t torch.multiprocessing.start_processes(...)",
            FutureWarning,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
