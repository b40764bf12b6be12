"""``functional_call`` under its former name: see ``torch.func``."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from tapegrad._src.warn import warn
from tapegrad.func.modules import functional_call as call
from tapegrad.func.modules import reparametrized

__all__ = ["functional_call"]


def functional_call(
    module: Any,
    parameters_and_buffers: dict[str, Any],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other tensors: the former name of ``torch.func.functional_call``, which says more.

    ``parameters_and_buffers`` has tensors by their names in ``module``, which stays as it is; ``args`` and ``kwargs``
    are what it is called with. With ``tie_weights`` a tensor that has several names is replaced under all of them; with
    ``strict`` every tensor of the module has to be named.

    >>> import warnings
    >>> others = {"weight": torch.ones(1, 1), "bias": torch.ones(1)}
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.nn.utils.stateless.functional_call(torch.nn.Linear(1, 1), others, torch.tensor([2.0]))
    tensor([3.])
    """
    warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future "
        "version of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
    )
    return call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


def _reparametrize_module(
    module: Any,
    parameters_and_buffers: dict[str, Any],
    tie_weights: bool = False,
    strict: bool = False,
    stack_weights: bool = False,
) -> AbstractContextManager[None]:
    """Let a module have other tensors for a block; see ``functional_call``. Libraries (zuko) call it.

    With ``stack_weights`` what was replaced last is put back first, which matters where a module has several names.
    """
    return reparametrized(module, parameters_and_buffers, tie_weights, strict, stack_weights)
