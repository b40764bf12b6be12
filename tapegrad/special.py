"""``torch.special``: the functions that are declared for it in ``functions/``."""

from tapegrad.bindings.registry import NAMESPACES

globals().update(NAMESPACES["special"])
__all__ = sorted(NAMESPACES["special"])  # noqa: PLE0605 - filled by declarations
