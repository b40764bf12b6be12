"""``torch.autograd.profiler_util``: what a profile has seen. Nothing is defined here."""

from tapegrad.autograd.profiling.events import DeviceType, EventList, FunctionEvent, FunctionEventAvg, Interval

__all__ = ["DeviceType", "EventList", "FunctionEvent", "FunctionEventAvg", "Interval"]
