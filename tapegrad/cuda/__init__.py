"""``torch.cuda``: what programs ask of it before they choose a device; the accelerator is whatever JAX calls a GPU."""

from tapegrad.bindings.registry import NAMESPACES
from tapegrad.declaring import on_demand

globals().update(NAMESPACES["cuda"])
__getattr__, __dir__ = on_demand(__name__, amp="tapegrad.cuda.amp")
del on_demand
__all__ = sorted(NAMESPACES["cuda"])  # noqa: PLE0605 - filled by declarations
