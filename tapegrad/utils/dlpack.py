"""``torch.utils.dlpack``: data shared with other libraries. Nothing is defined here."""

from tapegrad._src.functions.dlpack import from_dlpack, to_dlpack

__all__ = ["from_dlpack", "to_dlpack"]
