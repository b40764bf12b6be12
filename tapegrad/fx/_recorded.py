"""Calls that were recorded, as plain values: they are compared with others, and made a graph of when they are new."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.function import Function
from tapegrad.fx.graph import Graph
from tapegrad.fx.graph_module import GraphModule
from tapegrad.fx.node import Node
from tapegrad.fx.proxy import VALUES
from tapegrad.nn import Module


def is_custom(value: Any) -> bool:
    """Tell whether an argument is the class of a custom function."""
    return isinstance(value, type) and issubclass(value, Function)


class Unrecordable(TypeError):
    """The error of an argument that no graph can have."""


class Ref(NamedTuple):
    """A tensor in recorded calls: an input, or a result of one of the calls.

    Attributes:
        call: the number of the call; -1 for inputs.
        item: which of its results, or which input; None for the only result.
    """

    call: int
    item: int | None


@dataclass(frozen=True)
class NotedCall:
    """One call: what a node of a graph will say."""

    op: str
    target: Any
    args: tuple
    kwargs: dict[str, Any]


@dataclass
class Recorded:
    """The calls of one graph, in their order.

    Attributes:
        calls: the calls.
        inputs: the tensors that were there before.
        refs: what each tensor is, by its identity.
        names: how the program's function calls inputs, by their identities, where it has a name for them.
        modes: the modes of the thread when the graph began.
        writes: whether a call writes to an input, or has another effect.
    """

    calls: list[NotedCall] = field(default_factory=list)
    inputs: list[Tensor] = field(default_factory=list)
    refs: dict[int, Ref] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    modes: Any = None
    writes: bool = False

    def ref(self, tensor: Tensor) -> Ref:
        """The place of a tensor in the calls; an input, if it is none of their results."""
        known = self.refs.get(id(tensor))
        if known is None:
            known = self.refs[id(tensor)] = Ref(-1, len(self.inputs))
            self.inputs.append(tensor)
        return known

    def argument(self, value: Any) -> Any:
        """An argument with what tensors are in their place.

        Raises:
            Unrecordable: a graph can't have it.
        """
        if isinstance(value, Tensor):
            return self.ref(value)
        if isinstance(value, (list, tuple)):
            items = [self.argument(one) for one in value]
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        if isinstance(value, dict):
            return {key: self.argument(one) for key, one in value.items()}
        if isinstance(value, slice):
            return slice(*map(self.argument, (value.start, value.stop, value.step)))
        if isinstance(value, VALUES) or is_custom(value):
            return value
        raise Unrecordable(f"argument of type: {type(value)}")

    def key(self, outputs: Sequence[Ref]) -> Hashable:
        """All that decides what a graph of these calls is."""
        kinds = tuple([(type(one), one._spec) for one in self.inputs])
        calls = tuple([(one.op, one.target, frozen(one.args), frozen(one.kwargs)) for one in self.calls])
        return calls, kinds, tuple(outputs), self.modes


def frozen(value: Any) -> Hashable:
    """An argument as a value that tells 1 from 1.0 and from True, and 0.0 from -0.0.

    >>> frozen([1, -0.0]) == frozen([1, 0.0]), frozen((1,)) == frozen((True,))
    (False, False)
    """
    if isinstance(value, Ref):
        return value
    if isinstance(value, (list, tuple)):
        return type(value), *map(frozen, value)
    if isinstance(value, dict):
        return dict, *((key, frozen(one)) for key, one in value.items())
    if isinstance(value, slice):
        return slice, *map(frozen, (value.start, value.stop, value.step))
    if isinstance(value, (float, complex)):
        return type(value), repr(value)
    if isinstance(value, (int, str)):
        return type(value), value
    return value


def graph_module_of(
    recorded: Recorded, names: Sequence[str], outputs: Sequence[Ref], class_name: str = "GraphModule"
) -> GraphModule:
    """The graph of recorded calls, whose inputs have these names, as a module.

    Args:
        recorded: the calls.
        names: for each input the name of its placeholder.
        outputs: what the graph gives, as a tuple.
        class_name: the name of the module's class.
    """
    graph, root = Graph(), Module()
    nodes: dict[Ref, Node] = {}
    for number, (name, tensor) in enumerate(zip(names, recorded.inputs, strict=True)):
        node = graph.create_node("placeholder", name, (), {}, type_expr=type(tensor))
        node.meta["example_value"] = tensor
        nodes[Ref(-1, number)] = node

    def node_of(ref: Any) -> Node:
        if is_custom(ref):
            setattr(root, ref.__name__, ref)
            return graph.create_node("get_attr", ref.__name__)
        return nodes[ref]

    items = items_used(recorded, outputs)
    for number, call in enumerate(recorded.calls):
        args, kwargs = with_nodes(call.args, node_of), with_nodes(call.kwargs, node_of)
        made = nodes[Ref(number, None)] = graph.create_node(call.op, call.target, args, kwargs)
        for item in sorted(items.get(number, ())):
            nodes[Ref(number, item)] = graph.create_node("call_function", operator.getitem, (made, item))
    graph.output(tuple(map(node_of, outputs)))
    return GraphModule(root, graph, class_name)


def items_used(recorded: Recorded, outputs: Sequence[Ref]) -> dict[int, set[int]]:
    """For each call with several results those that are used."""
    found: dict[int, set[int]] = {}

    def note(ref: Any) -> None:
        if isinstance(ref, Ref) and ref.call >= 0 and ref.item is not None:
            found.setdefault(ref.call, set()).add(ref.item)

    for call in recorded.calls:
        with_nodes((call.args, call.kwargs), note)
    for ref in outputs:
        note(ref)
    return found


def with_nodes(value: Any, node_of: Callable[[Any], Any]) -> Any:
    """An argument with nodes in the place of what they stand for."""
    if isinstance(value, Ref) or is_custom(value):
        return node_of(value)
    if isinstance(value, (list, tuple)):
        items = [with_nodes(one, node_of) for one in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return {key: with_nodes(one, node_of) for key, one in value.items()}
    if isinstance(value, slice):
        return slice(*(with_nodes(one, node_of) for one in (value.start, value.stop, value.step)))
    return value
