"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from typing import Any

from tapegrad._src.execution.array_functions.updates import descent, momentum_descent
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.optim.functional_forms import functional_form
from tapegrad.optim.fused_parameters import Update
from tapegrad.optim.optimizer import Params, PerParameter, add_scaled, check_lr, check_ways, chosen, scalar


class SGD(PerParameter):
    """``p -= lr * g``; with momentum ``p -= lr * b`` where ``b = momentum * b + (1 - dampening) * g``.

    Args:
        params: tensors, or groups of them.
        lr: the learning rate.
        momentum, dampening: see above; the first ``b`` is ``g`` itself.
        weight_decay: what is added to ``g``, times ``p``.
        nesterov: whether ``g + momentum * b`` is the direction; only with momentum, and without dampening.
        maximize: whether to go up, not down.
        foreach, fused: ways in which PyTorch computes it; the numbers are the same.
        differentiable: whether gradients flow through a step.

    Raises:
        ValueError: a negative option; ``nesterov`` without momentum or with dampening.

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.SGD([w], lr=0.1)
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.8000])
    """

    counts = begins = False
    takes_sparse = True

    def __init__(
        self, params: Params, lr: float | Tensor = 1e-3, momentum: float = 0, dampening: float = 0,
        weight_decay: float | Tensor = 0, nesterov: bool = False, *, maximize: bool = False,
        foreach: bool | None = None, differentiable: bool = False, fused: bool | None = None,
    ) -> None:  # fmt: skip
        check_lr(lr)
        if momentum < 0.0:
            raise ValueError(f"Invalid momentum value: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        defaults = chosen(locals(), "lr momentum dampening weight_decay nesterov maximize foreach differentiable fused")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, defaults)
        check_ways(defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("nesterov", False)

    def fused(self, states: tuple[str, ...], numbers: dict[str, float], group: dict[str, Any]) -> Update | None:
        """See ``PerParameter``."""
        lr, momentum, decay = group["lr"], group["momentum"], group["weight_decay"]
        if isinstance(lr, Tensor) or isinstance(decay, Tensor) or states != (("momentum_buffer",) if momentum else ()):
            return None
        options, amounts = (bool(group["maximize"]), decay != 0), (float(decay), -float(lr))
        if not momentum:
            return Update(descent, options, amounts, (1,))
        amounts_of_momentum = float(momentum), float(1 - group["dampening"])
        return Update(momentum_descent, (*options, bool(group["nesterov"])), (*amounts, *amounts_of_momentum), (1, 2))

    def update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        momentum = group["momentum"]
        if momentum != 0:
            buffer = state.get("momentum_buffer")
            if buffer is None:
                state["momentum_buffer"] = buffer = grad.detach().clone()
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
        add_scaled(p, grad, -scalar(group["lr"]))


sgd = functional_form(
    SGD, "params d_p_list momentum_buffer_list", "has_sparse_grad foreach fused grad_scale found_inf",
    "weight_decay momentum lr dampening nesterov maximize",
)  # fmt: skip
