"""A function on each row of a batch.

Note [Rows one by one]
A vectorized Jacobian is a product with every row of a basis at once. By reverse mode it is: a batch of gradients runs
at a level that maps (``autograd.grad(is_grads_batched=True)``). By forward mode the rows are done one after another:
the transforms of ``func`` stand on this room. A function with side effects sees it, for it is called once for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tapegrad.autograd.differentiate import row_of
from tapegrad.autograd.functional.arguments import Tensors
from tapegrad.functions.creation import eye, zeros
from tapegrad.functions.joining import stack
from tapegrad.progress import progress
from tapegrad.tensor.tensor import Tensor


def for_each_row(function: Callable[[Sequence[Tensor]], Tensors], batches: Tensors) -> Tensors:
    """``function`` of each row of the batches, with its results stacked; what it gives for zeros, cut to nothing, if
    there are none.
    """
    if not len(batches[0]):
        like = function([zeros(*batch.shape[1:], dtype=batch.dtype, device=batch.device) for batch in batches])
        return tuple(stack([one])[:0] for one in like)
    places = progress(range(len(batches[0])), "Jacobian")
    rows = [function([row_of(batch, row) for batch in batches]) for row in places]
    return tuple(stack(column) for column in zip(*rows, strict=True))


def basis_of(tensors: Tensors) -> Tensors:
    """The standard basis of the space of ``tensors``: for each a batch of as many rows as there are elements in all.

    Row by row these are all ones-and-zeros vectors, each cut into the (flat) tensors.
    """
    rows, start = sum(tensor.numel() for tensor in tensors), 0
    batches = []
    for tensor in tensors:
        unit = eye(rows, dtype=tensor.dtype, device=tensor.device)
        batches.append(unit if tensor.numel() == rows else unit[:, start : start + tensor.numel()])
        start += tensor.numel()
    return tuple(batches)
