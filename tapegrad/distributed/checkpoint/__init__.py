"""``torch.distributed.checkpoint``: files to which each process writes what it has, and from which any mesh reads."""

from tapegrad._src.absent import refusing
from tapegrad.distributed.checkpoint import state_dict, stateful
from tapegrad.distributed.checkpoint.files import FileSystemReader, FileSystemWriter, async_save, load, save

__getattr__ = refusing(__name__)
load_state_dict, save_state_dict = load, save  # as they were called before
__all__ = [
    "FileSystemReader", "FileSystemWriter", "async_save", "load", "load_state_dict", "save",
    "save_state_dict", "state_dict", "stateful",
]  # fmt: skip
