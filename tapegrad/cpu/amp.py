"""``torch.cpu.amp``: the deprecated names of what ``torch.amp`` has."""

from tapegrad.amp.deprecated import CPU

autocast, GradScaler = CPU

__all__ = ["GradScaler", "autocast"]
