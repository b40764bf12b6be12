"""The functions that files name to have tensors made again, by PyTorch's names. They trust no argument.

What they are given comes from a file, so each looks at its arguments before it makes anything: a tensor must lie inside
of its storage, and takes no memory of its own.
"""

from __future__ import annotations

import codecs
import copyreg
import reprlib
from collections import OrderedDict
from typing import Any

import numpy as np

from tapegrad._src.bindings.placement import empty_strided
from tapegrad._src.bindings.protocols import own_attributes
from tapegrad._src.bindings.state.attributes import LEGACY_DTYPES, as_instance
from tapegrad._src.bindings.state.storages import TypedStorage, UntypedStorage, placed_as, tensor_on
from tapegrad._src.declaring import on_demand
from tapegrad._src.execution.data.devices import META
from tapegrad._src.execution.data.dtypes import complex32, dtype
from tapegrad._src.execution.data.dtypes import dtype as dtype_class
from tapegrad._src.functions.construction import from_numpy
from tapegrad._src.tensor.geometry import Geometry, extent
from tapegrad._src.tensor.layout import layout, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr, strided
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.nn.parameter import Parameter

_LARGEST = 2**63 - 1
_STATE = frozenset(Tensor.__annotations__)
_FIRST_DTYPES = frozenset(LEGACY_DTYPES.values())


_PLAIN = (int, float, complex, bool, str, bytes, dtype, type(None))


def shown(thing: Any) -> str:
    """The text of a thing in a message; of what holds others, which may have no end, what it is."""
    if not isinstance(thing, (tuple, list, dict, set)):
        return str(thing)[:1000]
    is_flat = type(thing) in (tuple, list) and all(type(item) in _PLAIN for item in thing)
    return reprlib.repr(thing) if is_flat else f"a {type(thing).__name__}"


def _refused(what: str) -> RuntimeError:
    return RuntimeError(f"the file is damaged: {what}")


def _ints(given: Any, what: str) -> tuple[int, ...]:
    given = tuple(given) if isinstance(given, (tuple, list)) else None
    if given is None or any(type(number) is not int or not 0 <= number <= _LARGEST for number in given):
        raise _refused(f"a tensor has {shown(given)} as its {what}")
    return given


def _geometry(storage_offset: Any, size: Any, stride: Any) -> Geometry:
    """The geometry of a tensor, if it can lie anywhere."""
    shape, strides = _ints(size, "size"), _ints(stride, "strides")
    if len(shape) != len(strides) or len(shape) > 64:
        raise _refused(f"a tensor has {len(shape)} dimensions and {len(strides)} strides")
    (offset,) = _ints((storage_offset,), "offset")
    count = 1
    for length in shape:
        count *= length
    if count > _LARGEST:
        raise _refused(f"a tensor has {count} elements")
    return Geometry(shape, strides, offset)


def _rebuilt(
    storage: Any, d: Any, storage_offset: Any, size: Any, stride: Any, requires_grad: Any, metadata: Any
) -> Tensor:
    if not isinstance(storage, (TypedStorage, UntypedStorage)) or not isinstance(d, dtype):
        raise _refused(f"a tensor has {type(storage).__name__} as its storage, and {shown(d)} as its dtype")
    _check_flag(d, requires_grad)
    spot, memory = _geometry(storage_offset, size, stride), storage.untyped()
    if extent(spot) * d.itemsize > memory.nbytes():
        raise _refused(f"a tensor needs {extent(spot) * d.itemsize} bytes of a storage that has {memory.nbytes()}")
    return tensor_on(memory, d, spot, requires_grad, **_view_bits(d, metadata))


def _check_flag(d: Any, requires_grad: Any) -> None:
    if not isinstance(d, dtype):
        raise _refused(f"a tensor has {shown(d)} as its dtype")
    if type(requires_grad) is not bool or (requires_grad and not (d.is_floating_point or d.is_complex)):
        raise _refused(f"a tensor of {d} has {shown(requires_grad)} as its requires_grad")


def _view_bits(d: dtype, metadata: Any) -> dict[str, bool]:
    """Tell whether a tensor shows the conjugates, or the negatives, of what is in memory."""
    if not metadata:
        return {}
    known = type(metadata) is dict and metadata.keys() <= {"conj", "neg"}
    if not known or (metadata.get("conj") and not d.is_complex):
        raise _refused(f"a tensor of {d} has {shown(metadata)} as its metadata")
    return {name: bool(shows) for name, shows in metadata.items()}


def _rebuild_tensor(storage: Any, storage_offset: Any, size: Any, stride: Any) -> Tensor:
    return _rebuilt(storage, getattr(storage, "dtype", None), storage_offset, size, stride, False, None)


def _rebuild_tensor_v2(
    storage: Any, storage_offset: Any, size: Any, stride: Any, requires_grad: Any, backward_hooks: Any,
    metadata: Any = None,
) -> Tensor:  # fmt: skip
    return _rebuilt(storage, getattr(storage, "dtype", None), storage_offset, size, stride, requires_grad, metadata)


def _rebuild_tensor_v3(
    storage: Any, storage_offset: Any, size: Any, stride: Any, requires_grad: Any, backward_hooks: Any, dtype: Any,
    metadata: Any = None,
) -> Tensor:  # fmt: skip
    return _rebuilt(storage, dtype, storage_offset, size, stride, requires_grad, metadata)


def _rebuild_meta_tensor_no_storage(dtype: Any, size: Any, stride: Any, requires_grad: Any) -> Tensor:
    spot = _geometry(0, size, stride)
    _check_flag(dtype, requires_grad)
    return empty_strided(spot.shape, spot.strides, dtype=dtype, device=META, requires_grad=requires_grad)


def _rebuild_parameter(data: Any, requires_grad: Any, backward_hooks: Any) -> Parameter:
    if not isinstance(data, Tensor):
        raise _refused(f"a parameter has {type(data).__name__} as its data")
    _check_flag(data.dtype, requires_grad)
    if type(data) is not Tensor or data.is_meta:
        return Parameter(data, requires_grad)
    return placed_as(Parameter, data, requires_grad)


def _rebuild_parameter_with_state(data: Any, requires_grad: Any, backward_hooks: Any, state: Any) -> Parameter:
    return _with_state(_rebuild_parameter(data, requires_grad, backward_hooks), state)


def _rebuild_from_type_v2(func: Any, new_type: Any, args: Any, state: Any) -> Tensor:
    if func is _rebuild_njt:  # its state repeats the arguments
        return func(*args)
    if all(func is not known for known in UTILS) or not (isinstance(new_type, type) and issubclass(new_type, Tensor)):
        raise _refused(f"a tensor is to be made by {shown(func)} as an instance of {shown(new_type)}")
    made = func(*args)
    if type(made) is not new_type:
        made = as_instance(new_type, made) if made.is_meta else placed_as(new_type, made, made.requires_grad)
    if new_type.__setstate__ is not Tensor.__setstate__:
        made.__setstate__(state)
        return made
    return _with_state(made, state)


def _rebuild_device_tensor_from_cpu_tensor(data: Any, dtype: Any, device: Any, requires_grad: Any) -> Tensor:
    if not isinstance(data, Tensor) or not isinstance(dtype, dtype_class):
        raise _refused("a tensor is made of something else")
    if data.numel() * data.element_size() > data.untyped_storage().nbytes():
        raise _refused("a tensor is larger than its memory")
    _check_flag(dtype, requires_grad)
    return data.to(dtype=dtype, device=device).requires_grad_(requires_grad)


def _rebuild_device_tensor_from_numpy(data: Any, dtype: Any, device: Any, requires_grad: Any) -> Tensor:
    if not isinstance(data, np.ndarray):
        raise _refused(f"a tensor has {type(data).__name__} as its array")
    return _rebuild_device_tensor_from_cpu_tensor(from_numpy(data), dtype, device, requires_grad)


_sparse, _ = on_demand(__name__, {"tapegrad.sparse.saving": "loaded saved"})


def _rebuild_sparse_tensor(kind: Any, data: Any) -> Tensor:
    if not isinstance(kind, layout) or kind is strided or not isinstance(data, tuple) or not 3 <= len(data) <= 4:
        raise _refused("a sparse tensor lacks a part")
    if len(data) == 3:  # from before there was a flag
        data = (*data, None)
    place = 2 if kind is sparse_coo else 3
    if not all(type(part) is Tensor for part in data[:place]):
        raise _refused("a sparse tensor has something else as its indices or values")
    return _sparse("loaded")(kind, data[:place], _ints(data[place], "size"), data[3] is True)


_nested, _ = on_demand(__name__, {"tapegrad.nested.saving": "loaded_jagged loaded_strided nested_parts"})


class _JaggedClass:
    """The class that stands in a file for that of jagged tensors, which is imported when there is one."""


class _DimRange:
    """A note of PyTorch's about dimensions that its compiler looks at; nothing hangs on it here."""

    def __setstate__(self, state: Any) -> None:
        """Nothing is kept."""


def _rebuild_njt(constructor_kwargs: Any) -> Tensor:
    try:
        return _nested("loaded_jagged")(constructor_kwargs)
    except ValueError as error:
        raise _refused(str(error)) from None


def _rebuild_nested_tensor(buffer: Any, sizes: Any, strides: Any, storage_offsets: Any) -> Tensor:
    try:
        return _nested("loaded_strided")(buffer, sizes, strides, storage_offsets)
    except ValueError as error:
        raise _refused(str(error)) from None


UTILS = (
    _rebuild_nested_tensor,
    _rebuild_sparse_tensor, _rebuild_tensor, _rebuild_tensor_v2, _rebuild_tensor_v3, _rebuild_meta_tensor_no_storage,
    _rebuild_parameter, _rebuild_parameter_with_state,
    _rebuild_device_tensor_from_cpu_tensor, _rebuild_device_tensor_from_numpy,
)  # fmt: skip
"""Those that PyTorch has in ``torch._utils``."""


def _get_layout(name: Any) -> layout:
    for one in (strided, sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc):
        if type(name) is str and name == str(one):
            return one
    raise _refused(f"a layout is {shown(name)}")


def encode(text: Any, encoding: Any = "latin1") -> bytes:
    """Bytes, as old pickles have them: characters in latin1, ascii or utf-8; other codecs are refused."""
    if type(text) is not str or type(encoding) is not str or encoding not in ("latin1", "latin-1", "ascii", "utf-8"):
        raise _refused(f"bytes in the encoding {shown(encoding)}")
    return codecs.encode(text, encoding)


# -- attributes that were put on tensors -------------------------------------------------------------------------------


def state_of(tensor: Tensor) -> Any:
    """The state that is saved of a tensor besides its data: what was put on it, also into the slots of its class."""
    attributes: Any = own_attributes(tensor)
    slots = {name: getattr(tensor, name) for name in _own_slots(tensor) if hasattr(tensor, name)}
    return (attributes, slots) if slots else attributes


def _own_slots(tensor: Tensor) -> list[str]:
    names = copyreg._slotnames(type(tensor))  # type: ignore[attr-defined]
    return [name for name in names if name not in Tensor.__slots__]


def _with_state(tensor: Any, state: Any) -> Any:
    """Put attributes on a tensor again, but none that would be its own state."""
    attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    for given in (attributes or {}, slots or {}):
        if not isinstance(given, dict):
            raise _refused(f"a tensor has {type(given).__name__} as its attributes")
        if wrong := [name for name in given if type(name) is not str or name in _STATE or name.startswith("__")]:
            raise _refused(f"a tensor has the attribute {shown(wrong[0])}")
    tensor.__dict__.update(attributes or {})
    for name, value in (slots or {}).items():
        if name not in _own_slots(tensor):
            raise _refused(f"{type(tensor).__name__} has no slot {name!r}")
        setattr(tensor, name, value)
    return tensor


def reduced(tensor: Tensor) -> tuple:
    """The form in which a tensor is saved: a function of PyTorch's name, and what it is called with.
    Raises RuntimeError: the tensor has no memory of its own, at a level of a transform.
    """
    if type(tensor).__reduce_ex__ is Parameter.__reduce_ex__:
        state = state_of(tensor)
        parts: tuple = tensor.data, tensor.requires_grad, OrderedDict()
        return (_rebuild_parameter_with_state, (*parts, state)) if state else (_rebuild_parameter, parts)
    if tensor.dtype is complex32:  # of a class of its own, which no file names
        if getattr(tensor, "_is_param", False):
            return _rebuild_parameter, (tensor.data, tensor.requires_grad, OrderedDict())
        return _plain_reduced(tensor)
    if tensor.is_nested:
        if tensor.layout is strided:
            return _rebuild_nested_tensor, _nested("nested_parts")(tensor)
        return _rebuild_from_type_v2, (_rebuild_njt, _JaggedClass, _nested("nested_parts")(tensor), {})
    if tensor.layout is not strided:
        return _rebuild_sparse_tensor, _sparse("saved")(tensor)
    made = _plain_reduced(tensor)
    state = state_of(tensor)
    if type(tensor) is Tensor and not state:
        return made
    return _rebuild_from_type_v2, (made[0], type(tensor), made[1], state)


def _warn_of_hooks(tensor: Any) -> None:
    for hook in (tensor._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the "
                "function with @torch.utils.hooks.unserializable_hook to suppress this warning"
            )


def _plain_reduced(tensor: Any) -> tuple:
    _warn_of_hooks(tensor)
    d, shape, strides = tensor.dtype, tuple(tensor.size()), tuple(tensor.stride())
    if tensor.device is META:
        return _rebuild_meta_tensor_no_storage, (d, shape, strides, tensor.requires_grad)
    memory = tensor.untyped_storage()
    kind: tuple = tensor.storage_offset(), shape, strides, tensor.requires_grad, OrderedDict()
    bits = {name: True for name, shows in (("conj", tensor.is_conj()), ("neg", tensor.is_neg())) if shows}
    metadata = (bits,) if bits else ()
    if d in _FIRST_DTYPES:
        return _rebuild_tensor_v2, (TypedStorage(wrap_storage=memory, dtype=d), *kind, *metadata)
    return _rebuild_tensor_v3, (memory, *kind, d, *metadata)
