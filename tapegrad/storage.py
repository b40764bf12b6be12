"""``torch.storage``: the memory of tensors. Nothing is defined here."""

from tapegrad._src.absent import refusing
from tapegrad._src.bindings.state.storage_methods import rebuild_storage
from tapegrad._src.bindings.state.storages import TypedStorage, UntypedStorage

__getattr__ = refusing(__name__)
__all__ = ["TypedStorage", "UntypedStorage", "rebuild_storage"]
