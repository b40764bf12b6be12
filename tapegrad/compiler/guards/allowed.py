"""Calls that may be left out when a call is replayed: an allow-list of what code can call. What is not on it is run.

Note [What is allowed]
A replayed call does without Python, so all that was called must be known to give the same for the same, and to do
nothing else. Judged is the object that was called, not its name: functions of C by themselves, or by the object that
they are methods of; Python functions of libraries by the code that began to run. All other code is searched like the
user's own (``trace_rules.py``), so that only what it calls counts.

What C calls in turn (``map``, ``sorted(key=...)``) is not seen: there it is enough that it could be reached.
"""

from __future__ import annotations

import abc
import builtins
import collections
import contextvars
import dataclasses
import datetime
import enum
import fractions
import operator
import re
import string
import types
import weakref
from types import CodeType
from typing import Any

import numpy as np

from tapegrad.compiler.guards.trace_rules import is_standard, is_trusted

_BUILTINS = """
    abs all any ascii bin callable chr delattr dir divmod format getattr hasattr hash hex isinstance issubclass iter len
    max min next oct ord pow repr round setattr sorted sum vars __build_class__
""".split()  # noqa: SIM905 - a table is easier to read without the quotes
FUNCTIONS = frozenset(id(getattr(builtins, name)) for name in _BUILTINS)
"""Builtins that have no state and ask nobody. (What they call of the user's is seen.)"""

OF_C = frozenset({
    "math", "cmath", "operator", "_operator", "itertools", "functools", "_functools", "collections", "_collections",
    "_abc", "abc", "_bisect", "_heapq", "_weakref", "_typing", "_sre", "_string",
})  # fmt: skip
"""Modules of C of which all functions and classes are allowed."""

STANDARD = OF_C | {
    "collections.abc", "_collections_abc", "contextlib", "typing", "types", "enum", "numbers", "copy", "dataclasses",
    "bisect", "heapq", "string", "weakref", "re", "re._compiler", "re._parser", "sre_compile", "sre_parse", "reprlib",
    "keyword", "_weakrefset", "copyreg", "fractions", "annotationlib",
}  # fmt: skip
"""Modules of the standard library whose Python functions are allowed."""

_STANDARD_TOO = frozenset({
    ("inspect", "signature"), ("inspect", "isfunction"), ("inspect", "isclass"), ("inspect", "Signature.parameters"),
    ("inspect", "Parameter.name"), ("inspect", "Parameter.default"), ("inspect", "Parameter.kind"),
    ("os", "_Environ.__getitem__"), ("os", "getenv"),
})  # fmt: skip
"""Single functions of other modules of it. What they read of the environment is compared."""

_IMPORTING = frozenset({"_handle_fromlist", "parent", "_lock_unlock_module", "_find_and_load"})
"""Functions of the import system that code calls: with the next call all is imported already."""

VALUES: tuple[type, ...] = (
    str, bytes, bytearray, list, dict, tuple, set, frozenset, int, float, complex, range, slice, memoryview, property,
    collections.deque, types.MappingProxyType, type({}.keys()), type({}.values()), type({}.items()),
    types.GeneratorType, type(None), BaseException, re.Pattern, re.Match, fractions.Fraction, weakref.ref,
    type(np.zeros(0).flags), np.generic, np.ndarray, np.dtype, string.Formatter, type(abc.ABCMeta.register), enum.Enum,
    classmethod, staticmethod, types.SimpleNamespace, contextvars.ContextVar,
)  # fmt: skip
"""Classes whose methods touch nothing but the object and their arguments."""

_NEVER = frozenset({"tofile", "dump", "__subclasses__", "setflags"})
"""Methods of these that do."""

REACHING = frozenset({"getattr", "hasattr", "setattr", "delattr", "vars", "dir"})
"""Builtins that take the name of an attribute, or all of them."""

_REACHING_CODE = frozenset({
    ("copy", "copy"), ("copy", "deepcopy"), ("dataclasses", "asdict"), ("dataclasses", "astuple"),
    ("dataclasses", "replace"), ("dataclasses", "fields"), ("types", "__getattr__"),
})  # fmt: skip
"""Python functions that read all attributes of an object."""

_NUMPY_ROOMS = """
    _core.fromnumeric _core.numeric _core.shape_base _core.function_base _core.einsumfunc _core.multiarray
    _core._methods _core._asarray _core.numerictypes _core._internal _core._dtype _core.getlimits _core._type_aliases
    lib._function_base_impl lib._arraysetops_impl lib._shape_base_impl lib._twodim_base_impl lib._nanfunctions_impl
    lib._type_check_impl lib._ufunclike_impl lib._index_tricks_impl lib._stride_tricks_impl lib._arraypad_impl
    lib._histograms_impl lib._polynomial_impl lib._array_utils_impl dtypes linalg._linalg fft._pocketfft fft._helper
""".split()  # noqa: SIM905 - a table is easier to read without the quotes
_NUMPY_MODULES = frozenset(f"numpy.{name}" for name in _NUMPY_ROOMS)
"""Modules of NumPy of which all Python functions are allowed: they compute with arrays."""


def _is_numpys(function: Any) -> bool:
    """Tell whether a public function of NumPy computes with arrays, and does nothing else."""
    inner = getattr(function, "_implementation", function)
    if isinstance(inner, types.FunctionType):
        return inner.__globals__.get("__name__") in _NUMPY_MODULES
    written = isinstance(inner, types.BuiltinFunctionType) and inner.__name__ != "fromfile"
    return written or isinstance(inner, np.ufunc)


NUMPY = frozenset(
    id(one) for space in (np, np.linalg, np.fft) for name, one in vars(space).items()
    if not name.startswith("_") and _is_numpys(one)
)  # fmt: skip
"""The functions of NumPy that are allowed."""

_JAX_ROOMS = """
    numpy lax nn random scipy image tree_util tree _src.numpy _src.lax _src.nn _src.random _src.scipy _src.image
    _src.tree_util _src.tree _src.api _src.pjit _src.custom_derivatives _src.core _src.array _src.basearray
    custom_batching _src.custom_batching
    _src.prng _src.util _src.traceback_util _src.api_util _src.dtypes _src.ops _src.sharding_impls _src.third_party
""".split()  # noqa: SIM905 - the same
_JAX = tuple(f"jax.{name}." for name in _JAX_ROOMS)

_ROOMS = """
    functions ops dispatch tape engine linalg fft special functional masked signal nn optim amp func distributions
    interop overrides types _C _ops jit declaring storage torch_version version __future__
    absent doors caches as_torch.standing distributed.tensor distributed.device_mesh execution.kernels.symbolic_kernel
    execution.kernels.kernel execution.recording.recorded_call
    tensor.dual tensor.exposing tensor.geometry tensor.layout tensor.level_messages tensor.lifted tensor.paths
    tensor.placing tensor.refusals tensor.shared tensor.spec tensor.storage tensor.tensor tensor.trees
    execution.data.dtypes execution.data.devices execution.data.promotion execution.data.values
    execution.array_functions.host autograd bindings.arguments bindings.attach bindings.state.attributes bindings.bounds
    bindings.checking bindings.declaration.declarations bindings.declaration.dunders
    bindings.declaration.factory bindings.function_modes bindings.declaration.handing bindings.writes.in_place
    bindings.writes.cached bindings.writes.overlaps bindings.writes.out bindings.writes.parts bindings.layout_methods
    bindings.layouts bindings.state.memory bindings.matrix_checks bindings.naming bindings.overriding
    bindings.declaration.parser bindings.writes.cached_parts bindings.placement
    bindings.protocols bindings.declaration.registry bindings.return_types bindings.declaration.scalars
    bindings.function_calls bindings.state.storage_methods bindings.state.storages bindings.subclass bindings.symbolic
    bindings.tangents bindings.fused_update bindings.viewing bindings.windows bindings.asked bindings.dispatching
    bindings.schema_calls bindings.shown_calls
    nested _higher_order_ops utils.checkpoint utils._pytree utils._foreach_utils utils.hooks utils.dlpack utils.weak
    compiler.step compiler.capture.dynamic_number compiler.capture.proxies
""".split()  # noqa: SIM905 - the same
_OURS = tuple(f"{package}.{name}." for name in _ROOMS for package in ("tapegrad", "tapegrad._src"))
"""The rooms of tapegrad whose functions have to do with tensors only: no file, no seed, no setting, no clock."""

_OURS_NOT = ("tapegrad.autograd.profil", "tapegrad.autograd.graph_log.", "tapegrad.interop.arrays.")

_SETTING_TENSORS = "set_", "set_materialize_grads"
"""Functions of these rooms that set nothing but what belongs to a tensor, or a node."""

_CUDA = """
    current_device is_available device_count synchronize is_bf16_supported empty_cache ipc_collect is_initialized
"""
_TELLING = {("tapegrad._src.bindings.protocols", "__repr__"), ("tapegrad._src.functions.conversion", "__format__")}
"""Functions of these rooms that read settings."""

_OURS_TOO = frozenset(
    ("tapegrad." + module, name)
    for module, names in {
        "_src.bindings.device_names.cuda": _CUDA,
        "cuda": _CUDA,
        "_src.bindings.device_names.accelerator": "is_available device_count synchronize current_accelerator",
        "_src.bindings.device_names.other_devices": "is_available device_count",
        "_src.bindings.scripting": "is_scripting is_tracing annotate isinstance",
        "autograd.profiling.profile": "record_function.__init__ record_function.__enter__ record_function.__exit__",
        "onnx": "is_in_onnx_export",
        "backends.mps": "is_available is_built",
        "backends.cuda": "is_built",
        "backends.cudnn": "is_available version",
        "compiler.annotations": "is_compiling is_dynamo_compiling is_exporting",
        "distributed.distributed_c10d": "is_available",
        "interop.arrays": "from_jax_array to_jax_array array_of",
    }.items()
    for name in names.split()
)
"""Single functions of other rooms."""

WRAPPING = (
    "tapegrad._src.bindings.declaration.registry",
    "tapegrad._src.bindings.function_calls",
    "jax._src.traceback_util",
)
"""Modules whose functions stand for others, which they call: those are judged."""


def code_is_allowed(code: CodeType, module: Any) -> bool:
    """Tell whether a Python function of a library may be left out."""
    module = str(module or "")
    if module.partition(".")[0] == "numpy":
        numpys_own = code.co_name.endswith("_dispatcher") or code.co_qualname.startswith("errstate.")
        return module in _NUMPY_MODULES or numpys_own
    if is_trusted(module):
        name = f"{module}."
        if name.startswith(_OURS) and not name.startswith(_OURS_NOT):
            sets = code.co_name.startswith("set_") and code.co_name not in _SETTING_TENSORS
            return not sets and code.co_name != "from_file" and (module, code.co_qualname) not in _TELLING
        return name.startswith((*_JAX, "ml_dtypes.", "optax.")) or (module, code.co_qualname) in _OURS_TOO
    if module.startswith("importlib._bootstrap"):
        return code.co_name in _IMPORTING
    return module in STANDARD or (module, code.co_qualname) in _STANDARD_TOO


def code_reaches(code: CodeType, module: Any) -> bool:
    """Tell whether a Python function of a library reads attributes that nobody names."""
    return (str(module), code.co_name) in _REACHING_CODE


def code_reads_functions(code: CodeType, module: Any) -> bool:
    """Tell whether a Python function of a library reads the code, or the defaults, of functions that it is given."""
    return (module, code.co_name) == ("inspect", "signature")


def function_is_allowed(function: Any) -> bool:
    """Tell whether a function of C may be left out; a method: where its object is guarded."""
    owner, name = getattr(function, "__self__", None), function.__name__
    if owner is None or isinstance(owner, types.ModuleType):
        module = function.__module__
        return id(function) in FUNCTIONS or id(function) in NUMPY or module in OF_C
    if name in _NEVER:
        return False
    if isinstance(owner, type):
        made = owner is object or issubclass(owner, (*VALUES, type)) or name == "__init_subclass__"
        return made or is_users_class(owner)
    return isinstance(owner, VALUES) or hasattr(object, name) or type(owner).__module__ in ("jaxlib._jax", "_thread")


def is_users_class(cls: type) -> bool:
    """Tell whether a class is neither of a library nor of C: what its methods call is seen."""
    module = cls.__module__
    return not (is_trusted(module) or is_standard(module))


def function_reaches(function: Any) -> bool:
    """Tell whether a function of C that was called reads attributes that nobody names."""
    owner, name = getattr(function, "__self__", None), function.__name__
    if isinstance(owner, str) and name in ("format", "format_map"):
        return has_fields(owner)
    if owner is builtins:
        return name in REACHING
    return function.__module__ in ("operator", "_operator") and name not in _OPERATORS


_OPERATORS = frozenset(name for name in dir(operator) if name not in ("attrgetter", "methodcaller"))


def has_fields(text: str) -> bool:
    """Tell whether a format takes attributes or items of what it is given.

    >>> has_fields("{0:.3f} {name}"), has_fields("{0.rate}"), has_fields("{0[1]}")
    (False, True, True)
    """
    try:
        fields = [(field, spec) for _, field, spec, _ in string.Formatter().parse(text) if field is not None]
    except ValueError:
        return False
    return any("." in field or "[" in field or (spec and has_fields(spec)) for field, spec in fields)


_CLASSES = frozenset({*OF_C, *STANDARD, "builtins", "numbers"})


def class_is_allowed(cls: type) -> bool:
    """Tell whether instances of a library's class may be made unseen: what it does in Python is seen."""
    module = cls.__module__
    if module in _CLASSES or issubclass(cls, BaseException):
        return True
    if issubclass(cls, (datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo)):
        return True  # asking for the time is a method
    if module.partition(".")[0] == "numpy":
        return issubclass(cls, (np.generic, np.dtype, np.ndarray, np.ufunc)) and not issubclass(cls, np.memmap)
    if is_trusted(module):
        return True  # written in Python, or jax's
    made = (vars(base).get(name) for base in cls.__mro__[:-1] for name in ("__init__", "__new__"))
    return any(isinstance(one, (types.FunctionType, staticmethod)) for one in made) or dataclasses.is_dataclass(cls)


def thing_is_allowed(thing: Any) -> bool:
    """Tell whether an object of C that can be called, and is no plain function, may be."""
    return id(thing) in NUMPY or (isinstance(thing, np.ufunc) and thing.__class__ is np.ufunc)
