"""``torch.accelerator``: what programs ask of a device before they choose it, whatever its type. Nothing is defined
here."""

from tapegrad._src.bindings.declaration.registry import NAMESPACES

globals().update(NAMESPACES["accelerator"])
__all__ = sorted(NAMESPACES["accelerator"])  # noqa: PLE0605 - filled by declarations
