"""The table of operators: a kernel and one formula per input each, in families. See ``operator.py``.

To users it is ``torch.ops``, where ``aten`` names operators as PyTorch does; see ``overloads.py``.
"""

from tapegrad.ops.overloads import aten, prim

__all__ = ["aten", "prim"]
