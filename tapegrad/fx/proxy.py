"""``Proxy``: what a traced function is called with; and ``TracerBase``, which notes what is done with it."""

from __future__ import annotations

import collections
import copy
import dis
import enum
import operator
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any, NoReturn

from tapegrad._src.bindings.symbolic import SymBool, SymFloat, SymInt
from tapegrad._src.execution.data.devices import device
from tapegrad._src.execution.data.dtypes import dtype
from tapegrad._src.tensor.layout import layout, memory_format
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.fx import traceback as fx_traceback
from tapegrad.fx._aggregates import nodes_in
from tapegrad.fx._compatibility import compatibility as compatibility
from tapegrad.fx._naming import is_method_of_tensor
from tapegrad.fx._operators import magic_methods, reflectable_magic_methods
from tapegrad.fx._places import stack_of_forward
from tapegrad.fx.graph import Graph
from tapegrad.fx.node import Node, base_types
from tapegrad.nn.parameter import Parameter
from tapegrad.ops.overloads import OpOverload

__all__ = [
    "Attribute", "GraphAppendingTracer", "ParameterProxy", "Proxy", "Scope", "ScopeContextManager", "TraceError",
    "TracerBase",
]  # fmt: skip

VALUES = (
    *base_types, dtype, Tensor, device, memory_format, layout, OpOverload, SymInt, SymBool, SymFloat, enum.Enum,
    type(None), type(...), range,
)  # fmt: skip
"""The types of arguments that stay as they are."""

ITERATED = (
    "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or **kwargs "
    "function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what types of control "
    "flow can be traced, and check out the Proxy docstring for help troubleshooting Proxy iteration errors"
)


class ScriptObject:
    """The class of objects of TorchScript in PyTorch, which tracers ask for; here nothing is one."""


class TraceError(ValueError):
    """The error of a program whose way depends on values that are not there while it is traced."""


class Scope:
    """The module whose ``forward`` is being traced.

    Attributes:
        module_path: its path.
        module_type: its class; None outside of all.
    """

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path, self.module_type = module_path, module_type


class ScopeContextManager:
    """A context in which a tracer's scope is another one."""

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._before, self._scope = copy.copy(scope), scope
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *args: object) -> None:
        self._scope.module_path, self._scope.module_type = self._before.module_path, self._before.module_type


class TracerBase:
    """A recorder of calls in a graph. ``Tracer`` traces modules; subclasses say what a call, an argument, a branch is.

    Attributes:
        graph: the graph.
        record_stack_traces: whether nodes get the lines of the program that made them.
        trace_asserts: taken; on this version of Python PyTorch's tracer doesn't see assertions either.
        proxy_buffer_attributes: whether a buffer that is read in ``forward`` is a proxy, as a parameter is.
    """

    graph: Graph
    record_stack_traces: bool = False
    _record_forward_stack_traces_only: bool = False
    check_mutable_operations: bool = False
    trace_asserts: bool = False
    proxy_buffer_attributes: bool = False
    traced_func_name: str = "forward"
    scope: Scope
    module_stack: collections.OrderedDict[str, tuple[str, Any]]
    node_name_to_scope: dict[str, tuple[str, type]]

    def create_node(
        self, kind: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str | None = None,
        type_expr: Any = None,
    ) -> Node:  # fmt: skip
        """Put a node into the graph, with notes of the module that is being traced."""
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        scope = getattr(self, "scope", None)
        if scope is not None:
            self.node_name_to_scope[node.name] = (scope.module_path, scope.module_type)
        if fx_traceback.has_preserved_node_meta():
            node.meta.update(fx_traceback.get_current_meta())
        elif getattr(self, "module_stack", None):
            node.meta["nn_module_stack"] = copy.copy(self.module_stack)
        return node

    def proxy(self, node: Node) -> Proxy:
        """The proxy of a node."""
        return Proxy(node, self)

    def create_proxy(
        self, kind: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str | None = None,
        type_expr: Any = None, proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Any:  # fmt: skip
        """Put a node into the graph for arguments that may be proxies, and give its proxy.

        Args:
            kind, target, args, kwargs, name, type_expr: what ``Graph.create_node`` takes.
            proxy_factory_fn: makes the proxy; the method ``proxy`` if there is none.
        """
        given, named = self.create_arg(args), self.create_arg(kwargs)
        if not (isinstance(given, tuple) and isinstance(named, dict)):
            raise AssertionError(f"Expected a tuple and a dict, got {type(given)} and {type(named)}")
        node = self.create_node(kind, target, given, named, name, type_expr)
        proxy = (proxy_factory_fn or self.proxy)(node)
        if self.record_stack_traces and not proxy.node.stack_trace:
            proxy.node.stack_trace = stack_of_forward(self.traced_func_name)
        return proxy

    def create_arg(self, a: Any) -> Any:
        """The argument of a node for a value: proxies become nodes; lists, tuples, dictionaries, slices stay such.

        Raises:
            NotImplementedError: nodes take no values of its class.
            RuntimeError: a key of a dictionary has a proxy in it.
        """
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            items = [self.create_arg(item) for item in a]
            return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
        if isinstance(a, list):
            return [self.create_arg(item) for item in a]
        if isinstance(a, dict):
            return {self._key(key): self.create_arg(item) for key, item in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, VALUES):
            return a
        if is_dataclass(a) and not isinstance(a, type):
            named = {item.name: self.create_arg(getattr(a, item.name)) for item in fields(a)}
            return self.create_node("call_function", type(a), (), named)
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _key(self, key: Any) -> Any:
        found = self.create_arg(key)
        for node in nodes_in(found):
            raise RuntimeError(
                f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {found or node}"
            )
        return found

    def to_bool(self, obj: Proxy) -> bool:
        """Tell whether a proxy is true, where a program branches; override it to say.

        Raises:
            TraceError: always.
        """
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """An iterator over a proxy, where a program loops; override it to say.

        Raises:
            TraceError: always.
        """
        raise TraceError(ITERATED)

    def keys(self, obj: Proxy) -> Any:
        """The mapping's keys that ``**proxy`` takes."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """A tracer that puts nodes into a graph that there is: what proxies have that are made of a node alone."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.node_name_to_scope = {}


class Proxy:
    """The stand-in that a traced function computes with: each call with it, method and operator of it is a node.

    Attributes:
        node: the node whose value it stands for.
        tracer: who notes what is done with it.

    >>> graph = torch.fx.Graph()
    >>> x = torch.fx.Proxy(graph.placeholder("x"))
    >>> torch.relu(x) + x.shape[0]
    Proxy(add)
    >>> [node.name for node in graph.nodes]
    ['x', 'relu', 'getattr_1', 'getitem', 'add']
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        return Attribute(self, k)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, d: dict[str, Any]) -> None:
        self.__dict__ = d

    def __deepcopy__(self, memo: dict[int, Any]) -> Proxy:
        made = Proxy.__new__(type(self))
        made.__dict__ = {name: copy.deepcopy(value, memo) for name, value in self.__dict__.items()}
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        count = _unpacked_by(sys._getframe(1))
        if count is not None:
            return (self[place] for place in range(count))  # type: ignore[index]
        return self.tracer.iter(self)

    def __abs__(self) -> Any:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        """The keys of a mapping, as the tracer says."""
        return self.tracer.keys(self)

    def __len__(self) -> NoReturn:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "torch.fx.wrap('len') at module scope"
        )

    @classmethod
    def __torch_function__(cls, orig_method: Any, types: Any, args: Any = None, kwargs: Any = None) -> Any:
        args, kwargs = args or (), kwargs or {}
        tracers = {id(proxy.tracer): proxy.tracer for proxy in proxies_in((args, kwargs))}
        if len(tracers) > 1:
            raise RuntimeError(
                f"Found multiple different tracers {list(tracers.values())} while trying to trace operations "
                f"{orig_method}"
            )
        (tracer,) = tracers.values()
        if is_method_of_tensor(orig_method):
            return tracer.create_proxy("call_method", orig_method.__name__, args, kwargs)
        return tracer.create_proxy("call_function", orig_method, args, kwargs)


class Attribute(Proxy):
    """An attribute of a proxy: a node is made of it when it is used, and none if it is called, as a method.

    Attributes:
        root: the proxy.
        attr: the attribute's name.
    """

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node that reads the attribute."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A parameter whose shape is known while a program is traced.

    Attributes:
        param: the parameter.
    """

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Parameter) -> None:
        super().__init__(node, tracer)
        if not isinstance(param, Parameter):
            raise AssertionError(f"Expected Parameter, got {type(param)}")
        self.param, self.name = param, name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Size:
        """The parameter's shape."""
        return self.param.shape

    def size(self) -> Size:
        """The parameter's shape."""
        return self.param.size()

    def dim(self) -> int:
        """The number of its dimensions."""
        return self.param.dim()

    @property
    def ndim(self) -> int:
        """The number of its dimensions."""
        return self.param.ndim

    def numel(self) -> int:
        """The number of its elements."""
        return self.param.numel()

    def nelement(self) -> int:
        """The number of its elements."""
        return self.param.nelement()


def proxies_in(a: Any) -> Iterator[Proxy]:
    """The proxies in arguments, in their order."""
    if isinstance(a, Proxy):
        yield a
    elif isinstance(a, (tuple, list)):
        for item in a:
            yield from proxies_in(item)
    elif isinstance(a, dict):
        for item in a.values():
            yield from proxies_in(item)
    elif isinstance(a, slice):
        yield from proxies_in((a.start, a.stop, a.step))


def _unpacked_by(frame: Any) -> int | None:
    """Count the items that a frame is just unpacking, as in ``a, b = x``; None if it does something else."""
    instruction = next(found for found in dis.get_instructions(frame.f_code) if found.offset == frame.f_lasti)
    return instruction.argval if instruction.opname == "UNPACK_SEQUENCE" else None


def _operation(name: str) -> Callable[..., Any]:
    function = getattr(operator, name)

    def operate(*args: Any, **kwargs: Any) -> Any:
        return args[0].tracer.create_proxy("call_function", function, args, kwargs)

    operate.__name__ = operate.__qualname__ = f"__{name.strip('_')}__"
    return operate


def _reflected(name: str) -> Callable[[Proxy, Any], Any]:
    function = getattr(operator, name)

    def operate(self: Proxy, rhs: Any) -> Any:
        return self.tracer.create_proxy("call_function", function, (rhs, self), {})

    operate.__name__ = operate.__qualname__ = f"__r{name.strip('_')}__"
    return operate


def _declare_operators() -> None:
    for name in magic_methods:
        if hasattr(operator, name):
            setattr(Proxy, f"__{name.strip('_')}__", _operation(name))
    for name in reflectable_magic_methods:
        if hasattr(operator, name):
            setattr(Proxy, f"__r{name.strip('_')}__", _reflected(name))
    Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]


_declare_operators()
