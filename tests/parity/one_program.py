"""Derivatives that take many small kernels, traced into one program.

Note [What is traced]
A kernel costs XLA tens of milliseconds, whatever it computes, and derivatives of derivatives take dozens. Tensors
around tracers record and differentiate like any others, so all of it is traced into one function, which XLA compiles
once. What users see first, values and gradients, is computed at once, as they do. A program that asks for numbers can't
be traced; it is run as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

import tapegrad
from tapegrad.tensor.spec import Spec
from tapegrad.tensor.tensor import value_of, wrap


def in_one_program(function: Callable, given: Sequence[Any]) -> Any:
    """What ``function`` of copies of the tensors gives: nested lists and dictionaries, with arrays for tensors.

    Tensors that require grad are traced; the others, and what is no tensor, are known. See Note [What is traced].
    """
    leaves = [x for x in given if isinstance(x, tapegrad.Tensor) and x.requires_grad]

    def program(values: list) -> Any:
        traced = iter(values)
        return unwrapped(function(*[copied(x, traced) for x in given]))

    with jax.enable_x64(True):
        try:
            if not all(leaf.is_leaf and leaf._base is None for leaf in leaves): raise ValueError("views")
            found = jax.jit(program)([value_of(leaf.detach()) for leaf in leaves])
        except Exception as e:  # what it raises, it raises again
            import os
            print("FALLBACK", os.environ.get("PYTEST_CURRENT_TEST"), type(e), str(e)[:200].replace("\n"," "), file=open("/tmp/h/gate/fallback.txt","a"))
            raise
    return jax.tree.map(on_host, found)


def copied(x: Any, traced: Any) -> Any:
    """A leaf like ``x``: around the next of the ``traced`` values if it requires grad, else around its own."""
    if not isinstance(x, tapegrad.Tensor):
        return x
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
