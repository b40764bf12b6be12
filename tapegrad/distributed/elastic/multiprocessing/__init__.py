"""``torch.distributed.elastic.multiprocessing``: what scripts import of it."""

from tapegrad._src.absent import refusing

__getattr__ = refusing(__name__)
