"""The names that ``autocast`` and ``GradScaler`` had for each type of device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad._src.execution.data.dtypes import bfloat16, dtype, float16
from tapegrad._src.warn import warn
from tapegrad.amp import autocast_mode, grad_scaler


def _warn(device: str, name: str, instead: str) -> None:
    warn(
        f"`torch.{device}.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}({instead})` instead.",
        FutureWarning,
    )


def autocast_for(device: str, low: dtype) -> type:
    """``torch.DEVICE.amp.autocast``: that of ``torch.amp`` for one type of device."""

    class autocast(autocast_mode.autocast):
        __doc__ = f'Deprecated: ``torch.amp.autocast("{device}", ...)``.'

        def __init__(self, enabled: bool = True, dtype: dtype = low, cache_enabled: bool = True) -> None:
            _warn(device, "autocast", f"'{device}', args...")
            super().__init__(device, dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)

    return autocast


def scaler_for(device: str) -> type:
    """``torch.DEVICE.amp.GradScaler``: that of ``torch.amp`` for one type of device."""

    class GradScaler(grad_scaler.GradScaler):
        __doc__ = f'Deprecated: ``torch.amp.GradScaler("{device}", ...)``.'

        def __init__(
            self, init_scale: float = 2.0**16, growth_factor: float = 2.0, backoff_factor: float = 0.5,
            growth_interval: int = 2000, enabled: bool = True,
        ) -> None:  # fmt: skip
            _warn(device, "GradScaler", f"'{device}', args...")
            super().__init__(device, init_scale, growth_factor, backoff_factor, growth_interval, enabled)

    return GradScaler


def custom_fwd(fwd: Callable | None = None, *, cast_inputs: dtype | None = None) -> Any:
    """Deprecated: ``torch.amp.custom_fwd(..., device_type="cuda")``."""
    _warn("cuda", "custom_fwd", "args..., device_type='cuda'")
    return autocast_mode.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable) -> Any:
    """Deprecated: ``torch.amp.custom_bwd(..., device_type="cuda")``."""
    _warn("cuda", "custom_bwd", "args..., device_type='cuda'")
    return autocast_mode.custom_bwd(bwd, device_type="cuda")


CUDA = autocast_for("cuda", float16), scaler_for("cuda")
CPU = autocast_for("cpu", bfloat16), scaler_for("cpu")
