"""Derivatives that take many small kernels, traced into one program.

Note [What is traced]
A kernel costs XLA tens of milliseconds, whatever it computes, and derivatives of derivatives take dozens. Tensors
around tracers record and differentiate like any others, so all of it is traced into one function, which XLA compiles
once. What users see first, values and gradients, is computed at once, as they do. What asks for numbers is not traced:
it is run as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

import tapegrad
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import value_of, wrap


def in_one_program(function: Callable, given: Sequence[tapegrad.Tensor]) -> Any:
    """What ``function`` of copies of the tensors gives: nested lists and dictionaries, with arrays for tensors.

    Tensors that require grad are traced; of the others the elements are known. See Note [What is traced].

    Raises:
        ValueError: if a tensor that requires grad is a view: a copy would have another history.
    """
    leaves = [x for x in given if x.requires_grad]
    if any(leaf._base is not None for leaf in leaves):
        raise ValueError("a view is no leaf")

    def program(values: list) -> Any:
        traced = iter(values)
        return unwrapped(function(*[copied(x, traced) for x in given]))

    with jax.enable_x64(True):
        return jax.tree.map(on_host, jax.jit(program)([value_of(leaf.detach()) for leaf in leaves]))


def copied(x: tapegrad.Tensor, traced: Iterator) -> tapegrad.Tensor:
    """A leaf like ``x``: around the next of the ``traced`` values if it requires grad, else around its own."""
    value = next(traced) if x.requires_grad else value_of(x)
    return wrap(value, Spec.of(x.shape, x.dtype, x.device, x.requires_grad, strides=x._spec.strides))


def unwrapped(found: Any) -> Any:
    """Tensors as their values."""
    if isinstance(found, tapegrad.Tensor):
        return value_of(found.detach().resolve_conj().resolve_neg())
    if isinstance(found, dict):
        return {key: unwrapped(item) for key, item in found.items()}
    return [unwrapped(item) for item in found] if isinstance(found, (tuple, list)) else found


def on_host(value: Any) -> np.ndarray:
    """An array as NumPy's; bfloat16 as float32."""
    array = np.asarray(value)
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array
