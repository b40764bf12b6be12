"""``torch.nn.parallel``: a module on the one device that there is."""

from tapegrad.nn.parallel.data_parallel import DataParallel, data_parallel

__all__ = ["DataParallel", "data_parallel"]
