"""``DataLoader``: batches of a dataset, read here or by workers.

Note [Order of batches]
A loader with workers has ``prefetch_factor`` batches under way for each of them. Each time one is handed out the next
index is drawn and goes to the next worker in turn. Batches are numbered: with ``in_order`` one that comes too early is
kept until it is due; without, it is handed out, and indices go to workers that have less to do than others. So the
order of samples, and of what is drawn from generators, is PyTorch's, however fast the workers are.
"""

from __future__ import annotations

import itertools
import os
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from multiprocessing import get_all_start_methods, get_context
from multiprocessing.connection import wait
from multiprocessing.context import BaseContext
from multiprocessing.reduction import ForkingPickler
from pickle import PicklingError
from typing import Any, Generic, NoReturn, Self, TypeVar

from tapegrad._src.bindings.device_names.accelerator import is_available
from tapegrad._src.progress import waiting
from tapegrad._src.warn import warn
from tapegrad.autograd.profiler import record_function
from tapegrad.utils.data._utils.collate import default_collate, default_convert
from tapegrad.utils.data._utils.fetch import IterableFetcher, MapFetcher
from tapegrad.utils.data._utils.pin_memory import pin_memory
from tapegrad.utils.data._utils.worker import STARTED, Ended, ExceptionWrapper, Job, _worker_loop, get_worker_info
from tapegrad.utils.data.dataset import IterableDataset
from tapegrad.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, draw_seed
from tapegrad.utils.data.segments import dropped, packed, unpacked
from tapegrad.utils.data.spawning import WorkerProcess, end

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

T_co = TypeVar("T_co", covariant=True)
_T = TypeVar("_T")
_worker_init_fn_t = Callable[[int], None]
_collate_fn_t = Callable[[list[_T]], Any]

FIXED = frozenset(("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"))
"""The attributes that can't be set once a loader is made."""


class _DatasetKind:
    """The way in which a dataset is read."""

    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(kind: int, *arguments: Any) -> Any:
        """Make a reader of a dataset of this kind."""
        return (IterableFetcher if kind == _DatasetKind.Iterable else MapFetcher)(*arguments)


class _InfiniteConstantSampler(Sampler[None]):
    """A sampler in place of the indices of a dataset that has none."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


class DataLoader(Generic[T_co]):
    """The batches of a dataset, again and again: each ``for`` is a pass over all of it.

    Args:
        dataset: with an index and a length, or an ``IterableDataset``.
        batch_size: how many samples make a batch; None for samples as they are.
        shuffle: whether each pass has a random order.
        sampler: what gives the indices, instead.
        batch_sampler: what gives lists of indices; instead of all these and ``drop_last``.
        num_workers: how many processes read; with 0 the samples are read here. Processes are spawned: dataset and
            functions are pickled, and a script must keep what it does under ``if __name__ == "__main__"``.
        collate_fn: makes a batch of a list of samples; ``default_collate``, and without batches ``default_convert``.
        pin_memory: whether batches are pinned for an accelerator.
        drop_last: whether to leave out a last batch that is smaller.
        timeout: seconds to wait for a batch of a worker; 0 for as long as it takes.
        worker_init_fn: called with its number in each worker, after seeding.
        multiprocessing_context: ``"spawn"``, ``"forkserver"``, or such a context; None for workers that are forked from
            a server.
        generator: what draws the order, and the seed of the workers.
        prefetch_factor: how many batches each worker has under way; 2.
        persistent_workers: whether workers stay for the next pass.
        pin_memory_device: without effect.
        in_order: whether batches come in the order of their indices; or as they are ready.

    Raises:
        ValueError: arguments that contradict each other.
        TypeError: ``multiprocessing_context`` is none.

    >>> loader = DataLoader(range(5), batch_size=2)
    >>> list(loader), len(loader)
    ([tensor([0, 1]), tensor([2, 3]), tensor([4])], 3)
    """

    _initialized = False

    def __init__(
        self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None, sampler: Any = None,
        batch_sampler: Any = None, num_workers: int = 0, collate_fn: Callable[[list], Any] | None = None,
        pin_memory: bool = False, drop_last: bool = False, timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None, multiprocessing_context: Any = None, generator: Any = None,
        *, prefetch_factor: int | None = None, persistent_workers: bool = False, pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:  # fmt: skip
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        is_stream = isinstance(dataset, IterableDataset)
        self._dataset_kind = _DatasetKind.Iterable if is_stream else _DatasetKind.Map
        if is_stream:
            _check_stream(shuffle, sampler, batch_sampler)
        _check_batches(batch_size, shuffle, sampler, batch_sampler, drop_last)
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        if sampler is None:
            sampler = _default_sampler(dataset, is_stream, bool(shuffle), generator)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self.persistent_workers = persistent_workers
        self._initialized = True
        self._IterableDataset_len_called: int | None = None
        self._iterator: _MultiProcessingDataLoaderIter | None = None
        self.check_worker_number_rationality()

    def _get_iterator(self) -> _BaseDataLoaderIter:
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        return _MultiProcessingDataLoaderIter(self)

    @property
    def multiprocessing_context(self) -> BaseContext | None:
        """The way in which workers are started; None for the usual way."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, multiprocessing_context: Any) -> None:
        self._context = None if multiprocessing_context is None else _context(multiprocessing_context, self.num_workers)

    def __setattr__(self, attr: str, val: Any) -> None:
        if self._initialized and attr in FIXED:
            raise ValueError(f"{attr} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(attr, val)

    def __iter__(self) -> _BaseDataLoaderIter:
        if not self.persistent_workers:
            return self._get_iterator()
        if self._iterator is None:
            self._iterator = self._get_iterator()  # type: ignore[assignment]
        else:
            self._iterator._reset(self)
        return self._iterator  # type: ignore[return-value]

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def __len__(self) -> int:
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        length = self._IterableDataset_len_called = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    def check_worker_number_rationality(self) -> None:
        """Warn if there are to be more workers than processors."""
        most = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        if not self.num_workers or (most is not None and self.num_workers <= most):
            return
        unaware = "" if hasattr(os, "sched_getaffinity") else " (`cpuset` is not taken into account)"
        suggested = (
            "DataLoader is not able to compute a suggested max number of worker in current system."
            if most is None
            else f"Our suggested max number of worker in current system is {most}{unaware}, which is smaller than what "
            "this DataLoader is going to create."
        )
        warn(
            f"This DataLoader will create {self.num_workers} worker processes in total. {suggested} Please be aware "
            "that excessive worker creation might get DataLoader running slow or even freeze, lower the worker number "
            "to avoid potential slowness/freeze if necessary."
        )


def _check_workers(num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool) -> None:
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
            "multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_stream(shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
    said = "DataLoader with IterableDataset: expected unspecified {} option, but got {}={}"
    if shuffle not in {False, None}:
        raise ValueError(said.format("shuffle", "shuffle", shuffle))
    if sampler is not None:
        raise ValueError(said.format("sampler", "sampler", sampler))
    if batch_sampler is not None:
        raise ValueError(said.format("batch_sampler", "batch_sampler", batch_sampler))


def _check_batches(batch_size: Any, shuffle: Any, sampler: Any, batch_sampler: Any, drop_last: bool) -> None:
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None:
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise ValueError(
                "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
            )
    elif batch_size is None and drop_last:
        raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")


def _default_sampler(dataset: Any, is_stream: bool, shuffle: bool, generator: Any) -> Sampler:
    if is_stream:
        return _InfiniteConstantSampler()
    return RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)


def _context(given: Any, num_workers: int) -> BaseContext:
    """The context that is meant, as PyTorch checks it; one that forks is refused."""
    if num_workers == 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
            f"num_workers={num_workers}"
        )
    if isinstance(given, str):
        if given not in get_all_start_methods():
            raise ValueError(
                f"multiprocessing_context option should specify a valid start method in {get_all_start_methods()!r}, "
                f"but got multiprocessing_context={given!r}"
            )
        given = get_context(given)
    if not isinstance(given, BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string specifying the start method, "
            f"but got multiprocessing_context={given}"
        )
    if given.get_start_method() == "fork":
        raise ValueError(
            "multiprocessing_context: workers can't be forked: XLA's threads would not be in them, and what waits for "
            "those would never end; leave it out, or say 'spawn'"
        )
    return given


class _BaseDataLoaderIter:
    """One pass over a dataset."""

    def __init__(self, loader: DataLoader) -> None:
        self._dataset = loader.dataset
        self._dataset_kind = loader._dataset_kind
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._auto_collation = loader._auto_collation
        self._drop_last = loader.drop_last
        self._index_sampler = loader._index_sampler
        self._num_workers = loader.num_workers
        self._pin_memory = _pins(loader)
        self._timeout = loader.timeout
        self._collate_fn = loader.collate_fn
        self._sampler_iter = iter(self._index_sampler)
        self._base_seed = draw_seed(loader.generator)
        self._persistent_workers = loader.persistent_workers
        self._num_yielded = 0
        self._profile_name = f"enumerate(DataLoader)#{type(self).__name__}.__next__"

    def __iter__(self) -> Self:
        return self

    def _reset(self, loader: DataLoader, first_iter: bool = False) -> None:
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called

    def _next_index(self) -> Any:
        return next(self._sampler_iter)

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __next__(self) -> Any:
        with record_function(self._profile_name):
            data = self._next_data()
            self._num_yielded += 1
            reported = self._IterableDataset_len_called
            if self._dataset_kind == _DatasetKind.Iterable and reported is not None and self._num_yielded > reported:
                self._warn_of_length()
            return pin_memory(data) if self._pin_memory else data

    def _warn_of_length(self) -> None:
        text = (
            f"Length of IterableDataset {self._dataset} was reported to be {self._IterableDataset_len_called}"
            f"(when accessing len(dataloader)), but {self._num_yielded} samples have been fetched. "
        )
        if self._num_workers > 0:
            text += (
                "For multiprocessing data-loading, this could be caused by not properly configuring the "
                "IterableDataset replica at each worker. Please see "
                "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples."
            )
        warn(text)

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> NoReturn:
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)


def _pins(loader: DataLoader) -> bool:
    """Tell whether batches are pinned: if it is asked for, and there is an accelerator."""
    if not loader.pin_memory:
        return False
    if loader.pin_memory_device:
        warn(
            "pin_memory_device is deprecated, the current accelerator will be used as the device,"
            f"ignore pin_memory_device='{loader.pin_memory_device}'."
        )
    if not is_available():
        warn(
            "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be "
            "used."
        )
    return is_available()


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """A pass in which batches are read when they are wanted."""

    def __init__(self, loader: DataLoader) -> None:
        super().__init__(loader)
        if self._timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        self._dataset_fetcher = _DatasetKind.create_fetcher(
            self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn, self._drop_last
        )

    def _next_data(self) -> Any:
        return self._dataset_fetcher.fetch(self._next_index())


def _parts(loader: DataLoader) -> bytes:
    """The parts of a loader that workers need. Raises TypeError, AttributeError, PicklingError: it can't be pickled."""
    try:
        return bytes(ForkingPickler.dumps((loader.dataset, loader.collate_fn, loader.worker_init_fn)))
    except (TypeError, AttributeError, PicklingError) as error:
        hint = (
            "workers of a DataLoader are spawned, and get dataset, collate_fn and worker_init_fn pickled: define them "
            "at the top of a module, with attributes that can be pickled, or use num_workers=0"
        )
        raise type(error)(f"{error}; {hint}") from error


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """A pass in which workers read batches ahead: see Note [Order of batches]."""

    def __init__(self, loader: DataLoader) -> None:
        super().__init__(loader)
        if loader.prefetch_factor is None or loader.prefetch_factor <= 0:
            raise AssertionError("prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter")
        self._prefetch_factor = loader.prefetch_factor
        self._in_order = loader.in_order
        self._pass = 0
        work = Job(
            parts=_parts(loader),
            fetcher=IterableFetcher if self._dataset_kind == _DatasetKind.Iterable else MapFetcher,
            read=unpacked,
            write=packed,
            auto_collation=self._auto_collation,
            drop_last=self._drop_last,
            base_seed=self._base_seed,
            num_workers=self._num_workers,
        )
        self._workers: list[WorkerProcess] = []
        self._shutdown_workers = weakref.finalize(self, end, self._workers, dropped, os.getpid())
        for number in range(self._num_workers):
            self._workers.append(
                WorkerProcess(loader.multiprocessing_context, _worker_loop, number, work)
            )
        self._starting = set(range(self._num_workers))
        self._reset(loader, first_iter=True)

    def _reset(self, loader: DataLoader, first_iter: bool = False) -> None:
        super()._reset(loader, first_iter)
        self._pass += 1
        self._send_idx = self._rcvd_idx = 0
        self._pending: dict[int, int] = {}  # the worker of each batch that is under way
        self._arrived: dict[int, Any] = {}  # what came too early
        self._workers_status = [True] * self._num_workers
        self._worker_queue_idx_cycle = itertools.cycle(range(self._num_workers))
        for _ in range(self._prefetch_factor * self._num_workers):
            self._try_put_index()

    def _try_put_index(self) -> None:
        """Send the next index, if there is one, to the worker whose turn it is, if one is left."""
        try:
            index = self._next_index()
        except StopIteration:
            return
        worker = next((one for one in self._turns() if self._workers_status[one] and self._has_time(one)), None)
        if worker is not None:
            self._workers[worker].put((self._pass, self._send_idx, index))
            self._pending[self._send_idx] = worker
            self._send_idx += 1

    def _turns(self) -> Iterator[int]:
        return itertools.islice(self._worker_queue_idx_cycle, self._num_workers)

    def _has_time(self, worker: int) -> bool:
        if self._in_order:
            return True
        share = self._prefetch_factor * self._num_workers // sum(self._workers_status)
        return sum(one == worker for one in self._pending.values()) < share

    def _next_data(self) -> Any:
        if not self._workers:
            raise StopIteration
        while self._is_due():
            if self._rcvd_idx in self._arrived:
                return self._hand_out(self._arrived.pop(self._rcvd_idx))
            number, data = self._get_data()
            worker = self._pending.pop(number)
            if isinstance(data, Ended):
                self._workers_status[worker] = False
                self._try_put_index()
            elif number == self._rcvd_idx or not self._in_order:
                return self._hand_out(data, advance=number == self._rcvd_idx)
            else:
                self._arrived[number] = data
        if not self._persistent_workers:
            self._shutdown_workers()
        raise StopIteration

    def _is_due(self) -> bool:
        """Tell whether a batch is to come; numbers that nobody will answer are passed over."""
        while self._rcvd_idx < self._send_idx:
            worker = self._pending.get(self._rcvd_idx)
            if self._rcvd_idx in self._arrived or (worker is not None and self._workers_status[worker]):
                return True
            self._pending.pop(self._rcvd_idx, None)
            self._rcvd_idx += 1
        return False

    def _hand_out(self, data: Any, advance: bool = True) -> Any:
        self._rcvd_idx += advance
        self._try_put_index()
        if isinstance(data, ExceptionWrapper):
            data.reraise()
        return data

    def _get_data(self) -> tuple[int, Any]:
        """The next batch of this pass that a worker sends, with its number.
        Raises RuntimeError: none within the time; a worker is gone.
        """
        starting = len(self._starting)
        with waiting(f"starting {starting} workers") if starting else nullcontext():
            return self._next_of_this_pass()

    def _next_of_this_pass(self) -> tuple[int, Any]:
        deadline = time.monotonic() + self._timeout
        while True:
            left = deadline - time.monotonic() if self._timeout > 0 and not self._starting else None
            for worker, sent in self._sent(left):
                if sent == STARTED:
                    self._starting.discard(worker)
                    deadline = time.monotonic() + self._timeout
                    continue
                current, number, data = unpacked(sent)
                if current == self._pass:
                    return number, data

    def _sent(self, seconds: float | None) -> Iterator[tuple[int, bytes]]:
        """One message of each worker that has sent something."""
        places = {one.results: number for number, one in enumerate(self._workers) if self._is_listened_to(number)}
        ready = wait(list(places), None if seconds is None else max(0.0, seconds))
        if not ready:
            raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
        for results in ready:
            number = places[results]  # type: ignore[index]
            try:
                sent = results.recv_bytes()  # type: ignore[union-attr]
            except (EOFError, ConnectionResetError):
                self._fail(number)
            yield number, sent

    def _is_listened_to(self, worker: int) -> bool:
        return self._workers_status[worker] or worker in self._starting

    def _fail(self, number: int) -> NoReturn:
        self._workers_status[number] = False
        worker = self._workers[number]
        raise RuntimeError(f"DataLoader worker (pid(s) {worker.pid}) exited unexpectedly") from worker.cause_of_death(
            number in self._starting
        )
