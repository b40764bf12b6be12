"""Private names that libraries reach for, where PyTorch has them. Nothing is defined here."""

from types import SimpleNamespace

from tapegrad.dispatch import AccumulateGrad, DelayedError
from tapegrad.errors import LinAlgError as _LinAlgError
from tapegrad.functions.subclass import (
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    _disabled_torch_function_impl,
)
from tapegrad.tape.node import Node as _Node

_functions = SimpleNamespace(AccumulateGrad=AccumulateGrad, DelayedError=DelayedError)

__all__ = [
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "_LinAlgError",
    "_Node",
    "_disabled_torch_function_impl",
    "_functions",
]
