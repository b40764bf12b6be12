"""``torch.nn.parallel``: a module on the one device that there is, or on those of all processes.

``DistributedDataParallel`` comes with ``torch.distributed``, which is imported when somebody asks for it.
"""

from tapegrad.nn.parallel.data_parallel import DataParallel, data_parallel
from tapegrad.nn.parallel.scatter_gather import gather, scatter

__all__ = ["DataParallel", "data_parallel", "gather", "scatter"]
