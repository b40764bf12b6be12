"""``torch.jit.annotations``: types that programs annotate with. Nothing is defined here."""

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035 - by these names

from tapegrad._src.absent import refusing
from tapegrad._src.bindings.scripting import BroadcastingList1, BroadcastingList2, BroadcastingList3
from tapegrad._src.tensor.tensor import Tensor

__getattr__ = refusing(__name__)
__all__ = [
    "Any", "BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "Dict", "List", "Optional", "Tensor", "Tuple",
    "Union",
]  # fmt: skip
