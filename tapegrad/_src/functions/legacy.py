"""PyTorch's first way of making tensors: ``Tensor(2, 3)``, and a class for each type, as ``FloatTensor([1, 2])``.

>>> torch.LongTensor([1, 2]), isinstance(torch.ones(2), torch.FloatTensor)
(tensor([1, 2]), True)
"""

from __future__ import annotations

import copyreg
from typing import Any

import numpy as np

from tapegrad._src.bindings.declaration.factory import is_integer, size_of_arguments, target, type_name
from tapegrad._src.bindings.declaration.registry import NAMESPACES, public
from tapegrad._src.bindings.declaration.scalars import CPP_NAMES
from tapegrad._src.bindings.device_names.cuda import is_available as is_cuda_available
from tapegrad._src.bindings.naming import renamed
from tapegrad._src.bindings.state.attributes import LEGACY_DTYPES, as_instance
from tapegrad._src.execution.data.dtypes import dtype, get_default_dtype, set_default_dtype
from tapegrad._src.functions.construction import constructed
from tapegrad._src.tensor.layout import strided
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.errors import warn_once

_SIGNATURES = """\
 * (*, torch.device device = None)
{why} * (torch.Storage storage)
 * (Tensor other)
 * (tuple of ints size, *, torch.device device = None)
 * (object data, *, torch.device device = None)
"""


def _made(d: dtype, args: tuple, options: dict[str, Any], on: Any = None) -> Tensor:
    """The tensor that the legacy constructor of a dtype gives for these arguments. Raises TypeError: PyTorch's
    messages."""
    where = options.pop("device", None) or on
    if "data" in options and not args:
        args = (options.pop("data"),)
    if "size" in options and not args:
        args = (tuple(options.pop("size")),)
        return target("new", {"device": where}, d).full(size_of_arguments("new", args, {}), 0)
    if options:
        _no_overload(args, options)
    if not args:
        return target("new", {"device": where}, d).full((0,), 0)
    first = args[0]
    if (is_integer(first) and not isinstance(first, Tensor)) or type(first).__name__ == "Size":
        return target("new", {"device": where}, d).full(size_of_arguments("new", args, {}), 0)
    if len(args) > 1:
        _no_overload(args, options)
    if not isinstance(first, (list, tuple, str, np.ndarray)) and not hasattr(first, "__getitem__"):
        raise TypeError(f"new(): data must be a sequence (got {type_name(first)})")
    if isinstance(first, np.generic):
        raise TypeError(f"new(): data must be a sequence (got {type_name(first)})")
    return constructed("new", first, {"dtype": d, "device": where})


def _no_overload(args: tuple, options: dict[str, Any]) -> None:
    got = ", ".join([*map(type_name, args), *(f"{name}={_option_name(value)}" for name, value in options.items())])
    if options:
        why = f"      didn't match because some of the keywords were incorrect: {', '.join(options)}\n"
    else:
        types = ", ".join(f"!{_described(arg)}!" for arg in args)
        why = f"      didn't match because some of the arguments have invalid types: ({types})\n"
    raise TypeError(
        f"new() received an invalid combination of arguments - got ({got}), but expected one of:\n"
        + _SIGNATURES.format(why=why)
    )


def _option_name(value: Any) -> str:
    return "torch.dtype" if isinstance(value, dtype) else type_name(value)


def _described(arg: Any) -> str:
    if isinstance(arg, (list, tuple)):
        return f"{type(arg).__name__} of [{', '.join(map(type_name, arg))}]"
    return type_name(arg)


def new_instance(cls: type, *args: Any, **options: Any) -> Tensor:
    """``cls(...)`` for Tensor and its subclasses: ``Tensor(2, 3)``, ``Tensor([1.5, 2])``, ``Tensor(other)``.

    Sizes give a tensor to be written yet, data one of the default dtype; another tensor gives an alias of it, which is
    recorded.
    """
    if len(args) == 1 and isinstance(args[0], Tensor) and not options:
        return args[0].as_subclass(cls)
    made = _made(get_default_dtype(), args, options)
    return made if cls is Tensor else as_instance(cls, made)


NAMESPACES.setdefault("Tensor", {})["__new__"] = new_instance


@public("Tensor")
def new(self: Tensor, *args: Any, **options: Any) -> Tensor:
    """The legacy constructor for this tensor's dtype and device.

    Args:
        args: lengths, or data, or a tensor of the same type, as for ``torch.Tensor``.

    Raises:
        TypeError: a tensor of another type.
    """
    if len(args) == 1 and isinstance(args[0], Tensor) and not options:
        _check_same_type(self.dtype, self.device.type, args[0])
        return args[0].as_subclass(Tensor)
    return _made(self.dtype, args, options, self.device)


@public("Tensor")
def resize(self: Tensor, *sizes: Any) -> Tensor:
    """The elements of this tensor in another shape, which has as many. Deprecated in favour of ``reshape``.

    Raises:
        RuntimeError: it has not as many.
    """
    warn("non-inplace resize is deprecated")
    return _of_sizes(self, sizes)


@public("Tensor")
def resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """``resize`` to the shape of another tensor. Deprecated in favour of ``reshape``."""
    warn("non-inplace resize_as is deprecated")
    return _of_sizes(self, tuple(tensor.shape))


def _of_sizes(tensor: Tensor, sizes: tuple) -> Tensor:
    count: Any = 1
    for size in sizes:
        count = count * size
    if tensor._spec.numel != count:
        raise RuntimeError(
            f"requested resize to {'x'.join(map(str, sizes))} ({count} elements in total), but the given tensor has a "
            f"size of {'x'.join(map(str, tensor.shape))} ({tensor._spec.numel} elements). autograd's resize can only "
            "change the shape of a given tensor, while preserving the number of elements. "
        )
    return renamed(tensor.contiguous().view(*sizes), "ResizeBackward")


class tensortype(type):
    """The class of type classes: they make tensors of their dtype, and claim those that others made."""

    dtype: dtype
    kind: str
    layout = strided

    @property
    def is_cuda(cls) -> bool:
        """True if its tensors are on a GPU."""
        return cls.kind == "cuda"

    @property
    def is_sparse(cls) -> bool:
        """False: those of sparse tensors are in ``torch.sparse``."""
        return False

    def __call__(cls, *args: Any, **options: Any) -> Tensor:
        if len(args) == 1 and isinstance(args[0], Tensor) and not options:
            _check_same_type(cls.dtype, cls.kind, args[0])
            return args[0].as_subclass(Tensor)
        return _made(cls.dtype, args, options, None if cls.kind == "cpu" else cls.kind)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype and instance.device.type == cls.kind


def _check_same_type(d: dtype, kind: str, other: Tensor) -> None:
    if (other.dtype, other.device.type) != (d, kind):
        expected, got = (_options_text(*pair) for pair in ((d, kind), (other.dtype, other.device.type)))
        raise TypeError(f"expected {expected} (got {got})")


def _options_text(d: dtype, kind: str) -> str:
    name = {"int64": "long int", "uint8": "unsigned char", "int8": "signed char", "int16": "short int"}.get(
        d.name, CPP_NAMES[d.name]
    )
    return (
        f"TensorOptions(dtype={name}, device={kind}, layout=Strided, requires_grad=false (default), "
        "pinned_memory=false (default), memory_format=(nullopt))"
    )


def type_class(name: str) -> tensortype:
    """The type class of this name, ``torch.FloatTensor``; files of pickle know them by it."""
    home, _, own = name.rpartition(".")
    found = NAMESPACES[home if home == "torch" else home.removeprefix("torch.")][own]
    assert isinstance(found, tensortype)
    return found


def _declare(prefix: str, d: dtype, kind: str) -> None:
    home = "torch" if kind == "cpu" else f"torch.{kind}"
    doc = f"Makes tensors of dtype ``{d}`` as ``Tensor(...)`` does, and claims those that there are."
    cls = tensortype(
        f"{prefix}Tensor", (), {"__module__": home, "__doc__": doc, "dtype": d, "kind": kind, "__slots__": ()}
    )
    NAMESPACES.setdefault(home.removeprefix("torch.") if kind != "cpu" else home, {})[cls.__name__] = cls


copyreg.pickle(tensortype, lambda cls: (type_class, (f"{cls.__module__}.{cls.__name__}",)))

for _prefix in ("Float", "Double", "Half", "BFloat16", "Int", "Long", "Short", "Char", "Byte", "Bool"):
    for _kind in ("cpu", "cuda"):
        _declare(_prefix, LEGACY_DTYPES[_prefix], _kind)


@public("torch")
def set_default_tensor_type(t: Any, /) -> None:
    """Make the dtype of a type class (or its name, ``"torch.DoubleTensor"``) the default dtype.

    Args:
        t: the class or its name.

    Raises:
        TypeError: no such class; it is not of floating numbers.
    """
    cls = _type_named(t) if isinstance(t, str) else t
    if not isinstance(cls, tensortype):
        raise TypeError("invalid type object: only floating-point types are supported as the default type")
    name = f"{cls.__module__}.{cls.__name__}".replace("tapegrad", "torch", 1)
    if name.startswith("torch.cuda.") and not is_cuda_available():
        raise TypeError(f"type {name} not available. Torch not compiled with CUDA enabled.")
    set_default_dtype(LEGACY_DTYPES[cls.__name__.removesuffix("Tensor")])
    warn_once(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
        "torch.set_default_device() as alternatives."
    )


def _type_named(name: str) -> Any:
    """The type that a name such as ``"torch.DoubleTensor"`` stands for. Raises AttributeError: nothing."""
    home, _, last = name.rpartition(".")
    if home.partition(".")[0] not in ("torch", "tapegrad"):
        raise ModuleNotFoundError(f"No module named '{name.partition('.')[0]}'")
    found = NAMESPACES["cuda" if home.endswith(".cuda") else "torch"].get(last)
    if found is None:
        raise AttributeError(f"module '{home}' has no attribute '{last}'")
    return found
