"""SparseAdam, which takes sparse gradients only."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tapegrad._src.declaring import on_demand
from tapegrad._src.functions.creation import zeros_like
from tapegrad._src.tensor.layout import strided
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.optim.fused_parameters import Given
from tapegrad.optim.optimizer import Params, PerParameter, check_betas, check_lr, scalar


class SparseAdam(PerParameter):
    """``Adam`` for sparse gradients: of a parameter and its averages only those rows change that the gradient has.

    Args:
        params: tensors, or groups of them.
        lr, betas, eps, maximize: as in ``Adam``.

    Raises:
        ValueError: an option is out of range; a complex or a sparse parameter.
        RuntimeError: in ``step``, a gradient is dense.

    >>> table = torch.nn.Embedding(3, 1, _weight=torch.ones(3, 1), sparse=True)
    >>> optimizer = torch.optim.SparseAdam(table.parameters(), lr=0.5)
    >>> table(torch.tensor([1])).sum().backward()
    >>> optimizer.step()
    >>> table.weight.detach()
    tensor([[1.0000],
            [0.5000],
            [1.0000]])
    """

    counts = False
    takes_sparse = True

    def __init__(
        self, params: Params, lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:  # fmt: skip
        if isinstance(lr, Tensor):
            check_lr(lr)
        if not lr > 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        sparse_params = [
            [i, j]
            for i, group in enumerate(self.param_groups)
            for j, p in enumerate(group["params"])
            if p.layout is not strided
        ]
        if sparse_params:
            raise ValueError(f"Sparse params at indices {sparse_params}: SparseAdam requires dense parameter tensors")
        complex_params = [
            [i, j]
            for i, group in enumerate(self.param_groups)
            for j, p in enumerate(group["params"])
            if p.is_complex()
        ]
        if complex_params:
            raise ValueError(
                f"Complex params at indices {complex_params}: SparseAdam does not support complex parameters"
            )

    def begin(self, p: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
        """Nothing was seen so far."""
        state.update(step=0, exp_avg=zeros_like(p), exp_avg_sq=zeros_like(p))

    def _given(self, group: dict[str, Any], gradient: Callable[[Tensor], Any]) -> tuple[Given, list[int]]:
        if any(grad is not None and not grad.is_sparse for grad in map(gradient, group["params"])):
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        return super()._given(group, gradient)

    def update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["step"] += 1
        grad = grad.coalesce()
        if not grad.values().shape[0]:
            return
        means = [self._moved(state["exp_avg"], grad, grad.values(), group["betas"][0]),
                 self._moved(state["exp_avg_sq"], grad, grad.values() ** 2, group["betas"][1])]  # fmt: skip
        corrections = [1 - beta ** state["step"] for beta in group["betas"]]
        rate = scalar(group["lr"]) * math.sqrt(corrections[1]) / corrections[0]
        p.add_(_like(grad, means[0] / (means[1].sqrt() + group["eps"]) * -rate))

    @staticmethod
    def _moved(average: Tensor, grad: Tensor, values: Tensor, beta: float) -> Tensor:
        """Move an average towards values where the gradient has them, and give it there."""
        old = average.sparse_mask(grad).values()
        step = (values - old) * (1 - beta)
        average.add_(_like(grad, step))
        return step + old


__getattr__, _ = on_demand(__name__, {"tapegrad.sparse.attributes": "with_values"})


def _like(grad: Tensor, values: Tensor) -> Tensor:
    """Values at the places of a gradient."""
    return __getattr__("with_values")(grad, values)
