"""The engine of the process. It has a module of its own because the graph, as users see it, asks it what runs now."""

from tapegrad._src.engine import Engine
from tapegrad._src.execution.array_functions.host import has_accelerator

engine = Engine(workers=has_accelerator)
"""The engine that runs every backward call of the process."""
