"""``torch.masked``: the functions that are declared for it in ``functions/``, and masked tensors."""

from tapegrad._src.bindings.declaration.registry import NAMESPACES
from tapegrad._src.declaring import on_demand

globals().update(NAMESPACES["masked"])
__all__ = sorted(NAMESPACES["masked"])  # noqa: PLE0605 - filled by declarations
__getattr__, __dir__ = on_demand(__name__, {
    "tapegrad.utils.masked_tensors": "MaskedTensor as_masked_tensor is_masked_tensor masked_tensor",
})  # fmt: skip
