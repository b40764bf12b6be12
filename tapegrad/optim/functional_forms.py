"""Optimizers as functions of lists: of parameters, gradients, and what is remembered of each. ``torch.optim.sgd.sgd``.

Each is the update of its class, on states that are given. What says how PyTorch computes it (``foreach``, ``fused``,
``has_complex``, ...) is accepted, for it changes no number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.optim.optimizer import PerParameter

__all__ = ["functional_form"]

STATE_OF = {
    "momentum_buffer_list": "momentum_buffer", "exp_avgs": "exp_avg", "exp_avg_sqs": "exp_avg_sq",
    "max_exp_avg_sqs": "max_exp_avg_sq", "state_steps": "step", "square_avgs": "square_avg", "acc_deltas": "acc_delta",
    "state_sums": "sum", "exp_infs": "exp_inf", "axs": "ax", "mus": "mu", "etas": "eta", "mu_products": "mu_product",
    "grad_avgs": "grad_avg", "prevs": "prev", "step_sizes": "step_size",
}  # fmt: skip
"""The state of a parameter, by the names of the lists."""

OPTIONS = {"capturable": False, "differentiable": False, "decoupled_weight_decay": False, "maximize": False}
"""The settings that an update asks for and not all functions are told."""


def _signature(states: str, ways: str, numbers: str) -> Signature:
    """That of a function: its lists, how it is computed, and options, which are given by keyword."""
    given = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in states.split()]
    defaults = (
        (way, None if way in ("foreach", "fused", "grad_scale", "found_inf") else False) for way in ways.split()
    )
    given += [Parameter(way, Parameter.POSITIONAL_OR_KEYWORD, default=default) for way, default in defaults]
    return Signature([*given, *(Parameter(name, Parameter.KEYWORD_ONLY) for name in numbers.split())])


def functional_form(
    cls: type[PerParameter], states: str, ways: str, numbers: str, made: Mapping[str, tuple[str, ...]] | None = None,
    **fixed: Any,
) -> Callable[..., None]:  # fmt: skip
    """An optimizer as a function, which has its name in small letters.

    Args:
        cls: its class.
        states: the lists, in their order: parameters, gradients, and what is remembered of each.
        ways: arguments that follow, and may be left out.
        numbers: the options, which are given by keyword.
        made: options of the class that are tuples of several of these.
        fixed: options that nobody says.
    """
    lists, signature, name = states.split(), _signature(states, ways, numbers), cls.__name__.lower()

    def function(*args: Any, **kwargs: Any) -> None:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        found = bound.arguments
        _check(found)
        group = {**OPTIONS, **fixed, **{key: value for key, value in found.items() if key not in lists}}
        group |= {key: tuple(found[part] for part in parts) for key, parts in (made or {}).items()}
        updater = object.__new__(cls)
        for i, (p, grad) in enumerate(zip(found[lists[0]], found[lists[1]], strict=True)):
            _update(updater, p, grad, {STATE_OF[one]: found[one] for one in lists[2:]}, i, group)

    function.__name__ = function.__qualname__ = name
    function.__signature__ = signature  # type: ignore[attr-defined]
    function.__doc__ = (
        f"The update of ``torch.optim.{cls.__name__}``, in place, as a function of lists of tensors.\n\nArgs:\n"
        f"    {', '.join(lists)}: parameters, gradients, and what is remembered of each.\n"
        f"    {', '.join(ways.split())}: how PyTorch computes it.\n    {', '.join(numbers.split())}: options."
    )
    return function


def _check(found: dict[str, Any]) -> None:
    if not all(isinstance(step, Tensor) for step in found.get("state_steps", ())):
        raise RuntimeError("API has changed, `state_steps` argument must contain a list of singleton tensors")
    if found.get("grad_scale") is not None or found.get("found_inf") is not None:
        raise NotImplementedError("grad_scale, found_inf: torch.amp.GradScaler scales gradients before an update here")


def _update(
    updater: PerParameter, p: Tensor, grad: Tensor, lists: dict[str, list[Any]], i: int, group: dict[str, Any]
) -> None:
    """Update one parameter, and what is remembered of it, which is put into its list if it is new."""
    state = {name: one[i] for name, one in lists.items() if i < len(one) and one[i] is not None}
    updater._update_one(p, grad, state, group)
    for name, one in lists.items():
        if i < len(one) and one[i] is None:
            one[i] = state.get(name)
