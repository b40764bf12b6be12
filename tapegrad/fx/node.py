"""``Node``: one call in a graph, with the nodes that it takes and those that take it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from tapegrad.fx._aggregates import map_aggregate, map_arg, nodes_in
from tapegrad.fx._compatibility import compatibility as compatibility
from tapegrad.fx._effects import _side_effectful_functions, has_side_effect, is_impure_call
from tapegrad.fx._naming import _find_module_of_method, _get_qualified_name, _type_repr, typename
from tapegrad.fx._node_list import Linked
from tapegrad.fx._node_text import _format_arg, describe
from tapegrad.fx.immutable_collections import immutable_dict, immutable_list
from tapegrad.fx.operator_schemas import normalize_function, normalize_module

__all__ = [
    "Argument", "BaseArgumentTypes", "Node", "Target", "_find_module_of_method", "_format_arg", "_get_qualified_name",
    "_legal_ops", "_side_effectful_functions", "_type_repr", "base_types", "has_side_effect", "immutable_dict",
    "immutable_list", "map_aggregate", "map_arg",
]  # fmt: skip

Target = Callable[..., Any] | str
Argument = Any
BaseArgumentTypes = Any
N = TypeVar("N", bound="Node")

_legal_ops = dict.fromkeys(("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root"))

base_types = (str, int, float, bool, complex)
"""The types of Python's values that are arguments as they are; those of tensors are in ``proxy.py``."""


class Node(Linked):
    """One call, parameter or argument of a graph: methods of the graph make it.

    Attributes:
        graph: the graph.
        name: its name in the graph.
        op: ``"placeholder"``, ``"get_attr"``, ``"call_function"``, ``"call_module"``, ``"call_method"``, ``"output"``.
        target: what is called, or its name.
        type: the annotation of its value, if there is one.
        users: the nodes that take its value, as keys.
        meta: what passes have noted of it.

    Raises:
        ValueError: ``target`` is not callable, or no string.

    >>> graph = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1).graph
    >>> for node in graph.nodes:
    ...     print(node.op, node.target if node.op == "placeholder" else "", node.args)
    placeholder x ()
    call_function  (x,)
    call_function  (relu, 1)
    output  (add,)
    """

    _args: tuple[Any, ...]
    _kwargs: dict[str, Any]
    _repr_fn: Callable[[Node], str] | None = None

    def __init__(
        self, graph: Any, name: str, op: str, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any],
        return_type: Any = None,
    ) -> None:  # fmt: skip
        if op not in _legal_ops:
            raise AssertionError(f"op {op!r} is not a legal op")
        expected = "Callable" if op == "call_function" else "str"
        if not (callable(target) if op == "call_function" else isinstance(target, str)):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {typename(target)} but a {expected} "
                "is expected"
            )
        self.graph, self.name, self.op, self.target, self.type = graph, name, op, target, return_type
        self._input_nodes: dict[Node, None] = {}
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._prev = self._next = self
        self._erased, self._sort_key = False, ()
        self._take(args, kwargs)

    def __repr__(self) -> str:
        return self._repr_fn(self) if self._repr_fn else self.name

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if name == "name" and "name" in own:
            for hook in getattr(self.graph.owning_module, "_replace_hooks", ()):
                for user in self.users:
                    hook(old=self, new=value, user=user)
        elif name in ("op", "target") and name in own and "users" in own and not self._erased:
            self.graph._find_nodes_lookup_table.remove(self)
            object.__setattr__(self, name, value)
            self.graph._find_nodes_lookup_table.insert(self)
            return
        object.__setattr__(self, name, value)

    # Place ------------------------------------------------------------------------------------------------------------

    @property
    def next(self) -> Node:
        """The node after this one; the root of the list after the last."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one; the root of the list before the first."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Put a node of the same graph, wherever it is, before this one.

        Raises:
            TypeError: it is no node.
            AssertionError: it is of another graph.
        """
        if not isinstance(x, Node):
            raise TypeError("_prepend() argument must be a Node")
        if x.graph is not self.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if x is not self:
            self._link_before(x)

    def append(self, x: Node) -> None:
        """Put a node of the same graph, wherever it is, after this one; errors are those of ``prepend``."""
        if x is not self:
            self._next.prepend(x)

    # Arguments --------------------------------------------------------------------------------------------------------

    def _take(self, args: Any, kwargs: Any) -> None:
        """Take arguments in the place of those that there are, and tell the nodes among them."""
        for node in self._input_nodes:
            node.users.pop(self, None)
        self._args, self._kwargs = map_aggregate(args, lambda a: a), map_aggregate(kwargs, lambda a: a)
        self._input_nodes = dict.fromkeys(nodes_in((self._args, self._kwargs)))
        for node in self._input_nodes:
            node.users.setdefault(self)

    @property
    def args(self) -> tuple[Any, ...]:
        """The positional arguments; their lists and dictionaries can't be changed. Assign others to change them."""
        return self._args

    @args.setter
    def args(self, a: tuple[Any, ...]) -> None:
        self._take(a, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        """The arguments given by name."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k: dict[str, Any]) -> None:
        self._take(self._args, k)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once."""
        return list(self._input_nodes)

    def update_arg(self, idx: int, arg: Any) -> None:
        """Take ``arg`` as positional argument ``idx``."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Any) -> None:
        """Take ``arg`` as one more positional argument, before argument ``idx``.

        Raises:
            AssertionError: there are fewer arguments.
        """
        if not 0 <= idx <= len(self.args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Any) -> None:
        """Take ``arg`` as the argument named ``key``."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Take one node wherever this one takes another one."""
        _tell_replaced(self.graph.owning_module, old_input, new_input, [self])
        self._swap(old_input, new_input)

    def _swap(self, old: Node, new: Any) -> None:
        swapped = map_arg((self.args, self.kwargs), lambda node: new if node is old else node)
        self._take(*swapped)

    def replace_all_uses_with(
        self, replace_with: Node, delete_user_cb: Callable[[Node], bool] | None = None, *, propagate_meta: bool = False
    ) -> list[Node]:
        """Let all that takes this node take another one.

        Args:
            replace_with: the node that is taken then.
            delete_user_cb: says of a user whether it is to change; all do without it.
            propagate_meta: whether the other node, which must have no notes yet, gets those of this one.

        Returns:
            the users that took this one.

        Raises:
            AssertionError: ``propagate_meta``, and the other node has notes.
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    "Called node.replace_all_uses_with(replace_with, propagate_meta=True), but replace_with already "
                    "has .meta keys"
                )
            replace_with.meta.update(self.meta)
        changed = [user for user in self.users if delete_user_cb is None or delete_user_cb(user)]
        _tell_replaced(self.graph.owning_module, self, replace_with, changed)
        for user in changed:
            user._swap(self, replace_with)
        return changed

    # What it is -------------------------------------------------------------------------------------------------------

    @property
    def stack_trace(self) -> str | None:
        """The lines of the program that made this node, if the tracer recorded them."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random: bool = True) -> bool:
        """Tell whether more comes of running this node than its value, so that it is kept if nobody takes that.

        Args:
            impure_random: whether functions that draw random numbers count.

        Raises:
            AssertionError: it calls a module that the owner of the graph has not.
        """
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            return is_impure_call(self.target, impure_random)
        if self.op == "call_module":
            if self.graph.owning_module is None:
                raise AssertionError("self.graph.owning_module not set for purity check")
            return getattr(self.graph.owning_module.get_submodule(self.target), "_is_impure", False)
        return False

    def _pretty_print_target(self, target: Any) -> str:
        """The target in the text of a graph."""
        if isinstance(target, str):
            return target
        module = getattr(target, "__module__", None)
        if module in ("builtins", "_operator") and hasattr(target, "__name__"):
            return f"{'builtins' if module == 'builtins' else 'operator'}.{target.__name__}"
        return _get_qualified_name(target)

    def format_node(
        self, placeholder_names: list[str] | None = None, maybe_return_typename: list[str] | None = None, *,
        include_tensor_metadata: bool = False,
    ) -> str | None:  # fmt: skip
        """The text of this node, in which graphs are printed.

        Args:
            placeholder_names: gets the text of an argument of the graph.
            maybe_return_typename: its first element becomes the annotation of what the graph returns.
            include_tensor_metadata: whether to say shape and dtype, if passes have noted them.

        >>> graph = torch.fx.Graph()
        >>> graph.call_function(torch.add, (graph.placeholder("x"), 1)).format_node()
        '%add : [num_users=0] = call_function[target=torch.add](args = (%x, 1), kwargs = {})'
        """
        return describe(self, placeholder_names, maybe_return_typename, include_tensor_metadata)

    def normalized_arguments(
        self, root: Any, arg_types: Any = None, kwarg_types: Any = None, normalize_to_only_use_kwargs: bool = False
    ) -> Any:
        """The arguments with all defaults, by name where they may be; None for what is no function or layer.

        Args:
            root: the module that has the layers that are called.
            arg_types, kwarg_types: types of arguments, by which one of several signatures is chosen.
            normalize_to_only_use_kwargs: whether all are to be given by name.

        Raises:
            RuntimeError: several signatures take the arguments, and types choose none.
        """
        if self.op == "call_function":
            return normalize_function(
                self.target, self.args, self.kwargs, arg_types, kwarg_types, normalize_to_only_use_kwargs  # type: ignore[arg-type]
            )
        if self.op == "call_module":
            return normalize_module(root, self.target, self.args, self.kwargs, normalize_to_only_use_kwargs)  # type: ignore[arg-type]
        return None

    def _rename(self, candidate: str) -> None:
        """Take another name, or one like it if the graph has that."""
        if candidate != self.name:
            self.name = self.graph._graph_namespace.create_name(candidate, None)
            self.graph._graph_namespace._rename_object(self, self.name)


def _tell_replaced(owner: Any, old: Node, new: Any, users: Iterable[Node]) -> None:
    for hook in getattr(owner, "_replace_hooks", ()):
        for user in users:
            hook(old=old, new=getattr(new, "name", new), user=user)
