"""``torch.nn.parallel.distributed``. Its class comes with ``torch.distributed``, when somebody asks for it."""

from tapegrad.declaring import on_demand

__getattr__, __dir__ = on_demand(__name__, DistributedDataParallel="tapegrad.distributed.data_parallel")
