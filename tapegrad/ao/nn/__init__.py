"""``torch.ao.nn``: layers whose weights are fake-quantized."""

from tapegrad._src.absent import refusing
from tapegrad.ao.nn import intrinsic, qat

__getattr__ = refusing(__name__)
__all__ = ["intrinsic", "qat"]
