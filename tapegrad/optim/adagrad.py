"""Adagrad: steps over the root of the sum of squared gradients."""

from __future__ import annotations

from typing import Any

from tapegrad._src.declaring import on_demand
from tapegrad._src.functions.creation import full_like
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.optim.functional_forms import functional_form
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

__getattr__, _ = on_demand(__name__, {"tapegrad.sparse.attributes": "with_values"})


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

    takes_sparse = True

    def _update_one(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        if group["weight_decay"] != 0 and grad.is_sparse:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        super()._update_one(p, grad, state, group)

    def _update_rows(self, p: Tensor, grad: Tensor, total: Tensor, rate: Any, eps: float) -> None:
        """The update by a sparse gradient: of the rows that it has."""
        grad = grad.coalesce()
        total.add_(grad**2)
        roots = total.sparse_mask(grad).values().sqrt() + eps
        p.add_(__getattr__("with_values")(grad, grad.values() / roots), alpha=-rate)

    def update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        step, total = counted(state, group), state["sum"]
        rate = scalar(group["lr"]) / (1 + (step - 1) * group["lr_decay"])
        if grad.is_sparse:
            self._update_rows(p, grad, total, rate, group["eps"])
            return
        total.addcmul_(grad, grad)
        add_quotient(p, grad, total.sqrt() + group["eps"], -rate)


adagrad = functional_form(
    Adagrad, "params grads state_sums state_steps",
    "fused grad_scale found_inf has_sparse_grad foreach differentiable has_complex",
    "lr weight_decay lr_decay eps maximize",
)  # fmt: skip
