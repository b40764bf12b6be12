"""``torch._subclasses.fake_tensor``: no tensor is a fake one here; ``device="meta"`` has shapes without values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tapegrad._src.absent import refusing

__getattr__ = refusing(__name__)
__all__ = ["FakeTensor", "FakeTensorMode", "is_fake", "unset_fake_temporarily"]


class FakeTensor:
    """The class of tensors that PyTorch's compiler traces with; here nothing is one."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f'{cls.__name__}: shapes without values are those of tensors on device="meta"')


class FakeTensorMode(FakeTensor):
    """Under which PyTorch makes such tensors."""


@contextmanager
def unset_fake_temporarily() -> Iterator[None]:
    """A context in which no mode makes such tensors, as ever."""
    yield


def is_fake(x: object) -> bool:
    """False: no tensor is one.

    >>> is_fake(torch.ones(2))
    False
    """
    return False
