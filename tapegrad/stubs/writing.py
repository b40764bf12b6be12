"""Writes stubs: a class with all methods of Tensor, and a module for each namespace.

A function that PyTorch's parser judges is written with PyTorch's overloads; any other with the signature that it has
here. What it returns is read from its own annotation.

>>> definition("torch", "relu")[0]
'def relu(input: Tensor) -> Tensor:'
"""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

from tapegrad.bindings import return_types
from tapegrad.bindings.parser import Overload, SignatureParameter, overloads_of
from tapegrad.bindings.parser_table import NUMBERS_AS_TENSORS
from tapegrad.bindings.registry import NAMESPACES, PREFIXES, PROPERTIES, kind_of
from tapegrad.tensor.tensor import Tensor

FILES = {
    "__init__": "torch",
    "accelerator": "accelerator",
    "cuda/__init__": "cuda",
    "fft": "fft",
    "linalg": "linalg",
    "masked": "masked",
    "nn/functional": "nn.functional",
    "signal/windows": "signal.windows",
    "special": "special",
    "bindings/return_types": "",
    "tensor/methods": "Tensor",
}
"""Each file, and the namespace that it has."""

HEAD = '''"""Written by ``python -m tapegrad.stubs``: see ``tapegrad/stubs/__init__.py``."""

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
'''

TYPES = {
    "Tensor": "Tensor", "Number": "_Scalar", "int": "_int", "index": "_int | Tensor", "float": "_float | Tensor",
    "bool": "_bool", "str": "_str", "ints": "Sequence[_int]", "indices": "Sequence[_int]",
    "floats": "Sequence[_float]", "Numbers": "Sequence[_Number]", "Tensors": "Sequence[Tensor]",
    "dtype": "_dtype", "layout": "_layout", "memory_format": "_memory_format", "device": "_device | _str | _int",
    "Generator": "Generator", "Storage": "UntypedStorage | TypedStorage",
}  # fmt: skip
"""What a type of PyTorch's signatures is to a type checker."""

ALIASED = {name: f"_{name}" for name in ("int", "float", "bool", "complex", "str", "type", "dtype", "device", "layout")}
ALIASED |= {"dtype_class": "_dtype", "Sizes": "_int | Sequence[_int]"}
"""Names that mean something else among the functions of a namespace."""

OPTIONS = (
    "dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | _str | _int | None = ..., "
    "pin_memory: _bool | None = ..., requires_grad: _bool = ..."
)
"""What ``**options`` of functions that make tensors are."""

BY_HAND: dict[str, tuple[str, ...]] = {
    "size": ("(self) -> Size", "(self, dim: _int) -> _int"),
    "stride": ("(self) -> tuple[_int, ...]", "(self, dim: _int) -> _int"),
    "to": (
        "(self, dtype: _dtype, non_blocking: _bool = ..., copy: _bool = ..., *, memory_format: Any = ...) -> Tensor",
        "(self, device: _device | _str | _int | None = ..., dtype: _dtype | None = ..., non_blocking: _bool = ..., "
        "copy: _bool = ..., *, memory_format: Any = ...) -> Tensor",
        "(self, other: Tensor, non_blocking: _bool = ..., copy: _bool = ..., *, memory_format: Any = ...) -> Tensor",
    ),
    "item": ("(self) -> _int | _float",),
    "type": ("(self) -> _str", "(self, dtype: Any, non_blocking: _bool = ...) -> Tensor"),
    "tensor": (f"(data: Any, *, {OPTIONS}) -> Tensor",),
}  # fmt: skip
"""Signatures that neither PyTorch's parser nor the function itself says."""

ARITHMETIC = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()  # noqa: SIM905
RETURN_TENSORS = {f"__{before}{name}__" for name in ARITHMETIC for before in ("", "r", "i")}
RETURN_TENSORS |= {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__idiv__"}
"""Operators, whose annotation leaves room for ``NotImplemented``."""

IN_PLACE = {f"__i{name}__" for name in (*ARITHMETIC, "div")}

FLAG = "return_indices: _bool = ..."
"""A parameter that says whether there is one result or two."""

_OWN = {"shape", "dtype", "device", "ndim", "is_leaf", "output_nr", "grad_fn", "_base", "_version", "retains_grad"}
"""Properties that the class itself has."""

NOT_WRITTEN = {"__new__", "__init_subclass__", "__torch_function__", "_make_subclass"}


def written(file: str) -> str:
    """The text of a stub."""
    if file == "bindings/return_types":
        return HEAD.partition("\n\nimport")[0] + "\n" + "".join(_named_tuples())
    home = FILES[file]
    if home == "Tensor":
        return "\n".join([HEAD, "class TensorMethods:", *(f"    {line}" for line in _members())]) + "\n"
    package = import_module("tapegrad" if home == "torch" else f"tapegrad.{home}")
    head = re.sub(rf"import ({'|'.join(sorted(IN_HEAD))})\n", r"import \1 as \1\n", HEAD) if home == "torch" else HEAD
    lines = [head, *_others(package, home)]
    for name in sorted(NAMESPACES[home]):
        lines += definition(home, name)
    return "\n".join(lines) + "\n"


IN_HEAD = {"Size", "Tensor", "Generator", "return_types"}


def _others(package: ModuleType, home: str) -> Iterator[str]:
    """What a module of the facade has beside the functions that are declared for it."""
    names = {"__version__", *package.__all__} if home == "torch" else package.__all__
    for name in sorted(set(names) - NAMESPACES[home].keys() - IN_HEAD):
        value = getattr(package, name)
        if inspect.ismodule(value):
            yield f"from {value.__name__.rpartition('.')[0]} import {value.__name__.rpartition('.')[2]} as {name}"
        elif inspect.isroutine(value) or inspect.isclass(value):
            yield f"from {value.__module__} import {value.__name__} as {name}"
        else:
            yield f"{name}: {_class_of(value)}"


def _named_tuples() -> Iterator[str]:
    yield "\nfrom tapegrad.tensor.tensor import Tensor\n"
    yield "\nclass StructSequence(tuple[Any, ...]):\n    names: ClassVar[tuple[_str, ...]]\n"
    for name, cls in vars(return_types).items():
        if isinstance(cls, type) and issubclass(cls, return_types.StructSequence) and cls.names:
            kinds = [SEVERAL.get(f"{name}.{field}", "Tensor") for field in cls.names]
            yield f"\nclass {name}(tuple[{', '.join(kinds)}]):\n"
            for field, kind in zip(cls.names, kinds, strict=True):
                yield f"    @property\n    def {field}(self) -> {kind}: ...\n"


SEVERAL = {"histogramdd.bin_edges": "tuple[Tensor, ...]"}
"""Fields of named tuples that are not one tensor."""


def _members() -> Iterator[str]:
    for name in sorted(NAMESPACES["Tensor"].keys() - NOT_WRITTEN):
        yield from definition("Tensor", name)
    for name, prop in sorted(PROPERTIES.items()):
        if isinstance(prop, property) and name not in NOT_WRITTEN | _OWN:
            kind = _property_type(name, prop)
            yield from ("@property", f"def {name}(self) -> {kind}: ...")
            if prop.fset is not None and vars(Tensor)[name].fset is not None:
                yield from (f"@{name}.setter", f"def {name}(self, value: Any) -> None: ...")


PROPERTY_TYPES = {
    "shape": "Size", "dtype": "_dtype", "device": "_device", "ndim": "_int", "is_leaf": "_bool", "output_nr": "_int",
    "grad_fn": "Node | None", "grad": "Tensor | None", "data": "Tensor", "_base": "Tensor | None", "_version": "_int",
    "requires_grad": "_bool", "retains_grad": "_bool", "real": "Tensor", "imag": "Tensor", "layout": "_layout",
}  # fmt: skip


def _property_type(name: str, prop: property) -> str:
    if name in PROPERTY_TYPES:
        return PROPERTY_TYPES[name]
    return _annotation(str(inspect.signature(prop.fget).return_annotation)) if prop.fget else "Any"


def definition(home: str, name: str) -> list[str]:
    """The lines that define a function, or a value, of a namespace."""
    function = NAMESPACES[home][name]
    if not name.isidentifier() or keyword.iskeyword(name):
        return []
    if isinstance(function, type) and (name in IN_HEAD or not function.__module__.startswith("tapegrad")):
        return [] if name in IN_HEAD else [f"{name}: _type[Tensor]"]
    if isinstance(function, type):
        return [f"from {function.__module__} import {function.__qualname__} as {name}"]
    if not inspect.isroutine(function):
        return [f"{name}: {_class_of(function)}"]
    signatures = list(dict.fromkeys(_signatures(home, name, function)))
    if home == "Tensor" and (name in IN_PLACE or re.fullmatch(r"\w*[^_]_", name)):
        signatures = [signature.replace("-> Tensor", "-> Self") for signature in signatures]
    over = ["@overload"] if len(signatures) > 1 else []
    ignored = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
    text = inspect.getdoc(function) or ""
    says = [f'    """{text.partition(chr(10))[0]}"""'.replace("\\", "\\\\")] if text else ["    ..."]
    return [line for one in signatures for line in (*over, f"def {name}{one}:{ignored}", *says)]


def _class_of(value: Any) -> str:
    name = "None" if value is None else type(value).__name__
    return ALIASED.get(name, f"_{name}" if name == "memory_format" else name)


def _signatures(home: str, name: str, function: Callable) -> Iterator[str]:
    if name in BY_HAND and home in ("Tensor", "torch"):
        yield from BY_HAND[name]
        return
    called, method = PREFIXES.get(home, "") + name, home == "Tensor"
    overloads = () if kind_of(home, name) in ("python", "masked") else overloads_of(called, method)
    returned = str(inspect.signature(function).return_annotation)
    shown = [overload for overload in overloads if not overload.hidden]
    for overload in shown:
        result = _result(called, overload, returned, name)
        yield from (f"{parameters} -> {result}" for parameters in _parameters(overload, method, called))
    if not shown:
        parameters, result = _own_parameters(function), _result(called, None, returned, name)
        if result == "Any" and FLAG in parameters:
            yield f"{parameters.replace(FLAG, 'return_indices: Literal[False] = ...')} -> Tensor"
            yield f"{parameters.replace(FLAG, '*, return_indices: Literal[True]')} -> tuple[Tensor, Tensor]"
        else:
            yield f"{parameters} -> {result}"


def _result(called: str, overload: Overload | None, returned: str, name: str) -> str:
    """What a function returns, by its annotation; where that is ``Any``, a named tuple has the function's name."""
    if name in RETURN_TENSORS:
        return "Tensor"
    if returned != "Any":
        return _annotation(returned)
    if called.startswith(("max_pool", "adaptive_max_pool")) and overload is not None:
        return "tuple[Tensor, Tensor]" if called.endswith("_indices") else "Tensor"
    if called == "where" and overload is not None:
        return "Tensor" if len(overload.parameters) > 1 else "tuple[Tensor, ...]"
    if called == "nonzero":
        return "Tensor"
    if called not in vars(return_types):
        return "Any"
    if called in ("max", "min", "median", "nanmedian") and overload is not None:
        return f"return_types.{called}" if any(one.name == "dim" for one in overload.parameters) else "Tensor"
    return f"return_types.{called}"


def _annotation(text: str) -> str:
    if text == "<class 'inspect._empty'>":
        return "Any"
    return re.sub(r"(?<![\w.])(\w+)(?![\w.])", lambda match: ALIASED.get(match[1], match[1]), text)


def _parameters(overload: Overload, method: bool, called: str) -> Iterator[str]:
    """The parameters of an overload; twice, if what is one sequence may be given as several arguments."""
    parts, by_name = ["self"] if method else [], False
    for parameter in overload.parameters:
        if parameter.by_name and not by_name:
            by_name = True
            parts.append("*")
        parts.append(_parameter(parameter, called))
    first = overload.parameters[0] if overload.parameters else None
    yield f"({', '.join(parts)})"
    if overload.positional == 1 and first is not None and first.type in ("ints", "indices"):
        several = [*(["self"] if method else []), f"*{first.name}: _int"]
        yield f"({', '.join(several + [_parameter(one, called) for one in overload.parameters[1:]])})"


def _parameter(parameter: SignatureParameter, called: str) -> str:
    kind = TYPES.get(parameter.type, "Any")
    if parameter.size and parameter.type in ("ints", "indices", "floats"):
        kind += " | _int" if parameter.type != "floats" else " | _float"
    if parameter.type == "Tensor" and called in NUMBERS_AS_TENSORS:
        kind += " | _Number"
    kind += " | None" if parameter.nullable and kind != "Any" else ""
    name = parameter.name + "_" * keyword.iskeyword(parameter.name)
    return f"{name}: {kind}" + " = ..." * parameter.optional


def _own_parameters(function: Callable) -> str:
    """The parameters that a function has here."""
    parts: list[str] = []
    by_name = False
    for one in inspect.signature(function).parameters.values():
        kind = _annotation(str(one.annotation))
        if one.kind is one.KEYWORD_ONLY and not by_name:
            by_name = True
            parts.append("*")
        if one.kind is one.VAR_POSITIONAL:
            by_name = True
            parts.append(f"*{one.name}: {kind}")
        elif one.kind is one.VAR_KEYWORD:
            options = "Unpack" in kind
            parts += ([] if by_name else ["*"]) + [OPTIONS] if options else [f"**{one.name}: {kind}"]
        elif one.name == "self":
            parts.append("self")
        else:
            parts.append(f"{one.name}: {kind}" + " = ..." * (one.default is not one.empty))
    return f"({', '.join(parts)})"
