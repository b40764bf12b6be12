"""``torch.fx.experimental.normalize``: graphs whose calls have all arguments by name, or operators of Python."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from tapegrad._src.bindings.declaration.registry import NAMESPACES
from tapegrad.fx.interpreter import Transformer
from tapegrad.fx.node import Node, map_aggregate
from tapegrad.fx.operator_schemas import normalize_function, normalize_module
from tapegrad.fx.proxy import Proxy

__all__ = ["NormalizeArgs", "NormalizeOperators"]


class NormalizeArgs(Transformer):
    """The rewriter of a graph so that calls of functions and layers have all arguments, by name.

    Args:
        module: the module that runs the graph.
        normalize_to_only_use_kwargs: whether those that stood by position are given by name, too.

    >>> gm = torch.fx.symbolic_trace(lambda x: torch.flatten(x, 1))
    >>> print(NormalizeArgs(gm).transform().code.strip())
    def forward(self, x):
        flatten = torch.flatten(input = x, start_dim = 1, end_dim = -1);  x = None
        return flatten
    """

    def __init__(self, module: Any, normalize_to_only_use_kwargs: bool = True) -> None:
        super().__init__(module)
        self.node_map: dict[Proxy, Node] = {}
        self.normalize_to_only_use_kwargs = normalize_to_only_use_kwargs
        self._types: tuple[Any, Any] = ((), {})

    def run_node(self, n: Node) -> Any:
        """The proxy of a node in the new graph."""
        told = lambda one: one.meta.get("type") if isinstance(one, Node) else type(one)
        self._types = map_aggregate(n.args, told), map_aggregate(n.kwargs, told)
        out = super().run_node(n)
        if n.op != "output":
            self.node_map[out] = n
            out.node.meta, out.node.type = n.meta, n.type
        return out

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The proxy of a call of a function."""
        if not callable(target):
            raise AssertionError(f"Expected callable, got {type(target)}")
        types, named_types = self._types
        only = self.normalize_to_only_use_kwargs
        found = normalize_function(target, args, kwargs, types, named_types, only)
        if found is None:
            return super().call_function(target, args, kwargs)
        return self.tracer.create_proxy("call_function", target, found.args, found.kwargs)

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The proxy of a call of a module."""
        if not isinstance(target, str):
            raise AssertionError(f"Expected str target, got {type(target)}")
        found = normalize_module(self.module, target, args, kwargs, self.normalize_to_only_use_kwargs)
        return super().call_module(target, *(args, kwargs) if found is None else found)


SPELLED = "add mul sub div=truediv floor_divide=floordiv remainder=mod eq ne lt le gt ge"
"""Functions that are operators of Python, and the names of these there, where they are others."""


def _operators() -> dict[Callable, Callable]:
    """The operators of Python, by functions."""
    pairs = [one.partition("=") for one in SPELLED.split()]
    return {NAMESPACES["torch"][name]: getattr(operator, other or name) for name, _, other in pairs}


class NormalizeOperators(Transformer):
    """The rewriter of a graph so that ``torch.add(x, y)`` and its like are operators of Python, ``x + y``.

    >>> gm = torch.fx.symbolic_trace(lambda x, y: torch.add(x, y))
    >>> print(NormalizeOperators(gm).transform().code.strip())
    def forward(self, x, y):
        add = x + y;  x = y = None
        return add
    """

    binary_magic_method_remap = _operators()

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The proxy of a call of a function."""
        if target in self.binary_magic_method_remap and len(args) == 2:
            return super().call_function(self.binary_magic_method_remap[target], args, {})
        return super().call_function(target, args, kwargs)
