"""Adam: steps in the direction of the mean gradient, over the root of its mean square."""

from __future__ import annotations

from typing import Any

from tapegrad._src.execution.array_functions.updates import adam as adam_update
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.optim.functional_forms import functional_form
from tapegrad.optim.fused_parameters import Update
from tapegrad.optim.optimizer import (
    Params,
    PerParameter,
    add_quotient,
    check_moments,
    check_ways,
    chosen,
    counted,
    scalar,
)


class Adam(PerParameter):
    """``p -= lr * m / (sqrt(v) + eps)``, where ``m`` and ``v`` are running means of ``g`` and of its square.

    Both are divided by ``1 - beta ** t`` after ``t`` steps, for they begin at zero. See Kingma and Ba, *Adam: A Method
    for Stochastic Optimization*.

    Args:
        params: tensors, or groups of them.
        lr: the learning rate; a tensor of one element may be changed in a compiled step.
        betas: how much of ``m`` and of ``v`` stays at each step.
        eps: see above.
        weight_decay: what is added to ``g``, times ``p``.
        amsgrad: whether the greatest ``v`` so far is used.
        maximize: whether to go up, not down.
        decoupled_weight_decay: whether weights shrink by ``lr * weight_decay`` instead, as in ``AdamW``.
        foreach, fused, capturable: ways in which PyTorch computes it; the numbers are the same.
        differentiable: whether gradients flow through a step.

    Raises:
        ValueError: an option is out of range.

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.Adam([w], lr=0.1)
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.9000])
    """

    states = "exp_avg", "exp_avg_sq"
    refuses_sparse = "Adam does not support sparse gradients, please consider SparseAdam instead"

    def __init__(
        self, params: Params, lr: float | Tensor = 1e-3, betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 0, amsgrad: bool = False, *, foreach: bool | None = None,
        maximize: bool = False, capturable: bool = False, differentiable: bool = False, fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:  # fmt: skip
        if isinstance(lr, Tensor) and foreach and not capturable:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        check_moments(lr, betas, eps, weight_decay)
        _check_tensor_betas(betas, foreach and not capturable)
        names = "lr betas eps weight_decay amsgrad maximize foreach capturable differentiable fused"
        defaults = chosen(locals(), f"{names} decoupled_weight_decay") | {"betas": tuple(map(scalar, betas))}
        super().__init__(params, defaults)
        check_ways(defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("amsgrad", False)

    def begin(self, p: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
        """Nothing was seen so far."""
        super().begin(p, group, state)
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = state["exp_avg_sq"].clone()

    def fused(self, states: tuple[str, ...], numbers: dict[str, float], group: dict[str, Any]) -> Update | None:
        """See ``PerParameter``."""
        lr, (beta1, beta2), decay = group["lr"], group["betas"], group["weight_decay"]
        by_tensors = isinstance(lr, Tensor) or isinstance(beta1, Tensor) or group["capturable"]
        if by_tensors or states != self.states or tuple(numbers) != ("step",) or beta1 <= 0.5:
            return None
        step = numbers["step"] = numbers["step"] + 1
        shrinks, decays = self.is_decoupled(group) and decay != 0, not self.is_decoupled(group) and decay != 0
        amounts = (
            decay, -(lr / (1 - beta1**step)), 1 - lr * decay, 1 - beta1, beta2, 1 - beta2,
            (1 - beta2**step) ** 0.5, group["eps"],
        )  # fmt: skip
        options, writes = (bool(group["maximize"]), decays, shrinks), (1 + shrinks, 1, 2)
        return Update(adam_update, options, tuple(map(float, amounts)), writes)

    def update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        step, lr, (beta1, beta2) = counted(state, group), scalar(group["lr"]), group["betas"]
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        decay = group["weight_decay"]
        if self.is_decoupled(group) and decay != 0:
            p.mul_(1 - lr * decay)
        mean.lerp_(grad, 1 - beta1)
        if isinstance(beta2, Tensor) and beta2.requires_grad:
            square.lerp_(grad * grad, 1 - beta2)
        else:
            square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        if group["amsgrad"]:
            greatest = state["max_exp_avg_sq"]
            greatest.copy_((greatest.clone() if group["differentiable"] else greatest).maximum(square))
            square = greatest
        root = square.sqrt() / (1 - beta2**step) ** 0.5
        numerator = mean.clone() if group["differentiable"] else mean
        add_quotient(p, numerator, root + group["eps"], -(lr / (1 - beta1**step)))


def _check_tensor_betas(betas: tuple[Any, Any], plain: bool | None) -> None:
    """``betas`` are two floats, or two tensors of one element, which can't be if ``plain``."""
    if not (all(isinstance(beta, float) for beta in betas) or all(isinstance(beta, Tensor) for beta in betas)):
        raise ValueError("betas must be either both floats or both Tensors")
    for i, beta in enumerate(betas):
        if isinstance(beta, Tensor):
            if plain:
                raise ValueError(f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True")
            if beta.numel() != 1:
                raise ValueError(f"Tensor betas[{i}] must be 1-element")


class AdamW(Adam):
    """``Adam`` whose weights decay by themselves: ``p -= lr * weight_decay * p`` before each step.

    See Loshchilov and Hutter, *Decoupled Weight Decay Regularization*.

    Args:
        params: tensors, or groups of them.
        lr, betas, eps, weight_decay, amsgrad, maximize, foreach, capturable, differentiable, fused: as in ``Adam``.

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.AdamW([w], lr=0.1, weight_decay=0.5)
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.8500])
    """

    def __init__(
        self, params: Params, lr: float | Tensor = 1e-3, betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 1e-2, amsgrad: bool = False, *, maximize: bool = False,
        foreach: bool | None = None, capturable: bool = False, differentiable: bool = False, fused: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
            differentiable=differentiable, fused=fused, decoupled_weight_decay=True,
        )  # fmt: skip

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True


MOMENTS = "params grads exp_avgs exp_avg_sqs max_exp_avg_sqs state_steps"
WAYS = "foreach capturable differentiable fused grad_scale found_inf has_complex"
OPTIONS = "amsgrad beta1 beta2 lr weight_decay eps maximize"
BETAS = {"betas": ("beta1", "beta2")}

adam = functional_form(Adam, MOMENTS, f"{WAYS} decoupled_weight_decay", OPTIONS, BETAS)
adamw = functional_form(AdamW, MOMENTS, WAYS, OPTIONS, BETAS, decoupled_weight_decay=True)
