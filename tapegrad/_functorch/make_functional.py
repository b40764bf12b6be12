"""``torch._functorch.make_functional``: modules as functions of their parameters, as functorch had them."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from tapegrad._src.absent import refusing
from tapegrad._src.functions.joining import stack
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.func.modules import functional_call
from tapegrad.nn import Module

__all__ = [
    "FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble", "make_functional",
    "make_functional_with_buffers",
]  # fmt: skip

Named = dict[str, Tensor]
__getattr__ = refusing(__name__)


def _without_data(model: Module) -> Module:
    """A copy of a module whose tensors have shapes only: nothing that it computes can come from them."""
    return deepcopy(model).to("meta")


class FunctionalModuleWithBuffers(Module):
    """A module as a function of its parameters and buffers: ``f(params, buffers, *args)``.

    Args:
        stateless_model: the module.
        param_names: its parameters, in the order in which they are given.
        buffer_names: its buffers, likewise.
    """

    def __init__(
        self, stateless_model: Module, param_names: Sequence[str], buffer_names: Sequence[str]
    ) -> None:  # fmt: skip
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names, self.buffer_names = tuple(param_names), tuple(buffer_names)

    @staticmethod
    def _create_from(
        model: Module, disable_autograd_tracking: bool = False
    ) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
        params, buffers = _copied(model, disable_autograd_tracking)
        made = FunctionalModuleWithBuffers(_without_data(model), [*params], [*buffers])
        return made, tuple(params.values()), tuple(buffers.values())

    def forward(self, params: Sequence[Tensor], buffers: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        given = dict(zip(self.param_names + self.buffer_names, (*params, *buffers), strict=True))
        return functional_call(self.stateless_model, given, args, kwargs)


class FunctionalModule(Module):
    """A module as a function of its parameters: ``f(params, *args)``.

    Args:
        stateless_model: the module.
        param_names: its parameters, in the order in which they are given.
    """

    def __init__(self, stateless_model: Module, param_names: Sequence[str]) -> None:
        super().__init__()
        self.stateless_model, self.param_names = stateless_model, tuple(param_names)

    @staticmethod
    def _create_from(
        model: Module, disable_autograd_tracking: bool = False
    ) -> tuple[FunctionalModule, tuple[Tensor, ...]]:
        params, _ = _copied(model, disable_autograd_tracking)
        return FunctionalModule(_without_data(model), [*params]), tuple(params.values())

    def forward(self, params: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        given = dict(zip(self.param_names, params, strict=True))
        return functional_call(self.stateless_model, given, args, kwargs)


def _copied(model: Module, untracked: bool) -> tuple[Named, Named]:
    """Copies of the parameters and buffers by name; ``untracked``: parameters don't require grad."""
    copied = deepcopy(model)
    if untracked:
        copied.requires_grad_(False)
    return dict(copied.named_parameters()), dict(copied.named_buffers())


def make_functional(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModule, tuple[Tensor, ...]]:
    """A module as a function, and copies of its parameters.

    Args:
        model: the module, which has no buffers.
        disable_autograd_tracking: whether the copies don't require grad.

    Raises:
        RuntimeError: there are buffers.

    >>> f, params = make_functional(torch.nn.Linear(2, 1))
    >>> f([torch.ones_like(p) for p in params], torch.tensor([1.0, 2.0]))
    tensor([4.])
    """
    if any(True for _ in model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    return FunctionalModule._create_from(model, disable_autograd_tracking)


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """A module as a function, and copies of its parameters and buffers.

    Args:
        model: the module.
        disable_autograd_tracking: whether the copies don't require grad.
    """
    return FunctionalModuleWithBuffers._create_from(model, disable_autograd_tracking)


def combine_state_for_ensemble(
    models: Sequence[Module],
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Modules of one class as one function, with their parameters and buffers stacked: for ``vmap`` over an ensemble.

    Args:
        models: a list of modules.

    Raises:
        RuntimeError: there are none; they differ in class, or in ``training``.
    """
    if len(models) == 0:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if len({model.training for model in models}) > 1:
        raise RuntimeError("combine_state_for_ensemble: Expected all models to have the same training/eval mode.")
    if any(type(model) is not type(models[0]) for model in models):
        raise RuntimeError("combine_state_for_ensemble: Expected all models to be of the same class.")
    functions, params, buffers = zip(*map(make_functional_with_buffers, models), strict=True)
    stacked = [tuple(stack(each).detach() for each in zip(*parts, strict=True)) for parts in (params, buffers)]
    return functions[0], *stacked
