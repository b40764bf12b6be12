"""PyTorch's softmax and its kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad._src.bindings.arguments import not_implemented
from tapegrad._src.bindings.declaration.declarations import EXPECTED, Out
from tapegrad._src.bindings.declaration.registry import NAMESPACES, public
from tapegrad._src.execution.data import dtypes
from tapegrad._src.execution.data.dtypes import FLOATING, dtype
from tapegrad._src.execution.data.promotion import warn_of_cast
from tapegrad._src.functions.creation import empty_like, zeros_like
from tapegrad._src.functions.reductions import check_dtype, one_dim, several_dims
from tapegrad._src.functions.unary import NEGATED_BOOL
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.ops import softmax as ops
from tapegrad.ops import unary
from tapegrad.ops.kinds import cast


def _softmax(name: str, operator: Callable, input: Tensor, dim: Any, wanted: dtype | None) -> Tensor:
    axis = one_dim(name, dim, input.ndim)
    check_dtype(name, wanted)
    if wanted is not None and wanted is not input.dtype:
        warn_of_cast(input.dtype, wanted)
        input = cast(input, dtype=wanted)
    if input.dtype.category != FLOATING:
        if not (input.numel() or input.dtype.is_complex):
            return input.clone()
        last = "_lastdim" if axis == max(input.ndim, 1) - 1 else ""
        raise not_implemented(f"{name}{last}_kernel_impl", input.dtype)
    return operator(input, axis=axis)


@public("torch", "Tensor", out=Out(EXPECTED, history="unknown"), is_settled=True)
def softmax(input: Tensor, dim: int, dtype: dtype | None = None) -> Tensor:
    """``exp(input)`` over its sum along ``dim``, computed in ``dtype`` if that is given; nan where all are -inf.

    Raises:
        NotImplementedError: other than floating elements.
    """
    return _softmax("softmax", ops.softmax, input, dim, dtype)


@public("torch", "Tensor", out=Out(EXPECTED, history="unknown"), is_settled=True)
def log_softmax(input: Tensor, dim: int, dtype: dtype | None = None) -> Tensor:
    """The logarithm of ``softmax``, without forming it.

    Args:
        dim: along which the exponentials of the results add up to 1.
        dtype: what ``input`` is cast to first.

    Raises:
        NotImplementedError: other than floating elements.

    >>> torch.log_softmax(torch.tensor([0.0, 0.0]), 0)
    tensor([-0.6931, -0.6931])
    """
    return _softmax("log_softmax", ops.log_softmax, input, dim, dtype)


@public("special", name="softmax")
def special_softmax(input: Tensor, dim: int, *, dtype: dtype | None = None) -> Tensor:
    """See ``torch.softmax``."""
    return _softmax("softmax", ops.softmax, input, dim, dtype)


@public("special", name="log_softmax")
def special_log_softmax(input: Tensor, dim: int, *, dtype: dtype | None = None) -> Tensor:
    """See ``torch.log_softmax``."""
    return _softmax("log_softmax", ops.log_softmax, input, dim, dtype)


def implicit_dim(name: str, dim: int | None, ndim: int) -> int:
    """The dimension that old code meant when it gave none; giving none is deprecated.

    >>> implicit_dim("softmax", 2, 3)
    2
    """
    return _get_softmax_dim(name, ndim) if dim is None else dim


@public("nn.functional", asks="nobody")
def _get_softmax_dim(name: str, ndim: int, stacklevel: int = 3) -> int:
    """The dimension that is meant where none is given, with a warning that says so."""
    warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.")
    return 0 if ndim in (0, 1, 3) else 1


@public("nn.functional", name="softmax")
def functional_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None
) -> Tensor:
    """``torch.softmax`` of ``input`` along ``dim``, which should be given: a guess is deprecated.

    It is computed in ``dtype``, if that is given. ``_stacklevel`` has no effect: the warning names the caller.

    >>> torch.nn.functional.softmax(torch.tensor([0.0, 0.0]), dim=0, dtype=torch.float64)
    tensor([0.5000, 0.5000], dtype=torch.float64)
    """
    dim = implicit_dim("softmax", dim, input.ndim)
    return _softmax("softmax", ops.softmax, input, dim, dtype)


@public("nn.functional", name="softmin")
def functional_softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None
) -> Tensor:
    """``softmax`` of the negative of ``input`` along ``dim``, which should be given: a guess is deprecated.

    It is computed in ``dtype``, if that is given. ``_stacklevel`` has no effect: the warning names the caller.

    Raises:
        RuntimeError: booleans, which can't be negated.
        NotImplementedError: other than floating elements.

    >>> torch.nn.functional.softmin(torch.tensor([0.0, 1.0]), dim=0)
    tensor([0.7311, 0.2689])
    """
    dim = implicit_dim("softmin", dim, input.ndim)
    if input.dtype is dtypes.bool:
        raise RuntimeError(NEGATED_BOOL)
    return NAMESPACES["Tensor"]["softmax"](unary.neg(input), dim, dtype)


@public("nn.functional", name="log_softmax")
def functional_log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None
) -> Tensor:
    """``torch.log_softmax`` of ``input`` along ``dim``, which should be given: a guess is deprecated.

    It is computed in ``dtype``, if that is given. ``_stacklevel`` has no effect: the warning names the caller.

    >>> torch.nn.functional.log_softmax(torch.tensor([0.0, 0.0]), dim=0)
    tensor([-0.6931, -0.6931])
    """
    dim = implicit_dim("log_softmax", dim, input.ndim)
    return _softmax("log_softmax", ops.log_softmax, input, dim, dtype)


@public(
    "torch", "Tensor", "special",
    out=Out(cast="logsumexp(): Expected floating point type for result tensor, but got: {O}"), is_settled=True,
)  # fmt: skip
def logsumexp(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """The logarithm of the sum over ``dim`` of ``exp(input)``, without overflow; -inf of nothing.

    Integers become floats.

    Raises:
        RuntimeError: no dimensions, which mean all, of which none is to be kept.

    >>> torch.logsumexp(torch.tensor([1000.0, 1000.0]), 0)
    tensor(1000.6932)
    """
    if dim in ((), []) and input.ndim and input._spec.numel and not keepdim:
        ones = [1] * input.ndim
        raise RuntimeError(f"output with shape [] doesn't match the broadcast shape {ones}")
    return ops.logsumexp(input, axis=several_dims("logsumexp", dim, input.ndim), keepdims=keepdim)


@public("nn.functional")
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A sample of the Gumbel-softmax distribution: ``softmax((logits + noise) / tau)`` along ``dim``.

    Args:
        logits: logarithms of probabilities, up to a constant: floats of any shape.
        tau: the temperature. The smaller, the nearer a sample is to one 1 among zeros.
        hard: give a 1 to the greatest and 0 to the others, with the gradient of the soft sample.
        eps: does nothing, and is deprecated.
        dim: the dimension of the classes.

    From Jang et al., "Categorical Reparameterization with Gumbel-Softmax" (2016), and Maddison et al. (2016).

    Raises:
        RuntimeError: integers.
        IndexError: ``dim`` out of range.

    >>> sample = torch.nn.functional.gumbel_softmax(torch.zeros(4, 3), hard=True)
    >>> sample.sum(-1)
    tensor([1., 1., 1., 1.])
    """
    if eps != 1e-10:
        warn("`eps` parameter is deprecated and has no effect.")
    noise = -empty_like(logits).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    greatest = soft.max(dim, keepdim=True)[1]
    return zeros_like(logits).scatter_(dim, greatest, 1.0) - soft.detach() + soft
