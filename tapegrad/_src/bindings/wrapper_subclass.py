"""``Tensor._make_wrapper_subclass``: tensors without data, whose class computes with what they wrap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.bindings.declaration.handing import DISPATCH, dispatches
from tapegrad._src.bindings.declaration.parser import type_name
from tapegrad._src.bindings.dispatching import WrapperValue
from tapegrad._src.execution.array_functions.host import resolve
from tapegrad._src.execution.data.devices import device as device_of
from tapegrad._src.execution.data.devices import get_default_device
from tapegrad._src.execution.data.dtypes import FLOATING, get_default_dtype
from tapegrad._src.execution.data.dtypes import dtype as dtype_of
from tapegrad._src.tensor.geometry import contiguous_strides, overlaps_itself
from tapegrad._src.tensor.spec import Spec, named_strides
from tapegrad._src.tensor.tensor import Tensor, new_tensor, storage_to_write


def make_wrapper_subclass(
    cls: type, size: Sequence[int], strides: Sequence[int] | None = None, storage_offset: int | None = None,
    memory_format: Any = None, dtype: dtype_of | None = None, layout: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, dispatch_sizes_strides_policy: str | None = None,
    dispatch_device: bool = False, dispatch_layout: bool = False, _extra_dispatch_keys: Any = None,
    storage_size: int | None = None,
) -> Tensor:  # fmt: skip
    """A leaf of class ``cls`` that has a size, strides, a dtype and a device, and no data.

    Its class has a ``__torch_dispatch__``, which gets all operators on it, and computes with what it wraps: what its
    ``__new__`` or ``__init__`` makes an attribute. Autograd records it as any tensor. See Note [Dispatch] in
    ``dispatching.py``.

    Args:
        size, strides: its shape, and how many elements apart neighbours would lie; contiguous by default.
        storage_offset: where it would begin.
        memory_format, layout, pin_memory, storage_size: accepted.
        dtype, device: its dtype (the default one) and its device.
        requires_grad: whether it is a leaf that requires grad.
        dispatch_sizes_strides_policy, dispatch_device, dispatch_layout: accepted; a class that overrides the attributes
            of tensors does so with ``__torch_function__``.

    Raises:
        TypeError: ``cls`` is no subclass of Tensor, or ``size`` is no sequence.
        RuntimeError: ``requires_grad`` for an integral dtype.

    >>> class Logged(torch.Tensor):
    ...     @staticmethod
    ...     def __new__(cls, inner):
    ...         return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
    ...     def __init__(self, inner):
    ...         self.inner = inner
    ...     @classmethod
    ...     def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         return cls(func(*[x.inner if isinstance(x, cls) else x for x in args], **(kwargs or {})))
    >>> (Logged(torch.ones(2)) * 3).inner
    aten.mul.Tensor
    tensor([3., 3.])
    """
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError(NO_TENSOR if isinstance(cls, type) else f"cls must be a type (got {type_name(cls)})")
    if not dispatches(cls):
        raise TypeError(
            f"{cls.__name__} must define __torch_dispatch__: a tensor without data leaves all operators to its class"
        )
    if not isinstance(size, (tuple, list)):
        raise TypeError(
            f"_make_wrapper_subclass(): argument 'size' (position 2) must be tuple of ints, not {type_name(size)}"
        )
    as_dtype = get_default_dtype() if dtype is None else dtype
    if requires_grad and as_dtype.category < FLOATING:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    shape, where = tuple(size), resolve(get_default_device() if device is None else device_of(device))
    steps = contiguous_strides(shape) if strides is None else tuple(strides)
    made = new_tensor(cls)
    spec = Spec.of(shape, as_dtype, where, bool(requires_grad), overrides=DISPATCH, strides=named_strides(shape, steps))
    made._spec, made._edge = spec, None
    made._value = WrapperValue(made, spec.replace(requires_grad=False))
    if storage_offset:
        made._offset = storage_offset
    if not overlaps_itself(shape, steps):
        storage_to_write(made)  # what it wraps may be written to, so what saves it has to remember its version
    return made


NO_TENSOR = (
    "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your class "
    "inherits from Tensor."
)
