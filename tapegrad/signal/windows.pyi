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

def bartlett(M: _int, *, sym: _bool = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """``1 - |x|``, where ``x`` goes from -1 to 1."""
def blackman(M: _int, *, sym: _bool = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """``0.42 - 0.5 cos(2 pi n / (M - 1)) + 0.08 cos(4 pi n / (M - 1))``."""
def cosine(M: _int, *, sym: _bool = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """``sin(pi (n + 1/2) / M)``."""
def exponential(M: _int, *, center: _float | None = ..., tau: _float = ..., sym: _bool = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """``exp(-|n - center| / tau)``."""
def gaussian(M: _int, *, std: _float = ..., sym: _bool = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """``exp(-(n - c)^2 / (2 std^2))`` around the middle ``c``."""
def general_cosine(M: _int, *, a: Iterable, sym: _bool = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """The sum of ``(-1)^i a_i cos(2 pi i n / (M - 1))``."""
def general_hamming(M: _int, *, alpha: _float = ..., sym: _bool = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """``alpha - (1 - alpha) cos(2 pi n / (M - 1))``."""
def hamming(M: _int, *, sym: _bool = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """``0.54 - 0.46 cos(2 pi n / (M - 1))``."""
def hann(M: _int, *, sym: _bool = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """``sin(pi n / (M - 1))^2``."""
def kaiser(M: _int, *, beta: _float = ..., sym: _bool = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """``i0(beta sqrt(1 - x^2)) / i0(beta)``, where ``x`` goes from -1 to 1."""
def nuttall(M: _int, *, sym: _bool = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Nuttall's minimum four-term Blackman-Harris window."""
