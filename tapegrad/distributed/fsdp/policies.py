"""Policies that ``fully_shard`` is given besides the mesh."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributed.parts import each
from tapegrad.nn.modules.module import Module

__all__ = ["CPUOffloadPolicy", "MixedPrecisionPolicy", "OffloadPolicy"]


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """In which types a module computes; its parameters keep theirs.

    Attributes:
        param_dtype: what parameters are cast to.
        reduce_dtype: accepted: gradients are added up in the type in which they are computed.
        output_dtype: what results are cast to.
        cast_forward_inputs: whether arguments are cast to ``param_dtype``, too.
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Nothing is kept elsewhere."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Parameters are kept by the host. There is no such thing yet but where the host computes."""

    pin_memory: bool = True


def cast(tree: Any, dtype: Any) -> Any:
    """A tree with its floating tensors in another type."""
    return tree if dtype is None else each(lambda x: x.to(dtype) if x.is_floating_point() else x, tree)


@contextmanager
def parameters_cast(modules: list[Module], dtype: Any) -> Iterator[None]:
    """Let modules compute with their parameters in another type, inside."""
    kept: list[tuple[dict[str, Any], str, Tensor]] = []
    try:
        for module in modules if dtype is not None else ():
            for name, parameter in module._parameters.items():
                if parameter is not None and parameter.is_floating_point() and parameter.dtype != dtype:
                    kept.append((module._parameters, name, parameter))
                    module._parameters[name] = parameter.to(dtype)
        yield
    finally:
        for place, name, parameter in kept:
            place[name] = parameter
