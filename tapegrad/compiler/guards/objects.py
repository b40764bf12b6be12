"""Questions about objects that a function can reach, answered without asking the objects."""

from __future__ import annotations

import builtins
import datetime
import time
import types
from types import CodeType
from typing import Any

import numpy as np

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.compiler.guards.allowed import REACHING, class_is_allowed, code_is_allowed, function_is_allowed
from tapegrad.compiler.guards.trace_rules import PLAIN, is_standard, is_trusted


def home_of(function: types.FunctionType) -> Any:
    """The module in whose file a function was written; None if that was in no file."""
    written = not function.__code__.co_filename.startswith("<")
    return function.__globals__.get("__name__") if written else None  # not ``__module__``, which decorators change


def is_a(thing: Any, classes: Any) -> bool:
    """``isinstance`` that does not ask the object."""
    return issubclass(type(thing), classes)


def is_users(thing: Any) -> bool:
    """Tell whether something that a library's function holds was written by the user: a function that it decorates."""
    if is_a(thing, types.MethodType):
        thing = thing.__func__
    if is_a(thing, types.FunctionType):
        module = home_of(thing)
        wrapped = thing.__dict__.get("__wrapped__")
        if wrapped is not None and (is_trusted(module) or is_standard(module)):
            return is_users(wrapped)  # a library's decorator stands between
    else:
        module = (thing if is_a(thing, type) else type(thing)).__module__
    return not (is_trusted(module) or is_standard(module))


def is_pythons(cls: type) -> bool:
    """Tell whether a class was made by a ``class`` statement: it has no state in C but what it has from others."""
    inside = vars(cls)
    made: Any = inside.get("__new__")
    if is_a(made, types.BuiltinFunctionType) and made.__self__ is cls:
        return False
    return not any(type(one) in _OF_C and key not in ("__dict__", "__weakref__") for key, one in inside.items())


_OF_C = (types.MethodDescriptorType, types.GetSetDescriptorType, types.WrapperDescriptorType)


def contents_of(array: np.ndarray) -> tuple:
    """The contents by which an array of NumPy's is compared."""
    return array.shape, array.strides, array.dtype, array.tobytes()


def inside_of(thing: Any) -> Any:
    """The dictionary in which an object has its attributes, without asking the object; None if there is none."""
    try:
        return object.__getattribute__(thing, "__dict__")
    except AttributeError:
        return None


def is_plain(thing: Any) -> bool:
    """Tell whether a value is compared where it is found."""
    return type(thing) in PLAIN


def searched_code(function: types.FunctionType) -> CodeType | None:
    """The code of a function that is searched; None if it is a library's."""
    module = home_of(function)
    return None if is_trusted(module) or is_standard(module) else function.__code__


def is_held(thing: Any) -> bool:
    """Tell whether something that a function of the standard library holds is the user's, or may have what is."""
    return is_users(thing) or type(thing) in (dict, list)


TELLING = {id(one) for one in (type, id, pow, time.sleep)}
"""Functions that tell a number by its class, or take none that only claims to be one."""


def tolerates(thing: Any) -> bool:
    """Tell whether a function or a class, of a library or of C, takes what only claims to be a number for one."""
    if is_a(thing, types.FunctionType):
        module = home_of(thing)
        return not is_standard(module) or code_is_allowed(thing.__code__, module) or _root(module) in TOLERANT
    if is_a(thing, types.BuiltinFunctionType):
        return function_is_allowed(thing) or _root(thing.__module__) in TOLERANT or id(thing) == id(print)
    if is_a(thing, type) and is_standard(thing.__module__):
        dates = issubclass(thing, (datetime.date, datetime.time, datetime.timedelta))
        return (class_is_allowed(thing) or _root(thing.__module__) in TOLERANT) and not dates
    return _root(getattr(thing, "__name__", None)) not in ("jax", "jaxlib") if is_a(thing, types.ModuleType) else True


def is_open(thing: Any) -> bool:
    """Tell whether it is known what an object can call, although not whether that does the same each time."""
    cls = thing if is_a(thing, type) else type(thing)
    return is_a(thing, (types.BuiltinFunctionType, np.ndarray)) or _root(cls.__module__) in TOLERANT


def _root(module: Any) -> str:
    return str(module or "").partition(".")[0]


TOLERANT = frozenset({"time", "logging", "sys", "os", "warnings", "random", "contextlib", "io", "_io"})
"""Modules of the standard library that do with a proxy what they do with a number."""

ASKING = {id(getattr(builtins, name)): name for name in (*REACHING, "type")}
"""Builtins that take names of attributes, or by which instances are made of classes that nobody names."""

DEFAULTS: tuple[Any, ...] = types.FunctionType.__defaults__, types.FunctionType.__kwdefaults__
"""The slots in which functions have the defaults of their arguments."""

KEPT = frozenset(name for name in vars(Tensor) if name.startswith("_"))
"""The attributes that are ours of tensors."""
