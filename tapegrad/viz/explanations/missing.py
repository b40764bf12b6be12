"""``why_none`` and ``why_no_grad``: why a gradient isn't there, and why a tensor has no graph."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tapegrad._src.execution.data.dtypes import FLOATING
from tapegrad._src.tape.modes import thread
from tapegrad._src.tape.node import Node
from tapegrad._src.tape.positions import at
from tapegrad._src.tensor.paths import path_of
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.nn.parameter import Parameter
from tapegrad.viz.describing import freed_by, is_freed, is_leaf, name_of_leaf, plain_name, saved_by, short
from tapegrad.viz.explanations.keeping import is_on, shortened
from tapegrad.viz.explanations.report import Report
from tapegrad.viz.explanations.subjects import (
    HOW_TO_HAVE_LINES,
    described,
    freed_text,
    nodes_of,
    operator_of,
    position_of,
    raised,
    tensor_given,
)
from tapegrad.viz.explanations.walking import gradient_text, walk
from tapegrad.viz.recording import record_of

MOST_CUTS = 4
"""So many places are told at which gradients were lost."""

WHAT_CUTS = (
    "detach(), .data, item(), tolist(), numpy(), torch.tensor(x), integers (argmax, long(), comparisons) and no_grad() "
    "leave the graph"
)


class Answer(Report):
    """Why something is as it is.

    Attributes:
        reason: in a sentence; ``facts`` say more.
    """

    def __init__(self, subject: str, reason: str, facts: Iterable[str | None] = ()) -> None:
        super().__init__(f"{subject}: {reason}", (), facts)
        self.reason = reason


# Why a tensor does not require grad ---------------------------------------------------------------------------------


def why_no_grad(tensor: Any) -> Answer:
    """Why a tensor does not require grad, with the line on which its gradient was lost, if lines were recorded.

    Raises:
        TypeError: no tensor.

    >>> w = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.set_record_source_lines(True), torch.no_grad():
    ...     y = w * 2
    >>> print(torch.viz.why_no_grad(y))
    tensor without a graph, f32[2]: its gradient was lost in mul, which ran while grad mode was off
    at <doctest ...>:2 in <module>: y = w * 2
    grad mode was switched off at <doctest ...>:1 in <module>: with ...
    """
    tensor = tensor_given(tensor, "why_no_grad")
    return Answer(described(tensor), *reason_without_grad(tensor))


def reason_without_grad(tensor: Tensor) -> tuple[str, list[str | None]]:
    """The reason, and the facts."""
    if tensor.requires_grad:
        return "it requires grad", [made_at(tensor)]
    losses = tensor._lost_grad or ()
    if losses:
        (what, place), *others = losses
        return what.rstrip(","), [None if place is None else f"at {place}", *(at(*one) for one in others)]
    if tensor.dtype.category < FLOATING:
        hint = (
            "what is to be learnt from has to be smooth: cross_entropy(logits, labels), say, not argmax or a comparison"
        )
        return f"its dtype is {tensor.dtype}: only floating-point and complex tensors have gradients", [hint]
    if tensor.is_inference():
        return "it was made in inference mode", ["clone() it outside, to compute with it there"]
    if path_of(tensor) is not None or isinstance(tensor, Parameter):
        return "it is frozen: its requires_grad was set to False", ["requires_grad_() switches it on again"]
    twin = twin_with_grad(tensor)
    if twin is not None:
        what = "it shows the memory of another tensor, which requires grad, without its history"
        return what, [f"that is: {described(twin)}", "it was made by detach(), .data, or under no_grad()"]
    unknown = None if thread.modes.recording else HOW_TO_HAVE_LINES
    what = "nothing that it was computed from requires grad, or grad mode was off; of a leaf nobody asked for it"
    return what, [WHAT_CUTS, "requires_grad_() makes it a leaf that does", unknown]


def made_at(tensor: Tensor) -> str | None:
    """The maker of a tensor, and the place."""
    node = tensor.grad_fn
    if node is None:
        return "it is a leaf"
    position = position_of(node)
    return f"made by {operator_of(node)}" + (f" at {position}" if position else "")


def twin_with_grad(tensor: Tensor) -> Tensor | None:
    """Another tensor on the same memory that requires grad."""
    others = (one for one in gc.get_objects() if isinstance(one, Tensor) and one is not tensor)
    return next((one for one in others if one._spec.requires_grad and is_on(tensor, one)), None)


# Why a gradient isn't there -----------------------------------------------------------------------------------------


def why_none(tensor: Any, loss: Any = None) -> Answer:
    """Why ``tensor.grad`` is None.

    Args:
        tensor: a parameter, or another tensor of which a gradient was expected.
        loss: the tensor whose ``backward()`` should have given it; with it, more can be said.

    Raises:
        TypeError: no tensor.
        ValueError: ``loss`` has no graph.

    >>> v, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    >>> loss = (v * w.detach()).sum()
    >>> print(torch.viz.why_none(w, loss))
    leaf that requires grad, f32[2]: the loss does not depend on it by a way that gradients take
    MulBackward0 uses its numbers without its history: detach(), .data, or no_grad() is on the way
    leaves that the loss depends on: leaf f32[2]
    """
    tensor = tensor_given(tensor, "why_none")
    subject = described(tensor)
    if tensor._grad is not None:
        return Answer(subject, "it has a gradient", [f".grad is {gradient_text(tensor._grad)}"])
    if not tensor.requires_grad:
        reason, facts = reason_without_grad(tensor)
        return Answer(subject, f"it does not require grad: {reason}", facts)
    if not tensor.is_leaf and not tensor.retains_grad:
        hints = [
            "retain_grad(), before backward(), keeps it; or differentiate with respect to the leaf before it",
            "if it was meant to be the leaf: requires_grad_() comes last, after to(), double() and arithmetic",
        ]
        return Answer(subject, "it is no leaf, and only leaves have their gradients kept", [made_at(tensor), *hints])
    if loss is None:
        return Answer(subject, *reason_without_loss(tensor))
    _, nodes = nodes_of(loss, "why_none")
    end = next((node for node in nodes if takes_gradient_of(node, tensor)), None)
    return Answer(subject, *(reason_apart(tensor, nodes) if end is None else reason_on_the_way(end, nodes, loss)))


def takes_gradient_of(node: Node, tensor: Tensor) -> bool:
    """Tell whether the gradient of a tensor arrives at this node."""
    if tensor.is_leaf:
        return is_leaf(node) and node.variable is tensor  # type: ignore[attr-defined]
    return node is tensor.grad_fn


def reason_without_loss(tensor: Tensor) -> tuple[str, list[str | None]]:
    """The reason that can be given of a tensor alone: whether a graph leads to it."""
    more = "why_none(tensor, loss) tells more"
    nodes = (one for one in gc.get_objects() if isinstance(one, Node))
    if any(takes_gradient_of(node, tensor) for node in nodes):
        what = "a graph leads to it, but no gradient has come, or it was set to None since"
        return what, ["backward() was not called, or before zero_grad(), or with inputs= that leave it out", more]
    what = "no graph that is alive leads to it: it was not used while grad mode was on, or only without its history"
    return what, [WHAT_CUTS, more]


def reason_apart(tensor: Tensor, nodes: Sequence[Node]) -> tuple[str, list[str | None]]:
    """The loss does not depend on the tensor."""
    leaves = [f"{name_of_leaf(one.variable, {})} {short(one.variable)}" for one in nodes if is_leaf(one)]  # type: ignore[attr-defined]
    facts: list[str | None] = [*uses_of_numbers(tensor, nodes), *cuts_among(nodes)] or [
        WHAT_CUTS, freed_text(nodes), None if thread.modes.recording else HOW_TO_HAVE_LINES
    ]  # fmt: skip
    facts += [f"leaves that the loss depends on: {shortened(leaves, 6) or 'none'}"]
    return "the loss does not depend on it by a way that gradients take", facts


def cuts_among(nodes: Iterable[Node]) -> list[str]:
    """The places where the arguments of nodes had lost their gradients, if that was recorded."""
    return list(dict.fromkeys(fact for node in nodes for fact in cut_at(node)))[:MOST_CUTS]


def cut_at(node: Node) -> Iterator[str]:
    """The argument of a node that had lost its gradient, and the place."""
    if node._cut is not None:
        told = "; ".join(at(what, place) or what for what, place in node._cut).replace("its gradient", "a gradient")
        yield f"{plain_name(node)} uses what has no history: {told}"


def uses_of_numbers(tensor: Tensor, nodes: Iterable[Node]) -> Iterator[str]:
    """The nodes that keep a tensor on the same memory, which has no history."""
    for node in nodes:
        if any(one.tensor is not None and is_on(tensor, one.tensor) for one in saved_by(node)):
            position = position_of(node)
            what = "uses its numbers without its history: detach(), .data, or no_grad() is on the way"
            yield f"{plain_name(node)} {what}" + (f", at {position}" if position else "")


def reason_on_the_way(end: Node, nodes: Sequence[Node], loss: Any) -> tuple[str, list[str | None]]:
    """The loss depends on the tensor, so a gradient should have come."""
    freed = next(filter(is_freed, nodes), None)
    seen = record_of(end)
    if seen is not None and seen.order is None and any(one and one.order for one in map(record_of, nodes)):
        return "the backward call that was recorded left it out", ["inputs= of backward(), or grad(), named others"]
    if freed is not None:
        place = freed_by(freed)
        what = "a backward call ran through the graph, and the gradient was set to None since, or not kept"
        after = (
            "zero_grad() and .grad = None do that; torch.autograd.grad() touches no .grad, and backward(inputs=...) "
            "none of others; and a node on the way may have given none: why_none(tensor, loss) before backward() would "
            "see it"
        )
        return what, [f"it was called at {place}" if place else None, after]
    try:
        stopped = stopping_node(loss, end)
    except Exception as error:  # a hook's, a custom function's, or the engine's
        return "the loss depends on it, but its backward pass could not be looked at", [f"that raises {raised(error)}"]
    if stopped is not None:
        position = position_of(stopped)
        return f"{plain_name(stopped)} gives no gradient for it", [f"made at {position}" if position else None]
    return "the loss depends on it, but backward() was not called", [
        "or it was called with retain_graph=True, and the gradient set to None since"
    ]


def stopping_node(loss: Any, end: Node) -> Node | None:
    """The node on the way to ``end`` that gets a gradient, and gives none; None if one arrives, or nobody knows."""
    if not isinstance(loss, Tensor) or loss.numel() != 1 or not loss.dtype.is_floating_point:
        return None
    stopped = None
    for visit in walk(loss):
        if visit.node is end and any(grad is not None for grad in visit.incoming):
            return None
        given = any(grad is not None for grad in visit.incoming)
        missing = any(grad is None and edge is not None for grad, edge in visit.ways)
        stopped = visit.node if given and missing and stopped is None else stopped
    return stopped
