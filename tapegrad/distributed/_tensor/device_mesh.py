"""``torch.distributed._tensor.device_mesh``: where devices in a mesh were before. Nothing is defined here."""

from tapegrad.distributed.device_mesh import DeviceMesh, init_device_mesh

__all__ = ["DeviceMesh", "init_device_mesh"]
