"""``torch.testing._internal``: what tests of libraries import of it."""

from tapegrad._src.absent import refusing

__getattr__ = refusing(__name__)
