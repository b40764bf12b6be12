"""Threads that compute on behalf of one that waits for them, how many there are, and those of BLAS.

Note [Threads that help]
NumPy lets go of the interpreter while it computes with many elements. So where a kernel runs in strips (Note [Strips]
in ``numpy_backend/cutting.py``), other threads take some of them. Who takes which is chance, and changes nothing: a
strip is computed by one thread, and BLAS has one thread meanwhile. They are started when there is something to do, are
daemons, and wait for it. One kernel at a time has their help, and only where no other thread uses tapegrad: where
several compute already (workers of loaders, engines of several devices), each computes its strips itself.

BLAS has threads of its own. Those of OpenBLAS look for the next product without sleeping, for a tenth of a second after
each one, and take that long a core from all others: then two threads that compute strips are slower than one. So they
are told, where they can be, to sleep after ``AWAKE`` cycles. ``OPENBLAS_THREAD_TIMEOUT`` is heeded if it was set.

A strip that fails, or an interrupt, ends it: nobody takes another strip, and the caller has the error. What is computed
yet by others is written to memory that nobody else can see, for results have no name before all strips are done.
"""

from __future__ import annotations

import atexit
import ctypes
import glob
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from queue import SimpleQueue
from typing import Any

from tapegrad._src.tape.mechanisms import RESTING_BLAS, STRIPS
from tapegrad._src.tape.modes import alone

MOST = 64
"""No kernel has the help of more threads, whatever was set."""


def default_threads() -> int:
    """The number that ``OMP_NUM_THREADS`` says, as PyTorch and BLAS read it; or of the processors that may be used.

    >>> default_threads() > 0
    True
    """
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        said = os.environ.get(name, "").partition(",")[0].strip()
        if said.isdecimal() and int(said):
            return int(said)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class SharedWork:
    """Pieces of work of one kernel, by their numbers.

    Attributes:
        work: computes the piece of a number.
        left: the numbers that nobody has taken; ``ended``: for each that a helper has taken None, or its error.
    """

    __slots__ = ("work", "left", "ended")

    def __init__(self, work: Callable[[int], object], count: int) -> None:
        self.work, self.left = work, deque(range(count))
        self.ended: SimpleQueue[BaseException | None] = SimpleQueue()

    def help(self) -> None:
        """Take what is left, piece by piece."""
        while True:
            try:
                number = self.left.popleft()
            except IndexError:
                return
            try:
                self.work(number)
            except BaseException as error:
                self.left.clear()
                self.ended.put(error)
                return
            self.ended.put(None)


class Helpers:
    """The threads, and who has their help.

    Attributes:
        number: how many threads compute together, the caller's among them.
        around: runs a function in the circumstances in which kernels run; set by those who know them.
    """

    def __init__(self) -> None:
        self.number = default_threads()
        self.around: Callable[[Callable[[], None]], None] = lambda function: function()
        self.forget()

    def forget(self) -> None:
        """Begin without threads: those of a process's parent are not in it."""
        self._threads: list[threading.Thread] = []
        self._inbox: SimpleQueue[SharedWork | None] = SimpleQueue()
        self._busy, self._ended = threading.Lock(), False

    def can_help(self) -> bool:
        """Tell whether several threads may compute now."""
        return self.number > 1 and not self._ended and alone() and not STRIPS.off

    def run(self, work: Callable[[int], object], count: int) -> None:
        """Call ``work`` with each number below a count, with the help of others if there are any."""
        helping = min(self.number, count, MOST) - 1
        if helping < 1 or not self.can_help() or not self._busy.acquire(False):
            for number in range(count):
                work(number)
            return
        try:
            self._together(SharedWork(work, count), count, self._started(helping))
        finally:
            self._busy.release()

    def _together(self, job: SharedWork, count: int, helping: int) -> None:
        for _ in range(helping):
            self._inbox.put(job)
        mine = 0
        try:
            while job.left:
                try:
                    number = job.left.popleft()
                except IndexError:  # a helper was quicker
                    break
                mine += 1
                job.work(number)
            for _ in range(count - mine):
                error = job.ended.get()
                if error is not None:
                    raise error
        finally:
            job.left.clear()

    def _started(self, count: int) -> int:
        """Start threads until there are so many; gives how many there are of these."""
        while len(self._threads) < count:
            helper = threading.Thread(target=self._wait, args=(self._inbox,), name="tapegrad-helper", daemon=True)
            try:
                helper.start()
            except RuntimeError:  # the process has no room for it, or ends
                break
            self._threads.append(helper)
        return min(count, len(self._threads))

    def _wait(self, inbox: SimpleQueue[SharedWork | None]) -> None:
        def serve() -> None:
            while (job := inbox.get()) is not None:
                job.help()
                del job

        self.around(serve)

    def end(self) -> None:
        """Let the threads end: at the end of the process."""
        self._ended = True
        for _ in self._threads:
            self._inbox.put(None)
        for helper in self._threads:
            helper.join()


helpers = Helpers()
atexit.register(helpers.end)
os.register_at_fork(after_in_child=helpers.forget)


# -- BLAS --------------------------------------------------------------------------------------------------------------

NAMES = ("openblas_{}_num_threads", "scipy_openblas_{}_num_threads", "openblas_{}_num_threads64_",
         "scipy_openblas_{}_num_threads64_")  # fmt: skip
"""Under which names OpenBLAS has the functions that ``get`` and ``set`` the number of its threads."""


class Blas:
    """One of the copies of OpenBLAS in this process.

    Attributes:
        get, set: tell and say how many threads it computes with.
        core: the kind of processor that it computes for, such as "Haswell".
    """

    __slots__ = ("get", "set", "core", "_library")

    def __init__(self, library: Any) -> None:
        name = next(name for name in NAMES if hasattr(library, name.format("set")))
        self.get, self.set = getattr(library, name.format("get")), getattr(library, name.format("set"))
        self.set.argtypes, self.set.restype, self.get.restype = (ctypes.c_int,), None, ctypes.c_int
        core: Any = getattr(library, name.format("get").replace("num_threads", "corename"), lambda: b"")
        core.restype = ctypes.c_char_p
        self.core = core().decode()
        self._library = library

    def sleeps_after(self, awake: int) -> None:
        """Have idle threads sleep after two to the power of so many cycles, if it can be told: it begins anew then."""
        library = self._library
        if TIMEOUT in os.environ or not all(hasattr(library, name) for name in ("openblas_read_env", SHUTDOWN)):
            return
        os.environ[TIMEOUT] = str(awake)
        try:
            library.openblas_read_env()
        finally:
            del os.environ[TIMEOUT]
        getattr(library, SHUTDOWN)()  # as before a fork: the next product starts them


TIMEOUT, SHUTDOWN = "OPENBLAS_THREAD_TIMEOUT", "blas_thread_shutdown_"
AWAKE, SLEEPLESS = 18, 28
"""After two to the power of how many cycles idle threads are to sleep: a product that follows at once finds them awake;
and after how many they do otherwise."""


def _paths(package: str) -> list[str]:
    """The files of OpenBLAS that a package brings."""
    spec = find_spec(package)
    folders = [
        folder
        for location in (spec and spec.submodule_search_locations) or []
        for folder in (f"{location}.libs", os.path.join(location, ".libs"), os.path.join(location, ".dylibs"))
    ]
    return [path for folder in folders for path in sorted(glob.glob(os.path.join(glob.escape(folder), "*openblas*")))]


_loaded: dict[str, Blas] = {}


def blas_of(package: str) -> Blas | None:
    """The OpenBLAS that a package brings; None if it is not loaded, or another library is."""
    if package not in _loaded and hasattr(os, "RTLD_NOLOAD"):
        for path in _paths(package):
            try:
                loaded = _loaded[package] = Blas(ctypes.CDLL(path, mode=os.RTLD_NOLOAD))
            except (OSError, StopIteration):
                continue
            if threading.active_count() == 1:  # nobody computes
                loaded.sleeps_after(AWAKE)
    return _loaded.get(package)


def blas() -> list[Blas]:
    """The copies of OpenBLAS that NumPy and SciPy have loaded.

    >>> all(one.get() > 0 for one in blas())
    True
    """
    return [one for package in ("numpy", "scipy") if (one := blas_of(package)) is not None]


_numpy = blas_of("numpy")

WITH_SMALL_PRODUCTS = ("SkylakeX", "Cooperlake", "SapphireRapids")
"""Processors for which OpenBLAS multiplies small matrices as they lie, and copies nothing first."""


def multiplies_small() -> bool:
    """Tell whether NumPy's products of small matrices are quicker than parts of large ones.

    >>> isinstance(multiplies_small(), bool)
    True
    """
    return _numpy is not None and _numpy.core in WITH_SMALL_PRODUCTS


@contextmanager
def blas_alone() -> Iterator[None]:
    """BLAS computes with one thread in a block, so that strips are what they are on any number of threads."""
    before = 1 if _numpy is None else _numpy.get()
    if _numpy is None or before == 1 or not alone():
        yield
        return
    _numpy.set(1)
    try:
        yield
    finally:
        _numpy.set(before)


_asked: list[int] = []
"""The number that was set last, if one was."""


def set_threads(number: int) -> None:
    """Have so many threads compute strips, and products of BLAS's."""
    helpers.number, _asked[:] = number, [number]
    tell_blas()


def tell_blas() -> None:
    """Tell BLAS the number that was set, as SciPy has perhaps loaded another copy of it."""
    for one in blas():
        for number in _asked:
            one.set(min(number, MOST))


@contextmanager
def _sleepless() -> Iterator[None]:
    """Threads of BLAS don't sleep in a block, unless others compute."""
    known = [*_loaded.values()] if alone() else []
    for one in known:
        one.sleeps_after(SLEEPLESS)
    try:
        yield
    finally:
        for one in known:
            one.sleeps_after(AWAKE)


RESTING_BLAS.switch = _sleepless
