"""``torch._dynamo``: what libraries ask of PyTorch's tracer, which is not here. Nothing is defined here."""

from tapegrad._dynamo.backends.registry import lookup_backend, register_backend
from tapegrad._dynamo.decorators import *  # noqa: F403
from tapegrad._dynamo.decorators import __all__ as _names
from tapegrad._src.declaring import on_demand
from tapegrad.compiler import (
    allow_in_graph,
    assume_constant_result,
    disable,
    explain,
    is_compiling,
    list_backends,
    reset,
)
from tapegrad.nn.modules.optimized import OptimizedModule

reset_code_caches = reset

__getattr__, __dir__ = on_demand(__name__, {__name__: "backends config eval_frame exc testing"})
__all__ = [  # noqa: PLE0604 - a list of names
    "OptimizedModule", "allow_in_graph", "assume_constant_result", "disable", "explain", "is_compiling",
    "list_backends", "lookup_backend", "register_backend", "reset", "reset_code_caches",
    *_names,
]  # fmt: skip
