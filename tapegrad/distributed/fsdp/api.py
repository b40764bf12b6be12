"""``torch.distributed.fsdp.api``: what ``FullyShardedDataParallel`` is told in PyTorch. Scripts make these before they
choose; ``fully_shard`` takes the policies of ``policies.py`` in their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from tapegrad.nn.modules.batchnorm import _BatchNorm

__all__ = [
    "BackwardPrefetch", "CPUOffload", "FullOptimStateDictConfig", "FullStateDictConfig", "LocalOptimStateDictConfig",
    "LocalStateDictConfig", "MixedPrecision", "OptimStateDictConfig", "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig", "ShardingStrategy", "StateDictConfig", "StateDictSettings", "StateDictType",
]  # fmt: skip


class ShardingStrategy(Enum):
    """The things that are divided among processes: parameters, gradients and state; all but parameters; and so on."""

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


class BackwardPrefetch(Enum):
    """When the parameters of the next module are fetched in the backward pass: before or after the gradients."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


class StateDictType(Enum):
    """The share of the parameters that a state dict has: all, or what a process has of them."""

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


class OptimStateKeyType(Enum):
    """The names that the states of parameters have in a state dict of an optimizer: those of a model, or numbers."""

    PARAM_NAME = auto()
    PARAM_ID = auto()


@dataclass
class MixedPrecision:
    """In which types a module computes. ``MixedPrecisionPolicy`` is what ``fully_shard`` takes.

    >>> MixedPrecision(param_dtype=torch.bfloat16).param_dtype
    torch.bfloat16
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Sequence[type] = (_BatchNorm,)


@dataclass
class CPUOffload:
    """A choice: parameters lie in the memory of the CPU between their uses."""

    offload_params: bool = False


@dataclass
class StateDictConfig:
    """The place of the tensors of a state dict."""

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """The same, of whole parameters: whether the first process alone has them."""

    rank0_only: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """The same, of flat parts of parameters."""


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """The same, of parts of parameters."""

    _use_dtensor: bool = False


@dataclass
class OptimStateDictConfig:
    """The place of the tensors of an optimizer's state dict."""

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """The same, of whole tensors: whether the first process alone has them."""

    rank0_only: bool = False


@dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """The same, of flat parts of tensors."""

    offload_to_cpu: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """The same, of parts of tensors."""

    _use_dtensor: bool = False


@dataclass
class StateDictSettings:
    """The settings by which state dicts are made."""

    state_dict_type: StateDictType
    state_dict_config: StateDictConfig
    optim_state_dict_config: OptimStateDictConfig
