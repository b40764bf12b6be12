"""``torch.masked``: the functions that are declared for it in ``functions/``."""

from tapegrad.bindings.registry import NAMESPACES

globals().update(NAMESPACES["masked"])
__all__ = sorted(NAMESPACES["masked"])  # noqa: PLE0605 - filled by declarations
