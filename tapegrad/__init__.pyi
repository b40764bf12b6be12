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
from tapegrad.bindings.generator import Generator as Generator
from tapegrad.bindings.storages import TypedStorage, UntypedStorage
from tapegrad.bindings import return_types as return_types
from tapegrad.tape.hooks import RemovableHandle
from tapegrad.tape.node import Node
from tapegrad.tensor.layout import layout as _layout
from tapegrad.tensor.layout import memory_format as _memory_format
from tapegrad.tensor.spec import Size as Size
from tapegrad.tensor.tensor import Tensor as Tensor

_Number = _int | _float | _complex
_Scalar = _int | _float | _complex | Tensor

from tapegrad import AcceleratorError as AcceleratorError
from tapegrad.bindings.streams import Event as Event
from tapegrad.futures import Future as Future
from tapegrad.amp.grad_scaler import GradScaler as GradScaler
from tapegrad import OutOfMemoryError as OutOfMemoryError
from tapegrad.serialization.archive import PyTorchFileReader as PyTorchFileReader
from tapegrad.bindings.scripting import ScriptFunction as ScriptFunction
from tapegrad.bindings.scripting import ScriptModule as ScriptModule
from tapegrad.bindings.streams import Stream as Stream
from tapegrad.bindings.symbolic import SymBool as SymBool
from tapegrad.bindings.symbolic import SymFloat as SymFloat
from tapegrad.bindings.symbolic import SymInt as SymInt
__version__: _str
from tapegrad import absent as absent
from tapegrad import accelerator as accelerator
from tapegrad import amp as amp
from tapegrad import ao as ao
from tapegrad.amp.autocast_mode import autocast as autocast
from tapegrad.amp.autocast_mode import autocast_decrement_nesting as autocast_decrement_nesting
from tapegrad.amp.autocast_mode import autocast_increment_nesting as autocast_increment_nesting
from tapegrad import autograd as autograd
from tapegrad import backends as backends
bfloat16: _dtype
from tapegrad import bindings as bindings
bool: _dtype
from tapegrad import caches as caches
from tapegrad.execution.promotion import can_cast as can_cast
cdouble: _dtype
cfloat: _dtype
chalf: _dtype
from tapegrad.amp.autocast_mode import clear_autocast_cache as clear_autocast_cache
from tapegrad.interop.compare import compare as compare
from tapegrad.compiler.step import compile as compile
from tapegrad import compiler as compiler
complex128: _dtype
complex32: _dtype
complex64: _dtype
from tapegrad._higher_order_ops.cond import cond as cond
from tapegrad import cpu as cpu
from tapegrad import cuda as cuda
from tapegrad import declaring as declaring
from tapegrad.execution.modes import deferred as deferred
from tapegrad.execution.devices import device as device
from tapegrad import dispatch as dispatch
from tapegrad import distributed as distributed
from tapegrad import distributions as distributions
from tapegrad import doors as doors
double: _dtype
from tapegrad.sparse.products import dsmm as dsmm
from tapegrad.execution.dtypes import dtype as dtype
e: _float
from tapegrad.autograd.grad_mode import enable_grad as enable_grad
from tapegrad import engine as engine
from tapegrad import errors as errors
from tapegrad import execution as execution
from tapegrad.viz.explanations.costs import explain as explain
from tapegrad.viz.explanations.nonfinite import explain_nan as explain_nan
from tapegrad import fft as fft
from tapegrad.execution.dtypes import finfo as finfo
float: _dtype
float16: _dtype
float32: _dtype
float64: _dtype
float8_e4m3fn: _dtype
float8_e4m3fnuz: _dtype
float8_e5m2: _dtype
float8_e5m2fnuz: _dtype
from tapegrad.interop.arrays import from_jax_array as from_jax_array
from tapegrad import func as func
from tapegrad import functional as functional
from tapegrad import functions as functions
from tapegrad import futures as futures
from tapegrad import fx as fx
from tapegrad.amp.autocast_mode import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from tapegrad.amp.autocast_mode import get_autocast_dtype as get_autocast_dtype
from tapegrad.amp.autocast_mode import get_autocast_gpu_dtype as get_autocast_gpu_dtype
from tapegrad.execution.devices import get_default_device as get_default_device
from tapegrad.execution.dtypes import get_default_dtype as get_default_dtype
from tapegrad.execution.modes import get_execution as get_execution
from tapegrad.tensor.printing import get_printoptions as get_printoptions
from tapegrad.autograd.subgradient import get_subgradient as get_subgradient
half: _dtype
from tapegrad.sparse.products import hspmm as hspmm
from tapegrad import hub as hub
from tapegrad.execution.dtypes import iinfo as iinfo
inf: _float
from tapegrad.autograd.grad_mode import inference_mode as inference_mode
from tapegrad.as_torch.standing import install as install
int: _dtype
int16: _dtype
int32: _dtype
int64: _dtype
int8: _dtype
from tapegrad import interop as interop
from tapegrad.autograd.anomaly_mode import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from tapegrad.autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
from tapegrad.amp.autocast_mode import is_autocast_cache_enabled as is_autocast_cache_enabled
from tapegrad.amp.autocast_mode import is_autocast_cpu_enabled as is_autocast_cpu_enabled
from tapegrad.amp.autocast_mode import is_autocast_enabled as is_autocast_enabled
from tapegrad.autograd.grad_mode import is_grad_enabled as is_grad_enabled
from tapegrad.errors import is_warn_always_enabled as is_warn_always_enabled
from tapegrad import jit as jit
from tapegrad import library as library
from tapegrad import linalg as linalg
from tapegrad.serialization.loading import load as load
long: _dtype
from tapegrad import masked as masked
from tapegrad import mps as mps
from tapegrad import mtia as mtia
from tapegrad import multiprocessing as multiprocessing
nan: _float
newaxis: None
from tapegrad import nn as nn
from tapegrad.autograd.grad_mode import no_grad as no_grad
from tapegrad import onnx as onnx
from tapegrad import ops as ops
from tapegrad import optim as optim
from tapegrad import overrides as overrides
per_channel_affine: qscheme
per_channel_affine_float_qparams: qscheme
per_channel_symmetric: qscheme
per_tensor_affine: qscheme
per_tensor_symmetric: qscheme
pi: _float
from tapegrad import profiler as profiler
from tapegrad import progress as progress
from tapegrad.execution.promotion import promote_types as promote_types
qint32: QuantizedDtype
qint8: QuantizedDtype
from tapegrad.ao.quantization.schemes import qscheme as qscheme
from tapegrad import quantization as quantization
from tapegrad import quasirandom as quasirandom
quint2x4: QuantizedDtype
quint4x2: QuantizedDtype
quint8: QuantizedDtype
from tapegrad import random as random
from tapegrad.serialization.saving import save as save
from tapegrad import serialization as serialization
from tapegrad.autograd.anomaly_mode import set_anomaly_enabled as set_anomaly_enabled
from tapegrad.amp.autocast_mode import set_autocast_cache_enabled as set_autocast_cache_enabled
from tapegrad.amp.autocast_mode import set_autocast_cpu_dtype as set_autocast_cpu_dtype
from tapegrad.amp.autocast_mode import set_autocast_cpu_enabled as set_autocast_cpu_enabled
from tapegrad.amp.autocast_mode import set_autocast_dtype as set_autocast_dtype
from tapegrad.amp.autocast_mode import set_autocast_enabled as set_autocast_enabled
from tapegrad.amp.autocast_mode import set_autocast_gpu_dtype as set_autocast_gpu_dtype
from tapegrad.execution.devices import set_default_device as set_default_device
from tapegrad.execution.dtypes import set_default_dtype as set_default_dtype
from tapegrad.execution.modes import set_execution as set_execution
from tapegrad.autograd.grad_mode import set_grad_enabled as set_grad_enabled
from tapegrad.tensor.printing import set_printoptions as set_printoptions
from tapegrad.errors import set_warn_always as set_warn_always
short: _dtype
from tapegrad import signal as signal
from tapegrad.sparse.products import smm as smm
from tapegrad import sparse as sparse
from tapegrad.sparse.compressed import sparse_bsc_tensor as sparse_bsc_tensor
from tapegrad.sparse.compressed import sparse_bsr_tensor as sparse_bsr_tensor
from tapegrad.sparse.compressed import sparse_compressed_tensor as sparse_compressed_tensor
from tapegrad.sparse.coordinates import sparse_coo_tensor as sparse_coo_tensor
from tapegrad.sparse.compressed import sparse_csc_tensor as sparse_csc_tensor
from tapegrad.sparse.compressed import sparse_csr_tensor as sparse_csr_tensor
from tapegrad import special as special
from tapegrad.sparse.products import sspaddmm as sspaddmm
from tapegrad import storage as storage
from tapegrad import streams as streams
from tapegrad.autograd.subgradient import subgradient as subgradient
from tapegrad import tape as tape
from tapegrad import testing as testing
from tapegrad import torch_version as torch_version
from tapegrad import types as types
uint16: _dtype
uint32: _dtype
uint64: _dtype
uint8: _dtype
from tapegrad import utils as utils
from tapegrad import version as version
from tapegrad import viz as viz
from tapegrad.func.mapping import vmap as vmap
from tapegrad.viz.explanations.walking import walk as walk
from tapegrad.viz.explanations.watching import watch as watch
from tapegrad._higher_order_ops.while_loop import while_loop as while_loop
from tapegrad.viz.explanations.keeping import who_holds as who_holds
from tapegrad.viz.explanations.missing import why_no_grad as why_no_grad
from tapegrad.viz.explanations.missing import why_none as why_none
from tapegrad import xpu as xpu
BFloat16Storage: _type[Tensor]
BFloat16Tensor: _type[Tensor]
BoolStorage: _type[Tensor]
BoolTensor: _type[Tensor]
ByteStorage: _type[Tensor]
ByteTensor: _type[Tensor]
CharStorage: _type[Tensor]
CharTensor: _type[Tensor]
ComplexDoubleStorage: _type[Tensor]
ComplexFloatStorage: _type[Tensor]
DoubleStorage: _type[Tensor]
DoubleTensor: _type[Tensor]
FloatStorage: _type[Tensor]
FloatTensor: _type[Tensor]
HalfStorage: _type[Tensor]
HalfTensor: _type[Tensor]
IntStorage: _type[Tensor]
IntTensor: _type[Tensor]
LongStorage: _type[Tensor]
LongTensor: _type[Tensor]
ShortStorage: _type[Tensor]
ShortTensor: _type[Tensor]
Storage: _type[Tensor]
from tapegrad.bindings.storages import TypedStorage as TypedStorage
from tapegrad.bindings.storages import UntypedStorage as UntypedStorage
def _amp_foreach_non_finite_check_and_unscale_(self: Sequence[Tensor], found_inf: Tensor, inv_scale: Tensor) -> None:
    """Multiply tensors by a number, and write 1 into another if one was not finite."""
def _amp_update_scale_(input: Tensor, growth_tracker: Tensor, found_inf: Tensor, scale_growth_factor: _float | Tensor, scale_backoff_factor: _float | Tensor, growth_interval: _int) -> Tensor:
    """Make a scale smaller where something infinite was found; larger after so many times without."""
def _assert(condition: Any, message: Any) -> Any:
    """``assert condition, message``, which classes and modes can override."""
def _assert_async(input: Tensor, assert_msg: _str | None = ...) -> None:
    """Refuse a tensor whose only element is zero."""
def _check(cond: Any, message: Callable[[], Any] | None = ...) -> None:
    """Raise RuntimeError if a condition, a bool, does not hold."""
def _check_index(cond: Any, message: Callable[[], Any] | None = ...) -> None:
    """Raise IndexError if a condition, a bool, does not hold."""
def _check_is_size(i: Any, message: Any = ..., *, max: Any = ...) -> None:
    """Raise RuntimeError if a number is negative, or larger than ``max``. Deprecated: use ``_check``."""
def _check_not_implemented(cond: Any, message: Callable[[], Any] | None = ...) -> None:
    """Raise NotImplementedError if a condition, a bool, does not hold."""
def _check_tensor_all(cond: Any, message: Any = ...) -> None:
    """``_check`` for a tensor of truth values, which must all be true."""
def _check_tensor_all_with(error_type: _type[Exception], cond: Any, message: Any = ...) -> None:
    """``_check_with`` for a tensor of truth values, which must all be true."""
def _check_type(cond: Any, message: Callable[[], Any] | None = ...) -> None:
    """Raise TypeError if a condition, a bool, does not hold."""
def _check_value(cond: Any, message: Callable[[], Any] | None = ...) -> None:
    """Raise ValueError if a condition, a bool, does not hold."""
def _check_with(error_type: _type[Exception], cond: Any, message: Any) -> None:
    """Raise an error if a condition does not hold."""
def _chunk_cat(tensors: Sequence[Tensor], dim: _int, num_chunks: _int, *, out: Tensor | None = ...) -> Tensor:
    """Tensors, each padded with zeros at the end of dimension ``dim`` and cut into as many chunks, of which those with"""
def _conj(input: Tensor | _Number) -> Tensor:
    """The complex conjugate, as a view of the same memory; of a real tensor, the tensor itself."""
@overload
def _ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Sequence[_int], target_lengths: Sequence[_int], blank: _int = ..., zero_infinity: _bool = ...) -> tuple[Tensor, Tensor]:
    """The loss of each sequence, and the logarithms from which it and its gradient are computed."""
@overload
def _ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: _int = ..., zero_infinity: _bool = ...) -> tuple[Tensor, Tensor]:
    """The loss of each sequence, and the logarithms from which it and its gradient are computed."""
def _dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    """How Dirichlet samples ``x`` move with ``alpha``, over ``1 - x``; ``total`` is the sum of the parameters."""
def _fake_quantize_learnable_per_channel_affine(input: Tensor, scale: Tensor, zero_point: Tensor, axis: _int, quant_min: _int, quant_max: _int, grad_factor: _float | Tensor = ...) -> Tensor:
    """As ``fake_quantize_per_channel_affine``; ``scale`` and ``zero_point`` are floats that have gradients, too."""
def _fake_quantize_learnable_per_tensor_affine(input: Tensor, scale: Tensor, zero_point: Tensor, quant_min: _int, quant_max: _int, grad_factor: _float | Tensor = ...) -> Tensor:
    """As ``fake_quantize_per_tensor_affine``; ``scale`` and ``zero_point`` are floats that have gradients, too."""
def _foreach_abs(self: Sequence[Tensor]) -> Any:
    """``abs`` of each tensor of a list: new tensors."""
def _foreach_abs_(self: Sequence[Tensor]) -> Any:
    """``abs`` of each tensor of a list: the tensors themselves, written to."""
def _foreach_acos(self: Sequence[Tensor]) -> Any:
    """``acos`` of each tensor of a list: new tensors."""
def _foreach_acos_(self: Sequence[Tensor]) -> Any:
    """``acos`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_add(self: Sequence[Tensor], scalar: _Scalar) -> Any:
    """``add`` of each tensor of a list: new tensors."""
@overload
def _foreach_add(self: Sequence[Tensor], scalars: Sequence[_Number]) -> Any:
    """``add`` of each tensor of a list: new tensors."""
@overload
def _foreach_add(self: Sequence[Tensor], other: Tensor, *, alpha: _Scalar = ...) -> Any:
    """``add`` of each tensor of a list: new tensors."""
@overload
def _foreach_add(self: Sequence[Tensor], other: Sequence[Tensor], *, alpha: _Scalar = ...) -> Any:
    """``add`` of each tensor of a list: new tensors."""
@overload
def _foreach_add_(self: Sequence[Tensor], scalar: _Scalar) -> Any:
    """``add`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_add_(self: Sequence[Tensor], scalars: Sequence[_Number]) -> Any:
    """``add`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_add_(self: Sequence[Tensor], other: Tensor, *, alpha: _Scalar = ...) -> Any:
    """``add`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_add_(self: Sequence[Tensor], other: Sequence[Tensor], *, alpha: _Scalar = ...) -> Any:
    """``add`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_addcdiv(self: Sequence[Tensor], tensor1: Sequence[Tensor], tensor2: Sequence[Tensor], scalars: Sequence[_Number]) -> Any:
    """``addcdiv`` of each tensor of a list: new tensors."""
@overload
def _foreach_addcdiv(self: Sequence[Tensor], tensor1: Sequence[Tensor], tensor2: Sequence[Tensor], scalars: Tensor) -> Any:
    """``addcdiv`` of each tensor of a list: new tensors."""
@overload
def _foreach_addcdiv(self: Sequence[Tensor], tensor1: Sequence[Tensor], tensor2: Sequence[Tensor], value: _Scalar = ...) -> Any:
    """``addcdiv`` of each tensor of a list: new tensors."""
@overload
def _foreach_addcdiv_(self: Sequence[Tensor], tensor1: Sequence[Tensor], tensor2: Sequence[Tensor], scalars: Sequence[_Number]) -> Any:
    """``addcdiv`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_addcdiv_(self: Sequence[Tensor], tensor1: Sequence[Tensor], tensor2: Sequence[Tensor], scalars: Tensor) -> Any:
    """``addcdiv`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_addcdiv_(self: Sequence[Tensor], tensor1: Sequence[Tensor], tensor2: Sequence[Tensor], value: _Scalar = ...) -> Any:
    """``addcdiv`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_addcmul(self: Sequence[Tensor], tensor1: Sequence[Tensor], tensor2: Sequence[Tensor], scalars: Sequence[_Number]) -> Any:
    """``addcmul`` of each tensor of a list: new tensors."""
@overload
def _foreach_addcmul(self: Sequence[Tensor], tensor1: Sequence[Tensor], tensor2: Sequence[Tensor], scalars: Tensor) -> Any:
    """``addcmul`` of each tensor of a list: new tensors."""
@overload
def _foreach_addcmul(self: Sequence[Tensor], tensor1: Sequence[Tensor], tensor2: Sequence[Tensor], value: _Scalar = ...) -> Any:
    """``addcmul`` of each tensor of a list: new tensors."""
@overload
def _foreach_addcmul_(self: Sequence[Tensor], tensor1: Sequence[Tensor], tensor2: Sequence[Tensor], scalars: Sequence[_Number]) -> Any:
    """``addcmul`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_addcmul_(self: Sequence[Tensor], tensor1: Sequence[Tensor], tensor2: Sequence[Tensor], scalars: Tensor) -> Any:
    """``addcmul`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_addcmul_(self: Sequence[Tensor], tensor1: Sequence[Tensor], tensor2: Sequence[Tensor], value: _Scalar = ...) -> Any:
    """``addcmul`` of each tensor of a list: the tensors themselves, written to."""
def _foreach_asin(self: Sequence[Tensor]) -> Any:
    """``asin`` of each tensor of a list: new tensors."""
def _foreach_asin_(self: Sequence[Tensor]) -> Any:
    """``asin`` of each tensor of a list: the tensors themselves, written to."""
def _foreach_atan(self: Sequence[Tensor]) -> Any:
    """``atan`` of each tensor of a list: new tensors."""
def _foreach_atan_(self: Sequence[Tensor]) -> Any:
    """``atan`` of each tensor of a list: the tensors themselves, written to."""
def _foreach_ceil(self: Sequence[Tensor]) -> Any:
    """``ceil`` of each tensor of a list: new tensors."""
def _foreach_ceil_(self: Sequence[Tensor]) -> Any:
    """``ceil`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_clamp_max(self: Sequence[Tensor], scalar: _Scalar) -> Any:
    """``clamp_max`` of each tensor of a list: new tensors."""
@overload
def _foreach_clamp_max(self: Sequence[Tensor], scalars: Sequence[_Number]) -> Any:
    """``clamp_max`` of each tensor of a list: new tensors."""
@overload
def _foreach_clamp_max(self: Sequence[Tensor], other: Sequence[Tensor]) -> Any:
    """``clamp_max`` of each tensor of a list: new tensors."""
@overload
def _foreach_clamp_max_(self: Sequence[Tensor], scalar: _Scalar) -> Any:
    """``clamp_max`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_clamp_max_(self: Sequence[Tensor], scalars: Sequence[_Number]) -> Any:
    """``clamp_max`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_clamp_max_(self: Sequence[Tensor], other: Sequence[Tensor]) -> Any:
    """``clamp_max`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_clamp_min(self: Sequence[Tensor], scalar: _Scalar) -> Any:
    """``clamp_min`` of each tensor of a list: new tensors."""
@overload
def _foreach_clamp_min(self: Sequence[Tensor], scalars: Sequence[_Number]) -> Any:
    """``clamp_min`` of each tensor of a list: new tensors."""
@overload
def _foreach_clamp_min(self: Sequence[Tensor], other: Sequence[Tensor]) -> Any:
    """``clamp_min`` of each tensor of a list: new tensors."""
@overload
def _foreach_clamp_min_(self: Sequence[Tensor], scalar: _Scalar) -> Any:
    """``clamp_min`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_clamp_min_(self: Sequence[Tensor], scalars: Sequence[_Number]) -> Any:
    """``clamp_min`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_clamp_min_(self: Sequence[Tensor], other: Sequence[Tensor]) -> Any:
    """``clamp_min`` of each tensor of a list: the tensors themselves, written to."""
def _foreach_clone(self: Sequence[Tensor], *, memory_format: _memory_format | None = ...) -> Results:
    """Copies of the tensors of a list."""
def _foreach_copy_(self: Sequence[Tensor], src: Sequence[Tensor], non_blocking: _bool = ...) -> list[Tensor]:
    """Write to each tensor of a list what another one has."""
def _foreach_cos(self: Sequence[Tensor]) -> Any:
    """``cos`` of each tensor of a list: new tensors."""
def _foreach_cos_(self: Sequence[Tensor]) -> Any:
    """``cos`` of each tensor of a list: the tensors themselves, written to."""
def _foreach_cosh(self: Sequence[Tensor]) -> Any:
    """``cosh`` of each tensor of a list: new tensors."""
def _foreach_cosh_(self: Sequence[Tensor]) -> Any:
    """``cosh`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_div(self: Sequence[Tensor], scalars: Sequence[_Number]) -> Any:
    """``div`` of each tensor of a list: new tensors."""
@overload
def _foreach_div(self: Sequence[Tensor], other: Tensor) -> Any:
    """``div`` of each tensor of a list: new tensors."""
@overload
def _foreach_div(self: Sequence[Tensor], other: Sequence[Tensor]) -> Any:
    """``div`` of each tensor of a list: new tensors."""
@overload
def _foreach_div(self: Sequence[Tensor], scalar: _Scalar) -> Any:
    """``div`` of each tensor of a list: new tensors."""
@overload
def _foreach_div_(self: Sequence[Tensor], scalars: Sequence[_Number]) -> Any:
    """``div`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_div_(self: Sequence[Tensor], other: Tensor) -> Any:
    """``div`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_div_(self: Sequence[Tensor], other: Sequence[Tensor]) -> Any:
    """``div`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_div_(self: Sequence[Tensor], scalar: _Scalar) -> Any:
    """``div`` of each tensor of a list: the tensors themselves, written to."""
def _foreach_erf(self: Sequence[Tensor]) -> Any:
    """``erf`` of each tensor of a list: new tensors."""
def _foreach_erf_(self: Sequence[Tensor]) -> Any:
    """``erf`` of each tensor of a list: the tensors themselves, written to."""
def _foreach_erfc(self: Sequence[Tensor]) -> Any:
    """``erfc`` of each tensor of a list: new tensors."""
def _foreach_erfc_(self: Sequence[Tensor]) -> Any:
    """``erfc`` of each tensor of a list: the tensors themselves, written to."""
def _foreach_exp(self: Sequence[Tensor]) -> Any:
    """``exp`` of each tensor of a list: new tensors."""
def _foreach_exp_(self: Sequence[Tensor]) -> Any:
    """``exp`` of each tensor of a list: the tensors themselves, written to."""
def _foreach_expm1(self: Sequence[Tensor]) -> Any:
    """``expm1`` of each tensor of a list: new tensors."""
def _foreach_expm1_(self: Sequence[Tensor]) -> Any:
    """``expm1`` of each tensor of a list: the tensors themselves, written to."""
def _foreach_floor(self: Sequence[Tensor]) -> Any:
    """``floor`` of each tensor of a list: new tensors."""
def _foreach_floor_(self: Sequence[Tensor]) -> Any:
    """``floor`` of each tensor of a list: the tensors themselves, written to."""
def _foreach_frac(self: Sequence[Tensor]) -> Any:
    """``frac`` of each tensor of a list: new tensors."""
def _foreach_frac_(self: Sequence[Tensor]) -> Any:
    """``frac`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_lerp(self: Sequence[Tensor], tensors1: Sequence[Tensor], weight: _Scalar) -> Any:
    """``lerp`` of each tensor of a list: new tensors."""
@overload
def _foreach_lerp(self: Sequence[Tensor], tensors1: Sequence[Tensor], weight: Sequence[_Number]) -> Any:
    """``lerp`` of each tensor of a list: new tensors."""
@overload
def _foreach_lerp(self: Sequence[Tensor], tensors1: Sequence[Tensor], weights: Sequence[Tensor]) -> Any:
    """``lerp`` of each tensor of a list: new tensors."""
@overload
def _foreach_lerp_(self: Sequence[Tensor], tensors1: Sequence[Tensor], weight: _Scalar) -> Any:
    """``lerp`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_lerp_(self: Sequence[Tensor], tensors1: Sequence[Tensor], weight: Sequence[_Number]) -> Any:
    """``lerp`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_lerp_(self: Sequence[Tensor], tensors1: Sequence[Tensor], weights: Sequence[Tensor]) -> Any:
    """``lerp`` of each tensor of a list: the tensors themselves, written to."""
def _foreach_lgamma(self: Sequence[Tensor]) -> Any:
    """``lgamma`` of each tensor of a list: new tensors."""
def _foreach_lgamma_(self: Sequence[Tensor]) -> Any:
    """``lgamma`` of each tensor of a list: the tensors themselves, written to."""
def _foreach_log(self: Sequence[Tensor]) -> Any:
    """``log`` of each tensor of a list: new tensors."""
def _foreach_log10(self: Sequence[Tensor]) -> Any:
    """``log10`` of each tensor of a list: new tensors."""
def _foreach_log10_(self: Sequence[Tensor]) -> Any:
    """``log10`` of each tensor of a list: the tensors themselves, written to."""
def _foreach_log1p(self: Sequence[Tensor]) -> Any:
    """``log1p`` of each tensor of a list: new tensors."""
def _foreach_log1p_(self: Sequence[Tensor]) -> Any:
    """``log1p`` of each tensor of a list: the tensors themselves, written to."""
def _foreach_log2(self: Sequence[Tensor]) -> Any:
    """``log2`` of each tensor of a list: new tensors."""
def _foreach_log2_(self: Sequence[Tensor]) -> Any:
    """``log2`` of each tensor of a list: the tensors themselves, written to."""
def _foreach_log_(self: Sequence[Tensor]) -> Any:
    """``log`` of each tensor of a list: the tensors themselves, written to."""
def _foreach_max(self: Sequence[Tensor]) -> Results:
    """The largest element of each tensor of a list."""
@overload
def _foreach_maximum(self: Sequence[Tensor], scalar: _Scalar) -> Any:
    """``maximum`` of each tensor of a list: new tensors."""
@overload
def _foreach_maximum(self: Sequence[Tensor], scalars: Sequence[_Number]) -> Any:
    """``maximum`` of each tensor of a list: new tensors."""
@overload
def _foreach_maximum(self: Sequence[Tensor], other: Sequence[Tensor]) -> Any:
    """``maximum`` of each tensor of a list: new tensors."""
@overload
def _foreach_maximum_(self: Sequence[Tensor], scalar: _Scalar) -> Any:
    """``maximum`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_maximum_(self: Sequence[Tensor], scalars: Sequence[_Number]) -> Any:
    """``maximum`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_maximum_(self: Sequence[Tensor], other: Sequence[Tensor]) -> Any:
    """``maximum`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_minimum(self: Sequence[Tensor], scalar: _Scalar) -> Any:
    """``minimum`` of each tensor of a list: new tensors."""
@overload
def _foreach_minimum(self: Sequence[Tensor], scalars: Sequence[_Number]) -> Any:
    """``minimum`` of each tensor of a list: new tensors."""
@overload
def _foreach_minimum(self: Sequence[Tensor], other: Sequence[Tensor]) -> Any:
    """``minimum`` of each tensor of a list: new tensors."""
@overload
def _foreach_minimum_(self: Sequence[Tensor], scalar: _Scalar) -> Any:
    """``minimum`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_minimum_(self: Sequence[Tensor], scalars: Sequence[_Number]) -> Any:
    """``minimum`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_minimum_(self: Sequence[Tensor], other: Sequence[Tensor]) -> Any:
    """``minimum`` of each tensor of a list: the tensors themselves, written to."""
def _foreach_mm(self: Sequence[Tensor], mat2: Sequence[Tensor]) -> Results:
    """The product of each matrix of a list with that of another."""
@overload
def _foreach_mul(self: Sequence[Tensor], scalars: Sequence[_Number]) -> Any:
    """``mul`` of each tensor of a list: new tensors."""
@overload
def _foreach_mul(self: Sequence[Tensor], other: Tensor) -> Any:
    """``mul`` of each tensor of a list: new tensors."""
@overload
def _foreach_mul(self: Sequence[Tensor], other: Sequence[Tensor]) -> Any:
    """``mul`` of each tensor of a list: new tensors."""
@overload
def _foreach_mul(self: Sequence[Tensor], scalar: _Scalar) -> Any:
    """``mul`` of each tensor of a list: new tensors."""
@overload
def _foreach_mul_(self: Sequence[Tensor], scalars: Sequence[_Number]) -> Any:
    """``mul`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_mul_(self: Sequence[Tensor], other: Tensor) -> Any:
    """``mul`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_mul_(self: Sequence[Tensor], other: Sequence[Tensor]) -> Any:
    """``mul`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_mul_(self: Sequence[Tensor], scalar: _Scalar) -> Any:
    """``mul`` of each tensor of a list: the tensors themselves, written to."""
def _foreach_neg(self: Sequence[Tensor]) -> Any:
    """``neg`` of each tensor of a list: new tensors."""
def _foreach_neg_(self: Sequence[Tensor]) -> Any:
    """``neg`` of each tensor of a list: the tensors themselves, written to."""
def _foreach_norm(self: Sequence[Tensor], ord: _Scalar = ..., dtype: _dtype | None = ...) -> Results:
    """The norm of each tensor of a list, as of a vector."""
@overload
def _foreach_pow(self: _Scalar, exponent: Sequence[Tensor]) -> Any:
    """``pow`` of each tensor of a list: new tensors."""
@overload
def _foreach_pow(self: Sequence[Tensor], exponent: _Scalar) -> Any:
    """``pow`` of each tensor of a list: new tensors."""
@overload
def _foreach_pow(self: Sequence[Tensor], exponent: Sequence[_Number]) -> Any:
    """``pow`` of each tensor of a list: new tensors."""
@overload
def _foreach_pow(self: Sequence[Tensor], exponent: Sequence[Tensor]) -> Any:
    """``pow`` of each tensor of a list: new tensors."""
@overload
def _foreach_pow_(self: Sequence[Tensor], exponent: _Scalar) -> Any:
    """``pow`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_pow_(self: Sequence[Tensor], exponent: Sequence[_Number]) -> Any:
    """``pow`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_pow_(self: Sequence[Tensor], exponent: Sequence[Tensor]) -> Any:
    """``pow`` of each tensor of a list: the tensors themselves, written to."""
def _foreach_powsum(self: Sequence[Tensor], ord: _Scalar = ..., dtype: _dtype | None = ...) -> Results:
    """The sum of the powers of the absolute elements, for each tensor of a list."""
def _foreach_reciprocal(self: Sequence[Tensor]) -> Any:
    """``reciprocal`` of each tensor of a list: new tensors."""
def _foreach_reciprocal_(self: Sequence[Tensor]) -> Any:
    """``reciprocal`` of each tensor of a list: the tensors themselves, written to."""
def _foreach_round(self: Sequence[Tensor]) -> Any:
    """``round`` of each tensor of a list: new tensors."""
def _foreach_round_(self: Sequence[Tensor]) -> Any:
    """``round`` of each tensor of a list: the tensors themselves, written to."""
def _foreach_rsqrt(self: Sequence[Tensor]) -> Any:
    """``rsqrt`` of each tensor of a list: new tensors."""
def _foreach_rsqrt_(self: Sequence[Tensor]) -> Any:
    """``rsqrt`` of each tensor of a list: the tensors themselves, written to."""
def _foreach_sigmoid(self: Sequence[Tensor]) -> Any:
    """``sigmoid`` of each tensor of a list: new tensors."""
def _foreach_sigmoid_(self: Sequence[Tensor]) -> Any:
    """``sigmoid`` of each tensor of a list: the tensors themselves, written to."""
def _foreach_sign(self: Sequence[Tensor]) -> Any:
    """``sign`` of each tensor of a list: new tensors."""
def _foreach_sign_(self: Sequence[Tensor]) -> Any:
    """``sign`` of each tensor of a list: the tensors themselves, written to."""
def _foreach_sin(self: Sequence[Tensor]) -> Any:
    """``sin`` of each tensor of a list: new tensors."""
def _foreach_sin_(self: Sequence[Tensor]) -> Any:
    """``sin`` of each tensor of a list: the tensors themselves, written to."""
def _foreach_sinh(self: Sequence[Tensor]) -> Any:
    """``sinh`` of each tensor of a list: new tensors."""
def _foreach_sinh_(self: Sequence[Tensor]) -> Any:
    """``sinh`` of each tensor of a list: the tensors themselves, written to."""
def _foreach_sqrt(self: Sequence[Tensor]) -> Any:
    """``sqrt`` of each tensor of a list: new tensors."""
def _foreach_sqrt_(self: Sequence[Tensor]) -> Any:
    """``sqrt`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_sub(self: Sequence[Tensor], scalar: _Scalar) -> Any:
    """``sub`` of each tensor of a list: new tensors."""
@overload
def _foreach_sub(self: Sequence[Tensor], scalars: Sequence[_Number]) -> Any:
    """``sub`` of each tensor of a list: new tensors."""
@overload
def _foreach_sub(self: Sequence[Tensor], other: Sequence[Tensor], *, alpha: _Scalar = ...) -> Any:
    """``sub`` of each tensor of a list: new tensors."""
@overload
def _foreach_sub_(self: Sequence[Tensor], scalar: _Scalar) -> Any:
    """``sub`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_sub_(self: Sequence[Tensor], scalars: Sequence[_Number]) -> Any:
    """``sub`` of each tensor of a list: the tensors themselves, written to."""
@overload
def _foreach_sub_(self: Sequence[Tensor], other: Sequence[Tensor], *, alpha: _Scalar = ...) -> Any:
    """``sub`` of each tensor of a list: the tensors themselves, written to."""
def _foreach_tan(self: Sequence[Tensor]) -> Any:
    """``tan`` of each tensor of a list: new tensors."""
def _foreach_tan_(self: Sequence[Tensor]) -> Any:
    """``tan`` of each tensor of a list: the tensors themselves, written to."""
def _foreach_tanh(self: Sequence[Tensor]) -> Any:
    """``tanh`` of each tensor of a list: new tensors."""
def _foreach_tanh_(self: Sequence[Tensor]) -> Any:
    """``tanh`` of each tensor of a list: the tensors themselves, written to."""
def _foreach_trunc(self: Sequence[Tensor]) -> Any:
    """``trunc`` of each tensor of a list: new tensors."""
def _foreach_trunc_(self: Sequence[Tensor]) -> Any:
    """``trunc`` of each tensor of a list: the tensors themselves, written to."""
def _foreach_zero_(self: Sequence[Tensor]) -> list[Tensor]:
    """Write zeros to each tensor of a list."""
def _make_dual(primal: Tensor, tangent: Tensor, level: _int) -> Tensor:
    """``make_dual`` as classes of the user's see it."""
@overload
def _native_batch_norm_legit(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor, running_var: Tensor, training: _bool, momentum: _float | Tensor, eps: _float | Tensor, *, out: Sequence[Tensor] | None = ...) -> tuple[Tensor, Tensor, Tensor]:
    """``native_batch_norm``; without the running statistics: ``(input, weight, bias, training, momentum, eps)``."""
@overload
def _native_batch_norm_legit(input: Tensor, weight: Tensor | None, bias: Tensor | None, training: _bool, momentum: _float | Tensor, eps: _float | Tensor, *, out: Sequence[Tensor] | None = ...) -> tuple[Tensor, Tensor, Tensor]:
    """``native_batch_norm``; without the running statistics: ``(input, weight, bias, training, momentum, eps)``."""
def _native_batch_norm_legit_no_training(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor, running_var: Tensor, momentum: _float | Tensor, eps: _float | Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """``native_batch_norm`` with the running statistics, which stay as they are."""
def _neg_view(input: Tensor) -> Tensor:
    """The negative, as a view of the same memory."""
def _pack_padded_sequence(input: Tensor, lengths: Tensor, batch_first: _bool) -> tuple[Tensor, Tensor]:
    """(steps, batch, ...) packed, and how many sequences there are at each step; ``lengths`` are decreasing."""
def _pad_packed_sequence(data: Tensor, batch_sizes: Tensor, batch_first: _bool, padding_value: _Scalar, total_length: _int) -> tuple[Tensor, Tensor]:
    """Back from what was packed to (steps, batch, ...), ``total_length`` steps if that is not -1; and the lengths."""
def _sample_dirichlet(input: Tensor, generator: Generator | None = ...) -> Tensor:
    """Samples of the Dirichlet distributions whose parameters are the rows of ``input``."""
def _segment_reduce(data: Tensor, reduce: _str, *, lengths: Tensor | None = ..., indices: Tensor | None = ..., offsets: Tensor | None = ..., axis: _int = ..., unsafe: _bool = ..., initial: _Scalar | None = ...) -> Tensor:
    """``segment_reduce``, under its old name."""
def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: _int, input_dtype: _dtype, *, grad_input: Tensor | None = ...) -> Tensor:
    """The gradient of ``softmax``, from that of its result and the result."""
def _standard_gamma(input: Tensor, generator: Generator | None = ...) -> Tensor:
    """Samples of the gamma distributions of shape ``input`` and scale 1; differentiable once."""
def _standard_gamma_grad(input: Tensor, output: Tensor) -> Tensor:
    """How samples ``output`` of gamma distributions move with their shape ``input``."""
def _unique(input: Tensor, sorted: _bool = ..., return_inverse: _bool = ...) -> tuple[Tensor, Tensor]:
    """``unique`` of all elements, and where each is among them: without ``return_inverse`` an empty tensor."""
def _unique2(input: Tensor, sorted: _bool = ..., return_inverse: _bool = ..., return_counts: _bool = ...) -> tuple[Tensor, Tensor, Tensor]:
    """``_unique``, and how often each occurs: without ``return_counts`` an empty tensor."""
def _unpack_dual(dual: Tensor, level: _int) -> tuple[Tensor, Tensor | None]:
    """``unpack_dual`` as classes of the user's see it."""
def _unsafe_masked_index(input: Tensor, mask: Tensor, indices: Sequence[Tensor], fill: _Scalar) -> Tensor:
    """``self[indices]`` where ``mask`` is set, ``fill`` elsewhere; there, indices may be out of range."""
def _unsafe_masked_index_put_accumulate(input: Tensor, mask: Tensor, indices: Sequence[Tensor], values: Tensor) -> Tensor:
    """``self`` with ``values`` added at ``indices`` where ``mask`` is set; elsewhere, indices may be out of range."""
def _weight_norm(v: Tensor, g: Tensor, dim: _int = ...) -> Tensor:
    """``v`` with norms ``g`` instead of its own over all dimensions but ``dim``."""
def abs(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The absolute value; real, of complex numbers too."""
def abs_(input: Tensor) -> Tensor:
    """In-place version of ``abs``."""
def absolute(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The absolute value; real, of complex numbers too."""
def acos(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The inverse cosine."""
def acos_(input: Tensor) -> Tensor:
    """In-place version of ``acos``."""
def acosh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The inverse hyperbolic cosine."""
def acosh_(input: Tensor) -> Tensor:
    """In-place version of ``acosh``."""
def adaptive_avg_pool1d(input: Tensor, output_size: Sequence[_int] | _int) -> Tensor:
    """The mean of each of ``output_size`` windows of (nearly) equal length: floats (batch, channels, length)."""
def adaptive_max_pool1d(input: Tensor, output_size: Sequence[_int] | _int) -> Tensor:
    """``nn.functional.adaptive_max_pool1d``, and the indices in any case."""
def add(input: Tensor | _Number, other: Tensor | _Number, *, alpha: _Scalar = ..., out: Tensor | _Number | None = ...) -> Tensor:
    """``input + alpha * other``, broadcast; either may be a number."""
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _Scalar = ..., alpha: _Scalar = ..., out: Tensor | None = ...) -> Tensor:
    """``beta * input + alpha * sum(batch1 @ batch2)``, the sum over the batch."""
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _Scalar = ..., out: Tensor | None = ...) -> Tensor:
    """``input + value * tensor1 / tensor2``, broadcast, for a number ``value``."""
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _Scalar = ..., out: Tensor | None = ...) -> Tensor:
    """``input + value * tensor1 * tensor2``, broadcast, for a number ``value``."""
@overload
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: _Scalar = ..., alpha: _Scalar = ..., out: Tensor | None = ...) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)``; where ``beta`` is 0, ``input`` is not read."""
@overload
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, out_dtype: _dtype, *, beta: _Scalar = ..., alpha: _Scalar = ..., out: Tensor | None = ...) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)``; where ``beta`` is 0, ``input`` is not read."""
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: _Scalar = ..., alpha: _Scalar = ..., out: Tensor | None = ...) -> Tensor:
    """``beta * input + alpha * (mat @ vec)``."""
def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *, beta: _Scalar = ..., alpha: _Scalar = ...) -> Tensor:
    """In-place version of ``addmv``."""
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: _Scalar = ..., alpha: _Scalar = ..., out: Tensor | None = ...) -> Tensor:
    """``beta * input + alpha * outer(vec1, vec2)``."""
def adjoint(input: Tensor) -> Tensor:
    """The conjugate transposes of matrices in the last two dimensions."""
def affine_grid_generator(theta: Tensor, size: Sequence[_int], align_corners: _bool) -> Tensor:
    """See ``torch.nn.functional.affine_grid``."""
def alias_copy(input: Tensor, *, out: Tensor | None = ...) -> Any:
    """What ``<lambda>`` shows, as a tensor of its own; it takes and raises what ``<lambda>`` does."""
@overload
def all(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Whether all elements, or all over ``dim``, are nonzero: bool, but uint8 of uint8. ``dim=()`` reduces nothing."""
@overload
def all(input: Tensor, dim: Sequence[_int] | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Whether all elements, or all over ``dim``, are nonzero: bool, but uint8 of uint8. ``dim=()`` reduces nothing."""
@overload
def all(input: Tensor, dim: _int, keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Whether all elements, or all over ``dim``, are nonzero: bool, but uint8 of uint8. ``dim=()`` reduces nothing."""
def allclose(input: Tensor, other: Tensor, rtol: _float | Tensor = ..., atol: _float | Tensor = ..., equal_nan: _bool = ...) -> _bool:
    """Whether ``isclose`` holds everywhere. Waits for the data."""
def alpha_dropout(input: Tensor, p: _float | Tensor, train: _bool) -> Tensor:
    """``nn.functional.alpha_dropout``."""
def alpha_dropout_(input: Tensor, p: _float | Tensor, train: _bool) -> Tensor:
    """``nn.functional.alpha_dropout`` with ``inplace=True``; ``train`` is whether any element is dropped."""
def amax(input: Tensor, dim: Sequence[_int] | _int | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The largest elements over ``dim`` (all if it is empty); equal ones share the gradient."""
def amin(input: Tensor, dim: Sequence[_int] | _int | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The smallest elements over ``dim`` (all if it is empty); equal ones share the gradient."""
def aminmax(input: Tensor, *, dim: _int | None = ..., keepdim: _bool = ..., out: Sequence[Tensor] | None = ...) -> return_types.aminmax:
    """The smallest and the largest elements, of all or over ``dim``: a named tuple ``(min, max)``."""
def angle(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The angle of a complex number; of a real one 0 or pi, or nan."""
@overload
def any(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Whether any element, or any over ``dim``, is nonzero: bool, but uint8 of uint8. ``dim=()`` reduces nothing."""
@overload
def any(input: Tensor, dim: Sequence[_int] | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Whether any element, or any over ``dim``, is nonzero: bool, but uint8 of uint8. ``dim=()`` reduces nothing."""
@overload
def any(input: Tensor, dim: _int, keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Whether any element, or any over ``dim``, is nonzero: bool, but uint8 of uint8. ``dim=()`` reduces nothing."""
@overload
def arange(end: _Scalar, *, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """``arange(end)``, ``arange(start, end, step=1)``: the numbers from ``start`` up to, not including, ``end``."""
@overload
def arange(start: _Scalar, end: _Scalar, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """``arange(end)``, ``arange(start, end, step=1)``: the numbers from ``start`` up to, not including, ``end``."""
@overload
def arange(start: _Scalar, end: _Scalar, step: _Scalar = ..., *, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """``arange(end)``, ``arange(start, end, step=1)``: the numbers from ``start`` up to, not including, ``end``."""
def arccos(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The inverse cosine."""
def arccos_(input: Tensor) -> Tensor:
    """In-place version of ``arccos``."""
def arccosh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The inverse hyperbolic cosine."""
def arccosh_(input: Tensor) -> Tensor:
    """In-place version of ``arccosh``."""
def arcsin(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The inverse sine."""
def arcsin_(input: Tensor) -> Tensor:
    """In-place version of ``arcsin``."""
def arcsinh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The inverse hyperbolic sine."""
def arcsinh_(input: Tensor) -> Tensor:
    """In-place version of ``arcsinh``."""
def arctan(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The inverse tangent."""
def arctan2(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The angle of the point with ordinate ``x`` and abscissa ``y``."""
def arctan_(input: Tensor) -> Tensor:
    """In-place version of ``arctan``."""
def arctanh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The inverse hyperbolic tangent."""
def arctanh_(input: Tensor) -> Tensor:
    """In-place version of ``arctanh``."""
def are_deterministic_algorithms_enabled() -> _bool:
    """Whether ``use_deterministic_algorithms`` was switched on."""
def argmax(input: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The index (int64) of the first largest element over ``dim``, or in the flattened tensor; nan is the largest."""
def argmin(input: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The index (int64) of the first smallest element over ``dim``, or in the flattened tensor; nan is the smallest."""
@overload
def argsort(input: Tensor, *, stable: _bool, dim: _int = ..., descending: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The indices (int64) that sort ``input`` along ``dim``; equal elements keep their order."""
@overload
def argsort(input: Tensor, dim: _int = ..., descending: _bool = ...) -> Tensor:
    """The indices (int64) that sort ``input`` along ``dim``; equal elements keep their order."""
def argwhere(input: Tensor) -> Tensor:
    """The indices of the elements that are not zero: int64 of shape (number, ndim)."""
def as_strided(input: Tensor, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | Tensor | None = ...) -> Tensor:
    """The view of a tensor's memory with this shape, strides and offset, whatever part of it the tensor itself shows."""
def as_strided_(input: Tensor, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | Tensor | None = ...) -> Tensor:
    """``as_strided`` in place: from now on the tensor shows that part of its memory."""
def as_strided_copy(input: Tensor, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """What ``as_strided`` shows, as a tensor of its own; it takes and raises what ``as_strided`` does."""
def as_strided_scatter(input: Tensor, src: Tensor, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | Tensor | None = ...) -> Tensor:
    """A copy of ``input`` with ``src`` in place of what ``as_strided`` shows."""
def as_tensor(data: Any, *, dtype: _dtype | None = ..., device: _device | _str | _int | None = ...) -> Tensor:
    """``data`` as a tensor: itself if it is one of this dtype and device, else like ``tensor``."""
def asarray(obj: Any, *, dtype: _dtype | None = ..., device: _device | _str | _int | None = ..., copy: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """``obj`` as a tensor, as the array API has it."""
def asin(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The inverse sine."""
def asin_(input: Tensor) -> Tensor:
    """In-place version of ``asin``."""
def asinh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The inverse hyperbolic sine."""
def asinh_(input: Tensor) -> Tensor:
    """In-place version of ``asinh``."""
def atan(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The inverse tangent."""
def atan2(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The angle of the point with ordinate ``x`` and abscissa ``y``."""
def atan_(input: Tensor) -> Tensor:
    """In-place version of ``atan``."""
def atanh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The inverse hyperbolic tangent."""
def atanh_(input: Tensor) -> Tensor:
    """In-place version of ``atanh``."""
def atleast_1d(*tensors: Any) -> Any:
    """Tensors with at least one dimension."""
def atleast_2d(*tensors: Any) -> Any:
    """Tensors with at least two dimensions, new ones in front."""
def atleast_3d(*tensors: Any) -> Any:
    """Tensors with at least three dimensions: vectors become (1, N, 1), matrices (M, N, 1)."""
def avg_pool1d(input: Tensor, kernel_size: Sequence[_int] | _int, stride: Sequence[_int] | _int | None = ..., padding: Sequence[_int] | _int = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ...) -> Tensor:
    """The mean of each window of ``input``: (batch, channels, length), or (channels, length)."""
@overload
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _Scalar = ..., alpha: _Scalar = ..., out: Tensor | None = ...) -> Tensor:
    """``beta * input + alpha * (batch1 @ batch2)``, of batches of matrices."""
@overload
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, out_dtype: _dtype, *, beta: _Scalar = ..., alpha: _Scalar = ..., out: Tensor | None = ...) -> Tensor:
    """``beta * input + alpha * (batch1 @ batch2)``, of batches of matrices."""
@overload
def bartlett_window(window_length: _int, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """A window: ``bartlett_window(window_length, periodic=True)``, a vector."""
@overload
def bartlett_window(window_length: _int, periodic: _bool, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """A window: ``bartlett_window(window_length, periodic=True)``, a vector."""
def batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, training: _bool, momentum: _float | Tensor, eps: _float | Tensor, cudnn_enabled: _bool) -> Tensor:
    """See ``torch.nn.functional.batch_norm``."""
@overload
def bernoulli(input: Tensor, *, generator: Generator | None = ..., out: Tensor | None = ...) -> Tensor:
    """1 with the probability that ``input`` has there, else 0; with a number ``p``, that probability everywhere."""
@overload
def bernoulli(input: Tensor, p: _float | Tensor, *, generator: Generator | None = ...) -> Tensor:
    """1 with the probability that ``input`` has there, else 0; with a number ``p``, that probability everywhere."""
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = ...) -> Tensor:
    """``input1 @ weight[o] @ input2 + bias[o]`` for each output o, with a weight (out, in1, in2)."""
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = ..., pos_weight: Tensor | None = ..., reduction: _int = ...) -> Tensor:
    """``nn.functional.binary_cross_entropy_with_logits``, with the reduction as a number (``named``)."""
def bincount(input: Tensor, weights: Tensor | None = ..., minlength: _int | Tensor = ...) -> Tensor:
    """How often each number occurs in a 1-dimensional tensor of integers that are not negative, or the sums of its"""
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = ...) -> Tensor:
    """The number of successes in ``count`` trials of probability ``prob``, broadcast; of their dtype."""
@overload
def bitwise_and(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The bits set in both. Broadcast; either may be a number."""
@overload
def bitwise_and(self: _Scalar, other: Tensor) -> Tensor:
    """The bits set in both. Broadcast; either may be a number."""
@overload
def bitwise_and(input: Tensor, other: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """The bits set in both. Broadcast; either may be a number."""
@overload
def bitwise_left_shift(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``x << y``; 0 if shifted by more bits than there are, or by a negative number. Broadcast; either may be a number."""
@overload
def bitwise_left_shift(self: _Scalar, other: Tensor) -> Tensor:
    """``x << y``; 0 if shifted by more bits than there are, or by a negative number. Broadcast; either may be a number."""
@overload
def bitwise_left_shift(input: Tensor, other: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """``x << y``; 0 if shifted by more bits than there are, or by a negative number. Broadcast; either may be a number."""
def bitwise_not(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """All bits flipped; of booleans, "not"."""
@overload
def bitwise_or(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The bits set in either. Broadcast; either may be a number."""
@overload
def bitwise_or(self: _Scalar, other: Tensor) -> Tensor:
    """The bits set in either. Broadcast; either may be a number."""
@overload
def bitwise_or(input: Tensor, other: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """The bits set in either. Broadcast; either may be a number."""
@overload
def bitwise_right_shift(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``x >> y``, keeping the sign; an impossible number of bits shifts all out. Broadcast; either may be a number."""
@overload
def bitwise_right_shift(self: _Scalar, other: Tensor) -> Tensor:
    """``x >> y``, keeping the sign; an impossible number of bits shifts all out. Broadcast; either may be a number."""
@overload
def bitwise_right_shift(input: Tensor, other: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """``x >> y``, keeping the sign; an impossible number of bits shifts all out. Broadcast; either may be a number."""
@overload
def bitwise_xor(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The bits set in one only. Broadcast; either may be a number."""
@overload
def bitwise_xor(self: _Scalar, other: Tensor) -> Tensor:
    """The bits set in one only. Broadcast; either may be a number."""
@overload
def bitwise_xor(input: Tensor, other: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """The bits set in one only. Broadcast; either may be a number."""
@overload
def blackman_window(window_length: _int, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """A window: ``blackman_window(window_length, periodic=True)``, a vector."""
@overload
def blackman_window(window_length: _int, periodic: _bool, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """A window: ``blackman_window(window_length, periodic=True)``, a vector."""
def block_diag(*tensors: Any) -> Tensor:
    """Matrices along the diagonal of a large one; vectors are rows."""
@overload
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The products of two batches of matrices, (b, n, k) and (b, k, m); the batches don't broadcast."""
@overload
def bmm(input: Tensor, mat2: Tensor, out_dtype: _dtype, *, out: Tensor | None = ...) -> Tensor:
    """The products of two batches of matrices, (b, n, k) and (b, k, m); the batches don't broadcast."""
def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that tensors of these shapes broadcast to; an int stands for one length."""
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors, all broadcast to their common shape."""
def broadcast_to(input: Tensor, size: Sequence[_int]) -> Tensor:
    """``input`` broadcast to a shape."""
@overload
def bucketize(input: Tensor, boundaries: Tensor, *, out_int32: _bool = ..., right: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The number of the interval between ``boundaries`` (ascending) in which each number lies; see ``searchsorted``."""
@overload
def bucketize(self: _Scalar, boundaries: Tensor, *, out_int32: _bool = ..., right: _bool = ...) -> Tensor:
    """The number of the interval between ``boundaries`` (ascending) in which each number lies; see ``searchsorted``."""
def cartesian_prod(*tensors: Any) -> Tensor:
    """All tuples of one element of each vector, in order: (n1 * n2 ..., number of vectors). Of one vector, that vector."""
def cat(tensors: Sequence[Tensor], dim: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Tensors one after another along a dimension; dtypes are promoted, tensors of shape (0,) don't count."""
def cdist(x1: Tensor, x2: Tensor, p: _float = ..., compute_mode: _str = ...) -> Tensor:
    """The ``p``-norms of the differences of all rows of ``x1`` (..., m, k) and ``x2`` (..., n, k): (..., m, n)."""
def ceil(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The next whole number above."""
def ceil_(input: Tensor) -> Tensor:
    """In-place version of ``ceil``."""
def celu(input: Tensor, alpha: _Scalar = ...) -> Tensor:
    """``input`` where positive, else ``alpha * (exp(input / alpha) - 1)``."""
def celu_(input: Tensor, alpha: _Scalar = ...) -> Tensor:
    """In-place version of ``celu``, with the same arguments."""
def chain_matmul(*matrices: Any) -> Tensor:
    """The product of matrices in the order that multiplies least; of one matrix, that matrix."""
def channel_shuffle(input: Tensor, groups: _int | Tensor) -> Tensor:
    """``input`` (N, C, ...) with the channels of ``groups`` groups dealt out in turn."""
channels_last: _memory_format
channels_last_3d: _memory_format
def cholesky(input: Tensor, upper: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """``linalg.cholesky`` under its older name, deprecated."""
def cholesky_inverse(input: Tensor, upper: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The inverses of matrices whose Cholesky factors are given."""
def cholesky_solve(input: Tensor, input2: Tensor, upper: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The solutions of equations ``A @ out = input`` where the Cholesky factors ``input2`` of A are given."""
def chunk(input: Tensor, chunks: _int, dim: _int = ...) -> tuple[Tensor, ...]:
    """A dimension in at most so many pieces of equal length (the last may be shorter)."""
@overload
def clamp(input: Tensor, min: Tensor | None = ..., max: Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """``input`` limited to ``[min, max]``, two numbers or two tensors, either of them None; ``max`` if they contradict."""
@overload
def clamp(input: Tensor, min: _Scalar | None = ..., max: _Scalar | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """``input`` limited to ``[min, max]``, two numbers or two tensors, either of them None; ``max`` if they contradict."""
@overload
def clamp_(input: Tensor, min: Tensor | None = ..., max: Tensor | None = ...) -> Tensor:
    """In-place version of ``clamp``."""
@overload
def clamp_(input: Tensor, min: _Scalar | None = ..., max: _Scalar | None = ...) -> Tensor:
    """In-place version of ``clamp``."""
@overload
def clamp_max(input: Tensor, max: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The smaller of ``input`` and ``max``, a number or a tensor; a tie's gradient goes to ``input``."""
@overload
def clamp_max(input: Tensor, max: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """The smaller of ``input`` and ``max``, a number or a tensor; a tie's gradient goes to ``input``."""
@overload
def clamp_max_(input: Tensor, max: Tensor) -> Tensor:
    """In-place version of ``clamp_max``."""
@overload
def clamp_max_(input: Tensor, max: _Scalar) -> Tensor:
    """In-place version of ``clamp_max``."""
@overload
def clamp_min(input: Tensor, min: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The greater of ``input`` and ``min``, a number or a tensor; a tie's gradient goes to ``input``."""
@overload
def clamp_min(input: Tensor, min: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """The greater of ``input`` and ``min``, a number or a tensor; a tie's gradient goes to ``input``."""
@overload
def clamp_min_(input: Tensor, min: Tensor) -> Tensor:
    """In-place version of ``clamp_min``."""
@overload
def clamp_min_(input: Tensor, min: _Scalar) -> Tensor:
    """In-place version of ``clamp_min``."""
@overload
def clip(input: Tensor, min: Tensor | None = ..., max: Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """``input`` limited to ``[min, max]``, two numbers or two tensors, either of them None; ``max`` if they contradict."""
@overload
def clip(input: Tensor, min: _Scalar | None = ..., max: _Scalar | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """``input`` limited to ``[min, max]``, two numbers or two tensors, either of them None; ``max`` if they contradict."""
@overload
def clip_(input: Tensor, min: Tensor | None = ..., max: Tensor | None = ...) -> Tensor:
    """In-place version of ``clip``."""
@overload
def clip_(input: Tensor, min: _Scalar | None = ..., max: _Scalar | None = ...) -> Tensor:
    """In-place version of ``clip``."""
def clone(input: Tensor, *, memory_format: _memory_format | None = ...) -> Tensor:
    """A copy, with gradients flowing back to ``input``; its elements lie as those of ``input``, if no format is given."""
def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Tensors side by side; vectors are columns."""
def combinations(input: Tensor, r: _int = ..., with_replacement: _bool = ...) -> Tensor:
    """All subsets of ``r`` elements of a vector, in order: (number of subsets, r); or multisets."""
def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The complex tensor of these parts, broadcast together."""
def concat(tensors: Sequence[Tensor], dim: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Tensors one after another along a dimension; dtypes are promoted, tensors of shape (0,) don't count."""
def concatenate(tensors: Sequence[Tensor], dim: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Tensors one after another along a dimension; dtypes are promoted, tensors of shape (0,) don't count."""
def conj(input: Tensor) -> Tensor:
    """The complex conjugate, as a view of the same memory; of a real tensor, the tensor itself."""
def conj_physical(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The complex conjugate; of a real tensor, the tensor itself."""
def conj_physical_(input: Tensor) -> Tensor:
    """Replace the elements by their complex conjugates."""
def constant_pad_nd(input: Tensor, pad: Sequence[_int], value: _Scalar = ...) -> Tensor:
    """``nn.functional.pad`` with a constant."""
contiguous_format: _memory_format
@overload
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Sequence[_int] | _int = ..., padding: Sequence[_int] | _int = ..., dilation: Sequence[_int] | _int = ..., groups: _int | Tensor = ...) -> Tensor:
    """The cross-correlation of (batch, in, length), or (in, length), with a weight (out, in / groups, kernel)."""
@overload
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Sequence[_int] | _int = ..., padding: _str = ..., dilation: Sequence[_int] | _int = ..., groups: _int | Tensor = ...) -> Tensor:
    """The cross-correlation of (batch, in, length), or (in, length), with a weight (out, in / groups, kernel)."""
@overload
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Sequence[_int] | _int = ..., padding: Sequence[_int] | _int = ..., dilation: Sequence[_int] | _int = ..., groups: _int | Tensor = ...) -> Tensor:
    """The cross-correlation of (batch, in, height, width) with a weight (out, in / groups, *kernel). See ``conv1d``."""
@overload
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Sequence[_int] | _int = ..., padding: _str = ..., dilation: Sequence[_int] | _int = ..., groups: _int | Tensor = ...) -> Tensor:
    """The cross-correlation of (batch, in, height, width) with a weight (out, in / groups, *kernel). See ``conv1d``."""
@overload
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Sequence[_int] | _int = ..., padding: Sequence[_int] | _int = ..., dilation: Sequence[_int] | _int = ..., groups: _int | Tensor = ...) -> Tensor:
    """The cross-correlation of (batch, in, depth, height, width) with a weight (out, in / groups, *kernel). See"""
@overload
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Sequence[_int] | _int = ..., padding: _str = ..., dilation: Sequence[_int] | _int = ..., groups: _int | Tensor = ...) -> Tensor:
    """The cross-correlation of (batch, in, depth, height, width) with a weight (out, in / groups, *kernel). See"""
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: _int | Tensor = ...) -> Tensor:
    """``conv1d`` with the dimensions in another order."""
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Sequence[_int] | _int = ..., padding: Sequence[_int] | _int = ..., output_padding: Sequence[_int] | _int = ..., groups: _int | Tensor = ..., dilation: Sequence[_int] | _int = ...) -> Tensor:
    """The transpose of ``conv1d``: what takes its outputs' gradients to its input's."""
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Sequence[_int] | _int = ..., padding: Sequence[_int] | _int = ..., output_padding: Sequence[_int] | _int = ..., groups: _int | Tensor = ..., dilation: Sequence[_int] | _int = ...) -> Tensor:
    """The transpose of ``conv2d``: ``input`` (batch, in, height, width), with a weight (in, out / groups, *kernel)."""
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Sequence[_int] | _int = ..., padding: Sequence[_int] | _int = ..., output_padding: Sequence[_int] | _int = ..., groups: _int | Tensor = ..., dilation: Sequence[_int] | _int = ...) -> Tensor:
    """The transpose of ``conv3d``: ``input`` (batch, in, depth, height, width), a weight (in, out / groups, *kernel)."""
@overload
def copysign(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``input`` with the sign of ``other``, a tensor or a number; integers become floats."""
@overload
def copysign(input: Tensor, other: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """``input`` with the sign of ``other``, a tensor or a number; integers become floats."""
def corrcoef(input: Tensor) -> Tensor:
    """The correlation coefficients of variables, the rows of ``input`` (n, observations): (n, n), between -1 and 1."""
def cos(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The cosine, of radians."""
def cos_(input: Tensor) -> Tensor:
    """In-place version of ``cos``."""
def cosh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The hyperbolic cosine."""
def cosh_(input: Tensor) -> Tensor:
    """In-place version of ``cosh``."""
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float | Tensor = ..., reduction: _int = ...) -> Tensor:
    """``nn.functional.cosine_embedding_loss``, with the reduction as a number (``named``)."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: _int = ..., eps: _float | Tensor = ...) -> Tensor:
    """The inner product of ``x1`` and ``x2`` along ``dim``, over both norms (each at least ``eps``)."""
@overload
def count_nonzero(input: Tensor, dim: _int | None = ...) -> Tensor:
    """How many elements are not zero, of all or over ``dim``; int64."""
@overload
def count_nonzero(input: Tensor, dim: Sequence[_int]) -> Tensor:
    """How many elements are not zero, of all or over ``dim``; int64."""
def cov(input: Tensor, *, correction: _int = ..., fweights: Tensor | None = ..., aweights: Tensor | None = ...) -> Tensor:
    """The covariances of variables, the rows of ``input`` (n, observations): (n, n); of a vector, its variance."""
def cross(input: Tensor, other: Tensor, dim: _int | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The cross product along ``dim``, or along the first dimension of length 3."""
@overload
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Sequence[_int], target_lengths: Sequence[_int], blank: _int = ..., reduction: _int = ..., zero_infinity: _bool = ...) -> Tensor:
    """See ``torch.nn.functional.ctc_loss``; ``reduction`` is 0 (which PyTorch takes without one, whatever its"""
@overload
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: _int = ..., reduction: _int = ..., zero_infinity: _bool = ...) -> Tensor:
    """See ``torch.nn.functional.ctc_loss``; ``reduction`` is 0 (which PyTorch takes without one, whatever its"""
def cummax(input: Tensor, dim: _int, *, out: Sequence[Tensor] | None = ...) -> return_types.cummax:
    """The largest elements so far along ``dim``: a named tuple of ``values`` and ``indices``, the latest of equals."""
def cummin(input: Tensor, dim: _int, *, out: Sequence[Tensor] | None = ...) -> return_types.cummin:
    """The smallest elements so far along ``dim``: a named tuple of ``values`` and ``indices``, the latest of equals."""
def cumprod(input: Tensor, dim: _int, *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """The products of all elements up to each along ``dim``; of booleans and integers in int64 without a ``dtype``."""
def cumsum(input: Tensor, dim: _int, *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """The sums of all elements up to each along ``dim``; of booleans and integers in int64 without a ``dtype``."""
@overload
def cumulative_trapezoid(y: Tensor, x: Tensor, *, dim: _int = ...) -> Tensor:
    """The integrals of ``y`` along ``dim`` up to each point but the first: see ``trapezoid``."""
@overload
def cumulative_trapezoid(y: Tensor, *, dx: _Scalar = ..., dim: _int = ...) -> Tensor:
    """The integrals of ``y`` along ``dim`` up to each point but the first: see ``trapezoid``."""
default_generator: Generator
def deg2rad(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Degrees as radians."""
def deg2rad_(input: Tensor) -> Tensor:
    """In-place version of ``deg2rad``."""
def det(input: Tensor) -> Tensor:
    """The determinants of square matrices (..., n, n)."""
def detach(input: Tensor) -> Tensor:
    """The same data as a leaf that does not require grad; a write to one is seen on the other, and counted."""
def detach_(input: Tensor) -> Tensor:
    """Make this tensor a leaf that does not require grad. In inference mode it does nothing, as PyTorch's."""
def detach_copy(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """What ``detach`` shows, as a tensor of its own; it takes and raises what ``detach`` does."""
def diag(input: Tensor, diagonal: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """A matrix's diagonal, or the matrix that has a vector on its diagonal; a new tensor."""
def diag_embed(input: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
    """Matrices in dimensions ``dim1`` and ``dim2`` of the result that have the last dimension on a diagonal."""
def diagflat(input: Tensor, offset: _int = ...) -> Tensor:
    """The matrix that has all elements on a diagonal."""
def diagonal(input: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
    """A diagonal of the matrices in dimensions ``dim1`` and ``dim2``, as the last dimension."""
def diagonal_copy(input: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """What ``diagonal`` shows, as a tensor of its own; it takes and raises what ``diagonal`` does."""
def diagonal_scatter(input: Tensor, src: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
    """``input`` with ``src`` on a diagonal, as a new tensor."""
def diff(input: Tensor, n: _int = ..., dim: _int = ..., prepend: Tensor | None = ..., append: Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The differences of neighbours along ``dim``, ``n`` times over; "different from" for booleans."""
def digamma(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The derivative of ``lgamma``."""
def dist(input: Tensor, other: Tensor, p: _Scalar = ...) -> Tensor:
    """The ``p``-norm of all of ``input - other``, which are broadcast."""
@overload
def div(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | _Number | None = ...) -> Tensor:
    """``input / other``, broadcast; either may be a number."""
@overload
def div(input: Tensor | _Number, other: Tensor | _Number, *, rounding_mode: _str | None, out: Tensor | _Number | None = ...) -> Tensor:
    """``input / other``, broadcast; either may be a number."""
@overload
def div(input: Tensor | _Number, other: _Scalar, *, rounding_mode: _str | None) -> Tensor:
    """``input / other``, broadcast; either may be a number."""
@overload
def divide(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | _Number | None = ...) -> Tensor:
    """``input / other``, broadcast; either may be a number."""
@overload
def divide(input: Tensor | _Number, other: Tensor | _Number, *, rounding_mode: _str | None, out: Tensor | _Number | None = ...) -> Tensor:
    """``input / other``, broadcast; either may be a number."""
@overload
def divide(input: Tensor | _Number, other: _Scalar) -> Tensor:
    """``input / other``, broadcast; either may be a number."""
@overload
def divide(input: Tensor | _Number, other: _Scalar, *, rounding_mode: _str | None) -> Tensor:
    """``input / other``, broadcast; either may be a number."""
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The sum of the products of two vectors' elements; complex ones are not conjugated."""
def dropout(input: Tensor, p: _float | Tensor, train: _bool) -> Tensor:
    """See ``torch.nn.functional.dropout``."""
def dropout_(input: Tensor, p: _float | Tensor, train: _bool) -> Tensor:
    """``nn.functional.dropout`` with ``inplace=True``; ``train`` is whether any element is dropped."""
@overload
def dsplit(input: Tensor, sections: _int) -> tuple[Tensor, ...]:
    """Pieces along dimension 2."""
@overload
def dsplit(input: Tensor, indices: Sequence[_int]) -> tuple[Tensor, ...]:
    """Pieces along dimension 2."""
def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Tensors one behind the other, along dimension 2."""
def einsum(*args: Any) -> Tensor:
    """Sums of products, by an equation such as ``"bij,bjk->bik"``, or by operands and lists of numbers in turn."""
def embedding(weight: Tensor, indices: Tensor, padding_idx: _int | Tensor = ..., scale_grad_by_freq: _bool = ..., sparse: _bool = ...) -> Tensor:
    """See ``torch.nn.functional.embedding``; a negative ``padding_idx`` means none."""
@overload
def embedding_bag(weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: _bool, mode: _int, sparse: _bool, per_sample_weights: Tensor | None, include_last_offset: _bool, padding_idx: _int | None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """See ``torch.nn.functional.embedding_bag``; ``mode`` is 0 for sums, 1 for means, 2 for the greatest."""
@overload
def embedding_bag(weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: _bool = ..., mode: _int = ..., sparse: _bool = ..., per_sample_weights: Tensor | None = ..., include_last_offset: _bool = ...) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """See ``torch.nn.functional.embedding_bag``; ``mode`` is 0 for sums, 1 for means, 2 for the greatest."""
def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: _float | Tensor, norm_type: _float | Tensor) -> Tensor:
    """Scale down those rows of ``input`` that ``indices`` name and whose norm is larger than ``max_norm``, in place."""
@overload
def empty(size: Sequence[_int], *, memory_format: _memory_format | None = ..., out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """A tensor of a size whose elements are to be written yet. Here they are zeros."""
@overload
def empty(*size: _int, memory_format: _memory_format | None = ..., out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """A tensor of a size whose elements are to be written yet. Here they are zeros."""
def empty_like(input: Tensor, *, memory_format: _memory_format | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """A tensor to be written yet, of the size, dtype and device of ``input``; here zeros."""
def empty_permuted(size: Sequence[_int], physical_layout: Sequence[_int], *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """A tensor to be written yet, whose dimensions lie in memory in an order that is given, the outermost first."""
def empty_strided(size: Sequence[_int], stride: Sequence[_int], *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """A tensor of a size whose elements lie in memory as strides say, to be written yet. Here they are zeros."""
@overload
def eq(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Whether equal; never, if nan. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
@overload
def eq(input: Tensor, other: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """Whether equal; never, if nan. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
def equal(input: Tensor, other: Tensor) -> _bool:
    """Whether two tensors have the same shape and equal elements. Waits for the data."""
def erf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The error function."""
def erf_(input: Tensor) -> Tensor:
    """In-place version of ``erf``."""
def erfc(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``1 - erf(x)``, accurate far to the right."""
def erfc_(input: Tensor) -> Tensor:
    """In-place version of ``erfc``."""
def erfinv(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The inverse error function; in float64 with a step of Newton's, which XLA's needs close to 1."""
def exp(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``e ** x``."""
def exp2(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``2 ** x``."""
def exp2_(input: Tensor) -> Tensor:
    """In-place version of ``exp2``."""
def exp_(input: Tensor) -> Tensor:
    """In-place version of ``exp``."""
def expand_copy(input: Tensor, size: Sequence[_int], *, implicit: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """What ``expand`` shows, as a tensor of its own; it takes and raises what ``expand`` does."""
def expm1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``e ** x - 1``, accurate near 0."""
def expm1_(input: Tensor) -> Tensor:
    """In-place version of ``expm1``."""
@overload
def eye(n: _int | Tensor, *, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """The matrix of ``n`` rows and ``m`` columns (``n`` if not given) with ones on its diagonal."""
@overload
def eye(n: _int | Tensor, m: _int | Tensor, *, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """The matrix of ``n`` rows and ``m`` columns (``n`` if not given) with ones on its diagonal."""
def fake_quantize_per_channel_affine(input: Tensor, scale: Tensor, zero_point: Tensor, axis: _int, quant_min: _int, quant_max: _int) -> Tensor:
    """As ``fake_quantize_per_tensor_affine``, with a scale and a zero point for each channel."""
@overload
def fake_quantize_per_tensor_affine(input: Tensor, scale: Tensor, zero_point: Tensor, quant_min: _int, quant_max: _int) -> Tensor:
    """The numbers that integers between two bounds stand for, the nearest ones; the gradient passes where they do."""
@overload
def fake_quantize_per_tensor_affine(input: Tensor, scale: _float | Tensor, zero_point: _int, quant_min: _int, quant_max: _int) -> Tensor:
    """The numbers that integers between two bounds stand for, the nearest ones; the gradient passes where they do."""
def feature_alpha_dropout(input: Tensor, p: _float | Tensor, train: _bool) -> Tensor:
    """``nn.functional.feature_alpha_dropout``."""
def feature_alpha_dropout_(input: Tensor, p: _float | Tensor, train: _bool) -> Tensor:
    """``nn.functional.feature_alpha_dropout`` with ``inplace=True``; ``train`` is whether any element is dropped."""
def feature_dropout(input: Tensor, p: _float | Tensor, train: _bool) -> Tensor:
    """The input with whole channels (slices of the first two dimensions) set to 0 with probability ``p``."""
def feature_dropout_(input: Tensor, p: _float | Tensor, train: _bool) -> Tensor:
    """``feature_dropout`` in place."""
@overload
def fill(input: Tensor, value: Tensor) -> Tensor:
    """A tensor like ``input`` whose every element is ``value``, a number or a 0-dim tensor."""
@overload
def fill(input: Tensor, value: _Scalar) -> Tensor:
    """A tensor like ``input`` whose every element is ``value``, a number or a 0-dim tensor."""
@overload
def fill_(input: Tensor, value: Tensor) -> Tensor:
    """Replace every element by ``value``, a number or a 0-dim tensor."""
@overload
def fill_(input: Tensor, value: _Scalar) -> Tensor:
    """Replace every element by ``value``, a number or a 0-dim tensor."""
def fix(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The next whole number towards 0."""
def fix_(input: Tensor) -> Tensor:
    """In-place version of ``fix``."""
def flatten(input: Tensor, start_dim: _int = ..., end_dim: _int = ...) -> Tensor:
    """The dimensions from ``start_dim`` to ``end_dim`` as one; a 0-dim tensor gets one dimension."""
def flip(input: Tensor, dims: Sequence[_int]) -> Tensor:
    """``input`` with the order of the items of some dimensions reversed."""
def fliplr(input: Tensor) -> Tensor:
    """``input`` with its columns (dimension 1) reversed."""
def flipud(input: Tensor) -> Tensor:
    """``input`` with its rows (dimension 0) reversed."""
@overload
def float_power(input: Tensor, exponent: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``input ** exponent`` in float64, or complex128 if either operand is complex."""
@overload
def float_power(self: _Scalar, exponent: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``input ** exponent`` in float64, or complex128 if either operand is complex."""
@overload
def float_power(input: Tensor, exponent: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """``input ** exponent`` in float64, or complex128 if either operand is complex."""
def floor(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The next whole number below."""
def floor_(input: Tensor) -> Tensor:
    """In-place version of ``floor``."""
@overload
def floor_divide(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | _Number | None = ...) -> Tensor:
    """``input // other``, broadcast. Not differentiable: ``div(..., rounding_mode="floor")`` is, with gradient 0."""
@overload
def floor_divide(input: Tensor | _Number, other: _Scalar) -> Tensor:
    """``input // other``, broadcast. Not differentiable: ``div(..., rounding_mode="floor")`` is, with gradient 0."""
def fmax(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The greater of two, the other one if one is nan; a tie's gradient goes to ``x``."""
def fmin(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The smaller of two, the other one if one is nan; a tie's gradient goes to ``x``."""
@overload
def fmod(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The remainder of ``input / other``, with the sign of ``input``."""
@overload
def fmod(input: Tensor, other: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """The remainder of ``input / other``, with the sign of ``input``."""
def frac(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``x - trunc(x)``."""
def frac_(input: Tensor) -> Tensor:
    """In-place version of ``frac``."""
def frexp(input: Tensor, *, out: Sequence[Tensor] | None = ...) -> return_types.frexp:
    """``input`` as ``mantissa * 2 ** exponent``: a named tuple. The exponent is int32, and 0 of inf and nan."""
def from_dlpack(ext_tensor: Any, *, device: Any = ..., copy: _bool | None = ...) -> Tensor:
    """The data of another library's array, shared with it unless ``copy`` is True: writes are seen on both sides."""
def from_file(filename: _str, shared: _bool | None = ..., size: _int | None = ..., *, dtype: _dtype | None = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """The 1-dim tensor of the first ``size`` elements of a file."""
def from_numpy(ndarray: Any) -> Tensor:
    """The tensor on the memory of a NumPy array: writes to one side are seen on the other, and count no version."""
def frombuffer(buffer: Any, *, dtype: _dtype, count: _int = ..., offset: _int = ..., requires_grad: _bool = ...) -> Tensor:
    """The 1-dim tensor of ``count`` elements (-1: all) found in a buffer after ``offset`` bytes, on its memory."""
def full(size: Sequence[_int], fill_value: _Scalar, *, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """A tensor of a size whose every element is ``fill_value``; the dtype is that of the number if none is given."""
def full_like(input: Tensor, fill_value: _Scalar, *, memory_format: _memory_format | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """A tensor of the size, dtype and device of ``input`` whose every element is ``fill_value``."""
def fused_moving_avg_obs_fake_quant(input: Tensor, observer_on: Tensor, fake_quant_on: Tensor, running_min: Tensor, running_max: Tensor, scale: Tensor, zero_point: Tensor, averaging_const: _float | Tensor, quant_min: _int, quant_max: _int, ch_axis: _int, per_row_fake_quant: _bool = ..., symmetric_quant: _bool = ...) -> Tensor:
    """Fake quantization of ``input``; if ``observer_on``, by extrema that first are averaged with its own."""
def gather(input: Tensor, dim: _int, index: Tensor, *, sparse_grad: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """``out[i, j] = input[index[i, j], j]`` for ``dim=0``: an element for each index."""
def gcd(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The greatest common divisor of integers. Broadcast."""
def gcd_(input: Tensor, other: Tensor) -> Tensor:
    """In-place version of ``gcd``."""
@overload
def ge(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``x >= y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
@overload
def ge(input: Tensor, other: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """``x >= y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
def geqrf(input: Tensor, *, out: Sequence[Tensor] | None = ...) -> return_types.geqrf:
    """The QR decomposition as LAPACK leaves it: a named tuple of ``a`` (R, and reflectors below it) and ``tau``."""
def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The product of every element of one vector with every element of another, (n, m)."""
def get_deterministic_debug_mode() -> _int:
    """0, 1 or 2: deterministic algorithms are not asked for, a warning is, an error is."""
def get_device(input: Tensor) -> _int:
    """The index of the tensor's accelerator; -1 on the CPU, and on ``meta``."""
def get_float32_matmul_precision() -> _str:
    """What was set by ``set_float32_matmul_precision``; ``"highest"`` before."""
def get_num_interop_threads() -> _int:
    """The number given to ``set_num_interop_threads``; before, of the processors that this process may use."""
def get_num_threads() -> _int:
    """The number given to ``set_num_threads``; before, of the processors that this process may use."""
def get_rng_state() -> Tensor:
    """The state of the default generator, a uint8 tensor."""
@overload
def gradient(input: Tensor, *, dim: Sequence[_int], edge_order: _int = ...) -> tuple[Tensor, ...]:
    """The derivatives along dimensions (all, or ``dim``) of a function whose values are ``input``, by differences."""
@overload
def gradient(input: Tensor, *, spacing: _Scalar, dim: Sequence[_int], edge_order: _int = ...) -> tuple[Tensor, ...]:
    """The derivatives along dimensions (all, or ``dim``) of a function whose values are ``input``, by differences."""
@overload
def gradient(input: Tensor, *, spacing: _Scalar | None = ..., dim: _int | None = ..., edge_order: _int = ...) -> tuple[Tensor, ...]:
    """The derivatives along dimensions (all, or ``dim``) of a function whose values are ``input``, by differences."""
@overload
def gradient(input: Tensor, *, spacing: Sequence[_Number], dim: _int | None = ..., edge_order: _int = ...) -> tuple[Tensor, ...]:
    """The derivatives along dimensions (all, or ``dim``) of a function whose values are ``input``, by differences."""
@overload
def gradient(input: Tensor, *, spacing: Sequence[_Number], dim: Sequence[_int], edge_order: _int = ...) -> tuple[Tensor, ...]:
    """The derivatives along dimensions (all, or ``dim``) of a function whose values are ``input``, by differences."""
@overload
def gradient(input: Tensor, *, spacing: Sequence[Tensor], dim: _int | None = ..., edge_order: _int = ...) -> tuple[Tensor, ...]:
    """The derivatives along dimensions (all, or ``dim``) of a function whose values are ``input``, by differences."""
@overload
def gradient(input: Tensor, *, spacing: Sequence[Tensor], dim: Sequence[_int], edge_order: _int = ...) -> tuple[Tensor, ...]:
    """The derivatives along dimensions (all, or ``dim``) of a function whose values are ``input``, by differences."""
@overload
def greater(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``x > y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
@overload
def greater(input: Tensor, other: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """``x > y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
@overload
def greater_equal(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``x >= y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
@overload
def greater_equal(input: Tensor, other: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """``x >= y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
def grid_sampler(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor:
    """See ``torch.nn.functional.grid_sample``; mode and padding are given as numbers, in the order they are named."""
def grid_sampler_2d(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor:
    """``grid_sampler`` of planes: (batch, channels, height, width)."""
def grid_sampler_3d(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor:
    """``grid_sampler`` of volumes: (batch, channels, depth, height, width)."""
def group_norm(input: Tensor, num_groups: _int, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float | Tensor = ..., cudnn_enabled: _bool = ...) -> Tensor:
    """See ``torch.nn.functional.group_norm``."""
@overload
def gru(data: Tensor, batch_sizes: Tensor, hx: Tensor, params: Sequence[Tensor], has_biases: _bool, num_layers: _int, dropout: _float | Tensor, train: _bool, bidirectional: _bool) -> tuple[Tensor, Tensor]:
    """A stack of layers of gated recurrent units: the results of the last, and the last states of all."""
@overload
def gru(input: Tensor, hx: Tensor, params: Sequence[Tensor], has_biases: _bool, num_layers: _int, dropout: _float | Tensor, train: _bool, bidirectional: _bool, batch_first: _bool) -> tuple[Tensor, Tensor]:
    """A stack of layers of gated recurrent units: the results of the last, and the last states of all."""
def gru_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = ..., b_hh: Tensor | None = ...) -> Tensor:
    """One step of gated recurrent units: the state (batch, width) from ``input`` (batch, features) and that before."""
@overload
def gt(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``x > y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
@overload
def gt(input: Tensor, other: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """``x > y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
@overload
def hamming_window(window_length: _int, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """A window: ``hamming_window(window_length, periodic=True, alpha, beta)``, a vector."""
@overload
def hamming_window(window_length: _int, periodic: _bool, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """A window: ``hamming_window(window_length, periodic=True, alpha, beta)``, a vector."""
@overload
def hamming_window(window_length: _int, periodic: _bool, alpha: _float | Tensor, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """A window: ``hamming_window(window_length, periodic=True, alpha, beta)``, a vector."""
@overload
def hamming_window(window_length: _int, periodic: _bool, alpha: _float | Tensor, beta: _float | Tensor, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """A window: ``hamming_window(window_length, periodic=True, alpha, beta)``, a vector."""
@overload
def hann_window(window_length: _int, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """A window: ``hann_window(window_length, periodic=True)``, a vector."""
@overload
def hann_window(window_length: _int, periodic: _bool, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """A window: ``hann_window(window_length, periodic=True)``, a vector."""
def hardshrink(input: Tensor, lambd: _Scalar = ..., *, out: Tensor | None = ...) -> Tensor:
    """0 within ``[-lambd, lambd]``, ``input`` outside."""
def hash_tensor(input: Tensor, dim: Sequence[_int] | _int | None = ..., *, keepdim: _bool = ..., mode: _int = ..., out: Tensor | None = ...) -> Tensor:
    """The exclusive or, over all elements or over ``dim``, of their bits in float64 or int64: uint64."""
def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """0 where ``input`` is negative, 1 where it is positive, ``values`` where it is 0. Not differentiable."""
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: _float | Tensor = ..., reduction: _int = ...) -> Tensor:
    """``nn.functional.hinge_embedding_loss``, with the reduction as a number (``named``)."""
def histc(input: Tensor, bins: _int = ..., min: _Scalar = ..., max: _Scalar = ..., *, out: Tensor | None = ...) -> Tensor:
    """How many elements lie in each of ``bins`` equal intervals between ``min`` and ``max``, which stand for the"""
@overload
def histogram(input: Tensor, bins: Tensor, *, weight: Tensor | None = ..., density: _bool = ..., out: Sequence[Tensor] | None = ...) -> return_types.histogram:
    """How many elements, or how much of their weights, lie in intervals: a named tuple of ``hist`` and ``bin_edges``."""
@overload
def histogram(input: Tensor, bins: _int = ..., *, range: Sequence[_float] | None = ..., weight: Tensor | None = ..., density: _bool = ..., out: Sequence[Tensor] | None = ...) -> return_types.histogram:
    """How many elements, or how much of their weights, lie in intervals: a named tuple of ``hist`` and ``bin_edges``."""
@overload
def histogramdd(input: Tensor, bins: _int, range: Sequence[_float] | None = ..., weight: Tensor | None = ..., density: _bool = ...) -> return_types.histogramdd:
    """The histogram of points, which are the last dimension of ``input``: a named tuple of ``hist`` and ``bin_edges``."""
@overload
def histogramdd(input: Tensor, bins: Sequence[_int], range: Sequence[_float] | None = ..., weight: Tensor | None = ..., density: _bool = ...) -> return_types.histogramdd:
    """The histogram of points, which are the last dimension of ``input``: a named tuple of ``hist`` and ``bin_edges``."""
@overload
def histogramdd(input: Tensor, bins: Sequence[Tensor], range: Sequence[_float] | None = ..., weight: Tensor | None = ..., density: _bool = ...) -> return_types.histogramdd:
    """The histogram of points, which are the last dimension of ``input``: a named tuple of ``hist`` and ``bin_edges``."""
@overload
def hsplit(input: Tensor, sections: _int) -> tuple[Tensor, ...]:
    """Pieces along dimension 1 (of a vector along its only one), all of one length or cut at indices."""
@overload
def hsplit(input: Tensor, indices: Sequence[_int]) -> tuple[Tensor, ...]:
    """Pieces along dimension 1 (of a vector along its only one), all of one length or cut at indices."""
def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Tensors side by side: along dimension 1, vectors along their only one."""
def hypot(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``sqrt(x * x + y * y)``, without overflow."""
def i0(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The modified Bessel function of order 0."""
def i0_(input: Tensor) -> Tensor:
    """In-place version of ``i0``."""
def igamma(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The regularized lower incomplete gamma function ``P(x, y)``."""
def igammac(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The regularized upper incomplete gamma function ``Q(x, y)``."""
def imag(input: Tensor) -> Tensor:
    """The imaginary part, as a view."""
def index_add(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, alpha: _Scalar = ..., out: Tensor | None = ...) -> Tensor:
    """``input`` with ``alpha`` times the slices of ``source`` added where ``index_select`` would read."""
def index_copy(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``input`` with slices of ``source`` where ``index_select`` would read."""
@overload
def index_fill(input: Tensor, dim: _int, index: Tensor, value: Tensor) -> Tensor:
    """``input`` with a number, or a 0-dim tensor, in place of the slices that ``index`` names."""
@overload
def index_fill(input: Tensor, dim: _int, index: Tensor, value: _Scalar) -> Tensor:
    """``input`` with a number, or a 0-dim tensor, in place of the slices that ``index`` names."""
def index_put(input: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: _bool = ...) -> Tensor:
    """``input`` with ``values`` (broadcast) put, or added, where ``input[indices]`` (a tuple of tensors) would read."""
def index_put_(input: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: _bool = ...) -> Tensor:
    """In-place version of ``index_put``."""
def index_reduce(input: Tensor, dim: _int, index: Tensor, source: Tensor, reduce: _str, *, include_self: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """``input`` reduced ("prod", "mean", "amax", "amin") with the slices of ``source`` that go where ``index_select``"""
def index_select(input: Tensor, dim: _int, index: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The slices of a dimension that a vector of indices names."""
def initial_seed() -> _int:
    """The seed that the default generator was last started with."""
def inner(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The sums of products along both last dimensions, for all pairs of the others; of a 0-dim operand, the product."""
def instance_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, use_input_stats: _bool, momentum: _float | Tensor, eps: _float | Tensor, cudnn_enabled: _bool) -> Tensor:
    """See ``torch.nn.functional.instance_norm``."""
def inverse(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The inverses of square matrices: ``linalg.inv``."""
def is_complex(input: Tensor) -> _bool:
    """Whether the dtype is a complex one."""
def is_conj(input: Tensor) -> _bool:
    """Whether the tensor shows the conjugates of what is in memory."""
def is_deterministic_algorithms_warn_only_enabled() -> _bool:
    """Whether ``use_deterministic_algorithms`` was switched on with ``warn_only``."""
def is_floating_point(input: Tensor) -> _bool:
    """Whether the dtype is a floating one."""
def is_inference(input: Tensor) -> _bool:
    """Whether a tensor was made in inference mode; see ``inference_mode``."""
def is_inference_mode_enabled() -> _bool:
    """Whether inference mode is on in this thread."""
def is_neg(input: Tensor) -> _bool:
    """Whether the tensor shows the negatives of what is in memory, as ``x.conj().imag`` does."""
def is_nonzero(input: Tensor) -> _bool:
    """Whether the only element is not zero."""
def is_same_size(input: Tensor, other: Tensor) -> _bool:
    """Whether two tensors have the same shape."""
def is_signed(input: Tensor) -> _bool:
    """Whether the dtype has negative numbers."""
def is_storage(obj: Any) -> _bool:
    """Whether ``obj`` is a storage."""
def is_tensor(obj: Any) -> _bool:
    """Whether ``obj`` is a tensor."""
def isclose(input: Tensor, other: Tensor, rtol: _float | Tensor = ..., atol: _float | Tensor = ..., equal_nan: _bool = ...) -> Tensor:
    """Whether ``|input - other| <= atol + rtol * |other|``, element by element; infinities must be equal."""
def isfinite(input: Tensor) -> Tensor:
    """Whether neither nan nor infinite."""
@overload
def isin(elements: Tensor, test_elements: Tensor, *, assume_unique: _bool = ..., invert: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """Whether each element is (``invert``: is not) among the test elements; one of the two may be a number."""
@overload
def isin(element: _Scalar, test_elements: Tensor, *, assume_unique: _bool = ..., invert: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """Whether each element is (``invert``: is not) among the test elements; one of the two may be a number."""
@overload
def isin(elements: Tensor, test_element: _Scalar, *, assume_unique: _bool = ..., invert: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """Whether each element is (``invert``: is not) among the test elements; one of the two may be a number."""
def isinf(input: Tensor) -> Tensor:
    """Whether infinite, in either part."""
def isnan(input: Tensor) -> Tensor:
    """Whether nan, in either part."""
def isneginf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Whether -inf."""
def isposinf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Whether inf."""
def isreal(input: Tensor) -> Tensor:
    """Whether the imaginary part is 0; always, of a real tensor."""
def istft(input: Tensor, n_fft: _int, hop_length: _int | None = ..., win_length: _int | None = ..., window: Tensor | None = ..., center: _bool = ..., normalized: _bool = ..., onesided: _bool | None = ..., length: _int | None = ..., return_complex: _bool = ...) -> Tensor:
    """The signal whose ``stft`` with these settings comes nearest to ``input``, in the sense of least squares."""
@overload
def kaiser_window(window_length: _int, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """A window: ``kaiser_window(window_length, periodic=True, beta)``, a vector."""
@overload
def kaiser_window(window_length: _int, periodic: _bool, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """A window: ``kaiser_window(window_length, periodic=True, beta)``, a vector."""
@overload
def kaiser_window(window_length: _int, periodic: _bool, beta: _float | Tensor, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """A window: ``kaiser_window(window_length, periodic=True, beta)``, a vector."""
def kl_div(input: Tensor, target: Tensor, reduction: _int = ..., *, log_target: _bool = ...) -> Tensor:
    """``nn.functional.kl_div``, with the reduction as a number (``named``)."""
def kron(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The Kronecker product: a block ``input[i, j] * other`` for every element of ``input``."""
def kthvalue(input: Tensor, k: _int | Tensor, dim: _int = ..., keepdim: _bool = ..., *, out: Sequence[Tensor] | None = ...) -> return_types.kthvalue:
    """The ``k``-th smallest elements over ``dim``, counted from 1: a named tuple of ``values`` and ``indices``."""
def layer_norm(input: Tensor, normalized_shape: Sequence[_int], weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float | Tensor = ..., cudnn_enable: _bool = ...) -> Tensor:
    """See ``torch.nn.functional.layer_norm``."""
from tapegrad.tensor.layout import layout as layout
def lcm(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The least common multiple of integers. Broadcast."""
def lcm_(input: Tensor, other: Tensor) -> Tensor:
    """In-place version of ``lcm``."""
def ldexp(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``input * 2 ** other``."""
def ldexp_(input: Tensor, other: Tensor) -> Tensor:
    """In-place version of ``ldexp``."""
@overload
def le(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``x <= y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
@overload
def le(input: Tensor, other: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """``x <= y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
@overload
def lerp(input: Tensor, end: Tensor, weight: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``input + weight * (end - input)``, for a ``weight`` that is a number or a tensor."""
@overload
def lerp(input: Tensor, end: Tensor, weight: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """``input + weight * (end - input)``, for a ``weight`` that is a number or a tensor."""
@overload
def less(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``x < y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
@overload
def less(input: Tensor, other: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """``x < y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
@overload
def less_equal(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``x <= y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
@overload
def less_equal(input: Tensor, other: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """``x <= y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
def lgamma(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The logarithm of the absolute value of the gamma function."""
@overload
def linspace(start: Tensor, end: Tensor, steps: _int, *, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """``steps`` numbers from ``start`` to ``end``, both included, at equal distances."""
@overload
def linspace(start: _Scalar, end: Tensor, steps: _int, *, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """``steps`` numbers from ``start`` to ``end``, both included, at equal distances."""
@overload
def linspace(start: Tensor, end: _Scalar, steps: _int, *, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """``steps`` numbers from ``start`` to ``end``, both included, at equal distances."""
@overload
def linspace(start: _Scalar, end: _Scalar, steps: _int, *, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """``steps`` numbers from ``start`` to ``end``, both included, at equal distances."""
def lobpcg(A: Tensor, k: _int | None = ..., B: Tensor | None = ..., X: Tensor | None = ..., n: _int | None = ..., iK: Tensor | None = ..., niter: _int | None = ..., tol: _float | None = ..., largest: _bool | None = ..., method: _str | None = ..., tracker: Any = ..., ortho_iparams: dict | None = ..., ortho_fparams: dict | None = ..., ortho_bparams: dict | None = ...) -> tuple[Tensor, Tensor]:
    """The ``k`` largest (or smallest) eigenvalues, and the eigenvectors, of symmetric matrices ``A`` (..., m, m), or of"""
def log(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The natural logarithm."""
def log10(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The logarithm to base 10."""
def log10_(input: Tensor) -> Tensor:
    """In-place version of ``log10``."""
def log1p(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``log(1 + x)``, accurate near 0."""
def log1p_(input: Tensor) -> Tensor:
    """In-place version of ``log1p``."""
def log2(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The logarithm to base 2."""
def log2_(input: Tensor) -> Tensor:
    """In-place version of ``log2``."""
def log_(input: Tensor) -> Tensor:
    """In-place version of ``log``."""
def log_softmax(input: Tensor, dim: _int, dtype: _dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The logarithm of ``softmax``, without forming it."""
def logaddexp(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``log(exp(x) + exp(y))``, without overflow; of complex numbers, from the one whose real part is larger on."""
def logaddexp2(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``log2(2 ** x + 2 ** y)``, without overflow."""
def logcumsumexp(input: Tensor, dim: _int, *, out: Tensor | None = ...) -> Tensor:
    """The logarithms of the cumulative sums of ``exp(input)`` along ``dim``."""
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant; nan where that is negative, -inf where it is 0."""
def logical_and(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Whether both are nonzero. Broadcast; of any dtypes."""
def logical_not(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Whether zero."""
def logical_or(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Whether at least one is nonzero. Broadcast; of any dtypes."""
def logical_xor(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Whether exactly one is nonzero. Broadcast; of any dtypes."""
def logit(input: Tensor, eps: _float | Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """``log(x / (1 - x))``, of ``input`` clamped to ``[eps, 1 - eps]`` if ``eps`` is given."""
def logit_(input: Tensor, eps: _float | Tensor | None = ...) -> Tensor:
    """In-place version of ``logit``."""
@overload
def logspace(start: Tensor, end: Tensor, steps: _int, base: _float | Tensor = ..., *, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """``steps`` powers of ``base``, their exponents at equal distances from ``start`` to ``end``."""
@overload
def logspace(start: _Scalar, end: Tensor, steps: _int, base: _float | Tensor = ..., *, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """``steps`` powers of ``base``, their exponents at equal distances from ``start`` to ``end``."""
@overload
def logspace(start: Tensor, end: _Scalar, steps: _int, base: _float | Tensor = ..., *, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """``steps`` powers of ``base``, their exponents at equal distances from ``start`` to ``end``."""
@overload
def logspace(start: _Scalar, end: _Scalar, steps: _int, base: _float | Tensor = ..., *, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """``steps`` powers of ``base``, their exponents at equal distances from ``start`` to ``end``."""
def logsumexp(input: Tensor, dim: Sequence[_int] | _int, keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The logarithm of the sum over ``dim`` of ``exp(input)``, without overflow; -inf of nothing."""
@overload
def lstm(data: Tensor, batch_sizes: Tensor, hx: Sequence[Tensor], params: Sequence[Tensor], has_biases: _bool, num_layers: _int, dropout: _float | Tensor, train: _bool, bidirectional: _bool) -> tuple[Tensor, Tensor, Tensor]:
    """A stack of LSTM layers: the results of the last, and the last states h and c of all layers and directions."""
@overload
def lstm(input: Tensor, hx: Sequence[Tensor], params: Sequence[Tensor], has_biases: _bool, num_layers: _int, dropout: _float | Tensor, train: _bool, bidirectional: _bool, batch_first: _bool) -> tuple[Tensor, Tensor, Tensor]:
    """A stack of LSTM layers: the results of the last, and the last states h and c of all layers and directions."""
def lstm_cell(input: Tensor, hx: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = ..., b_hh: Tensor | None = ...) -> tuple[Tensor, Tensor]:
    """One step of an LSTM: the states h and c (batch, width) from ``input`` (batch, features) and those before."""
@overload
def lt(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``x < y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
@overload
def lt(input: Tensor, other: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """``x < y``. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
def lu(A: Tensor, pivot: _bool = ..., get_infos: _bool = ..., out: Any = ...) -> Any:
    """``linalg.lu_factor_ex`` as it was once called: (LU, pivots), and ``info`` with ``get_infos``."""
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The X of ``A X = input``, by what ``lu_factor(A)`` gives: ``linalg.lu_solve``."""
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: _bool = ..., unpack_pivots: _bool = ..., *, out: Sequence[Tensor] | None = ...) -> return_types.lu_unpack:
    """The matrices P, L and U out of what ``lu_factor`` gives; those that are not wanted are empty."""
def manual_seed(seed: Any) -> Generator:
    """Start the default generator with this seed, and return it."""
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float | Tensor = ..., reduction: _int = ...) -> Tensor:
    """``nn.functional.margin_ranking_loss``, with the reduction as a number (``named``)."""
@overload
def masked_fill(input: Tensor, mask: Tensor, value: Tensor) -> Tensor:
    """``input`` with ``value``, a number or a 0-dim tensor, where the mask holds. The dtype stays that of ``input``."""
@overload
def masked_fill(input: Tensor, mask: Tensor, value: _Scalar) -> Tensor:
    """``input`` with ``value``, a number or a 0-dim tensor, where the mask holds. The dtype stays that of ``input``."""
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """``input`` with the first elements of ``source`` where ``mask`` is set, in row-major order."""
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The elements of ``input`` where ``mask`` is set, in a row; the two are broadcast."""
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The matrix product; a vector is a row on the left and a column on the right, more dimensions are batches."""
def matrix_exp(input: Tensor) -> Tensor:
    """The exponentials of square matrices (..., n, n)."""
def matrix_power(input: Tensor, n: _int, *, out: Tensor | None = ...) -> Tensor:
    """Square matrices (..., k, k) multiplied by themselves; inverted first if ``n`` is negative."""
@overload
def max(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The largest element; with ``dim``, a named tuple of the largest ``values`` and their ``indices`` over it; with"""
@overload
def max(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The largest element; with ``dim``, a named tuple of the largest ``values`` and their ``indices`` over it; with"""
@overload
def max(input: Tensor, dim: _int, keepdim: _bool = ..., *, out: Sequence[Tensor] | None = ...) -> return_types.max:
    """The largest element; with ``dim``, a named tuple of the largest ``values`` and their ``indices`` over it; with"""
def max_pool1d(input: Tensor, kernel_size: Sequence[_int] | _int, stride: Sequence[_int] | _int | None = ..., padding: Sequence[_int] | _int = ..., dilation: Sequence[_int] | _int = ..., ceil_mode: _bool = ...) -> Tensor:
    """The greatest of each window, and, if wanted, the index of each (int64)."""
def max_pool1d_with_indices(input: Tensor, kernel_size: Sequence[_int] | _int, stride: Sequence[_int] | _int | None = ..., padding: Sequence[_int] | _int = ..., dilation: Sequence[_int] | _int = ..., ceil_mode: _bool = ...) -> tuple[Tensor, Tensor]:
    """``max_pool1d``, and the indices in any case, whatever ``return_indices`` says."""
def max_pool2d(input: Tensor, kernel_size: Sequence[_int] | _int, stride: Sequence[_int] | _int | None = ..., padding: Sequence[_int] | _int = ..., dilation: Sequence[_int] | _int = ..., ceil_mode: _bool = ...) -> Tensor:
    """The greatest of each window along the last two dimensions, and, if wanted, the flat index of each (int64)."""
def max_pool3d(input: Tensor, kernel_size: Sequence[_int] | _int, stride: Sequence[_int] | _int | None = ..., padding: Sequence[_int] | _int = ..., dilation: Sequence[_int] | _int = ..., ceil_mode: _bool = ...) -> Tensor:
    """The greatest of each window along the last three dimensions of (batch, channels, depth, height, width)."""
def maximum(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The greater of two, nan if either is; a tie's gradient is shared."""
@overload
def mean(input: Tensor, *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """The arithmetic mean of all elements, or over ``dim``; of nothing, nan."""
@overload
def mean(input: Tensor, dim: Sequence[_int] | _int | None, keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """The arithmetic mean of all elements, or over ``dim``; of nothing, nan."""
@overload
def median(input: Tensor) -> Tensor:
    """The median of all elements, or over ``dim`` a named tuple of the medians and their ``indices``."""
@overload
def median(input: Tensor, dim: _int, keepdim: _bool = ..., *, out: Sequence[Tensor] | None = ...) -> return_types.median:
    """The median of all elements, or over ``dim`` a named tuple of the medians and their ``indices``."""
from tapegrad.tensor.layout import memory_format as memory_format
def meshgrid(*tensors: Any, indexing: _str | None = ...) -> tuple[Tensor, ...]:
    """The coordinates of the points of a grid: one tensor for each vector, all of the grid's shape."""
@overload
def min(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The smallest element, or those over ``dim``, or ``minimum``: see ``max``."""
@overload
def min(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The smallest element, or those over ``dim``, or ``minimum``: see ``max``."""
@overload
def min(input: Tensor, dim: _int, keepdim: _bool = ..., *, out: Sequence[Tensor] | None = ...) -> return_types.min:
    """The smallest element, or those over ``dim``, or ``minimum``: see ``max``."""
def minimum(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The smaller of two, nan if either is; a tie's gradient is shared."""
@overload
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The product of two matrices, (n, k) and (k, m)."""
@overload
def mm(input: Tensor, mat2: Tensor, out_dtype: _dtype, *, out: Tensor | None = ...) -> Tensor:
    """The product of two matrices, (n, k) and (k, m)."""
def mode(input: Tensor, dim: _int = ..., keepdim: _bool = ..., *, out: Sequence[Tensor] | None = ...) -> return_types.mode:
    """The most frequent elements over ``dim``, the smallest of several: a named tuple of ``values`` and ``indices``."""
@overload
def moveaxis(input: Tensor, source: _int, destination: _int) -> Tensor:
    """``input`` with the dimensions ``source`` moved to the positions ``destination``, the others in their order."""
@overload
def moveaxis(input: Tensor, source: Sequence[_int], destination: Sequence[_int]) -> Tensor:
    """``input`` with the dimensions ``source`` moved to the positions ``destination``, the others in their order."""
@overload
def movedim(input: Tensor, source: _int, destination: _int) -> Tensor:
    """``input`` with the dimensions ``source`` moved to the positions ``destination``, the others in their order."""
@overload
def movedim(input: Tensor, source: Sequence[_int], destination: Sequence[_int]) -> Tensor:
    """``input`` with the dimensions ``source`` moved to the positions ``destination``, the others in their order."""
def msort(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The elements in order along the first dimension."""
def mul(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | _Number | None = ...) -> Tensor:
    """``input * other``, broadcast; either may be a number."""
def multinomial(input: Tensor, num_samples: _int | Tensor, replacement: _bool = ..., *, generator: Generator | None = ..., out: Tensor | None = ...) -> Tensor:
    """Indices of the last dimension of ``input`` (1-dim or 2-dim), drawn in proportion to its elements."""
@overload
def multiply(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | _Number | None = ...) -> Tensor:
    """``input * other``, broadcast; either may be a number."""
@overload
def multiply(input: Tensor | _Number, other: _Scalar) -> Tensor:
    """``input * other``, broadcast; either may be a number."""
def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """A matrix (n, m) times a vector (m,)."""
def mvlgamma(input: Tensor, p: _int, *, out: Tensor | None = ...) -> Tensor:
    """The logarithm of the gamma function of ``p`` variables; inf or nan where ``input <= (p - 1) / 2``."""
def nan_to_num(input: Tensor, nan: _float | Tensor | None = ..., posinf: _float | Tensor | None = ..., neginf: _float | Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """``input`` with 0, the greatest and the least finite number (or those given) for nan, inf and -inf."""
def nan_to_num_(input: Tensor, nan: _float | Tensor | None = ..., posinf: _float | Tensor | None = ..., neginf: _float | Tensor | None = ...) -> Tensor:
    """In-place version of ``nan_to_num``."""
def nanmean(input: Tensor, dim: Sequence[_int] | _int | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """The mean over ``dim`` (or of all) of the elements that are not nan."""
@overload
def nanmedian(input: Tensor) -> Tensor:
    """``median`` of the elements that are not nan."""
@overload
def nanmedian(input: Tensor, dim: _int, keepdim: _bool = ..., *, out: Sequence[Tensor] | None = ...) -> return_types.nanmedian:
    """``median`` of the elements that are not nan."""
@overload
def nanquantile(input: Tensor, q: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: _str = ..., out: Tensor | None = ...) -> Tensor:
    """``quantile`` of the elements that are not nan; nan where all are."""
@overload
def nanquantile(input: Tensor, q: _float | Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: _str = ..., out: Tensor | None = ...) -> Tensor:
    """``quantile`` of the elements that are not nan; nan where all are."""
def nansum(input: Tensor, dim: Sequence[_int] | _int | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """The sum over ``dim`` (or of all) of the elements that are not nan."""
@overload
def narrow(input: Tensor, dim: _int, start: Tensor, length: _int | Tensor) -> Tensor:
    """``length`` items of dimension ``dim``, from ``start`` on."""
@overload
def narrow(input: Tensor, dim: _int, start: _int | Tensor, length: _int | Tensor) -> Tensor:
    """``length`` items of dimension ``dim``, from ``start`` on."""
def narrow_copy(input: Tensor, dim: _int, start: _int | Tensor, length: _int | Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``length`` items of a dimension, from ``start`` on, as a tensor of their own."""
def native_batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, training: _bool, momentum: _float | Tensor, eps: _float | Tensor, *, out: Sequence[Tensor] | None = ...) -> tuple[Tensor, Tensor, Tensor]:
    """``batch_norm``, and, in training, the mean and the inverse standard deviation of each channel."""
def native_channel_shuffle(input: Tensor, groups: _int | Tensor) -> Tensor:
    """``input`` (N, C, ...) with the channels of ``groups`` groups dealt out in turn."""
def native_dropout(input: Tensor, p: _float | Tensor, train: _bool | None) -> tuple[Tensor, Tensor]:
    """``dropout``, and which elements were kept."""
def native_group_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, N: _int | Tensor, C: _int | Tensor, HxW: _int | Tensor, group: _int, eps: _float | Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """``group_norm`` of N examples of C channels of HxW elements, and mean and inverse standard deviation of groups."""
def native_layer_norm(input: Tensor, normalized_shape: Sequence[_int], weight: Tensor | None, bias: Tensor | None, eps: _float | Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """``layer_norm``, and the mean and the inverse standard deviation that it found."""
@overload
def ne(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Whether different. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
@overload
def ne(input: Tensor, other: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """Whether different. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
def neg(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``-x``."""
def neg_(input: Tensor) -> Tensor:
    """In-place version of ``neg``."""
def negative(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``-x``."""
def negative_(input: Tensor) -> Tensor:
    """In-place version of ``negative``."""
def nextafter(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The number after each of ``input`` in the direction of ``other`` that their dtype can hold."""
def nonzero(input: Tensor, *, as_tuple: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The indices of the elements that are not zero: int64 of shape (number, ndim), or a tuple with one tensor for each"""
def nonzero_static(input: Tensor, *, size: _int | Tensor, fill_value: _int = ..., out: Tensor | None = ...) -> Tensor:
    """The indices of the first ``size`` nonzero elements: int64 of shape (size, ndim), with ``fill_value`` where there"""
def norm(input: Tensor, p: Any = ..., dim: Any = ..., keepdim: _bool = ..., out: Any = ..., dtype: _dtype | None = ...) -> Tensor:
    """The norm of all elements, or over ``dim``: of any order ``p``; ``"fro"`` is 2."""
def norm_except_dim(v: Tensor, pow: _int = ..., dim: _int = ...) -> Tensor:
    """The norm over all dimensions but ``dim``, which stay with length 1; over all, without dimensions, if it is -1."""
@overload
def normal(mean: Tensor, std: Tensor, *, generator: Generator | None = ..., out: Tensor | None = ...) -> Tensor:
    """Normal numbers of these means and standard deviations; tensors broadcast, two numbers need a ``size``."""
@overload
def normal(mean: Tensor, std: _float | Tensor = ..., *, generator: Generator | None = ..., out: Tensor | None = ...) -> Tensor:
    """Normal numbers of these means and standard deviations; tensors broadcast, two numbers need a ``size``."""
@overload
def normal(mean: _float | Tensor, std: Tensor, *, generator: Generator | None = ..., out: Tensor | None = ...) -> Tensor:
    """Normal numbers of these means and standard deviations; tensors broadcast, two numbers need a ``size``."""
@overload
def normal(mean: _float | Tensor, std: _float | Tensor, size: Sequence[_int], *, generator: Generator | None = ..., out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """Normal numbers of these means and standard deviations; tensors broadcast, two numbers need a ``size``."""
@overload
def not_equal(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Whether different. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
@overload
def not_equal(input: Tensor, other: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """Whether different. Broadcast; ``other`` is a tensor or a number; the result is boolean."""
def numel(input: Tensor) -> _int:
    """The number of elements."""
@overload
def ones(size: Sequence[_int], *, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """Ones of a size, of the default dtype if none is given."""
@overload
def ones(*size: _int, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """Ones of a size, of the default dtype if none is given."""
def ones_like(input: Tensor, *, memory_format: _memory_format | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """Ones of the size, dtype and device of ``input``; they don't require grad unless asked to."""
def orgqr(input: Tensor, input2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``linalg.householder_product`` under LAPACK's name."""
def ormqr(input: Tensor, input2: Tensor, input3: Tensor, left: _bool = ..., transpose: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """``Q @ input3`` (``input3 @ Q`` unless ``left``; of the adjoint of Q, if ``transpose``), where Q (m, m) is the"""
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The product of every element of one vector with every element of another, (n, m)."""
def pairwise_distance(x1: Tensor, x2: Tensor, p: _float | Tensor = ..., eps: _float | Tensor = ..., keepdim: _bool = ...) -> Tensor:
    """The ``p``-norm of ``x1 - x2 + eps`` along the last dimension, which stays, with length 1, if ``keepdim``."""
def pca_lowrank(A: Tensor, q: _int | None = ..., center: _bool = ..., niter: _int = ...) -> tuple:
    """``(U, S, V)``: the principal components V of the rows of ``A`` (m, n), of which the mean is subtracted if"""
def pdist(input: Tensor, p: _float | Tensor = ...) -> Tensor:
    """The ``p``-norms of the differences of all pairs of rows of a matrix (n, k), in order: (n (n - 1) / 2,)."""
def permute(input: Tensor, dims: Sequence[_int]) -> Tensor:
    """``input`` with its dimensions in the order given."""
def permute_copy(input: Tensor, dims: Sequence[_int], *, out: Tensor | None = ...) -> Tensor:
    """What ``permute`` shows, as a tensor of its own; it takes and raises what ``permute`` does."""
def pinverse(input: Tensor, rcond: _float | Tensor = ...) -> Tensor:
    """``linalg.pinv`` with ``rcond``."""
def pixel_shuffle(input: Tensor, upscale_factor: _int) -> Tensor:
    """(..., C r^2, H, W) to (..., C, H r, W r), ``upscale_factor`` being r: the channels of ``input`` become blocks."""
def pixel_unshuffle(input: Tensor, downscale_factor: _int) -> Tensor:
    """(..., C, H r, W r) to (..., C r^2, H, W), ``downscale_factor`` being r: the inverse of ``pixel_shuffle``."""
def poisson(input: Tensor, generator: Generator | None = ...) -> Tensor:
    """Poisson numbers with the means ``input``, of its dtype. Gradients are zeros."""
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: _bool, full: _bool, eps: _float | Tensor, reduction: _int) -> Tensor:
    """``nn.functional.poisson_nll_loss``, with the reduction as a number (``named``)."""
def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The complex tensor of these absolute values and angles, broadcast together."""
def polygamma(n: _int, input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The ``n``-th derivative of ``digamma``."""
def positive(input: Tensor) -> Tensor:
    """The tensor itself."""
@overload
def pow(input: Tensor, exponent: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``input ** exponent``, broadcast; either may be a number."""
@overload
def pow(self: _Scalar, exponent: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``input ** exponent``, broadcast; either may be a number."""
@overload
def pow(input: Tensor, exponent: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """``input ** exponent``, broadcast; either may be a number."""
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """``input`` where positive, else ``weight * input``, with one weight or one for each channel (dimension 1)."""
preserve_format: _memory_format
@overload
def prod(input: Tensor, *, dtype: _dtype | None = ...) -> Tensor:
    """The product of all elements, or over one dimension ``dim``."""
@overload
def prod(input: Tensor, dim: _int, keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """The product of all elements, or over one dimension ``dim``."""
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool = ...) -> Tensor:
    """``input`` with the elements of ``source`` put, or added, at places counted in row-major order."""
def qr(input: Tensor, some: _bool = ..., *, out: Sequence[Tensor] | None = ...) -> return_types.qr:
    """``linalg.qr`` under its older name, deprecated: "reduced" if ``some``, else "complete"."""
@overload
def quantile(input: Tensor, q: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: _str = ..., out: Tensor | None = ...) -> Tensor:
    """The ``q``-th quantiles of all elements, or over ``dim``; nan where there is a nan."""
@overload
def quantile(input: Tensor, q: _float | Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: _str = ..., out: Tensor | None = ...) -> Tensor:
    """The ``q``-th quantiles of all elements, or over ``dim``; nan where there is a nan."""
def rad2deg(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Radians as degrees."""
def rad2deg_(input: Tensor) -> Tensor:
    """In-place version of ``rad2deg``."""
@overload
def rand(size: Sequence[_int], *, generator: Generator | None, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """Numbers between 0 and 1, 1 excluded, of a size; of the default dtype if none is given."""
@overload
def rand(*size: _int, generator: Generator | None, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """Numbers between 0 and 1, 1 excluded, of a size; of the default dtype if none is given."""
@overload
def rand(size: Sequence[_int], *, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """Numbers between 0 and 1, 1 excluded, of a size; of the default dtype if none is given."""
@overload
def rand(*size: _int, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """Numbers between 0 and 1, 1 excluded, of a size; of the default dtype if none is given."""
@overload
def rand_like(input: Tensor, *, generator: Generator | None, memory_format: _memory_format | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """Numbers between 0 and 1, of the size, dtype and device of ``input``."""
@overload
def rand_like(input: Tensor, *, memory_format: _memory_format | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """Numbers between 0 and 1, of the size, dtype and device of ``input``."""
@overload
def randint(high: _int | Tensor, size: Sequence[_int], *, generator: Generator | None, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """``randint(high, size)``, ``randint(low, high, size)``: whole numbers in [low, high); ``low`` is 0 if not given."""
@overload
def randint(high: _int | Tensor, size: Sequence[_int], *, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """``randint(high, size)``, ``randint(low, high, size)``: whole numbers in [low, high); ``low`` is 0 if not given."""
@overload
def randint(low: _int | Tensor, high: _int | Tensor, size: Sequence[_int], *, generator: Generator | None, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """``randint(high, size)``, ``randint(low, high, size)``: whole numbers in [low, high); ``low`` is 0 if not given."""
@overload
def randint(low: _int | Tensor, high: _int | Tensor, size: Sequence[_int], *, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """``randint(high, size)``, ``randint(low, high, size)``: whole numbers in [low, high); ``low`` is 0 if not given."""
@overload
def randint_like(input: Tensor, low: _int | Tensor, high: _int | Tensor, *, generator: Generator | None, memory_format: _memory_format | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """Whole numbers from ``low`` (0) up to ``high``, of the size and dtype of ``input``."""
@overload
def randint_like(input: Tensor, low: _int | Tensor, high: _int | Tensor, *, memory_format: _memory_format | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """Whole numbers from ``low`` (0) up to ``high``, of the size and dtype of ``input``."""
@overload
def randint_like(input: Tensor, high: Tensor, *, generator: Generator | None, memory_format: _memory_format | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """Whole numbers from ``low`` (0) up to ``high``, of the size and dtype of ``input``."""
@overload
def randint_like(input: Tensor, high: Tensor, *, memory_format: _memory_format | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """Whole numbers from ``low`` (0) up to ``high``, of the size and dtype of ``input``."""
@overload
def randint_like(input: Tensor, high: _int | Tensor, *, generator: Generator | None, memory_format: _memory_format | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """Whole numbers from ``low`` (0) up to ``high``, of the size and dtype of ``input``."""
@overload
def randint_like(input: Tensor, high: _int | Tensor, *, memory_format: _memory_format | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """Whole numbers from ``low`` (0) up to ``high``, of the size and dtype of ``input``."""
@overload
def randn(size: Sequence[_int], *, generator: Generator | None, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """Normal numbers of mean 0 and variance 1, of a size; of the default dtype if none is given."""
@overload
def randn(*size: _int, generator: Generator | None, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """Normal numbers of mean 0 and variance 1, of a size; of the default dtype if none is given."""
@overload
def randn(size: Sequence[_int], *, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """Normal numbers of mean 0 and variance 1, of a size; of the default dtype if none is given."""
@overload
def randn(*size: _int, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """Normal numbers of mean 0 and variance 1, of a size; of the default dtype if none is given."""
@overload
def randn_like(input: Tensor, *, generator: Generator | None, memory_format: _memory_format | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """Normal numbers, of the size, dtype and device of ``input``."""
@overload
def randn_like(input: Tensor, *, memory_format: _memory_format | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """Normal numbers, of the size, dtype and device of ``input``."""
@overload
def randperm(n: _int | Tensor, *, generator: Generator | None, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """The numbers below ``n`` in a random order; int64 if no dtype is given."""
@overload
def randperm(n: _int | Tensor, *, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """The numbers below ``n`` in a random order; int64 if no dtype is given."""
def range(start: _Scalar, end: _Scalar, step: _Scalar = ..., *, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout = ..., device: _device | _str | _int | None = ..., requires_grad: _bool = ...) -> Tensor:
    """The numbers from ``start`` to ``end``, both included. Deprecated in favour of ``arange``."""
def ravel(input: Tensor) -> Tensor:
    """All elements along one dimension: a view, of a copy where they don't lie in row-major order."""
def real(input: Tensor) -> Tensor:
    """The real part, as a view; of a real tensor, the tensor itself."""
def reciprocal(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``1 / x``."""
def reciprocal_(input: Tensor) -> Tensor:
    """In-place version of ``reciprocal``."""
def relu(input: Tensor) -> Tensor:
    """``input`` where positive, else 0; the gradient at 0 is 0."""
def relu_(input: Tensor) -> Tensor:
    """In-place version of ``relu``, with the same arguments."""
@overload
def remainder(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``input`` modulo ``other``, with the sign of ``other``; either may be a number."""
@overload
def remainder(self: _Scalar, other: Tensor) -> Tensor:
    """``input`` modulo ``other``, with the sign of ``other``; either may be a number."""
@overload
def remainder(input: Tensor, other: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """``input`` modulo ``other``, with the sign of ``other``; either may be a number."""
def renorm(input: Tensor, p: _Scalar, dim: _int, maxnorm: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """``input`` with those slices along ``dim`` shrunk whose p-norm is larger than ``maxnorm``."""
@overload
def repeat_interleave(input: Tensor, repeats: Tensor, dim: _int | None = ..., *, output_size: _int | Tensor | None = ...) -> Tensor:
    """Every item of a dimension (of all elements in a row without ``dim``) several times in succession."""
@overload
def repeat_interleave(repeats: Tensor, *, output_size: _int | Tensor | None = ...) -> Tensor:
    """Every item of a dimension (of all elements in a row without ``dim``) several times in succession."""
@overload
def repeat_interleave(input: Tensor, repeats: _int | Tensor, dim: _int | None = ..., *, output_size: _int | Tensor | None = ...) -> Tensor:
    """Every item of a dimension (of all elements in a row without ``dim``) several times in succession."""
def reshape(input: Tensor, shape: Sequence[_int]) -> Tensor:
    """The elements, in row-major order, in another shape (one length may be -1)."""
def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: _memory_format | None = ...) -> Tensor:
    """``resize_`` to the shape of another tensor; with ``torch.preserve_format``, also to its order in memory."""
def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself, or a copy if it shows the conjugates of what is in memory."""
def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself, or a copy if it shows the negatives of what is in memory."""
@overload
def result_type(tensor: Tensor, other: Tensor) -> _dtype:
    """The dtype of a result of arithmetic on two operands, tensors or numbers."""
@overload
def result_type(scalar: _Scalar, tensor: Tensor) -> _dtype:
    """The dtype of a result of arithmetic on two operands, tensors or numbers."""
@overload
def result_type(tensor: Tensor, other: _Scalar) -> _dtype:
    """The dtype of a result of arithmetic on two operands, tensors or numbers."""
@overload
def result_type(scalar1: _Scalar, scalar2: _Scalar) -> _dtype:
    """The dtype of a result of arithmetic on two operands, tensors or numbers."""
def rms_norm(input: Tensor, normalized_shape: Sequence[_int], weight: Tensor | None = ..., eps: _float | Tensor | None = ...) -> Tensor:
    """The input over the root mean square of its last dimensions, times ``weight``."""
@overload
def rnn_relu(data: Tensor, batch_sizes: Tensor, hx: Tensor, params: Sequence[Tensor], has_biases: _bool, num_layers: _int, dropout: _float | Tensor, train: _bool, bidirectional: _bool) -> tuple[Tensor, Tensor]:
    """A stack of layers of Elman's kind with relu; called as ``gru`` is. See ``torch.nn.RNN``."""
@overload
def rnn_relu(input: Tensor, hx: Tensor, params: Sequence[Tensor], has_biases: _bool, num_layers: _int, dropout: _float | Tensor, train: _bool, bidirectional: _bool, batch_first: _bool) -> tuple[Tensor, Tensor]:
    """A stack of layers of Elman's kind with relu; called as ``gru`` is. See ``torch.nn.RNN``."""
def rnn_relu_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = ..., b_hh: Tensor | None = ...) -> Tensor:
    """One step of Elman's kind with relu. See ``rnn_tanh_cell``."""
@overload
def rnn_tanh(data: Tensor, batch_sizes: Tensor, hx: Tensor, params: Sequence[Tensor], has_biases: _bool, num_layers: _int, dropout: _float | Tensor, train: _bool, bidirectional: _bool) -> tuple[Tensor, Tensor]:
    """A stack of layers of Elman's kind with tanh; called as ``gru`` is. See ``torch.nn.RNN``."""
@overload
def rnn_tanh(input: Tensor, hx: Tensor, params: Sequence[Tensor], has_biases: _bool, num_layers: _int, dropout: _float | Tensor, train: _bool, bidirectional: _bool, batch_first: _bool) -> tuple[Tensor, Tensor]:
    """A stack of layers of Elman's kind with tanh; called as ``gru`` is. See ``torch.nn.RNN``."""
def rnn_tanh_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = ..., b_hh: Tensor | None = ...) -> Tensor:
    """One step of Elman's kind: ``tanh(input @ w_ih.T + b_ih + hx @ w_hh.T + b_hh)``."""
def roll(input: Tensor, shifts: Sequence[_int] | _int, dims: Sequence[_int] | _int | None = ...) -> Tensor:
    """``input`` with the items of ``dims`` (or of all elements in a row) moved on cyclically by ``shifts``."""
def rot90(input: Tensor, k: _int = ..., dims: Sequence[_int] = ...) -> Tensor:
    """``input`` turned ``k`` times by a right angle, from the first towards the second of two dimensions."""
@overload
def round(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The nearest whole number, the even one of two; with ``decimals``, rounded to so many digits after the point."""
@overload
def round(input: Tensor, *, decimals: _int, out: Tensor | None = ...) -> Tensor:
    """The nearest whole number, the even one of two; with ``decimals``, rounded to so many digits after the point."""
@overload
def round_(input: Tensor) -> Tensor:
    """In-place version of ``round``."""
@overload
def round_(input: Tensor, *, decimals: _int) -> Tensor:
    """In-place version of ``round``."""
def row_stack(tensors: Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Tensors one below the other; vectors are rows."""
def rrelu(input: Tensor, lower: _Scalar = ..., upper: _Scalar = ..., training: _bool = ..., generator: Generator | None = ...) -> Tensor:
    """``input`` where positive, else ``slope * input``, with the mean of the bounds for the slope."""
def rrelu_(input: Tensor, lower: _Scalar = ..., upper: _Scalar = ..., training: _bool = ..., generator: Generator | None = ...) -> Tensor:
    """In-place version of ``rrelu``: negative elements of ``input`` times a slope between ``lower`` and ``upper``."""
def rsqrt(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``1 / sqrt(x)``."""
def rsqrt_(input: Tensor) -> Tensor:
    """In-place version of ``rsqrt``."""
@overload
def rsub(input: Tensor, other: Tensor, *, alpha: _Scalar = ...) -> Tensor:
    """``other - alpha * input``."""
@overload
def rsub(input: Tensor, other: _Scalar, alpha: _Scalar = ...) -> Tensor:
    """``other - alpha * input``."""
def scalar_tensor(s: _Scalar, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """The 0-dim tensor of a number, of the default dtype if none is given."""
@overload
def scatter(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``input`` with elements of ``src``, or one number, where ``gather`` would read; ``reduce`` may be "add" or"""
@overload
def scatter(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, reduce: _str, out: Tensor | None = ...) -> Tensor:
    """``input`` with elements of ``src``, or one number, where ``gather`` would read; ``reduce`` may be "add" or"""
@overload
def scatter(input: Tensor, dim: _int, index: Tensor, value: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """``input`` with elements of ``src``, or one number, where ``gather`` would read; ``reduce`` may be "add" or"""
@overload
def scatter(input: Tensor, dim: _int, index: Tensor, value: _Scalar, *, reduce: _str, out: Tensor | None = ...) -> Tensor:
    """``input`` with elements of ``src``, or one number, where ``gather`` would read; ``reduce`` may be "add" or"""
def scatter_add(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``input`` with every element of ``src`` added where ``gather`` would read."""
def scatter_reduce(input: Tensor, dim: _int, index: Tensor, src: Tensor, reduce: _str, *, include_self: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """``input`` reduced ("sum", "prod", "mean", "amax", "amin") with all elements of ``src`` that go to a place."""
@overload
def searchsorted(sorted_sequence: Tensor, input: Tensor, *, out_int32: _bool = ..., right: _bool = ..., side: _str | None = ..., sorter: Tensor | None = ..., out: Tensor | None = ...) -> Tensor:
    """Where each number of ``input`` would be inserted into ``sorted_sequence``, ascending along its last dimension."""
@overload
def searchsorted(sorted_sequence: Tensor, self: _Scalar, *, out_int32: _bool = ..., right: _bool = ..., side: _str | None = ..., sorter: Tensor | None = ..., out: Tensor | None = ...) -> Tensor:
    """Where each number of ``input`` would be inserted into ``sorted_sequence``, ascending along its last dimension."""
def seed() -> _int:
    """Start the default generator with a seed that nobody can predict, and return it."""
def segment_reduce(data: Tensor, reduce: _str, *, lengths: Tensor | None = ..., indices: Tensor | None = ..., offsets: Tensor | None = ..., axis: _int = ..., unsafe: _bool = ..., initial: _Scalar | None = ...) -> Tensor:
    """The ``"sum"``, ``"mean"``, ``"max"``, ``"min"`` or ``"prod"`` of each segment of a dimension."""
def select(input: Tensor, dim: _int, index: _int | Tensor) -> Tensor:
    """The slice of ``input`` at ``index`` of dimension ``dim``, without that dimension."""
def select_copy(input: Tensor, dim: _int, index: _int | Tensor, *, out: Tensor | None = ...) -> Tensor:
    """What ``select`` shows, as a tensor of its own; it takes and raises what ``select`` does."""
def select_scatter(input: Tensor, src: Tensor, dim: _int, index: _int | Tensor) -> Tensor:
    """``input`` with ``src`` at ``index`` of dimension ``dim``, as a new tensor."""
def selu(input: Tensor) -> Tensor:
    """``elu`` with constants that keep mean 0 and variance 1 through layers (Klambauer et al., 2017)."""
def selu_(input: Tensor) -> Tensor:
    """In-place version of ``selu``, with the same arguments."""
def set_default_tensor_type(t: Any) -> None:
    """Make the dtype of a type class (or its name, ``"torch.DoubleTensor"``) the default dtype."""
def set_deterministic_debug_mode(debug_mode: _int | _str) -> None:
    """``use_deterministic_algorithms`` in other words."""
def set_float32_matmul_precision(precision: _str) -> None:
    """Keep ``"highest"``, ``"high"`` or ``"medium"``. Products are computed as precisely as for ``"highest"``, always."""
def set_flush_denormal(mode: _bool) -> _bool:
    """False: how the processor treats denormal numbers is not changed here."""
def set_num_interop_threads(num: Any) -> None:
    """Keep a number for ``get_num_interop_threads``, once. It changes no speed, as ``set_num_threads`` doesn't."""
def set_num_threads(num: Any) -> None:
    """Keep a number for ``get_num_threads``. It changes no speed: XLA's threads are made when it starts, one for each"""
def set_rng_state(new_state: Any) -> None:
    """Bring the default generator into a state that ``get_rng_state`` gave."""
def sgn(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``x / |x|``, 0 at 0."""
def sigmoid(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``1 / (1 + exp(-x))``."""
def sigmoid_(input: Tensor) -> Tensor:
    """In-place version of ``sigmoid``."""
def sign(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """-1, 0 or 1; 0 of nan."""
def signbit(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Whether the sign is set; -0.0 has it."""
def sin(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The sine, of radians."""
def sin_(input: Tensor) -> Tensor:
    """In-place version of ``sin``."""
def sinc(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``sin(pi x) / (pi x)``, 1 at 0."""
def sinc_(input: Tensor) -> Tensor:
    """In-place version of ``sinc``."""
def sinh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The hyperbolic sine."""
def sinh_(input: Tensor) -> Tensor:
    """In-place version of ``sinh``."""
def slice_copy(input: Tensor, dim: _int = ..., start: _int | Tensor | None = ..., end: _int | Tensor | None = ..., step: _int | Tensor = ..., *, out: Tensor | None = ...) -> Tensor:
    """What ``slice`` shows, as a tensor of its own; it takes and raises what ``slice`` does."""
def slice_scatter(input: Tensor, src: Tensor, dim: _int = ..., start: _int | Tensor | None = ..., end: _int | Tensor | None = ..., step: _int | Tensor = ..., *, out: Tensor | None = ...) -> Tensor:
    """``input`` with ``src`` in place of a slice of dimension ``dim``, as a new tensor."""
def slogdet(input: Tensor, *, out: Sequence[Tensor] | None = ...) -> return_types.slogdet:
    """The sign of the determinant, and the logarithm of its absolute value: ``linalg.slogdet``."""
def softmax(input: Tensor, dim: _int, dtype: _dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """``exp(input)`` over its sum along ``dim``, computed in ``dtype`` if that is given; nan where all are -inf."""
@overload
def sort(input: Tensor, *, stable: _bool | None, dim: _int = ..., descending: _bool = ..., out: Sequence[Tensor] | None = ...) -> return_types.sort:
    """The elements along ``dim`` in order, a named tuple of ``values`` and ``indices``; nan is the largest."""
@overload
def sort(input: Tensor, dim: _int = ..., descending: _bool = ..., *, out: Sequence[Tensor] | None = ...) -> return_types.sort:
    """The elements along ``dim`` in order, a named tuple of ``values`` and ``indices``; nan is the largest."""
sparse_bsc: _layout
sparse_bsr: _layout
sparse_coo: _layout
sparse_csc: _layout
sparse_csr: _layout
def split(tensor: Tensor, split_size_or_sections: Any, dim: _int = ...) -> tuple[Tensor, ...]:
    """Pieces of a dimension: of one length (the last may be shorter), or of the lengths in a list."""
def split_copy(input: Tensor, split_size: _int | Tensor, dim: _int = ..., *, out: Sequence[Tensor] | None = ...) -> tuple[Tensor, ...]:
    """What ``split`` shows, as a tensor of its own; it takes and raises what ``split`` does."""
def split_with_sizes(input: Tensor, split_sizes: Sequence[_int], dim: _int = ...) -> tuple[Tensor, ...]:
    """Pieces of a dimension, of these lengths."""
def split_with_sizes_copy(input: Tensor, split_sizes: Sequence[_int], dim: _int = ..., *, out: Sequence[Tensor] | None = ...) -> tuple[Tensor, ...]:
    """What ``split_with_sizes`` shows, as a tensor of its own; it takes and raises what ``split_with_sizes`` does."""
def spmm(input: Tensor, mat2: Tensor) -> Tensor:
    """``mm``, under the name that it has for sparse matrices."""
def sqrt(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The square root."""
def sqrt_(input: Tensor) -> Tensor:
    """In-place version of ``sqrt``."""
def square(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``input ** 2``; of booleans int64."""
def square_(input: Tensor) -> Tensor:
    """In-place version of ``square``."""
@overload
def squeeze(input: Tensor) -> Tensor:
    """``input`` without its dimensions of length 1, or without those among ``dim``."""
@overload
def squeeze(input: Tensor, dim: _int) -> Tensor:
    """``input`` without its dimensions of length 1, or without those among ``dim``."""
@overload
def squeeze(input: Tensor, dim: Sequence[_int]) -> Tensor:
    """``input`` without its dimensions of length 1, or without those among ``dim``."""
@overload
def squeeze_copy(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """What ``squeeze`` shows, as a tensor of its own; it takes and raises what ``squeeze`` does."""
@overload
def squeeze_copy(input: Tensor, dim: _int, *, out: Tensor | None = ...) -> Tensor:
    """What ``squeeze`` shows, as a tensor of its own; it takes and raises what ``squeeze`` does."""
@overload
def squeeze_copy(input: Tensor, dim: Sequence[_int], *, out: Tensor | None = ...) -> Tensor:
    """What ``squeeze`` shows, as a tensor of its own; it takes and raises what ``squeeze`` does."""
def stack(tensors: Sequence[Tensor], dim: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Tensors of one shape side by side along a new dimension."""
@overload
def std(input: Tensor, dim: Sequence[_int] | _int | None, unbiased: _bool = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The standard deviation, of all or over ``dim``: the root of ``var``. Also ``std(unbiased)``."""
@overload
def std(input: Tensor, dim: Sequence[_int] | _int | None = ..., *, correction: _Scalar | None = ..., keepdim: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The standard deviation, of all or over ``dim``: the root of ``var``. Also ``std(unbiased)``."""
@overload
def std(input: Tensor, unbiased: _bool = ...) -> Tensor:
    """The standard deviation, of all or over ``dim``: the root of ``var``. Also ``std(unbiased)``."""
@overload
def std_mean(input: Tensor, dim: Sequence[_int] | _int | None, unbiased: _bool = ..., keepdim: _bool = ...) -> tuple[Tensor, Tensor]:
    """Standard deviation and mean: see ``std``."""
@overload
def std_mean(input: Tensor, dim: Sequence[_int] | _int | None = ..., *, correction: _Scalar | None = ..., keepdim: _bool = ...) -> tuple[Tensor, Tensor]:
    """Standard deviation and mean: see ``std``."""
@overload
def std_mean(input: Tensor, unbiased: _bool = ...) -> tuple[Tensor, Tensor]:
    """Standard deviation and mean: see ``std``."""
def stft(input: Tensor, n_fft: _int, hop_length: _int | None = ..., win_length: _int | None = ..., window: Tensor | None = ..., center: _bool = ..., pad_mode: _str = ..., normalized: _bool = ..., onesided: _bool | None = ..., return_complex: _bool | None = ..., align_to_window: _bool | None = ...) -> Tensor:
    """The Fourier transforms of windows on a signal, ``hop_length`` (``n_fft // 4``) apart."""
strided: _layout
def sub(input: Tensor | _Number, other: Tensor | _Number, *, alpha: _Scalar = ..., out: Tensor | _Number | None = ...) -> Tensor:
    """``input - alpha * other``, broadcast; either may be a number."""
@overload
def subtract(input: Tensor | _Number, other: Tensor | _Number, *, alpha: _Scalar = ..., out: Tensor | _Number | None = ...) -> Tensor:
    """``input - alpha * other``, broadcast; either may be a number."""
@overload
def subtract(input: Tensor | _Number, other: _Scalar, alpha: _Scalar = ...) -> Tensor:
    """``input - alpha * other``, broadcast; either may be a number."""
@overload
def sum(input: Tensor, *, dtype: _dtype | None = ...) -> Tensor:
    """The sum of all elements, or over ``dim`` (an int, ints, or None or () for all)."""
@overload
def sum(input: Tensor, dim: Sequence[_int] | _int | None, keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """The sum of all elements, or over ``dim`` (an int, ints, or None or () for all)."""
def svd(input: Tensor, some: _bool = ..., compute_uv: _bool = ..., *, out: Sequence[Tensor] | None = ...) -> return_types.svd:
    """``U``, ``S`` and ``V`` (not its adjoint) of matrices: ``linalg.svd`` in its older form."""
def svd_lowrank(A: Tensor, q: _int | None = ..., niter: _int | None = ..., M: Tensor | None = ...) -> tuple:
    """``(U, S, V)`` of the ``q`` largest singular values of ``A`` (``A - M``), nearly, from random directions."""
def swapaxes(input: Tensor, axis0: _int, axis1: _int) -> Tensor:
    """``input`` with two dimensions exchanged."""
def swapdims(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """``input`` with two dimensions exchanged."""
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix; a tensor of fewer dimensions as it is."""
def t_copy(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """What ``t`` shows, as a tensor of its own; it takes and raises what ``t`` does."""
def take(input: Tensor, index: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The elements at places counted in row-major order (negative ones from the end), in the shape of ``index``."""
def take_along_dim(input: Tensor, indices: Tensor, dim: _int | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """``gather`` with the other dimensions broadcast; without ``dim``, from all elements in a row."""
def tan(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The tangent, of radians."""
def tan_(input: Tensor) -> Tensor:
    """In-place version of ``tan``."""
def tanh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The hyperbolic tangent."""
def tanh_(input: Tensor) -> Tensor:
    """In-place version of ``tanh``."""
def tensor(data: Any, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """A new tensor with a copy of ``data``: a number, nested sequences of numbers, an array, a tensor."""
@overload
def tensor_split(input: Tensor, indices: Sequence[_int], dim: _int = ...) -> tuple[Tensor, ...]:
    """A dimension in so many pieces as equal as can be, or cut before each of these indices."""
@overload
def tensor_split(input: Tensor, tensor_indices_or_sections: Tensor, dim: _int = ...) -> tuple[Tensor, ...]:
    """A dimension in so many pieces as equal as can be, or cut before each of these indices."""
@overload
def tensor_split(input: Tensor, sections: _int | Tensor, dim: _int = ...) -> tuple[Tensor, ...]:
    """A dimension in so many pieces as equal as can be, or cut before each of these indices."""
def tensordot(a: Tensor, b: Tensor, dims: Any = ...) -> Tensor:
    """The sums of products along pairs of dimensions: the last ``dims`` of ``a`` with the first of ``b``, or two lists."""
def threshold(input: Tensor, threshold: _Scalar, value: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """``input`` where above the threshold, ``value`` elsewhere. ``inplace`` writes it to ``input``."""
def threshold_(input: Tensor, threshold: _Scalar, value: _Scalar) -> Tensor:
    """In-place version of ``threshold``, with the same arguments."""
def tile(input: Tensor, dims: Sequence[_int]) -> Tensor:
    """``input`` laid side by side; counts belong to the last dimensions, missing ones are 1."""
def to_dlpack(data: Any) -> Any:
    """A DLPack capsule that shares the data of a tensor, which may require grad."""
def topk(input: Tensor, k: _int | Tensor, dim: _int = ..., largest: _bool = ..., sorted: _bool = ..., *, out: Sequence[Tensor] | None = ...) -> return_types.topk:
    """The ``k`` largest (or smallest) elements along ``dim``, best first: a named tuple of ``values`` and ``indices``."""
def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix."""
def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """``input`` with two dimensions exchanged."""
def transpose_copy(input: Tensor, dim0: _int, dim1: _int, *, out: Tensor | None = ...) -> Tensor:
    """What ``transpose`` shows, as a tensor of its own; it takes and raises what ``transpose`` does."""
@overload
def trapezoid(y: Tensor, x: Tensor, *, dim: _int = ...) -> Tensor:
    """The integral of ``y`` along ``dim`` by the trapezoidal rule, at points ``x`` or at distances ``dx`` (1)."""
@overload
def trapezoid(y: Tensor, *, dx: _Scalar = ..., dim: _int = ...) -> Tensor:
    """The integral of ``y`` along ``dim`` by the trapezoidal rule, at points ``x`` or at distances ``dx`` (1)."""
@overload
def trapz(y: Tensor, *, dx: _float | Tensor = ..., dim: _int = ...) -> Tensor:
    """The integral of ``y`` along ``dim`` by the trapezoidal rule, at points ``x`` or at distances ``dx`` (1)."""
@overload
def trapz(y: Tensor, x: Tensor, *, dim: _int = ...) -> Tensor:
    """The integral of ``y`` along ``dim`` by the trapezoidal rule, at points ``x`` or at distances ``dx`` (1)."""
def triangular_solve(input: Tensor, A: Tensor, upper: _bool = ..., transpose: _bool = ..., unitriangular: _bool = ..., *, out: Sequence[Tensor] | None = ...) -> return_types.triangular_solve:
    """The X of ``A X = input`` for the upper or the lower triangle of A, or its ``transpose``: (solution, cloned A)."""
def tril(input: Tensor, diagonal: _int | Tensor = ..., *, out: Tensor | None = ...) -> Tensor:
    """The lower triangles of matrices, up to a diagonal; the rest is zero."""
def tril_indices(row: _int, col: _int, offset: _int = ..., *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """The rows and columns of the elements on and below a diagonal, of shape (2, count)."""
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: _float | Tensor = ..., p: _float | Tensor = ..., eps: _float | Tensor = ..., swap: _bool = ..., reduction: _int = ...) -> Tensor:
    """``nn.functional.triplet_margin_loss``, with the reduction as a number (``named``)."""
def triu(input: Tensor, diagonal: _int | Tensor = ..., *, out: Tensor | None = ...) -> Tensor:
    """The upper triangles of matrices, from a diagonal on; the rest is zero."""
def triu_indices(row: _int, col: _int, offset: _int = ..., *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """The rows and columns of the elements on and above a diagonal, of shape (2, count)."""
@overload
def true_divide(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | _Number | None = ...) -> Tensor:
    """``input / other``, broadcast; integers are divided as floats."""
@overload
def true_divide(input: Tensor | _Number, other: _Scalar) -> Tensor:
    """``input / other``, broadcast; integers are divided as floats."""
def trunc(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The next whole number towards 0."""
def trunc_(input: Tensor) -> Tensor:
    """In-place version of ``trunc``."""
def typename(obj: Any) -> _str:
    """PyTorch's name of the type of a tensor, or the qualified name of a class, or of an object's class."""
def unbind(input: Tensor, dim: _int = ...) -> tuple[Tensor, ...]:
    """The slices along a dimension, without that dimension."""
def unbind_copy(input: Tensor, dim: _int = ..., *, out: Sequence[Tensor] | None = ...) -> tuple[Tensor, ...]:
    """What ``unbind`` shows, as a tensor of its own; it takes and raises what ``unbind`` does."""
def unflatten(input: Tensor, dim: _int, sizes: Sequence[_int]) -> Tensor:
    """The dimension ``dim`` spread over several of lengths ``sizes``, one of which may be -1."""
def unfold_copy(input: Tensor, dimension: _int, size: _int, step: _int, *, out: Tensor | None = ...) -> Tensor:
    """What ``unfold`` shows, as a tensor of its own; it takes and raises what ``unfold`` does."""
def unique(input: Tensor, sorted: _bool = ..., return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...) -> Any:
    """The distinct elements in ascending order, or the distinct slices along ``dim``; each nan is distinct."""
def unique_consecutive(input: Tensor, return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...) -> Any:
    """The first element (or slice along ``dim``) of every run of equal ones: see ``unique``."""
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """The indices, one int64 tensor for each dimension of ``shape``, of places counted in row-major order."""
def unsafe_chunk(input: Tensor, chunks: _int, dim: _int = ...) -> tuple[Tensor, ...]:
    """``chunk`` into tensors that are not views for autograd."""
def unsafe_split(input: Tensor, split_size: _int | Tensor, dim: _int = ...) -> tuple[Tensor, ...]:
    """``split`` into tensors that are not views for autograd, which may be written to if ``input`` isn't used then."""
def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[_int], dim: _int = ...) -> tuple[Tensor, ...]:
    """``split_with_sizes`` into tensors that are not views for autograd."""
def unsqueeze(input: Tensor, dim: _int) -> Tensor:
    """``input`` with a dimension of length 1 inserted at ``dim``."""
def unsqueeze_copy(input: Tensor, dim: _int, *, out: Tensor | None = ...) -> Tensor:
    """What ``unsqueeze`` shows, as a tensor of its own; it takes and raises what ``unsqueeze`` does."""
def use_deterministic_algorithms(mode: Any, *, warn_only: _bool = ...) -> None:
    """Say whether results must be the same each time: then no kernel runs by NumPy first and by XLA later."""
def vander(x: Tensor, N: _int | None = ..., increasing: _bool = ...) -> Tensor:
    """The powers of the elements of a vector (n,) as a matrix (n, N): falling to 0, or ``increasing`` from 0 on."""
@overload
def var(input: Tensor, dim: Sequence[_int] | _int | None, unbiased: _bool = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The variance, of all or over ``dim``: squared distances from the mean, summed, over the number of elements less"""
@overload
def var(input: Tensor, dim: Sequence[_int] | _int | None = ..., *, correction: _Scalar | None = ..., keepdim: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The variance, of all or over ``dim``: squared distances from the mean, summed, over the number of elements less"""
@overload
def var(input: Tensor, unbiased: _bool = ...) -> Tensor:
    """The variance, of all or over ``dim``: squared distances from the mean, summed, over the number of elements less"""
@overload
def var_mean(input: Tensor, dim: Sequence[_int] | _int | None, unbiased: _bool = ..., keepdim: _bool = ...) -> tuple[Tensor, Tensor]:
    """Variance and mean: see ``var``."""
@overload
def var_mean(input: Tensor, dim: Sequence[_int] | _int | None = ..., *, correction: _Scalar | None = ..., keepdim: _bool = ...) -> tuple[Tensor, Tensor]:
    """Variance and mean: see ``var``."""
@overload
def var_mean(input: Tensor, unbiased: _bool = ...) -> tuple[Tensor, Tensor]:
    """Variance and mean: see ``var``."""
def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``dot`` with ``input`` conjugated."""
def view_as_complex(input: Tensor) -> Tensor:
    """A last dimension of length 2, real and imaginary part, as complex numbers."""
def view_as_complex_copy(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """What ``view_as_complex`` shows, as a tensor of its own; it takes and raises what ``view_as_complex`` does."""
def view_as_real(input: Tensor) -> Tensor:
    """The real and imaginary parts of a complex tensor along a new last dimension."""
def view_as_real_copy(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """What ``view_as_real`` shows, as a tensor of its own; it takes and raises what ``view_as_real`` does."""
@overload
def view_copy(input: Tensor, dtype: _dtype, *, out: Tensor | None = ...) -> Tensor:
    """What ``view`` shows, as a tensor of its own; it takes and raises what ``view`` does."""
@overload
def view_copy(input: Tensor, size: Sequence[_int], *, out: Tensor | None = ...) -> Tensor:
    """What ``view`` shows, as a tensor of its own; it takes and raises what ``view`` does."""
@overload
def vsplit(input: Tensor, sections: _int) -> tuple[Tensor, ...]:
    """Pieces along dimension 0."""
@overload
def vsplit(input: Tensor, indices: Sequence[_int]) -> tuple[Tensor, ...]:
    """Pieces along dimension 0."""
def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Tensors one below the other; vectors are rows."""
@overload
def where(condition: Tensor) -> tuple[Tensor, ...]:
    """``where(condition, input, other)``: ``input`` where the condition holds, ``other`` elsewhere, broadcast."""
@overload
def where(condition: Tensor, input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``where(condition, input, other)``: ``input`` where the condition holds, ``other`` elsewhere, broadcast."""
@overload
def where(condition: Tensor, self: _Scalar, other: Tensor) -> Tensor:
    """``where(condition, input, other)``: ``input`` where the condition holds, ``other`` elsewhere, broadcast."""
@overload
def where(condition: Tensor, input: Tensor, other: _Scalar) -> Tensor:
    """``where(condition, input, other)``: ``input`` where the condition holds, ``other`` elsewhere, broadcast."""
@overload
def where(condition: Tensor, self: _Scalar, other: _Scalar) -> Tensor:
    """``where(condition, input, other)``: ``input`` where the condition holds, ``other`` elsewhere, broadcast."""
@overload
def xlogy(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``input * log(other)``, 0 where ``input`` is 0; either may be a number."""
@overload
def xlogy(self: _Scalar, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``input * log(other)``, 0 where ``input`` is 0; either may be a number."""
@overload
def xlogy(input: Tensor, other: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """``input * log(other)``, 0 where ``input`` is 0; either may be a number."""
@overload
def xlogy_(input: Tensor, other: Tensor) -> Tensor:
    """In-place version of ``xlogy``."""
@overload
def xlogy_(input: Tensor, other: _Scalar) -> Tensor:
    """In-place version of ``xlogy``."""
def zero_(input: Tensor) -> Tensor:
    """Replace every element by zero."""
@overload
def zeros(size: Sequence[_int], *, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """Zeros of a size, of the default dtype if none is given."""
@overload
def zeros(*size: _int, out: Tensor | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """Zeros of a size, of the default dtype if none is given."""
def zeros_like(input: Tensor, *, memory_format: _memory_format | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """Zeros of the size, dtype and device of ``input``; they don't require grad unless asked to."""
