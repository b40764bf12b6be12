"""Helpers of distributions: parameters that are broadcast, probabilities and logits, values worked out once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any

from tapegrad._src.bindings.overriding import is_tensor_like
from tapegrad._src.execution.data.dtypes import finfo, get_default_dtype
from tapegrad._src.functions.construction import tensor
from tapegrad._src.functions.creation import arange
from tapegrad._src.functions.joining import broadcast_tensors
from tapegrad._src.functions.random import randn
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.grad_mode import enable_grad

__all__ = [
    "broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits", "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]  # fmt: skip

euler_constant = 0.57721566490153286060
NUMBER = (int, float, bool)


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Tensors and numbers, ``values``, as tensors of one shape; numbers get dtype and device of the first tensor.

    Raises:
        ValueError: one is neither.

    >>> broadcast_all(torch.zeros(2), 1.0)
    (tensor([0., 0.]), tensor([1., 1.]))
    """
    if not all(is_tensor_like(value) or isinstance(value, NUMBER) for value in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        )
    first = next((value for value in values if isinstance(value, Tensor)), None)
    options = {"dtype": get_default_dtype()} if first is None else {"dtype": first.dtype, "device": first.device}
    return tuple(broadcast_tensors(*(v if is_tensor_like(v) else tensor(v, **options) for v in values)))


def _standard_normal(shape: Sequence[int], dtype: Any, device: Any) -> Tensor:
    return randn(shape, dtype=dtype, device=device)


def _sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sum over the last ``dim`` dimensions."""
    return value.reshape((*value.shape[:-dim], -1)).sum(-1) if dim else value


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities of ``logits``: their softmax along the last dimension; their sigmoid, if ``is_binary``.

    >>> logits_to_probs(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities, floats, that are neither zero nor one, but next to it: ``probs`` kept the dtype's ``eps`` away.

    >>> bool(clamp_probs(torch.zeros(())) > 0)
    True
    """
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Logits of ``probs``: their logarithms; the log-odds, if ``is_binary``.

    >>> probs_to_logits(torch.tensor([0.5]), is_binary=True)
    tensor([0.])
    """
    probs = clamp_probs(probs)
    return probs.log() - (-probs).log1p() if is_binary else probs.log()


class lazy_property:
    """A property that is worked out when it is first asked for, with gradients, and kept on the instance.

    >>> class Pair:
    ...     @lazy_property
    ...     def swapped(self):
    ...         return print("once") or (2, 1)
    >>> pair = Pair()
    >>> pair.swapped == pair.swapped
    once
    True
    """

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, obj_type: Any = None) -> Any:
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _lazy_property_and_property(lazy_property, property):
    """A lazy property as its class shows it: a property, for tools that look for those."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        property.__init__(self, wrapped)


def formula(of: Callable[[Any], Tensor]) -> Tensor:
    """A moment: a property that is worked out by a formula of the distribution. The class above says what it is.

    >>> class Point:
    ...     x = 1
    ...     mean = formula(lambda self: self.x + 1)
    >>> Point().mean
    2
    """
    return _Formula(of)  # type: ignore[return-value]


def same_as(path: str, doc: str | None = None) -> Any:
    """A property that is another one, or that of a part.

    Args:
        path: where it is: ``"loc"``, ``"base_dist.loc"``.
        doc: what it is, if the class above doesn't say it.

    >>> class Point:
    ...     x = 1
    ...     mean = same_as("x")
    >>> Point().mean
    1
    """
    found = _Formula(eval(f"lambda self: self.{path}"))
    found.__doc__ = doc
    return found


class _Formula(property):
    def __set_name__(self, owner: type, name: str) -> None:
        """The getter has the names of a method, by which ``help`` finds what the class above says of it."""
        getter: Any = self.fget
        getter.__name__, getter.__qualname__, getter.__module__ = name, f"{owner.__qualname__}.{name}", owner.__module__


def _below(size: int, diag: int, device: Any) -> Tensor:
    """Which places of a square matrix are at a diagonal or below."""
    places = arange(size, device=device)
    return places < places.view(-1, 1) + (diag + 1)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The lower triangles of matrices, ``mat``, row by row, up to ``diag``: ``(..., n, n)`` to ``(..., count)``.

    Raises:
        ValueError: the matrices have no diagonal ``diag``.

    >>> tril_matrix_to_vec(torch.tensor([[1, 0], [2, 3]]))
    tensor([1, 2, 3])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _below(n, diag, mat.device)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The matrices whose lower triangles ``vec`` gives, row by row, up to diagonal ``diag``: ``(..., count)`` to
    ``(..., n, n)``.

    Raises:
        ValueError: no matrix has as many places there.

    >>> vec_to_tril_matrix(torch.tensor([1.0, 2.0, 3.0]))
    tensor([[1., 0.],
            [2., 3.]])
    """
    count, odd = vec.shape[-1], 1 + 2 * diag
    n = (-odd + (odd**2 + 8 * count + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2  # count = n (n + odd) / 2, less a corner
    if round(n) - n > finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {count} which cannot be expressed as "
            "the lower triangular part of a square D x D matrix."
        )
    n = round(n)
    mat = vec.new_zeros((*vec.shape[:-1], n, n))
    mat[..., _below(n, diag, vec.device)] = vec
    return mat
