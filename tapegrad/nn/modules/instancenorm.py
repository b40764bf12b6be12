"""Instance normalization: each channel of each sample is brought to mean 0 and variance 1 by itself.

Running statistics are kept, and used in evaluation, only where ``track_running_stats`` says so. Shapes: 1d (N, C, L),
2d (N, C, H, W), 3d (N, C, D, H, W), each also without N, to the same.
"""

from __future__ import annotations

from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.nn import functional as F
from tapegrad.nn.modules.batchnorm import _BatchNorm, _LazyNormBase, _NormBase

__all__ = [
    "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
]  # fmt: skip


class _InstanceNorm(_NormBase):
    """The base class of instance normalizations.

    Args:
        num_features, eps, momentum, affine, track_running_stats, device, dtype, bias: see ``_NormBase``; there are no
            parameters and no running statistics unless they are asked for.

    Raises:
        ValueError: an input with another number of dimensions; with another number of channels, if there are
            parameters (otherwise it warns).
    """

    _about = _BatchNorm._about.replace("for evaluation", "for evaluation, which by default they are not")

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
        track_running_stats: bool = False, device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _get_no_batch_dim(self) -> int:
        return self._dims[0]

    def _handle_no_batch_input(self, input: Tensor) -> Tensor:
        return self._apply_instance_norm(input.unsqueeze(0)).squeeze(0)

    def _apply_instance_norm(self, input: Tensor) -> Tensor:
        return F.instance_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias,
            self.training or not self.track_running_stats, 0.0 if self.momentum is None else self.momentum, self.eps,
        )  # fmt: skip

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: list[str],
        unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        names = [prefix + name for name in ("running_mean", "running_var")]
        found = [name for name in names if name in state_dict]
        if local_metadata.get("version") is None and not self.track_running_stats and found:
            quoted, cls = " and ".join(f'"{name}"' for name in found), type(self).__name__
            error_msgs.append(
                f"Unexpected running stats buffer(s) {quoted} for {cls} with track_running_stats=False. If state_dict "
                f"is a checkpoint saved before 0.4.0, this may be expected because {cls} does not track running stats "
                "by default since 0.4.0. Please remove these keys from state_dict. If the running stats are actually "
                f"needed, instead set track_running_stats=True in {cls} to enable them. See the documentation of "
                f"{cls} for details."
            )
            for name in found:
                state_dict.pop(name)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        dim = input.dim() - self._get_no_batch_dim()
        if input.size(dim) != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={dim} to match num_features ({self.num_features}), but got: "
                    f"{input.size(dim)}."
                )
            warn(
                f"input's size at dim={dim} does not match num_features. You can silence this warning by not passing "
                "in num_features, which is not used because affine=False"
            )
        return self._apply_instance_norm(input) if dim else self._handle_no_batch_input(input)


class InstanceNorm1d(_InstanceNorm):
    """Instance normalization of (N, C, L) or (C, L).

    >>> InstanceNorm1d(1)(torch.tensor([[[1.0, 3.0]]]))
    tensor([[[-1.0000,  1.0000]]])
    """

    _dims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Instance normalization of images, (N, C, H, W) or (C, H, W).

    >>> torch.nn.InstanceNorm2d(2)(torch.ones(1, 2, 4, 4)).shape
    torch.Size([1, 2, 4, 4])
    """

    _dims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Instance normalization of volumes, (N, C, D, H, W) or (C, D, H, W).

    >>> torch.nn.InstanceNorm3d(2)(torch.ones(1, 2, 4, 4, 4)).shape
    torch.Size([1, 2, 4, 4, 4])
    """

    _dims = (4, 5)


class LazyInstanceNorm1d(_LazyNormBase, _InstanceNorm):
    """An ``InstanceNorm1d`` that learns ``num_features`` from its first input.

    >>> torch.nn.LazyInstanceNorm1d()(torch.ones(1, 2, 4)).shape
    torch.Size([1, 2, 4])
    """

    cls_to_become = InstanceNorm1d
    _dims = (2, 3)


class LazyInstanceNorm2d(_LazyNormBase, _InstanceNorm):
    """An ``InstanceNorm2d`` that learns ``num_features`` from its first input.

    >>> torch.nn.LazyInstanceNorm2d()(torch.ones(1, 2, 4, 4)).shape
    torch.Size([1, 2, 4, 4])
    """

    cls_to_become = InstanceNorm2d
    _dims = (3, 4)


class LazyInstanceNorm3d(_LazyNormBase, _InstanceNorm):
    """An ``InstanceNorm3d`` that learns ``num_features`` from its first input.

    >>> torch.nn.LazyInstanceNorm3d()(torch.ones(1, 2, 4, 4, 4)).shape
    torch.Size([1, 2, 4, 4, 4])
    """

    cls_to_become = InstanceNorm3d
    _dims = (4, 5)
