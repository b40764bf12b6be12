"""optax's optimizers as ours: ``Optax(params, optax.lion(1e-3))``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad.autograd.grad_mode import no_grad
from tapegrad.functions.creation import zeros_like
from tapegrad.interop.arrays import to_arrays, to_tensors
from tapegrad.interop.from_jax import from_jax
from tapegrad.optim.optimizer import Optimizer, Params, loss_of


class Optax(Optimizer):
    """Updates parameters by a gradient transformation of optax, all of them in one call.

    A parameter without a gradient counts as one with a gradient of zeros. The transformation's state is kept, as
    tensors, under ``state["optax"]``, and is part of the state dict. Schedules are optax's own.

    Args:
        params: tensors; groups may have no options.
        transformation: what ``optax.adam(1e-3)`` gives, or ``optax.chain(...)``.

    Raises:
        TypeError: a transformation without ``init`` and ``update``.
        ValueError: a group with options.

    >>> import optax
    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.Optax([w], optax.sgd(0.1))
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.8000])
    """

    def __init__(self, params: Params, transformation: Any) -> None:
        if not (callable(getattr(transformation, "init", None)) and callable(getattr(transformation, "update", None))):
            raise TypeError(
                "transformation must be a gradient transformation of optax, with init and update, not "
                f"{type(transformation).__name__}; give optax.adam(1e-3), say"
            )
        super().__init__(params, {})
        for group in self.param_groups:
            if options := group.keys() - {"params", "param_names"}:
                raise ValueError(
                    f"Optax takes no options for groups, but got {sorted(options)}; optax.multi_transform has groups "
                    "of its own"
                )
        self._update = from_jax(_updates(transformation))
        self.state["optax"] = to_tensors(transformation.init(to_arrays(self._parameters())))

    def _parameters(self) -> list[Any]:
        return [p.detach() for group in self.param_groups for p in group["params"]]

    @no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters by their gradients.

        Args:
            closure: computes the loss and the gradients anew, and returns the loss.

        Returns:
            what the closure returned, or None.
        """
        loss = loss_of(closure)
        parameters = [p for group in self.param_groups for p in group["params"]]
        grads = [zeros_like(p) if p.grad is None else p.grad for p in parameters]
        updated, self.state["optax"] = self._update(grads, self.state["optax"], self._parameters())
        for p, new in zip(parameters, updated, strict=True):
            p.copy_(new)
        return loss


def _updates(transformation: Any) -> Callable[[Any, Any, Any], tuple[Any, Any]]:
    """A function of gradients, state and parameters, that gives the new parameters and the new state."""

    def update(grads: Any, state: Any, parameters: Any) -> tuple[Any, Any]:
        changes, state = transformation.update(grads, state, parameters)
        return [p + change.astype(p.dtype) for p, change in zip(parameters, changes, strict=True)], state

    return update
