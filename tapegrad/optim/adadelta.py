"""Adadelta: steps as large as the mean of those before, over the root of the mean square of gradients."""

from __future__ import annotations

from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.optim.functional_forms import functional_form
from tapegrad.optim.optimizer import Params, PerParameter, add_scaled, check_lr, check_nonnegative, chosen, scalar


class Adadelta(PerParameter):
    """``p -= lr * d``, where ``d = g * sqrt(a + eps) / sqrt(v + eps)``.

    ``v`` and ``a`` are running means of ``g ** 2`` and of ``d ** 2``. See Zeiler, *ADADELTA: An Adaptive Learning Rate
    Method*.

    Args:
        params: tensors, or groups of them.
        lr: the learning rate.
        rho: how much of the means stays at each step.
        eps: see above.
        weight_decay: what is added to ``g``, times ``p``.
        foreach, capturable, maximize, differentiable: as in ``Adam``.

    Raises:
        ValueError: an option is out of range.

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.Adadelta([w], lr=1.0, eps=1e-2)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.6877])
    """

    states = "square_avg", "acc_delta"

    def __init__(
        self, params: Params, lr: float | Tensor = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0,
        foreach: bool | None = None, *, capturable: bool = False, maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_nonnegative(eps=eps, weight_decay=weight_decay)
        defaults = chosen(locals(), "lr rho eps weight_decay maximize capturable foreach differentiable")
        super().__init__(params, defaults)

    def update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["step"] += 1
        square, steps, rho, eps = state["square_avg"], state["acc_delta"], group["rho"], group["eps"]
        square.mul_(rho).addcmul_(grad, grad, value=1 - rho)
        delta = (steps + eps).sqrt() / (square + eps).sqrt() * grad
        steps.mul_(rho).addcmul_(delta, delta, value=1 - rho)
        add_scaled(p, delta, -scalar(group["lr"]))


adadelta = functional_form(
    Adadelta, "params grads square_avgs acc_deltas state_steps", "capturable foreach differentiable has_complex",
    "lr rho eps weight_decay maximize",
)  # fmt: skip
