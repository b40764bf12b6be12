"""The subjects of explanations: the nodes of a graph, their lines, and what they are called."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tapegrad._src.dispatch.nodes.operator import OperatorNode
from tapegrad._src.tape.node import Edge, Node
from tapegrad._src.tape.positions import Position
from tapegrad._src.tensor.paths import path_of
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.errors import message
from tapegrad.viz.describing import freed_by, is_freed, is_leaf, plain_name, short
from tapegrad.viz.reading import edges_of, nodes_from

HOW_TO_HAVE_LINES = "torch.autograd.set_record_source_lines(True), before the forward pass, tells the lines"


def nodes_of(given: Any, function: str) -> tuple[list[Edge], list[Node]]:
    """The edges where backward would start, and all nodes that it would come to, leaves last.
    Raises TypeError: no tensor, node or gradient edge, nor several. ValueError: a tensor without a graph.
    """
    roots = edges_of(given, function)
    return roots, nodes_from(roots)


def refuse_freed(nodes: Sequence[Node], function: str) -> None:
    """Say so if what a graph saved is gone. Raises RuntimeError: a backward call has freed it."""
    freed = next(filter(is_freed, nodes), None)
    if freed is not None:
        place = freed_by(freed)
        sentence = f"{function}(): what the graph saved was freed by the backward call"
        hint = f"call it before backward(), or backward(retain_graph=True); {plain_name(freed)} is the first without"
        raise RuntimeError(message(f"{sentence} at {place}" if place else sentence, hint=hint))


def freed_text(nodes: Sequence[Node]) -> str | None:
    """That what a graph saved is gone, and where, if so."""
    freed = next(filter(is_freed, nodes), None)
    place = None if freed is None else freed_by(freed)
    where = f" by the backward call at {place}" if place else ""
    return None if freed is None else f"what the graph saved was freed{where}"


def raised(error: Exception) -> str:
    """The first sentence of an error."""
    return f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"


def tensor_given(given: Any, function: str, what: str = "a tensor") -> Tensor:
    """A tensor that a function was given. Raises TypeError: it is none."""
    if not isinstance(given, Tensor):
        raise TypeError(message(f"{function}()", expected=what, got=type(given).__name__))
    return given


def operator_of(node: Node) -> str:
    """The operator that a node is the backward of: its name, or the node's own."""
    return node.plan.op.name if isinstance(node, OperatorNode) else plain_name(node)


def position_of(node: Node) -> Position | None:
    """The place where a node was made, if that was recorded."""
    return None if node._origin is None else node._origin.position


def line_of(node: Node) -> str:
    """The user's line that made a node, for a table; empty of leaves, and if it was not recorded."""
    return "" if is_leaf(node) else short_place(position_of(node))


def short_place(position: Position | None) -> str:
    """A place for a table: the file without its folder, the line, its source."""
    if position is None:
        return ""
    return str(position).replace(position.file, Path(position.file).name, 1).replace(" in <module>", "", 1)


def lines_missing(nodes: Sequence[Node]) -> str | None:
    """The hint how to have lines, if none was recorded."""
    known = any(position_of(node) is not None for node in nodes)
    return None if known or all(map(is_leaf, nodes)) else HOW_TO_HAVE_LINES


def called(tensor: Tensor) -> str:
    """The name of a tensor: the parameter that it is, the leaf, or what made it."""
    path = path_of(tensor)
    if path is not None:
        return f"parameter {path[0]} of {path[1]}"
    node = tensor.grad_fn
    if node is not None:
        return f"result of {operator_of(node)}"
    return "leaf that requires grad" if tensor.requires_grad else "tensor without a graph"


def described(tensor: Tensor) -> str:
    """A tensor in a few words: what it is called, dtype and shape."""
    return f"{called(tensor)}, {short(tensor)}"
