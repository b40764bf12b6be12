"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from tapegrad._src.functions.construction import as_tensor
from tapegrad._src.functions.creation import zeros_like
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.optim.functional_forms import functional_form
from tapegrad.optim.optimizer import (
    Params,
    PerParameter,
    add_scaled,
    check_lr,
    check_nonnegative,
    chosen,
    counted,
    scalar,
    value_of,
)


class ASGD(PerParameter):
    """``p -= eta * (g + lambd * p)``, with ``eta = lr / (1 + lambd * lr * t) ** alpha``; ``ax`` is the mean of ``p``.

    The mean is taken from step ``t0`` on. See Polyak and Juditsky, *Acceleration of Stochastic Approximation by
    Averaging*.

    Args:
        params: tensors, or groups of them.
        lr, lambd, alpha, t0: see above.
        weight_decay: what is added to ``g``, times ``p``.
        foreach, maximize, differentiable, capturable: as in ``Adam``.

    Raises:
        ValueError: a negative option.

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.ASGD([w], lr=0.25)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.5000])
    """

    def __init__(
        self, params: Params, lr: float | Tensor = 1e-2, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6,
        weight_decay: float = 0, foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
        capturable: bool = False,
    ) -> None:  # fmt: skip
        check_lr(lr)
        check_nonnegative(weight_decay=weight_decay)
        defaults = chosen(locals(), "lr lambd alpha t0 weight_decay foreach maximize differentiable capturable")
        super().__init__(params, defaults)

    def begin(self, p: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
        """Nothing was averaged so far."""
        numbers = {"step": 0.0, "eta": float(group["lr"]), "mu": 1.0}
        beside = {**group, "capturable": True}  # all of them are where the parameter is
        state.update({name: self.number(p, beside, value) for name, value in numbers.items()})
        state["ax"] = zeros_like(p)

    def update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        step, lr, lambd = counted(state, group), scalar(group["lr"]), group["lambd"]
        rate, weight, mean = value_of(state["eta"], group), value_of(state["mu"], group), state["ax"]
        if group["differentiable"] and not group["capturable"]:  # they depend on no gradient, and are written below
            rate, weight = rate.item(), weight.item()
        p.mul_(1 - lambd * rate)
        add_scaled(p, grad, -rate)
        if isinstance(weight, Tensor) or weight != 1:
            mean.add_((p - mean) * weight)
        else:
            mean.copy_(p)
        averaged = (step - group["t0"]).clamp(min=1) if isinstance(step, Tensor) else max(1, step - group["t0"])
        state["eta"].copy_(as_tensor(lr / (1 + lambd * lr * step) ** group["alpha"]))
        state["mu"].copy_(as_tensor(1 / averaged))


asgd = functional_form(
    ASGD, "params grads axs mus etas state_steps",
    "foreach maximize differentiable capturable has_complex",
    "lambd lr t0 alpha weight_decay",
)  # fmt: skip
