"""``torch.ao.nn.intrinsic``: layers in a row that count as one, and in ``qat`` those with fake-quantized weights."""

from tapegrad._src.absent import refusing
from tapegrad.ao.nn.intrinsic import fused, qat
from tapegrad.ao.nn.intrinsic.fused import *  # noqa: F403
from tapegrad.ao.nn.intrinsic.fused import _FusedModule as _FusedModule

__getattr__ = refusing(__name__)
__all__ = [*fused.__all__, "qat"]  # noqa: PLE0604
