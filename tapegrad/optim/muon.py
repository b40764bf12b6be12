"""Muon: steps of momentum, made orthogonal."""

from __future__ import annotations

import math
from typing import Any

from tapegrad._src.functions.matmul import addmm
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.optim.optimizer import Params, PerParameter, all_params, check_lr, chosen

EPS = 1e-7
DEFAULT_A, DEFAULT_B, DEFAULT_C = 3.4445, -4.7750, 2.0315
DEFAULT_NS_STEPS = 5


class Muon(PerParameter):
    """Each matrix moves along the orthogonal matrix that is nearest to its momentum, nearly.

    The orthogonal factor is approached by Newton-Schulz iterations ``x <- a x + b (x x^T) x + c (x x^T)^2 x`` in
    bfloat16. See Jordan et al., *Muon: An optimizer for hidden layers in neural networks*. Biases, embeddings and the
    last layer belong to another optimizer, ``AdamW`` say.

    Args:
        params: matrices, or groups of them.
        lr: the learning rate.
        weight_decay: weights shrink by ``lr * weight_decay`` before each step.
        momentum: how much of the mean gradient stays at each step.
        nesterov: whether the gradient is mixed with the mean once more.
        ns_coefficients: ``a``, ``b`` and ``c``, see above.
        eps: the least norm that is divided by.
        ns_steps: the number of iterations, below 100.
        adjust_lr_fn: by which the learning rate depends on the shape of a matrix: ``"original"`` (the default), the
            root of its rows over its columns if greater than one, or ``"match_rms_adamw"``.

    Raises:
        ValueError: an option is out of range; a parameter is no matrix.

    >>> w = torch.eye(2, requires_grad=True)
    >>> optimizer = torch.optim.Muon([w], lr=0.1, weight_decay=0.0)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> (w < torch.eye(2)).diagonal()
    tensor([True, True])
    """

    counts = False
    is_elementwise = False
    states = ("momentum_buffer",)

    def __init__(
        self, params: Params, lr: float | Tensor = 1e-3, weight_decay: float = 0.1, momentum: float = 0.95,
        nesterov: bool = True, ns_coefficients: tuple[float, float, float] = (DEFAULT_A, DEFAULT_B, DEFAULT_C),
        eps: float = EPS, ns_steps: int = DEFAULT_NS_STEPS, adjust_lr_fn: str | None = None,
    ) -> None:  # fmt: skip
        if isinstance(lr, Tensor):
            check_lr(lr)
        for name, value in (("Learning rate", lr), ("momentum", momentum), ("weight decay", weight_decay)):
            if not value >= 0.0:
                raise ValueError(f"{name} should be >= 0 but is: {value}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = chosen(locals(), "lr weight_decay momentum nesterov ns_coefficients eps ns_steps adjust_lr_fn")
        super().__init__(params, defaults)
        for _, p in all_params(self):
            if p.ndim != 2:
                raise ValueError(
                    f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}"
                )

    def is_decoupled(self, group: dict[str, Any]) -> bool:
        """Weights always decay by themselves."""
        return True

    def begin(self, p: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
        """No gradient was seen so far.

        Raises:
            RuntimeError: the parameter is complex.
        """
        if p.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        super().begin(p, group, state)

    def update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        buffer, momentum = state["momentum_buffer"], group["momentum"]
        buffer.lerp_(grad, 1 - momentum)
        mixed = grad.lerp(buffer, momentum) if group["nesterov"] else buffer
        direction = orthogonal(mixed, group["ns_coefficients"], group["ns_steps"], group["eps"])
        p.mul_(1 - group["lr"] * group["weight_decay"])
        p.add_(direction.to(p.dtype), alpha=-group["lr"] * _by_shape(group["adjust_lr_fn"], *p.shape))


def orthogonal(matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """A matrix with the singular vectors of another, and singular values near one, in bfloat16.
    Raises ValueError: it is no matrix; not three coefficients; 100 steps or more.
    """
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if matrix.ndim != 2:
        raise ValueError("Input tensor gradient must be a 2D matrix")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    tall = matrix.size(0) > matrix.size(1)
    x = matrix.bfloat16()
    x = x.T if tall else x
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = addmm(x, addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


def _by_shape(rule: str | None, rows: int, columns: int) -> float:
    """The factor of the learning rate for a matrix of a shape."""
    if rule == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1, rows / columns))
