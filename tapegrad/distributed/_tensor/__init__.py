"""``torch.distributed._tensor``: what ``torch.distributed.tensor`` was called before."""

from tapegrad.distributed.tensor import *  # noqa: F403
from tapegrad.distributed.tensor import __all__ as __all__
