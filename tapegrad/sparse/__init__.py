"""``torch.sparse``: tensors most of whose elements are zeros, and are not kept. See Note [Sparse tensors].

>>> x = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
>>> torch.sparse.mm(x, torch.ones(3, 1))
tensor([[3.],
        [9.]])
"""

from tapegrad._src.absent import refusing
from tapegrad.sparse import conversion, resizing
from tapegrad.sparse.coordinates import check_sparse_tensor_invariants
from tapegrad.sparse.legacy import (
    BFloat16Tensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
)
from tapegrad.sparse.parts import spdiags
from tapegrad.sparse.products import addmm, mm, sampled_addmm
from tapegrad.sparse.reductions import log_softmax, softmax, sum

__all__ = [
    "BFloat16Tensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor",
    "LongTensor", "ShortTensor", "addmm", "check_sparse_tensor_invariants", "log_softmax", "mm", "sampled_addmm",
    "softmax", "spdiags", "sum",
]  # fmt: skip
__getattr__ = refusing(__name__)
del conversion, refusing, resizing
