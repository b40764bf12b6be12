"""``torch.library``: operators that programs register. Nothing is defined here."""

from tapegrad._src.absent import refusing
from tapegrad.autograd.custom_ops import CustomOpDef, custom_op, infer_schema
from tapegrad.autograd.libraries import (
    Library,
    _scoped_library,  # noqa: F401 - as PyTorch has it
    define,
    fallthrough_kernel,
    impl,
    register_autocast,
    register_autograd,
    register_fake,
    register_kernel,
    register_torch_dispatch,
    register_vmap,
)
from tapegrad.autograd.registered_ops import get_ctx
from tapegrad.testing.operators import opcheck

__getattr__ = refusing(__name__)
impl_abstract = register_fake

__all__ = [
    "CustomOpDef", "Library", "custom_op", "define", "fallthrough_kernel", "get_ctx", "impl", "impl_abstract",
    "infer_schema", "opcheck", "register_autocast", "register_autograd", "register_fake", "register_kernel",
    "register_torch_dispatch", "register_vmap",
]  # fmt: skip
