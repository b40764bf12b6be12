"""RMSprop: steps over the root of the mean square of gradients."""

from __future__ import annotations

from typing import Any

from tapegrad._src.functions.creation import zeros_like
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.optim.functional_forms import functional_form
from tapegrad.optim.optimizer import (
    Params,
    PerParameter,
    add_quotient,
    add_scaled,
    check_lr,
    check_nonnegative,
    chosen,
    scalar,
)


class RMSprop(PerParameter):
    """``p -= lr * g / (sqrt(v) + eps)``, where ``v`` is the running mean of ``g ** 2``; centered, of its variance.

    Args:
        params: tensors, or groups of them.
        lr: the learning rate.
        alpha: how much of ``v`` stays at each step.
        eps: see above.
        weight_decay: what is added to ``g``, times ``p``.
        momentum: how much of the last step is made again.
        centered: whether the square of the mean gradient is taken from ``v``.
        capturable, foreach, maximize, differentiable: as in ``Adam``.

    Raises:
        ValueError: an option is negative.

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.RMSprop([w], lr=0.01)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.9000])
    """

    def __init__(
        self, params: Params, lr: float | Tensor = 1e-2, alpha: float = 0.99, eps: float = 1e-8,
        weight_decay: float = 0, momentum: float = 0, centered: bool = False, capturable: bool = False,
        foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        check_lr(lr)
        check_nonnegative(eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        names = "lr momentum alpha eps centered weight_decay capturable foreach maximize differentiable"
        defaults = chosen(locals(), names)
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("momentum", 0)
            group.setdefault("centered", False)

    def begin(self, p: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
        """Nothing was seen so far."""
        super().begin(p, group, state)
        names = ["square_avg"] + ["momentum_buffer"] * (group["momentum"] > 0) + ["grad_avg"] * group["centered"]
        state.update({name: zeros_like(p) for name in names})

    def update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["step"] += 1
        square, alpha, rate = state["square_avg"], group["alpha"], -scalar(group["lr"])
        square.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"]
            mean.lerp_(grad, 1 - alpha)
            square = square.addcmul(mean, mean, value=-1)
        root = square.sqrt() + group["eps"]
        if group["momentum"] > 0:
            buffer = state["momentum_buffer"]
            buffer.mul_(group["momentum"]).addcdiv_(grad, root)
            add_scaled(p, buffer, rate)
        else:
            add_quotient(p, grad, root, rate)


rmsprop = functional_form(
    RMSprop, "params grads square_avgs grad_avgs momentum_buffer_list state_steps",
    "foreach maximize differentiable capturable has_complex",
    "lr alpha eps weight_decay momentum centered",
)  # fmt: skip
