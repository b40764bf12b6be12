"""``torch.cuda.amp.grad_scaler``: where PyTorch has the deprecated name of ``torch.amp.GradScaler``."""

from tapegrad.amp.grad_scaler import OptState
from tapegrad.cuda.amp import GradScaler

__all__ = ["GradScaler", "OptState"]
