"""``walk``: the backward pass, node by node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from html import escape
from importlib import import_module
from itertools import islice
from typing import Any

from tapegrad._src.execution.array_functions.host import is_traced, to_host
from tapegrad._src.execution.array_functions.nonfinite import summarize
from tapegrad._src.execution.data.opaque import Opaque
from tapegrad._src.progress import in_notebook
from tapegrad._src.tape.modes import switched
from tapegrad._src.tape.node import Edge, Node
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad.autograd.differentiate import are_lifted, as_tuple, gradient_ops_for, make_seeds
from tapegrad.autograd.edges import GradientEdge
from tapegrad.autograd.gradient_types import Tensors
from tapegrad.autograd.running import engine
from tapegrad.viz.describing import is_leaf, name_of_leaf, plain_name, short
from tapegrad.viz.explanations.report import Report
from tapegrad.viz.explanations.subjects import line_of, lines_missing, nodes_of, raised, refuse_freed


class Visit:
    """One node of a backward pass that has just run.

    Attributes:
        order: as which one it ran, from 1.
        node: the node.
        incoming: the gradients that it was given: one, or None, for each output of its operator.
        outgoing: those that it gave: one, or None, for each of its edges; none of a leaf, where gradients arrive.
        next: where these go: (node, slot), or None, for each edge.
    """

    __slots__ = ("order", "node", "incoming", "outgoing", "next")

    def __init__(self, order: int, node: Node, incoming: tuple, outgoing: tuple) -> None:
        self.order, self.node = order, node
        self.incoming: tuple[Tensor | None, ...] = incoming
        self.outgoing: tuple[Tensor | None, ...] = () if is_leaf(node) else outgoing
        self.next: tuple[Edge | None, ...] = tuple(node.next_edges)

    @property
    def name(self) -> str:
        """The node's name, or that of the leaf at which it stands."""
        return name_of_leaf(self.node.variable, {}) if is_leaf(self.node) else plain_name(self.node)  # type: ignore[attr-defined]

    @property
    def line(self) -> str:
        """The line that made the node, if that was recorded."""
        return line_of(self.node)

    @property
    def ways(self) -> list[tuple[Tensor | None, Edge | None]]:
        """The outgoing gradients, each with where it goes."""
        return list(zip(self.outgoing, self.next, strict=False))

    def __str__(self) -> str:
        where = [f"made at {self.line}"] if self.line else []
        gets = [f"gets {'; '.join(map(gradient_text, self.incoming))}"]
        gives = [
            f"gives {gradient_text(grad)} to {plain_name(edge[0])}"
            for grad, edge in self.ways
            if edge is not None
        ]
        return "\n  ".join([f"{self.order}. {self.name}", *where, *gets, *gives])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def gradient_text(grad: Tensor | None) -> str:
    """A gradient in a few words: dtype, shape, range."""
    if grad is None:
        return "nothing"
    value = value_of(grad)
    return short(grad) + ("" if isinstance(value, Opaque) or is_traced(value) else f" ({summarize(to_host(value))})")


def gradients_text(grads: Sequence[Tensor | None]) -> str:
    """Gradients for a table: dtypes and shapes."""
    return ", ".join("-" if grad is None else short(grad) for grad in grads)


class Walk(Report):
    """An iterator over the nodes of a backward pass; it prints as a table of those that have run."""

    columns = {
        "": lambda visit: str(visit.order),
        "node": lambda visit: visit.name,
        "gets": lambda visit: gradients_text(visit.incoming),
        "gives": lambda visit: gradients_text([grad for grad, edge in visit.ways if edge is not None]),
        "line": lambda visit: visit.line,
    }

    def __init__(self, title: str, visits: Iterator[Visit], facts: Sequence[str | None]) -> None:
        super().__init__(title, (), facts)
        self.rows = self._visited = list[Visit]()
        self._visits = visits

    def __iter__(self) -> Walk:
        return self

    def __next__(self) -> Visit:
        visit = next(self._visits)
        self._visited.append(visit)
        return visit

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """The bundle that a notebook shows: buttons, if it can show any, else what has run."""
        still = {"text/plain": str(self), "text/html": self._repr_html_()}
        return {**buttons_of(self)._repr_mimebundle_(), **still} if in_notebook() else still


def buttons_of(steps: Walk) -> Any:
    """A widget that goes through a backward pass: a button for the next node, one for all that are left, what has run.

    An error of the backward pass, or of a hook, is shown in it, and ends it.
    """
    widgets = import_module("ipywidgets")
    one, rest = (widgets.Button(description=text) for text in ("next node", "to the end"))
    shown = widgets.HTML(steps._repr_html_())

    def go_on(button: Any) -> None:
        told = ""
        try:
            for visit in islice(steps, 1 if button is one else None):
                told = visit._repr_html_()
            over = button is rest or not told
        except Exception as error:
            told, over = f"<pre>{escape(raised(error))}</pre>", True
        shown.value = told + steps._repr_html_()
        one.disabled = rest.disabled = over

    for button in (one, rest):
        button.on_click(go_on)
    return widgets.VBox([widgets.HBox([one, rest]), shown])


def walk(loss: Any, gradient: Any = None, *, inputs: Any = None) -> Walk:
    """The backward pass of ``loss``, one node each time that the next one is asked for: in a loop, or in a debugger.

    Hooks run as they would in ``backward()``; nothing is added to ``.grad``, and the graph is kept. A notebook shows it
    with buttons to go on, if ipywidgets are installed.

    Args:
        loss: a tensor, or several, or gradient edges.
        gradient: the gradient of each; by default 1 for a real tensor of one element.
        inputs: go only where gradients of these tensors come from; by default of all leaves.

    Raises:
        TypeError: no tensor.
        ValueError: the tensor has no graph.
        RuntimeError: its graph was freed, or ``gradient`` doesn't fit.

    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> steps = torch.viz.walk((w * 3).sum())
    >>> for step in steps:
    ...     print(step)
    1. SumBackward0
      gets f32[] (min 1, max 1, 0 nan, 0 inf)
      gives f32[2] (min 1, max 1, 0 nan, 0 inf) to MulBackward0
    2. MulBackward0
      gets f32[2] (min 1, max 1, 0 nan, 0 inf)
      gives f32[2] (min 3, max 3, 0 nan, 0 inf) to AccumulateGrad
    3. leaf
      gets f32[2] (min 3, max 3, 0 nan, 0 inf)
    """
    roots, nodes = nodes_of(loss, "walk")
    refuse_freed(nodes, "walk")
    given = as_tuple([GradientEdge(*edge) for edge in roots] if isinstance(loss, Node) else loss)
    seeds = make_seeds(given, None if gradient is None else as_tuple(gradient))
    ends = [(node, 0) for node in nodes if is_leaf(node)] if inputs is None else nodes_of(inputs, "walk")[0]
    facts = ["nothing is accumulated: .grad is as it was", lines_missing(nodes)]
    return Walk(f"backward pass of {len(nodes)} nodes", visits_of(roots, seeds, ends, are_lifted(given)), facts)


def visits_of(
    roots: list[Edge], seeds: Sequence[Tensor | None], ends: list[Edge], lifted: bool
) -> Iterator[Visit]:
    """The visits, each made when it is asked for, with recording off meanwhile."""
    modes = partial(switched, grad=False)
    with modes():
        gradient_ops: Any = Tensors if lifted else gradient_ops_for(False)
        values = [None if seed is None else gradient_ops.seed(seed) for seed in seeds]
    running = engine.visits(roots, values, ends, gradient_ops)
    order = 0
    while True:
        with modes():
            found = next(running, None)
            if found is None:
                return
            node, given, gave = found
            order += 1
            visit = Visit(order, node, gradient_ops.to_hooks(given), gradient_ops.to_hooks(gave))
        yield visit
