"""``torch.profiler``: profiles that follow the steps of a program, recording some and leaving out others."""

from __future__ import annotations

import enum
import gzip
import json
import os
import shutil
import socket
import time
from collections.abc import Callable, Iterable
from typing import Any

from tapegrad._src.tape.showing import shown_in_html
from tapegrad._src.warn import warn
from tapegrad.autograd.profiling import profile as one_block
from tapegrad.autograd.profiling.events import EventList
from tapegrad.errors import warn_once

INTERNAL_ACTION = (
    "ProfilerAction.DEVICE_STOPPED is set internally by the profiler and must not be returned by a user-provided "
    "schedule"
)
CLEARED = (
    "Warning: Profiler clears events at the end of each cycle. Only events from the current cycle will be reported. "
    "To keep events across cycles, set acc_events=True."
)


class ProfilerActivity(enum.Enum):
    """The activities that are recorded. Only ``CPU`` is: the calls of operators; ``CUDA`` and others are accepted."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(enum.Enum):
    """The action of a profile in one step; ``RECORD_AND_SAVE`` ends a cycle."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3
    DEVICE_STOPPED = 4


_NONE, _WARMUP, _RECORD, _SAVE, _ = ProfilerAction

TRANSITIONS: dict[tuple[ProfilerAction, ProfilerAction | None], str] = {
    (_NONE, _WARMUP): "prepare",
    (_NONE, _RECORD): "prepare start",
    (_NONE, _SAVE): "prepare start",
    (_WARMUP, _NONE): "warn start stop",
    (_WARMUP, _RECORD): "start",
    (_WARMUP, _SAVE): "start",
    (_WARMUP, None): "start stop",
    (_RECORD, _NONE): "warn stop",
    (_RECORD, _WARMUP): "warn stop",
    (_RECORD, None): "stop ready",
    (_SAVE, _NONE): "stop ready",
    (_SAVE, _WARMUP): "stop ready prepare",
    (_SAVE, _RECORD): "stop ready prepare start",
    (_SAVE, _SAVE): "stop ready prepare start",
    (_SAVE, None): "stop ready",
}
"""Actions between two steps, by what they do; None stands for the end. Nothing for the others."""


def supported_activities() -> set[ProfilerActivity]:
    """The activities that can be recorded."""
    return {ProfilerActivity.CPU}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """A schedule for ``profile``: cycles of steps that are left out, steps to warm up, and steps that are recorded.

    Args:
        wait, warmup, active: the lengths of the parts of a cycle.
        repeat: how many cycles; 0 for as many as there are.
        skip_first: steps before the first cycle.
        skip_first_wait: if not 0, the first cycle does not wait.

    Raises:
        AssertionError: a negative number, or ``active`` not positive.

    >>> step_action = schedule(wait=1, warmup=1, active=2)
    >>> [step_action(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), "
            f"active={active} (need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warn("Profiler won't be using warmup, this can skew profiler results")
    length = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        cycle, place = divmod(step - skip_first + (wait if skip_first_wait else 0), length)
        if place < wait or 0 < repeat <= cycle:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def always(step: int) -> ProfilerAction:
    """The schedule of a profile that records everything."""
    return ProfilerAction.RECORD


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False) -> Callable:
    """A handler for ``on_trace_ready`` that writes each trace into a directory.

    Args:
        dir_name: the directory; made if need be.
        worker_name: how the files' names begin; by default, the host and the process.
        use_gzip: compress them.
    """

    def handler(prof: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        name = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        ending = ".gz" if use_gzip else ""
        prof.export_chrome_trace(os.path.join(dir_name, f"{name}.{time.time_ns()}.pt.trace.json{ending}"))

    return handler


def parse_activities(given: Iterable[Any]) -> set[ProfilerActivity]:
    """The activities in a list of them, or of dictionaries whose keys they are.
    Raises ValueError: one is there twice. TypeError: something else is there.
    """
    found: set[ProfilerActivity] = set()
    for item in given:
        if not isinstance(item, (ProfilerActivity, dict)):
            raise TypeError(f"Expected ProfilerActivity or dict, got {type(item)}")
        for activity in (item,) if isinstance(item, ProfilerActivity) else item:
            if activity in found:
                raise ValueError(f"Activity {activity} specified more than once")
            found.add(activity)
    return found


class profile:
    """Record a program, or some of its steps.

    Args:
        activities: a list of ``ProfilerActivity``; only ``CPU`` is recorded.
        schedule: says for each step what to do (see ``schedule``); without it everything is recorded as one cycle.
        on_trace_ready: called with this object at the end of each recorded cycle.
        record_shapes, profile_memory, with_stack, with_flops, with_modules: as for ``torch.autograd.profiler.profile``,
            where it is also said what is measured.
        acc_events: keep the events of all cycles, not only of the last.
        use_cuda: deprecated.
        sync: wait for the results of each event.

    Raises:
        AssertionError: no activities.

    >>> with profile(schedule=schedule(wait=1, warmup=1, active=1)) as prof:
    ...     for _ in range(3):
    ...         _ = torch.ones(2) * 2
    ...         prof.step()
    >>> [event.name for event in prof.events()]
    ['ProfilerStep*', 'aten::mul']
    """

    def __init__(
        self, *, activities: Iterable[Any] | None = None, schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None, record_shapes: bool = False,
        profile_memory: bool = False, with_stack: bool = False, with_flops: bool = False, with_modules: bool = False,
        experimental_config: Any = None, acc_events: bool = False, use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None, sync: bool = False,
    ) -> None:  # fmt: skip
        given = None if activities is None else list(activities)
        if use_cuda is not None:
            warn("`use_cuda` is deprecated, use `activities` argument instead", FutureWarning)
        if given is not None and not any(isinstance(item, ProfilerActivity) or item for item in given):
            raise AssertionError("No valid profiler activities found")
        self.activities = supported_activities() if given is None else parse_activities(given)
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        self.with_flops, self.with_modules, self.acc_events, self.sync = with_flops, with_modules, acc_events, sync
        self.custom_trace_id_callback = custom_trace_id_callback
        self.profiler: one_block.profile | None = None
        self.metadata: dict[str, Any] = {}
        self.schedule, self.record_steps = schedule or always, schedule is not None
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.step_rec_fn: one_block.record_function | None = None
        self.current_action = self._action(0)

    _repr_html_ = shown_in_html

    def _action(self, step: int) -> ProfilerAction:
        action = self.schedule(step)
        if action is ProfilerAction.DEVICE_STOPPED:
            raise ValueError(INTERNAL_ACTION)
        return action

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin the first step."""
        self._pass(ProfilerAction.NONE, self.current_action)
        self._begin_step()

    def stop(self) -> None:
        """End the last step."""
        self._end_step()
        self._pass(self.current_action, None)

    def step(self) -> None:
        """End one step and begin the next."""
        self._end_step()
        action = self._action(self.step_num + 1)
        before, self.current_action = self.current_action, action
        self.step_num += 1
        self._pass(before, action)
        self._begin_step()

    def _begin_step(self) -> None:
        if self.record_steps:
            self.step_rec_fn = one_block.record_function(f"ProfilerStep#{self.step_num}")
            self.step_rec_fn.__enter__()

    def _end_step(self) -> None:
        if self.step_rec_fn is not None:
            self.step_rec_fn.__exit__(None, None, None)
            self.step_rec_fn = None

    def _pass(self, before: ProfilerAction, after: ProfilerAction | None) -> None:
        """Do what is to be done between two steps."""
        for deed in TRANSITIONS.get((before, after), "").split():
            if deed == "warn" and after is not None:
                warn(f"Incorrect schedule: {before.name} followed by {after.name}")
            elif deed == "prepare":
                self.prepare_trace()
            elif deed == "start":
                self.start_trace()
            elif deed == "stop":
                self.stop_trace()
            elif deed == "ready" and self.on_trace_ready is not None:
                self.on_trace_ready(self)

    def prepare_trace(self) -> None:
        """Make ready for a cycle."""
        if self.profiler is not None and not self.acc_events:
            warn_once(CLEARED)
        if self.profiler is None or not self.acc_events:
            self.profiler = one_block.profile(
                record_shapes=self.record_shapes, with_flops=self.with_flops, profile_memory=self.profile_memory,
                with_stack=self.with_stack, with_modules=self.with_modules, acc_events=self.acc_events,
                custom_trace_id_callback=self.custom_trace_id_callback, sync=self.sync,
            )  # fmt: skip

    def start_trace(self) -> None:
        """Begin to record."""
        self._initialized("starting trace")._start()

    def stop_trace(self) -> None:
        """Record no more."""
        self._initialized("stopping trace").__exit__(None, None, None)

    def _initialized(self, purpose: str) -> one_block.profile:
        if self.profiler is None:
            raise AssertionError(f"Profiler must be initialized before {purpose}")
        return self.profiler

    def events(self) -> EventList:
        """The events of the last recorded cycle.

        Raises:
            AssertionError: nothing has been recorded.
        """
        return self._initialized("accessing events").function_events

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Their averages by name; see ``EventList.key_averages``.

        Args:
            group_by_input_shape: keep different shapes apart.
            group_by_stack_n: keep apart what differs in the innermost so many places of the program.
            group_by_overload_name: keep different overloads apart.
        """
        return self._initialized("getting key averages").key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def export_chrome_trace(self, path: str) -> None:
        """Write a trace for ``chrome://tracing`` or Perfetto; compressed if the path ends in ``.gz``."""
        recorded = self._initialized("exporting chrome trace")
        if not path.endswith(".gz"):
            recorded.export_chrome_trace(path, self.metadata)
            return
        recorded.export_chrome_trace(f"{path}.part", self.metadata)
        with open(f"{path}.part", "rb") as plain, gzip.open(path, "wb") as packed:
            shutil.copyfileobj(plain, packed)
        os.remove(f"{path}.part")

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write where the time went; see ``EventList.export_stacks``.

        Args:
            path: the file's name.
            metric: ``"self_cpu_time_total"`` or ``"self_cuda_time_total"``: what weighs.
        """
        self._initialized("exporting stacks").export_stacks(path, metric)

    def add_metadata(self, key: str, value: str) -> None:
        """Put a text, ``value``, under a ``key`` into the traces."""
        self.metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Put something under a ``key`` into the traces: ``value`` is JSON."""
        self.metadata[key] = json.loads(value)

    preset_metadata_json = add_metadata_json

    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        """Name the traces that follow by what this function returns."""
        self.custom_trace_id_callback = callback

    def get_trace_id(self) -> str | None:
        """The name of the present trace."""
        return None if self.profiler is None else self.profiler.trace_id
