"""``torch.jit``: what programs decorate for TorchScript runs as Python. Nothing is defined here."""

from tapegrad.functions.scripting import *  # noqa: F403
from tapegrad.functions.scripting import __all__  # noqa: F401
