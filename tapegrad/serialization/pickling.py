"""Pickles of objects: ordinary ones, but that names are PyTorch's, and storages are only named."""

from __future__ import annotations

import pickle
from types import FunctionType
from typing import IO, Any

from tapegrad._src.bindings.state.storages import TypedStorage, UntypedStorage
from tapegrad._src.execution.data.dtypes import dtype, uint8
from tapegrad._src.tensor.layout import layout
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.nn.parameter import Parameter
from tapegrad.serialization import rebuild
from tapegrad.serialization.locations import location_tag
from tapegrad.serialization.names import OF_DTYPE, StorageType, torch_name


class Storages:
    """The storages of the objects that are written, each of which gets a key when it is first met.

    Attributes:
        found: by their keys, the storages and the dtype by which each was first named.
    """

    def __init__(self) -> None:
        self.found: dict[str, tuple[UntypedStorage, dtype]] = {}
        self._keys: dict[int, str] = {}

    def named(self, thing: TypedStorage | UntypedStorage) -> tuple:
        """The name of a storage in the pickle. Raises RuntimeError: the storage was met before, under another dtype."""
        d = thing.dtype if isinstance(thing, TypedStorage) else uint8
        kind = OF_DTYPE[d] if isinstance(thing, TypedStorage) else UntypedStorage
        memory = thing.untyped()
        key = self._keys.setdefault(memory._cdata, str(len(self._keys)))
        if self.found.setdefault(key, (memory, d))[1] is not d and memory.nbytes():
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")
        return "storage", kind, key, location_tag(memory), thing.size()


class _Naming:
    """The additions to a pickler: mixed into that of ``pickle``, or of another module of its kind."""

    storages: Storages
    legacy = False

    def persistent_id(self, thing: Any) -> Any:
        """The name of a storage; what else is there is pickled where it stands."""
        if not isinstance(thing, (TypedStorage, UntypedStorage)):
            return None
        named = self.storages.named(thing)
        return (*named, None) if self.legacy else named

    def reducer_override(self, thing: Any) -> Any:
        """The way in which tensors and layouts are made again; a class that says it for itself is asked."""
        if isinstance(thing, Tensor) and type(thing).__reduce_ex__ in (Tensor.__reduce_ex__, Parameter.__reduce_ex__):
            return rebuild.reduced(thing)
        if isinstance(thing, layout):
            return rebuild._get_layout, (str(thing),)
        if isinstance(thing, StorageType) and isinstance(self, _RecordNames):
            return thing.name
        return NotImplemented


class _RecordNames:
    """The part of a pickler in Python that deals with names."""

    def save_global(self: Any, thing: Any, name: str | None = None) -> None:
        """Write a function, a class or a constant by the name that PyTorch has for it, if it has one."""
        known = torch_name(thing)
        if known is None:
            super().save_global(thing, name)  # type: ignore[misc]
            return
        if self.proto >= 4:
            for part in known:
                self.save(part)
            self.write(pickle.STACK_GLOBAL)
        else:
            self.write(pickle.GLOBAL + "{}\n{}\n".format(*known).encode())
        self.memoize(thing)

    def save_function(self: Any, function: Any) -> None:
        """Write a function: the pickler's own way, unless it is one of ours."""
        if torch_name(function) is None:
            super().dispatch[FunctionType](self, function)  # type: ignore[misc]
        else:
            self.save_global(function)


def pickler(pickle_module: Any, file: IO[bytes], protocol: int, storages: Storages, legacy: bool = False) -> Any:
    """A pickler that writes names as PyTorch's, and of storages only their keys.

    One of another module that is written in C can't be taught names: what it writes is read here, and not by PyTorch.
    """
    base = pickle._Pickler if pickle_module is pickle else pickle_module.Pickler
    if hasattr(base, "dispatch"):
        dispatch = {**base.dispatch, FunctionType: _RecordNames.save_function}
        cls = type("Pickler", (_Naming, _RecordNames, base), {"dispatch": dispatch})
    else:
        cls = type("Pickler", (_Naming, base), {})
    made: Any = cls(file, protocol=protocol)
    made.storages, made.legacy = storages, legacy
    return made
