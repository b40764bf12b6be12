"""``torch.distributed``: many devices and many processes. What carries it is jax: see Notes [Layouts], [Processes]."""

from tapegrad.declaring import on_demand
from tapegrad.distributed import device_mesh, distributed_c10d, tensor
from tapegrad.distributed.device_mesh import DeviceMesh, init_device_mesh
from tapegrad.distributed.distributed_c10d import *  # noqa: F403
from tapegrad.distributed.distributed_c10d import __all__ as _of_processes
from tapegrad.distributed.store import TCPStore

__getattr__, __dir__ = on_demand("tapegrad.distributed", fsdp="tapegrad.distributed.fsdp")

__all__ = ["DeviceMesh", "TCPStore", "device_mesh", "distributed_c10d", "init_device_mesh", "tensor", *_of_processes]
