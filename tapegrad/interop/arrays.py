"""Tensors as arrays of jax and arrays as tensors, without a copy; single ones and whole trees of them."""

from __future__ import annotations

import dis
import sys
from functools import cache
from types import CodeType, FrameType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.caches import tabulated
from tapegrad._src.execution.array_functions import host
from tapegrad._src.execution.array_functions.host import committed, transfer
from tapegrad._src.execution.data.devices import device_of, mesh_device_of
from tapegrad._src.execution.data.opaque import Opaque
from tapegrad._src.execution.recording.capturing import capturing
from tapegrad._src.functions.construction import from_numpy
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.dual import tangent_of
from tapegrad._src.tensor.lifted import fresh
from tapegrad._src.tensor.tensor import Tensor, describe, value_of
from tapegrad.errors import message

WAY_OUT = (
    "jax does not know the tape, so its history would end there; put the function on the tape with "
    "tapegrad.interop.from_jax(function), or give jax the numbers alone, with tensor.detach().jax()"
)


@public("Tensor", name="jax")
def array_of(self: Tensor) -> jax.Array:
    """The elements as a jax array, which shares the tensor's memory. A later write to the tensor does not reach it.

    Raises:
        RuntimeError: the tensor requires grad, in grad mode; it has a tangent; or it is inside a function transform.

    >>> torch.ones(2).jax()
    Array([1., 1.], dtype=float32)
    """
    if self._spec.requires_grad and thread.modes.grad:
        raise RuntimeError("Can't call jax() on Tensor that requires grad. Use tensor.detach().jax() instead.")
    if tangent_of(self) is not None:
        raise RuntimeError("Can't call jax() on Tensor that has a forward gradient. Take its primal first.")
    value = value_of(self)
    if isinstance(value, Opaque):
        raise RuntimeError("Can't call jax() on Tensor inside a function transform: there is no array of it yet.")
    if capturing.by is not None and not capturing.by.may_read(value):
        if not host.is_traced(value) and _only_its_class_counts(sys._getframe(1)):
            return _without_elements()
        capturing.by.demand()
    return host.array_of(value)


def _only_its_class_counts(frame: FrameType | None) -> bool:
    """Tell whether the code that asks for an array does no more with it than ``isinstance(x.jax(), ...)``."""
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("tapegrad._src."):
        frame = frame.f_back
    if frame is None or not _is_asked_for_class(frame.f_code, frame.f_lasti):
        return False
    return frame.f_globals.get("isinstance", frame.f_builtins.get("isinstance")) is isinstance


@tabulated(256)
def _is_asked_for_class(code: CodeType, offset: int) -> bool:
    """Tell whether the result of a call in code is at once the first argument of ``isinstance``, and nothing else."""
    before = [one for one in dis.get_instructions(code) if one.offset <= offset and one.opname not in _SILENT][-4:]
    if len(before) < 4 or any(one.is_jump_target for one in before[1:]):
        return False
    asks, loads, takes, calls = before
    return (
        (asks.opname, asks.argval) == ("LOAD_GLOBAL", "isinstance") and loads.opname.startswith("LOAD_FAST")
        and takes.opname in ("LOAD_METHOD", "LOAD_ATTR") and takes.argval == "jax"
        and (calls.opname, calls.argval) == ("CALL", 0)
    )  # fmt: skip


_SILENT = frozenset({"CACHE", "EXTENDED_ARG", "PUSH_NULL", "NOP", "PRECALL", "RESUME"})


@cache
def _without_elements() -> jax.Array:
    """An array of which only the class can be had."""
    with jax.core.eval_context():
        array = jax.device_put(np.zeros(()))
        array.delete()
        return array


@public("Tensor")
def __jax_array__(self: Tensor) -> jax.Array:
    """The array that jax's functions see of a tensor that is given to them, if no history would be lost.

    Raises:
        TypeError: it requires grad, has a tangent, or is inside a function transform.
    """
    try:
        return array_of(self)
    except RuntimeError as error:
        raise TypeError(message("a function of jax was given a tensor that is on the tape", hint=WAY_OUT)) from error


def from_jax_array(array: jax.Array, *, requires_grad: bool = False) -> Tensor:
    """A tensor that shares the memory of a jax array (or stands for a tracer). Arrays never change: a write to the
    tensor gives it memory of its own.

    Args:
        array: of any dtype that tensors have, float64 and int64 too, whatever jax's configuration is.
        requires_grad: whether the tensor is to require grad.

    Raises:
        TypeError: no jax array, or one of a dtype that tensors don't have.
        RuntimeError: it is spread over several devices, and its sharding names no mesh. An array that is spread gives a
            tensor with its layout.

    >>> import jax.numpy as jnp
    >>> from_jax_array(jnp.arange(3.0), requires_grad=True)
    tensor([0., 1., 2.], requires_grad=True)
    """
    if not isinstance(array, jax.Array):
        raise TypeError(f"expected jax.Array (got {type(array).__name__})")
    if jnp.issubdtype(array.dtype, jax.dtypes.extended):
        raise TypeError(message("there are no tensors of random keys", got=array.dtype, hint="use jax.random.key_data"))
    if array.weak_type:  # promotes as a Python number does; tensors know nothing of that
        array = jax.lax.convert_element_type(array, array.dtype)
    if not isinstance(array, jax.core.Tracer):
        if array.sharding.num_devices > 1:
            return _spread(array, requires_grad)
        array = transfer(array, device_of(array)) if committed() else array
    tensor = fresh(array, describe(array))
    return tensor.requires_grad_() if requires_grad else tensor


def _spread(array: jax.Array, requires_grad: bool) -> Tensor:
    """A tensor of an array that is spread over a mesh, which keeps its layout."""
    tensor = fresh(array, describe(array, on=mesh_device_of(array)))
    return tensor.requires_grad_() if requires_grad else tensor


def is_tensor(leaf: Any) -> bool:
    """Tell whether a leaf is a tensor: jax's functions on trees look into tensors unless told ``is_leaf=is_tensor``."""
    return isinstance(leaf, Tensor)


def to_arrays(tree: Any) -> Any:
    """A tree with the tensors in it, whether they require grad or not, as jax arrays that share their memory.

    >>> to_arrays({"bias": torch.zeros(2, requires_grad=True), "name": "b"})
    {'bias': Array([0., 0.], dtype=float32), 'name': 'b'}
    """
    convert = lambda leaf: array_of(leaf.detach()) if isinstance(leaf, Tensor) else leaf
    return jax.tree.map(convert, tree, is_leaf=is_tensor)


def to_tensors(tree: Any, *, requires_grad: bool = False) -> Any:
    """A tree with the arrays in it as tensors: those of jax share their memory, those of NumPy are copied.

    ``requires_grad`` is for floating and complex ones; others never do. What is no array stays as it is.

    >>> import jax.numpy as jnp
    >>> to_tensors([jnp.ones(2), 3], requires_grad=True)
    [tensor([1., 1.], requires_grad=True), 3]
    """

    def convert(leaf: Any) -> Any:
        if isinstance(leaf, (np.ndarray, np.generic)):
            tensor = from_numpy(np.asarray(leaf))
        elif isinstance(leaf, jax.Array) and not jnp.issubdtype(leaf.dtype, jax.dtypes.extended):
            tensor = from_jax_array(leaf)
        else:
            return leaf
        return tensor.requires_grad_() if requires_grad and tensor.dtype.category >= 2 else tensor

    return jax.tree.map(convert, tree, is_leaf=is_tensor)
