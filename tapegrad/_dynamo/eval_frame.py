"""``torch._dynamo.eval_frame``. Nothing is defined here."""

from tapegrad._dynamo.decorators import is_dynamo_supported, optimize, run
from tapegrad._src.absent import refusing
from tapegrad.compiler import disable, explain, reset
from tapegrad.nn.modules.optimized import OptimizedModule

__getattr__ = refusing(__name__)
__all__ = ["OptimizedModule", "disable", "explain", "is_dynamo_supported", "optimize", "reset", "run"]
