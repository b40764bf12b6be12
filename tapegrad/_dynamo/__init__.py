"""``torch._dynamo``: what libraries ask of PyTorch's tracer, which is not here. Nothing is defined here."""

from tapegrad.absent import refusing
from tapegrad.compiler import Compiled as OptimizedModule
from tapegrad.compiler import (
    allow_in_graph,
    assume_constant_result,
    disable,
    explain,
    is_compiling,
    list_backends,
    reset,
)

__getattr__ = refusing(__name__)
__all__ = [
    "OptimizedModule", "allow_in_graph", "assume_constant_result", "disable", "explain", "is_compiling",
    "list_backends", "reset",
]  # fmt: skip
