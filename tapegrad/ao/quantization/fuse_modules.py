"""Layers in a row are made one, so that only what comes out of the last one is observed, and rounded."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from tapegrad import nn
from tapegrad.ao.quantization.fuser_method_mappings import get_fuser_method
from tapegrad.nn.modules.module import Module

__all__ = ["fuse_modules", "fuse_modules_qat"]


def fuse_known_modules(
    mod_list: Sequence[Module], is_qat: bool, additional_fuser_method_mapping: dict | None = None
) -> list[Module]:
    """One layer that does what several do, with their hooks, and ``Identity`` in the places of all but the first.

    Args:
        mod_list: the layers, one after another.
        is_qat: whether they are to be trained on.
        additional_fuser_method_mapping: for tuples of classes the functions that make one layer.

    Raises:
        AssertionError, NotImplementedError: there is no such layer.
    """
    fused = get_fuser_method(tuple(map(type, mod_list)), additional_fuser_method_mapping)(is_qat, *mod_list)
    for pre_hook in mod_list[0]._forward_pre_hooks.values():
        fused.register_forward_pre_hook(pre_hook)
    mod_list[0]._forward_pre_hooks.clear()
    for hook in mod_list[-1]._forward_hooks.values():
        fused.register_forward_hook(hook)
    mod_list[-1]._forward_hooks.clear()
    rest = [nn.Identity().train(mod_list[0].training) for _ in mod_list[1:]]
    return [fused, *rest]


def fuse(
    model: Any, modules_to_fuse: Sequence, is_qat: bool, inplace: bool, fuser_func: Callable, config: dict | None
) -> Any:
    """A model in which layers in a row are one; ``modules_to_fuse`` are the paths of some, or several such lists."""
    model = model if inplace else copy.deepcopy(model)
    rows = [modules_to_fuse] if all(isinstance(path, str) for path in modules_to_fuse) else modules_to_fuse
    for paths in rows:
        layers = [below(model, path.split(".")) for path in paths]
        made = fuser_func(layers, is_qat, (config or {}).get("additional_fuser_method_mapping", {}))
        for path, layer in zip(paths, made, strict=True):
            *around, name = path.split(".")
            setattr(below(model, around), name, layer)
    return model


def below(model: Any, names: Sequence[str]) -> Any:
    """The module at a path. Raises AttributeError: there is none."""
    return reduce(getattr, names, model)


def fuse_modules(
    model: Any, modules_to_fuse: Sequence, inplace: bool = False, fuser_func: Callable = fuse_known_modules,
    fuse_custom_config_dict: dict | None = None,
) -> Any:  # fmt: skip
    """A model in which layers in a row are one: batch norms in evaluation mode are part of the layer before.

    A convolution or a linear layer may have a batch norm behind it, a ReLU, or both; a batch norm a ReLU.

    Args:
        model: in evaluation mode.
        modules_to_fuse: the paths of layers in a row, or several such lists.
        inplace: whether the model is changed itself; a copy is otherwise.
        fuser_func: makes of the layers those that come in their places.
        fuse_custom_config_dict: with ``"additional_fuser_method_mapping"``, functions for more classes.

    Raises:
        AssertionError: there is no layer that does what these do; a batch norm in training mode.

    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    >>> [type(layer).__name__ for layer in torch.ao.quantization.fuse_modules(model, ["0", "1"])]
    ['LinearReLU', 'Identity']
    """
    return fuse(model, modules_to_fuse, False, inplace, fuser_func, fuse_custom_config_dict)


def fuse_modules_qat(
    model: Any, modules_to_fuse: Sequence, inplace: bool = False, fuser_func: Callable = fuse_known_modules,
    fuse_custom_config_dict: dict | None = None,
) -> Any:  # fmt: skip
    """A model in which layers in a row are one, that is to be trained on: their batch norms stay for ``prepare_qat``.

    Args:
        model: in training mode.
        modules_to_fuse, inplace, fuser_func, fuse_custom_config_dict: as of ``fuse_modules``.

    Raises:
        AssertionError: there is no layer that does what these do; a batch norm that doesn't fit.
    """
    return fuse(model, modules_to_fuse, True, inplace, fuser_func, fuse_custom_config_dict)
