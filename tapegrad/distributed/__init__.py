"""``torch.distributed``: many devices and many processes. What carries it is jax: see Notes [Layouts], [Processes]."""

from tapegrad._src.declaring import on_demand
from tapegrad.distributed import checkpoint, data_parallel, device_mesh, distributed_c10d, fsdp, nn, tensor
from tapegrad.distributed.device_mesh import DeviceMesh, init_device_mesh
from tapegrad.distributed.distributed_c10d import *  # noqa: F403
from tapegrad.distributed.distributed_c10d import __all__ as _names
from tapegrad.distributed.distributed_c10d import _rank_not_in_group as _rank_not_in_group
from tapegrad.distributed.store import Store, TCPStore

__getattr__, __dir__ = on_demand(__name__, {"tapegrad.distributed": "algorithms autograd elastic launch optim rpc"})

__all__ = [  # noqa: PLE0604 - a list of names
    "DeviceMesh", "Store", "TCPStore", "checkpoint", "data_parallel", "device_mesh", "distributed_c10d", "fsdp",
    "init_device_mesh", "nn", "tensor", *_names,
]  # fmt: skip
