"""``torch._tensor``: where PyTorch has the class ``Tensor``. Nothing is defined here."""

from tapegrad._src.absent import refusing
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.serialization.rebuild import _rebuild_from_type_v2

__getattr__ = refusing(__name__)
__all__ = ["Tensor", "_rebuild_from_type_v2"]
