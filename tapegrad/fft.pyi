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

def fft(input: Tensor, n: _int | Tensor | None = ..., dim: _int = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The Fourier transform along ``dim``."""
def fft2(input: Tensor, s: Sequence[_int] | _int | None = ..., dim: Sequence[_int] | _int = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The Fourier transform along the last two dimensions, or those in ``dim``."""
def fftfreq(n: _int, d: _float | Tensor = ..., *, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """The frequencies of a transform of ``n`` points that are ``d`` apart: first those from 0 on, then the negative."""
def fftn(input: Tensor, s: Sequence[_int] | _int | None = ..., dim: Sequence[_int] | _int | None = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The Fourier transform along all dimensions, or those in ``dim``."""
def fftshift(input: Tensor, dim: Sequence[_int] | _int | None = ...) -> Tensor:
    """``input`` with the frequency 0 moved to the middle of the dimensions in ``dim``, or of all."""
def hfft(input: Tensor, n: _int | Tensor | None = ..., dim: _int = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The transform of a Hermitian signal of which half is given along ``dim``."""
def hfft2(input: Tensor, s: Sequence[_int] | _int | None = ..., dim: Sequence[_int] | _int = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The transform of a Hermitian signal of which half is given along the last two dimensions, or those in ``dim``."""
def hfftn(input: Tensor, s: Sequence[_int] | _int | None = ..., dim: Sequence[_int] | _int | None = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The transform of a Hermitian signal of which half is given along all dimensions, or those in ``dim``."""
def ifft(input: Tensor, n: _int | Tensor | None = ..., dim: _int = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The backward Fourier transform along ``dim``."""
def ifft2(input: Tensor, s: Sequence[_int] | _int | None = ..., dim: Sequence[_int] | _int = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The backward Fourier transform along the last two dimensions, or those in ``dim``."""
def ifftn(input: Tensor, s: Sequence[_int] | _int | None = ..., dim: Sequence[_int] | _int | None = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The backward Fourier transform along all dimensions, or those in ``dim``."""
def ifftshift(input: Tensor, dim: Sequence[_int] | _int | None = ...) -> Tensor:
    """What ``fftshift`` did, undone."""
def ihfft(input: Tensor, n: _int | Tensor | None = ..., dim: _int = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The backward transform of a real signal, halved along ``dim``."""
def ihfft2(input: Tensor, s: Sequence[_int] | _int | None = ..., dim: Sequence[_int] | _int = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The backward transform of a real signal, halved in the last dimension, along the last two dimensions, or those in ``dim``."""
def ihfftn(input: Tensor, s: Sequence[_int] | _int | None = ..., dim: Sequence[_int] | _int | None = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The backward transform of a real signal, halved in the last dimension, along all dimensions, or those in ``dim``."""
def irfft(input: Tensor, n: _int | Tensor | None = ..., dim: _int = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The real signal that has this half spectrum along ``dim``."""
def irfft2(input: Tensor, s: Sequence[_int] | _int | None = ..., dim: Sequence[_int] | _int = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The real signal that has this half spectrum along the last two dimensions, or those in ``dim``."""
def irfftn(input: Tensor, s: Sequence[_int] | _int | None = ..., dim: Sequence[_int] | _int | None = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The real signal that has this half spectrum along all dimensions, or those in ``dim``."""
def rfft(input: Tensor, n: _int | Tensor | None = ..., dim: _int = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The first half of the transform of a real signal along ``dim``."""
def rfft2(input: Tensor, s: Sequence[_int] | _int | None = ..., dim: Sequence[_int] | _int = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The transform of a real signal, halved in the last of the dimensions, along the last two dimensions, or those in ``dim``."""
def rfftfreq(n: _int, d: _float | Tensor = ..., *, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """The frequencies of the half spectrum of ``n`` points that are ``d`` apart."""
def rfftn(input: Tensor, s: Sequence[_int] | _int | None = ..., dim: Sequence[_int] | _int | None = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The transform of a real signal, halved in the last of the dimensions, along all dimensions, or those in ``dim``."""
