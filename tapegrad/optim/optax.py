"""optax's optimizers as ours: ``Optax(params, optax.lion(1e-3))``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tapegrad._src.functions.creation import zeros_like
from tapegrad.autograd.grad_mode import no_grad
from tapegrad.interop.arrays import to_arrays, to_tensors
from tapegrad.interop.from_jax import from_jax
from tapegrad.interop.keys import kinds_of_keys, with_keys, without_keys
from tapegrad.optim.optimizer import Optimizer, Params, loss_of


class Optax(Optimizer):
    """Updates parameters by a gradient transformation of optax, all of them in one call.

    A parameter without a gradient counts as one with a gradient of zeros. The transformation's state is kept, as
    tensors, under ``state["optax"]``, and is part of the state dict. Schedules are optax's own. What a closure returns
    is the ``value`` that some transformations ask for, such as ``optax.polyak_sgd``; line searches, which ask for a
    function of arrays, can't be had.

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
        state = transformation.init(to_arrays(self._parameters()))
        self._update = from_jax(_updates(transformation, kinds_of_keys(state)))
        self.state["optax"] = to_tensors(without_keys(state))

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
        updated, self.state["optax"] = self._update(grads, self.state["optax"], self._parameters(), loss)
        for p, new in zip(parameters, updated, strict=True):
            p.copy_(new)
        return loss


def _updates(transformation: Any, kinds: list[Any]) -> Callable[[Any, Any, Any, Any], tuple[Any, Any]]:
    """A function of gradients, state, parameters and the loss, that gives the new parameters and the new state."""
    named = inspect.signature(transformation.update).parameters.values()
    takes_more = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in named)

    def update(grads: Any, state: Any, parameters: Any, loss: Any) -> tuple[Any, Any]:
        more = {} if loss is None or not takes_more else {"value": loss, "grad": grads}
        changes, state = transformation.update(grads, with_keys(state, kinds), parameters, **more)
        updated = [p + change.astype(p.dtype) for p, change in zip(parameters, changes, strict=True)]
        return updated, without_keys(state)

    return update
