"""Written by ``python -m tapegrad.stubs``: see ``tapegrad/stubs/__init__.py``."""

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from builtins import type as _type
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Literal, Self, SupportsIndex, overload

import jax
import numpy as np

from tapegrad.execution.devices import device as _device
from tapegrad.execution.dtypes import dtype as _dtype
from tapegrad.bindings.generator import Generator
from tapegrad.bindings.storages import TypedStorage, UntypedStorage
from tapegrad.bindings import return_types
from tapegrad.tape.hooks import RemovableHandle
from tapegrad.tape.node import Node
from tapegrad.tensor.layout import layout as _layout
from tapegrad.tensor.layout import memory_format as _memory_format
from tapegrad.tensor.spec import Size
from tapegrad.tensor.tensor import Tensor

_Number = _int | _float | _complex
_Scalar = _int | _float | _complex | Tensor

from tapegrad.bindings.gpus import CUDAGraph as CUDAGraph
from tapegrad.bindings.gpus import Event as Event
from tapegrad import OutOfMemoryError as OutOfMemoryError
from tapegrad.bindings.gpus import Stream as Stream
from tapegrad.bindings.gpus import StreamContext as StreamContext
from tapegrad.cuda import amp as amp
from tapegrad.cuda import comm as comm
from tapegrad.bindings.gpus import current_stream as current_stream
from tapegrad.bindings.gpus import current_stream as default_stream
from tapegrad.bindings.gpus import DefaultGpu as device
from tapegrad.bindings.gpus import DefaultGpuOf as device_of
from tapegrad.bindings.gpus import get_arch_list as get_arch_list
from tapegrad.bindings.gpus import get_device_capability as get_device_capability
from tapegrad.bindings.gpus import get_device_name as get_device_name
from tapegrad.bindings.gpus import get_device_properties as get_device_properties
from tapegrad.bindings.gpus import get_rng_state as get_rng_state
from tapegrad.bindings.gpus import get_rng_state_all as get_rng_state_all
from tapegrad.bindings.gpus import graph as graph
from tapegrad.bindings.gpus import initial_seed as initial_seed
from tapegrad.bindings.gpus import ipc_collect as ipc_collect
from tapegrad.bindings.gpus import is_tf32_supported as is_tf32_supported
from tapegrad.bindings.gpus import max_memory_allocated as max_memory_allocated
from tapegrad.bindings.gpus import max_memory_reserved as max_memory_reserved
from tapegrad.bindings.gpus import mem_get_info as mem_get_info
from tapegrad.bindings.gpus import memory_allocated as memory_allocated
from tapegrad.bindings.gpus import memory_reserved as memory_reserved
from tapegrad.bindings.gpus import memory_stats as memory_stats
from tapegrad.cuda import nvtx as nvtx
from tapegrad.bindings.gpus import reset_peak_memory_stats as reset_peak_memory_stats
from tapegrad.bindings.gpus import seed as seed
from tapegrad.bindings.gpus import seed as seed_all
from tapegrad.bindings.gpus import set_device as set_device
from tapegrad.bindings.gpus import set_rng_state as set_rng_state
from tapegrad.bindings.gpus import set_rng_state_all as set_rng_state_all
from tapegrad.bindings.gpus import set_stream as set_stream
from tapegrad.bindings.gpus import stream as stream
BFloat16Tensor: _type[Tensor]
BoolTensor: _type[Tensor]
ByteTensor: _type[Tensor]
CharTensor: _type[Tensor]
DoubleTensor: _type[Tensor]
FloatTensor: _type[Tensor]
HalfTensor: _type[Tensor]
IntTensor: _type[Tensor]
LongTensor: _type[Tensor]
ShortTensor: _type[Tensor]
def current_device() -> _int:
    """The index of the GPU that ``cuda`` without an index means: always the first."""
def device_count() -> _int:
    """How many GPUs JAX has here."""
def empty_cache() -> None:
    """Does nothing: XLA keeps its pool of memory."""
def init() -> None:
    """Does nothing where there is a GPU: JAX makes it ready."""
def is_available() -> _bool:
    """Whether JAX has a GPU here."""
def is_bf16_supported(including_emulation: _bool = ...) -> _bool:
    """Whether bfloat16 can be computed with: XLA can on every GPU."""
def is_initialized() -> _bool:
    """Whether GPUs can be computed on: JAX makes them ready when it is asked for its devices."""
def manual_seed(seed: _int) -> None:
    """Seed random numbers; there is one default generator for all devices."""
def manual_seed_all(seed: _int) -> None:
    """Seed random numbers; there is one default generator for all devices."""
def synchronize(device: Any = ...) -> None:
    """Wait for a GPU, the first by default, and raise what checks of compiled calls have found."""
