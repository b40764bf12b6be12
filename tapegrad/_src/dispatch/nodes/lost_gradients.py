"""Results that lost their gradient, and why: for errors about tensors without a graph.

Note [Lost gradients]
While source lines are recorded (Note [Positions] in ``tape/positions.py``), a result that requires no grad though an
argument did remembers why and where (``_lost_grad``), and hands that on to what is computed from it; so an error about
a tensor without a graph can name the operator that cut it off. A node that has such an argument beside others remembers
it, too (``_cut``), which tells why the gradient of a leaf is missing. Runners of other modes know nothing of this.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tapegrad._src.dispatch.plan import Plan
from tapegrad._src.tape.modes import thread
from tapegrad._src.tape.positions import Position, here
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import Tensor

Loss = tuple[tuple[str, Position | None], ...]
"""A loss: what happened, and at which place."""


def note_losses(plan: Plan, args: tuple, results: tuple[Tensor, ...]) -> None:
    """Let results that require no grad remember why, and nodes what of their arguments had lost it."""
    before = inherited(args)
    loss = before or loss_in(plan)
    if loss is not None:
        for result in results:
            if not result._spec.requires_grad:
                result._lost_grad = loss
            elif before is not None and result._edge is not None:
                result._edge[0]._cut = before


def inherited(args: Iterable[Any]) -> Loss | None:
    """Why the first argument that lost its gradient did."""
    for arg in args:
        loss = getattr(arg, "_lost_grad", None)
        if loss is not None and not arg._spec.requires_grad:
            return loss
    return None


def loss_in(plan: Plan) -> Loss | None:
    """Why the results of a call require no grad though an argument does, or None if none does."""
    if not any(isinstance(spec, Spec) and spec.requires_grad for spec in plan.specs):
        return None
    if plan.modes.inference:
        why = "which ran in inference mode"
    elif not plan.modes.grad:
        why = "which ran while grad mode was off"
    elif plan.out_specs[0].dtype.category < 2:
        why = f"whose result is {plan.out_specs[0].dtype}"
    else:
        why = "which has no derivative"
    lost = f"its gradient was lost in {plan.op.name}, {why},", here()
    return (lost,) if plan.modes.grad_enabled else (lost, ("grad mode was switched off", thread.grad_off))
