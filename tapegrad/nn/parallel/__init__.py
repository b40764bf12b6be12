"""``torch.nn.parallel``: a module on the one device that there is, or on those of all processes.

``DistributedDataParallel`` comes with ``torch.distributed``, which is imported when somebody asks for it.
"""

from tapegrad.declaring import on_demand
from tapegrad.nn.parallel.data_parallel import DataParallel, data_parallel
from tapegrad.nn.parallel.scatter_gather import gather, scatter

__getattr__, __dir__ = on_demand(__name__, DistributedDataParallel="tapegrad.distributed.data_parallel")

__all__ = ["DataParallel", "data_parallel", "gather", "scatter"]
