"""Adamax: Adam with the greatest gradient in place of the mean square."""

from __future__ import annotations

from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.optim.functional_forms import functional_form
from tapegrad.optim.optimizer import Params, PerParameter, add_quotient, check_moments, chosen, counted, scalar


class Adamax(PerParameter):
    """``p -= lr / (1 - beta1 ** t) * m / u``, where ``u = max(beta2 * u, |g| + eps)``. See ``Adam``.

    Args:
        params: tensors, or groups of them.
        lr, betas, eps, weight_decay, foreach, maximize, differentiable, capturable: as in ``Adam``.

    Raises:
        ValueError: an option is out of range.

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.Adamax([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.9000])
    """

    states = "exp_avg", "exp_inf"

    def __init__(
        self, params: Params, lr: float | Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, foreach: bool | None = None, *, maximize: bool = False, differentiable: bool = False,
        capturable: bool = False,
    ) -> None:  # fmt: skip
        check_moments(lr, betas, eps, weight_decay)
        defaults = chosen(locals(), "lr betas eps weight_decay foreach maximize differentiable capturable")
        super().__init__(params, defaults)

    def update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        step, (beta1, beta2) = counted(state, group), group["betas"]
        mean, greatest = state["exp_avg"], state["exp_inf"]
        mean.lerp_(grad, 1 - beta1)
        greatest.copy_((greatest * beta2).maximum(grad.abs() + group["eps"]))
        add_quotient(p, mean, greatest, -(scalar(group["lr"]) / (1 - beta1**step)))


adamax = functional_form(
    Adamax, "params grads exp_avgs exp_infs state_steps",
    "foreach maximize differentiable capturable has_complex",
    "eps beta1 beta2 lr weight_decay", {"betas": ("beta1", "beta2")},
)  # fmt: skip
