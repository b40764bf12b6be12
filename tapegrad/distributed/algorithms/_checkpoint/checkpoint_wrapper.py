"""Modules around others, which keep less of them: they are computed again in the backward pass."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from enum import Enum, auto
from functools import partial
from typing import Any

from tapegrad._src.absent import refused
from tapegrad.distributed.fsdp.wrap import children_replaced
from tapegrad.nn import Module
from tapegrad.utils.checkpoint import checkpoint

__all__ = [
    "ActivationWrapper", "CheckpointImpl", "CheckpointWrapper", "apply_activation_checkpointing", "checkpoint_wrapper",
    "offload_wrapper",
]  # fmt: skip

_CHECKPOINT_WRAPPED_MODULE = "_checkpoint_wrapped_module"
_PREFIX = f"{_CHECKPOINT_WRAPPED_MODULE}."


class CheckpointImpl(Enum):
    """The ways to compute again: ``use_reentrant`` of ``torch.utils.checkpoint.checkpoint``."""

    REENTRANT = auto()
    NO_REENTRANT = auto()


class ActivationWrapper(Module, ABC):
    """A module around another, whose attributes, items and names of parameters are those of that one.

    Args:
        mod: the module inside.
    """

    def __init__(self, mod: Module) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self._register_state_dict_hook(_without_prefix)
        self._register_load_state_dict_pre_hook(_with_prefix)

    @abstractmethod
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module: classes that are derived from this one say how."""

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self._checkpoint_wrapped_module, name)

    def __getitem__(self, key: int) -> Any:
        inside: Any = self._checkpoint_wrapped_module
        return inside[key]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """The parameters, by the names that they have inside."""
        for name, param in super().named_parameters(*args, **kwargs):
            yield name.replace(_PREFIX, ""), param


def _without_prefix(module: Module, state_dict: dict[str, Any], prefix: str, *args: Any) -> dict[str, Any]:
    for key in [key for key in state_dict if key.startswith(prefix + _PREFIX)]:
        state_dict[prefix + key[len(prefix + _PREFIX) :]] = state_dict.pop(key)
    return state_dict


def _with_prefix(state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
    for key in [key for key in state_dict if key.startswith(prefix) and not key.startswith(prefix + _PREFIX)]:
        state_dict[prefix + _PREFIX + key[len(prefix) :]] = state_dict.pop(key)


class CheckpointWrapper(ActivationWrapper):
    """A module around another, of which the backward pass computes again what it needs.

    Args:
        mod: the module inside.
        checkpoint_impl: the way.
        checkpoint_fn: what is called in place of ``torch.utils.checkpoint.checkpoint``, with the module and its
            arguments.
        checkpoint_fn_kwargs: arguments by name of that.

    >>> CheckpointWrapper(torch.nn.ReLU())
    CheckpointWrapper(
      (_checkpoint_wrapped_module): ReLU()
    )
    """

    def __init__(
        self, mod: Module, checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Callable | None = None, **checkpoint_fn_kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        way = {"use_reentrant": checkpoint_impl is CheckpointImpl.REENTRANT}
        reentrant: dict[str, Any] = way if checkpoint_fn is None else {}
        self.checkpoint_fn = partial(checkpoint_fn or checkpoint, **reentrant, **checkpoint_fn_kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module; with the arguments by name in one piece, where the way takes none."""
        if self.checkpoint_impl is CheckpointImpl.REENTRANT and kwargs:
            names, inside = tuple(kwargs), self._checkpoint_wrapped_module

            def called(*given: Any) -> Any:
                own = len(given) - len(names)
                return inside(*given[:own], **dict(zip(names, given[own:], strict=True)))

            return self.checkpoint_fn(called, *args, *kwargs.values())
        return self.checkpoint_fn(self._checkpoint_wrapped_module, *args, **kwargs)


def checkpoint_wrapper(
    module: Module, checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
    checkpoint_fn: Callable | None = None, **checkpoint_fn_kwargs: Any,
) -> Module:  # fmt: skip
    """A module around another, of which the backward pass computes again what it needs.

    Args:
        module, checkpoint_impl, checkpoint_fn, checkpoint_fn_kwargs: as of ``CheckpointWrapper``.

    >>> layer = checkpoint_wrapper(torch.nn.Linear(2, 3))
    >>> layer(torch.ones(1, 2)).shape, [name for name, _ in layer.named_parameters()], layer.in_features
    (torch.Size([1, 3]), ['weight', 'bias'], 2)
    """
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def apply_activation_checkpointing(
    model: Module, checkpoint_wrapper_fn: Callable[[Module], Module] = checkpoint_wrapper,
    check_fn: Callable[[Module], bool] = lambda _: True,
    auto_wrap_policy: Callable[[Module, bool, int], bool] | None = None,
) -> None:  # fmt: skip
    """Put modules around those inside a model that are chosen, in their places.

    Args:
        model: the model, which itself stays as it is.
        checkpoint_wrapper_fn: makes a module around another one.
        check_fn: tells whether a module is chosen.
        auto_wrap_policy: tells it as policies of ``torch.distributed.fsdp.wrap`` do, in place of ``check_fn``.

    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    >>> apply_activation_checkpointing(model, check_fn=lambda m: isinstance(m, torch.nn.Linear))
    >>> type(model[0]).__name__, type(model[1]).__name__
    ('CheckpointWrapper', 'ReLU')
    """
    policy = auto_wrap_policy

    def chosen(module: Module) -> bool:
        return check_fn(module) if policy is None else policy(module, False, -1)

    children_replaced(model, chosen, checkpoint_wrapper_fn)


offload_wrapper = refused(
    "torch.distributed.algorithms._checkpoint.checkpoint_wrapper.offload_wrapper",
    "torch.autograd.graph.save_on_cpu() keeps what a forward pass saves on the CPU",
)
