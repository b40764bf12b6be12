"""``scatter`` and ``gather``: containers of tensors, in a part for each device, and put together again.

All parts are where they are asked to be; several that name one device lie there side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapegrad._src.execution.data.devices import device
from tapegrad._src.functions.joining import cat
from tapegrad._src.tensor.tensor import Tensor

__all__ = ["gather", "scatter", "scatter_kwargs"]


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> Any:
    """Cut the tensors of a container into chunks, one for each device; other things are in all of them.

    Args:
        inputs: a tensor, or tuples, lists and dicts of them.
        target_gpus: devices, or the numbers of GPUs.
        dim: which dimension is cut.

    >>> scatter({"x": torch.arange(4)}, ["cpu", "cpu"])
    [{'x': tensor([0, 1])}, {'x': tensor([2, 3])}]
    """
    if isinstance(inputs, Tensor):
        chunks = inputs.chunk(len(target_gpus), dim)
        return tuple([chunk.to(_device(one)) for chunk, one in zip(chunks, target_gpus, strict=False)])
    if isinstance(inputs, (tuple, list, dict)) and inputs:
        items = list(inputs.values()) if isinstance(inputs, dict) else inputs
        rows = zip(*[scatter(item, target_gpus, dim) for item in items], strict=False)
        return [_like(inputs)(row) for row in rows]
    return [inputs for _ in target_gpus]


def scatter_kwargs(
    inputs: tuple, kwargs: dict[str, Any] | None, target_gpus: Sequence[Any], dim: int = 0
) -> tuple[tuple, tuple]:
    """``scatter`` of positional arguments and of those by keyword; the shorter list is filled up with empty ones."""
    places = list(scatter(inputs, target_gpus, dim)) if inputs else []
    names = list(scatter(kwargs, target_gpus, dim)) if kwargs else []
    places += [()] * (len(names) - len(places))
    names += [{} for _ in range(len(places) - len(names))]
    return tuple(places), tuple(names)


def gather(outputs: Any, target_device: Any, dim: int = 0) -> Any:
    """Put results together along a dimension, on a device; containers of them item by item, scalars in a row.

    Args:
        outputs: a sequence of tensors, or of containers of the same form.
        target_device: where the result is to be: a device, or the number of a GPU.
        dim: along which dimension.

    Raises:
        ValueError: dicts of several lengths.

    >>> gather([torch.ones(1), torch.zeros(1)], "cpu")
    tensor([1., 0.])
    """
    first = outputs[0]
    if isinstance(first, Tensor):
        parts = [output.view(1) if first.ndim == 0 else output for output in outputs]
        return cat([part.to(_device(target_device)) for part in parts], 0 if first.ndim == 0 else dim)
    if first is None:
        return None
    if isinstance(first, dict):
        if any(len(output) != len(first) for output in outputs):
            raise ValueError("All dicts must have the same number of keys")
        return type(first)((key, gather([output[key] for output in outputs], target_device, dim)) for key in first)
    return _like(first)([gather(row, target_device, dim) for row in zip(*outputs, strict=True)])


def _device(given: Any) -> device:
    return device("cuda", given) if isinstance(given, int) else device(given)


def _like(container: Any) -> Callable[[Any], Any]:
    """A function that makes a container of the same form of its items."""
    if isinstance(container, dict):
        return lambda items: type(container)(zip(container, items, strict=True))
    return getattr(container, "_make", type(container))
