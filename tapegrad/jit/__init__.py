"""``torch.jit``: what programs decorate for TorchScript runs as Python. Nothing is defined here."""

from tapegrad.bindings.scripting import *  # noqa: F403
from tapegrad.bindings.scripting import __all__
from tapegrad.declaring import on_demand

__getattr__, __dir__ = on_demand(__name__, {__name__: "annotations"})
del on_demand
