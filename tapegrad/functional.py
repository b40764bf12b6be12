"""``torch.functional``: functions of ``torch`` by their old home. Nothing is defined here."""

from tapegrad.functions.registry import NAMESPACES

_NAMES = (
    "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors", "cartesian_prod",
    "cdist", "chain_matmul", "einsum", "istft", "lu", "meshgrid", "norm", "split", "stft", "tensordot", "unique",
    "unique_consecutive", "unravel_index",
)  # fmt: skip

globals().update({name: NAMESPACES["torch"][name] for name in _NAMES})
__all__ = list(_NAMES)
