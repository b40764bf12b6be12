"""``jacrev``, ``jacfwd`` and ``hessian``: all derivatives of a function at once, by ``vmap`` over unit vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from tapegrad._src.functions.joining import cat
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.tensor.trees import flatten, unflatten
from tapegrad.autograd.functional.rows import basis_of
from tapegrad.func.checks import all_picked, picked, refuse_complex
from tapegrad.func.gradients import jvp_at, out_of_inference, vjp_at
from tapegrad.func.mapping import vmap


def unit_vectors(tensors: Sequence[Tensor]) -> list[Tensor]:
    """For each tensor a batch of tensors like it, which together are the unit vectors of them all."""
    return [
        rows if tensor.dim() == 1 else rows.reshape((len(rows), *tensor.shape))
        for rows, tensor in zip(basis_of(tuple(tensors)), tensors, strict=True)
    ]


def jacrev(
    func: Callable, argnums: int | tuple[int, ...] = 0, *, has_aux: bool = False, chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable:  # fmt: skip
    """A function that gives the Jacobian of ``func``, row by row, by reverse mode.


    Returns:
        for each output and input a tensor of shape ``output.shape + input.shape``, in the structure of the output and,
        within that, of the input.

    Args:
        func: a function of trees of real tensors that returns a tree of them.
        argnums: with respect to which arguments.
        has_aux: whether ``func`` returns a pair of that and something else, which is then returned too.
        chunk_size: how many rows at once; None: all.
        _preallocate_and_copy: changes nothing.

    Raises:
        ValueError: ``chunk_size`` is not positive.

    >>> torch.func.jacrev(lambda x: x ** 2)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @out_of_inference
    @wraps(func)
    def wrapper(*args: Any) -> Any:
        refuse_complex("jacrev", args, "inputs")
        output, pull, *aux = vjp_at(func, args, argnums, has_aux)
        refuse_complex("jacrev", output, "outputs")
        outputs, spec = flatten(output)
        sizes = [out.numel() for out in outputs]
        basis = unit_vectors(outputs)
        rows = pulled_back(lambda *vectors: pull(unflatten(vectors, spec)), basis, chunk_size)
        inputs, structure = flatten(picked(args, argnums))
        blocks = [row.split(sizes, dim=0) for row in flatten(rows)[0]]
        results = []
        for index, out in enumerate(outputs):
            parts = [
                column[index].reshape((*out.shape, *x.shape)) for column, x in zip(blocks, inputs, strict=True)
            ]
            results.append(unflatten(parts, structure))
        jacobian = unflatten(results, spec)
        return (jacobian, aux[0]) if has_aux else jacobian

    return wrapper


def pulled_back(pull: Callable, basis: list[Tensor], chunk_size: int | None) -> Any:
    """``pull`` of each row of the basis, by ``vmap``, or one after another if chunks are of one row."""
    if chunk_size == 1:
        columns = [flatten(pull(*(vectors.select(0, row) for vectors in basis))) for row in range(len(basis[0]))]
        spec = columns[0][1]
        stacked = [cat([x.unsqueeze(0) for x in column]) for column in zip(*(c[0] for c in columns), strict=True)]
        return unflatten(stacked, spec)
    return vmap(pull, chunk_size=chunk_size)(*basis)


def jacfwd(
    func: Callable, argnums: int | tuple[int, ...] = 0, has_aux: bool = False, *, randomness: str = "error",
) -> Callable:  # fmt: skip
    """A function that gives the Jacobian of ``func``, column by column, by forward mode. See ``jacrev``.

    Args:
        func: a function of trees of tensors that returns a tree of them.
        argnums: with respect to which arguments.
        has_aux: whether ``func`` returns a pair of that and something else, which is then returned too.
        randomness: as for ``vmap``, under which ``func`` is called: ``"error"``, ``"same"`` or ``"different"``.

    >>> torch.func.jacfwd(torch.sin)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    @out_of_inference
    @wraps(func)
    def wrapper(*args: Any) -> Any:
        refuse_complex("jacfwd", args, "inputs")
        primals = args if argnums is None else all_picked(args, argnums)
        inputs, structure = flatten(primals)

        def push(*vectors: Any) -> Any:
            value, tangent, *aux = jvp_at(func, args, unflatten(vectors, structure), argnums, has_aux=has_aux)
            refuse_complex("jacfwd", value, "outputs")
            return (tangent, aux[0]) if has_aux else tangent

        columns = vmap(push, randomness=randomness)(*unit_vectors(inputs))
        aux = None
        if has_aux:
            columns, aux = columns
            leaves, aux_spec = flatten(aux)
            aux = unflatten([leaf[0] for leaf in leaves], aux_spec)
        sizes = [x.numel() for x in inputs]
        outputs, spec = flatten(columns)
        results = []
        for out in outputs:
            blocks = out.movedim(0, -1).split(sizes, dim=-1)
            parts = [block.reshape((*out.shape[1:], *x.shape)) for block, x in zip(blocks, inputs, strict=True)]
            tree = unflatten(parts, structure)
            results.append(tree[0] if isinstance(argnums, int) else tree)
        jacobian = unflatten(results, spec)
        return (jacobian, aux) if has_aux else jacobian

    return wrapper


def hessian(func: Callable, argnums: int | tuple[int, ...] = 0) -> Callable:
    """A function that gives the second derivatives of ``func``: forward mode over reverse mode.

    Args:
        argnums: with respect to which arguments, by position.

    >>> torch.func.hessian(lambda x: (x ** 3).sum())(torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
