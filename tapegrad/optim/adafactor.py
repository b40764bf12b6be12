"""Adafactor: Adam with the mean square of a matrix kept by rows and columns."""

from __future__ import annotations

from typing import Any

from tapegrad._src.execution.data.dtypes import finfo
from tapegrad._src.functions.creation import zeros_like
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.optim.optimizer import Params, PerParameter, check_lr, chosen, scalar


class Adafactor(PerParameter):
    """The running mean square of a matrix is taken to be a product of one column and one row.

    See Shazeer and Stern, *Adafactor: Adaptive Learning Rates with Sublinear Memory Cost*. Of vectors and numbers all
    elements are kept.

    Args:
        params: tensors, or groups of them.
        lr: the greatest relative step size.
        beta2_decay: at step ``t`` the means take ``t ** beta2_decay`` of what is new.
        eps: two bounds from below: of the root mean square of gradients (by default the dtype's own) and of parameters.
        d: steps with a root mean square above it are scaled down.
        weight_decay: weights shrink by ``lr * weight_decay`` before each step.
        foreach, maximize: as in ``Adam``.

    Raises:
        ValueError: an option is out of range.

    >>> w = torch.tensor([[1.0, 2.0]], requires_grad=True)
    >>> optimizer = torch.optim.Adafactor([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([[0.8419, 1.8419]])
    """

    is_elementwise = False

    def __init__(
        self, params: Params, lr: float | Tensor = 1e-2, beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3), d: float = 1.0, weight_decay: float = 0.0, *,
        foreach: bool | None = None, maximize: bool = False,
    ) -> None:  # fmt: skip
        if isinstance(lr, Tensor) and lr.numel() != 1:
            check_lr(lr)
        if not lr >= 0.0:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not eps[0] >= 0.0:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not eps[1] >= 0.0:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not d >= 1.0:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not weight_decay >= 0.0:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        defaults = chosen(locals(), "lr beta2_decay eps d weight_decay foreach maximize")
        super().__init__(params, defaults)

    def is_decoupled(self, group: dict[str, Any]) -> bool:
        """Weights always decay by themselves."""
        return True

    def begin(self, p: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
        """Nothing was seen so far.

        Raises:
            RuntimeError: the parameter is complex.
        """
        if p.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        super().begin(p, group, state)
        if p.dim() > 1:
            *before, rows, columns = p.shape
            state["row_var"] = p.new_zeros([*before, rows, 1])
            state["col_var"] = p.new_zeros([*before, 1, columns])
        else:
            state["variance"] = zeros_like(p)

    def update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["step"] += 1
        step, lr, (eps1, eps2) = state["step"].item(), scalar(group["lr"]), group["eps"]
        eps1 = finfo(p.dtype).eps if eps1 is None else eps1
        size = max(eps2, _root_mean_square(p)) * min(lr, 1 / step**0.5)
        if group["weight_decay"] != 0:
            p.mul_(1 - lr * group["weight_decay"])
        direction = _mean_square(grad, state, step ** group["beta2_decay"], eps1).clamp(min=eps1 * eps1).rsqrt() * grad
        p.add_(direction, alpha=-size / max(1.0, _root_mean_square(direction) / group["d"]))


def _mean_square(grad: Tensor, state: dict[str, Any], weight: float, eps: float) -> Tensor:
    """The running mean of squared gradients, after this one has been taken in."""
    square = grad.square()
    if grad.dim() <= 1:
        return state["variance"].lerp_(square, weight)
    row, column = state["row_var"], state["col_var"]
    row.lerp_(square.mean(-1, keepdim=True), weight)
    column.lerp_(square.mean(-2, keepdim=True), weight)
    return row @ column / row.mean(-2, keepdim=True).clamp(min=eps)


def _root_mean_square(x: Tensor) -> float:
    return x.norm(2).item() / x.numel() ** 0.5
