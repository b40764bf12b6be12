"""``torch.library``: operators that programs register. Nothing is defined here."""

from tapegrad.absent import refusing
from tapegrad.autograd.custom_ops import (
    CustomOpDef,
    custom_op,
    infer_schema,
    register_autograd,
    register_fake,
    register_kernel,
    register_vmap,
)

__getattr__ = refusing(__name__)

__all__ = [
    "CustomOpDef", "custom_op", "infer_schema", "register_autograd", "register_fake", "register_kernel",
    "register_vmap",
]  # fmt: skip
