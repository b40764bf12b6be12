"""``torch.distributed.checkpoint``: files to which each process writes what it has, and from which any mesh reads."""

from tapegrad.distributed.checkpoint.files import load, save

__all__ = ["load", "save"]
