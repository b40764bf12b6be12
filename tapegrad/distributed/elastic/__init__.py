"""``torch.distributed.elastic``: what scripts import of it. ``tapegrad.distributed.run`` starts processes."""

from tapegrad._src.absent import refusing

__getattr__ = refusing(__name__)
