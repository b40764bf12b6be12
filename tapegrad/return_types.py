"""``torch.return_types``. Nothing is defined here."""

from tapegrad.absent import refusing
from tapegrad.bindings.return_types import *  # noqa: F403

__getattr__ = refusing(__name__)
