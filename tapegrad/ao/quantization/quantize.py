"""Models that are trained as if their numbers were integers: see Note [Quantization-aware training]."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from tapegrad import nn
from tapegrad._src.warn import warn
from tapegrad.ao.nn import intrinsic as nni
from tapegrad.ao.nn import qat
from tapegrad.ao.nn.intrinsic import _FusedModule
from tapegrad.ao.nn.intrinsic import qat as nniqat
from tapegrad.ao.quantization.fake_quantize import (
    default_fixed_qparams_range_0to1_fake_quant,
    default_fixed_qparams_range_neg1to1_fake_quant,
)
from tapegrad.ao.quantization.stubs import DeQuantStub, QuantStub, QuantWrapper
from tapegrad.nn.modules.module import Module

__all__ = ["add_quant_dequant", "convert", "get_default_qat_module_mappings", "prepare", "prepare_qat",
           "propagate_qconfig_"]  # fmt: skip

QAT_MODULES: dict[type, Any] = {
    nn.Linear: qat.Linear, nn.Conv2d: qat.Conv2d, nn.Conv3d: qat.Conv3d, nni.ConvBn1d: nniqat.ConvBn1d,
    nni.ConvBn2d: nniqat.ConvBn2d, nni.ConvBn3d: nniqat.ConvBn3d, nni.ConvBnReLU1d: nniqat.ConvBnReLU1d,
    nni.ConvBnReLU2d: nniqat.ConvBnReLU2d, nni.ConvBnReLU3d: nniqat.ConvBnReLU3d, nni.ConvReLU2d: nniqat.ConvReLU2d,
    nni.ConvReLU3d: nniqat.ConvReLU3d, nni.LinearReLU: nniqat.LinearReLU, nni.LinearBn1d: nniqat.LinearBn1d,
}  # fmt: skip
"""For classes of layers those whose weights are fake-quantized."""

_NAMES = """
    Linear Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d Embedding EmbeddingBag ReLU6 LeakyReLU
    ELU Hardswish PReLU BatchNorm2d BatchNorm3d GroupNorm InstanceNorm1d InstanceNorm2d InstanceNorm3d LayerNorm GRU
    GRUCell LSTM LSTMCell RNNCell
""".split()  # noqa: SIM905 - a table is easier to read without the quotes
OBSERVED: frozenset[type] = frozenset({QuantStub, DeQuantStub, *(getattr(nn, name) for name in _NAMES)})
"""The classes of layers whose results are observed."""


BOUNDED: dict[type, Any] = {
    **dict.fromkeys((nn.Hardsigmoid, nn.Sigmoid, nn.Softmax), default_fixed_qparams_range_0to1_fake_quant),
    nn.Tanh: default_fixed_qparams_range_neg1to1_fake_quant,
}
"""The classes of layers whose results are within bounds, and what rounds these."""


def get_default_qat_module_mappings() -> dict[type, Any]:
    """For classes of layers those that ``prepare_qat`` makes of them, to be changed as one likes."""
    return dict(QAT_MODULES)


def add_quant_dequant(module: Any) -> Any:
    """A model whose layers with a ``qconfig`` are wrapped each, so that what they take is observed, too.

    Args:
        module: the model, which is changed itself, unless it is a layer that is wrapped.
    """
    waiting = [module]
    while waiting:
        one = waiting.pop()
        for name, child in [*one.named_children()]:
            one._modules[name] = wrapped_layer(child)
            waiting += [child] * (one._modules[name] is child)
    return wrapped_layer(module)


def wrapped_layer(module: Any) -> Any:
    """A layer with a ``qconfig`` in a ``QuantWrapper``; any other module as it is."""
    return module if [*module.children()] or not getattr(module, "qconfig", None) else QuantWrapper(module)


def propagate_qconfig_(module: Any, qconfig_dict: dict | None = None) -> None:
    """Give each module below the ``qconfig`` of the one around it, unless it has one.

    Args:
        module: the outermost.
        qconfig_dict: configurations by the paths, or the classes, of modules.
    """
    given = qconfig_dict or {}
    waiting: list[tuple[Any, Any, str]] = [(module, None, "")]
    while waiting:
        one, around, path = waiting.pop()
        around = getattr(one, "qconfig", given.get(path, given.get(type(one), around)))
        one.qconfig = around
        waiting += [(child, around, f"{path}.{name}" if path else name) for name, child in one.named_children()]


def prepare(
    model: Any, inplace: bool = False, allow_list: Any = None, observer_non_leaf_module_list: Any = None,
    prepare_custom_config_dict: Any = None,
) -> Any:  # fmt: skip
    """A model with observers behind those of its layers that have a ``qconfig``.

    Args:
        model: the model.
        inplace: whether it is changed itself; a copy is otherwise.
        allow_list: the classes of layers without layers below them; the usual ones if None.
        observer_non_leaf_module_list: the classes of layers with layers below them.
        prepare_custom_config_dict: not supported.

    Raises:
        NotImplementedError: a ``prepare_custom_config_dict``.
    """
    if prepare_custom_config_dict:
        raise NotImplementedError("prepare: there is no prepare_custom_config_dict; put observers there yourself")
    model = model if inplace else copy.deepcopy(model)
    propagate_qconfig_(model)
    if not any(getattr(one, "qconfig", None) for one in model.modules()):
        warn(
            "None of the submodule got qconfig applied. Make sure you passed correct configuration through "
            "`qconfig_dict` or by assigning the `.qconfig` attribute directly on submodules"
        )  # fmt: skip
    leaves, others = OBSERVED if allow_list is None else set(allow_list), set(observer_non_leaf_module_list or ())
    for one in [*layers_to_observe(model, leaves, others)]:
        if one.qconfig is not None and type(one) is not DeQuantStub:
            one.activation_post_process = BOUNDED.get(type(one), one.qconfig.activation)()
            one.register_forward_hook(observe, prepend=True)
    return model


def layers_to_observe(model: Any, leaves: Any, others: set) -> Iterator[Any]:
    """The layers of certain classes: those without layers below them are of ``leaves``, the rest of ``others``, or
    several that are one.
    """
    waiting = [model]
    while waiting:
        one = waiting.pop()
        children = [*one.children()]
        whole = isinstance(one, _FusedModule) or type(one) in others or type(one) in BOUNDED
        if whole or (not children and type(one) in leaves):
            yield one
        else:
            waiting += [child for child in children if type(child) is not nn.Dropout]


def observe(module: Any, args: Any, output: Any) -> Any:
    """A hook behind a layer, that observes and rounds its result."""
    return module.activation_post_process(output)


def prepare_qat(model: Any, mapping: dict | None = None, inplace: bool = False) -> Any:
    """A model that is trained as if the weights and the results of its layers were integers.

    Layers that have a ``qconfig``, or are below a module that has, get fake-quantized weights, and their results pass
    through ``FakeQuantize``.

    Args:
        model: in training mode.
        mapping: for classes of layers those that they become; linear layers and convolutions if None.
        inplace: whether it is changed itself; a copy is otherwise, with parameters of its own.

    Raises:
        AssertionError: the model is in evaluation mode.

    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    >>> model.qconfig = torch.ao.quantization.get_default_qat_qconfig()
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     prepared = torch.ao.quantization.prepare_qat(model)
    >>> type(prepared[0]).__module__, prepared(torch.ones(1, 2)).shape
    ('tapegrad.ao.nn.qat', torch.Size([1, 3]))
    """
    if not model.training:
        raise AssertionError("prepare_qat only works on models in training mode")
    mapping = QAT_MODULES if mapping is None else mapping
    model = model if inplace else copy.deepcopy(model)
    propagate_qconfig_(model)
    convert(model, mapping, inplace=True, remove_qconfig=False)
    return prepare(model, inplace=True, observer_non_leaf_module_list=set(mapping.values()))


def convert(module: Any, mapping: dict | None = None, inplace: bool = False, remove_qconfig: bool = True) -> Any:
    """A model in which layers with a ``qconfig`` are replaced by those that ``mapping`` makes of them.

    Args:
        module: the model, which stays what it is itself.
        mapping: for classes of layers those that they become, which have ``from_float``.
        inplace: whether it is changed itself; a copy is otherwise.
        remove_qconfig: whether the modules lose their configurations.

    Raises:
        NotImplementedError: there is no mapping: integers are not computed with here.
    """
    if mapping is None:
        raise NotImplementedError(
            "convert: there are no layers of integers here; load the state dict into PyTorch's model, and convert that"
        )
    module = module if inplace else copy.deepcopy(module)
    for parent in [*module.modules()]:
        for name, child in () if isinstance(parent, _FusedModule) else [*parent.named_children()]:
            if getattr(child, "qconfig", None) is not None and type(child) in mapping:
                parent._modules[name] = swapped(child, mapping[type(child)])
    for one in module.modules() if remove_qconfig else ():
        if hasattr(one, "qconfig"):
            del one.qconfig
    return module


def swapped(module: Module, kind: Any) -> Any:
    """A layer made of another one, with its hooks."""
    made = kind.from_float(module)
    for hook in module._forward_pre_hooks.values():
        made.register_forward_pre_hook(hook)
    for hook in module._forward_hooks.values():
        if hook is not observe:
            made.register_forward_hook(hook)
    return made
