"""``explain``: what each operator behind a loss costs, and what memory the backward pass takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tapegrad._src.dispatch.kernels import abstract_argument
from tapegrad._src.dispatch.nodes.operator import OperatorNode
from tapegrad._src.dispatch.plan import Plan
from tapegrad._src.execution.kernels.kernel import Kernel
from tapegrad._src.execution.kernels.xla_costs import FREE, XlaCost, xla_cost
from tapegrad._src.tape.node import Node
from tapegrad.viz.describing import SavedItem, bytes_text, is_freed, is_leaf, saved_by, time_text
from tapegrad.viz.explanations.peak import Peak, peak_of
from tapegrad.viz.explanations.report import Report
from tapegrad.viz.explanations.subjects import freed_text, line_of, lines_missing, nodes_of, operator_of
from tapegrad.viz.recording import record_of

HOW_TO_HAVE_TIMES = "inside torch.viz.record() operators and nodes are timed"


class OperatorCost(NamedTuple):
    """The cost of an operator, all its calls of one line together.

    Attributes:
        operator, line: its name, and the user's line, empty if that was not recorded.
        calls: how many calls there are.
        saved: how many bytes they keep for backward; what several nodes keep is counted where it comes first.
        flops, nbytes: operations, and bytes moved, of the forward kernels, by XLA's account; None if that is not known.
        backward_flops, backward_nbytes: the same of the backward kernels.
        forward_ns, backward_ns: nanoseconds, if they were measured.
    """

    operator: str
    line: str
    calls: int
    saved: int
    flops: float | None
    nbytes: float | None
    backward_flops: float | None
    backward_nbytes: float | None
    forward_ns: int | None
    backward_ns: int | None


class CostReport(Report):
    """The costs of the operators behind a loss.

    Attributes:
        peak: when the backward pass takes the most memory, and for what; None if the graph was freed.
    """

    columns = {
        "operator": lambda row: row.operator,
        "calls": lambda row: str(row.calls),
        "saved": lambda row: bytes_text(row.saved) if row.saved else "",
        "flops": lambda row: count_text(row.flops),
        "moved": lambda row: moved_text(row.nbytes),
        "flops backward": lambda row: count_text(row.backward_flops),
        "moved backward": lambda row: moved_text(row.backward_nbytes),
        "forward": lambda row: "" if row.forward_ns is None else time_text(row.forward_ns),
        "backward": lambda row: "" if row.backward_ns is None else time_text(row.backward_ns),
        "line": lambda row: row.line,
    }

    def __init__(self, title: str, rows: Iterable[Any], facts: Iterable[str | None], peak: Peak | None) -> None:
        super().__init__(title, rows, facts)
        self.peak = peak


def count_text(count: float | None) -> str:
    """A number of operations.

    >>> [count_text(None), count_text(12.0), count_text(3_456_000.0)]
    ['', '12', '3.46 M']
    """
    if count is None:
        return ""
    for factor, unit in ((1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")):
        if count >= factor:
            return f"{count / factor:.3g}{unit}"
    return f"{count:.0f}"


def moved_text(count: float | None) -> str:
    """A number of bytes, if it is known."""
    return "" if count is None else bytes_text(count)


def explain(loss: Any) -> CostReport:
    """Tell what each operator behind ``loss`` costs: calls, bytes saved, operations and bytes moved, times, the user's
    line.

    Operations and bytes are XLA's account of the kernels, before it fuses them: of a convolution it counts the products
    with elements of the image, not those with padding, which for a kernel of 3 by 3 over images of 8 by 8 is a sixth
    less than is counted by hand. Times are those that were measured inside ``torch.viz.record()``. The peak of memory
    is worked out from the graph: what is saved, and the gradients that are under way, node by node in the order of the
    engine.

    Raises:
        TypeError: no tensor.
        ValueError: the tensor has no graph.

    >>> w = torch.ones(8, 8, requires_grad=True)
    >>> torch.viz.explain((torch.ones(4, 8) @ w).exp().sum())
    3 operators in 3 rows: 575 flops forward, 544 backward
      operator  calls  saved  flops  moved  flops backward  moved backward
      mm            1  128 B    512  512 B             512           512 B
      exp           1  128 B     32  256 B              32           384 B
      sum_all       1            31  136 B               0           132 B
      peak of memory: 512 B (256 B saved, 256 B of gradients), when ExpBackward0 runs
        128 B held by exp
        128 B held by gradients for exp
        128 B held by gradients for mm
      torch.autograd.set_record_source_lines(True), before the forward pass, tells the lines
      inside torch.viz.record() operators and nodes are timed
    """
    _, nodes = nodes_of(loss, "explain")
    operators = [node for node in nodes if not is_leaf(node)]
    groups: dict[tuple[str, str], list[Node]] = {}
    for node in sorted(operators, key=lambda node: node.sequence_nr):
        groups.setdefault((operator_of(node), line_of(node)), []).append(node)
    told: set[int] = set()
    saved = {node: saved_by(node) for node in nodes}
    rows = [cost_of_group(*key, members, saved, told) for key, members in groups.items()]
    peak = None if any(map(is_freed, nodes)) else peak_of(nodes, saved)
    facts = [*(peak.facts() if peak else [freed_text(nodes)]), lines_missing(nodes)]
    if operators and not any(row.forward_ns is not None or row.backward_ns is not None for row in rows):
        facts.append(HOW_TO_HAVE_TIMES)
    forward = count_text(sum(row.flops or 0 for row in rows))
    backward = count_text(sum(row.backward_flops or 0 for row in rows))
    title = f"{len(operators)} operators in {len(rows)} rows: {forward} flops forward, {backward} backward"
    return CostReport(title, sorted(rows, key=weight, reverse=True), facts, peak)


def weight(row: OperatorCost) -> tuple:
    """By what the rows are sorted: time if it is known, bytes moved otherwise."""
    return (row.forward_ns or 0) + (row.backward_ns or 0), (row.nbytes or 0) + (row.backward_nbytes or 0)


def cost_of_group(
    operator: str, line: str, nodes: Sequence[Node], saved: Mapping[Node, Sequence[SavedItem]], told: set[int]
) -> OperatorCost:
    """A row: the nodes of one operator on one line. ``told``: the memory that was counted before."""
    kept = {item.value: item.nbytes for node in nodes for item in saved[node] if item.value not in told}
    told |= kept.keys()
    plans = Counter(node.plan for node in nodes if isinstance(node, OperatorNode))
    forward = total((forward_cost(plan), count) for plan, count in plans.items())
    backward = total((backward_cost(plan), count) for plan, count in plans.items())
    seen = [one for one in map(record_of, nodes) if one is not None]
    took = [one.forward_nanoseconds for one in seen if one.forward_nanoseconds is not None]
    ran = [one.nanoseconds for one in seen if one.order is not None]
    return OperatorCost(
        operator, line, len(nodes), sum(kept.values()),
        None if forward is None else forward.flops, None if forward is None else forward.nbytes,
        None if backward is None else backward.flops, None if backward is None else backward.nbytes,
        sum(took) if took else None, sum(ran) if ran else None,
    )  # fmt: skip


def total(costs: Iterable[tuple[XlaCost | None, int]]) -> XlaCost | None:
    """The sum of those that are known, each so many times; None if none is."""
    known = [(cost, count) for cost, count in costs if cost is not None]
    flops = sum(cost.flops * count for cost, count in known)
    return XlaCost(flops, sum(cost.nbytes * count for cost, count in known)) if known else None


def forward_cost(plan: Plan) -> XlaCost | None:
    """The cost of a call of an operator; None inside function transforms, and where there is no data."""
    if not isinstance(plan.kernels.forward, Kernel):
        return None
    return xla_cost(plan.kernels.forward, tuple(abstract_argument(spec) for spec in plan.specs if spec is not None))


def backward_cost(plan: Plan) -> XlaCost | None:
    """The cost of a node of it if all its gradients arrive; nothing where they pass as they are."""
    if not isinstance(plan.kernels.forward, Kernel) or plan.op.underivable:
        return None
    given = (True,) * plan.slots
    if plan.passes or not any(plan.needed):
        return FREE
    return xla_cost(plan.backward_kernel(plan.needed, given), tuple(plan.backward_arguments(given)))
