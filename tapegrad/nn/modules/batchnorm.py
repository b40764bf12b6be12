"""Batch normalization: each channel is brought to mean 0 and variance 1, by statistics of the batch.

In training the statistics are those of the batch, and running ones are kept: ``(1 - momentum) * running + momentum *
new``, or the mean over all batches where ``momentum`` is None. In evaluation the running ones are used. Then comes
``weight * x + bias``. Variances that normalize are those of a population (divided by n), running ones those of a sample
(divided by n - 1).

Shapes: 1d (N, C) or (N, C, L), 2d (N, C, H, W), 3d (N, C, D, H, W), to the same.
"""

from __future__ import annotations

from typing import Any, ClassVar

from tapegrad._src.execution.data.dtypes import int64
from tapegrad._src.functions.construction import tensor
from tapegrad._src.functions.creation import empty, ones, zeros
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.grad_mode import no_grad
from tapegrad.nn import functional as F
from tapegrad.nn import init
from tapegrad.nn.modules.lazy import LazyModuleMixin
from tapegrad.nn.modules.module import Module
from tapegrad.nn.modules.utils import Explained, _check_dims
from tapegrad.nn.parameter import Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d",
    "SyncBatchNorm",
]  # fmt: skip


class _NormBase(Explained, Module):
    """The base class of batch and instance normalizations: parameters, running statistics and their states.

    Args:
        num_features: C, the number of channels.
        eps: what is added to variances.
        momentum: how much a batch weighs in the running statistics; None for their mean.
        affine: whether there are parameters.
        track_running_stats: whether there are running statistics.
        device, dtype: those of parameters and statistics.
        bias: whether there is one, besides the weight.

    Attributes:
        weight, bias: (C,), ones and zeros at first; None where there are none.
        running_mean, running_var, num_batches_tracked: buffers, or None.
    """

    _version = 2  # since when states have num_batches_tracked
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    _dims: ClassVar[tuple[int, ...]] = ()

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            made = Parameter(empty(num_features, device=device, dtype=dtype)) if wanted else None
            self.register_parameter(name, made)
        tracked = {
            "running_mean": lambda: zeros(num_features, device=device, dtype=dtype),
            "running_var": lambda: ones(num_features, device=device, dtype=dtype),
            "num_batches_tracked": lambda: tensor(0, dtype=int64, device=device),
        }
        for name, make in tracked.items():
            self.register_buffer(name, make() if track_running_stats else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Set the running statistics to mean 0, variance 1 and no batches."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Set the statistics and the parameters to what they were at first."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        if not self._dims:
            raise NotImplementedError
        _check_dims(input, self._dims)

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: list[str],
        unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        key = prefix + "num_batches_tracked"
        if (local_metadata.get("version") or 0) < 2 and self.track_running_stats and key not in state_dict:
            ours = self.num_batches_tracked
            state_dict[key] = tensor(0, dtype=int64) if ours is None or ours.is_meta else ours
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class _BatchNorm(_NormBase):
    """The base class of batch normalizations; the arguments are those of ``_NormBase``.

    Raises:
        ValueError: an input with another number of dimensions.
    """

    _about = (
        "``num_features`` is C. ``eps`` is added to the variance; ``momentum`` says how far the running statistics\n"
        "move to those of a batch (None: they are means of all); ``affine``: there are weights, and with ``bias``\n"
        "biases; ``track_running_stats``: running statistics are kept, for evaluation."
    )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        return self._normalized(input)

    def _normalized(self, input: Tensor) -> Tensor:
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and (batches := self.num_batches_tracked) is not None:
            batches.add_(1)
            if self.momentum is None:
                factor = 1.0 / float(batches)
        mean, var = self._two("_buffers", "running_mean", "running_var")
        by_batch = self.training or (mean is None and var is None)
        if self.training and not self.track_running_stats:
            mean = var = None
        weight, bias = self._two("_parameters", "weight", "bias")
        return F.batch_norm(input, mean, var, weight, bias, by_batch, factor, self.eps)


class BatchNorm1d(_BatchNorm):
    """Batch normalization of (N, C) or (N, C, L).

    >>> BatchNorm1d(1)(torch.tensor([[1.0], [3.0]])).flatten()
    tensor([-1.0000,  1.0000], grad_fn=<ViewBackward0>)
    """

    _dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalization of images, (N, C, H, W).

    >>> BatchNorm2d(3)
    BatchNorm2d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    _dims = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalization of volumes, (N, C, D, H, W).

    >>> torch.nn.BatchNorm3d(2)(torch.ones(3, 2, 4, 4, 4)).shape
    torch.Size([3, 2, 4, 4, 4])
    """

    _dims = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch normalization of (N, C, *) over the batches of all processes; of which here there is one.

    Args:
        num_features, eps, momentum, affine, track_running_stats, device, dtype, bias: see ``_NormBase``.
        process_group: which processes; kept.

    Raises:
        ValueError: an input with fewer than two dimensions, or without channels.

    >>> torch.nn.SyncBatchNorm(2)
    SyncBatchNorm(2, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    _about = ""

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, process_group: Any = None, device: Any = None, dtype: Any = None, *,
        bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def _check_non_zero_input_channels(self, input: Tensor) -> None:
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        self._check_non_zero_input_channels(input)
        return self._normalized(input)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """The module with a ``SyncBatchNorm``, of the same tensors, for each batch normalization in it."""
        converted = module
        if isinstance(module, _BatchNorm):
            converted = SyncBatchNorm(
                module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats,
                process_group, bias=module.bias is not None,
            )  # fmt: skip
            if module.affine:
                with no_grad():
                    converted.weight, converted.bias = module.weight, module.bias
            for name in ("running_mean", "running_var", "num_batches_tracked", "training"):
                setattr(converted, name, getattr(module, name))
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted


# -- lazy --------------------------------------------------------------------------------------------------------------


class _LazyNormBase(LazyModuleMixin, _NormBase):
    """A base class that makes a normalization lazy: ``num_features`` is learnt from the first input."""

    weight: Any
    bias: Any

    def __init__(
        self, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True,
        device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(0, eps, momentum, False, False, device=device, dtype=dtype, bias=False)
        self.affine, self.track_running_stats = affine, track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = tensor(0, dtype=int64, device=device)

    def reset_parameters(self) -> None:
        """Set the statistics and the parameters to what they are at first, if their shapes are known."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Read ``num_features`` off an input, and set statistics and parameters."""
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1]
        if self.affine:
            for name in ("weight", "bias"):
                parameter = getattr(self, name)
                if not isinstance(parameter, UninitializedParameter) and (name == "weight" or parameter is not None):
                    raise AssertionError(f"self.{name} must be an UninitializedParameter")
                if parameter is not None:
                    parameter.materialize((self.num_features,))
        if self.track_running_stats:
            self.running_mean.materialize((self.num_features,))
            self.running_var.materialize((self.num_features,))
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):
    """A ``BatchNorm1d`` that learns ``num_features`` from its first input.

    >>> torch.nn.LazyBatchNorm1d()(torch.ones(3, 2)).shape
    torch.Size([3, 2])
    """

    cls_to_become = BatchNorm1d
    _dims = (2, 3)


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):
    """A ``BatchNorm2d`` that learns ``num_features`` from its first input.

    >>> torch.nn.LazyBatchNorm2d()(torch.ones(3, 2, 4, 4)).shape
    torch.Size([3, 2, 4, 4])
    """

    cls_to_become = BatchNorm2d
    _dims = (4,)


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):
    """A ``BatchNorm3d`` that learns ``num_features`` from its first input.

    >>> torch.nn.LazyBatchNorm3d()(torch.ones(3, 2, 4, 4, 4)).shape
    torch.Size([3, 2, 4, 4, 4])
    """

    cls_to_become = BatchNorm3d
    _dims = (5,)
