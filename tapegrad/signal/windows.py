"""``torch.signal.windows``: the functions that are declared for it in ``functions/``."""

from tapegrad._src.bindings.declaration.registry import NAMESPACES

globals().update(NAMESPACES["signal.windows"])
__all__ = sorted(NAMESPACES["signal.windows"])  # noqa: PLE0605 - filled by declarations
