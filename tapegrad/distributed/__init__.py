"""``torch.distributed``: many devices and many processes. What carries it is jax: see Notes [Layouts], [Processes]."""

from tapegrad.distributed import checkpoint, device_mesh, distributed_c10d, fsdp, tensor
from tapegrad.distributed.data_parallel import DistributedDataParallel as _in_nn  # noqa: F401 - it is nn.parallel's
from tapegrad.distributed.device_mesh import DeviceMesh, init_device_mesh
from tapegrad.distributed.distributed_c10d import *  # noqa: F403
from tapegrad.distributed.distributed_c10d import __all__ as _of_processes
from tapegrad.distributed.store import TCPStore

__all__ = ["DeviceMesh", "TCPStore", "checkpoint", "device_mesh", "distributed_c10d", "fsdp", "init_device_mesh", "tensor",
    *_of_processes,]
