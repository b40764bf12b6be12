"""``torch._functorch``: function transforms under the names that they have inside PyTorch. See ``tapegrad.func``."""

from tapegrad.absent import refusing

__getattr__ = refusing(__name__)
