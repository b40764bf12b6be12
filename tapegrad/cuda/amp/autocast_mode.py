"""``torch.cuda.amp.autocast_mode``: where PyTorch has the deprecated names of what ``torch.amp`` has."""

from tapegrad.cuda.amp import autocast, custom_bwd, custom_fwd

__all__ = ["autocast", "custom_bwd", "custom_fwd"]
