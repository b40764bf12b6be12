"""``torch.autograd.profiler``: a profile of one block. Nothing is defined here but what is refused."""

from tapegrad._src.absent import MARKS, RefusedClass
from tapegrad.autograd.profiling.events import DeviceType, EventList, FunctionEvent, FunctionEventAvg
from tapegrad.autograd.profiling.profile import _profiler_enabled, kineto_available, profile, record_function


class emit_itt(RefusedClass):
    """A context that marks operators for VTune, in PyTorch; refused."""

    refusal = ("torch.autograd.profiler.emit_itt", MARKS)


class emit_nvtx(RefusedClass):
    """A context that marks operators for NVIDIA's tools, in PyTorch; refused."""

    refusal = ("torch.autograd.profiler.emit_nvtx", MARKS)


__all__ = [
    "DeviceType", "EventList", "FunctionEvent", "FunctionEventAvg", "_profiler_enabled", "emit_itt", "emit_nvtx",
    "kineto_available", "profile",
    "record_function",
]  # fmt: skip
