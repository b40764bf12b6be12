"""``torch._C._nn``: functions of networks where PyTorch has them in C++. Nothing is defined here."""

from tapegrad._C.native import functions_in
from tapegrad._src.functions.conversion import _parse_to

__all__ = ["_parse_to"]

__getattr__, __dir__ = functions_in("nn.functional", __name__, log_sigmoid="logsigmoid")
