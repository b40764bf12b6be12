"""``symbolic_trace``: what a module or a function does with its arguments, as a graph; and ``wrap``."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

from tapegrad.fx._arguments import PH, PHBase, PHWithMeta, _assert_is_none
from tapegrad.fx._compatibility import compatibility as compatibility
from tapegrad.fx._patching import (
    _autowrap_check,
    _patch_wrapped_functions,
    _Patcher,
    _wrapped_fns_to_patch,
    _wrapped_methods_to_patch,
)
from tapegrad.fx._tracer import ProxyableClassMeta, Tracer, is_fx_tracing
from tapegrad.fx.graph_module import GraphModule
from tapegrad.fx.proxy import Proxy, ScriptObject
from tapegrad.nn import Module

__all__ = [
    "PH", "FunctionType", "PHBase", "PHWithMeta", "Proxy", "ProxyableClassMeta", "ScriptObject", "Tracer", "_Patcher",
    "_assert_is_none", "_autowrap_check", "_orig_module_call", "_orig_module_getattr", "_patch_wrapped_functions",
    "_wrapped_fns_to_patch", "_wrapped_methods_to_patch", "functools",
    "is_fx_symbolic_tracing", "is_fx_tracing", "symbolic_trace", "wrap",
]  # fmt: skip

is_fx_symbolic_tracing = is_fx_tracing
_orig_module_call, _orig_module_getattr = Module.__call__, Module.__getattr__


def wrap(fn_or_name: str | Callable) -> Any:
    """Let calls of a function with proxies be nodes, though it is not of this package: it is not looked into.

    Call it, or decorate with it, at the top level of the module that calls the function.

    Args:
        fn_or_name: the function, or its name in that module (``"len"``).

    Raises:
        RuntimeError: it is neither.
        NotImplementedError: it is called inside a function.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    caller = sys._getframe(1)
    if caller.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped_fns_to_patch[id(caller.f_globals), name] = caller.f_globals
    return fn_or_name


def symbolic_trace(root: Module | Callable[..., Any], concrete_args: Any = None) -> GraphModule:
    """A module that does what a module or a function does, by a graph that can be read and changed.

    Args:
        root: the module or function.
        concrete_args: values of arguments by name, as which they are to be taken.

    Raises:
        TraceError: the program branches on a value, or loops over it.

    >>> def f(x, y):
    ...     return torch.relu(x) @ y
    >>> gm = torch.fx.symbolic_trace(f)
    >>> print(gm.code.strip())
    def forward(self, x, y):
        relu = torch.relu(x);  x = None
        matmul = relu @ y;  relu = y = None
        return matmul
    >>> gm(torch.ones(1, 2), torch.ones(2, 1))
    tensor([[2.]])
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
