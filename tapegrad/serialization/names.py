"""PyTorch's names of what is in a file, and what of it may be made without trusting the file.

Note [Names in files]
A pickle names functions and classes by module and name. Ours are written by the names that PyTorch has for them, so
that it finds its own, and PyTorch's are read as ours: ``torch._utils._rebuild_tensor_v2`` is the function of that name
in ``rebuild.py``, on either way. PyTorch itself is never imported.
"""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from tapegrad._src.bindings.state.attributes import LEGACY_DTYPES
from tapegrad._src.bindings.state.storages import TypedStorage, UntypedStorage
from tapegrad._src.execution.data.devices import device
from tapegrad._src.execution.data.dtypes import ALL_DTYPES, dtype, uint8
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.nn.parameter import Parameter
from tapegrad.serialization import rebuild


class StorageType:
    """The old class of storages of a dtype, which stands in files for the dtype.

    >>> StorageType("FloatStorage").dtype
    torch.float32
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._dtype = LEGACY_DTYPES[name.removesuffix("Storage")]

    @property
    def dtype(self) -> dtype:
        """That of the elements."""
        return self._dtype

    def __str__(self) -> str:
        return f"StorageType(dtype={self.dtype})"

    def __reduce__(self) -> tuple:
        return StorageType, (self.name,)


STORAGE_TYPES = {prefix: StorageType(f"{prefix}Storage") for prefix in LEGACY_DTYPES}
OF_DTYPE = {kind.dtype: kind for kind in STORAGE_TYPES.values()}
"""For each dtype that has one: the old class of its storages. Later dtypes have none; their storages are bytes."""

NAMED: dict[str, Any] = {
    "torch.Tensor": Tensor,
    "torch.Size": Size,
    "torch.device": device,
    "torch.nn.parameter.Parameter": Parameter,
    "torch.storage.UntypedStorage": UntypedStorage,
    "torch.storage.TypedStorage": TypedStorage,
    "torch.serialization._get_layout": rebuild._get_layout,
    "torch.nested._internal.nested_tensor.NestedTensor": rebuild._JaggedClass,
    "torch.nested._internal.nested_tensor._rebuild_njt": rebuild._rebuild_njt,
    "torch._dynamo.decorators._DimRange": rebuild._DimRange,
    "torch._tensor._rebuild_from_type_v2": rebuild._rebuild_from_type_v2,
    **{f"torch.{kind.name}": kind for kind in STORAGE_TYPES.values()},
    **{f"torch.cuda.{kind.name}": kind for kind in STORAGE_TYPES.values()},
    **{str(d): d for d in ALL_DTYPES},
    **{f"torch._utils.{function.__name__}": function for function in rebuild.UTILS},
}  # fmt: skip
"""By PyTorch's names: what a file may name that is ours."""

_WRITTEN = {id(thing): name for name, thing in reversed(NAMED.items()) if not name.startswith("torch.cuda.")}
_ROOMS = ("nn", "optim", "utils", "distributions", "amp")


def torch_name(thing: Any) -> tuple[str, str] | None:
    """The module and the name by which PyTorch knows something of ours; None of what isn't, or isn't known there.

    >>> torch_name(torch.float32), torch_name(torch.nn.Parameter), torch_name(print)
    (('torch', 'float32'), ('torch.nn.parameter', 'Parameter'), None)
    """
    known = _WRITTEN.get(id(thing))
    if known is not None:
        module, _, name = known.rpartition(".")
        return module, name
    package, _, rest = (getattr(thing, "__module__", None) or "").partition(".")
    if package == "tapegrad" and rest.partition(".")[0] in _ROOMS and hasattr(thing, "__qualname__"):
        return f"torch.{rest}", thing.__qualname__
    return None


def full_name(thing: Any) -> str:
    """The name that a file has for a class or a function."""
    return ".".join(torch_name(thing) or (thing.__module__, thing.__qualname__))


def find(module: str, name: str) -> Any:
    """The object that a file that is trusted means by a name of PyTorch's: ours. Raises AttributeError: we have
    none."""
    full = f"{module}.{name}"
    if full in NAMED:
        return NAMED[full]
    parts = module.split(".")[1:]
    for depth in range(len(parts), -1, -1):  # the module itself, else a package that has the name for its users
        home = ".".join(["tapegrad", *parts[:depth]])
        try:
            return _attribute(_imported(home), name)
        except (AttributeError, ModuleNotFoundError):
            continue
    raise AttributeError(f"the file names {full}, which is not in tapegrad")


def _imported(module: str) -> Any:
    return sys.modules.get(module) or import_module(module)


def _attribute(module: Any, name: str) -> Any:
    for part in name.split("."):
        module = getattr(module, part)
    return module


# -- what may be made of a file that isn't trusted ---------------------------------------------------------------------

ALLOWED: dict[str, Any] = {
    "collections.OrderedDict": OrderedDict,
    "collections.Counter": Counter,
    "_codecs.encode": rebuild.encode,
    "builtins.bytearray": bytearray,
    "builtins.set": set,
    "builtins.complex": complex,
    **NAMED,
}
"""By the names in files: all that is found without being asked for by ``add_safe_globals``."""

BLOCKED = frozenset({"sys", "os", "posix", "nt"})
"""Modules of which nothing is ever found, whatever was declared safe."""

_safe: set[Any] = set()


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Declare functions and classes safe: files may name them, and loading then calls them.

    Args:
        safe_globals: each a function or a class, or a pair of one and the name that files have for it.
    """
    _safe.update(safe_globals)


def get_safe_globals() -> list[Any]:
    """Give what was declared safe."""
    return list(_safe)


def clear_safe_globals() -> None:
    """Declare nothing safe any more."""
    _safe.clear()


class safe_globals:
    """Functions and classes that are safe inside: see ``add_safe_globals``.

    >>> import fractions
    >>> with safe_globals([fractions.Fraction]):
    ...     get_safe_globals()
    [<class 'fractions.Fraction'>]
    >>> get_safe_globals()
    []
    """

    def __init__(self, safe_globals: Iterable[Any]) -> None:
        self.safe_globals = list(safe_globals)

    def __enter__(self) -> None:
        add_safe_globals(self.safe_globals)

    def __exit__(self, *exception: object) -> None:
        _safe.difference_update(self.safe_globals)


def declared_safe() -> dict[str, Callable]:
    """The objects that were declared safe, by the names that files have for them.
    Raises ValueError, TypeError: PyTorch's messages, of what is no pair of a function and a name.
    """
    found = {}
    for thing in _safe:
        if not isinstance(thing, tuple):
            found[full_name(thing)] = thing
            continue
        if len(thing) != 2:
            raise ValueError(
                f"Expected tuple of length 2 (global, str of callable full path), but got tuple of length: {len(thing)}"
            )
        if type(thing[1]) is not str:
            raise TypeError(f"Expected second item in tuple to be str of callable full path, but got: {type(thing[1])}")
        found[thing[1]] = thing[0]
    return found


def dtype_of(storage_type: Any) -> dtype:
    """The dtype of the elements of a storage, by what a file calls its class.
    Raises RuntimeError: it is no class of storages.
    """
    if storage_type is UntypedStorage:
        return uint8
    if not isinstance(storage_type, StorageType):
        raise RuntimeError(f"the file names {rebuild.shown(storage_type)} where a class of storages should be")
    return storage_type.dtype
