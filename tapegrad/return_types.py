"""``torch.return_types``. Nothing is defined here."""

from tapegrad._src.absent import refusing
from tapegrad._src.bindings.return_types import *  # noqa: F403

__getattr__ = refusing(__name__)
