"""``torch.testing``: what tests of programs need."""

from tapegrad.testing.comparison import assert_close
from tapegrad.testing.creation import make_tensor

__all__ = ["assert_close", "make_tensor"]
