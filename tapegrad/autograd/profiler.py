"""``torch.autograd.profiler``: a profile of one block. Nothing is defined here."""

from tapegrad.autograd.profiling.events import DeviceType, EventList, FunctionEvent, FunctionEventAvg
from tapegrad.autograd.profiling.profile import _profiler_enabled, kineto_available, profile, record_function

__all__ = [
    "DeviceType", "EventList", "FunctionEvent", "FunctionEventAvg", "_profiler_enabled", "kineto_available", "profile",
    "record_function",
]  # fmt: skip
