"""``torch.utils.tensorboard.writer``: where PyTorch defines ``SummaryWriter``, and libraries look for it."""

from tapegrad.utils.tensorboard import SummaryWriter

__all__ = ["SummaryWriter"]
