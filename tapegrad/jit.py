"""``torch.jit``: what programs decorate for TorchScript runs as Python. Nothing is defined here."""

from tapegrad.bindings.scripting import *  # noqa: F403
from tapegrad.bindings.scripting import __all__  # noqa: F401
