"""Modules that mark where numbers would become integers, and where they would be numbers again."""

from __future__ import annotations

from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.nn.modules.module import Module

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper"]


class _Stub(Module):
    """A module that gives its input, as it is.

    Args:
        qconfig: of an observer that is put behind it; that of the module around if None.
    """

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Tensor) -> Tensor:
        """Give the input."""
        return x


class QuantStub(_Stub):
    """A module that gives its input, as it is; ``prepare_qat`` puts an observer behind it.

    Args:
        qconfig: of the observer; that of the module around if None.
    """


class DeQuantStub(_Stub):
    """A module that gives its input, as it is: it marks where integers would be numbers again.

    Args:
        qconfig: that of the module around if None.
    """


class QuantWrapper(Module):
    """A module between a ``QuantStub`` and a ``DeQuantStub``."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        qconfig = getattr(module, "qconfig", None)
        self.quant, self.dequant, self.module = QuantStub(qconfig), DeQuantStub(qconfig), module
        self.train(module.training)

    def forward(self, X: Tensor) -> Tensor:
        """The module's result."""
        return self.dequant(self.module(self.quant(X)))
