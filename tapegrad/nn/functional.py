"""``torch.nn.functional``: the functions that are declared for it in ``functions/``."""

from tapegrad.bindings.registry import NAMESPACES

globals().update(NAMESPACES["nn.functional"])
__all__ = sorted(NAMESPACES["nn.functional"])  # noqa: PLE0605 - filled by declarations
