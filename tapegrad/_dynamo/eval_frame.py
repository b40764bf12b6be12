"""``torch._dynamo.eval_frame``. Nothing is defined here."""

from tapegrad._dynamo import OptimizedModule, explain, optimize, reset
from tapegrad.absent import refusing
from tapegrad.compiler import disable

__getattr__ = refusing(__name__)
__all__ = ["OptimizedModule", "disable", "explain", "optimize", "reset"]
