"""Matrix products: ``matmul`` and ``@``, their special cases, ``addmm`` and its relatives, ``linear``, ``kron``."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from tapegrad._src.bindings.arguments import wrap_dim
from tapegrad._src.bindings.declaration.declarations import EXPECTED, InPlace, Out
from tapegrad._src.bindings.declaration.dunders import dunder, reverse
from tapegrad._src.bindings.declaration.parser import check_given
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.naming import renamed
from tapegrad._src.bindings.writes.overlaps import resize_for
from tapegrad._src.execution.data.dtypes import bfloat16, dtype, float16, float32, int32
from tapegrad._src.functions.joining import cat, stack
from tapegrad._src.functions.shape import permuted, reshaped, unsqueeze
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.errors import message, warn_once
from tapegrad.ops import arithmetic, reductions
from tapegrad.ops import matmul as ops
from tapegrad.ops.checks import cpp_name
from tapegrad.ops.einsum import einsum
from tapegrad.ops.kinds import conj
from tapegrad.ops.shape import unsafe_view

PRODUCTS = {(1, 1): ops.dot, (2, 1): ops.mv, (1, 2): ops.vecmat, (2, 2): ops.mm}
"""The operator behind ``matmul`` for these numbers of dimensions; ``ops.matmul`` for all others."""


_NOT_TENSORDOT = "tensordot: Expected the output tensor to have dtype {R}, but got an output tensor with dtype {O}"
_NOT_DOT = "result dtype {O} does not match input dtype {R}"


def _of_matmul(arguments: tuple, target: dtype) -> str:
    """The message about a target of another dtype; of two vectors it is that of ``dot``."""
    return _NOT_DOT if all(tensor.ndim == 1 for tensor in arguments) else EXPECTED


@public("torch", "Tensor", "linalg", out=Out(_of_matmul, called=("mm", "matmul")), is_settled=True)
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The matrix product; a vector is a row on the left and a column on the right, more dimensions are batches.

    Raises:
        RuntimeError: a 0-dim operand, inner lengths or dtypes that differ, batches that don't broadcast.

    >>> torch.ones(2, 3) @ torch.ones(3)
    tensor([3., 3.])
    """
    return PRODUCTS.get((input.ndim, other.ndim), ops.matmul)(input, other)


dunder("__matmul__", matmul)
dunder("__rmatmul__", reverse(matmul), asks="python")


@public("torch", "Tensor", out=Out(EXPECTED), is_settled=True)
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices, (n, k) and (k, m).

    Args:
        mat2: the second matrix (k, m), of the dtype of ``input``.

    Raises:
        RuntimeError: an operand that is no matrix; inner lengths or dtypes that differ.

    >>> torch.mm(torch.ones(2, 3), torch.ones(3, 1))
    tensor([[3.],
            [3.]])
    """
    return ops.mm(input, mat2)


@public("torch", out=True)
def spmm(input: Tensor, mat2: Tensor) -> Tensor:
    """``mm``, under the name that it has for sparse matrices.

    Args:
        mat2: the second matrix (k, m).
    """
    return ops.mm(input, mat2)


@public("torch", "Tensor", out=Out(EXPECTED), is_settled=True)
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The products of two batches of matrices, (b, n, k) and (b, k, m); the batches don't broadcast.

    Args:
        mat2: the second batch (b, k, m), of the dtype of ``input``.

    Raises:
        RuntimeError: an operand without three dimensions; lengths or dtypes that don't fit.

    >>> torch.bmm(torch.ones(4, 2, 3), torch.ones(4, 3, 5)).shape
    torch.Size([4, 2, 5])
    """
    return ops.bmm(input, mat2)


@public(
    "torch", "Tensor", out=Out("addmv input tensors must have the same dtype, but got {O}, {R}, and {R}"),
    is_settled=True,
)
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """A matrix (n, m) times a vector (m,).

    Args:
        vec: the vector (m,), of the dtype of ``input``.

    Raises:
        RuntimeError: other numbers of dimensions; lengths or dtypes that differ.
    """
    return ops.mv(input, vec)


@public("torch", "Tensor", out=Out(_NOT_DOT), is_settled=True)
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """The sum of the products of two vectors' elements; complex ones are not conjugated.

    Args:
        tensor: the second vector, of the length and dtype of ``input``.

    Raises:
        RuntimeError: operands that are no vectors; lengths or dtypes that differ.

    >>> torch.dot(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    tensor(11.)
    """
    return ops.dot(input, tensor)


@public("torch", "Tensor", out=Out(_NOT_DOT))
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """``dot`` with ``input`` conjugated.

    Raises:
        RuntimeError: as ``dot``.
    """
    return ops.vdot(input, other)


@public("linalg", out=Out(called="sum"))
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The sums of ``conj(x) * y`` along ``dim``; the other dimensions broadcast.

    Raises:
        RuntimeError: integers; dtypes that differ; shapes that don't broadcast.
    """
    if x.dtype.category < 2:
        raise RuntimeError(
            f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {x.dtype.scalar_name}"
        )
    if x.dtype is not y.dtype:
        raise RuntimeError(
            "linalg.vecdot: Expected x and y to have the same dtype, but found x of type "
            f"{x.dtype.scalar_name} and y of type {y.dtype.scalar_name} instead"
        )
    if x.ndim == y.ndim == 1:
        return ops.vdot(x, y)
    product = arithmetic.mul(conj(x) if x.dtype.is_complex else x, y)
    axis = wrap_dim(dim, product.ndim)
    return reductions.sum(product, axis=(axis,) if product.ndim else (), keepdims=False)


@public("torch", "Tensor", aliases=("ger",), out=Out(called="mul"), is_settled=True)
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """The product of every element of one vector with every element of another, (n, m).

    Args:
        vec2: the second vector (m,).

    Raises:
        RuntimeError: an operand that is no vector.

    >>> torch.outer(torch.tensor([1, 2]), torch.tensor([1, 10]))
    tensor([[ 1, 10],
            [ 2, 20]])
    """
    for name, operand in (("self", input), ("vec2", vec2)):
        if operand.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {operand.ndim}-D")
    return arithmetic.mul(reshaped(input, (input.shape[0], 1)), vec2)


@public("torch", "Tensor", out=Out(_NOT_TENSORDOT))
def inner(input: Tensor, other: Tensor) -> Tensor:
    """The sums of products along both last dimensions, for all pairs of the others; of a 0-dim operand, the product.

    Raises:
        RuntimeError: last dimensions or dtypes that differ.
    """
    if input.ndim == 0 or other.ndim == 0:
        return arithmetic.mul(input, other)
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(input.shape)} and {list(other.shape)}"
        )
    return _contracted(input, other, (input.ndim - 1,), (other.ndim - 1,))


def _contracted(x: Tensor, y: Tensor, x_axes: Sequence[int], y_axes: Sequence[int]) -> Tensor:
    """The sums of products along pairs of axes; the other axes of ``x`` come first.

    As in PyTorch it is a product of matrices, or of vectors if no axis is left, and the result a view of that.
    """
    if x.dtype is not y.dtype:
        raise RuntimeError("both inputs should have same dtype")
    for x_axis, y_axis in zip(x_axes, y_axes, strict=True):  # a length of 1 broadcasts
        if x.shape[x_axis] == 1 != y.shape[y_axis]:
            y = reductions.sum(y, axis=(y_axis,), keepdims=True, dtype=y.dtype)
        elif y.shape[y_axis] == 1 != x.shape[x_axis]:
            x = reductions.sum(x, axis=(x_axis,), keepdims=True, dtype=x.dtype)
    x_rest, y_rest = ([axis for axis in range(t.ndim) if axis not in axes] for t, axes in ((x, x_axes), (y, y_axes)))
    rows, columns = [x.shape[axis] for axis in x_rest], [y.shape[axis] for axis in y_rest]
    summed = math.prod(x.shape[axis] for axis in x_axes)
    left, right = permuted(x, (*x_rest, *x_axes)), permuted(y, (*y_axes, *y_rest))
    if not rows and not columns:
        return reshaped(dot(*(flat if flat.ndim == 1 else reshaped(flat, (summed,)) for flat in (left, right))), ())
    product = mm(reshaped(left, (math.prod(rows), summed)), reshaped(right, (summed, math.prod(columns))))
    return reshaped(product, (*rows, *columns))


@public("nn.functional")
def grouped_mm(
    mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = None, bias: Tensor | None = None, out_dtype: Any = None
) -> Tensor:
    """The matrix products of groups, which may have different numbers of rows.

    Args:
        mat_a: (groups, n, k), or (n, k), the rows of one group after those of another.
        mat_b: (groups, k, m), or (k, m), whose columns are in groups; those of k, where ``mat_a`` has two dimensions.
        offs: where each group ends, int32, where one of the two has two dimensions. What comes after the last end is
            left out, and is 0 in the result.
        bias: not supported, as in PyTorch.
        out_dtype: that of ``mat_a``.

    Returns:
        (groups, n, m) if k is in groups, or none; (n, m) if n or m are.

    Raises:
        RuntimeError: shapes, dtypes or ``offs`` that don't fit.

    >>> x, w = torch.ones(3, 2), torch.tensor([[[1.0], [1.0]], [[2.0], [2.0]]])
    >>> torch.nn.functional.grouped_mm(x, w, offs=torch.tensor([1, 3], dtype=torch.int32))
    tensor([[2.],
            [4.],
            [4.]])
    """
    _check_groups(mat_a, mat_b, offs, bias, out_dtype)
    if offs is None:
        return ops.matmul(mat_a, mat_b)
    ends = offs.tolist()
    groups = [slice(start, end) for start, end in itertools.pairwise([0, *ends])]
    if mat_a.ndim == mat_b.ndim:
        return stack([matmul(mat_a[:, group], mat_b[group]) for group in groups])
    if mat_a.ndim == 2:
        parts = [matmul(mat_a[group], one) for group, one in zip(groups, mat_b, strict=True)]
        return cat([*parts, mat_a.new_zeros(mat_a.shape[0] - ends[-1], mat_b.shape[2])])
    parts = [matmul(one, mat_b[:, group]) for one, group in zip(mat_a, groups, strict=True)]
    return cat([*parts, mat_b.new_zeros(mat_a.shape[1], mat_b.shape[1] - ends[-1])], 1)


def _check_groups(mat_a: Tensor, mat_b: Tensor, offs: Tensor | None, bias: Any, out_dtype: Any) -> None:
    """Refuse what doesn't fit, in PyTorch's words."""
    for name, one in (("mat_a", mat_a), ("mat_b", mat_b)):
        if one.dtype not in (float32, bfloat16, float16):
            raise RuntimeError(
                f"Expected {name} to be Float32, BFloat16 or Float16 matrix, got {one.dtype.scalar_name}"
            )
        if one.ndim not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d")
    if mat_a.shape[-1] != mat_b.shape[-2]:
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    is_flat = 2 in (mat_a.ndim, mat_b.ndim)
    if is_flat != (offs is not None):
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    counts = [one.shape[0] for one in (mat_a, mat_b) if one.ndim == 3]
    counts += [] if offs is None else [offs.shape[0]]
    if len(set(counts)) > 1:
        raise RuntimeError("matrix batch sizes have to match")
    if offs is not None and offs.dtype is not int32:
        raise RuntimeError("Offsets have to be int32")
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if out_dtype is not None and out_dtype is not mat_a.dtype:
        raise RuntimeError("Grouped gemm output dtype must match `mat_a` dtype")
    if mat_a.dtype is not mat_b.dtype:
        names = cpp_name(mat_a.dtype), cpp_name(mat_b.dtype)
        raise RuntimeError("expected m1 and m2 to have the same dtype, but got: {} != {}".format(*names))
    length = mat_a.shape[-1] if mat_a.ndim == mat_b.ndim else (mat_a.shape[0] if mat_a.ndim == 2 else mat_b.shape[-1])
    ends = [] if offs is None else [0, *offs.tolist()]
    if ends != sorted(ends) or (ends and ends[-1] > length):
        raise RuntimeError(message(
            "grouped_mm: offs is where groups end", expected=f"rising numbers up to {length}", got=ends[1:]
        ))  # fmt: skip


@public("torch", "functional", out=Out(_NOT_TENSORDOT, history="copied", unlisted=True))
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """The sums of products along pairs of dimensions: the last ``dims`` of ``a`` with the first of ``b``, or two lists.

    Raises:
        RuntimeError: lists or lengths that don't match, dtypes that differ.
        IndexError: a dimension out of range.
    """
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        a_dims, b_dims = _leading_dims(a, b, dims)
    elif isinstance(dims, (tuple, list)) and len(dims) == 2:
        a_dims, b_dims = _listed_dims(dims)
    else:
        raise RuntimeError(
            "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] containing two lists, "
            f"but got dims={dims}"
        )
    if len(a_dims) != len(b_dims):
        raise RuntimeError("both dimension lists should have same length")
    x_axes = [wrap_dim(dim, a.ndim) for dim in a_dims]
    y_axes = [wrap_dim(dim, b.ndim) for dim in b_dims]
    for a_dim, b_dim, x_axis, y_axis in zip(a_dims, b_dims, x_axes, y_axes, strict=True):
        if 1 != a.shape[x_axis] != b.shape[y_axis] != 1:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.shape[x_axis]} in dim {a_dim} "
                f"and second has size {b.shape[y_axis]} in dim {b_dim}"
            )
    return _contracted(a, b, x_axes, y_axes)


def _leading_dims(a: Tensor, b: Tensor, dims: int) -> tuple[list[int], list[int]]:
    if dims < 0:
        raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
    if dims > min(a.ndim, b.ndim):
        raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
    return list(range(-dims, 0)), list(range(dims))


def _listed_dims(dims: Sequence) -> tuple[list[int], list[int]]:
    for position, (name, listed) in enumerate(zip(("dims_self", "dims_other"), dims, strict=True)):
        if isinstance(listed, int):
            raise TypeError(f"tensordot(): argument '{name}' (position {3 + position}) must be tuple of ints, not int")
    return list(dims[0]), list(dims[1])


@public("torch", "Tensor")
def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product: a block ``input[i, j] * other`` for every element of ``input``."""
    ndim = max(input.ndim, other.ndim)
    left, right = ((1,) * (ndim - x.ndim) + tuple(x.shape) for x in (input, other))
    spread = unsafe_view(input, shape=tuple(n for length in left for n in (length, 1)))
    repeated = unsafe_view(other, shape=tuple(n for length in right for n in (1, length)))
    lengths = tuple(n * m for n, m in zip(left, right, strict=True))
    return unsafe_view(arithmetic.mul(spread, repeated), shape=lengths)


def _refuse_sum_of_other_shape(tensor: Tensor, mat1: Tensor, mat2: Tensor, **scales: Any) -> None:
    if mat1.ndim == mat2.ndim == 2 and mat1.shape[1] == mat2.shape[0]:
        _refuse_size(tensor, (mat1.shape[0], mat2.shape[1]))


def _refuse_other_shape(tensor: Tensor, result: Tensor) -> None:
    _refuse_size(tensor, tuple(result.shape))


def _refuse_size(tensor: Tensor, size: tuple[int, ...]) -> None:
    if tensor.shape != size:
        sizes = f"input tensor size {list(tensor.shape)} and output tensor size {list(size)}"
        raise RuntimeError(f"Bad in-place call: {sizes} should match")


def _refuse_outer_of_other_shape(tensor: Tensor, vec1: Tensor, vec2: Tensor, **scales: Any) -> None:
    if tensor.ndim != 2:
        raise RuntimeError(f"2D tensor expected, got {tensor.ndim}D tensor for input")
    if vec1.ndim == vec2.ndim == 1 and tuple(tensor.shape) != (*vec1.shape, *vec2.shape):
        raise RuntimeError(
            f"size mismatch, input: {list(tensor.shape)}, v1: {list(vec1.shape)}, v2: {list(vec2.shape)}"
        )


def _give_shape(tensor: Tensor, result: Tensor) -> None:
    if tensor.shape != result.shape:  # as PyTorch does here, and nowhere else
        resize_for(result, tensor)


@public(
    "torch", "Tensor", in_place=InPlace(apart=False, first=_refuse_sum_of_other_shape), out=Out(EXPECTED),
    is_settled=True,
)
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: complex = 1, alpha: complex = 1) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)``; where ``beta`` is 0, ``input`` is not read.

    Args:
        input: what is added; it broadcasts to (n, m).
        mat1, mat2: matrices (n, k) and (k, m).
        beta, alpha: numbers.

    Raises:
        RuntimeError: operands that are no matrices; shapes or dtypes that don't fit.

    >>> torch.addmm(torch.ones(2), torch.eye(2), torch.ones(2, 2), alpha=3)
    tensor([[4., 4.],
            [4., 4.]])
    """
    return ops.addmm(input, mat1, mat2, beta=beta, alpha=alpha)


@public(
    "torch", "Tensor", in_place=InPlace(overlapping=True, apart=False, check=_refuse_other_shape), out=Out(EXPECTED),
)  # fmt: skip
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: complex = 1, alpha: complex = 1) -> Tensor:
    """``beta * input + alpha * (mat @ vec)``.

    Args:
        input: what is added; it broadcasts to (n,).
        mat, vec: a matrix (n, m) and a vector (m,).
        beta, alpha: numbers; where ``beta`` is 0, ``input`` is not read.

    Raises:
        RuntimeError: numbers of dimensions, shapes or dtypes that don't fit.

    >>> torch.addmv(torch.ones(2), torch.eye(2), torch.tensor([1.0, 2.0]))
    tensor([2., 3.])
    """
    return ops.addmv(input, mat, vec, beta=beta, alpha=alpha)


@public(
    "torch", "Tensor", in_place=InPlace(overlapping=True, apart=False, check=_refuse_other_shape), out=Out(EXPECTED),
)  # fmt: skip
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: complex = 1, alpha: complex = 1) -> Tensor:
    """``beta * input + alpha * (batch1 @ batch2)``, of batches of matrices.

    Args:
        input: what is added; it broadcasts to (b, n, m).
        batch1, batch2: of shapes (b, n, k) and (b, k, m).
        beta, alpha: numbers; where ``beta`` is 0, ``input`` is not read.

    Raises:
        RuntimeError: numbers of dimensions, shapes or dtypes that don't fit.

    >>> torch.baddbmm(torch.ones(1), torch.ones(4, 2, 3), torch.ones(4, 3, 5)).shape
    torch.Size([4, 2, 5])
    """
    return ops.baddbmm(input, batch1, batch2, beta=beta, alpha=alpha)


@public(
    "torch", "Tensor", in_place=InPlace(apart=False, check=_give_shape),
    out=Out("self and mat2 must have the same dtype, but got {O} and {R}", resized=""),
)  # fmt: skip
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: complex = 1, alpha: complex = 1) -> Tensor:
    """``beta * input + alpha * sum(batch1 @ batch2)``, the sum over the batch.

    Args:
        input: what is added; it broadcasts to (n, m).
        batch1, batch2: of shapes (b, n, k) and (b, k, m).
        beta, alpha: numbers; where ``beta`` is 0, ``input`` is not read.

    Raises:
        RuntimeError: numbers of dimensions, shapes or dtypes that don't fit.

    >>> torch.addbmm(torch.zeros(1), torch.ones(4, 1, 3), torch.ones(4, 3, 2))
    tensor([[12., 12.]])
    """
    return ops.addbmm(input, batch1, batch2, beta=beta, alpha=alpha)


@public("torch", "Tensor", in_place=InPlace(first=_refuse_outer_of_other_shape))
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: complex = 1, alpha: complex = 1) -> Tensor:
    """``beta * input + alpha * outer(vec1, vec2)``.

    Args:
        input: what is added; it broadcasts to (n, m).
        vec1, vec2: of shapes (n,) and (m,).
        beta, alpha: numbers; where ``beta`` is 0, ``input`` is not read.

    Raises:
        RuntimeError: operands that are no vectors; shapes that don't fit; float factors for integers.

    >>> torch.addr(torch.zeros(1), torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0]))
    tensor([[ 1., 10.],
            [ 2., 20.]])
    """
    return ops.addr(input, vec1, vec2, beta=beta, alpha=alpha)


@public("linalg", out=Out(called="mm"))
def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of two or more matrices in the order that multiplies least; the first and last may be vectors.

    Args:
        tensors: a tuple or list of them.

    Raises:
        RuntimeError: fewer than two; shapes that don't fit.

    >>> torch.linalg.multi_dot([torch.ones(2, 3), torch.ones(3, 4), torch.ones(4)])
    tensor([12., 12.])
    """
    _check_chain(tensors)
    first, last = tensors[0], tensors[-1]
    chain = [unsqueeze(first, 0) if first.ndim == 1 else first, *tensors[1:-1]]
    chain.append(unsqueeze(last, 1) if last.ndim == 1 else last)
    product = _chained(chain, _cheapest_splits([*[m.shape[0] for m in chain], chain[-1].shape[1]]), 0, len(chain) - 1)
    shape = (() if first.ndim == 1 else (product.shape[0],)) + (() if last.ndim == 1 else (product.shape[1],))
    return reshaped(product, shape)


@public("torch", "functional", out=Out(called="mm", unlisted=True))
def chain_matmul(*matrices: Any) -> Tensor:
    """The product of matrices in the order that multiplies least; of one matrix, that matrix.

    Raises:
        RuntimeError: none; one that has not two dimensions; shapes that don't fit.
    """
    check_given("chain_matmul", matrices)
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    warn_once(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot "
        "instead, which accepts a list of two or more tensors rather than multiple parameters."
    )
    for matrix in matrices:
        if matrix.ndim != 2:
            raise RuntimeError(f"Tensor dimension is {matrix.ndim}, expected 2 instead.")
    return matrices[0] if len(matrices) == 1 else multi_dot(matrices)


def _check_chain(tensors: Sequence[Tensor]) -> None:
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    last = len(tensors) - 1
    for position, tensor in enumerate(tensors):
        if position in (0, last):
            if tensor.ndim not in (1, 2):
                name = "first" if position == 0 else "last"
                raise RuntimeError(f"multi_dot(): the {name} tensor must be 1D or 2D but got {tensor.ndim}D")
        elif tensor.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {position} must be 2D but got {tensor.ndim}D")
        if tensor.dtype is not tensors[0].dtype:
            raise RuntimeError(
                f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {cpp_name(tensors[0].dtype)} "
                f"and tensor {position} {cpp_name(tensor.dtype)}"
            )
    for position, (a, b) in enumerate(itertools.pairwise(tensors)):
        if a.shape[-1] != b.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {position} and {position + 1} with shapes {list(a.shape)} and {list(b.shape)} "
                "cannot be multiplied"
            )


def _cheapest_splits(lengths: Sequence[int]) -> dict[tuple[int, int], int]:
    """The places at which to split every part of a chain of matrices, (lengths[i], lengths[i + 1]) each, to multiply
    least."""
    count = len(lengths) - 1
    cost = {(i, i): 0 for i in range(count)}
    split: dict[tuple[int, int], int] = {}
    for size in range(1, count):
        for i in range(count - size):
            j = i + size
            costs = [
                (cost[i, k] + cost[k + 1, j] + lengths[i] * lengths[k + 1] * lengths[j + 1], k) for k in range(i, j)
            ]
            cost[i, j], split[i, j] = min(costs)
    return split


def _chained(chain: Sequence[Tensor], split: dict[tuple[int, int], int], i: int, j: int) -> Tensor:
    if i == j:
        return chain[i]
    k = split[i, j]
    return ops.mm(_chained(chain, split, i, k), _chained(chain, split, k + 1, j))


@public("nn.functional", native=True, is_settled=True, out=Out(EXPECTED))
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``: (..., in) to (..., out), with a weight (out, in) or (in,) and a bias (out,).

    Raises:
        RuntimeError: shapes or dtypes that don't fit.
    """
    if input.ndim == 0 or weight.ndim == 0:
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are {input.ndim}D and {weight.ndim}D"
        )
    if bias is None:
        if weight.ndim == 1:
            return matmul(input, weight)
        return LINEAR_WITHOUT_BIAS.get(input.ndim, ops.linear_nd_without_bias)(input, weight, None)
    if weight.ndim == 1:
        raise RuntimeError("mat2 must be a matrix, got 1-D tensor")
    return (ops.linear_2d if input.ndim == 2 else ops.linear_nd)(input, weight, bias)


LINEAR_WITHOUT_BIAS = {1: ops.linear_1d_without_bias, 2: ops.linear_2d_without_bias}


@public("nn.functional", "torch", native=True)
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input1 @ weight[o] @ input2 + bias[o]`` for each output o, with a weight (out, in1, in2).

    ``input1`` is (..., in1) and ``input2`` (..., in2), with the same dimensions before; ``bias`` is (out,).

    Raises:
        RuntimeError: shapes that don't fit.

    >>> x, y = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0]])
    >>> torch.nn.functional.bilinear(x, y, torch.ones(1, 2, 1), torch.tensor([0.5]))
    tensor([[9.5000]])
    """
    _check_bilinear(input1, input2, weight, bias)
    flat = [reshaped(x, (math.prod(x.shape[:-1]), x.shape[-1])) for x in (input1, input2)]
    product = renamed(einsum(flat[0], weight, flat[1], equation="za,cab,zb->zc"), "TrilinearBackward0")
    result = reshaped(product, (*input1.shape[:-1], weight.shape[0]))
    return result if bias is None else arithmetic.add(result, bias)


def _check_bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    if input1.ndim != input2.ndim:
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}")
    for axis in range(input1.ndim - 1):
        if input1.shape[axis] != input2.shape[axis]:
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {axis}: got {input1.shape[axis]} "
                f"and {input2.shape[axis]}"
            )
    for name, operand, length in (("input1", input1, weight.size(1)), ("input2", input2, weight.size(2))):
        if operand.size(-1) != length:
            raise RuntimeError(
                f"bilinear(): {name} size does not match weight size: got {operand.shape[-1]} but expected {length}"
            )
    operands = {"input1": input1, "input2": input2, "weight": weight} | ({} if bias is None else {"bias": bias})
    if any(operand.dtype is not input1.dtype for operand in operands.values()):
        told = ", ".join(f"{name}: {cpp_name(operand.dtype)}" for name, operand in operands.items())
        raise RuntimeError(f"All tensors must have the same dtype, got {told}")
    if bias is not None and bias.shape[0] != weight.shape[0]:
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected {weight.shape[0]}"
        )
