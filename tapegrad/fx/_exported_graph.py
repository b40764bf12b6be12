"""The graph of an exported program: ``ExportedProgram.graph_module``.

The module is traced once more, in the same way as for StableHLO, with its calls recorded above autograd (Note [Graphs
above autograd] in ``_composites.py``): with placeholders for parameters, buffers, constants and what the user gives, as
the signature has them. What ``forward`` writes to is written to in the graph, too. A length that may change is a node
``sym_size``, and arithmetic on it.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tapegrad._src.bindings.dispatching import hidden
from tapegrad._src.bindings.placement import empty_strided
from tapegrad._src.execution.data.sizes import SYMBOL
from tapegrad._src.tape.modes import switched
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.errors import message
from tapegrad.export.graph_signature import ConstantArgument, InputKind, OutputKind
from tapegrad.export.tracing import is_plain
from tapegrad.fx._composites import Composites
from tapegrad.fx._places import stack_in_modules
from tapegrad.fx.experimental.proxy_tensor import ProxyTorchDispatchMode, PythonKeyTracer
from tapegrad.fx.graph import Graph
from tapegrad.fx.graph_module import GraphModule
from tapegrad.fx.passes.shape_prop import TensorMetadata
from tapegrad.fx.proxy import Proxy
from tapegrad.nn import Module
from tapegrad.ops.overloads import identity
from tapegrad.utils._pytree import tree_map

ARITHMETIC: dict[type, Callable] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Pow: operator.pow,
}  # fmt: skip
FUNCTIONS: dict[str, Callable] = {
    "floordiv": operator.floordiv, "mod": operator.mod, "max": max, "min": min, "non_negative": lambda one: max(one, 0),
}  # fmt: skip
"""The functions that stand in the texts of jax's lengths."""


class ProgramGraphTracer(PythonKeyTracer):
    """The tracer of exported programs: nodes know their lines, and lengths are nodes."""

    def __init__(self) -> None:
        super().__init__()
        self.root, self.graph = Module(), Graph(tracer_cls=PythonKeyTracer)
        self.tensor_attrs: dict[Any, str] = {}
        self.lengths: dict[str, tuple[Proxy, int]] = {}
        self._sizes: dict[str, Proxy] = {}

    def create_node(self, kind: str, *args: Any, **kwargs: Any) -> Any:
        """Put a node into the graph, with the line of the program."""
        node = super().create_node(kind, *args, **kwargs)
        if kind == "call_function":
            node.stack_trace = stack_in_modules()
        return node

    def create_arg(self, a: Any) -> Any:
        """The argument of a node.

        Raises:
            NotImplementedError: a tensor that was computed, and not seen.
        """
        if type(a) is SYMBOL:
            return self.length(ast.parse(str(a), mode="eval").body).node
        if isinstance(a, Tensor) and not is_plain(a.detach()):
            raise NotImplementedError(message(
                "the graph of an exported program: a tensor was computed by what is no function of torch",
                hint="ep.exported.mlir_module() has the program",
            ))  # fmt: skip
        return super().create_arg(a)

    def length(self, text: ast.AST) -> Any:
        """The proxy of a length that may change, or a number, by jax's text of it."""
        match text:
            case ast.Constant():
                return text.value
            case ast.Name():
                return self._size(text.id)
            case ast.BinOp():
                return self._computed(ARITHMETIC[type(text.op)], text.left, text.right)
            case ast.UnaryOp():
                return self._computed(operator.neg, text.operand)
            case ast.Call(func=ast.Name(id=called)):
                return self._computed(FUNCTIONS[called], *text.args)
        raise NotImplementedError(f"the graph of an exported program: the length {ast.unparse(text)}")

    def _computed(self, function: Callable, *parts: ast.AST) -> Any:
        given = tuple(map(self.length, parts))
        if not any(isinstance(one, Proxy) for one in given):
            return function(*given)
        return self.create_proxy("call_function", function, given, {})

    def _size(self, name: str) -> Proxy:
        if name not in self._sizes:
            size = identity("aten", "sym_size", "int")
            self._sizes[name] = self.create_proxy("call_function", size, self.lengths[name], {}, name="sym_size_int")
        return self._sizes[name]


class ProgramCalls(Composites):
    """A context that records the calls of a module that is exported.

    Args:
        mode: records operators.
        traced: what traces the module.
        literals: the proxies of tensors that ``torch.tensor`` makes.
    """

    def __init__(self, mode: ProxyTorchDispatchMode, traced: Any, literals: list[Proxy]) -> None:
        super().__init__(mode, cudnn=False)
        self._traced, self._literals = traced, literals

    def _made(self, func: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        with switched(function_modes=False):  # literals that are made inside are constants of the graph
            return func(*args, **kwargs)

    def _literal(self, func: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        made = self._traced.literals_mode.made
        before = len(made)
        if func.__name__ != "tensor":
            with switched(function_modes=False):
                return func(*args, **kwargs)
        with hidden():
            tensor = func(*args, **kwargs)
        if len(made) == before or before >= len(self._literals):
            return tensor
        lifted = self._mode._node(identity("aten", "lift_fresh_copy", "default"), (self._literals[before],), {})
        with hidden():
            self._mode.track(tensor, lifted)
        return tensor


def graph_of(program: Any, watched: Callable[[Callable], Any]) -> GraphModule:
    """The graph of an exported program, by whose nodes the outputs of its signature are named.

    Args:
        program: the program.
        watched: traces its module once more, in a context that is made of what traces it.
    """
    tracer = ProgramGraphTracer()
    mode = ProxyTorchDispatchMode(tracer)
    traced = watched(lambda traced: recording(tracer, mode, traced, program))
    signature = program._graph_signature
    returned = [mode.proxy_of(one) for one in traced.results]
    written = [mode.proxy_of(after) for _, after in traced.written]
    name_outputs(signature, written, [*tree_map(lambda one: one, returned)])
    tracer.create_node("output", "output", (tracer.create_arg(tuple(returned)),), {})
    for node in tracer.graph.nodes:
        settle(node)
    return GraphModule(tracer.root, tracer.graph, "GraphModule")


@contextmanager
def recording(
    tracer: ProgramGraphTracer, mode: ProxyTorchDispatchMode, traced: Any, program: Any
) -> Iterator[None]:
    """A context that records what is called in it; placeholders first."""
    literals = placeholders(tracer, mode, traced, program)
    with switched(grad=False), mode, ProgramCalls(mode, traced, literals):
        yield


def placeholders(
    tracer: ProgramGraphTracer, mode: ProxyTorchDispatchMode, traced: Any, program: Any
) -> list[Proxy]:
    """Make the placeholders of a graph; gives those of literals."""
    tensors, found = iter(traced.inputs), []
    for spec in program._graph_signature.input_specs:
        if spec.kind == InputKind.TOKEN:
            continue
        proxy = tracer.create_proxy("placeholder", spec.arg.name, (), {})
        proxy.node.name = spec.arg.name  # also where Python has something of that name
        found.append(proxy)
        if isinstance(spec.arg, ConstantArgument):
            proxy.node.meta["val"] = spec.arg.value
            continue
        tensor = next(tensors)
        mode.track(tensor, proxy)
        for axis, length in enumerate(tensor.shape):
            if type(length) is SYMBOL and str(length).isidentifier():
                tracer.lengths.setdefault(str(length), (proxy, axis))
    first = len(traced.owned)
    return found[first : first + len(traced.literals or ())]


def name_outputs(signature: Any, written: list[Any], returned: list[Any]) -> None:
    """Name the outputs of a signature by the nodes that give them."""
    changes, results = iter(written), iter(returned)
    for spec in signature.output_specs:
        given = next(results) if spec.kind == OutputKind.USER_OUTPUT else next(changes)
        if isinstance(given, Proxy) and hasattr(spec.arg, "name"):
            spec.arg.name = given.node.name


def settle(node: Any) -> None:
    """Note what a node gives without what traced it: an empty tensor, or, where a length may change, its metadata."""
    noted, tensor = node.meta.get("tensor_meta"), node.meta.get("val")
    if not isinstance(noted, TensorMetadata) or not isinstance(tensor, Tensor):
        return
    if any(type(length) is SYMBOL for length in noted.shape):
        node.meta["val"] = noted
    else:
        node.meta["val"] = empty_strided(tuple(noted.shape), noted.stride, dtype=noted.dtype, device="meta")
