"""``torch.storage``: the memory of tensors."""

import io

from tapegrad._src.absent import refusing
from tapegrad._src.bindings.state.storage_methods import rebuild_storage
from tapegrad._src.bindings.state.storages import TypedStorage, UntypedStorage
from tapegrad._src.declaring import on_demand

__getattr__ = refusing(__name__)
_files, _ = on_demand(__name__, {"tapegrad.serialization": "load"})
__all__ = ["TypedStorage", "UntypedStorage", "rebuild_storage"]


def _load_from_bytes(b: bytes) -> TypedStorage | UntypedStorage:
    """Read a storage that PyTorch's tensors bring into a pickle which ``torch.save`` did not write."""
    return _files("load")(io.BytesIO(b), weights_only=False)
