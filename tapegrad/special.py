"""``torch.special``: the functions that are declared for it in ``functions/``."""

from tapegrad._src.bindings.declaration.registry import NAMESPACES

globals().update(NAMESPACES["special"])
__all__ = sorted(NAMESPACES["special"])  # noqa: PLE0605 - filled by declarations
