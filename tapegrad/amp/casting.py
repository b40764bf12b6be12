"""Casts of the arguments of public functions by autocast, and the functions that it casts for.

Note [Autocast]
``modes.autocast`` says for which types of devices arguments are cast, and to which dtype. Like all modes it is a part
of what plans and compiled steps are found by. The casts are made where public functions are entered (``caster`` in
``bindings/declaration/registry.py``), on the way that modes and overriding classes take too, so that nobody looks where
autocast is off; and not where plans are made, since PyTorch's lists name functions, and the operators behind them are
ours. A function on a list is called again with its arguments cast, and with autocast off: what it calls is part of it.
One that is on no list runs as it is, and the functions that it calls are asked themselves. A cast is ``Tensor.to``, so
it is recorded, mapped, captured and deferred like any other operator, and gradients reach the tensor that was cast.

Note [Weights that were cast]
A leaf that requires grad is cast once while autocast is on, and the result kept until the outermost context ends:
gradients of all its uses meet before the cast. It is not cast again when it is written to meanwhile. A captured step
keeps its own, which it makes itself, or it would begin with what was cast before.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any

from tapegrad._src.bindings.declaration.registry import caster
from tapegrad._src.execution.data.dtypes import bfloat16, dtype, float16, float32, float64
from tapegrad._src.execution.recording.capturing import capturing
from tapegrad._src.functions.einsum import explicit
from tapegrad._src.functions.recurrent import is_whole
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.tensor import Tensor

NAMES = ("cpu", "cuda", "xpu", "mps", "hpu", "mtia", "maia", "xla", "ipu", "privateuseone")
"""Types of devices for which PyTorch has autocast."""

BFLOAT16_FIRST = ("cpu", "hpu", "maia", "xla")


class State:
    """The settings of a thread besides its modes.

    Attributes:
        dtypes: the dtype for each type of device, whether autocast is on or not.
        cache_enabled: whether weights that were cast are kept.
        nesting: how many contexts the thread is in.
        cache: what was cast, by identity: a weak reference to it, the capture it belongs to, the result.
    """

    def __init__(self) -> None:
        self.cache_enabled, self.nesting = True, 0
        self.dtypes: dict[str, dtype] = {name: bfloat16 if name in BFLOAT16_FIRST else float16 for name in NAMES}
        self.cache: dict[int, tuple[weakref.ref[Tensor], Any, Tensor]] = {}


def state() -> State:
    """That of the calling thread."""
    if thread.autocast is None:
        thread.autocast = State()
    return thread.autocast


# -- lists -------------------------------------------------------------------------------------------------------------

PADS = {"reflect": (1, 2, 3, 4), "replicate": (1, 2, 3, 4, 5, 6)}
"""The number of widths that ``pad`` is given, in the modes in which it computes in float32."""


def lower(low: dtype, tensors: Iterable[Tensor]) -> dtype:
    """The dtype to cast to in a function that computes in the lower precision."""
    return low


def to_float32(low: dtype, tensors: Iterable[Tensor]) -> dtype:
    """The dtype to cast to in a function that needs float32."""
    return float32


def widest(low: dtype, tensors: Iterable[Tensor]) -> dtype:
    """The dtype to cast to in a function of several tensors: float32 if one has it.
    Raises RuntimeError: one has neither that nor the lower precision.
    """
    found = low
    for tensor in tensors:
        if float32 in (found, tensor.dtype):
            found = float32
        elif tensor.dtype is not low:
            raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
    return found


Policy = Callable[[dtype, Iterable[Tensor]], dtype]

LISTS: list[tuple[str, Policy, str]] = [
    ("cpu", lower, """
        addbmm addmm baddbmm bmm chain_matmul conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d
        conv_transpose3d linalg_matmul linalg_multi_dot linalg_vecdot linear matmul mm prelu
        scaled_dot_product_attention corrcoef cov rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell
    """),
    ("cpu", to_float32, """
        adaptive_avg_pool3d adaptive_max_pool3d adaptive_max_pool3d_with_indices avg_pool3d binary_cross_entropy
        binary_cross_entropy_with_logits cdist cholesky cholesky_inverse cholesky_solve cosine_embedding_loss
        cross_entropy cross_entropy_loss ctc_loss fft_fft fft_fft2 fft_fftn fft_hfft fft_ifft fft_ifft2 fft_ifftn
        fft_ihfft fft_irfft fft_irfft2 fft_irfftn fft_rfft fft_rfft2 fft_rfftn fractional_max_pool2d
        fractional_max_pool2d_with_indices fractional_max_pool3d fractional_max_pool3d_with_indices geqrf grid_sample
        grid_sampler grid_sampler_2d grid_sampler_3d hinge_embedding_loss huber_loss inverse kl_div l1_loss
        linalg_cholesky linalg_cholesky_ex linalg_cond linalg_eig linalg_eigh linalg_eigvals linalg_eigvalsh
        linalg_householder_product linalg_inv linalg_inv_ex linalg_lstsq linalg_matrix_rank linalg_qr linalg_solve
        linalg_svd linalg_svdvals linalg_tensorinv linalg_tensorsolve linear_cross_entropy lu_solve
        margin_ranking_loss max_unpool1d max_unpool2d max_unpool3d mse_loss multi_margin_loss multilabel_margin_loss
        nanquantile nll_loss nll_loss2d orgqr ormqr pinverse poisson_nll_loss polar prod qr quantile reflection_pad1d
        reflection_pad2d replication_pad1d replication_pad2d replication_pad3d smooth_l1_loss soft_margin_loss stft
        svd trace triangular_solve triplet_margin_loss view_as_complex
    """),
    ("cpu", widest, "cat concat concatenate stack index_copy hstack vstack row_stack dstack column_stack"),
    ("cuda", lower, """
        addbmm addmm addmv addr baddbmm bmm chain_matmul conv1d conv2d conv3d conv_tbc conv_transpose1d
        conv_transpose2d conv_transpose3d einsum gru gru_cell linalg_matmul linalg_multi_dot linalg_vecdot linear lstm
        lstm_cell matmul mm mv prelu rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell scaled_dot_product_attention
        corrcoef cov
    """),
    ("cuda", to_float32, """
        acos arccos asin arcsin binary_cross_entropy_with_logits cdist cosh cosine_embedding_loss cosine_similarity
        cross_entropy cumprod cumsum dist erfinv exp expm1 group_norm hinge_embedding_loss huber_loss kl_div l1_loss
        layer_norm linalg_matrix_norm linalg_norm linalg_vector_norm log log10 log1p log2 log_softmax logsumexp
        margin_ranking_loss mse_loss multi_margin_loss multilabel_margin_loss nll_loss norm pdist poisson_nll_loss pow
        prod reciprocal renorm rms_norm rsqrt sinh smooth_l1_loss soft_margin_loss softmax softmin softplus sum tan
        triplet_margin_loss interpolate
    """),
    ("cuda", widest, """
        addcdiv addcmul atan2 arctan2 bilinear cross dot grid_sample grid_sampler index_put scatter_add tensordot vdot
    """),
]  # fmt: skip
"""PyTorch's lists: for a type of device, what arguments are cast to, and of which functions; ``corrcoef`` and those
behind it because what they call is."""

POLICIES: dict[str, dict[str, Policy]] = {
    device: {name: policy for kind, policy, names in LISTS if kind == device for name in names.split()}
    for device in ("cpu", "cuda")
}
"""For a type of device, and the name of a function in PyTorch's messages, what its arguments are cast to."""


def policy_of(device: str, name: str, args: tuple, kwargs: dict[str, Any]) -> Policy | None:
    """The dtype that the arguments of a call are cast to, or None if they stay as they are."""
    if device == "cpu" and name in DEPENDING:
        return DEPENDING[name](*args, **kwargs)
    return POLICIES.get(device, {}).get(name)


def _of_pad(input: Any, pad: Any = (), mode: Any = "constant", value: Any = None) -> Policy | None:
    return to_float32 if mode in PADS and len(pad) in PADS[mode] else None


def _of_pool(input: Any, *args: Any, return_indices: bool = False, **kwargs: Any) -> Policy | None:
    return None if return_indices or (len(args) > 5 and args[5]) else to_float32


def _of_einsum(*args: Any) -> Policy | None:
    """In two operands, which are the last one and the product of the others, something has to be summed."""
    if len(args) < 2 or not isinstance(args[0], str):
        return lower
    operands = args[1] if isinstance(args[1], (tuple, list)) else args[1:]
    inputs, output = explicit(args[0], tuple([operand.shape for operand in operands])).split("->")
    *others, last = [
        {letter for letter, length in zip(term, operand.shape, strict=True) if length != 1}
        for term, operand in zip(inputs.split(","), operands, strict=True)
    ]
    return lower if set().union(*others) & last - set(output) else None


def _of_multi_dot(tensors: Any, **kwargs: Any) -> Policy | None:
    """Matrices of several dtypes are refused as they are given."""
    return lower if len({tensor.dtype for tensor in tensors}) == 1 else None


def _of_lstm(*args: Any, **kwargs: Any) -> Policy | None:
    """The policy of an LSTM: what another library computes for PyTorch is cast; otherwise products are. See Note
    [States of other dtypes]."""
    return lower if is_whole(args, kwargs) else None


DEPENDING: dict[str, Callable[..., Policy | None]] = {
    "pad": _of_pad, "max_pool3d": _of_pool, "einsum": _of_einsum, "linalg_multi_dot": _of_multi_dot, "lstm": _of_lstm,
}  # fmt: skip
"""Functions for which it depends on the arguments."""


# -- casting -----------------------------------------------------------------------------------------------------------


def cast_arguments(name: str, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]] | None:
    """The arguments of a call as autocast has them, or None if it has no say in it.

    Args:
        name: of the function, in PyTorch's messages.
        args, kwargs: what it is given; a result that is written into a given tensor is computed as without autocast.

    Raises:
        RuntimeError: see ``widest``.
    """
    if kwargs.get("out") is not None:
        return None
    for device, low in thread.modes.autocast:
        policy = policy_of(device, name, args, kwargs)
        if policy is None:
            continue
        tensors = [item for item in _tensors((*args, *kwargs.values())) if item.device.type == device]
        if tensors:
            to = policy(low, [item for item in tensors if _is_castable(item, device)])
            args = tuple([_cast(item, device, to, low) for item in args])
            kwargs = {key: _cast(item, device, to, low) for key, item in kwargs.items()}
            return args, kwargs
    return None


caster.fill(cast_arguments)


def _tensors(items: Iterable[Any]) -> list[Tensor]:
    found: list[Tensor] = []
    for item in items:
        if isinstance(item, Tensor):
            found.append(item)
        elif isinstance(item, (tuple, list)):
            found += [one for one in item if isinstance(one, Tensor)]
    return found


def _is_castable(tensor: Tensor, device: str) -> bool:
    return tensor.is_floating_point() and tensor.dtype is not float64 and tensor.device.type == device


def _cast(item: Any, device: str, to: dtype, low: dtype) -> Any:
    """An argument with its tensors cast; lists of tensors are new ones."""
    if isinstance(item, Tensor):
        castable = _is_castable(item, device) and item.dtype is not to
        return _cast_tensor(item, to, low) if castable else item
    if isinstance(item, (tuple, list)) and any(isinstance(one, Tensor) for one in item):
        return type(item)([_cast(one, device, to, low) for one in item])
    return item


def _cast_tensor(tensor: Tensor, to: dtype, low: dtype) -> Tensor:
    """A tensor in another dtype; of a weight the one that was made before. See Note [Weights that were cast]."""
    kept = to is low and tensor.dtype is float32 and tensor.requires_grad and tensor.is_leaf and not tensor._is_view()
    if not (kept and state().cache_enabled) or thread.modes.level:
        return tensor.to(to)
    owner = capturing.by
    known = state().cache.get(id(tensor))
    if known is not None and known[0]() is tensor and known[1] is owner and known[2].dtype is to:
        return known[2]
    result = tensor.to(to)
    if thread.modes.grad:
        state().cache[id(tensor)] = weakref.ref(tensor), owner, result
    return result
