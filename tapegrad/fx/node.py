"""``torch.fx.node``. Nothing is defined here."""

from tapegrad.fx import Node

__all__ = ["Node"]
