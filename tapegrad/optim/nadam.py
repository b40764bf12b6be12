"""NAdam: Adam with Nesterov's momentum."""

from __future__ import annotations

from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.optim.functional_forms import functional_form
from tapegrad.optim.optimizer import (
    Params,
    PerParameter,
    add_quotient,
    check_moments,
    check_nonnegative,
    chosen,
    counted,
    scalar,
    value_of,
)


class NAdam(PerParameter):
    """``Adam`` that looks ahead: the direction mixes the gradient with the mean as it will be at the next step.

    The momentum of step ``t`` is ``beta1 * (1 - 0.96 ** (t * momentum_decay) / 2)``. See Dozat, *Incorporating Nesterov
    Momentum into Adam*.

    Args:
        params: tensors, or groups of them.
        lr, betas, eps, weight_decay, decoupled_weight_decay, foreach, maximize, capturable, differentiable: as in
            ``Adam``.
        momentum_decay: see above.

    Raises:
        ValueError: an option is out of range.

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.NAdam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.8944])
    """

    states = "exp_avg", "exp_avg_sq"

    def __init__(
        self, params: Params, lr: float | Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, momentum_decay: float = 4e-3, decoupled_weight_decay: bool = False, *,
        foreach: bool | None = None, maximize: bool = False, capturable: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        check_moments(lr, betas, eps, weight_decay)
        check_nonnegative(momentum_decay=momentum_decay)
        names = "lr betas eps weight_decay momentum_decay decoupled_weight_decay maximize foreach"
        defaults = chosen(locals(), f"{names} capturable differentiable")
        super().__init__(params, defaults)

    def begin(self, p: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
        """Nothing was seen so far; the product of no momenta is one."""
        super().begin(p, group, state)
        moments = state.pop("exp_avg"), state.pop("exp_avg_sq")  # PyTorch has them last
        state["mu_product"] = self.number(p, group, 1.0)
        state["exp_avg"], state["exp_avg_sq"] = moments

    def update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        step, lr, (beta1, beta2) = counted(state, group), scalar(group["lr"]), group["betas"]
        mean, square, product = state["exp_avg"], state["exp_avg_sq"], state["mu_product"]
        if self.is_decoupled(group) and group["weight_decay"] != 0:
            p.mul_(1 - lr * group["weight_decay"])
        now, later = (beta1 * (1 - 0.5 * 0.96 ** (t * group["momentum_decay"])) for t in (step, step + 1))
        product *= now
        so_far = value_of(product, group)
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        root = square.div(1 - beta2**step).sqrt() + group["eps"]
        add_quotient(p, grad, root, -lr * (1 - now) / (1 - so_far))
        add_quotient(p, mean, root, -lr * later / (1 - so_far * later))


nadam = functional_form(
    NAdam, "params grads exp_avgs exp_avg_sqs mu_products state_steps",
    "decoupled_weight_decay foreach capturable differentiable has_complex maximize",
    "beta1 beta2 lr weight_decay momentum_decay eps", {"betas": ("beta1", "beta2")},
)  # fmt: skip
