"""``torch.distributed.checkpoint``: files to which each process writes what it has, and from which any mesh reads."""

from tapegrad.distributed.checkpoint import state_dict, stateful
from tapegrad.distributed.checkpoint.files import FileSystemReader, FileSystemWriter, async_save, load, save

__all__ = ["FileSystemReader", "FileSystemWriter", "async_save", "load", "save", "state_dict", "stateful"]
