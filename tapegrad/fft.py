"""``torch.fft``: the functions that are declared for it in ``functions/``."""

from tapegrad._src.bindings.declaration.registry import NAMESPACES

globals().update(NAMESPACES["fft"])
__all__ = sorted(NAMESPACES["fft"])  # noqa: PLE0605 - filled by declarations
