"""In-place methods that are variants of no function, and those that compute it otherwise.

``apply_`` and its relatives call a Python function for each element: they are slow, and no gradient passes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.declaration.scalars import is_number, wrong_type
from tapegrad._src.bindings.naming import renamed
from tapegrad._src.bindings.state.memory import as_strided
from tapegrad._src.bindings.viewing import geometry_of
from tapegrad._src.bindings.writes.in_place import become, before_write, fill_, refuse_in_place
from tapegrad._src.execution.array_functions.host import from_host, to_host
from tapegrad._src.execution.data.devices import META
from tapegrad._src.functions.dropout import alpha_dropout, check_native_probability, dropout, feature_alpha_dropout
from tapegrad._src.functions.shape import expanded
from tapegrad._src.tensor.level_messages import NO_MEMORY
from tapegrad._src.tensor.spec import legacy_type_name
from tapegrad._src.tensor.tensor import Tensor, put, value_of
from tapegrad.ops import unary

# -- variants written otherwise ----------------------------------------------------------------------------------------


@public("Tensor")
def conj_physical_(self: Tensor) -> Tensor:
    """Replace the elements by their complex conjugates."""
    refuse_in_place(self, overlapping=not self.dtype.is_complex)
    return become(self, renamed(unary.conj_physical(before_write(self)), "ConjPhysicalBackward1"))


@public("Tensor")
def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Put a number on the main diagonal; in a tall matrix, if ``wrap``, again below each square.

    Args:
        fill_value: the number.

    Raises:
        RuntimeError: fewer than 2 dimensions, or more of different lengths.

    >>> torch.zeros(2, 2).fill_diagonal_(5)
    tensor([[5., 0.],
            [0., 5.]])
    """
    if not is_number(fill_value):
        raise wrong_type("fill_diagonal_", "fill_value", 1, fill_value, "Number")
    shape, strides, offset = geometry_of(self)
    if len(shape) < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    step, count = sum(strides), min(shape)
    fill_(as_strided(self, (count,), (step,), offset), fill_value)
    if wrap and len(shape) == 2 and shape[0] > shape[1] + 1:
        more = -(-shape[0] * shape[1] // (shape[1] + 1)) - count
        fill_(as_strided(self, (more,), (step,), offset + strides[0] * (shape[1] + 1)), fill_value)
    return self


# -- element by element ------------------------------------------------------------------------------------------------


def _refuse_recorded(name: str, *tensors: Tensor) -> None:
    if any(tensor.requires_grad for tensor in tensors):
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")


def _map(name: str, self: Tensor, others: tuple[Tensor, ...], function: Callable) -> Tensor:
    """Replace each element by what a function of it and of those of other tensors gives; not counted as a write."""
    _refuse_recorded(name, self, *others)
    if self._spec.level:
        raise RuntimeError(NO_MEMORY)
    for position, other in enumerate(others):
        if other.dtype is not self.dtype:
            argument = "other" if len(others) == 1 else "xy"[position]
            expected, got = legacy_type_name(self._spec), legacy_type_name(other._spec)
            raise TypeError(f"{name}: expected {expected} for '{argument}' (got {got})")
    if self.device is META:
        return self
    arrays = [to_host(value_of(x)) for x in (self, *(expanded(other, tuple(self.shape)) for other in others))]
    results = [function(*elements) for elements in zip(*(array.ravel().tolist() for array in arrays), strict=True)]
    array = np.array([_element(result, self) for result in results], self.dtype.numpy).reshape(arrays[0].shape)
    put(self, from_host(array, self.device))
    return self


def _element(result: Any, like: Tensor) -> Any:
    if not is_number(result):
        raise TypeError(f"must be real number, not {type(result).__name__}")
    return result if like.dtype.category > 1 else int(result)


@public("Tensor")
def apply_(self: Tensor, callable: Callable) -> Tensor:
    """Replace each element by what a Python function makes of it. No gradient passes, and it does not count as a write.

    Args:
        callable: takes a number, and gives one.

    Raises:
        RuntimeError: the tensor requires grad.

    >>> torch.tensor([1.0, 2.0]).apply_(lambda v: v + 1)
    tensor([2., 3.])
    """
    return _map("apply_", self, (), callable)


@public("Tensor")
def map_(self: Tensor, tensor: Tensor, callable: Callable) -> Tensor:
    """Replace each element by what a Python function makes of it and that of ``tensor``. See ``apply_``.

    Args:
        callable: takes two numbers, and gives one.

    >>> torch.tensor([1.0, 2.0]).map_(torch.tensor([3.0, 4.0]), lambda a, b: a * b)
    tensor([3., 8.])
    """
    return _map("map_", self, (tensor,), callable)


@public("Tensor")
def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable) -> Tensor:
    """Replace each element by what a Python function makes of it and those of ``x`` and ``y``. See ``apply_``.

    Args:
        callable: takes three numbers, and gives one.

    >>> torch.tensor([1.0, 2.0]).map2_(torch.ones(2), torch.ones(2), lambda a, x, y: a + x + y)
    tensor([3., 4.])
    """
    return _map("map2_", self, (x, y), callable)


# -- functions of torch ------------------------------------------------------------------------------------------------


def _dropping(name: str, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def written(input: Tensor, p: float, train: bool) -> Tensor:
        check_native_probability(p)
        return function(input, p, train, True)

    written.__name__ = written.__qualname__ = name
    called = name.rstrip("_")
    written.__doc__ = f"``nn.functional.{called}`` with ``inplace=True``; ``train`` is whether any element is dropped."
    return written


for _name, _function in (("dropout_", dropout), ("alpha_dropout_", alpha_dropout),
                         ("feature_alpha_dropout_", feature_alpha_dropout)):  # fmt: skip
    public("torch")(_dropping(_name, _function))
