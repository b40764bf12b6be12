"""``Tracer``: what notes the calls that a module or a function makes."""

from __future__ import annotations

import collections
import itertools
import math
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.fx._arguments import annotations_of, arguments_for
from tapegrad.fx._constants import attribute_path_of, constants_of, named
from tapegrad.fx._patching import _autowrap_check, _patch_wrapped_functions, _Patcher
from tapegrad.fx.graph import Graph
from tapegrad.fx.proxy import ParameterProxy, Scope, ScopeContextManager, TracerBase, proxies_in
from tapegrad.nn import Module, Parameter, Sequential

LAYERS = ("torch.nn", "torch.ao.nn", "tapegrad.nn", "tapegrad.ao.nn")
"""Modules whose classes are called as one, and not looked into."""

_proxyable_classes: dict[type, None] = {}
_tracing: list[Tracer] = []


def is_fx_tracing() -> bool:
    """Tell whether a program is being traced.

    >>> is_fx_tracing()
    False
    """
    return bool(_tracing)


class ProxyableClassMeta(type):
    """The class of classes whose making is a call of its own, where they are made of proxies.

    >>> class Pair(metaclass=ProxyableClassMeta):
    ...     def __init__(self, first, second):
    ...         self.first, self.second = first, second
    >>> graph = torch.fx.symbolic_trace(lambda x: Pair(x, 2).first).graph
    >>> [node.name for node in graph.nodes]
    ['x', 'pair', 'getattr_1', 'output']
    """

    def __init__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]) -> None:
        _proxyable_classes.setdefault(cls)
        super().__init__(name, bases, attrs)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        proxy = next(proxies_in((args, kwargs)), None) if is_fx_tracing() else None
        if proxy is not None:
            return proxy.tracer.create_proxy("call_function", cls, args, kwargs)
        return super().__call__(*args, **kwargs)


class Tracer(TracerBase):
    """The tracer of modules and functions. Subclasses say what is one call, and what becomes of values and branches.

    Args:
        autowrap_modules: modules of Python whose functions are calls of their own, if they get proxies.
        autowrap_functions: functions that are.
        param_shapes_constant: whether the shapes of parameters are numbers, and not nodes.

    Attributes:
        root: the module that is traced; an empty one for a function.
        graph: its graph.

    >>> class Shallow(torch.fx.Tracer):
    ...     def is_leaf_module(self, m, module_qualified_name):
    ...         return True
    >>> block = torch.nn.Sequential(torch.nn.Sequential(torch.nn.ReLU()))
    >>> [node.target for node in Shallow().trace(block).nodes], [node.target for node in Tracer().trace(block).nodes]
    (['input', '0', 'output'], ['input', '0.0', 'output'])
    """

    root: Module

    def __init__(
        self, autowrap_modules: tuple[ModuleType, ...] = (math,), autowrap_functions: tuple[Callable, ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        functions = [
            value for module in autowrap_modules for name, value in vars(module).items()
            if not name.startswith("_") and callable(value)
        ]  # fmt: skip
        self._autowrap_function_ids = {id(function) for function in (*functions, *autowrap_functions)}
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Module, str] | None = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.num_calls: dict[str, int] = {}
        self.node_name_to_scope = {}
        self.tensor_attrs: dict[Any, str] = {}

    # What is overridden -----------------------------------------------------------------------------------------------

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Tell whether a call of a module is one node, and what it does is not looked at.

        Args:
            m: the module.
            module_qualified_name: its path.
        """
        return m.__module__.startswith(LAYERS) and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """The path of a module below the one that is traced.

        Raises:
            NameError: it is not below it.
        """
        if self.submodule_paths:
            path = self.submodule_paths.get(mod)
        else:
            path = next((name for name, found in self.root.named_modules() if found is mod), None)
        if path is None:
            raise NameError("module is not installed as a submodule")
        return path

    def call_module(self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a call of a module: a proxy for a leaf, and what ``forward`` gives for another.

        Args:
            m: the module.
            forward: calls it.
            args, kwargs: with these.
        """
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))):
            calls = self.num_calls.get(path, 0)
            self.num_calls[path] = calls + 1
            key = f"{path}@{calls}" if calls else path
            self.module_stack[key] = (path, type(m))
            try:
                if self.is_leaf_module(m, path):
                    return self.create_proxy("call_module", path, args, kwargs)
                return forward(*args, **kwargs)
            finally:
                self.module_stack.popitem()

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """The result of reading an attribute of a module, while its ``forward`` is traced.

        Args:
            attr: its name.
            attr_val: what it is.
            parameter_proxy_cache: the proxies of parameters that there are, by path.
        """
        if isinstance(attr_val, Parameter):
            found = named(self.root.named_parameters(), attr_val)
            return attr_val if found is None else self._proxy_of(found, attr_val, parameter_proxy_cache)
        if self.proxy_buffer_attributes and isinstance(attr_val, Tensor):
            found = named(self.root.named_buffers(), attr_val)
            return attr_val if found is None else self._proxy_of(found, attr_val, parameter_proxy_cache)
        return attr_val

    def _proxy_of(self, path: str, value: Any, known: dict[str, Any]) -> Any:
        if path not in known:
            constant = self.param_shapes_constant and isinstance(value, Parameter)
            factory = (lambda node: ParameterProxy(self, node, path, value)) if constant else None
            known[path] = self.create_proxy("get_attr", path, (), {}, proxy_factory_fn=factory)
        return known[path]

    def create_arg(self, a: Any) -> Any:
        """The argument of a node for a value: tensors, parameters and modules of the root are read from it.

        A tensor that is none of its attributes becomes one.

        Raises:
            NameError: it is a parameter of another module.
            NotImplementedError: nodes take no values of its class.
        """
        if isinstance(a, (Tensor, Module)):
            return self.create_node("get_attr", attribute_path_of(self, a), (), {})
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return self.create_node("call_function", type(a), tuple(self.create_arg(item) for item in a), {})
        if type(a) in _proxyable_classes:
            path = self.get_fresh_qualname(f"_{type(a).__name__}_constant_")
            setattr(self.root, path, a)
            return self.create_node("get_attr", path, (), {})
        return super().create_arg(a)

    def get_fresh_qualname(self, prefix: str) -> str:
        """An attribute that the root has not got: the prefix and the least number that is free."""
        return next(name for number in itertools.count() if not hasattr(self.root, name := f"{prefix}{number}"))

    def create_args_for_root(self, root_fn: Callable, is_module: bool, concrete_args: Any = None) -> Any:
        """The function to call, and the proxies to call it with.

        Args:
            root_fn: what is traced.
            is_module: whether it is the ``forward`` of the root.
            concrete_args: values of arguments that are to be as they are.

        Raises:
            RuntimeError: the root would be among ``*args``; or ``concrete_args`` is a tuple of another length.
        """
        return arguments_for(self, root_fn, is_module, concrete_args)

    # Tracing ----------------------------------------------------------------------------------------------------------

    def trace(self, root: Module | Callable[..., Any], concrete_args: Any = None) -> Graph:
        """The graph of what a module or a function does.

        Args:
            root: the module or function.
            concrete_args: values of arguments by name, as which they are to be taken: a program may branch on them.

        Raises:
            TraceError: the program branches on a value, or loops over it.
            AssertionError: it is no module, and no function of Python.
        """
        is_module = isinstance(root, Module)
        self.root = root if isinstance(root, Module) else Module()
        self.submodule_paths = {module: path for path, module in self.root.named_modules()} if is_module else None
        self.root_module_name = self.root._get_name() if is_module else ""
        self.graph = Graph(tracer_cls=type(self))
        self.tensor_attrs = constants_of(self.root)
        fn = getattr(type(root), self.traced_func_name) if is_module else root
        if not isinstance(fn, FunctionType) or _is_native(fn):
            raise AssertionError(f"Expected FunctionType, got {_kind_of(fn)}")
        _tracing.append(self)
        try:
            self._run(fn, is_module, concrete_args)
        finally:
            _tracing.pop()
            self.submodule_paths = None
        return self.graph

    def _run(self, fn: Any, is_module: bool, concrete_args: Any) -> None:
        scope, given = fn.__globals__, fn
        fn, args = self.create_args_for_root(fn, is_module, concrete_args)
        annotation = annotations_of(fn).get("return") if fn is given else None
        with _Patcher() as patcher:
            self._patch_modules(patcher)
            _patch_wrapped_functions(patcher)
            _autowrap_check(patcher, scope, self._autowrap_function_ids)
            for module in self._autowrap_search:
                _autowrap_check(patcher, vars(module), self._autowrap_function_ids)
            self.create_node("output", "output", (self.create_arg(fn(*args)),), {}, type_expr=annotation)

    def _patch_modules(self, patcher: Any) -> None:
        """Let calls of modules come here, and reading of their attributes."""
        known: dict[str, Any] = {}
        read, called, both = Module.__getattr__, Module.__call__, Module._two

        def getattr_of(mod: Module, attr: str) -> Any:
            return self.getattr(attr, read(mod, attr), known)

        def call_of(mod: Module, *args: Any, **kwargs: Any) -> Any:
            scope = getattr(getattr(mod, "forward", mod), "__globals__", {})
            _autowrap_check(patcher, scope, self._autowrap_function_ids)
            return self.call_module(mod, lambda *a, **k: called(mod, *a, **k), args, kwargs)

        def two_of(mod: Module, table: str, first: str, second: str) -> tuple[Any, Any]:
            found = both(mod, table, first, second)
            looked_up = mod._tables_first and not {first, second} & set(vars(mod))
            if not looked_up:
                return found
            return self.getattr(first, found[0], known), self.getattr(second, found[1], known)

        patcher.patch_method(Module, "__getattr__", getattr_of)
        patcher.patch_method(Module, "__call__", call_of)
        patcher.patch_method(Module, "_two", two_of)

    def __deepcopy__(self, memo: Any) -> Tracer:
        made = type(self).__new__(type(self))
        made.__dict__ = {key: value for key, value in vars(self).items() if key != "_autowrap_search"}
        made._autowrap_search = list(self._autowrap_search)
        return made


def _is_native(fn: Any) -> bool:
    """Tell whether PyTorch has a function of this package in C++."""
    place = getattr(fn, "torch_name", None)
    return place is not None and not place.startswith(("torch.functional.", "torch.nn.functional."))


def _kind_of(fn: Any) -> Any:
    return type(len) if isinstance(fn, FunctionType) else type(fn)
