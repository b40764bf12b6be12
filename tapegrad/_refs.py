"""``torch._refs``: PyTorch's functions, written in terms of a few of them. Here each is itself.

Nothing is defined here.
"""

from tapegrad._src.bindings.declaration.registry import functions_of_torch

__getattr__, __dir__ = functions_of_torch(__name__)
