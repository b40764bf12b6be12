"""``torch.storage``: the memory of tensors. Nothing is defined here."""

from tapegrad.absent import refusing
from tapegrad.bindings.storages import TypedStorage, UntypedStorage

__getattr__ = refusing(__name__)
__all__ = ["TypedStorage", "UntypedStorage"]
