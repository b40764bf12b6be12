"""``torch.profiler.profiler``: where PyTorch has what ``torch.profiler`` gives. Little is defined here."""

from tapegrad.autograd.profiling.session import (
    ProfilerAction,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

__all__ = ["ProfilerAction", "profile", "schedule", "supported_activities", "tensorboard_trace_handler"]


def _default_schedule_fn(_: int) -> ProfilerAction:
    """The schedule of profiles that have none: each step is recorded.

    >>> _default_schedule_fn(3).name
    'RECORD'
    """
    return ProfilerAction.RECORD
