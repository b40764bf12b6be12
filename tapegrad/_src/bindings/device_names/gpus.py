"""Questions of programs that run on GPUs: names, memory, streams, events. A part of ``torch.cuda``, on demand.

Note [One stream]
XLA decides what runs beside what, so each device has one stream, in whose order everything is computed. Programs that
wait for streams, or make some, may go on doing so: there is nothing to wait for. An event is recorded by waiting for
the device, so that the time between two of them is that of the work between; PyTorch's don't keep Python waiting.

Where JAX has no GPU, answers and errors are those of a PyTorch without CUDA.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, NamedTuple, Self

from tapegrad._src.absent import STREAMS, RefusedClass
from tapegrad._src.bindings.device_names import streams
from tapegrad._src.bindings.device_names.accelerator import NO_NEW_PEAK
from tapegrad._src.bindings.device_names.cuda import device_count, gpu, init, is_available
from tapegrad._src.bindings.state.generator import get_rng_state as default_state
from tapegrad._src.bindings.state.generator import initial_seed as default_seed
from tapegrad._src.bindings.state.generator import seed as seed_default
from tapegrad._src.bindings.state.generator import set_rng_state as set_default_state
from tapegrad._src.declaring import sharing
from tapegrad._src.execution.data.devices import device as Device
from tapegrad._src.execution.data.devices import set_default_device
from tapegrad._src.execution.programs.hardware import memory_of, properties_of
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn

DEVICE = "Args:\n    device: a GPU, or its index; the first by default."
NO_GPU = "Raises:\n    AssertionError: there is none."


class CUDAGraph:
    """A record of a GPU's work, in PyTorch; here, as there without GPUs, none can be made.

    Raises:
        RuntimeError: always.
    """

    __module__ = "tapegrad.cuda"

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Refuse."""
        raise RuntimeError("Tried to instantiate dummy base class CUDAGraph")


class graph(RefusedClass):
    """A context that records a GPU's work, in PyTorch. What is compiled is one program here. Refused."""

    __module__ = "tapegrad.cuda"
    refusal = "torch.cuda.", STREAMS


# -- what it is --------------------------------------------------------------------------------------------------------


class DeviceProperties(NamedTuple):
    """A GPU, as ``get_device_properties`` tells of it: its name, compute capability, bytes and multiprocessors."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int


@sharing(DEVICE, NO_GPU)
def get_device_properties(device: Any = None) -> DeviceProperties:
    """The name, compute capability, memory (bytes) and number of multiprocessors of a GPU."""
    init()
    had = properties_of(gpu(device))
    return DeviceProperties(
        had["name"], had["major"], had["minor"], memory_stats(device).get("bytes_limit", 0), had["cores"]
    )


@sharing(DEVICE, NO_GPU)
def get_device_name(device: Any = None) -> str:
    """The name of a GPU."""
    return get_device_properties(device).name


@sharing(DEVICE, NO_GPU)
def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The compute capability of a GPU, as (9, 0)."""
    properties = get_device_properties(device)
    return properties.major, properties.minor


def get_arch_list() -> list[str]:
    """The architectures that the package was compiled for: none in particular, as XLA compiles for what is there."""
    return []


def is_tf32_supported() -> bool:
    """Tell whether matrix products may be computed in TF32: since compute capability 8.0."""
    return is_available() and get_device_capability() >= (8, 0)


# -- its memory --------------------------------------------------------------------------------------------------------


@sharing(DEVICE)
def memory_stats(device: Any = None) -> OrderedDict[str, int]:
    """XLA's counts of a GPU's memory, in its own words: ``bytes_in_use``, ``peak_bytes_in_use``, ``bytes_limit``, …

    >>> int(memory_stats().get("bytes_in_use", 0)) >= 0
    True
    """
    return OrderedDict(memory_of(gpu(device)) if is_available() else {})


@sharing(DEVICE)
def memory_allocated(device: Any = None) -> int:
    """The bytes that arrays take on a GPU; 0 where there is none.

    >>> memory_allocated() >= 0
    True
    """
    return memory_stats(device).get("bytes_in_use", 0)


@sharing(DEVICE)
def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that arrays have taken on a GPU since the process began; 0 where there is none.

    >>> max_memory_allocated() >= memory_allocated()
    True
    """
    return memory_stats(device).get("peak_bytes_in_use", 0)


@sharing(DEVICE)
def memory_reserved(device: Any = None) -> int:
    """The bytes of XLA's pool on a GPU, in use or not; 0 where there is none."""
    stats = memory_stats(device)
    return stats.get("pool_bytes", stats.get("bytes_in_use", 0))


@sharing(DEVICE)
def max_memory_reserved(device: Any = None) -> int:
    """The most bytes that XLA's pool on a GPU has had; 0 where there is none."""
    stats = memory_stats(device)
    return stats.get("peak_pool_bytes", stats.get("peak_bytes_in_use", 0))


@sharing(DEVICE, NO_GPU)
def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Count the bytes of a GPU's memory that are free, and those that XLA may use in all."""
    init()
    stats = memory_stats(device)
    limit = stats.get("bytes_limit", 0)
    return limit - stats.get("bytes_in_use", 0), limit


@sharing(DEVICE, NO_GPU)
def reset_peak_memory_stats(device: Any = None) -> None:
    """Warns that XLA's peak is that of the whole process, and can't be reset."""
    init()
    gpu(device)
    warn(NO_NEW_PEAK)


@sharing(NO_GPU)
def ipc_collect() -> None:
    """Does nothing: no memory of a GPU is shared among processes."""
    init()


# -- which one ---------------------------------------------------------------------------------------------------------


def set_device(device: Any) -> None:
    """Make a GPU the default device of this thread; ``cuda`` without an index goes on to mean the first.

    Args:
        device: a GPU, or its index; a negative one changes nothing.

    Raises:
        AssertionError: there is none.
        ValueError: another device.
    """
    if isinstance(device, int) and device < 0:
        return
    chosen = gpu(device)
    init()
    if chosen.index:
        set_default_device(chosen)


class DefaultGpu:
    """A context in which a GPU is the default device of this thread. A negative index changes nothing.

    Args:
        device: a GPU, or its index.

    Raises:
        RuntimeError: there is none.
        ValueError: another device.
    """

    def __init__(self, device: Any) -> None:
        self.idx = device if isinstance(device, int) else gpu(device).index or 0
        self.context: Device | None = None

    def __enter__(self) -> None:
        if self.idx >= 0:
            if not is_available():
                raise RuntimeError("PyTorch was compiled without CUDA support")
            self.context = gpu(self.idx) if self.idx else None
        if self.context is not None:
            self.context.__enter__()

    def __exit__(self, *exception: object) -> None:
        if self.context is not None:
            self.context.__exit__(*exception)


class DefaultGpuOf(DefaultGpu):
    """A context in which the GPU of a tensor is the default device; that of other tensors changes nothing.

    Args:
        obj: a tensor.
    """

    def __init__(self, obj: Tensor) -> None:
        where = obj.device
        super().__init__((where.index or 0) if where.type == "cuda" else -1)


device, device_of = DefaultGpu, DefaultGpuOf


# -- random numbers ----------------------------------------------------------------------------------------------------


def get_rng_state(device: Any = "cuda") -> Tensor:
    """The state of the default generator, which is one for all devices.

    Args:
        device: a GPU, or its index.

    Raises:
        AssertionError: there is none.
    """
    init()
    gpu(device)
    return default_state()


def get_rng_state_all() -> list[Tensor]:
    """The state of the default generator, once for each GPU.

    >>> len(get_rng_state_all()) == device_count()
    True
    """
    return [default_state() for _ in range(device_count())]


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Bring the default generator into a state, if there is a GPU.

    Args:
        new_state: what ``get_rng_state`` gave.
        device: a GPU, or its index.
    """
    if is_available():
        gpu(device)
        set_default_state(new_state)


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Bring the default generator into a state: the last of these.

    Args:
        new_states: what ``get_rng_state_all`` gave.
    """
    for state in new_states:
        set_rng_state(state)


def initial_seed() -> int:
    """The seed that the default generator was last started with.

    Raises:
        AssertionError: there is no GPU.
    """
    init()
    return default_seed()


def seed() -> None:
    """Start the default generator with a seed that nobody can predict, if there is a GPU."""
    if is_available():
        seed_default()


seed_all = seed


# -- streams and events: Note [One stream] -----------------------------------------------------------------------------


class Stream(streams.Stream):
    """The order in which a GPU computes: there is one for each.

    Args:
        device: a GPU, or its index; the first by default.
        priority: ignored.

    Raises:
        RuntimeError: there is none.
    """

    __module__ = "tapegrad.cuda"

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        if not is_available():
            raise RuntimeError("torch.cuda.Stream requires CUDA support")
        super().__init__(gpu(device), priority=priority)

    def record_event(self, event: streams.Event | None = None) -> streams.Event:
        """Record an event, a new one if there is none.

        Args:
            event: which.
        """
        return super().record_event(event or Event())

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device}>"


class Event(streams.Event):
    """A moment in what a GPU computes.

    Args:
        enable_timing: whether it can be asked for times.
        blocking: ignored.
        interprocess: ignored.

    Raises:
        RuntimeError: there is no GPU.
    """

    __module__ = "tapegrad.cuda"

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        if not is_available():
            raise RuntimeError("Tried to instantiate dummy base class Event")
        super().__init__(gpu(), enable_timing=enable_timing)


@sharing(DEVICE, NO_GPU)
def current_stream(device: Any = None) -> Stream:
    """The stream of a GPU."""
    init()
    return Stream(device)


default_stream = current_stream


class StreamContext:
    """A context that changes nothing: there is one stream.

    Args:
        stream: a stream, or None.
    """

    __module__ = "tapegrad.cuda"

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        pass


def stream(stream: Stream | None) -> StreamContext:
    """A context that changes nothing: there is one stream.

    Args:
        stream: a stream, or None.

    >>> with stream(None):
    ...     pass
    """
    return StreamContext(stream)


def set_stream(stream: Stream | None) -> None:
    """Does nothing: there is one stream.

    Args:
        stream: a stream, or None.
    """
