"""Layouts and memory formats: names that PyTorch's programs pass around. Tensors are strided
here, and row-major, but for sparse and for nested ones.

>>> strided, channels_last
(torch.strided, torch.channels_last)
"""

from __future__ import annotations


class _Named:
    """One of a few named constants."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> str:
        return self._name


class layout(_Named):
    """The way in which the elements of a tensor are kept."""

    __module__ = "tapegrad"
    __slots__ = ()


class memory_format(_Named):
    """In what order the elements of a strided tensor lie."""

    __module__ = "tapegrad"
    __slots__ = ()


strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
sparse_csc = layout("sparse_csc")
sparse_bsr = layout("sparse_bsr")
sparse_bsc = layout("sparse_bsc")
jagged = layout("jagged")

contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")
