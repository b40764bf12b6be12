"""Embedding: rows of a table, looked up by number, one by one or by the bag."""

from __future__ import annotations

from collections.abc import Callable

from tapegrad._src.bindings.bounds import outside, refuse_elements
from tapegrad._src.bindings.declaration.parser import check_given
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.writes.in_place import refuse_in_place
from tapegrad._src.declaring import on_demand
from tapegrad._src.execution.data.dtypes import FLOATING
from tapegrad._src.tape.modes import switched, thread
from tapegrad._src.tensor.refusals import refuse_captured
from tapegrad._src.tensor.spec import legacy_type_name
from tapegrad._src.tensor.tensor import Tensor, value_of, write
from tapegrad.ops import embedding as ops


def _check_indices(indices: Tensor, function: str, position: int) -> None:
    if indices.dtype.name not in ("int64", "int32"):
        got = legacy_type_name(indices._spec) if indices.dtype.name != "bool" else "CPUBoolType"
        raise RuntimeError(
            f"Expected tensor for argument #{position} 'indices' to have one of the following scalar types: Long, Int; "
            f"but got {got} instead (while checking arguments for {function})"
        )


def _check(weight: Tensor, indices: Tensor) -> None:
    """Refuse what is no table or no index.
    Raises RuntimeError: PyTorch's messages. IndexError: a number that no row has.
    """
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    _check_indices(indices, "embedding", 1)
    if weight.shape[0] == 0 and indices._spec.numel:
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    what = "index out of range in self"
    refuse_elements(indices, outside, 0, weight.shape[0], complaint=lambda _: IndexError(what))


@public("nn.functional")
def embedding(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Tensor:  # fmt: skip
    """The rows of ``weight`` (count, width) with the numbers in ``input`` (any shape): (*shape, width).

    The row ``padding_idx`` gets no gradient. With ``max_norm`` the rows used are first scaled down in place, where
    their ``norm_type``-norm is more. ``scale_grad_by_freq`` divides gradients by how often a row is used. With
    ``sparse=True`` the gradient of ``weight`` is sparse; but in function transforms.

    Raises:
        RuntimeError: a weight that is no matrix; an input that is not int64 or int32.
        IndexError: a number out of range.

    >>> torch.nn.functional.embedding(torch.tensor([2, 0]), torch.arange(6.0).view(3, 2))
    tensor([[4., 5.],
            [0., 1.]])
    """
    rows = weight.shape[0] if weight.ndim else 0
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= rows
    if max_norm is not None:
        check_given("embedding_renorm_", weight, input, max_norm, norm_type)
    _check(weight, input)
    if max_norm is not None:
        renormalize(weight, input, max_norm, norm_type)
    return _looked_up(weight, input, -1 if padding_idx is None else padding_idx, bool(scale_grad_by_freq), sparse)


__getattr__, _ = on_demand(__name__, {})


def gets_sparse(weight: Tensor, sparse: bool) -> bool:
    """Tell whether the gradient of a table is to be sparse: not in a function transform."""
    spec = weight._spec
    return sparse and spec.requires_grad and thread.modes.grad and not spec.level


def sparse_function(name: str) -> Callable:
    """A function whose gradients are sparse, which is imported when it is first called."""
    return __getattr__(name)


def _looked_up(weight: Tensor, indices: Tensor, padding_idx: int, by_frequency: bool, sparse: bool) -> Tensor:
    if gets_sparse(weight, sparse):
        return sparse_function("sparse_rows")(weight, indices, padding_idx, by_frequency)
    return ops.embedding(weight, indices, padding_idx=padding_idx, by_frequency=by_frequency)


@public("torch", name="embedding")
def torch_embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """See ``torch.nn.functional.embedding``; a negative ``padding_idx`` means none.

    Args:
        weight, indices: the table (rows, width), and which rows.
        scale_grad_by_freq: whether gradients are divided by how often a row was used.
        sparse: whether the gradient of ``weight`` is sparse.

    >>> torch.embedding(torch.eye(2), torch.tensor([1, 0]))
    tensor([[0., 1.],
            [1., 0.]])
    """
    _check(weight, indices)
    return _looked_up(weight, indices, max(padding_idx, -1), bool(scale_grad_by_freq), sparse)


def renormalize(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> None:
    """Scale down the rows in use, in place and unrecorded.

    Raises:
        RuntimeError: a function transform has captured the weight, and it or the indices belong to the transform; the
            weight has no floating-point or complex dtype.
    """
    if weight.dtype.category < FLOATING and indices._spec.numel:
        name = weight.dtype.scalar_name
        raise RuntimeError(f"norm(): input dtype should be either floating point or complex. Got {name} instead.")
    with switched(grad=False):
        result = ops.embedding_renorm(weight, indices, max_norm=float(max_norm), norm_type=float(norm_type))
        if result._spec.level != weight._spec.level:
            refuse_captured("embedding_renorm_", weight, result)
        write(weight, value_of(result))


@public("torch")
def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scale down those rows of ``input`` that ``indices`` name and whose norm is larger than ``max_norm``, in place.

    Args:
        norm_type: the order of the norm.

    Raises:
        RuntimeError: ``input`` is no matrix, or ``indices`` are no integers.

    >>> torch.embedding_renorm_(torch.ones(2, 4), torch.tensor([0]), 1.0, 2.0)
    tensor([[0.5000, 0.5000, 0.5000, 0.5000],
            [1.0000, 1.0000, 1.0000, 1.0000]])
    """
    if input.ndim != 2:
        raise RuntimeError(
            f"Expected 2-dimensional tensor, but got {input.ndim}-dimensional tensor for argument #1 'self' (while "
            "checking arguments for embedding_renorm_)"
        )
    _check_indices(indices, "embedding_renorm_", 2)
    rows, shape = input.shape[0], list(input.shape)
    refuse_elements(
        indices, outside, 0, rows,
        complaint=lambda found: IndexError(
            f"select(): index {found.number} out of range for tensor of size {shape} at dimension 0"
        ),
    )  # fmt: skip
    refuse_in_place(input)
    renormalize(input, indices, max_norm, norm_type)
    return input
