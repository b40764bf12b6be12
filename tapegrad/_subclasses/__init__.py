"""``torch._subclasses``: what imports ask of tensors without values. Those of ``device="meta"`` are such ones here."""

from tapegrad._subclasses.fake_tensor import FakeTensor, FakeTensorMode

__all__ = ["FakeTensor", "FakeTensorMode"]
