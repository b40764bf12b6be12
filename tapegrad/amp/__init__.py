"""``torch.amp``: automatic mixed precision. See Note [Autocast] in ``casting.py``."""

from tapegrad._src.absent import refusing
from tapegrad.amp.autocast_mode import (
    _enter_autocast,
    _exit_autocast,
    autocast,
    custom_bwd,
    custom_fwd,
    is_autocast_available,
)
from tapegrad.amp.grad_scaler import GradScaler

__getattr__ = refusing(__name__)
__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
