"""``torch.linalg``: the functions that are declared for it in ``functions/``."""

from tapegrad.functions.registry import NAMESPACES

globals().update(NAMESPACES["linalg"])
__all__ = sorted(NAMESPACES["linalg"])  # noqa: PLE0605 - filled by declarations
