"""Rprop: step sizes that grow while a gradient keeps its sign, and shrink when it turns."""

from __future__ import annotations

from typing import Any

from tapegrad._src.functions.creation import full_like, ones_like, zeros_like
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.optim.functional_forms import functional_form
from tapegrad.optim.optimizer import Params, PerParameter, check_lr, chosen


class Rprop(PerParameter):
    """Each element moves against the sign of its gradient, by a size of its own.

    Args:
        params: tensors, or groups of them.
        lr: the first size.
        etas: by what a size is multiplied when the sign turns, and when it stays.
        step_sizes: the least and the greatest size.
        capturable, foreach, maximize, differentiable: as in ``Adam``.

    Raises:
        ValueError: an option is out of range.

    >>> w = torch.tensor([1.0, -3.0], requires_grad=True)
    >>> optimizer = torch.optim.Rprop([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([ 0.9000, -2.9000])
    """

    def __init__(
        self, params: Params, lr: float | Tensor = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50), *, capturable: bool = False, foreach: bool | None = None,
        maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = chosen(locals(), "lr etas step_sizes foreach maximize differentiable capturable")
        super().__init__(params, defaults)

    def begin(self, p: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
        """No gradient was seen so far."""
        super().begin(p, group, state)
        rate = float(group["lr"])
        state["prev"] = zeros_like(p)
        state["step_size"] = full_like(p, complex(rate, rate) if p.is_complex() else rate)

    def update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["step"] += 1
        before, size, (shrink, grow) = state["prev"], state["step_size"], group["etas"]
        agrees = grad * before.clone()
        factor = ones_like(size).masked_fill(agrees > 0, grow).masked_fill(agrees < 0, shrink)
        size.mul_(factor).clamp_(*group["step_sizes"])
        grad = grad.masked_fill(agrees < 0, 0)
        p.addcmul_(grad.sign(), size, value=-1)
        before.copy_(grad)


rprop = functional_form(
    Rprop, "params grads prevs step_sizes state_steps",
    "foreach capturable maximize differentiable has_complex", "step_size_min step_size_max etaminus etaplus",
    {"etas": ("etaminus", "etaplus"), "step_sizes": ("step_size_min", "step_size_max")},
)  # fmt: skip
