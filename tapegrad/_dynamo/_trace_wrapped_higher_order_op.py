"""A name that libraries import of PyTorch's compiler to index tensors by others inside ``vmap``."""

from contextlib import AbstractContextManager


class TransformGetItemToIndex(AbstractContextManager):
    """Does nothing: inside ``vmap`` a tensor is indexed by another one here whether or not it is mapped.

    >>> import tapegrad as torch
    >>> rows = torch.arange(6).view(3, 2)
    >>> with TransformGetItemToIndex():
    ...     torch.vmap(lambda i: rows[i])(torch.tensor([2, 0]))
    tensor([[4, 5],
            [0, 1]])
    """

    def __exit__(self, *error: object) -> None:
        """Nothing was changed."""
