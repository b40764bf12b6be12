"""``torch.optim.adamw``: where PyTorch has ``AdamW``."""

from tapegrad.declaring import on_demand
from tapegrad.optim.adam import AdamW as AdamW

__getattr__, _ = on_demand(__name__, {"tapegrad.optim._functional": "adamw"})
