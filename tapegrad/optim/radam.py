"""RAdam: Adam that waits until the variance of its steps is known well enough."""

from __future__ import annotations

from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.optim.functional_forms import functional_form
from tapegrad.optim.optimizer import Params, PerParameter, check_moments, chosen, counted, scalar


class RAdam(PerParameter):
    """``Adam`` with rectified steps: while fewer than five effective gradients were seen, plain momentum.

    With ``r = 2 / (1 - beta2) - 1`` and ``r_t = r - 2 t beta2 ** t / (1 - beta2 ** t)`` steps are scaled by the root of
    ``(r_t - 4) (r_t - 2) r / ((r - 4) (r - 2) r_t)``. See Liu et al., *On the Variance of the Adaptive Learning Rate*.

    Args:
        params: tensors, or groups of them.
        lr, betas, eps, weight_decay, decoupled_weight_decay, foreach, maximize, capturable, differentiable: as in
            ``Adam``.

    Raises:
        ValueError: an option is out of range.

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.RAdam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.8000])
    """

    states = "exp_avg", "exp_avg_sq"

    def __init__(
        self, params: Params, lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, decoupled_weight_decay: bool = False, *, foreach: bool | None = None,
        maximize: bool = False, capturable: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        check_moments(lr, betas, eps, weight_decay)
        names = "lr betas eps weight_decay maximize foreach capturable decoupled_weight_decay differentiable"
        defaults = chosen(locals(), names)
        super().__init__(params, defaults)

    def update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        step, lr, (beta1, beta2) = counted(state, group), scalar(group["lr"]), group["betas"]
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        if self.is_decoupled(group) and group["weight_decay"] != 0:
            p.mul_(1 - lr * group["weight_decay"])
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        correction = 1 - beta2**step
        most = 2 / (1 - beta2) - 1
        so_far = most - 2 * step * beta2**step / correction
        direction = mean / (1 - beta1**step) * lr
        if isinstance(so_far, Tensor):
            known = so_far > 5.0
            scale = _rectified(so_far.clamp(min=5.0), most) * correction**0.5 / (square.sqrt() + group["eps"])
            direction = direction * scale.where(known, 1.0)
        elif so_far > 5.0:
            direction = direction * (correction**0.5 / (square.sqrt() + group["eps"])) * _rectified(so_far, most)
        p.sub_(direction)


def _rectified(so_far: Any, most: float) -> Any:
    """By what steps are scaled when this many effective gradients were seen, of at most so many."""
    return ((so_far - 4) * (so_far - 2) * most / ((most - 4) * (most - 2) * so_far)) ** 0.5


radam = functional_form(
    RAdam, "params grads exp_avgs exp_avg_sqs state_steps",
    "decoupled_weight_decay foreach differentiable capturable has_complex maximize",
    "beta1 beta2 lr weight_decay eps", {"betas": ("beta1", "beta2")},
)  # fmt: skip
