"""``torch.cuda.sparse``: types of sparse tensors from before there were dtypes; here those of ``torch.sparse``."""

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

__all__ = [
    "BFloat16Tensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor",
    "LongTensor", "ShortTensor",
]  # fmt: skip
