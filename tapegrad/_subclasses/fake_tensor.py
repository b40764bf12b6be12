"""``torch._subclasses.fake_tensor``: no tensor is a fake one here; ``device="meta"`` has shapes without values."""

from __future__ import annotations

from typing import Any

__all__ = ["FakeTensor", "FakeTensorMode", "is_fake"]


class FakeTensor:
    """The class of tensors that PyTorch's compiler traces with; here nothing is one."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f'{cls.__name__}: shapes without values are those of tensors on device="meta"')


class FakeTensorMode(FakeTensor):
    """Under which PyTorch makes such tensors."""


def is_fake(x: object) -> bool:
    """False: no tensor is one.

    >>> is_fake(torch.ones(2))
    False
    """
    return False
