"""All parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tapegrad._src.bindings.state.attributes import typename
from tapegrad._src.functions.joining import cat
from tapegrad._src.tensor.tensor import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of parameters, one after the other, in a tensor of one dimension; gradients flow back.

    Args:
        parameters: tensors on one device.

    Raises:
        TypeError: they are on several devices.

    >>> parameters_to_vector([torch.ones(2), torch.zeros(1, 2)])
    tensor([1., 1., 0., 0.])
    """
    return cat([parameter.view(-1) for parameter in on_one_device(parameters)])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Let parameters show, one after the other, the elements of a vector: it is their ``.data`` then.

    Args:
        vec: a tensor of one dimension.
        parameters: tensors with as many elements, on one device.

    Raises:
        TypeError: ``vec`` is no tensor, or the parameters are on several devices.
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {typename(vec)}")
    start = 0
    for parameter in on_one_device(parameters):
        end = start + parameter.numel()
        parameter.data = vec[start:end].view_as(parameter).data
        start = end


def on_one_device(parameters: Iterable[Any]) -> Iterator[Any]:
    """The parameters, as long as they are on the device of the first."""
    first = None
    for parameter in parameters:
        place = parameter.get_device() if parameter.device.type == "cuda" else -1
        first = place if first is None else first
        if place != first:
            raise TypeError("Found two parameters on different devices, this is currently not supported.")
        yield parameter
