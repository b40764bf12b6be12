"""``torch.cuda.amp``: the deprecated names of what ``torch.amp`` has."""

from tapegrad.amp.deprecated import CUDA, custom_bwd, custom_fwd

autocast, GradScaler = CUDA

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]
