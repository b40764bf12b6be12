"""Tools around tensors that need nothing but their public surface."""

from tapegrad.absent import refusing
from tapegrad.utils import _python_dispatch, checkpoint, dlpack, hooks
from tapegrad.utils.swapping import swap_tensors

__getattr__ = refusing(__name__)
