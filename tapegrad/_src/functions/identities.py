"""The functions that identities of operators, ``torch.ops.aten.NAME.OVERLOAD``, call: public ones of that name."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

from tapegrad._src.bindings.arguments import wrap_dim
from tapegrad._src.bindings.declaration.registry import NAMESPACES
from tapegrad._src.functions import slicing
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops.operator import TABLE
from tapegrad.ops.overloads import homes, own_operator


def _softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    return self.softmax(dim)


def _log_softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    return self.log_softmax(dim)


def _unsafe_view(self: Tensor, size: Any) -> Tensor:
    return self.reshape(size)


def _to_copy(self: Tensor, **options: Any) -> Tensor:
    return to(self, **options, copy=True)


def slice(self: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Tensor:
    if self.ndim == 0:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    axis = wrap_dim(dim, self.ndim)
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    first, length = slicing.slice_bounds(self.shape[axis], start, end, step)
    return slicing.sliced(self, axis, first, length, step)


def index(self: Tensor, indices: Any) -> Tensor:
    """The elements at places: a list of tensors of them, one for each dimension; None for one that stays whole."""
    return self[tuple([builtins.slice(None) if one is None else one for one in indices])]


def nll_loss_forward(
    self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> tuple[Tensor, Tensor]:
    """The loss, and by what a mean is divided."""
    how = ("none", "mean", "sum")[reduction]
    loss = NAMESPACES["nn.functional"]["nll_loss"](self, target, weight, ignore_index=ignore_index, reduction=how)
    counted = target != ignore_index
    if how == "none":
        return loss, self.new_zeros(())
    parts = self.new_ones(target.shape) if weight is None else weight[target.where(counted, 0)]
    return loss, (parts * counted).sum()


def sym_size(self: Tensor, dim: int) -> int:
    return self.size(dim)


def numpy_T(self: Tensor) -> Tensor:
    return self.T


def mT(self: Tensor) -> Tensor:
    return self.mT


def mH(self: Tensor) -> Tensor:
    return self.mH


def matrix_H(self: Tensor) -> Tensor:
    return self.H


def to(self: Tensor, *args: Any, **options: Any) -> Tensor:
    known = {key: one for key, one in options.items() if one is not None and key not in ("layout", "pin_memory")}
    return self.to(*args, **known)


def elu(self: Tensor, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Tensor:
    if (scale, input_scale) == (1, 1):
        return NAMESPACES["nn.functional"]["elu"](self, alpha)
    return scale * ((self * input_scale).expm1() * alpha).where(self <= 0, self)


def tensordot(self: Tensor, other: Tensor, dims_self: Any, dims_other: Any) -> Tensor:
    return NAMESPACES["torch"]["tensordot"](self, other, (dims_self, dims_other))


def _scaled_dot_product_flash_attention_for_cpu(
    query: Tensor, key: Tensor, value: Tensor, dropout_p: float = 0.0, is_causal: bool = False, *,
    attn_mask: Tensor | None = None, scale: float | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The products, and for each query the logarithm of the sum by which its weights are divided."""
    attend = NAMESPACES["nn.functional"]["scaled_dot_product_attention"]
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        scores = scores.masked_fill(scores.new_ones(scores.shape[-2:]).tril() == 0, -math.inf)
    scores = scores if attn_mask is None else scores + attn_mask
    return attend(query, key, value, attn_mask, dropout_p, is_causal, scale=scale), scores.logsumexp(-1)


def _of_list(name: str) -> Callable:
    """A function of one list of tensors for one that takes them one by one."""

    def listed(tensors: Any, **options: Any) -> Any:
        return NAMESPACES["torch"][name](*tensors, **options)

    return listed


def _loss(name: str, *between: str) -> Callable:
    """A loss that takes the number of its reduction; ``between`` are its arguments before that, and behind it."""

    def loss(self: Tensor, target: Tensor, *args: Any, **named: Any) -> Tensor:
        given = dict(zip(between, args, strict=False)) | named
        how = ("none", "mean", "sum")[given.pop("reduction", 1)]
        return NAMESPACES["nn.functional"][PUBLIC_NAMES.get(name, name)](self, target, **given, reduction=how)

    return loss


PUBLIC_NAMES = {"nll_loss_nd": "nll_loss", "nll_loss2d": "nll_loss", "cross_entropy_loss": "cross_entropy",
                "log_sigmoid": "logsigmoid"}  # fmt: skip

LOSSES = {
    "mse_loss": ("reduction",), "l1_loss": ("reduction",), "soft_margin_loss": ("reduction",),
    "smooth_l1_loss": ("reduction", "beta"), "huber_loss": ("reduction", "delta"),
    "binary_cross_entropy_with_logits": ("weight", "pos_weight", "reduction"),
    "binary_cross_entropy": ("weight", "reduction"), "nll_loss": ("weight", "reduction", "ignore_index"),
    "nll_loss_nd": ("weight", "reduction", "ignore_index"), "nll_loss2d": ("weight", "reduction", "ignore_index"),
    "cross_entropy_loss": ("weight", "reduction", "ignore_index", "label_smoothing"),
    "multilabel_margin_loss": ("reduction",),
}  # fmt: skip
"""The arguments of losses behind input and target, as PyTorch's operators take them."""

PRIVATE: dict[str, Callable] = {
    function.__name__: function
    for function in (
        _softmax, _log_softmax, _unsafe_view, _to_copy, slice, nll_loss_forward, sym_size, numpy_T, mT, mH, matrix_H,
        index, to, elu, tensordot, _scaled_dot_product_flash_attention_for_cpu,
    )
}  # fmt: skip
PRIVATE |= {name: _loss(name, *names) for name, names in LOSSES.items()}
PRIVATE |= {name: _of_list(name) for name in ("block_diag", "broadcast_tensors", "cartesian_prod", "meshgrid")}
"""Those that are nowhere public, or not as PyTorch's operators are called."""

_PREFIXES = {"torch": "", "Tensor": "", "nn.functional": "", "linalg": "linalg_", "special": "special_", "fft": "fft_"}
_PUBLIC = [(_prefix, NAMESPACES.setdefault(_home, {})) for _home, _prefix in _PREFIXES.items()]
homes.fill([("", PRIVATE), *_PUBLIC, ("", NAMESPACES.setdefault("ops.aten", {}))])


def _hashable(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_hashable, value))
    return tuple(map(_hashable, value)) if type(value) is tuple else value


def _own_operator(name: str, args: tuple, settings: dict[str, Any]) -> Any:
    """An operator of the table, as graphs call it: ``torch.ops.tapegrad.NAME.default``."""
    if name not in TABLE:
        raise NotImplementedError(f"tapegrad.{name} names an operator, for policies and logs; it is not in the table")
    return TABLE[name](*args, **{key: _hashable(one) for key, one in settings.items()})


own_operator.fill(_own_operator)
