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

def amax(input: Tensor, dim: Sequence[_int] | _int | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The largest elements, over ``dim`` or all, of those that ``mask`` selects; the least number if there are none."""
def amin(input: Tensor, dim: Sequence[_int] | _int | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The smallest elements, over ``dim`` or all, of those that ``mask`` selects; the largest number if there are"""
def argmax(input: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The indices, in the dtype of ``input``, of the largest elements of those that ``mask`` selects."""
def argmin(input: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The indices, in the dtype of ``input``, of the smallest elements of those that ``mask`` selects."""
def cumprod(input: Tensor, dim: _int, *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """The products up to each element along ``dim`` of those that ``mask`` selects; in the dtype of ``input``."""
def cumsum(input: Tensor, dim: _int, *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """The sums up to each element along ``dim`` of those that ``mask`` selects; in the dtype of ``input``."""
def log_softmax(input: Tensor, dim: _int, dtype: _dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The logarithm of ``softmax``; -inf where nothing is selected, nan along dimensions where nothing is."""
def logaddexp(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``log(exp(input) + exp(other))`` of the elements that the masks select; what they don't counts as -inf."""
def logsumexp(input: Tensor, dim: Sequence[_int] | _int, keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The logarithms of the sums, over ``dim`` or all, of the exponentials that ``mask`` selects."""
@overload
def mean(input: Tensor, *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """The means, over ``dim`` or all, of the elements that ``mask`` selects; nan of none."""
@overload
def mean(input: Tensor, dim: Sequence[_int] | _int | None, keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """The means, over ``dim`` or all, of the elements that ``mask`` selects; nan of none."""
@overload
def median(input: Tensor) -> Tensor:
    """The medians over ``dim``, the lower one of two, of the elements that ``mask`` selects; nan of none."""
@overload
def median(input: Tensor, dim: _int, keepdim: _bool = ..., *, out: Sequence[Tensor] | None = ...) -> Tensor:
    """The medians over ``dim``, the lower one of two, of the elements that ``mask`` selects; nan of none."""
def norm(input: Any, ord: Any = ..., dim: Any = ..., *, keepdim: _bool = ..., dtype: _dtype | None = ..., mask: Tensor | None = ...) -> Tensor:
    """The ``ord``-norms, over ``dim`` or all, of the elements that ``mask`` selects."""
def normalize(input: Any, ord: _float, dim: Any, *, eps: _float = ..., dtype: _dtype | None = ..., mask: Tensor | None = ...) -> Tensor:
    """The elements that ``mask`` selects, divided by their ``ord``-norm along ``dim`` or by ``eps``, if that is larger;"""
@overload
def prod(input: Tensor, *, dtype: _dtype | None = ...) -> Tensor:
    """The products, over ``dim`` or all, of the elements that ``mask`` selects."""
@overload
def prod(input: Tensor, dim: _int, keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """The products, over ``dim`` or all, of the elements that ``mask`` selects."""
def softmax(input: Tensor, dim: _int, dtype: _dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The softmax along ``dim`` of the elements that ``mask`` selects; 0 elsewhere, nan where it selects none."""
def softmin(input: Any, dim: Any, *, dtype: _dtype | None = ..., mask: Tensor | None = ...) -> Tensor:
    """``softmax(-input)``."""
@overload
def std(input: Tensor, dim: Sequence[_int] | _int | None, unbiased: _bool = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The roots of ``var``."""
@overload
def std(input: Tensor, dim: Sequence[_int] | _int | None = ..., *, correction: _Scalar | None = ..., keepdim: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The roots of ``var``."""
@overload
def std(input: Tensor, unbiased: _bool = ...) -> Tensor:
    """The roots of ``var``."""
@overload
def sum(input: Tensor, *, dtype: _dtype | None = ...) -> Tensor:
    """The sums, over ``dim`` or all, of the elements that ``mask`` selects."""
@overload
def sum(input: Tensor, dim: Sequence[_int] | _int | None, keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """The sums, over ``dim`` or all, of the elements that ``mask`` selects."""
@overload
def var(input: Tensor, dim: Sequence[_int] | _int | None, unbiased: _bool = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The variances, over ``dim`` or all, of the elements that ``mask`` selects: their number less ``correction`` (1)"""
@overload
def var(input: Tensor, dim: Sequence[_int] | _int | None = ..., *, correction: _Scalar | None = ..., keepdim: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The variances, over ``dim`` or all, of the elements that ``mask`` selects: their number less ``correction`` (1)"""
@overload
def var(input: Tensor, unbiased: _bool = ...) -> Tensor:
    """The variances, over ``dim`` or all, of the elements that ``mask`` selects: their number less ``correction`` (1)"""
