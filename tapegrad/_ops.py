"""``torch._ops``: the classes of operators' identities. Nothing is defined here."""

from tapegrad._src.absent import refusing
from tapegrad.ops.overloads import OpNamespace as _OpNamespace
from tapegrad.ops.overloads import OpOverload, OpOverloadPacket

__getattr__ = refusing(__name__)
__all__ = ["OpOverload", "OpOverloadPacket", "_OpNamespace"]
