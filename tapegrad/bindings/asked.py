"""What libraries ask PyTorch's core, and what is to be said: see ``torch._C``."""

from __future__ import annotations

from tapegrad.execution.devices import get_default_device
from tapegrad.tape.modes import thread


def _log_api_usage_once(event: str) -> None:
    """Nothing is counted, and nobody told."""


def _get_tracing_state() -> None:
    """None: nothing is traced for TorchScript."""


def _get_default_device() -> str:
    """The device on which tensors are made, as text."""
    return str(get_default_device())


def _are_functorch_transforms_active() -> bool:
    """Whether a function transform is running."""
    return bool(thread.modes.level)


def _is_torch_function_mode_enabled() -> bool:
    """Whether a mode gets the calls of functions."""
    return thread.modes.function_modes
