"""``torch.utils.data._utils``: the pieces of which a loader is made, under PyTorch's names."""

from tapegrad.utils.data._utils import collate, fetch, pin_memory, worker
from tapegrad.utils.data._utils.worker import ExceptionWrapper
