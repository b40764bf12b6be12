"""Switches of the fusers that PyTorch has for TorchScript, and small questions: kept or answered, for XLA fuses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tapegrad._src.execution.data.devices import accelerator_type, device
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn

_switches = {"executor": True, "profiling": True, "texpr": True, "cpu": False, "gpu": False, "onednn": False}
_strategy: list[tuple[str, int]] = [("STATIC", 2), ("DYNAMIC", 10)]


def _switched(name: str, value: bool) -> bool:
    before, _switches[name] = _switches[name], bool(value)
    return before


def _jit_set_profiling_executor(value: bool) -> bool:
    """Keep a switch, and give what it was before.

    >>> before = _jit_set_profiling_executor(False)
    >>> _jit_set_profiling_executor(before)
    False
    """
    return _switched("executor", value)


def _jit_set_profiling_mode(value: bool) -> bool:
    """Keep a switch, and give what it was before."""
    return _switched("profiling", value)


def _jit_set_texpr_fuser_enabled(value: bool) -> None:
    """Keep a switch: XLA fuses what it compiles."""
    _switched("texpr", value)


def _jit_texpr_fuser_enabled() -> bool:
    """The switch."""
    return _switches["texpr"]


def _jit_override_can_fuse_on_cpu(value: bool) -> None:
    """Keep a switch."""
    _switched("cpu", value)


def _jit_override_can_fuse_on_gpu(value: bool) -> None:
    """Keep a switch."""
    _switched("gpu", value)


def _jit_can_fuse_on_cpu() -> bool:
    """The switch."""
    return _switches["cpu"]


def _jit_can_fuse_on_gpu() -> bool:
    """The switch."""
    return _switches["gpu"]


def enable_onednn_fusion(enabled: bool) -> None:
    """Keep a switch: XLA fuses what it compiles."""
    _switched("onednn", enabled)


def onednn_fusion_enabled() -> bool:
    """The switch."""
    return _switches["onednn"]


def set_fusion_strategy(strategy: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Keep how often PyTorch would specialize a fused kernel, and give what it was before.

    Raises:
        ValueError: a behaviour that is neither ``"STATIC"`` nor ``"DYNAMIC"``.
    """
    warn("`torch.jit.set_fusion_strategy` is deprecated. Please use `torch.compile` instead.", DeprecationWarning)
    for behaviour, _ in strategy:
        if behaviour not in ("STATIC", "DYNAMIC"):
            raise ValueError(f"FusionBehavior only supported 'STATIC' or 'DYNAMIC', got: {behaviour}")
    before, _strategy[:] = list(_strategy), strategy
    return before


@contextmanager
def fuser(name: str) -> Iterator[None]:
    """A block for which PyTorch would choose a fuser.

    Raises:
        Exception: no fuser has this name.
    """
    if name not in ("fuser0", "fuser1", "fuser2", "fuser3", "none"):
        raise Exception(f"unrecognized fuser option (name: {name})")
    yield


@contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """A block in which PyTorch would optimize scripts, or not; here they are Python."""
    yield


def _jit_set_nvfuser_enabled(value: bool) -> None:
    """Nothing: PyTorch has no such fuser any more, either."""


def _jit_set_nvfuser_guard_mode(value: bool) -> None:
    """Nothing: PyTorch has no such fuser any more, either."""


def _set_math_sdp_allow_fp16_bf16_reduction(value: bool) -> None:
    """Nothing: XLA chooses the dtype of sums."""


def _get_cudnn_enabled() -> bool:
    """True, as PyTorch says on any machine."""
    return True


def _get_privateuse1_backend_name() -> str:
    """The name of devices that others bring."""
    return "privateuseone"


def _get_accelerator(check: bool | None = None) -> device:
    """The device of accelerators; the CPU if there are none."""
    return device(accelerator_type() or "cpu")


def _is_alias_of(data: Tensor, other: Tensor) -> bool:
    """Tell whether two tensors show one memory.

    >>> x = torch.ones(3)
    >>> _is_alias_of(x, x[1:]), _is_alias_of(x, x.clone())
    (True, False)
    """
    return data.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


def _storage_Use_Count(storage_ptr: Any) -> int:
    """1: an object of Python's is all there is of a storage."""
    return 1
