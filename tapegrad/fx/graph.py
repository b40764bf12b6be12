"""``Graph``: the nodes of a traced program in their order, and what makes, moves and checks them."""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Callable
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from tapegrad._src.warn import warn
from tapegrad.fx._code_writer import _format_target
from tapegrad.fx._codegen import CodeGen, PythonCode, TransformCodeFunc, _PyTreeCodeGen, _PyTreeInfo, named_by
from tapegrad.fx._compatibility import compatibility as compatibility
from tapegrad.fx._lint import check
from tapegrad.fx._lookup import _FindNodesLookupTable
from tapegrad.fx._namespace import _custom_builtins, _CustomBuiltin, _Namespace, _register_custom_builtin
from tapegrad.fx._naming import _is_from_torch, own_name
from tapegrad.fx._node_list import _node_list
from tapegrad.fx._operators import inplace_methods, magic_methods, reflectable_magic_methods
from tapegrad.fx.node import Node, Target, _legal_ops, map_arg

__all__ = [
    "CodeGen", "Graph", "PythonCode", "_CustomBuiltin", "_Namespace", "_PyTreeCodeGen", "_PyTreeInfo",
    "_custom_builtins", "_format_target", "_is_from_torch", "_register_custom_builtin", "inplace_methods",
    "magic_methods", "reflectable_magic_methods",
]  # fmt: skip

LOWER_BEFORE_UPPER = re.compile(r"(?<=[a-z])([A-Z])")


class _InsertPoint:
    """A context in which new nodes are put in another place."""

    def __init__(self, graph: Graph, new_insert: Callable[[Node], None]) -> None:
        self.graph = graph
        self.orig_insert = graph._insert
        graph._insert = new_insert

    def __enter__(self) -> None:
        return

    def __exit__(self, *exception: object) -> None:
        self.graph._insert = self.orig_insert


class Graph:
    """A program as a list of calls: what a tracer makes, and what passes change.

    Args:
        owning_module: the module that runs it, if there is one already.
        tracer_cls: the class of the tracer that makes it.
        tracer_extras: what a tracer of that class wants to know when the program is traced again.

    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> result = graph.output(graph.call_function(torch.relu, (x,)))
    >>> print(graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
        return relu
    >>> torch.fx.GraphModule({}, graph)(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def __init__(self, owning_module: Any = None, tracer_cls: Any = None, tracer_extras: Any = None) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._used_names: dict[str, int] = {}
        self._insert: Callable[[Node], None] = self._root.prepend
        self._len = 0
        self._graph_namespace = _Namespace()
        self._owning_module = owning_module
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras
        self._codegen = CodeGen()
        self._co_fields: dict[str, Any] = {}
        self._find_nodes_lookup_table = _FindNodesLookupTable()

    @property
    def owning_module(self) -> Any:
        """The module that runs this graph, if there is one."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, mod: Any) -> None:
        self._owning_module = mod

    # Reading ----------------------------------------------------------------------------------------------------------

    @property
    def nodes(self) -> _node_list:
        """The nodes in their order."""
        return _node_list(self)

    def output_node(self) -> Node:
        """The node that says what the graph gives."""
        return next(iter(reversed(self.nodes)))

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Any]:
        """The nodes with an operation and a target.

        Args:
            op: the operation.
            target: what they call; all for None, but for functions.
            sort: whether they are in the order of the graph.

        Raises:
            AssertionError: functions are asked for without a target.
        """
        found = self._find_nodes_lookup_table.find_nodes(op=op, target=target)
        return sorted(found) if sort else found

    def __str__(self) -> str:
        return "graph():" + "".join(f"\n    {node.format_node()}" for node in self.nodes)

    def print_tabular(self) -> None:
        """Print the nodes as a table.

        Raises:
            ImportError: the package ``tabulate``, which does it, is not installed.
        """
        try:
            tabulate = import_module("tabulate").tabulate
        except ImportError:
            print(
                "`print_tabular` relies on the library `tabulate`, which could not be found on this machine. Run `pip "
                "install tabulate` to install the library."
            )
            raise
        rows = [[node.op, node.name, node.target, node.args, node.kwargs] for node in self.nodes]
        print(tabulate(rows, headers=["opcode", "name", "target", "args", "kwargs"]))

    def lint(self) -> None:
        """Check that arguments are of this graph and come first, and that names and targets are as they have to be.

        Raises:
            RuntimeError: they are not.
        """
        check(self)

    # Making nodes -----------------------------------------------------------------------------------------------------

    def create_node(
        self, op: str, target: Target, args: tuple[Any, ...] | None = None, kwargs: dict[str, Any] | None = None,
        name: str | None = None, type_expr: Any = None,
    ) -> Node:  # fmt: skip
        """Put a node where nodes are put, which is the end unless ``inserting_before`` or ``_after`` says another.

        Args:
            op: what it does.
            target: what it calls, or the name of that.
            args, kwargs: the arguments.
            name: the name that is wanted; that of the target for None.
            type_expr: its annotation.

        Raises:
            AssertionError: there is no such operation; or the arguments are no tuple, and no dictionary.
        """
        if op not in _legal_ops:
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        args, kwargs = () if args is None else args, {} if kwargs is None else kwargs
        if not isinstance(args, tuple):
            raise AssertionError(f"args must be a tuple, got {type(args)}")
        if not isinstance(kwargs, dict):
            raise AssertionError(f"kwargs must be a dict, got {type(kwargs)}")
        name = self._graph_namespace.create_name(self._target_to_str(target) if name is None else name, None)
        node = Node(self, name, op, target, args, kwargs, type_expr)
        self._add(node)
        return node

    def _add(self, node: Node) -> None:
        self._graph_namespace.associate_name_with_obj(node.name, node)
        self._insert(node)
        self._find_nodes_lookup_table.insert(node)
        self._len += 1
        for hook in getattr(self.owning_module, "_create_node_hooks", ()):
            hook(node)

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = inspect.Signature.empty) -> Node:
        """Put an argument of the graph in; ``*name`` and ``**name`` take all that are left.

        Args:
            name: its name.
            type_expr: its annotation.
            default_value: what it is if it is not given.
        """
        args = () if default_value is inspect.Signature.empty else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """Put in a parameter, or another attribute of the module that owns the graph, by its path.

        A warning is given if the owner is known and has no such attribute.
        """
        owner = self.owning_module
        if owner is not None and not _has(owner, qualified_name):
            warn(
                "Attempted to insert a get_attr Node with no underlying reference in the owning GraphModule! Call "
                "GraphModule.add_submodule to add the necessary submodule, GraphModule.add_parameter to add the "
                "necessary Parameter, or nn.Module.register_buffer to add the necessary buffer"
            )
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self, module_name: str, args: tuple[Any, ...] | None = None, kwargs: dict[str, Any] | None = None,
        type_expr: Any = None,
    ) -> Node:  # fmt: skip
        """Put in the call of a module of the owner's, by its path.

        Raises:
            AttributeError: the owner is known, and has no such module.
        """
        if self.owning_module is not None:
            self.owning_module.get_submodule(module_name)
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self, method_name: str, args: tuple[Any, ...] | None = None, kwargs: dict[str, Any] | None = None,
        type_expr: Any = None,
    ) -> Node:  # fmt: skip
        """Put in the call of a method; the first argument is what has it."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self, the_function: Callable[..., Any], args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None, type_expr: Any = None, name: str | None = None,
    ) -> Node:  # fmt: skip
        """Put in the call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result: Any, type_expr: Any = None) -> Node:
        """Say what the graph gives."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda x: x) -> Node:
        """Put in a node like one of another graph.

        Args:
            node: that one.
            arg_transform: gives the nodes of this graph for those that it takes.
        """
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        made = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        made.meta = copy.copy(node.meta)
        return made

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Any:
        """Put in nodes like all of another graph, but for its output.

        Args:
            g: the other graph.
            val_map: nodes of this graph for nodes of the other; it gets those that are made.
            return_output_node: whether the output node is wanted, too.

        Returns:
            what the other graph gives, in nodes of this one; and its output node. None if it has none.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                given = map_arg(node.args[0], lambda n: val_map[n])
                return (given, node) if return_output_node else given
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo: Any = None) -> Graph:
        made, nodes = Graph(tracer_cls=self._tracer_cls), dict[Node, Node]()
        found = made.graph_copy(self, val_map=nodes, return_output_node=True)
        if memo is not None:
            memo.update({id(node): twin for node, twin in nodes.items()})
        made._codegen = copy.deepcopy(self._codegen)
        made._co_fields = dict(self._co_fields)
        if found is not None:
            given, old = found
            made.output(given, type_expr=old.type).meta = copy.copy(old.meta)
        return made

    # Moving and erasing -----------------------------------------------------------------------------------------------

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """A context in which new nodes are put before ``n``, or at the beginning.

        Raises:
            AssertionError: ``n`` is of another graph.
        """
        if n is None:
            return self.inserting_after(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """A context in which new nodes are put right after ``n``, or at the end.

        Raises:
            AssertionError: ``n`` is of another graph.
        """
        if n is None:
            return self.inserting_before(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert after is not in graph.")
        return _InsertPoint(self, n.append)

    def erase_node(self, to_erase: Node) -> None:
        """Take a node out that nobody takes.

        Raises:
            RuntimeError: some nodes take it, or it is of another graph.
        """
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
                f"{to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            warn(f"erase_node({to_erase}) on an already erased node")
            return
        for hook in getattr(self.owning_module, "_erase_node_hooks", ()):
            hook(to_erase)
        self._find_nodes_lookup_table.remove(to_erase)
        to_erase._unlink()
        to_erase._erased = True
        self._len -= 1
        to_erase._take(*map_arg((to_erase.args, to_erase.kwargs), lambda n: None))

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Erase what nobody takes, but for what does more than give a value.

        Args:
            is_impure_node: says of a node whether it does more; ``Node.is_impure`` if it is not given.

        Returns:
            whether something was erased.

        Raises:
            RuntimeError: the graph is not in order.
        """
        self.lint()
        erased = False
        for node in reversed(self.nodes):
            impure = is_impure_node(node) if is_impure_node is not None else node.is_impure()
            if not impure and not node.users:
                self.erase_node(node)
                erased = True
        return erased

    def _clear_nodes(self) -> None:
        for node in reversed(self.nodes):
            node.users.clear()
            self.erase_node(node)

    # Code -------------------------------------------------------------------------------------------------------------

    def _target_to_str(self, target: Any) -> str:
        """The name that a node gets from what it calls."""
        name = own_name(target) if callable(target) else target
        if name.startswith("__") and name.endswith("__") and len(name) > 4:
            name = name[2:-2]
        return LOWER_BEFORE_UPPER.sub(r"_\1", name).lower()

    def python_code(
        self, root_module: str, *, verbose: bool = False, include_stride: bool = False, include_device: bool = False,
        colored: bool = False, expanded_def: bool = False, record_func: bool = False,
        additional_meta: list[str] | None = None,
    ) -> PythonCode:  # fmt: skip
        """The source of this graph as a function.

        Args:
            root_module: the expression for the module that has parameters and modules, as ``"self"``.
            verbose: whether dtypes and shapes are written, and places in the user's program.
            include_stride, include_device: whether strides and devices are, too.
            expanded_def: whether each parameter has a line of its own.
            colored, record_func, additional_meta: taken, and not written.
        """
        namespace = _Namespace()
        with named_by(self.nodes, lambda node: namespace.create_name(node.name, node)):
            return self._codegen._gen_python_code(
                self.nodes, root_module, namespace, verbose=verbose, include_stride=include_stride,
                include_device=include_device, colored=colored, expanded_def=expanded_def, record_func=record_func,
                additional_meta=additional_meta,
            )  # fmt: skip

    def process_inputs(self, *args: Any) -> Any:
        """The inputs of this graph, from the arguments of its function."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """The result of its function, from the outputs of this graph."""
        return self._codegen.process_outputs(out)

    def set_codegen(self, codegen: CodeGen) -> None:
        """Let ``codegen`` write the code of this graph."""
        self._codegen = codegen

    def on_generate_code(self, make_transformer: Callable[[TransformCodeFunc | None], TransformCodeFunc]) -> Any:
        """Let a function change the lines of the code whenever it is written; as a context, in it only.

        Args:
            make_transformer: takes the function that does so now, or None, and gives the one that is to do so.
        """
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)

        @contextmanager
        def until_left() -> Any:
            try:
                yield
            finally:
                self._codegen._body_transformer = before

        return until_left()


def _has(owner: Any, path: str) -> bool:
    """Tell whether a module has something by this path."""
    for name in path.split("."):
        if not hasattr(owner, name):
            return False
        owner = getattr(owner, name)
    return True
