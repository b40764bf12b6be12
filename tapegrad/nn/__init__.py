"""``torch.nn``: so far its functional part, and ``Parameter`` and ``Buffer``; modules will build on them."""

from tapegrad.absent import refusing
from tapegrad.nn import functional, init
from tapegrad.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__getattr__ = refusing(__name__)

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "functional", "init"]
