"""Batches made of samples: ``default_collate``, ``default_convert`` and what they do by type.

Note [Collating]
``rebuilt`` makes a container anew with other elements: a mutable one as a copy of itself, so that it keeps what else it
has, another by its class, and what can be made by neither as a plain dictionary or list.

Arrays of NumPy that are alike are stacked by NumPy, and the batch becomes a tensor that shows that memory. In a worker
the memory is a segment which the loader's process sees too (Note [Segments], ``segments.py``), so that the elements of
a batch are copied once on their whole way.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from tapegrad._src.execution.data.dtypes import float64
from tapegrad._src.functions.construction import as_tensor, from_numpy, tensor
from tapegrad._src.functions.joining import stack
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.utils.data._utils import worker
from tapegrad.utils.data.segments import new_array

np_str_obj_array_pattern = re.compile(r"[SaUO]")
"""The dtypes of NumPy of which there are no tensors."""

FOUND = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


def mapped(data: Mapping, elements: Callable[[Any], Any]) -> Any:
    """A mapping of another one's class: see Note [Collating].

    Args:
        elements: the new element for a key.
    """
    try:
        if isinstance(data, MutableMapping):
            clone = copy.copy(data)
            clone.update({key: elements(key) for key in data})
            return clone
        return type(data)({key: elements(key) for key in data})  # type: ignore[call-arg]
    except TypeError:
        return {key: elements(key) for key in data}


def rebuilt(data: Sequence, elements: Callable[[], list]) -> Any:
    """A sequence of another one's class, with new elements: see Note [Collating]."""
    try:
        if isinstance(data, MutableSequence):
            clone = copy.copy(data)
            for i, element in enumerate(elements()):
                clone[i] = element
            return clone
        return type(data)(elements())  # type: ignore[call-arg]
    except TypeError:
        return elements()


def default_convert(data: Any) -> Any:
    """A sample with its arrays and numbers of NumPy as tensors, in the same containers; tuples become lists.

    This is what a ``DataLoader`` does with samples when it makes no batches.

    >>> import numpy as np
    >>> default_convert({"x": np.arange(2), "y": 3})
    {'x': tensor([0, 1]), 'y': 3}
    """
    kind = type(data)
    if isinstance(data, Tensor):
        return data
    if kind.__module__ == "numpy" and kind.__name__ not in ("str_", "string_"):
        return data if kind is np.ndarray and np_str_obj_array_pattern.search(data.dtype.str) else as_tensor(data)
    if isinstance(data, Mapping):
        return mapped(data, lambda key: default_convert(data[key]))
    if isinstance(data, tuple):
        converted = [default_convert(one) for one in data]
        return kind(*converted) if hasattr(data, "_fields") else converted
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return rebuilt(data, lambda: [default_convert(one) for one in data])
    return data


def collate(batch: Any, *, collate_fn_map: dict | None = None) -> Any:
    """A batch of a list of samples, which are all built alike.

    Args:
        batch: the samples.
        collate_fn_map: for a type, or a tuple of types, what makes a batch of a list of such; it is called with the
            list and ``collate_fn_map=``. Other samples must be mappings or sequences of what it knows.

    Raises:
        RuntimeError: sequences of different lengths.
        TypeError: samples of a type that nobody knows.
    """
    first, kinds = batch[0], collate_fn_map or {}
    known = type(first) if type(first) in kinds else next((kind for kind in kinds if isinstance(first, kind)), None)
    if known is not None:
        return kinds[known](batch, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        return mapped(first, lambda key: collate([one[key] for one in batch], collate_fn_map=collate_fn_map))
    if not isinstance(first, Sequence):
        raise TypeError(FOUND.format(type(first)))

    def columns() -> list:
        return [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch, strict=False)]

    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*columns())
    if any(len(one) != len(first) for one in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    return columns() if isinstance(first, tuple) else rebuilt(first, columns)


def collate_tensor_fn(batch: Any, *, collate_fn_map: dict | None = None) -> Tensor:
    """Tensors of one shape, stacked."""
    return stack(list(batch), 0)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: dict | None = None) -> Tensor:
    """Arrays of one shape, stacked: see Note [Collating]. Raises TypeError: arrays of strings or objects."""
    first = batch[0]
    if np_str_obj_array_pattern.search(first.dtype.str):
        raise TypeError(FOUND.format(first.dtype))
    alike = all(type(one) is np.ndarray and one.dtype == first.dtype and one.shape == first.shape for one in batch)
    if not alike or not first.dtype.isnative or collate_fn_map is not default_collate_fn_map:
        return collate([as_tensor(one) for one in batch], collate_fn_map=collate_fn_map)
    shape = (len(batch), *first.shape)
    out = new_array(shape, first.dtype) if worker.get_worker_info() else np.empty(shape, first.dtype)
    return from_numpy(np.stack(batch, out=out))


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: dict | None = None) -> Tensor:
    """Numbers of NumPy, of the first one's dtype."""
    return as_tensor(batch)


def collate_float_fn(batch: Any, *, collate_fn_map: dict | None = None) -> Tensor:
    """Numbers of Python as float64, which is what they are."""
    return tensor(batch, dtype=float64)


def collate_int_fn(batch: Any, *, collate_fn_map: dict | None = None) -> Tensor:
    """Whole numbers as int64, truth values as bool."""
    return tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: dict | None = None) -> Any:
    """Strings and bytes stay a list."""
    return batch


default_collate_fn_map: dict = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}
"""Functions of ``default_collate`` for the types that it knows; a program may add its own."""


def default_collate(batch: Any) -> Any:
    """A batch of a list of samples: tensors, arrays and numbers get a first dimension more, containers stay.

    Strings and bytes stay lists; tuples become lists, unless they have names; mappings and sequences keep their class.

    Raises:
        RuntimeError: samples of different shapes or lengths.
        TypeError: samples of another type.

    >>> default_collate([{"x": 1.0, "y": (1, "a")}, {"x": 2.0, "y": (2, "b")}])
    {'x': tensor([1., 2.], dtype=torch.float64), 'y': [tensor([1, 2]), ('a', 'b')]}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
