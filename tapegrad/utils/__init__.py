"""Tools around tensors that need nothing but their public surface."""

from tapegrad.utils import _python_dispatch, checkpoint, hooks
from tapegrad.utils.swapping import swap_tensors
