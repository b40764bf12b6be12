"""Names of the nodes of a graph, and of what generated code refers to: each is given once."""

from __future__ import annotations

import builtins
import keyword
import math
import re
import types
from typing import Any, NamedTuple

from tapegrad._src.execution.data.devices import device
from tapegrad.fx import _pytree as fx_pytree
from tapegrad.fx._naming import PACKAGE, facade
from tapegrad.utils import _pytree as pytree

ILLEGAL = re.compile(r"[^0-9a-zA-Z_]+")
NUMBERED = re.compile(r"(.*)_(\d+)$")


class _CustomBuiltin(NamedTuple):
    """A thing that all generated code finds.

    Attributes:
        import_str: the line that imports it.
        obj: the thing itself; None for the package, which is there when code is generated.
    """

    import_str: str
    obj: Any

    def found(self) -> Any:
        """The thing itself."""
        return facade() if self.obj is PACKAGE else self.obj


_custom_builtins: dict[str, _CustomBuiltin] = {
    "inf": _CustomBuiltin("from math import inf", math.inf),
    "nan": _CustomBuiltin("from math import nan", math.nan),
    "NoneType": _CustomBuiltin("NoneType = type(None)", types.NoneType),
    "torch": _CustomBuiltin(f"import {PACKAGE} as torch", PACKAGE),
    "device": _CustomBuiltin(f"from {PACKAGE} import device", device),
    "fx_pytree": _CustomBuiltin(f"import {PACKAGE}.fx._pytree as fx_pytree", fx_pytree),
    "pytree": _CustomBuiltin(f"import {PACKAGE}.utils._pytree as pytree", pytree),
}
"""The things that are found in all generated code, whose text is such a name."""


_BUILTINS = {name: value for name, value in vars(builtins).items() if name != "_"}
"""Python's own names, without the last result of an interactive session, which it keeps among them."""


def _register_custom_builtin(name: str, import_str: str, obj: Any) -> None:
    """Let generated code find one thing more."""
    _custom_builtins[name] = _CustomBuiltin(import_str, obj)


class _Namespace:
    """The names that are taken, and what has them.

    >>> names = _Namespace()
    >>> [names.create_name(name, None) for name in ("x", "x", "a.b", "1", "sum", "")]
    ['x', 'x_1', 'a_b', '_1', 'sum_1', '_unnamed']
    """

    def __init__(self) -> None:
        self._obj_to_name: dict[Any, str] = {}
        self._used_names: set[str] = set()
        self._base_count: dict[str, int] = {}

    def create_name(self, candidate: str, obj: Any) -> str:
        """The name of a thing, or a new one like ``candidate``, which nothing else has.

        Args:
            candidate: the name that is wanted; what Python doesn't allow in names becomes ``_``.
            obj: the thing, if it is to be remembered with its name.
        """
        if obj is not None and obj in self._obj_to_name:
            return self._obj_to_name[obj]
        candidate = ILLEGAL.sub("_", candidate) or "_unnamed"
        candidate = f"_{candidate}" if candidate[0].isdigit() else candidate
        numbered = NUMBERED.match(candidate)
        base, number = (numbered[1], int(numbered[2])) if numbered else (candidate, 0)
        while candidate in self._used_names or self._is_illegal_name(candidate, obj):
            number = max(number, self._base_count.get(base, 0)) + 1
            candidate = f"{base}_{number}"
        self._used_names.add(candidate)
        self._base_count[base] = max(number, self._base_count.get(base, 0))
        if obj is not None:
            self._obj_to_name[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name: str, obj: Any) -> None:
        """Remember a name that was created with the thing that has it.

        Raises:
            AssertionError: another thing has it.
        """
        if self._obj_to_name.setdefault(obj, name) != name:
            raise AssertionError("obj is already associated")

    def _rename_object(self, obj: Any, name: str) -> None:
        self._obj_to_name[obj] = name
        self._used_names.add(name)

    def _is_illegal_name(self, name: str, obj: Any) -> bool:
        """Tell whether Python, or generated code, has this name for something else."""
        if keyword.iskeyword(name):
            return True
        if name in _BUILTINS:
            return obj is not _BUILTINS[name]
        return name in _custom_builtins and obj is not _custom_builtins[name].found()
