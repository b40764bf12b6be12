"""The whole-step compiler: an imperative step becomes one XLA program."""

from tapegrad._src.absent import refusing
from tapegrad.compiler.annotations import (
    allow_in_graph,
    assume_constant_result,
    cudagraph_mark_step_begin,
    disable,
    is_compiling,
    is_dynamo_compiling,
    is_exporting,
    list_backends,
    reset,
    set_stance,
)
from tapegrad.compiler.capture.capture import DataDependentError
from tapegrad.compiler.explanation import explain
from tapegrad.compiler.step import Compiled, compile

__getattr__ = refusing(__name__)
