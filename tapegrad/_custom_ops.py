"""``torch._custom_ops``: where PyTorch once had what ``torch.library`` has."""

from tapegrad.autograd.custom_ops import custom_op
from tapegrad.autograd.libraries import impl
from tapegrad.autograd.libraries import register_fake as impl_abstract

__all__ = ["custom_op", "impl", "impl_abstract"]
