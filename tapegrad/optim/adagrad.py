"""Adagrad: steps over the root of the sum of squared gradients."""

from __future__ import annotations

from typing import Any

from tapegrad.functions.creation import full_like
from tapegrad.optim.optimizer import (
    Params,
    PerParameter,
    add_quotient,
    all_params,
    check_lr,
    check_nonnegative,
    check_ways,
    chosen,
    counted,
    scalar,
)
from tapegrad.tensor.tensor import Tensor


class Adagrad(PerParameter):
    """``p -= lr / (1 + (t - 1) * lr_decay) * g / (sqrt(s) + eps)``, where ``s`` is the sum of all ``g ** 2``.

    See Duchi et al., *Adaptive Subgradient Methods for Online Learning and Stochastic Optimization*.

    Args:
        params: tensors, or groups of them.
        lr, lr_decay: the learning rate, and how it decays.
        weight_decay: what is added to ``g``, times ``p``.
        initial_accumulator_value: ``s`` at first.
        eps: see above.
        foreach, maximize, differentiable, fused: as in ``Adam``.

    Raises:
        ValueError: an option is negative.

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.Adagrad([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.9000])
    """

    def __init__(
        self, params: Params, lr: float | Tensor = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
        initial_accumulator_value: float = 0, eps: float = 1e-10, foreach: bool | None = None, *,
        maximize: bool = False, differentiable: bool = False, fused: bool | None = None,
    ) -> None:  # fmt: skip
        check_lr(lr)
        check_nonnegative(
            lr_decay=lr_decay, weight_decay=weight_decay, initial_accumulator_value=initial_accumulator_value, eps=eps
        )
        names = "lr lr_decay eps weight_decay initial_accumulator_value foreach maximize differentiable fused"
        defaults = chosen(locals(), names)
        super().__init__(params, defaults)
        check_ways(defaults)
        for group, p in all_params(self):
            self.begin(p, group, self.state[p])

    def begin(self, p: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
        """Nothing was seen so far; the sum begins where the options say."""
        super().begin(p, group, state)
        value = self.defaults["initial_accumulator_value"]
        state["sum"] = full_like(p, complex(value, value) if p.is_complex() else value)

    def share_memory(self) -> None:
        """Put the sums where other processes see them."""
        for _, p in all_params(self):
            self.state[p]["sum"].share_memory_()

    def update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        step, total = counted(state, group), state["sum"]
        total.addcmul_(grad, grad)
        rate = scalar(group["lr"]) / (1 + (step - 1) * group["lr_decay"])
        add_quotient(p, grad, total.sqrt() + group["eps"], -rate)
