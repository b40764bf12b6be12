"""``torch.distributed``: many devices and many processes. What carries it is jax: see Notes [Layouts], [Processes]."""

from tapegrad.distributed import checkpoint, data_parallel, device_mesh, distributed_c10d, fsdp, tensor
from tapegrad.distributed.device_mesh import DeviceMesh, init_device_mesh
from tapegrad.distributed.distributed_c10d import (
    ReduceOp,
    all_gather,
    all_gather_into_tensor,
    all_gather_object,
    all_reduce,
    all_to_all,
    all_to_all_single,
    barrier,
    broadcast,
    broadcast_object_list,
    destroy_process_group,
    get_backend,
    get_rank,
    get_world_size,
    init_process_group,
    is_available,
    is_initialized,
    reduce_scatter,
    reduce_scatter_tensor,
)
from tapegrad.distributed.peers import DistBackendError, DistError, DistNetworkError, DistStoreError
from tapegrad.distributed.store import TCPStore

__all__ = [
    "DeviceMesh", "DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "ReduceOp", "TCPStore", "all_gather", "all_gather_into_tensor", "all_gather_object", "all_reduce",
    "all_to_all", "all_to_all_single", "barrier", "broadcast", "broadcast_object_list", "checkpoint", "data_parallel",
    "destroy_process_group", "device_mesh", "distributed_c10d", "fsdp", "get_backend", "get_rank", "get_world_size",
    "init_device_mesh", "init_process_group", "is_available", "is_initialized", "reduce_scatter",
    "reduce_scatter_tensor", "tensor",
]  # fmt: skip
