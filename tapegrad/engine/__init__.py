"""The engine: executes the backward graph. Blind to arrays, tensors and operators; see ``engine.py``."""

from tapegrad.engine.currency import on_values
from tapegrad.engine.engine import Engine, GraphRoot
from tapegrad.engine.graph_task import ExecInfo, GraphTask, InputBuffer

__all__ = ["Engine", "ExecInfo", "GraphRoot", "GraphTask", "InputBuffer", "on_values"]
