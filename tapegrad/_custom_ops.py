"""``torch._custom_ops``: where PyTorch once had what ``torch.library`` has."""

from tapegrad.absent import REASONS, refused, refusing

__getattr__ = refusing(__name__)
__all__ = ["custom_op", "impl", "impl_abstract"]

custom_op = refused("torch._custom_ops.custom_op", REASONS["torch.library.impl"])
impl = refused("torch._custom_ops.impl", REASONS["torch.library.impl"])
impl_abstract = refused("torch._custom_ops.impl_abstract", REASONS["torch.library.impl"])
