"""``torch.distributed._tensor.experimental``: what ``torch.distributed.tensor.experimental`` was called before."""

from tapegrad.distributed.tensor.experimental import *  # noqa: F403
from tapegrad.distributed.tensor.experimental import __all__ as __all__
