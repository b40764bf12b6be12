"""``torch.functional``: functions of ``torch`` by their old home. Nothing is defined here."""

from tapegrad._src.bindings.declaration.registry import NAMESPACES

globals().update(NAMESPACES["functional"])
__all__ = sorted(NAMESPACES["functional"])  # noqa: PLE0605 - filled by declarations
