"""``torch._subclasses.functional_tensor``: no tensor is one of PyTorch's functionalization here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tapegrad._src.tensor.tensor import Tensor

__all__ = ["FunctionalTensor", "FunctionalTensorMode", "disable_functional_mode", "mb_unwrap_functional_tensor"]


class FunctionalTensor:
    """The class of tensors whose writes PyTorch's compiler replaces; here nothing is one.

    >>> isinstance(torch.ones(1), FunctionalTensor)
    False
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{cls.__name__} is not in tapegrad (yet): torch.func.functionalize is the function")


class FunctionalTensorMode(FunctionalTensor):
    """Under which PyTorch makes such tensors."""


@contextmanager
def disable_functional_mode() -> Iterator[None]:
    """A context in which no such mode is on, as ever."""
    yield


def mb_unwrap_functional_tensor(tensor: Tensor) -> Tensor:
    """The tensor itself.

    >>> mb_unwrap_functional_tensor(torch.ones(1))
    tensor([1.])
    """
    return tensor
