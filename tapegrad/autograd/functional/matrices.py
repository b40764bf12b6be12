"""Whole Jacobians and Hessians of functions of tensors: products with every vector of a basis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapegrad._src.execution.data.dtypes import FLOATING
from tapegrad._src.functions.creation import zeros_like
from tapegrad._src.functions.joining import stack
from tapegrad._src.progress import progress
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.functional.arguments import (
    RESULTS,
    Tensors,
    finished,
    fresh,
    gradients,
    tensors_of,
    unpacked_twice,
)
from tapegrad.autograd.functional.rows import basis_of, pushed_rows
from tapegrad.autograd.functional.strictness import CONSTANT_RESULT, check_dependent
from tapegrad.autograd.grad_mode import enable_grad

STRATEGIES = ("forward-mode", "reverse-mode")


def jacobian(
    func: Callable, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The Jacobian of ``func``.

    Args:
        func: a function of tensors that returns a tensor or a tuple of tensors.
        inputs: a tensor or a tuple of them, of any shapes; floating or complex.
        create_graph: make the result differentiable.
        strict: raise where an output doesn't depend on an input; otherwise the Jacobian is zero there.
        vectorize: take all rows, or columns, in one batch.
        strategy: ``"reverse-mode"``, row by row, or ``"forward-mode"``, column by column, which goes with
            ``vectorize`` and not with ``create_graph`` or ``strict``.

    Returns:
        A tensor of shape ``output.shape + input.shape``, of the input's dtype (in forward mode, the output's). Where
        ``func`` returns a tuple, a tuple of what there is for each output; where ``inputs`` is one, that is a tuple
        with a tensor for each input.

    Raises:
        RuntimeError: something that ``strict`` refuses; a complex output, unless ``vectorize``.
        TypeError: an input or an output is no tensor.
        NotImplementedError: settings that don't go together.

    >>> torch.autograd.functional.jacobian(lambda x: x ** 2, torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if strategy not in STRATEGIES:
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs '
            'than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        refuse_forward(create_graph, strict)
        return by_columns(func, inputs, vectorize)
    with enable_grad():
        is_tuple, inputs = tensors_of(inputs, "inputs", "jacobian")
        inputs = fresh(inputs, create_graph, track=True)
        outputs_are_tuple, outputs = tensors_of(func(*inputs), RESULTS, "jacobian")
        check_dependent(outputs, "outputs", strict)
        refuse_vectorized(strict, vectorize)
        rows = all_rows(outputs, inputs, create_graph) if vectorize else by_rows(outputs, inputs, create_graph, strict)
        return unpacked_twice(finished(rows, create_graph), outputs_are_tuple, is_tuple)


def refuse_forward(create_graph: bool, strict: bool) -> None:
    """Refuse arguments that do not go with forward mode."""
    if create_graph:
        raise NotImplementedError(
            'torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are not supported '
            'together (yet). Please either set `create_graph=False` or `strategy="reverse-mode"`.'
        )
    if strict:
        raise RuntimeError(
            'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not supported '
            'together (yet). Please either set `strict=False` or `strategy="reverse-mode"`.'
        )


def refuse_vectorized(strict: bool, vectorize: bool) -> None:
    """Refuse arguments that do not go with batches."""
    if strict and vectorize:
        raise RuntimeError(
            "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. "
            "Please either set `strict=False` or `vectorize=False`."
        )


def by_rows(outputs: Tensors, inputs: Tensors, create_graph: bool, strict: bool) -> tuple[Tensors, ...]:
    """For each output and each input a Jacobian, by one backward pass for each element of the output."""
    matrices = []
    for number, out in enumerate(outputs):
        rows = []
        for element in progress(range(out.nelement()), "Jacobian"):
            found = gradients((out.reshape(-1)[element],), inputs, retain_graph=True, create_graph=create_graph)
            rows.append(_filled_row(found, inputs, number, strict, create_graph))
        columns: Sequence[Sequence[Tensor]] = list(zip(*rows, strict=True)) or [()] * len(inputs)
        matrices.append(
            tuple(stack(column).view(out.size() + x.size()) for column, x in zip(columns, inputs, strict=True))
        )
    return tuple(matrices)


def _filled_row(
    found: Sequence[Tensor | None], inputs: Tensors, output: int, strict: bool, create_graph: bool
) -> list[Tensor]:
    """The gradients of one element of an output, with zeros for those that are missing, which ``strict`` refuses."""
    row = []
    for number, (one, x) in enumerate(zip(found, inputs, strict=True)):
        if strict and one is None:
            raise RuntimeError(
                f"Output {output} of the user-provided function is independent of input {number}. This is not allowed "
                "in strict mode."
            )
        if strict and create_graph and one is not None and not one.requires_grad:
            raise RuntimeError(CONSTANT_RESULT.format("jacobian", output))  # not number: as PyTorch has it
        row.append(zeros_like(x) if one is None else one)
    return row


def all_rows(outputs: Tensors, inputs: Tensors, create_graph: bool) -> tuple[Tensors, ...]:
    """For each output and each input a Jacobian, by one backward pass of a batch."""
    sizes = [out.numel() for out in outputs]
    flat = [out.reshape(-1) for out in outputs]
    found = gradients(flat, inputs, basis_of(outputs), create_graph=create_graph, is_grads_batched=True)
    columns = []
    for rows, x in zip(found, inputs, strict=True):
        rows = zeros_like(x).expand((sum(sizes), *x.shape)) if rows is None else rows
        blocks = rows.split(sizes, dim=0)
        columns.append([block.view(out.shape + x.shape) for block, out in zip(blocks, outputs, strict=True)])
    return tuple(zip(*columns, strict=True))


def by_columns(func: Callable, inputs: Any, vectorize: bool) -> Any:
    """The Jacobian in forward mode: the tangents of the outputs for each vector of a basis of the inputs.
    Raises NotImplementedError: not ``vectorize``; PyTorch asks for it.
    """
    is_tuple, inputs = tensors_of(inputs, "inputs", "jacobian")
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for "
            "`vectorize=True`."
        )
    seen: list[tuple[bool, list]] = []

    def noted(*duals: Tensor) -> Tensors:
        are_tuple, outputs = tensors_of(func(*duals), "outputs", None)
        seen.append((are_tuple, [tuple(out.shape) for out in outputs]))
        return outputs

    found = pushed_rows(noted, inputs, basis_of(inputs))
    ((outputs_are_tuple, shapes),) = seen
    blocks = [_in_place_of(inputs, column, shape) for column, shape in zip(found, shapes, strict=True)]
    return unpacked_twice(blocks, outputs_are_tuple, is_tuple)


def _in_place_of(inputs: Tensors, columns: Tensor, shape: tuple[int, ...]) -> list[Tensor]:
    """The columns of the Jacobian of an output of this shape, cut into a block for each input and with the column's
    dimension last."""
    order = (*range(1, columns.ndim), 0)
    blocks = columns.split([x.numel() for x in inputs], dim=0)
    return [block.permute(order).reshape((*shape, *x.shape)) for block, x in zip(blocks, inputs, strict=True)]


def hessian(
    func: Callable, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The Hessian of ``func``: the Jacobian of its gradient.

    Args:
        func: a function of tensors that returns a tensor of a single element.
        inputs, create_graph, strict, vectorize: as for ``jacobian``.
        outer_jacobian_strategy: the strategy of the Jacobian of the gradient, which is by reverse mode itself.

    Returns:
        A tensor of shape ``input.shape + input.shape``; for a tuple of inputs a tuple of tuples of tensors.

    Raises:
        RuntimeError, TypeError, NotImplementedError: the output has not one element; or as ``jacobian``.

    >>> torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    is_tuple, inputs = tensors_of(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in STRATEGIES:
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def gradient(*handles: Tensor) -> tuple[Tensor, ...]:
        if outer_jacobian_strategy == "forward-mode":
            handles = tuple(handle.requires_grad_(True) for handle in handles)
        found = jacobian(lambda *x: scalar(func(*x), strict), handles, create_graph=True)
        check_dependent(found, "jacobian", strict)
        return found

    if outer_jacobian_strategy == "forward-mode":  # the result has a history, as in PyTorch
        floating = [x.dtype.category >= FLOATING for x in inputs]
        inputs = tuple(
            x.detach().requires_grad_() if may and not x.requires_grad else x
            for x, may in zip(inputs, floating, strict=True)
        )
    found = jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return unpacked_twice(found, is_tuple, is_tuple)


def scalar(result: Any, strict: bool) -> Tensor:
    """The result of the function of a Hessian, checked, as a tensor without dimensions."""
    is_tuple, outputs = tensors_of(result, RESULTS, "hessian")
    check_dependent(outputs, "outputs", strict)
    if is_tuple:
        raise RuntimeError("The function given to hessian should return a single Tensor")
    if outputs[0].nelement() != 1:
        raise RuntimeError("The Tensor returned by the function given to hessian should contain a single element")
    return outputs[0].squeeze()
