"""Checks that the functions of matrices share: dimensions, squareness, dtypes."""

from __future__ import annotations

from tapegrad._src.bindings.arguments import not_implemented
from tapegrad._src.bindings.bounds import batch_element
from tapegrad._src.execution.data.dtypes import COMPLEX, FLOATING
from tapegrad._src.execution.kernels.deferred_checks import Finding
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.lifted import Lifted
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad.errors import LinAlgError


def check_matrices(name: str, input: Tensor, argument: str = "A") -> None:
    """Refuse what has fewer than two dimensions. Raises RuntimeError: PyTorch's message."""
    if input.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {argument} must have at least 2 dimensions.")


def check_square(name: str, input: Tensor) -> None:
    """Refuse what are no square matrices. Raises RuntimeError: PyTorch's messages."""
    check_matrices(name, input)
    rows, columns = input.shape[-2:]
    if rows != columns:
        raise RuntimeError(f"{name}: A must be batches of square matrices, but they are {rows} by {columns} matrices")


def check_floating(name: str, input: Tensor) -> None:
    """Refuse integers. Raises RuntimeError: PyTorch's message."""
    if input.dtype.category < FLOATING:
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {input.dtype.scalar_name}"
        )


def check_kernel(kernel: str, input: Tensor) -> None:
    """Refuse the dtypes that LAPACK doesn't have. Raises NotImplementedError: PyTorch's message."""
    if input.dtype.category < FLOATING or input.dtype.itemsize < (8 if input.dtype.category == COMPLEX else 4):
        raise not_implemented(kernel, input.dtype)


def is_differentiated(input: Tensor) -> bool:
    """Tell whether anybody may ask for a derivative of what is computed from a tensor, here or where it was lifted
    from."""
    if (input._spec.requires_grad and thread.modes.grad) or input._spec.dual:
        return True
    value = value_of(input) if input._spec.level else None
    return isinstance(value, Lifted) and is_differentiated(value.tensor)


def failure(name: str, finding: Finding, what: str) -> LinAlgError:
    """PyTorch's words for the first matrix of a batch that a routine could not do."""
    return LinAlgError(f"{name}: {batch_element(finding.element, finding.ndim)}{what}")
