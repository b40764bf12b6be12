"""``torch.optim.adamw``: where PyTorch has ``AdamW``."""

from tapegrad.optim.adam import AdamW as AdamW
from tapegrad.optim.adam import adamw as adamw
