"""``torch.profiler``: profiles that follow the steps of a program. Nothing is defined here."""


from tapegrad.autograd.profiler import kineto_available, record_function
from tapegrad.autograd.profiling.session import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

__all__ = [
    "ProfilerAction", "ProfilerActivity", "kineto_available", "profile", "record_function", "schedule",
    "supported_activities", "tensorboard_trace_handler",
]  # fmt: skip
