"""Checks of operators that refuse mixed dtypes: PyTorch's names of types in messages, and how a check is attached."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad._src.execution.array_functions.host import is_readable, to_host
from tapegrad._src.execution.data.dtypes import dtype
from tapegrad._src.tensor.lifted import all_elements
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad.ops.operator import Operator

CPP_NAMES = {
    "float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "int64": "long int",
    "int32": "int", "int16": "short int", "int8": "signed char", "uint8": "unsigned char", "bool": "bool",
    "uint16": "short unsigned int", "uint32": "unsigned int", "uint64": "long unsigned int",
    "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
}  # fmt: skip
"""The names of dtypes in some messages of PyTorch's C++."""


def cpp_name(of: dtype) -> str:
    """The C++ name of a dtype, as PyTorch prints it: ``float``, ``long int``, ``c10::Half``."""
    return CPP_NAMES.get(of.name, of.name)


def numbers_of(x: Any) -> np.ndarray:
    """The elements of a tensor; none where nothing is recorded, or nothing known."""
    known = isinstance(x, Tensor) and is_readable(value_of(x))
    return to_host(all_elements(x)) if known else np.ones(0)


def checked(check: Callable[[Sequence, dict], None]) -> Callable[[Operator], Operator]:
    """Let ``check(specs, settings)`` refuse arguments of an operator, once for each plan, before anything is run."""

    def attach(operator: Operator) -> Operator:
        operator.check = check  # type: ignore[method-assign, assignment]
        return operator

    return attach


def expect_same_scalar_type(*specs: Any) -> None:
    """Refuse operands whose dtype is not that of the first; absent ones (None) are no operands.
    Raises RuntimeError: ``expected scalar type Float but found Double``.
    """
    first = specs[0].dtype
    for spec in specs[1:]:
        if spec is not None and spec.dtype is not first:
            raise RuntimeError(f"expected scalar type {first.scalar_name} but found {spec.dtype.scalar_name}")


def refuse_dtypes(kernel: str, spec: Any, *, bool: bool = False, integral: bool = False, complex: bool = False) -> None:
    """Refuse the dtypes that PyTorch has no ``kernel`` for: the categories given as True.
    Raises NotImplementedError: ``"bmm" not implemented for 'Bool'``.
    """
    if (bool, integral, False, complex)[spec.dtype.category]:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{spec.dtype.scalar_name}'")


def check_product_of_batches(x: Sequence[int], y: Sequence[int], batch: Sequence[int]) -> None:
    """Refuse batches of matrices of these shapes, of as many each as ``batch`` says, that can't be multiplied.
    Raises RuntimeError: PyTorch's message.
    """
    if x[-1] != y[-2]:
        count = math.prod(batch)
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{count}, {x[-1]}] "
            f"but got: [{count}, {y[-2]}]."
        )
