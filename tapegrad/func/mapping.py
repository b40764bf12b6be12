"""``vmap``: a function of one example as a function of a batch.

The function runs once, at a level (Note [Levels] in ``tensor/lifted.py``) at which its arguments are single examples.
There is no table of rules for it: each operator's kernel is batched by JAX.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tapegrad._src.bindings.arguments import wrap_dim
from tapegrad._src.bindings.viewing import view_of
from tapegrad._src.dispatch.function_levels import lift, lower
from tapegrad._src.functions.joining import cat
from tapegrad._src.functions.shape import permuted
from tapegrad._src.tensor.lifted import Level
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.tensor.trees import TreeSpec, broadcast_prefix, flatten, unflatten
from tapegrad.ops.kinds import broadcast_to


def name_of(func: Callable) -> str:
    """The name of a function in messages."""
    if isinstance(func, functools.partial):
        return f"functools.partial({name_of(func.func)}, ...)"
    return getattr(func, "__name__", None) or repr(func)


def vmap(
    func: Callable, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *, chunk_size: int | None = None,
) -> Callable:  # fmt: skip
    """A function that maps ``func`` over a dimension of its inputs.

    Args:
        func: a function of trees of tensors, which returns a tree of tensors.
        in_dims: which dimension of each input holds the examples; None for an input that all share. An int, or a
            tuple like the arguments.
        out_dims: where that dimension is in each output; None for an output that is the same for all.
        randomness: what random operators inside do: ``"error"``, ``"different"`` (for each example) or ``"same"``.
        chunk_size: how many examples at once; None: all.

    Raises:
        ValueError: dimensions that don't fit the inputs or the outputs.
        RuntimeError: control flow that depends on the numbers of an example; random operators under ``"error"``.

    >>> torch.vmap(torch.dot)(torch.ones(2, 3), torch.arange(6.0).reshape(2, 3))
    tensor([ 3., 12.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        check_dims_out(out_dims, func)
        size, dims, leaves, spec = batched_inputs(in_dims, args, func)
        if chunk_size is None or chunk_size >= size:
            return mapped(func, size, dims, leaves, spec, out_dims, randomness, kwargs)
        chunks = list(chunks_of(size, dims, leaves, chunk_size))
        results = [mapped(func, n, dims, part, spec, out_dims, randomness, kwargs) for n, part in chunks]
        return concatenated(results, out_dims, func)

    return wrapped


def check_dims_out(out_dims: Any, func: Callable) -> None:
    """Refuse what doesn't say where dimensions are."""
    if isinstance(out_dims, int) or out_dims is None:
        return
    if any(not (isinstance(leaf, int) or leaf is None) for leaf in flatten(out_dims)[0]):
        raise ValueError(
            f"vmap({name_of(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection "
            "of ints representing where in the outputs the vmapped dimension should appear."
        )


def batched_inputs(in_dims: Any, args: tuple, func: Callable) -> tuple[int, list, list, TreeSpec]:
    """The number of examples, and for each leaf of the arguments the dimension that holds them.

    Raises:
        ValueError: PyTorch's messages.
    """
    name = name_of(func)
    where = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{where}expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
            f"got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a "
            "function with no inputs. The latter is unsupported."
        )
    leaves, spec = flatten(args)
    dims = broadcast_prefix(in_dims, spec)
    if dims is None:
        raise ValueError(
            f"{where}in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{flatten(in_dims)[1]} but inputs has structure {spec}."
        )
    dims = [checked_dim(leaf, dim, where) for leaf, dim in zip(leaves, dims, strict=True)]
    sizes = [leaf.size(dim) for leaf, dim in zip(leaves, dims, strict=True) if dim is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(size != sizes[0] for size in sizes):
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
            "mapped dimension"
        )
    return sizes[0], dims, leaves, spec


def checked_dim(leaf: Any, dim: Any, where: str) -> int | None:
    """The dimension of an input that holds the examples, from the front."""
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise ValueError(
            f"{where}Got in_dim={dim} for an input but in_dim must be either an integer dimension or None."
        )
    if not isinstance(leaf, Tensor):
        raise ValueError(
            f"{where}Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot vmap over "
            "non-Tensor arguments, please use None as the respective in_dim"
        )
    if not -leaf.dim() <= dim < leaf.dim():
        raise ValueError(
            f"{where}Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {leaf.dim()} so "
            f"expected in_dim to satisfy -{leaf.dim()} <= in_dim < {leaf.dim()}."
        )
    return dim % leaf.dim() if dim < 0 else dim


def mapped(
    func: Callable, size: int, dims: list, leaves: list, spec: TreeSpec, out_dims: Any, randomness: str, kwargs: dict
) -> Any:
    """Run a function on all examples at once."""
    fronts = [leaf if dim in (None, 0) else _moved(leaf, dim, 0) for leaf, dim in zip(leaves, dims, strict=True)]
    ndims = [None if dim is None else len(leaf._spec.shape) for leaf, dim in zip(leaves, dims, strict=True)]
    with Level(size, randomness) as level:
        inputs = [
            leaf if dim is None else lift(front, level, batched=True, placed=(leaf, dim) if dim else None)
            for front, leaf, dim in zip(fronts, leaves, dims, strict=True)
        ]
        output = func(*unflatten(inputs, spec), **kwargs)
        results, structure = flatten(output)
        places = dims_out(out_dims, output, structure, func)
        found = zip(inputs, leaves, dims, ndims, strict=True)
        own = {id(x): (leaf, dim) for x, leaf, dim, ndim in found if dim is not None and len(leaf._spec.shape) == ndim}
        outside = [
            own[id(item)][0] if came_as_it_goes(own.get(id(item)), place) else taken_out(item, level, place, func)
            for item, place in zip(results, places, strict=True)
        ]
    return unflatten(outside, structure)


def came_as_it_goes(found: tuple[Tensor, int] | None, place: int | None) -> bool:
    """Tell whether an output is one of the inputs, with the dimension of the examples in the same place: then it is
    that."""
    if found is None or place is None:
        return False
    dims = len(found[0]._spec.shape)
    return -dims <= place < dims and place % dims == found[1]


def _moved(tensor: Tensor, source: int, place: int) -> Tensor:
    """A tensor with a dimension in another place. Neither classes nor modes are asked, as PyTorch does it in C++."""
    axes = [*range(len(tensor._spec.shape))]
    axes.insert(wrap_dim(place, len(axes)), axes.pop(source))
    return permuted(tensor, axes)


def dims_out(out_dims: Any, output: Any, spec: TreeSpec, func: Callable) -> list:
    """For each leaf of the output, where the dimension of the examples is to be."""
    if isinstance(output, Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1:
        out_dims = out_dims[0]
    places = broadcast_prefix(out_dims, spec)
    if places is None:
        raise ValueError(
            f"vmap({name_of(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure "
            f"of `outputs`. out_dims has structure {flatten(out_dims)[1]} but outputs has structure {spec}."
        )
    return places


def taken_out(item: Any, level: Level, place: int | None, func: Callable) -> Any:
    """An output outside the level, with the dimension of the examples in its place.

    What is the same for all examples is repeated in front wherever the place is, as PyTorch does it.
    """
    name = name_of(func)
    if place is None:
        if not isinstance(item, Tensor):
            return item
        tensor, batched = lower(item, level)
        if batched:
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return tensor
    if not isinstance(item, Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(item)}. Did you mean to set "
            "out_dims= to None for output?"
        )
    tensor, batched = lower(item, level)
    with level.outside():
        if not batched:
            return view_of(tensor, broadcast_to, shape=(level.size, *tensor._spec.shape))
        return tensor if place in (0, -len(tensor._spec.shape)) else _moved(tensor, 0, place)


def chunks_of(size: int, dims: list, leaves: list, chunk: int) -> Any:
    """The arguments of each call with ``chunk`` examples, and how many these are."""
    for start in range(0, size, chunk):
        count = min(chunk, size - start)
        yield count, [
            leaf if dim is None else leaf.narrow(dim, start, count) for leaf, dim in zip(leaves, dims, strict=True)
        ]


def concatenated(results: Sequence, out_dims: Any, func: Callable) -> Any:
    """The outputs for all chunks of the examples as one."""
    columns = [flatten(result)[0] for result in results]
    spec = flatten(results[0])[1]
    places = dims_out(out_dims, results[0], spec, func)
    joined = [
        column[0] if place is None else cat(column, dim=place)
        for column, place in zip(zip(*columns, strict=True), places, strict=True)
    ]
    return unflatten(joined, spec)
