"""The engine: executes the backward graph. Blind to arrays, tensors and operators; see ``engine.py``."""

from tapegrad._src.engine.engine import Engine, GraphRoot
from tapegrad._src.engine.gradient_ops import on_values
from tapegrad._src.engine.graph_task import ExecInfo, GraphTask, InputBuffer

__all__ = ["Engine", "ExecInfo", "GraphRoot", "GraphTask", "InputBuffer", "on_values"]
