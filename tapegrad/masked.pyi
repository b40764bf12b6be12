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

def amax(input: Any, dim: Any = ..., *, keepdim: _bool = ..., dtype: _dtype | None = ..., mask: Tensor | None = ...) -> Tensor:
    """The largest elements, over ``dim`` or all, of those that ``mask`` selects; the least number if there are none."""
def amin(input: Any, dim: Any = ..., *, keepdim: _bool = ..., dtype: _dtype | None = ..., mask: Tensor | None = ...) -> Tensor:
    """The smallest elements, over ``dim`` or all, of those that ``mask`` selects; the largest number if there are"""
def argmax(input: Any, dim: Any = ..., *, keepdim: _bool = ..., dtype: _dtype | None = ..., mask: Tensor | None = ...) -> Tensor:
    """The indices, in the dtype of ``input``, of the largest elements of those that ``mask`` selects."""
def argmin(input: Any, dim: Any = ..., *, keepdim: _bool = ..., dtype: _dtype | None = ..., mask: Tensor | None = ...) -> Tensor:
    """The indices, in the dtype of ``input``, of the smallest elements of those that ``mask`` selects."""
def cumprod(input: Any, dim: Any, *, dtype: _dtype | None = ..., mask: Tensor | None = ...) -> Tensor:
    """The products up to each element along ``dim`` of those that ``mask`` selects; in the dtype of ``input``."""
def cumsum(input: Any, dim: Any, *, dtype: _dtype | None = ..., mask: Tensor | None = ...) -> Tensor:
    """The sums up to each element along ``dim`` of those that ``mask`` selects; in the dtype of ``input``."""
def log_softmax(input: Any, dim: Any, *, dtype: _dtype | None = ..., mask: Tensor | None = ...) -> Tensor:
    """The logarithm of ``softmax``; -inf where nothing is selected, nan along dimensions where nothing is."""
def logaddexp(input: Any, other: Any, *, dtype: _dtype | None = ..., input_mask: Tensor | None = ..., other_mask: Tensor | None = ...) -> Tensor:
    """``log(exp(input) + exp(other))`` of the elements that the masks select; what they don't counts as -inf."""
def logsumexp(input: Any, dim: Any = ..., *, keepdim: _bool = ..., dtype: _dtype | None = ..., mask: Tensor | None = ...) -> Tensor:
    """The logarithms of the sums, over ``dim`` or all, of the exponentials that ``mask`` selects."""
def mean(input: Any, dim: Any = ..., *, keepdim: _bool = ..., dtype: _dtype | None = ..., mask: Tensor | None = ...) -> Tensor:
    """The means, over ``dim`` or all, of the elements that ``mask`` selects; nan of none."""
def median(input: Any, dim: Any = ..., *, keepdim: _bool = ..., dtype: _dtype | None = ..., mask: Tensor | None = ...) -> Tensor:
    """The medians over ``dim``, the lower one of two, of the elements that ``mask`` selects; nan of none."""
def norm(input: Any, ord: Any = ..., dim: Any = ..., *, keepdim: _bool = ..., dtype: _dtype | None = ..., mask: Tensor | None = ...) -> Tensor:
    """The ``ord``-norms, over ``dim`` or all, of the elements that ``mask`` selects."""
def normalize(input: Any, ord: _float, dim: Any, *, eps: _float = ..., dtype: _dtype | None = ..., mask: Tensor | None = ...) -> Tensor:
    """The elements that ``mask`` selects, divided by their ``ord``-norm along ``dim`` or by ``eps``, if that is larger;"""
def prod(input: Any, dim: Any = ..., *, keepdim: _bool = ..., dtype: _dtype | None = ..., mask: Tensor | None = ...) -> Tensor:
    """The products, over ``dim`` or all, of the elements that ``mask`` selects."""
def softmax(input: Any, dim: Any, *, dtype: _dtype | None = ..., mask: Tensor | None = ...) -> Tensor:
    """The softmax along ``dim`` of the elements that ``mask`` selects; 0 elsewhere, nan where it selects none."""
def softmin(input: Any, dim: Any, *, dtype: _dtype | None = ..., mask: Tensor | None = ...) -> Tensor:
    """``softmax(-input)``."""
def std(input: Any, dim: Any = ..., unbiased: _bool | None = ..., *, correction: Any = ..., keepdim: _bool = ..., dtype: _dtype | None = ..., mask: Tensor | None = ...) -> Tensor:
    """The roots of ``var``."""
def sum(input: Any, dim: Any = ..., *, keepdim: _bool = ..., dtype: _dtype | None = ..., mask: Tensor | None = ...) -> Tensor:
    """The sums, over ``dim`` or all, of the elements that ``mask`` selects."""
def var(input: Any, dim: Any = ..., unbiased: _bool | None = ..., *, correction: Any = ..., keepdim: _bool = ..., dtype: _dtype | None = ..., mask: Tensor | None = ...) -> Tensor:
    """The variances, over ``dim`` or all, of the elements that ``mask`` selects: their number less ``correction`` (1)"""
