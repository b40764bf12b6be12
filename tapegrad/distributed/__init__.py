"""``torch.distributed``: many devices and many processes. What carries it is jax: see Note [Layouts]."""

from tapegrad.distributed import device_mesh, tensor
from tapegrad.distributed.device_mesh import DeviceMesh, init_device_mesh

__all__ = ["DeviceMesh", "device_mesh", "init_device_mesh", "tensor"]
