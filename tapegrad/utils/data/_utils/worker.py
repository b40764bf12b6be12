"""The program of a worker: tasks come in, batches go out.

Note [Workers of loaders]
A worker is a process of its own with two pipes: tasks come through the one, read by a thread so that the loader never
waits for a worker that computes; batches go through the other (Note [Segments], ``segments.py``). A task is the number
of the pass over the dataset, the number of the batch, and its index. When the loader's process goes away, whatever the
reason, the pipes end, and so does the worker. When a worker goes away, its pipe ends, and the loader sees it at once.

Dataset and functions come as bytes, and are read in here: if that fails, the loader gets the error.
"""

from __future__ import annotations

import queue
import random
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from tapegrad._src.bindings.state.generator import manual_seed


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """Four numbers of 32 bits for a worker's generator: those of NumPy's ``SeedSequence``.

    >>> len(_generate_state(1, 0))
    4
    """
    entropy = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return np.random.SeedSequence(entropy).generate_state(4).tolist()


STARTED = b""
"""The first message of a worker, before any batch."""


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """Which worker this is.

    Attributes:
        id: from 0 on.
        num_workers: how many there are.
        seed: what ``random`` and tapegrad were seeded with here.
        dataset: this worker's copy.
        rng: None; generators of worker threads, which there are none of.
        worker_method: ``"multiprocessing"``.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str | None = "multiprocessing"


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker of a ``DataLoader``: which one it is, its seed and its dataset. None in every other process.

    >>> get_worker_info() is None
    True
    """
    return _worker_info


class KeyErrorMessage(str):
    """A message that a KeyError doesn't quote."""

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """An exception, with its traceback as text, on its way to another process.

    Args:
        exc_info: what ``sys.exc_info()`` gives.
        where: where it was raised, for the message.
    """

    def __init__(self, exc_info: BaseException, where: str = "in background") -> None:
        self.exc_type = type(exc_info)
        self.exc_msg = "".join(traceback.format_exception(exc_info))
        self.where = where

    def reraise(self) -> None:
        """Raise an exception of the same class here; a RuntimeError if the class wants other arguments."""
        text = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            text = KeyErrorMessage(text)
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=text)  # type: ignore[call-arg]
        try:
            error = self.exc_type(text)
        except Exception:
            raise RuntimeError(text) from None
        raise error


@dataclass(frozen=True)
class Ended:
    """In the place of a batch: this worker's iterable dataset has no more samples."""

    worker_id: int


@dataclass(frozen=True)
class Job:
    """The job of a worker, but for its number.

    Attributes:
        parts: dataset, ``collate_fn`` and ``worker_init_fn``, pickled.
        fetcher: the class that reads the dataset.
        read: reads the parts.
        write: makes bytes of what is sent, and says what mustn't be given back before.
    """

    parts: bytes
    fetcher: Callable[..., Any]
    read: Callable[[bytes], Any]
    write: Callable[[Any], tuple[bytes, Any]]
    auto_collation: bool
    drop_last: bool
    base_seed: int
    num_workers: int


class Tasks:
    """The tasks that have come, without those of passes that are over."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.waiting: queue.SimpleQueue = queue.SimpleQueue()
        self.latest = 0
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            while (task := self.connection.recv()) is not None:
                self.latest = task[0]
                self.waiting.put(task)
        except (EOFError, OSError):  # the loader is gone
            pass
        self.latest = -1
        self.waiting.put(None)

    def __iter__(self) -> Any:
        for task in iter(self.waiting.get, None):
            if task[0] == self.latest:
                yield task


def numpy_seed(base_seed: int, worker_id: int) -> list[int]:
    """The seed of ``numpy.random``, which is to have nothing to do with that of ``random``.

    >>> len(numpy_seed(7, 0)), numpy_seed(7, 0) == numpy_seed(7, 1)
    (4, False)
    """
    entropy = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return np.random.SeedSequence(entropy).generate_state(4).tolist()


def _worker_loop(worker_id: int, work: Job, incoming: Connection, outgoing: Connection) -> None:
    """Do what is to be done until there are no more tasks: see Note [Workers of loaders]."""
    try:
        tasks = Tasks(incoming)
        worker = BatchReader(worker_id, work)
        outgoing.send_bytes(STARTED)
        _work(worker, tasks, outgoing)
    except (KeyboardInterrupt, BrokenPipeError, ConnectionResetError):
        return  # the loader is told by the system, or is gone


def _work(worker: BatchReader, tasks: Tasks, outgoing: Connection) -> None:
    for current, number, index in tasks:
        data = worker.batch(current, index)
        if data is None:
            continue
        try:
            sent, kept = worker.work.write((current, number, data))
        except Exception as error:
            sent, kept = worker.work.write((current, number, worker.failed(error)))
        del data
        outgoing.send_bytes(sent)
        del sent, kept


class BatchReader:
    """A worker's dataset, and where in it it is.

    Args:
        worker_id: its number.
        work: what it is to do.
    """

    def __init__(self, worker_id: int, work: Job) -> None:
        self.id, self.work = worker_id, work
        self.current: int | None = None
        self.ended = False
        self.dataset = self.collate_fn = None
        self.fetcher: Any = None
        self.broken: ExceptionWrapper | None = None
        try:
            self._begin()
        except Exception as error:
            self.broken = self.failed(error)

    def _begin(self) -> None:
        global _worker_info
        seed = self.work.base_seed + self.id
        random.seed(seed)
        manual_seed(seed)
        np.random.seed(numpy_seed(self.work.base_seed, self.id))
        self.dataset, self.collate_fn, init_fn = self.work.read(self.work.parts)
        _worker_info = WorkerInfo(self.id, self.work.num_workers, seed, self.dataset)
        if init_fn is not None:
            init_fn(self.id)

    def failed(self, error: Exception) -> ExceptionWrapper:
        """An error, as the loader gets it."""
        return ExceptionWrapper(error, where=f"in DataLoader worker process {self.id}")

    def batch(self, current: int, index: Any) -> Any:
        """The message for a task; None if there is nothing more to be sent in this pass."""
        try:
            if self.broken is None and current != self.current:
                self.current, self.ended = current, False
                self.fetcher = self.work.fetcher(
                    self.dataset, self.work.auto_collation, self.collate_fn, self.work.drop_last
                )
        except Exception as error:
            self.broken = self.failed(error)
        if self.broken is not None:
            return self.broken
        return None if self.ended else self._fetched(index)

    def _fetched(self, index: Any) -> Any:
        try:
            return self.fetcher.fetch(index)
        except StopIteration as error:
            if not getattr(self.fetcher, "ends", False):
                return self.failed(error)
            self.ended = True
            return Ended(self.id)
        except Exception as error:
            return self.failed(error)
