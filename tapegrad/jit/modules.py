"""``torch.jit.script`` and ``trace`` of modules: what they give is a ``ScriptModule``, which runs as Python.

Note [Scripted modules]
Libraries ask whether a module is scripted, and expect of one that what it raises is an error of ``torch.jit``. So a
module that is scripted gives another one, of a class of its own, which has the same parameters, buffers and attributes,
and modules below that are scripted, too. All methods are those of the original's class: Python is what runs.
"""

from __future__ import annotations

import copy
import functools
import traceback
from typing import Any, NoReturn

from tapegrad._src.bindings import scripting
from tapegrad._src.bindings.scripting import JITException
from tapegrad.nn import Module

NO_CODE = "there is no TorchScript here, Python is what runs; torch.fx.symbolic_trace(module) shows what it does"


class ScriptModule(Module):
    """The base of modules that ``torch.jit.script`` and ``trace`` give, and of those that a program writes so.

    >>> isinstance(torch.jit.script(torch.nn.ReLU()), torch.jit.ScriptModule)
    True
    """

    def _refused(self) -> NoReturn:
        """Refuse: there is no TorchScript.

        Raises:
            NotImplementedError: always; it says what to do instead.
        """
        raise NotImplementedError(f"{type(self).__name__}: {NO_CODE}")

    graph = property(_refused)
    code = property(_refused)
    inlined_graph = property(_refused)

    def save(self, f: Any, **kwargs: Any) -> None:
        """Refused, as ``torch.jit.save``."""
        scripting.save(self, f, **kwargs)


class RecursiveScriptModule(ScriptModule):
    """A module that was made of another one.

    Attributes:
        original_name: the name of that one's class.

    Raises:
        torch.jit.Error: ``forward`` raises anything.
    """

    original_name: str
    _original_class: type
    _kind: type

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().__call__(*args, **kwargs)
        except JITException:
            raise
        except Exception as error:
            raise JITException(message_of(error)) from error

    def __repr__(self) -> str:
        return Module.__repr__(self)

    def _unscripted(self) -> Module:
        """A module of the original's class that shares what this one has."""
        made: Any = object.__new__(self._original_class)
        made.__dict__.update(vars(self))
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Module:
        return made_of(copy.deepcopy(self._unscripted(), memo), self._kind, {})

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return made_of, (self._unscripted(), self._kind, {})

    def extra_repr(self) -> str:
        """The name of the class of the module that was scripted."""
        return f"original_name={self.original_name}"


class TopLevelTracedModule(RecursiveScriptModule):
    """A module that was made of another one by ``torch.jit.trace``."""


def message_of(error: Exception) -> str:
    """The words of TorchScript's interpreter for an error."""
    lines = "".join(traceback.format_tb(error.__traceback__))
    said = "The following operation failed in the TorchScript interpreter."
    place = f"Traceback of TorchScript (most recent call last):\n{lines}"
    return f"{said}\n{place}RuntimeError: {type(error).__name__}: {error}"


@functools.cache
def class_for(kind: type, original: type) -> type:
    """The class of modules that are made of one of a class."""
    own = {name: getattr(original, name) for name in ("graph", "code") if hasattr(original, name)}
    known = {"original_name": original.__name__, "_original_class": original, "_kind": kind, "__module__": __name__}
    return type(kind.__name__, (kind, original), {**known, **own}, tree=False)


def children(module: Module) -> list[tuple[str, Any]]:
    """The modules right below one, with their names; None where there is none."""
    return list(module._modules.items())


def made_of(module: Module, kind: type, known: dict[int, Module]) -> Module:
    """A scripted module that shares what another one has; one module is made of each."""
    if isinstance(module, ScriptModule):
        return module
    if id(module) not in known:
        made: Any = object.__new__(class_for(kind, type(module)))  # type: ignore[arg-type]
        known[id(module)] = made
        made.__dict__.update(vars(module))
        below = {name: child and made_of(child, RecursiveScriptModule, known) for name, child in children(module)}
        made.__dict__["_modules"] = below
    return known[id(module)]


def script(obj: Any, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> Any:
    """A module that runs as Python, with what ``obj`` has; or the function or class itself.

    To have it run as one program, ``torch.compile`` it.

    >>> @torch.jit.script
    ... def double(x):
    ...     return x * 2
    >>> double(torch.ones(2))
    tensor([2., 2.])
    >>> torch.jit.script(torch.nn.Sequential(torch.nn.ReLU()))
    RecursiveScriptModule(
      original_name=Sequential
      (0): RecursiveScriptModule(original_name=ReLU)
    )
    """
    return made_of(obj, RecursiveScriptModule, {}) if isinstance(obj, Module) else obj


def trace(func: Any, example_inputs: Any = None, *args: Any, **options: Any) -> Any:
    """A module as ``script`` gives it, or the function itself.

    Nothing is traced: all branches stay, and other shapes are taken, too.
    """
    return made_of(func, TopLevelTracedModule, {}) if isinstance(func, Module) else func


def trace_module(mod: Any, inputs: dict[str, Any], *args: Any, **options: Any) -> Any:
    """A module, as ``trace``."""
    return trace(mod)


__all__ = ["RecursiveScriptModule", "ScriptModule", "TopLevelTracedModule", "script", "trace", "trace_module"]
