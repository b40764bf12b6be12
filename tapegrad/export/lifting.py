"""The tensors of a module that its program takes: parameters, buffers, constants; and changes of them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.export.graph_signature import InputKind
from tapegrad.func.modules import exchange, owner_of
from tapegrad.nn import Module

PREFIXES = {InputKind.PARAMETER: "p_", InputKind.BUFFER: "b_", InputKind.CONSTANT_TENSOR: "c_"}
"""The prefixes of the names of a module's tensors."""


class Owned(NamedTuple):
    """A tensor of a module.

    Attributes:
        kind: what it is.
        target: where it is.
        tensor: the tensor.
        persistent: of a buffer, whether it is in the state dict.
    """

    kind: InputKind
    target: str
    tensor: Tensor
    persistent: bool | None = None


def owned_by(module: Module) -> list[Owned]:
    """All tensors of a module, in the order in which a program takes them; of constants not all may be used."""
    saved = set(module.state_dict())
    parameters = [
        Owned(InputKind.PARAMETER, name, tensor) for name, tensor in module.named_parameters(remove_duplicate=False)
    ]
    buffers = [
        Owned(InputKind.BUFFER, name, tensor, name in saved)
        for name, tensor in module.named_buffers(remove_duplicate=False)
    ]
    constants = [Owned(InputKind.CONSTANT_TENSOR, name, tensor) for name, tensor in attributes_of(module)]
    return [*parameters, *buffers, *constants]


def attributes_of(module: Module) -> Iterator[tuple[str, Tensor]]:
    """The tensors that are plain attributes of a module or of one below it."""
    for path, below in module.named_modules():
        for name, value in vars(below).items():
            if isinstance(value, Tensor):
                yield f"{path}.{name}" if path else name, value


def snapshot(module: Module) -> Module:
    """A module as it is now, with the same tensors: what is done to the other doesn't change this one.

    Of one that can't be copied it is the module itself.
    """
    memo = {id(one.tensor): one.tensor for one in owned_by(module)}
    with suppress(Exception):
        return copy.deepcopy(module, memo)
    return module


class Exchanged:
    """The tensors of a module, in whose place others are for a while.

    Args:
        module: the module.
        owned: its tensors.
        others: as many to put in their place.
    """

    def __init__(self, module: Module, owned: list[Owned], others: list[Tensor]) -> None:
        self.module, self.owned, self.others = module, owned, others

    def __enter__(self) -> Exchanged:
        self.before = [(below, dict(vars(below)), dict(below._parameters), dict(below._buffers))
                       for below in self.module.modules()]  # fmt: skip
        for one, other in zip(self.owned, self.others, strict=True):
            exchange(owner_of(self.module, one.target), one.target.rpartition(".")[2], other)
        return self

    def now(self) -> list[Tensor]:
        """The tensors that are in these places now."""
        return [attribute(self.module, one.target) for one in self.owned]

    def __exit__(self, *error: object) -> None:
        targets = {one.target.rpartition(".")[2] for one in self.owned}
        for below, attributes, parameters, buffers in self.before:
            if error[0] is None:
                for name in assigned(below, attributes) - targets:
                    warn(
                        f"The tensor attribute self.{name} was assigned during export. Such attributes must be "
                        "registered as buffers using the `register_buffer` API (https://pytorch.org/docs/stable/"
                        "generated/torch.nn.Module.html#torch.nn.Module.register_buffer)."
                    )  # fmt: skip
            for kept, saved in ((vars(below), attributes), (below._parameters, parameters), (below._buffers, buffers)):
                kept.clear()
                kept.update(saved)


def assigned(module: Module, before: dict[str, Any]) -> set[str]:
    """The names of attributes of a module that are tensors, and were none of them before."""
    return {
        name for name, value in vars(module).items() if isinstance(value, Tensor) and before.get(name) is not value
    }


def attribute(module: Any, target: str) -> Any:
    """The attribute of a module at a place: ``"layer.weight"``."""
    return getattr(owner_of(module, target), target.rpartition(".")[2])


