"""Scaled dot product attention."""

from __future__ import annotations

import math

from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.declaration.scalars import unsupported
from tapegrad._src.bindings.layouts import both_laid_out
from tapegrad._src.bindings.state.generator import Sample, next_key
from tapegrad._src.caches import tabulated
from tapegrad._src.execution.array_functions import random as sampling
from tapegrad._src.execution.data.dtypes import FLOATING, float32, int64
from tapegrad._src.execution.data.dtypes import bool as bool_
from tapegrad._src.functions.creation import zeros
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.geometry import preserved_strides
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import attention
from tapegrad.ops.checks import check_product_of_batches, cpp_name
from tapegrad.ops.kinds import broadcast_shapes, broadcast_to
from tapegrad.ops.shape import view

kernels = {"cudnn": True, "flash": True, "mem_efficient": True, "math": True, "overrideable": True}
"""Which of PyTorch's kernels may be used; for all but ``math`` there is one here. Note [Kernels of attention]."""


def _is_fused(query: Tensor, fits: bool) -> bool:
    """Tell whether the fused kernel is used, where it ``fits``.

    Note [Kernels of attention]
    There are two, as in PyTorch on a CPU: one fused (``flash``), and ``math``, whose weights have a derivative by the
    mask, and can be dropped. They compute the same, so all that a choice changes is the name of the node, and what is
    refused. On other devices the further names of PyTorch's are names of the fused one.

    Raises:
        RuntimeError: none is left that can be used.
    """
    on_cpu = query.device.type == "cpu"
    fused = any(kernels[name] for name in (("flash",) if on_cpu else ("flash", "mem_efficient", "cudnn")))
    if not fused and not kernels["math"]:
        raise RuntimeError(
            "No viable backend for scaled_dot_product_attention was found. This is likely due to turning off both the "
            "math kernel and the fused kernels."
        )
    if not (fused and fits) and not kernels["math"]:
        raise RuntimeError("No available kernel.  Aborting execution.")
    return fused and fits


@public("nn.functional", native=True)
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """``softmax(query @ key.mT * scale + mask) @ value``: (..., n, d), (..., m, d) and (..., m, e) to (..., n, e).

    Args:
        query: floats (..., n, d), best (batch, heads, n, d).
        key: (..., m, d).
        value: (..., m, e).
        attn_mask: broadcasts to (..., n, m): booleans say which keys count, numbers are added. A query for which no key
            counts gets zeros.
        dropout_p: the probability with which a weight becomes 0. It is not told of training: give 0 outside.
        is_causal: let query i see keys up to i. There may be a mask too only where the fused kernel is used: with four
            dimensions, without dropout.
        scale: ``1 / sqrt(d)`` by default.
        enable_gqa: let heads (dimension -3) of keys and values serve several of the query.

    It has derivatives of all orders, and forward mode, where PyTorch's fused kernel for CPUs has a first derivative
    only.

    Raises:
        RuntimeError: shapes or dtypes that don't fit; ``dropout_p`` outside [0, 1]; both ``is_causal`` and a mask.

    >>> query, key = torch.zeros(1, 2), torch.zeros(3, 2)
    >>> torch.nn.functional.scaled_dot_product_attention(query, key, torch.tensor([[1.0], [2.0], [6.0]]))
    tensor([[3.]])
    """
    _check(query, key, value, attn_mask, dropout_p)
    if enable_gqa:
        key, value = (_repeated_heads(query, one) for one in (key, value))
    _check_shapes(query.shape, key.shape, value.shape, None if attn_mask is None else attn_mask.shape)
    if query.dtype.category != FLOATING:  # there is nothing to attend to: PyTorch looks at no dtype then
        shape = (*broadcast_shapes([query.shape[:-2], key.shape[:-2]]), query.shape[-2], value.shape[-1])
        return zeros(shape, dtype=int64 if query.dtype is bool_ else query.dtype, device=query.device)

    def kept() -> Sample:
        batch = broadcast_shapes([query.shape[:-2], key.shape[:-2]])
        weights = float32 if query.dtype.itemsize == 2 else query.dtype
        return Sample(sampling.bernoulli, (*batch, query.shape[-2], key.shape[-2]), weights, (1 - dropout_p,))

    drawn = next_key("dropout", None, query.device, sample=kept) if dropout_p > 0 else None
    fits = (
        query.ndim == 4 and drawn is None
        and not (attn_mask is not None and attn_mask.requires_grad and thread.modes.grad)
    )  # fmt: skip
    fused = _is_fused(query, fits)
    if is_causal and attn_mask is not None and not fused:
        raise RuntimeError(
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
        )
    operator = attention.attention if fused else attention.attention_by_parts
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None and query.shape[-1] else scale or 1.0
    causal = "added" if is_causal and not fused else bool(is_causal)
    result = operator(query, key, value, attn_mask, drawn, scale=float(factor), causal=causal, p=float(dropout_p))
    if not fused or query._spec.strides is None or query._spec.strides[-1] != 1 or result._spec.level:
        return result
    return both_laid_out(result, preserved_strides(tuple(result.shape), query._spec.strides))


def _check(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float) -> None:
    """Refuse numbers of dimensions and dtypes that PyTorch refuses."""
    tensors = (query, key, value)
    if not query.dtype is key.dtype is value.dtype:
        names = [cpp_name(one.dtype) for one in tensors]
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got "
            "query.dtype: {} key.dtype: {} and value.dtype: {} instead.".format(*names)
        )
    if min([one.ndim for one in tensors]) < 2:
        numbers = [one.ndim for one in tensors]
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got "
            "query.dim: {} key.dim: {} and value.dim: {} instead.".format(*numbers)
        )
    if mask is not None and mask.dtype not in (bool_, query.dtype) and not (
        mask.dtype is float32 and query.dtype.itemsize == 2
    ):  # fmt: skip
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{cpp_name(mask.dtype)} and  query.dtype: {cpp_name(query.dtype)} instead."
        )
    if 0 not in [one._spec.numel for one in tensors]:
        _check_dtype(query)
    if not 0 <= dropout_p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout_p:g}")


def _check_dtype(query: Tensor) -> None:
    if query.dtype.is_complex:
        raise unsupported("softmax_lastdim_kernel_impl", query.dtype)
    if query.dtype.category < FLOATING and query.ndim == 2:
        name = cpp_name(query.dtype)
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: float != {name}")
    if query.dtype.category < FLOATING:
        raise RuntimeError(f"expected scalar type Float but found {query.dtype.scalar_name}")


@tabulated(1024)
def _check_shapes(query: Size, key: Size, value: Size, mask: Size | None) -> None:
    batch = broadcast_shapes([query[:-2], key[:-2], value[:-2]])
    n, d, m = query[-2], query[-1], key[-2]
    check_product_of_batches((n, d), (key[-1], m), batch)
    check_product_of_batches((n, m), tuple(value[-2:]), batch)
    if mask is not None:
        broadcast_shapes([(*batch, n, m), mask])


def _repeated_heads(query: Tensor, other: Tensor) -> Tensor:
    """The heads of keys or values, each as often in a row as there are heads of queries for it."""
    heads, own = query.shape[-3], other.shape[-3]
    if own == 0 or heads % own:
        raise RuntimeError("Number of heads in key and value must divide the number of heads in ")
    if heads == own:
        return other
    *batch, _, length, width = other.shape
    split = view(other, shape=(*batch, own, 1, length, width))
    full = broadcast_to(split, shape=(*batch, own, heads // own, length, width))
    return view(full, shape=(*batch, heads, length, width))
