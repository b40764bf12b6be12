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

def current_accelerator(check_available: _bool = ...) -> _device | None:
    """The type of the accelerator as a device without an index, such as ``torch.device("cuda")``; None without one."""
def current_device_idx() -> _int:
    """``current_device_index``, by an old name."""
def current_device_index() -> _int:
    """Which accelerator a device type without an index means: always the first."""
def device_count() -> _int:
    """How many accelerators JAX has here."""
def device_index(device: _int | None) -> Iterator[None]:
    """A context in which a type without an index means this accelerator: the first, or None for no choice."""
def empty_cache() -> None:
    """Does nothing, where there is an accelerator: XLA keeps its own pool of memory."""
def get_memory_info(device_index: Any = ...) -> tuple[_int, _int]:
    """How many bytes of an accelerator's memory are free, and how many XLA may use in all."""
def is_available() -> _bool:
    """Whether JAX has a device here that is no CPU."""
def max_memory_allocated(device_index: Any = ...) -> _int:
    """The most bytes that arrays have taken on an accelerator since the process began."""
def max_memory_reserved(device_index: Any = ...) -> _int:
    """The most bytes that arrays have taken on an accelerator since the process began."""
def memory_allocated(device_index: Any = ...) -> _int:
    """The bytes that arrays take on an accelerator."""
def memory_reserved(device_index: Any = ...) -> _int:
    """The bytes that arrays take on an accelerator."""
def memory_stats(device_index: Any = ...) -> OrderedDict[_str, _int]:
    """What XLA counts of an accelerator's memory, in its own words: ``bytes_in_use``, ``peak_bytes_in_use``, …"""
def reset_peak_memory_stats(device_index: Any = ...) -> None:
    """Warns that XLA's peak is that of the whole process, and can't be reset."""
def set_device_idx(device: Any) -> None:
    """``set_device_index``, by an old name."""
def set_device_index(device: Any) -> None:
    """Does nothing for the first accelerator, which a type without an index always means."""
def synchronize(device: Any = ...) -> None:
    """Raises what checks of compiled calls have found. To read a value is to wait for it."""
