"""``explain_nan``: which operator made the first nan, found after the fact.

Note [Post mortem]
The graph of a loss keeps some of the numbers that it was computed from: what nodes have saved, and leaves. Of other
results the operators are run again, where all that they take is known: where an edge leads, the argument is the result
of the node at its end. What nobody kept, an argument without history of which no derivative asked, stays unknown, and
so does what follows from it until a node has saved a result further on. The first operator, in the order of making,
whose result is known to have a nan is told; if what it took is unknown, so are the operators that it may come from.
Infs are told where there is no nan: many programs compute with them, as where they mask.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from tapegrad._src.dispatch.nodes.operator import OperatorNode
from tapegrad._src.dispatch.nodes.saved_tensor import Saves
from tapegrad._src.execution.array_functions.host import is_traced, to_host
from tapegrad._src.execution.array_functions.nonfinite import Summary, summarize
from tapegrad._src.execution.data.opaque import Opaque
from tapegrad._src.execution.kernels.kernel import Kernel
from tapegrad._src.tape.node import Node
from tapegrad._src.tape.positions import at
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad.autograd.nonfinite.checks import saved_by as named_saves
from tapegrad.autograd.nonfinite.report import backward_hint, forward_hint, kind_of, line_about
from tapegrad.errors import message
from tapegrad.viz.describing import is_leaf, name_of_leaf, plain_name
from tapegrad.viz.explanations.report import Report
from tapegrad.viz.explanations.subjects import line_of, lines_missing, nodes_of, operator_of, raised, refuse_freed
from tapegrad.viz.explanations.walking import Visit, walk

Place = tuple[Node, int]
"""A result: the node of the operator that made it, and as which of its results."""

MOST_LOOKED_AT = 12
"""So many operators are told of, from the one that made it on."""

UNKNOWN: Any = object()
"""Stands for an argument that nobody kept."""


class Looked(NamedTuple):
    """The facts about the result of a node, or about the gradients that it gave."""

    node: Node
    name: str
    found: str
    line: str


class NonfiniteReport(Report):
    """The origin of the first nan or inf.

    Attributes:
        node: the node of the operator that made it, or which made it itself, in the backward pass; the leaf's, if it
            came from there; None if all that is known is finite.
        phase: ``"forward"`` or ``"backward"``, or None.
        suspects: the nodes of operators before it that may have made it, as their results are not known.
    """

    columns = {"operator": lambda row: row.name, "": lambda row: row.found, "line": lambda row: row.line}

    def __init__(
        self, title: str, rows: Iterable[Looked], facts: Iterable[str | None], node: Node | None = None,
        phase: str | None = None, suspects: Sequence[Node] = (),
    ) -> None:  # fmt: skip
        super().__init__(title, rows, facts)
        self.node, self.phase, self.suspects = node, phase, tuple(suspects)


def explain_nan(loss: Any, gradient: Any = None) -> NonfiniteReport:
    """Which operator made the first nan or inf behind ``loss``, after the fact.

    It looks at what the graph has kept, and runs operators again whose arguments are known; of what nobody has kept it
    says so. Infs are told where there is no nan.

    If the loss is finite, the backward pass is run to look at that; nothing accumulates, and the graph is kept.

    Args:
        loss: a tensor whose graph has not been freed.
        gradient: its gradient, for the backward pass; by default 1 for a real tensor of one element.

    Raises:
        TypeError: no tensor.
        ValueError: the tensor has no graph, or no elements.
        RuntimeError: the graph was freed.

    >>> x = torch.tensor([4.0, -1.0], requires_grad=True)
    >>> print(torch.viz.explain_nan((x.sqrt() * 2).sum()))
    the first nan: sqrt made it, in the forward pass
      operator
      sqrt      min 2, max 2, 1 nan, 0 inf
      mul       min 4, max 4, 1 nan, 0 inf
      sum_all   no finite element, 1 nan, 0 inf
      x: float32[2], min -1, max 4, 0 nan, 0 inf
      Hint: the square root of a negative number is nan: clamp the argument
      torch.autograd.set_record_source_lines(True), before the forward pass, tells the lines
    """
    roots, nodes = nodes_of(loss, "explain_nan")
    refuse_freed(nodes, "explain_nan")
    if isinstance(loss, Tensor) and (is_traced(value_of(loss)) or isinstance(value_of(loss), Opaque)):
        where = "it is inside a transform, or on meta"
        raise ValueError(message("explain_nan(): the tensor has no elements", hint=where))
    known = KnownResults(nodes)
    if isinstance(loss, Tensor):
        known.results.setdefault(roots[0], value_of(loss))
    first = first_with(known, "nan")
    if first is None and any(map(spoilt, known.of(roots[0][0]))):
        first = first_with(known, "inf")
    return in_backward(loss, gradient, known) if first is None else in_forward(known, *first)


class KnownResults:
    """The results of operators that can be known from their graph: see Note [Post mortem].

    Attributes:
        order: the nodes in the order of making, leaves first.
        results: what is known, by place.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.order = sorted(nodes, key=lambda node: (not is_leaf(node), node.sequence_nr))
        self.results: dict[Place, Any] = {}
        for node in self.order:
            if is_leaf(node):
                self.results[node, 0] = value_of(node.variable)  # type: ignore[attr-defined]
            for place, value in kept_results(node):
                self.results.setdefault(place, value)
        for node in self.order:
            if isinstance(node, OperatorNode) and (node, 0) not in self.results:
                self.run_again(node)

    def arguments(self, node: OperatorNode) -> list[Any]:
        """The arguments of a node's operator; ``UNKNOWN`` for what nobody kept."""
        plan, saved = node.plan, dict(kept_arguments(node))
        edges = dict(zip(plan.positions, node.next_edges, strict=True))
        found = []
        for position, spec in enumerate(plan.specs):
            edge = edges.get(position)
            value = saved.get(position, UNKNOWN)
            if value is UNKNOWN and edge is not None:
                value = self.results.get(edge, UNKNOWN)
            found.append(None if spec is None else value)
        return found

    def run_again(self, node: OperatorNode) -> None:
        """Compute the results of a node's operator, if all that it took is known, and nothing is random."""
        forward, arguments = node.plan.kernels.forward, self.arguments(node)
        if isinstance(forward, Kernel) and not any(value is UNKNOWN for value in arguments):
            results = forward(*(value for value in arguments if value is not None))
            for number, result in enumerate((results,) if node.plan.single else results):
                self.results.setdefault((node, number), result)

    def of(self, node: Node) -> list[Any]:
        """The results of a node that are known."""
        return [self.results[node, number] for number in range(node.input_slots) if (node, number) in self.results]


def kept_arguments(node: OperatorNode) -> Iterable[tuple[int, Any]]:
    """The arguments that a node has saved, by position; none where hooks have packed them."""
    if isinstance(node.saved, tuple):
        for position, item in zip(node.plan.saved_inputs, node.saved, strict=False):
            yield position, value_of(item) if isinstance(item, Tensor) else item


def kept_results(node: Node) -> Iterable[tuple[Place, Any]]:
    """The results that a node knows: its own that it has saved, and those of others that it took and has saved."""
    if not isinstance(node, OperatorNode) or isinstance(node.saved, Saves):
        return
    plan = node.plan
    for position, value in kept_arguments(node):
        edge = node.next_edges[plan.positions.index(position)] if position in plan.positions else None
        if edge is not None:
            yield edge, value
    for number, value in zip(plan.saved_outputs, (node.saved or ())[len(plan.saved_inputs) :], strict=False):  # type: ignore[index]
        yield (node, number), value_of(value) if isinstance(value, Tensor) else value


def state_of(value: Any) -> Summary | None:
    """The summary of a number or a value; None of what has none."""
    return None if value is UNKNOWN or value is None or isinstance(value, (str, bool)) else summarize(to_host(value))


def spoilt(value: Any) -> str | None:
    """``"nan"`` or ``"inf"`` if a value has any."""
    found = state_of(value)
    return None if found is None or not (found.nan or found.inf) else kind_of(bool(found.nan))


def first_with(known: KnownResults, kind: str) -> tuple[Node, str] | None:
    """The first node, in the order of making, with a result that is known to have a nan, or an inf."""
    found = (node for node in known.order if any(spoilt(value) == kind for value in known.of(node)))
    return next(((node, kind) for node in found), None)


def in_forward(known: KnownResults, node: Node, kind: str) -> NonfiniteReport:
    """The report of a nan that the forward pass has made, or was given."""
    rows = [looked(known, one) for one in known.order[known.order.index(node) :] if not is_leaf(one)][:MOST_LOOKED_AT]
    lines = lines_missing(known.order)
    if is_leaf(node):
        name = name_of_leaf(node.variable, {})  # type: ignore[attr-defined]
        return NonfiniteReport(f"the first {kind}: it is in the data: in {name}", rows, [lines], node, "forward")
    suspects = unknown_before(known, node)
    infs = first_with(known, "inf") if kind == "nan" else None
    before = infs is not None and known.order.index(infs[0]) < known.order.index(node)
    told = f"before it, {origin_of(infs[0])} made the first inf" if infs is not None and before else None
    facts = [at("it was called", node._origin), *operands(known, node, kind, bool(suspects)), told, lines]
    title = f"the first {kind}: {operator_of(node)} made it, in the forward pass"
    if suspects:
        title = f"the first {kind} that is known: in the result of {operator_of(node)}, in the forward pass"
        facts[1:1] = [f"it may come from {origin_of(one)}, whose result nobody has kept" for one in suspects[-3:]]
    return NonfiniteReport(title, rows, facts, node, "forward", suspects)


def operands(known: KnownResults, node: Node, kind: str, doubtful: bool) -> list[str | None]:
    """The facts about an operator's arguments, and the usual cause, if that isn't doubtful."""
    if not isinstance(node, OperatorNode):
        return []
    op = node.plan.op
    named = [(op.input_name(place), value) for place, value in enumerate(known.arguments(node)) if value is not UNKNOWN]
    cause = None if doubtful else forward_hint(op.spoilt, named, kind == "nan")
    return [*(line_about(name, value) for name, value in named), None if cause is None else f"Hint: {cause}"]


def unknown_before(known: KnownResults, node: Node) -> list[Node]:
    """The nodes that lead to what a node took, and whose results are not known, in the order of making."""
    stack, found = [node], {node}
    while stack:
        for edge in stack.pop().next_edges:
            if edge is not None and edge not in known.results and edge[0] not in found:
                found.add(edge[0])
                stack.append(edge[0])
    return sorted(found - {node}, key=lambda one: one.sequence_nr)


def origin_of(node: Node) -> str:
    """An operator, and its line, if that was recorded."""
    return f"{operator_of(node)} ({line_of(node)})" if line_of(node) else operator_of(node)


def looked(known: KnownResults, node: Node) -> Looked:
    """The facts about a node's results, for the table."""
    found = [str(state_of(value)) for value in known.of(node)]
    return Looked(node, operator_of(node), "; ".join(found) or "not known", line_of(node))


def in_backward(loss: Any, gradient: Any, known: KnownResults) -> NonfiniteReport:
    """The report of a backward pass behind a forward pass in which no nan is known."""
    infs = first_with(known, "inf")
    told = [None if infs is None else f"there are infs in the forward pass: {origin_of(infs[0])} made the first one"]
    told.append(lines_missing(known.order))
    if gradient is None and isinstance(loss, Tensor) and loss.numel() != 1:
        return NonfiniteReport("no nan is known in the forward pass; gradient= lets backward be looked at", (), told)
    rows: list[Looked] = []
    firsts: dict[str, tuple[Visit, list[Looked]]] = {}
    errors: list[Exception] = []
    for visit in until_error(walk(loss, gradient), errors):
        rows.append(Looked(visit.node, plain_name(visit.node), "; ".join(states(visit)), line_of(visit.node)))
        for kind in {spoilt(value_of(grad)) for grad in visit.outgoing if grad is not None} - {None}:
            firsts.setdefault(kind, (visit, rows[-MOST_LOOKED_AT:]))  # type: ignore[arg-type]
        if "nan" in firsts:
            break
    found = next((kind for kind in ("nan", "inf") if kind in firsts), None)
    if found is not None:
        return backward_report(*firsts[found], found, known, told)
    if errors:
        title = "no nan is known in the forward pass, nor in the backward pass until that raises an error"
        return NonfiniteReport(title, rows[-MOST_LOOKED_AT:], [raised(errors[0]), *told])
    return NonfiniteReport("no nan: neither in what is known of the forward pass, nor in the backward pass", (), told)


def until_error(visits: Iterable[Visit], errors: list[Exception]) -> Iterator[Visit]:
    """The visits, up to the first error: a hook's, a custom function's, or the engine's, which is put down."""
    try:
        yield from visits
    except Exception as error:
        errors.append(error)


def states(visit: Visit) -> list[str]:
    """The states of the gradients that a node gave, or a leaf was given."""
    return [str(state_of(value_of(grad))) for grad in visit.outgoing or visit.incoming if grad is not None]


def backward_report(
    visit: Visit, rows: Sequence[Looked], kind: str, known: KnownResults, told: Sequence[str | None]
) -> NonfiniteReport:
    """The report of a node that gave the first nan of a backward pass."""
    node = visit.node
    given = [None if grad is None else value_of(grad) for grad in visit.incoming]
    saved = named_saves(node, getattr(node, "saved", None))
    named = [(f"gradient of output {number}", value) for number, value in enumerate(given)]
    named += [(f"saved {name}", value) for name, value in saved]
    cause = backward_hint(node, given, saved, kind == "nan", known.order[:-2:-1])
    facts = [
        at("it is the backward of the operation", node._origin),
        *(line_about(name, value) for name, value in named),
        None if cause is None else f"Hint: {cause}",
        *told,
    ]
    title = f"the first {kind}: {plain_name(node)} made it, in the backward pass"
    return NonfiniteReport(title, rows, facts, node, "backward")
