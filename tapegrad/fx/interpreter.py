"""``Interpreter``: what runs a graph node by node; and ``Transformer``, which makes another graph of it so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tapegrad.fx import traceback as fx_traceback
from tapegrad.fx._compatibility import compatibility as compatibility
from tapegrad.fx._tracer import Tracer
from tapegrad.fx.graph import Graph
from tapegrad.fx.graph_module import GraphModule
from tapegrad.fx.node import Node, map_aggregate, map_arg
from tapegrad.fx.proxy import Proxy
from tapegrad.nn import Module

__all__ = ["Interpreter", "Transformer"]

HINT = (
    "Use tlparse to see full graph. "
    "(https://github.com/pytorch/tlparse?tab=readme-ov-file#tlparse-parse-structured-pt2-logs)"
)


class Interpreter:
    """The runner of a graph: a method for each kind of node, which subclasses override.

    Args:
        module: the module that has the graph, and what it reads.
        garbage_collect_values: whether a value is forgotten when nothing needs it any more.
        graph: another graph than the module's own.

    Attributes:
        env: the values that are known, by nodes.

    >>> class Logging(torch.fx.Interpreter):
    ...     def call_function(self, target, args, kwargs):
    ...         print(target.__name__)
    ...         return super().call_function(target, args, kwargs)
    >>> Logging(torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)).run(torch.tensor([-1.0]))
    relu
    add
    tensor([1.])
    """

    def __init__(self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph: Graph = module.graph if graph is None else graph
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.user_to_last_uses = _last_uses(self.graph) if garbage_collect_values else {}

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """Run the graph with these arguments, and give its result.

        Args:
            args: the arguments.
            initial_env: values of nodes that are known already.
            enable_io_processing: whether arguments and result are trees where the graph has leaves.

        Raises:
            RuntimeError: there are too few arguments; what nodes raise is told with the node.
        """
        self.env = {} if initial_env is None else dict(initial_env)
        self.args_iter: Iterator[Any] = iter(self.graph.process_inputs(*args) if enable_io_processing else args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            self.env[node] = self._run_told(node)
            for done in self.user_to_last_uses.get(node, ()):
                del self.env[done]
            if node.op == "output":
                return self.graph.process_outputs(self.env[node]) if enable_io_processing else self.env[node]
        return None

    def _run_told(self, node: Node) -> Any:
        try:
            return self.run_node(node)
        except Exception as error:
            if self.extra_traceback:
                said = f"While executing {node.format_node()}\nOriginal traceback:\n{node.stack_trace}\n{HINT}"
                error.args = (f"{error.args[0]}\n\n{said}" if error.args else said, *error.args[1:])
                if isinstance(error, KeyError):
                    raise RuntimeError(*error.args) from error
            raise

    def boxed_run(self, args_list: list[Any]) -> Any:
        """Run the graph with a list of arguments, which is emptied, so that they can be freed."""
        args = list(args_list)
        args_list.clear()
        placeholders = self.graph.find_nodes(op="placeholder")
        return self.run(initial_env=dict(zip(placeholders, args, strict=True)), enable_io_processing=False)

    @contextmanager
    def _set_current_node(self, node: Node) -> Iterator[None]:
        with fx_traceback.set_current_meta(node, f"Interpreter_{type(self).__name__}"):
            yield

    def run_node(self, n: Node) -> Any:
        """The value of a node, whose arguments are known."""
        with self._set_current_node(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    # Kinds of nodes ---------------------------------------------------------------------------------------------------

    def placeholder(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The next argument; all that are left for ``*name``; a default value if there is none.

        Raises:
            RuntimeError: there is none, and no default.
        """
        if target.startswith("*"):
            return list(self.args_iter)
        for value in self.args_iter:
            return value
        if args:
            return args[0]
        raise RuntimeError(f"Expected positional argument for parameter {target}, but one was not passed in!")

    def get_attr(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Read an attribute of the module, at a path."""
        return self.fetch_attr(target)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function."""
        return target(*args, **kwargs)

    def call_method(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a method of the first argument."""
        return getattr(args[0], target)(*args[1:], **kwargs)

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a module below."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of the graph."""
        return args[0]

    # Helpers ----------------------------------------------------------------------------------------------------------

    def fetch_attr(self, target: str) -> Any:
        """Read an attribute of the module, at a path.

        Raises:
            RuntimeError: it has nothing there.
        """
        found: Any = self.module
        steps = target.split(".")
        for number, step in enumerate(steps):
            if not hasattr(found, step):
                raise RuntimeError(
                    f"Node referenced nonexistent target {'.'.join(steps[: number + 1])}; original whole target: "
                    f"'{target}'"
                )
            found = getattr(found, step)
        return found

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a node, as values."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        """A structure with values in the place of nodes.

        Raises:
            RuntimeError: a node has no value yet.
        """

        def value_of(node: Node) -> Any:
            if node not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose such issues"
                )
            return self.env[node]

        return map_arg(args, value_of)


class _TransformerTracer(Tracer):
    """The tracer of a ``Transformer``, which looks into no module."""

    def __init__(self, graph: Graph, root: Module) -> None:
        super().__init__()
        self.graph, self.root = graph, root

    def is_leaf_module(self, _: Module, __: str) -> bool:
        return True


class Transformer(Interpreter):
    """The maker of a graph from another one: it runs that with proxies, and subclasses override what nodes become.

    Args:
        module: the module that has the graph.

    >>> class Negating(torch.fx.Transformer):
    ...     def call_function(self, target, args, kwargs):
    ...         return torch.neg(*args) if target is torch.relu else super().call_function(target, args, kwargs)
    >>> Negating(torch.fx.symbolic_trace(lambda x: torch.relu(x))).transform()(torch.ones(2))
    tensor([-1., -1.])
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)
        self.tracer = _TransformerTracer(self.new_graph, module)
        self.tracer.root = module

    def placeholder(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Proxy:
        """The proxy of an argument of the new graph."""
        default = {"default_value": args[0]} if args else {}
        return Proxy(self.new_graph.placeholder(target, **default), self.tracer)

    def get_attr(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Proxy:
        """The proxy of what the module has at a path."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The proxy, or other value, that the call of a module becomes."""
        module = self.fetch_attr(target)
        return self.tracer.call_module(module, module.forward, args, kwargs)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The proxy, or other value, that the call of a function becomes."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The module that runs the new graph."""
        with fx_traceback.preserve_node_meta():
            result = super().run(enable_io_processing=False)
        if result is not None:
            given = map_aggregate(result, lambda a: a.node if isinstance(a, Proxy) else a)
            output = self.graph.output_node()
            made = self.new_graph.output(given)
            made.meta, made.type = dict(output.meta), output.type
        return GraphModule(self.module, self.new_graph)


def _last_uses(graph: Graph) -> dict[Node, list[Node]]:
    """For each node, those whose values nothing needs after it."""
    last: dict[Node, Node] = {}
    for node in graph.nodes:
        last.update(dict.fromkeys(node._input_nodes, node))
    found: dict[Node, list[Node]] = {}
    for done, user in last.items():
        found.setdefault(user, []).append(done)
    return found
