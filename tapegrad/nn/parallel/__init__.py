"""``torch.nn.parallel``: a module on the one device that there is, or on those of all processes.

``DistributedDataParallel`` is of ``torch.distributed``, which is imported when somebody asks for it.
"""

from tapegrad._src.declaring import on_demand
from tapegrad.nn.parallel import distributed as distributed
from tapegrad.nn.parallel.data_parallel import DataParallel, data_parallel, parallel_apply, replicate
from tapegrad.nn.parallel.scatter_gather import gather, scatter

__getattr__, __dir__ = on_demand(__name__, {"tapegrad.nn.parallel.distributed": "DistributedDataParallel"})

__all__ = ["DataParallel", "data_parallel", "gather", "parallel_apply", "replicate", "scatter"]
