"""``gradcheck`` of functions of sparse tensors, as a function of dense ones that makes these.

If it is ``masked``, what is varied are the values that are there. If not, all elements are, of a tensor that has them
all; what is compared with the differences is the gradient of the tensor that was given, whose other elements have one
of some functions only. Such a gradient is refused where it is ``masked``, too: the differences there are 0. Only
``fast_mode`` doesn't look at it, as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad._src.functions.creation import ones_like, zeros_like
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.differentiate import grad
from tapegrad.autograd.function import Function
from tapegrad.autograd.grad_mode import enable_grad
from tapegrad.autograd.gradcheck import sparse_problem
from tapegrad.sparse.attributes import with_values
from tapegrad.sparse.tensor import is_coo, is_sparse, state_of


def as_dense(x: Any) -> Any:
    """A gradient as a dense tensor."""
    return x.to_dense() if is_sparse(x) else x


def refused_if_sparse(x: Any) -> Any:
    """A result, which has to be dense. Raises ValueError: it is sparse. PyTorch's message."""
    if is_sparse(x):
        raise ValueError("Sparse output is not supported at gradcheck yet. Please call to_dense(masked_grad=...) on "
                         "the output of fn for gradcheck.")  # fmt: skip
    return x


def results_of(found: Any) -> Any:
    """The results of a function, which have to be dense."""
    return tuple(map(refused_if_sparse, found)) if isinstance(found, (tuple, list)) else refused_if_sparse(found)


def refilled(like: Tensor, dense: Tensor, whole: bool) -> Tensor:
    """The elements of a dense tensor as one of the layout of another: those at its places, or the whole."""
    if not whole:
        return with_values(like, dense.sparse_mask(like).values() if not is_coo(like) else _at_places(like, dense))
    there = ones_like(dense.detach())
    if is_coo(like):
        made = there.to_sparse(like.sparse_dim())
    else:
        state = state_of(like)
        blocks = tuple(state.values.shape[1:3]) if "bs" in repr(state.layout) else None
        made = there.to_sparse(layout=state.layout, blocksize=blocks)
    return refilled(made, dense, whole=False)


def _at_places(like: Tensor, dense: Tensor) -> Tensor:
    return state_of(dense.sparse_mask(like.coalesce())).values


class _OfElements(Function):
    """A function of a sparse tensor as one of a dense one: it is computed of all elements, or of those at its places if
    it is masked, and differentiated at its places."""

    @staticmethod
    def forward(ctx: Any, func: Callable, like: Tensor, masked: bool, dense: Tensor) -> Any:
        ctx.func, ctx.like = func, like
        ctx.save_for_backward(dense)
        found = func(refilled(like, dense, whole=not masked))
        return results_of(found)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (dense,) = ctx.saved_tensors
        with enable_grad():
            leaf = refilled(ctx.like, dense.detach(), whole=False).detach().requires_grad_()
            found = ctx.func(leaf)
            outs = results_of(found)
            outs = outs if isinstance(outs, tuple) else (outs,)
        given = [(out, g) for out, g in zip(outs, grads, strict=True) if out.requires_grad and g is not None]
        if not given:
            return None, None, None, zeros_like(dense)
        (result,) = grad([out for out, _ in given], [leaf], [g for _, g in given], allow_unused=True)
        return None, None, None, zeros_like(dense) if result is None else as_dense(result)


def dense_problem(func: Callable, inputs: tuple, masked: bool | None, whole: bool) -> tuple[Callable, tuple]:
    """A function of dense tensors, and these, in the place of one of sparse ones.

    ``whole``: the gradient of what is not there is looked at, too.
    """
    places = [i for i, one in enumerate(inputs) if is_sparse(one) and one.requires_grad]
    likes = {i: inputs[i].detach().coalesce() if is_coo(inputs[i]) else inputs[i].detach() for i in places}
    given = list(inputs)
    of_values = bool(masked) and not (whole and len(places) == 1)
    for i in places:
        of = state_of(likes[i]).values if of_values else likes[i].to_dense()
        given[i] = of.detach().clone().requires_grad_()

    def remade(like: Tensor, arg: Tensor) -> Tensor:
        return with_values(like, arg) if of_values else refilled(like, arg, whole=True)

    def function(*args: Any) -> Any:
        if of_values or len(places) != 1:
            found = func(*[remade(likes[i], arg) if i in likes else arg for i, arg in enumerate(args)])
            return results_of(found)
        (place,) = places
        rest = list(args)

        def of_one(x: Tensor) -> Any:
            return func(*rest[:place], x, *rest[place + 1 :])

        return _OfElements.apply(of_one, likes[place], bool(masked), args[place])

    return function, tuple(given)


sparse_problem.fill(dense_problem)
