"""``torch.distributed.algorithms``: what libraries import of it. There is nothing to hook into: see ``join.py``."""

from tapegrad._src.absent import refusing

__getattr__ = refusing(__name__)
