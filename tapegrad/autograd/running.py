"""The engine of the process. It has a module of its own because the graph, as users see it, asks it what runs now."""

from tapegrad.engine import Engine
from tapegrad.execution.host import has_accelerator

engine = Engine(workers=has_accelerator)
"""The engine that runs every backward call of the process."""
