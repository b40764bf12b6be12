"""The host's memory and the devices': how values are made from NumPy arrays, read back, and moved.

Note [Committed values]
JAX compiles a kernel anew when one of its inputs becomes *committed* (bound to a device) and was not before. In a
process with a single CPU device no value needs to be, and none is: that is also the fastest way to make one. Where
there are several devices, all values are committed, each to the device its tensor names.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any
from weakref import WeakValueDictionary

import jax
import jax.dlpack
import jax.numpy as jnp
import numpy as np

from tapegrad._src.caches import Cache, remembered, weigh
from tapegrad._src.execution.array_functions.layouts import is_apart, is_whole, made_on, sharded
from tapegrad._src.execution.data.devices import META, device, from_jax, jax_device, only_device
from tapegrad._src.execution.data.dtypes import canonical, dtype
from tapegrad._src.execution.data.opaque import Meta, Opaque
from tapegrad._src.execution.data.sizes import MEMORY_ERRORS, check_size, is_symbolic, out_of_memory
from tapegrad._src.execution.data.values import materialized
from tapegrad._src.execution.kernels.deferred_checks import expected, look
from tapegrad._src.execution.kernels.kernel import Kernel, Shaped, kernel_for
from tapegrad._src.execution.recording.capturing import capturing
from tapegrad._src.execution.state.processes import processes, ranks_of, spans
from tapegrad._src.execution.tiers.host_trace import flat
from tapegrad._src.execution.tiers.settings import hosted
from tapegrad._src.execution.tiers.xla_copies import as_jax
from tapegrad._src.tape.modes import switched, thread
from tapegrad.errors import message

_COPIED_BY_KERNEL = 1 << 16  # bytes: above, copying costs more than the call
SEEN_ENOUGH = 4  # how often a small shape comes before a kernel is compiled for it
_FILLED_ON_HOST = 1 << 20  # elements: above, constants are made where they are needed

NO_DATA = "Cannot copy out of meta tensor; no data!"

_copy = Shaped(flat(lambda x: x, own=True), name="from_host")
_seen = Cache("shapes seen", nbytes=256)


def committed() -> bool:
    """Tell whether values are bound to their devices. See Note [Committed values]."""
    return only_device() is None


@cache
def has_accelerator() -> bool:
    """Tell whether this process has another device than CPUs."""
    return jax.default_backend() != "cpu"


@cache
def resolve(d: device) -> device:
    """The device that ``d`` means, with its index: ``cuda`` is ``cuda:0``, ``cpu:0`` is ``cpu``.

    RuntimeError if this process has no such device.
    """
    if d.sharded:
        return d
    return META if d.type == "meta" else from_jax(jax_device(d))


def from_host(array: np.ndarray, on: device) -> Any:
    """The value of a NumPy array on a device. The array must not be written to afterwards: it may be shared.

    >>> from_host(np.arange(3), device("cpu")).dtype
    dtype('int64')
    """
    if on is META:
        return Meta(array.shape, array.dtype)
    array = canonical(array)
    if capturing.by is not None and thread.modes.deferred:
        capturing.by.note_constant(array)
        return _copy(array)
    if array.nbytes <= _COPIED_BY_KERNEL and type(array) is np.ndarray and hosted():
        return array
    if array.nbytes <= _COPIED_BY_KERNEL and not committed():
        key = array.shape, array.dtype
        seen = _seen.get(key) or 0
        if seen >= SEEN_ENOUGH:
            return _copy(array)
        _seen.replace(key, seen + 1)
    return _put(array, on)


def _put(value: Any, on: device) -> Any:
    if on.sharded:
        return sharded(value, on)  # type: ignore[arg-type]
    value = materialized(value)
    if type(value) is np.ndarray and type(on) is device and value.nbytes <= _COPIED_BY_KERNEL and hosted():
        jax_device(on)
        return value
    target = jax_device(on)  # even where it is not needed: it says if there is none
    with jax.enable_x64(True):
        return jax.device_put(value, target) if committed() else jax.device_put(value)


def own_value(array: np.ndarray, on: device) -> Any:
    """The value of a NumPy array that nobody else has, also while jax traces or a program is captured."""
    with jax.core.eval_context():
        return _put(array, on)


def to_host(value: Any) -> np.ndarray:
    """The elements of a value as a read-only NumPy array, when they have been computed.

    Raises:
        jax.errors.TracerArrayConversionError: the value is a tracer.
        Exception: what a check of a compiled call has found in the meantime. See Note [Late errors].
        NotImplementedError: it has none, on the device ``meta``.
    """
    if type(value) is Meta:
        raise NotImplementedError(NO_DATA)
    if capturing.by is not None and not capturing.by.may_read(value):
        capturing.by.demand()
    try:
        array = whole_array(materialized(value))
    except MEMORY_ERRORS as error:
        raise out_of_memory(error) from None
    if expected.findings:
        look()
    return array


def element_of(value: Any) -> bool | int | float | complex:
    """The only element of a value, as a Python number. It raises what ``to_host`` does."""
    if type(value) is np.ndarray and capturing.by is None and not expected.findings:
        return value.item()  # most are read so: the loss of a step
    return to_host(value).item()


def whole_array(value: Any) -> np.ndarray:
    """The elements of an array, read-only.

    Raises:
        RuntimeError: other processes have some of them.
    """
    if is_apart(value):
        raise RuntimeError(message(
            "this process does not hold all elements of the tensor, so it can't read them", got=value.sharding,
            hint="read x.full_tensor() (on all processes: it communicates), or what is here, x.to_local()",
        ))  # fmt: skip
    if processes.wait_for is not None and spans(value):
        array = processes.wait_for(lambda: read_only(value), ranks_of(value))
        processes.mark(ranks_of(value))  # type: ignore[misc]
        return array
    return read_only(value)


def read_only(value: Any) -> np.ndarray:
    """The elements of an array, in row-major order, as a NumPy array that can't be written to."""
    if type(value) is not np.ndarray:
        return np.asarray(value)
    array = value.view() if value.flags.c_contiguous else value.copy(order="C")
    array.flags.writeable = False
    return array


def is_immutable(array: Any) -> bool:
    """Tell whether something is an array of jax's, which nobody may write to."""
    return isinstance(array, jax.Array)


def is_given_away(value: Any) -> bool:
    """Tell whether XLA has put something else where the elements of a value were."""
    return isinstance(value, jax.Array) and value.is_deleted()


def may_look() -> bool:
    """Tell whether elements may be looked at: not while what is computed is captured for later. See Note [Late
    errors]."""
    return capturing.by is None


def address(value: Any) -> int:
    """The address of a value's elements in its device's memory: of a NumPy array, where they do for jax."""
    return as_jax(materialized(value)).unsafe_buffer_pointer()


def is_readable(value: Any) -> bool:
    """Tell whether the elements of a value can be had: it is not traced, has some, and none are computed for later
    only."""
    value = innermost(value)
    return may_look() and type(value) is not Meta and not isinstance(value, jax.core.Tracer) and is_whole(value)


def is_traced(value: Any) -> bool:
    """Tell whether a value stands for what a traced function will be given, and has no elements yet."""
    return isinstance(innermost(value), jax.core.Tracer)


def array_of(value: Any) -> Any:
    """The array of jax's that a value is at last, with a dimension in front for each level that maps."""
    return as_jax(materialized(innermost(value)))


def innermost(value: Any) -> Any:
    """The value that has the elements of one, computed or not; a ``Meta`` if there are none."""
    while isinstance(value, Opaque) and value.below is not None:
        value = value.below
    return value


def transfer(value: Any, on: device) -> Any:
    """The value on another device.

    Raises:
        NotImplementedError: it has no elements, on the device ``meta``.
    """
    if on is META:
        return Meta(value.shape, value.dtype)
    if type(value) is Meta:
        raise NotImplementedError(NO_DATA)
    return _put(value, on)


def filled(shape: tuple[int, ...], number: Any, d: dtype, on: device) -> Any:
    """A value whose every element is ``number``, which ``d`` must be able to hold.

    >>> from tapegrad._src.execution.data.dtypes import int16
    >>> filled((2,), 7, int16, device("cpu")).tolist()
    [7, 7]
    """
    check_size(shape, d.itemsize, on.type)
    if on is META:
        return Meta(shape, d.numpy)
    if is_symbolic(shape):
        return jnp.full(shape, number, d.numpy)
    if math.prod(shape) <= _FILLED_ON_HOST:
        return from_host(np.full(shape, number, d.numpy), on)
    fill = kernel_for(_fill, tuple(shape), d.is_64bit, made_on(on))
    return fill(from_host(np.asarray(number, d.numpy), on.free))


def counted(start: int, count: Any, step: int, d: dtype) -> Any:
    """A value of ``count`` integers from ``start`` on, where that is a symbol."""
    return (jax.lax.iota(np.int64, count) * step + start).astype(d.numpy)


def length_value(length: Any) -> Any:
    """A value of int64 for a length that is a symbol."""
    return jnp.asarray(length, np.int64)


@remembered("constants")
def ones(shape: tuple[int, ...], d: dtype, on: device) -> Any:
    """A value of ones, kept: the seeds of backward calls. Values are immutable, so that sharing it is safe."""
    with jax.core.eval_context(), switched(deferred=False):  # neither a tracer nor what is deferred may be kept
        value = filled(shape, 1, d, on)
        _kept[id(value)] = value
        weigh(value, value.nbytes)
        return value


_kept: WeakValueDictionary[int, Any] = WeakValueDictionary()


def is_kept(value: Any) -> bool:
    """Tell whether a value is one of the constants of ones that are kept here."""
    return _kept.get(id(value)) is value


def _fill(shape: tuple[int, ...], wide: bool, made: Callable) -> Any:
    return Kernel(lambda x: made(jnp.full(shape, x)), name="full", wide=wide).dispatcher()


def from_dlpack(array: Any, copy: bool | None) -> Any:
    """The value that shares its data with an object which has ``__dlpack__``, or has a copy of it.

    Raises:
        BufferError: JAX can't read it, because it has gaps for example.
    """
    with jax.enable_x64(True):
        try:
            value = jax.dlpack.from_dlpack(array)
        except jax.errors.JaxRuntimeError as error:
            hint = f"give a contiguous copy of it: {error}"
            raise BufferError(message("JAX can't share this data", hint=hint)) from None
        return jnp.array(value, copy=True) if copy else value
