"""``torch.distributed.tensor``: tensors that are spread over a mesh of devices. See ``dtensor.py``."""

from tapegrad.distributed.device_mesh import DeviceMesh, init_device_mesh
from tapegrad.distributed.tensor import experimental, placement_types
from tapegrad.distributed.tensor.dtensor import DTensor, distribute_tensor
from tapegrad.distributed.tensor.factories import empty, full, ones, rand, randn, zeros
from tapegrad.distributed.tensor.modules import distribute_module
from tapegrad.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

__all__ = [
    "DTensor", "DeviceMesh", "Partial", "Placement", "Replicate", "Shard", "distribute_module", "distribute_tensor",
    "empty", "experimental", "full", "init_device_mesh", "ones", "placement_types", "rand", "randn", "zeros",
]  # fmt: skip
