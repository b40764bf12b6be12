"""Events that a profile has seen, their averages, and lists of them. See ``recorder.py`` for what makes them.

Times are in microseconds. Event ``b`` is a child of ``a`` if it ran on the same thread within the time of ``a``.
"""

from __future__ import annotations

import enum
import itertools
import json
from collections.abc import Iterable
from typing import Any

from tapegrad._src.tape.showing import shown_in_html
from tapegrad.autograd.profiling.table import build_table, format_time

SCOPE_FORWARD, SCOPE_BACKWARD, SCOPE_USER = 0, 1, 7
"""The kinds of things that an event may be: PyTorch's numbers."""

STACK_METRICS = ["self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total", "self_privateuse1_time_total"]


class DeviceType(enum.Enum):
    """The type of the device where an event ran. Events of devices are not recorded here, so it is always the CPU."""

    CPU = 0
    CUDA = 1


class Interval:
    """A span of time."""

    def __init__(self, start: float, end: float) -> None:
        self.start = start
        self.end = end

    def elapsed_us(self) -> float:
        """Its length.

        >>> Interval(2.0, 5.0).elapsed_us()
        3.0
        """
        return self.end - self.start


class Times:
    """The common part of events and averages of events: averages per call, and times as text."""

    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    device_time_total = 0.0
    self_device_time_total = 0.0
    device_memory_usage = 0
    self_device_memory_usage = 0

    @property
    def cpu_time(self) -> float:
        """The time of one call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self) -> float:
        """The time of one call on a device, which is not measured."""
        return self.device_time_total / self.count if self.count else 0.0

    cpu_time_str = property(lambda self: format_time(self.cpu_time))
    cpu_time_total_str = property(lambda self: format_time(self.cpu_time_total))
    self_cpu_time_total_str = property(lambda self: format_time(self.self_cpu_time_total))
    device_time_str = property(lambda self: format_time(self.device_time))
    device_time_total_str = property(lambda self: format_time(self.device_time_total))
    self_device_time_total_str = property(lambda self: format_time(self.self_device_time_total))


class FunctionEvent(Times):
    """One call of an operator, of a node of the backward graph, or of what the user marked.

    Attributes:
        id, name: the number and the name; ``trace_name`` is the name in traces.
        time_range: from when to when, in microseconds.
        thread: the number of the thread; ``fwd_thread`` that of the forward call, for an event of backward.
        cpu_parent, cpu_children: the event around it, and those directly inside.
        input_shapes: a list for each input, empty where it is no tensor, if shapes were recorded.
        stack: the places in the program, the innermost first, if they were recorded.
        scope: 0 for forward, 1 for backward, 7 for what the user marked.
        sequence_nr: that of the node, both for the operator which made it and in backward; -1 where there is none.
        cpu_memory_usage: the bytes of the results, if memory was recorded.
        flops: an estimate of the floating point operations, if asked for.

    What PyTorch tells of devices, remote calls and recorded arguments besides (``overload_name``, ``use_device``,
    ``device_type``, ``device_index``, ``device_memory_usage``, ``is_async``, ``is_remote``, ``is_legacy``,
    ``is_user_annotation``, ``node_id``, ``concrete_inputs``, ``kwinputs``) is kept as given.

    >>> event = FunctionEvent(id=0, name="work", thread=1, start_us=10, end_us=15)
    >>> event.key, event.cpu_time_total, event.self_cpu_time_total_str
    ('work', 5, '5.000us')
    """

    def __init__(
        self, id: int, name: str, thread: int, start_us: float, end_us: float, overload_name: str | None = None,
        fwd_thread: int | None = None, input_shapes: list | None = None, stack: list[str] | None = None,
        scope: int = SCOPE_FORWARD, use_device: str | None = None, cpu_memory_usage: int = 0,
        device_memory_usage: int = 0, is_async: bool = False, is_remote: bool = False, sequence_nr: int = -1,
        node_id: int = -1, device_type: DeviceType = DeviceType.CPU, device_index: int = 0, is_legacy: bool = False,
        flops: int | None = None, trace_name: str | None = None, concrete_inputs: list | None = None,
        kwinputs: dict | None = None, is_user_annotation: bool = False,
    ) -> None:  # fmt: skip
        self.id, self.name, self.overload_name, self.trace_name = id, name, overload_name, trace_name
        self.time_range = Interval(start_us, end_us)
        self.thread, self.fwd_thread, self.node_id = thread, fwd_thread, node_id
        self.count = 1
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        self.kernels: list = []
        self.input_shapes, self.concrete_inputs, self.kwinputs = input_shapes, concrete_inputs, kwinputs
        self.stack, self.scope, self.sequence_nr = stack, scope, sequence_nr
        self.use_device, self.device_type, self.device_index = use_device, device_type, device_index
        self.cpu_memory_usage, self.device_memory_usage = cpu_memory_usage, device_memory_usage
        self.is_async, self.is_remote, self.is_legacy = is_async, is_remote, is_legacy
        self.is_user_annotation = is_user_annotation
        self.flops = flops

    @property
    def key(self) -> str:
        """The key under which it is averaged: its name."""
        return self.name

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """The time that it took."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """The time that it took without the events inside."""
        return 0 if self.is_async else self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def self_cpu_memory_usage(self) -> int:
        """The bytes of its results without those of the events inside."""
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Put an event directly inside this one.

        Args:
            child: the event inside.
        """
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent: FunctionEvent) -> None:
        """Put this event directly inside another one.

        Args:
            parent: the event around it.
        """
        self.cpu_parent = parent

    def __repr__(self) -> str:
        children = [child.id for child in self.cpu_children]
        return (
            f"<FunctionEvent id={self.id} name={self.name} overload_name={self.overload_name} "
            f"device_type={self.device_type} node_id={self.node_id} cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start} end_us={self.time_range.end} cpu_children={children} "
            f"{self.use_device}_time={self.device_time_str} name={self.name} thread={self.thread} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} "
            f"{self.use_device}_memory_usage={self.device_memory_usage} is_async={self.is_async} "
            f"is_remote={self.is_remote} seq_nr={self.sequence_nr} is_legacy={self.is_legacy}>"
        )


class FunctionEventAvg(Times):
    """The sum of several events of one name, and how many they are.

    >>> average = FunctionEventAvg()
    >>> for start, end in ((10, 15), (20, 30)):
    ...     average += FunctionEvent(id=0, name="work", thread=0, start_us=start, end_us=end)
    >>> average.key, average.count, average.cpu_time_total, average.cpu_time
    ('work', 2, 15.0, 7.5)
    """

    TAKEN = (
        "key", "node_id", "is_async", "is_remote", "cpu_parent", "cpu_children", "overload_name", "input_shapes",
        "stack", "scope", "device_type", "is_legacy", "use_device", "is_user_annotation",
    )  # fmt: skip
    SUMMED = ("cpu_time_total", "self_cpu_time_total", "cpu_memory_usage", "self_cpu_memory_usage", "count")

    def __init__(self) -> None:
        self.key: str | None = None
        self.count = 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.flops: int | None = None
        self.node_id, self.scope = 0, SCOPE_FORWARD
        self.stack: list[str] | None = None
        self.input_shapes: Any = None
        self.overload_name: str | None = None
        self.use_device: str | None = None
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] | None = None
        self.is_async = self.is_remote = self.is_legacy = self.is_user_annotation = False
        self.device_type = DeviceType.CPU

    def add(self, other: Any) -> FunctionEventAvg:
        """Add an event, or the average of some.

        Raises:
            AssertionError: it is neither, or has another name.
        """
        if self.key is None:
            for name in self.TAKEN:
                setattr(self, name, getattr(other, name))
        if not isinstance(other, (FunctionEvent, FunctionEventAvg)):
            raise AssertionError("Expected other to be a FunctionEvent or FunctionEventAvg")
        if other.key != self.key:
            raise AssertionError(f"Expected keys to match, but got {other.key} vs {self.key}")
        for name in self.SUMMED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        if other.flops is not None:
            self.flops = other.flops + (self.flops or 0)
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        device = self.use_device or "cuda"
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str}  self_{device}_time={self.self_device_time_total_str} "
            f"{device}_time={self.device_time_str} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} {device}_memory_usage={self.device_memory_usage}>"
        )


class EventList(list):
    """A list of events, or of their averages; prints as a table.

    Args:
        use_device: the device whose times the table would show, or None.
        profile_memory, with_flops: whether the table has columns of bytes and of floating point operations.

    >>> event = torch.autograd.profiler.FunctionEvent(0, "work", 1, 10, 15)
    >>> torch.autograd.profiler.EventList([event]).total_average().count
    1
    """

    def __init__(
        self, *args: Any, use_device: str | None = None, profile_memory: bool = False, with_flops: bool = False
    ) -> None:
        super().__init__(*args)
        self._use_device, self._profile_memory, self._with_flops = use_device, profile_memory, with_flops
        self._tree_built = False

    _repr_html_ = shown_in_html

    def _like(self, events: Iterable[Any]) -> EventList:
        return EventList(
            events, use_device=self._use_device, profile_memory=self._profile_memory, with_flops=self._with_flops
        )

    def _build_tree(self) -> None:
        self._populate_cpu_children()
        self._remove_dup_nodes()
        self._share_stacks()
        self._tree_built = True

    def _populate_cpu_children(self) -> None:
        """Find each event's parent: of those on its thread that contain it, the last that began."""

        def place(event: FunctionEvent) -> tuple[int, int]:
            return event.thread, event.node_id

        events = sorted((event for event in self if not event.is_async), key=place)
        for _, group in itertools.groupby(events, key=place):
            around: list[FunctionEvent] = []
            for event in sorted(group, key=lambda event: (event.time_range.start, -event.time_range.end)):
                span = event.time_range
                while around and not span.start < around[-1].time_range.end >= span.end:
                    around.pop()
                if around:
                    around[-1].append_cpu_child(event)
                    event.set_cpu_parent(around[-1])
                around.append(event)

    def _remove_dup_nodes(self) -> None:
        """Let go of an event that is the only one inside another of the same name."""
        kept = []
        for event in self:  # parents come before their children
            parent = event.cpu_parent
            if parent is None or parent.name != event.name or len(parent.cpu_children) != 1:
                kept.append(event)
                continue
            parent.cpu_children = event.cpu_children
            for child in event.cpu_children:
                child.cpu_parent = parent
        self[:] = kept

    def _share_stacks(self) -> None:
        """Put what runs in backward where its forward operator stands."""
        forward: dict[tuple, list[str]] = {}
        for event in self:
            if event.stack and event.scope == SCOPE_FORWARD and event.sequence_nr >= 0:
                forward.setdefault((event.sequence_nr, event.thread), event.stack)
        for event in self:
            around: FunctionEvent | None = event
            while around is not None and around.scope != SCOPE_BACKWARD:
                around = around.cpu_parent
            if around is not None:
                event.stack = forward.get((around.sequence_nr, around.fwd_thread), [])

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events, each without those inside."""
        return sum(event.self_cpu_time_total for event in self)

    def table(
        self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int | None = 75,
        max_name_column_width: int | None = 55, max_shapes_column_width: int | None = 80, header: str | None = None,
        top_level_events_only: bool = False, time_unit: str | None = None,
    ) -> str:  # fmt: skip
        """The events as a table.

        Args:
            sort_by: an attribute to sort by, the largest first: ``cpu_time``, ``cpu_time_total``,
                ``self_cpu_time_total``, ``cpu_memory_usage``, ``count``, ...
            row_limit: how many rows at most; -1 for all.
            max_src_column_width, max_name_column_width, max_shapes_column_width: limits in characters, or None.
            header: a line above the table.
            top_level_events_only: leave out events inside others.
            time_unit: ``"s"``, ``"ms"`` or ``"us"`` for all times.

        Raises:
            AttributeError: there is nothing like ``sort_by``.
        """
        events: list = self
        if sort_by is not None:
            for device in ("cuda", "xpu", "privateuse1"):
                sort_by = sort_by.replace(device, "device")
            name = sort_by
            events = sorted(self, key=lambda event: getattr(event, name), reverse=True)
        return build_table(
            events, row_limit=row_limit, max_src_column_width=max_src_column_width,
            max_name_column_width=max_name_column_width, max_shapes_column_width=max_shapes_column_width,
            header=header, top_level_events_only=top_level_events_only, time_unit=time_unit,
            profile_memory=self._profile_memory, with_flops=self._with_flops,
        )  # fmt: skip

    def __str__(self) -> str:
        return self.table()

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The averages of the events of each name.

        Args:
            group_by_input_shapes: keep different shapes apart.
            group_by_stack_n: keep apart what differs in the innermost so many places of the program.
            group_by_overload_name: keep different overloads apart.

        Raises:
            AssertionError: these are averages already.
        """
        if not self._tree_built:
            raise AssertionError("Expected tree to be built before calling key_averages")
        averages: dict[tuple, FunctionEventAvg] = {}
        for event in self:
            key: tuple = (event.key, event.node_id, event.is_legacy, event.is_user_annotation)
            key += (str(event.input_shapes),) if group_by_input_shapes else ()
            key += (event.overload_name,) if group_by_overload_name else ()
            key += tuple((event.stack or [])[:group_by_stack_n])
            averages.setdefault(key, FunctionEventAvg()).add(event)
        for average in averages.values():
            average.stack = (average.stack or [])[:group_by_stack_n]
            average.input_shapes = average.input_shapes if group_by_input_shapes else ""
            average.overload_name = average.overload_name if group_by_overload_name else ""
        return self._like(averages.values())

    def total_average(self) -> FunctionEventAvg:
        """All events together, under the name ``Total``."""
        total = FunctionEventAvg()
        for event in self:
            total.key = None
            total.add(event)
        total.key = "Total"
        return total

    def export_chrome_trace(self, path: str) -> None:
        """Write the events to a JSON file that ``chrome://tracing`` and Perfetto show.

        Args:
            path: the file's name.
        """
        events = [
            {"name": event.trace_name, "ph": "X", "ts": event.time_range.start, "dur": event.time_range.elapsed_us(),
             "tid": event.thread, "pid": "CPU functions", "args": {}}
            for event in self if event.trace_name is not None
        ]  # fmt: skip
        with open(path, "w") as file:
            json.dump(events, file)

    def supported_export_stacks_metrics(self) -> list[str]:
        """The names of measures by which ``export_stacks`` can weigh places."""
        return list(STACK_METRICS)

    def export_stacks(self, path: str, metric: str) -> None:
        """Write a line for each event: its places in the program, the outermost first, and its weight.

        Args:
            path: the file's name.
            metric: ``"self_cpu_time_total"`` or ``"self_cuda_time_total"``: what weighs.

        Raises:
            ValueError: there is no such metric.
        """
        if metric not in STACK_METRICS:
            raise ValueError(f"metric should be one of: {STACK_METRICS}")
        table = str.maketrans(" ;\t\n", "____")
        for device in ("cuda", "xpu", "privateuse1"):
            metric = metric.replace(device, "device")
        with open(path, "w") as file:
            for event in self:
                weight = int(getattr(event, metric))
                if event.stack and weight > 0:
                    file.write(f"{';'.join(entry.translate(table) for entry in reversed(event.stack))} {weight}\n")
