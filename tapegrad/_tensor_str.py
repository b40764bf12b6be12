"""``torch._tensor_str``: how tensors are printed. Nothing is defined here."""

from tapegrad._src.absent import refusing
from tapegrad._src.bindings.protocols import _tensor_str
from tapegrad._src.tensor.printing import PRINT_OPTS, get_printoptions, printoptions, set_printoptions

__getattr__ = refusing(__name__)

__all__ = ["PRINT_OPTS", "_tensor_str", "get_printoptions", "printoptions", "set_printoptions"]
