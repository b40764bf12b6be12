"""``torch.testing``: what tests of programs need."""

from tapegrad.testing.comparison import assert_close
from tapegrad.testing.creation import make_tensor
from tapegrad.testing.deprecated import assert_allclose

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
