"""``torch.utils.tensorboard``: what is logged for TensorBoard is written by the package tensorboardX."""

from __future__ import annotations

from typing import Any

from tapegrad._src.tensor.tensor import Tensor

try:
    from tensorboardX import SummaryWriter as _Writer
except ModuleNotFoundError as error:
    if error.name != "tensorboardX":
        raise
    raise ModuleNotFoundError(
        "torch.utils.tensorboard writes with the package tensorboardX, which is not installed: "
        "pip install 'tapegrad[tensorboard]'",
        name="tensorboardX",
    ) from None


def _plain(value: Any) -> Any:
    """A value with the tensors in it as arrays, which is what the package takes."""
    if isinstance(value, Tensor):
        value = value.detach().cpu()
        return (value.float() if str(value.dtype) in ("torch.bfloat16", "torch.float16") else value).numpy()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return type(value)(map(_plain, value)) if type(value) in (list, tuple) else value


class SummaryWriter(_Writer):
    """tensorboardX's writer of events, whose ``add_*`` methods take tensors."""

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if not name.startswith("add_") or not callable(found):
            return found

        def add(*args: Any, **kwargs: Any) -> Any:
            return found(*map(_plain, args), **{key: _plain(arg) for key, arg in kwargs.items()})

        return add


__all__ = ["SummaryWriter"]
