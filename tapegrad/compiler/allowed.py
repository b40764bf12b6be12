"""What may be left out when a call is replayed: an allow-list of what code can call. What is not on it is run.

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

from tapegrad.compiler.trace_rules import is_standard, is_trusted

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

_IMPORTING = frozenset({"_handle_fromlist", "parent", "_lock_unlock_module"})
"""What runs of the import system where all is imported already."""

VALUES: tuple[type, ...] = (
    str, bytes, bytearray, list, dict, tuple, set, frozenset, int, float, complex, range, slice, memoryview, property,
    collections.deque, types.MappingProxyType, type({}.keys()), type({}.values()), type({}.items()),
    types.GeneratorType, type(None), BaseException, re.Pattern, re.Match, fractions.Fraction, weakref.ref,
    type(np.zeros(0).flags), np.generic, np.ndarray, np.dtype, string.Formatter, type(abc.ABCMeta.register), enum.Enum,
    classmethod, staticmethod, types.SimpleNamespace,
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

_NUMPY = """
    abs absolute all allclose amax amin angle any append apply_along_axis arange argmax argmin argpartition argsort
    argwhere around array array_equal array_equiv array_split asanyarray asarray ascontiguousarray asfortranarray
    astype atleast_1d atleast_2d atleast_3d average bartlett base_repr binary_repr bincount blackman block
    broadcast_arrays broadcast_shapes broadcast_to can_cast choose clip column_stack common_type compress concat
    concatenate convolve copy copyto corrcoef correlate count_nonzero cov cross cumprod cumsum cumulative_prod
    cumulative_sum delete diag diag_indices diag_indices_from diagflat diagonal diff digitize dot dsplit dstack
    ediff1d einsum einsum_path empty empty_like expand_dims extract eye fill_diagonal fix flatnonzero flip fliplr
    flipud frombuffer fromfunction fromiter fromstring full full_like geomspace get_printoptions gradient hamming
    hanning histogram histogram2d histogram_bin_edges histogramdd hsplit hstack i0 identity imag in1d indices inner
    insert interp intersect1d iscomplex iscomplexobj isclose isdtype isfortran isin isneginf isposinf isreal
    isrealobj isscalar issubdtype iterable ix_ kaiser kron lexsort linspace logspace mask_indices matrix_transpose
    max may_share_memory mean median meshgrid min min_scalar_type moveaxis nan_to_num nanargmax nanargmin nancumprod
    nancumsum nanmax nanmean nanmedian nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar ndim nonzero
    ones ones_like outer packbits pad partition percentile permute_dims piecewise place poly polyadd polyder polydiv
    polyfit polyint polymul polysub polyval prod promote_types ptp put put_along_axis putmask quantile ravel
    ravel_multi_index real real_if_close repeat require reshape resize result_type roll rollaxis roots rot90 round
    searchsorted select setdiff1d setxor1d shape shares_memory sinc size sort sort_complex split squeeze stack std
    sum swapaxes take take_along_axis tensordot tile trace transpose trapezoid tri tril tril_indices
    tril_indices_from trim_zeros triu triu_indices triu_indices_from union1d unique unique_all unique_counts
    unique_inverse unique_values unpackbits unravel_index unstack unwrap vander var vdot vecdot vsplit vstack where
    zeros zeros_like
""".split()  # noqa: SIM905 - a table is easier to read without the quotes
_NUMPY_MODULES = frozenset({
    "numpy._core._methods", "numpy._core.numerictypes", "numpy._core._internal", "numpy._core._dtype",
    "numpy._core.getlimits", "numpy.dtypes", "numpy.linalg._linalg", "numpy.fft._pocketfft", "numpy.fft._helper",
    "numpy.lib._stride_tricks_impl", "numpy.lib._index_tricks_impl",
})  # fmt: skip
"""Modules of NumPy of which all Python functions are allowed."""


def _numpy() -> tuple[frozenset[int], frozenset[CodeType]]:
    spaces = [(np, [*_NUMPY, *(name for name, one in vars(np).items() if isinstance(one, np.ufunc))])]
    spaces += [(one, list(one.__all__)) for one in (np.linalg, np.fft)]
    found = [getattr(space, name) for space, names in spaces for name in names if hasattr(space, name)]
    inner = [getattr(one, "_implementation", one) for one in found]
    codes = (getattr(one, "__code__", None) for one in inner)
    return frozenset(map(id, found)), frozenset(code for code in codes if code is not None)


NUMPY, _NUMPY_CODE = _numpy()
"""The functions of NumPy that are allowed, and the code that runs for them."""

_JAX_ROOMS = """
    numpy lax nn random scipy image tree_util tree _src.numpy _src.lax _src.nn _src.random _src.scipy _src.image
    _src.tree_util _src.tree _src.api _src.pjit _src.custom_derivatives _src.core _src.array _src.basearray
    _src.prng _src.util _src.traceback_util _src.api_util _src.dtypes _src.ops _src.sharding_impls _src.third_party
""".split()  # noqa: SIM905 - the same
_JAX = tuple(f"jax.{name}." for name in _JAX_ROOMS)

_ROOMS = """
    functions ops dispatch tape engine linalg fft special functional masked signal nn optim amp func distributions
    interop overrides types _C _ops jit declaring errors storage torch_version version library __future__
    absent doors
    tensor.dual tensor.exposing tensor.geometry tensor.layout tensor.level_messages tensor.lifted tensor.paths
    tensor.placing tensor.refusals tensor.shared tensor.spec tensor.storage tensor.tensor tensor.trees
    execution.dtypes execution.devices execution.promotion execution.values execution.host
    autograd bindings.arguments bindings.attach bindings.attributes bindings.bounds bindings.casting bindings.checking
    bindings.declarations bindings.dunders bindings.factory bindings.function_modes bindings.handing bindings.inplace
    bindings.inplace_fast_path bindings.inplace_memory bindings.inplace_out bindings.inplace_parts bindings.kinds
    bindings.layouts bindings.memory bindings.matrix_checks bindings.naming bindings.overriding bindings.parser
    bindings.placement
    bindings.protocols bindings.registry bindings.return_types bindings.scalars bindings.shortcuts
    bindings.storage_methods bindings.storages bindings.subclass bindings.symbolic bindings.tangents bindings.together
    bindings.viewing bindings.windows bindings.asked
    utils.checkpoint utils._pytree utils._foreach_utils utils.hooks utils.dlpack
    compiler.step compiler.moving compiler.stand_ins
""".split()  # noqa: SIM905 - the same
_OURS = tuple(f"tapegrad.{name}." for name in _ROOMS)
"""The rooms of tapegrad whose functions have to do with tensors only: no file, no seed, no setting, no clock."""

_OURS_NOT = ("tapegrad.autograd.profil", "tapegrad.autograd.graph_log.", "tapegrad.interop.arrays.")

_CUDA = """
    current_device is_available device_count synchronize is_bf16_supported empty_cache ipc_collect is_initialized
"""
_OURS_TOO = frozenset(
    ("tapegrad." + module, name)
    for module, names in {
        "bindings.cuda": _CUDA,
        "cuda": _CUDA,
        "bindings.accelerator": "is_available device_count synchronize",
        "mps": "is_available is_built",
        "backends.mps": "is_available is_built",
        "backends.cuda": "is_built",
        "backends.cudnn": "is_available version",
        "compiler.marks": "is_compiling is_dynamo_compiling is_exporting",
        "distributed": "is_available is_initialized",
        "interop.arrays": "from_jax_array to_jax_array",
    }.items()
    for name in names.split()
)
"""Single functions of other rooms."""

WRAPPING = ("tapegrad.bindings.registry", "tapegrad.bindings.shortcuts", "jax._src.traceback_util")
"""Modules whose functions stand for others, which they call: those are judged."""


def code_is_allowed(code: CodeType, module: Any) -> bool:
    """Whether a Python function of a library may be left out."""
    module = str(module or "")
    if module.partition(".")[0] == "numpy":
        numpys_own = code.co_name.endswith("_dispatcher") or code.co_qualname.startswith("errstate.")
        return code in _NUMPY_CODE or module in _NUMPY_MODULES or numpys_own
    if is_trusted(module):
        name = f"{module}."
        if name.startswith(_OURS) and not name.startswith(_OURS_NOT):
            return True
        return name.startswith((*_JAX, "ml_dtypes.", "optax.")) or (module, code.co_qualname) in _OURS_TOO
    if module.startswith("importlib._bootstrap"):
        return code.co_name in _IMPORTING
    return module in STANDARD


def code_reaches(code: CodeType, module: Any) -> bool:
    """Whether a Python function of a library reads attributes that nobody names."""
    return (str(module), code.co_name) in _REACHING_CODE


def function_is_allowed(function: Any) -> bool:
    """Whether a function of C may be left out; a method: where its object is guarded."""
    owner, name = getattr(function, "__self__", None), function.__name__
    if owner is None or isinstance(owner, types.ModuleType):
        module = function.__module__
        return id(function) in FUNCTIONS or id(function) in NUMPY or module in OF_C
    if name in _NEVER:
        return False
    if isinstance(owner, type):
        made = owner is object or issubclass(owner, (*VALUES, type)) or name == "__init_subclass__"
        return made or is_users_kind(owner)
    return isinstance(owner, VALUES) or hasattr(object, name) or type(owner).__module__ in ("jaxlib._jax", "_thread")


def is_users_kind(kind: type) -> bool:
    """Whether a class is neither of a library nor of C: what its methods call is seen."""
    module = kind.__module__
    return not (is_trusted(module) or is_standard(module))


def function_reaches(function: Any) -> bool:
    """Whether a function of C that was called reads attributes that nobody names."""
    owner, name = getattr(function, "__self__", None), function.__name__
    if isinstance(owner, str) and name in ("format", "format_map"):
        return has_fields(owner)
    if owner is builtins:
        return name in REACHING
    return function.__module__ in ("operator", "_operator") and name not in _OPERATORS


_OPERATORS = frozenset(name for name in dir(operator) if name not in ("attrgetter", "methodcaller"))


def has_fields(text: str) -> bool:
    """Whether a format takes attributes or items of what it is given.

    >>> has_fields("{0:.3f} {name}"), has_fields("{0.rate}"), has_fields("{0[1]}")
    (False, True, True)
    """
    try:
        fields = [(field, spec) for _, field, spec, _ in string.Formatter().parse(text) if field is not None]
    except ValueError:
        return False
    return any("." in field or "[" in field or (spec and has_fields(spec)) for field, spec in fields)


_CLASSES = frozenset({*OF_C, *STANDARD, "builtins", "numbers"})


def class_is_allowed(kind: type) -> bool:
    """Whether instances of a library's class may be made unseen: what it does in Python is seen."""
    module = kind.__module__
    if module in _CLASSES or issubclass(kind, BaseException):
        return True
    if issubclass(kind, (datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo)):
        return True  # asking for the time is a method
    if module.partition(".")[0] == "numpy":
        return issubclass(kind, (np.generic, np.dtype, np.ndarray, np.ufunc)) and not issubclass(kind, np.memmap)
    if is_trusted(module):
        return True  # written in Python, or jax's
    made = (vars(base).get(name) for base in kind.__mro__[:-1] for name in ("__init__", "__new__"))
    return any(isinstance(one, (types.FunctionType, staticmethod)) for one in made) or dataclasses.is_dataclass(kind)


def thing_is_allowed(thing: Any) -> bool:
    """Whether an object of C that can be called, and is no plain function, may be."""
    return id(thing) in NUMPY or (isinstance(thing, np.ufunc) and thing.__class__ is np.ufunc)
