"""``torch.backends.mha``: whether modules of attention may take PyTorch's fast path for inference."""

_state = {"enabled": True}


def get_fastpath_enabled() -> bool:
    """Tell whether the fast path is allowed. Here it is no other computation, but gives 0 for padding as PyTorch's
    does."""
    return _state["enabled"]


def set_fastpath_enabled(value: bool) -> None:
    """Allow the fast path, or not."""
    _state["enabled"] = value
