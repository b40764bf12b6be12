"""SparseAdam, which takes sparse gradients only; there are none here."""

from __future__ import annotations

from typing import Any

from tapegrad.optim.optimizer import Params, PerParameter, check_betas, check_lr
from tapegrad.tensor.tensor import Tensor


class SparseAdam(PerParameter):
    """``Adam`` for sparse gradients. A tensor's gradient is dense here, and so a step says what PyTorch says of those.

    Args:
        params: tensors, or groups of them.
        lr, betas, eps, maximize: as in ``Adam``.

    Raises:
        ValueError: an option is out of range; a complex parameter.

    >>> optimizer = torch.optim.SparseAdam([torch.zeros(2, requires_grad=True)], lr=0.1)
    >>> optimizer.param_groups[0]["betas"]
    (0.9, 0.999)
    """

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
        """Refuse a gradient, which is dense."""
        raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
