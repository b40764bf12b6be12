"""The engine: executes the backward graph. Blind to arrays, tensors and operators; see ``engine.py``."""

from tapegrad.engine.currency import on_values
from tapegrad.engine.engine import Engine, GraphRoot
from tapegrad.engine.graph_task import Capture, ExecInfo, GraphTask
from tapegrad.engine.queue import InputBuffer, NodeTask, ReadyQueue

__all__ = [
    "Capture",
    "Engine",
    "ExecInfo",
    "GraphRoot",
    "GraphTask",
    "InputBuffer",
    "NodeTask",
    "ReadyQueue",
    "on_values",
]
