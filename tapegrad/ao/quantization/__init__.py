"""``torch.ao.quantization``: fake quantization, observers, and models that are trained with them."""

from tapegrad._src.absent import refusing
from tapegrad.ao.quantization import fake_quantize, fuser_method_mappings, observer, qconfig, quantize, stubs
from tapegrad.ao.quantization.fake_quantize import *  # noqa: F403
from tapegrad.ao.quantization.fuse_modules import fuse_modules, fuse_modules_qat
from tapegrad.ao.quantization.fuser_method_mappings import *  # noqa: F403
from tapegrad.ao.quantization.observer import *  # noqa: F403
from tapegrad.ao.quantization.qconfig import *  # noqa: F403
from tapegrad.ao.quantization.quantize import *  # noqa: F403
from tapegrad.ao.quantization.stubs import *  # noqa: F403

__getattr__ = refusing(__name__)
__all__ = [  # noqa: PLE0604
    *fake_quantize.__all__, *fuser_method_mappings.__all__, *observer.__all__, *qconfig.__all__, *quantize.__all__,
    *stubs.__all__, "fuse_modules", "fuse_modules_qat",
]  # fmt: skip
