"""``torch.quantization``, the older name of ``torch.ao.quantization``."""

from tapegrad._src.absent import refusing
from tapegrad.ao.quantization import *  # noqa: F403
from tapegrad.ao.quantization import __all__ as __all__

__getattr__ = refusing(__name__)
