"""Reports about operators that made a nan or an inf: their operands, their line, and what is usually the cause."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.execution.array_functions.nonfinite import Summary, summarize, zeros_meet
from tapegrad._src.tape.node import Node, name_of
from tapegrad._src.tape.positions import Position, Stack, at, explain
from tapegrad._src.tensor.tensor import Tensor, describe, value_of

Named = Sequence[tuple[str, Any]]
"""Names and values: arrays, Python numbers, or None."""

SELECTING = ("Where", "MaskedFill", "MaskedScatter", "IndexPut")
"""Nodes that give a gradient of 0 to what was not selected: the beginnings of their names."""

def line_about(name: str, value: Any) -> str | None:
    """Shape, dtype and range of an operand; the number itself of one that is a number."""
    if value is None or isinstance(value, str):
        return None
    if isinstance(value, (bool, int, float, complex)):
        return f"{name}: {value}"
    spec = describe(value)
    return f"{name}: {spec.dtype.name}{list(spec.shape)}, {summarize(value)}"


def kind_of(nan: bool) -> str:
    """The name of what was found, in messages."""
    return "nan" if nan else "inf"


def forward_text(op: OperatorLike, operands: Named, index: int, nan: bool, place: Position | Stack | None) -> str:
    """The message for an operator of the forward pass."""
    sentence = f"Operator '{op.name}' returned {kind_of(nan)} values in its {index}th output (forward pass)."
    facts = [line_about(name, value) for name, value in operands]
    return explain(sentence, [at("it was called", place), *facts, hint(forward_hint(op.spoilt, operands, nan))])


def backward_text(
    node: Node, given: Sequence[Any], saved: Named, index: int, nan: bool, roots: Iterable[Node]
) -> str:
    """The message for a node of the backward pass; its first sentence is PyTorch's."""
    sentence = f"Function '{name_of(node)}' returned {kind_of(nan)} values in its {index}th output."
    arrived = [(f"gradient of output {number}", raw(grad)) for number, grad in enumerate(given)]
    kept = [(f"saved {name}", value) for name, value in saved]
    facts = [line_about(name, value) for name, value in [*arrived, *kept]]
    made = at("it is the backward of the operation", node._origin) or "its forward pass ran without anomaly detection"
    cause = backward_hint(node, [value for _, value in arrived], saved, nan, roots)
    return explain(sentence, [made, *facts, hint(cause)])


def hint(cause: str | None) -> str | None:
    """A cause as a line of a message."""
    return None if cause is None else f"Hint: {cause}"


def raw(item: Any) -> Any:
    """The value of a tensor; anything else as it is."""
    return value_of(item) if isinstance(item, Tensor) else item


def summary_of(value: Any) -> Summary | None:
    """The summary of an operand; None for one that has no elements to speak of."""
    return None if value is None or isinstance(value, str) else summarize(value)


# Causes in the forward pass -----------------------------------------------------------------------------------------


def forward_hint(spoilt: str, operands: Named, nan: bool) -> str | None:
    """The usual cause of a nan or inf that an operator makes of these operands, by what it declares of itself."""
    seen = [(label, summary_of(value)) for label, value in operands]
    found = [(label, summary) for label, summary in seen if summary is not None]
    before = [label for label, summary in found if summary.nan]
    if nan and before:
        return (
            f"{before[0]} is nan already, and no operator that was checked made it so: it is in the data, or was "
            "computed before the checks were on"
        )
    rule = CAUSES.get(spoilt)
    values = [value for _, value in operands]
    return None if rule is None or not found else rule(values, [summary for _, summary in found], nan)


def _of_quotient(values: Sequence, found: Sequence[Summary], nan: bool) -> str | None:
    if len(values) > 1 and nan and zeros_meet(values[0], values[1]):
        return "0 / 0 is nan: keep the divisor away from 0, e.g. by adding a small number to it"
    if nan and all(summary.inf for summary in found):
        return "inf / inf is nan: an operand has overflowed before"
    return "division by 0: keep the divisor away from 0" if found[-1].zero else None


def _of_logarithm(values: Sequence, found: Sequence[Summary], nan: bool) -> str | None:
    least = found[0].least
    if nan and least is not None and least < 0:
        return "the logarithm of a negative number is nan: clamp the argument"
    return "the logarithm of 0 is -inf: clamp the argument, or add a small number to it" if found[0].zero else None


def _of_root(values: Sequence, found: Sequence[Summary], nan: bool) -> str | None:
    least = found[0].least
    if nan and least is not None and least < 0:
        return "the square root of a negative number is nan: clamp the argument"
    return "1 / sqrt(0) is inf: keep the argument away from 0" if found[0].zero else None


def _of_power(values: Sequence, found: Sequence[Summary], nan: bool) -> str | None:
    least = found[0].least
    if nan and least is not None and least < 0:
        return "a negative number to a power that is no integer is nan: use .abs(), or clamp"
    return "0 to a negative power is inf: keep the base away from 0" if found[0].zero else _overflow(values, found, nan)


def _of_difference(values: Sequence, found: Sequence[Summary], nan: bool) -> str | None:
    return "inf - inf is nan: an operand has overflowed before" if nan and any(s.inf for s in found) else None


def _of_product(values: Sequence, found: Sequence[Summary], nan: bool) -> str | None:
    if nan and any(s.inf for s in found):
        return "0 * inf is nan: an operand has overflowed before (a mask by product keeps inf: use torch.where)"
    return _overflow(values, found, nan)


def _of_inverse_sine(values: Sequence, found: Sequence[Summary], nan: bool) -> str | None:
    return "it is defined between -1 and 1 only: clamp the argument" if nan else "it is infinite at -1 and 1"


def _of_softmax(values: Sequence, found: Sequence[Summary], nan: bool) -> str | None:
    return "a row that is -inf throughout (all of it masked) has no softmax" if nan and found[0].inf else None


def _of_mean(values: Sequence, found: Sequence[Summary], nan: bool) -> str | None:
    if nan and found[0].least is None and not found[0].inf:
        return "the mean of no elements is 0 / 0"
    return "inf - inf is nan: an operand has overflowed before" if nan and found[0].inf else None


def _of_spread(values: Sequence, found: Sequence[Summary], nan: bool) -> str | None:
    if nan and not found[0].inf:
        return "with correction=1 it needs two elements or more; pass correction=0 (unbiased=False) for one"
    return None


def _overflow(values: Sequence, found: Sequence[Summary], nan: bool) -> str | None:
    return None if nan else "the result is too large for its dtype"


CAUSES: dict[str, Callable[[Sequence, Sequence[Summary], bool], str | None]] = {
    "quotient": _of_quotient, "logarithm": _of_logarithm, "root": _of_root, "power": _of_power,
    "difference": _of_difference, "product": _of_product, "inverse_sine": _of_inverse_sine, "softmax": _of_softmax,
    "mean": _of_mean, "spread": _of_spread, "overflow": _overflow,
}  # fmt: skip
"""Explanations of nans and infs of finite operands, by what an operator declares as ``spoilt``."""


# Causes in the backward pass ----------------------------------------------------------------------------------------


def backward_hint(node: Node, given: Sequence[Any], saved: Named, nan: bool, roots: Iterable[Node]) -> str | None:
    """The usual cause of a nan or inf that a node makes of these gradients."""
    found = [summarize(grad) for grad in given if grad is not None]
    if any(summary.nan for summary in found):
        return "the gradient that came in is nan already: it is the one that backward was given, or a hook made it so"
    kept = [summary for summary in (summary_of(value) for _, value in saved) if summary is not None]
    if nan and any(summary.nan for summary in kept):
        return "what it saved is nan: the forward pass made it; detect_anomaly(forward=True) stops there"
    edge = edge_of(node, saved)
    if edge is None and any(summary.inf for summary in kept):
        edge = "what it saved is infinite: the forward pass has overflowed"
    selecting = selecting_before(node, roots) if edge and any(summary.zero for summary in found) else None
    if selecting is not None:
        return (
            f"{edge}; {name_of(selecting)} gives what it did not select a gradient of 0, and 0 * inf is nan. To guard "
            "by where, replace the bad elements before this operation, not after it: "
            f"f(torch.where(good, x, 1)) instead of torch.where(good, f(x), 0){made_by(selecting)}"
        )
    if edge and any(summary.zero for summary in found):
        return f"{edge}; here its gradient is 0, and 0 * inf is nan"
    if nan and any(summary.inf for summary in found):
        return (
            "the gradient that came in is infinite, and inf * 0 and inf - inf are nan; "
            "detect_anomaly(check_inf=True) stops where it became so"
        )
    return edge


def edge_of(node: Node, saved: Named) -> str | None:
    """The advice on an operator whose derivative is infinite where it was evaluated."""
    plan = getattr(node, "plan", None)
    rule = None if plan is None else plan.op.edge
    if rule is None:
        return None
    name, bad, advice = rule
    summary = next((summary_of(value) for label, value in saved if label == name), None)
    if summary is None:
        return None
    if bad is None:
        return advice if summary.inf else None
    ends = (summary.least, summary.greatest)
    return advice if (summary.zero if bad == 0 else bad in ends or -bad in ends) else None


def selecting_before(node: Node, roots: Iterable[Node]) -> Node | None:
    """A selecting node that the backward pass has come through on its way to ``node``: the one nearest to the roots."""
    for selecting in filter(_selects, reachable(roots)):
        if selecting is not node and any(found is node for found in reachable([selecting])):
            return selecting
    return None


def _selects(node: Node) -> bool:
    return name_of(node).startswith(SELECTING)


def reachable(starts: Iterable[Node]) -> Iterable[Node]:
    """The nodes that can be reached from some others, these included, each once; nearer ones first."""
    seen = list(starts)
    known = set(seen)
    for node in seen:  # the list grows while it is read
        yield node
        for edge in node.next_edges:
            if edge is not None and edge[0] not in known:
                known.add(edge[0])
                seen.append(edge[0])


def made_by(node: Node) -> str:
    """The place where a node was made, in parentheses, if that is known."""
    place = at("made", node._origin)
    return f" ({place})" if place else ""
