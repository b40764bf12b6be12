"""Questions that libraries ask PyTorch's core, and the answers: see ``torch._C``."""

from __future__ import annotations

import weakref

from tapegrad._src.execution.data.devices import get_default_device
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.tensor import Tensor


class _WeakTensorRef:
    """A reference to a tensor that does not keep it alive, and says whether it still lives.

    Args:
        tensor: the tensor.

    Raises:
        TypeError: it is none.
    """

    __slots__ = ("_reference",)

    def __init__(self, tensor: Tensor) -> None:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"expected a tensor, but got {type(tensor).__name__}")
        self._reference = weakref.ref(tensor)

    def expired(self) -> bool:
        """Tell whether the tensor is gone."""
        return self._reference() is None


def _log_api_usage_once(event: str) -> None:
    """Nothing is counted, and nobody told."""


def _get_tracing_state() -> None:
    """None: nothing is traced for TorchScript."""


def _is_tracing() -> bool:
    """False: nothing is traced for TorchScript."""
    return False


def _get_default_device() -> str:
    """The device on which tensors are made, as text."""
    return str(get_default_device())


def _are_functorch_transforms_active() -> bool:
    """Tell whether a function transform is running."""
    return bool(thread.modes.level)


def _is_any_autocast_enabled() -> bool:
    """Tell whether arguments are cast now, on any type of device: modules must not refuse what will be."""
    return bool(thread.modes.autocast)


def _is_torch_function_mode_enabled() -> bool:
    """Tell whether a mode gets the calls of functions."""
    return thread.modes.function_modes


def _is_torch_function_enabled() -> bool:
    """Tell whether classes may override functions."""
    return thread.modes.torch_function
