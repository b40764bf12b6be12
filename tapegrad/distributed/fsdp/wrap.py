"""``torch.distributed.fsdp.wrap``: which modules are divided by themselves. ``fully_shard`` is called of each of them.

>>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
>>> chosen = [m for m in model.modules() if lambda_auto_wrap_policy(m, False, 0, lambda m: hasattr(m, "weight"))]
>>> chosen
[Linear(in_features=2, out_features=2, bias=True)]
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from tapegrad._src.absent import refusing
from tapegrad.nn.modules.attention import MultiheadAttention
from tapegrad.nn.modules.container import ModuleDict, ModuleList
from tapegrad.nn.modules.module import Module

__getattr__ = refusing(__name__)
__all__ = [
    "CustomPolicy", "ModuleWrapPolicy", "always_wrap_policy", "enable_wrap", "lambda_auto_wrap_policy",
    "size_based_auto_wrap_policy",
    "transformer_auto_wrap_policy", "wrap",
]  # fmt: skip

Kinds = Collection[type[Module]]
_wrapping: ContextVar[tuple[Callable, dict[str, Any]] | None] = ContextVar("wrapping", default=None)


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """True: each module is."""
    return True


def lambda_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Module], bool]
) -> bool:  # fmt: skip
    """Tell whether a module is, by a function of it; ``recurse`` asks if those inside are to be looked at, which they
    are.

    Args:
        module: the module.
        recurse: what is asked.
        nonwrapped_numel: how many elements its parameters have, those left out that others have.
        lambda_fn: the function.
    """
    return recurse or lambda_fn(module)


def transformer_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: Kinds
) -> bool:  # fmt: skip
    """Tell whether a module is, by its class.

    Args:
        module, recurse, nonwrapped_numel: see ``lambda_auto_wrap_policy``.
        transformer_layer_cls: the classes.
    """
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def size_based_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, min_num_params: int = 100_000_000,
    force_leaf_modules: Kinds | None = None, exclude_wrap_modules: Kinds | None = None,
) -> bool:  # fmt: skip
    """Tell whether a module is, by how many elements its parameters have.

    Args:
        module, recurse, nonwrapped_numel: see ``lambda_auto_wrap_policy``.
        min_num_params: so many at least.
        force_leaf_modules: classes whose insides aren't looked at; of attention by default.
        exclude_wrap_modules: classes of modules that never are; lists and dictionaries by default.
    """
    leaves = (MultiheadAttention,) if force_leaf_modules is None else tuple(force_leaf_modules)
    excluded = (ModuleList, ModuleDict) if exclude_wrap_modules is None else tuple(exclude_wrap_modules)
    return nonwrapped_numel >= min_num_params and not isinstance(module, leaves if recurse else excluded)


class ModuleWrapPolicy:
    """Which modules are, by their classes.

    Args:
        module_classes: the classes.
    """

    def __init__(self, module_classes: Kinds) -> None:
        self._module_classes = set(module_classes)
        self._module_classes_str = str(self._module_classes)

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        return recurse or isinstance(module, tuple(self._module_classes))

    def __repr__(self) -> str:
        return f"{super().__repr__()}({self._module_classes_str})"


@contextmanager
def enable_wrap(*, wrapper_cls: Callable, **wrapper_kwargs: Any) -> Iterator[None]:
    """A context in which ``wrap`` wraps.

    Args:
        wrapper_cls: what makes another module of one.
        wrapper_kwargs: what it is given besides.
    """
    token = _wrapping.set((wrapper_cls, wrapper_kwargs))
    try:
        yield
    finally:
        _wrapping.reset(token)


def wrap(module: Module, **wrap_overrides: Any) -> Module:
    """A module, wrapped by what ``enable_wrap`` has; outside of it the module itself.

    Args:
        module: the module.
        wrap_overrides: what the wrapper is given besides, or in place of what it would be.

    >>> with enable_wrap(wrapper_cls=torch.nn.Sequential):
    ...     wrap(torch.nn.ReLU())
    Sequential(
      (0): ReLU()
    )
    """
    found = _wrapping.get()
    return module if found is None else found[0](module, **{**found[1], **wrap_overrides})


def children_replaced(module: Module, chosen: Callable[[Module], bool], wrapped: Callable[[Module], Module]) -> None:
    """Put modules around those below a module that are chosen, the innermost first."""
    for name, child in list(module.named_children()):
        children_replaced(child, chosen, wrapped)
        if chosen(child):
            setattr(module, name, wrapped(child))


def _or_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, policies: Collection[Callable[..., bool]]
) -> bool:  # fmt: skip
    """Tell whether a module is, by any of several policies.

    Args:
        module, recurse, nonwrapped_numel: see ``lambda_auto_wrap_policy``.
        policies: the others.
    """
    return any(policy(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel) for policy in policies)


class CustomPolicy:
    """A policy that is a function of modules.

    Args:
        lambda_fn: tells of a module whether it is divided by itself, or gives the arguments for that.

    >>> CustomPolicy(lambda module: isinstance(module, torch.nn.Linear))._lambda_fn(torch.nn.ReLU())
    False
    """

    def __init__(self, lambda_fn: Callable[[Module], bool | dict[str, Any]]) -> None:
        self._lambda_fn = lambda_fn
