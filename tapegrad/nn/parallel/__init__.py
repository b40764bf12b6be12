"""``torch.nn.parallel``: a module on the one device that there is, or on those of all processes."""

from tapegrad.declaring import on_demand

from tapegrad.nn.parallel.data_parallel import DataParallel, data_parallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]

__getattr__, __dir__ = on_demand(
    "tapegrad.nn.parallel", DistributedDataParallel="tapegrad.distributed.data_parallel"
)
