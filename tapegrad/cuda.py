"""``torch.cuda``: what programs ask of it before they choose a device; the accelerator is whatever JAX calls a GPU."""

from tapegrad.absent import refusing
from tapegrad.functions.registry import NAMESPACES

globals().update(NAMESPACES["cuda"])
__getattr__ = refusing(__name__)
__all__ = sorted(NAMESPACES["cuda"])  # noqa: PLE0605 - filled by declarations
