"""``torch.cuda``: what programs ask of it before they choose a device; the accelerator is whatever JAX calls a GPU."""

from tapegrad.functions.registry import NAMESPACES

globals().update(NAMESPACES["cuda"])
__all__ = sorted(NAMESPACES["cuda"])  # noqa: PLE0605 - filled by declarations
