"""``torch.linalg``: the functions that are declared for it in ``functions/``."""

from tapegrad._src.bindings.declaration.registry import NAMESPACES
from tapegrad.errors import LinAlgError as LinAlgError

globals().update(NAMESPACES["linalg"])
__all__ = sorted([*NAMESPACES["linalg"], "LinAlgError"])  # noqa: PLE0605 - filled by declarations
