"""The profilers: lists of events made by hand agree to the letter, recorded programs in all but times."""

import importlib
import json

import pytest
import torch as pytorch
from harness import Programs, agree, attempt, warned

import tapegrad
from tapegrad.autograd.profiling.names import aten_name
from tapegrad.ops.operator import TABLE

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


def util(torch):
    return importlib.import_module(f"{torch.__name__}.autograd.profiler_util")


def made_by_hand(torch, **options):
    """A list of events with children, two threads, shapes, and times of every size."""
    lib = util(torch)
    rows = [
        ("step", 1, 0.0, 4_000_000.0, [], []),
        ("aten::mul", 1, 10.0, 30.5, [[2, 3], []], ["a.py(1): f", "b.py(2): g"]),
        ("aten::mul", 1, 12.0, 20.0, [[2, 3], []], []),
        ("aten::add", 1, 40.0, 2_500.0, [[2, 3], [3]], ["a.py(3): f"]),
        ("aten::mul", 1, 3_000.0, 3_010.0, [[4], []], ["a.py(1): f", "c.py(2): h"]),
        ("a name that is much too long for the column it has to stand in", 2, 0.0, 7.0, [], []),
        ("aten::sum", 2, 7.0, 7.25, [[2]], []),
    ]
    events = lib.EventList(**options)
    for number, (name, thread, start, end, shapes, stack) in enumerate(rows):
        events.append(
            lib.FunctionEvent(
                id=number, name=name, trace_name=name, thread=thread, start_us=start, end_us=end, overload_name="",
                input_shapes=shapes, stack=stack, cpu_memory_usage=number * 1500, fwd_thread=0,
                flops=0 if number < 3 else 700 * number,
            )
        )  # fmt: skip
    events._build_tree()
    return events


@program
def trees(torch):
    events = made_by_hand(torch)
    return [[e.id, e.cpu_parent and e.cpu_parent.id, [c.id for c in e.cpu_children]] for e in events]


@program
def a_tree_of_overlapping_spans(torch):
    lib = util(torch)
    events = lib.EventList()
    for thread, spans in ((1, [(0, 1), (1, 2)]), (0, [(0, 2), (1, 2), (1, 3)])):
        for start, end in spans:
            number = len(events)
            events.append(
                lib.FunctionEvent(id=number, node_id=0, name="", thread=thread, start_us=start, end_us=end)
            )
    events._populate_cpu_children()
    return [[child.id for child in event.cpu_children] for event in events]


@program
def times(torch):
    return [
        [e.cpu_time_total, e.self_cpu_time_total, e.cpu_time, e.cpu_time_total_str, e.self_cpu_time_total_str, e.key]
        for e in made_by_hand(torch)
    ]


@program
def tables(torch):
    events = made_by_hand(torch)
    averages = events.key_averages()
    return [
        events.table(),
        str(events) == events.table(),
        events.table(row_limit=2, top_level_events_only=True, header="A header"),
        events.table(max_name_column_width=15, max_shapes_column_width=9, max_src_column_width=8, row_limit=-1),
        events.table(max_name_column_width=None, max_shapes_column_width=None, max_src_column_width=None),
        averages.table(sort_by="cpu_time_total"),
        averages.table(sort_by="self_cpu_time_total", time_unit="ms"),
        averages.table(sort_by="count", row_limit=1, time_unit="us"),
        averages.table(sort_by="cuda_time_total", time_unit="s"),
        averages.table(row_limit=0),
        util(torch).EventList().table(),
    ]


@program
def tables_with_more_columns(torch):
    return [
        made_by_hand(torch, profile_memory=True).key_averages().table(sort_by="self_cpu_memory_usage"),
        made_by_hand(torch, with_flops=True).key_averages(group_by_input_shapes=True).table(),
        made_by_hand(torch).key_averages(group_by_stack_n=1).table(),
        made_by_hand(torch).key_averages(group_by_input_shapes=True, group_by_stack_n=2).table(),
    ]


@program
def averages(torch):
    events = made_by_hand(torch)
    total = events.total_average()
    return [
        [[a.key, a.count, a.cpu_time, a.cpu_time_total, a.self_cpu_time_total, a.input_shapes, a.stack, repr(a)]
         for a in events.key_averages(group_by_input_shapes=True, group_by_stack_n=1)],
        [total.key, total.count, total.self_cpu_time_total, repr(total), events.self_cpu_time_total],
        repr(util(torch).EventList().total_average()),
        attempt(lambda: events.key_averages().key_averages()),
    ]  # fmt: skip


@program
def an_average_by_hand(torch):
    lib = util(torch)
    average = lib.FunctionEventAvg()
    average.add(lib.FunctionEvent(id=0, name="foo", thread=0, start_us=10, end_us=15))
    average.add(lib.FunctionEvent(id=1, name="foo", thread=0, start_us=20, end_us=30))
    average.add(average)
    seen = [average.key, average.count, average.cpu_time_total, average.device_time_total, average.cpu_time]
    other = lib.FunctionEvent(id=0, name="bar", thread=0, start_us=10, end_us=15)
    return [*seen, attempt(lambda: average.add(other))]


@program
def an_event_in_words(torch):
    return repr(made_by_hand(torch)[1])


@program
def wrong_requests(torch):
    events = made_by_hand(torch)
    return [
        attempt(lambda: events.table(sort_by="nothing")),
        attempt(lambda: events.key_averages().table(sort_by="nothing")),
        attempt(lambda: events.export_stacks("/dev/null", "nothing")),
        events.supported_export_stacks_metrics(),
    ]


# -- recorded programs -------------------------------------------------------------------------------------------------

NAMES = {"aten::mul", "aten::add", "aten::sum", "aten::relu", "aten::mm", "aten::exp", "outer", "inner"}


def recorded(torch, run, **options):
    """The events of a program: those whose names both modules have.

    What runs inside a node is left out: here it is one kernel, unless backward is recorded.
    """
    with torch.autograd.profiler.profile(**options) as prof:
        run()
    recording = run.__name__ == "recorded_backward"
    return [
        event for event in prof.function_events
        if ("Backward" in event.name or "Accumulate" in event.name or event.name in NAMES)
        and (recording or event.scope == 1 or event.cpu_parent is None or "Backward" not in event.cpu_parent.name)
    ]  # fmt: skip


def summary(events):
    parents = [event.cpu_parent.name if event.cpu_parent in events else None for event in events]
    return [[e.name, name, e.scope, e.is_user_annotation] for e, name in zip(events, parents, strict=True)]


def a_step(torch):
    x = torch.ones(3, 4, requires_grad=True)
    w = torch.ones(4, 2, requires_grad=True)

    def run():
        with torch.autograd.profiler.record_function("outer"):
            y = torch.mm(x, w)
            with torch.autograd.profiler.record_function("inner"):
                y = y.relu()
        (y * 2 + y).sum().backward()

    return run


@program
def a_step_of_training(torch):
    return summary(recorded(torch, a_step(torch)))


@program
def shapes(torch):
    events = recorded(torch, a_step(torch), record_shapes=True)
    return [[e.name, e.input_shapes[:1]] for e in events if e.name != "aten::sum" and "Sum" not in e.name]


@program
def sequence_numbers(torch):
    by_number = {}
    for event in recorded(torch, a_step(torch)):
        if event.sequence_nr >= 0 or "Accumulate" in event.name:
            by_number.setdefault(event.sequence_nr, []).append([event.name, event.fwd_thread == event.thread])
    return [by_number[number] for number in sorted(by_number)]


@program
def a_recorded_backward(torch):
    x = torch.ones(3, requires_grad=True)
    y = x.exp().sum()

    def recorded_backward():
        torch.autograd.grad(y, x, create_graph=True)

    return [row[:2] for row in summary(recorded(torch, recorded_backward)) if "Accumulate" not in row[0]]


@program
def a_custom_function(torch):
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, scale):
            return x.exp()

        @staticmethod
        def backward(ctx, grad):
            return grad + 2, None

    x = torch.ones(3, requires_grad=True)
    with torch.autograd.profiler.profile(record_shapes=True) as prof:
        Doubled.apply(x, 2.0).sum().backward()
        Doubled.apply(x.detach(), 2.0)
    events = [event for event in prof.function_events if "Doubled" in event.name or event.name in NAMES]
    own = [event for event in events if event.name in ("Doubled", "DoubledBackward")]
    return [summary(events), [event.input_shapes for event in own], own[0].sequence_nr == own[1].sequence_nr]


@program
def memory_and_flops(torch):
    x, w = torch.ones(3, 4), torch.ones(4, 2)
    events = recorded(torch, lambda: torch.mm(x, w), profile_memory=True, with_flops=True)
    return [[e.name, e.cpu_memory_usage, e.flops, e.input_shapes[:2]] for e in events]


@program
def functions_with_names(torch):
    mark = torch.autograd.profiler.record_function

    @mark("outer")
    def work(x):
        with mark("inner", "more about it"):
            return x

    def fail():
        with mark("inner"):
            raise ValueError("mine")

    rows = summary(recorded(torch, lambda: [work(1), work(2), attempt(fail)]))
    again = mark("inner")
    twice = recorded(torch, lambda: [again.__enter__(), again.__exit__(None, None, None)] * 2)
    return [rows, len(twice), again.name, again.args, attempt(lambda: mark("x").__exit__(None, None, None))]


@program
def names_entered_and_left_in_any_order(torch):
    mark = torch.autograd.profiler.record_function
    early = mark("outer")
    early.__enter__()
    with mark("inner"):
        early.__exit__(None, None, None)
    with mark("inner"):
        early.__enter__()
    early.__exit__(None, None, None)
    open_at_end, begun_before = mark("outer"), mark("inner")
    begun_before.__enter__()
    events = recorded(torch, open_at_end.__enter__)
    open_at_end.__exit__(None, None, None)
    begun_before.__exit__(None, None, None)
    return summary(events)


@program
def the_states_of_a_profile(torch):
    make = torch.autograd.profiler.profile

    def state(prof, path="/dev/null"):
        return [
            str(prof) if "unfinished" in str(prof) else "finished",
            len(prof.function_events),
            prof.table(),
            prof.key_averages().table(),
            repr(prof.total_average()),
            prof.self_cpu_time_total,
            attempt(lambda: prof.export_chrome_trace(path)),
            attempt(lambda: prof.export_stacks(path)),
        ]

    prof = make()
    seen = [torch.autograd._profiler_enabled(), state(prof)]
    with prof as entered:
        seen += [entered is prof, torch.autograd._profiler_enabled(), state(prof), attempt(prof.__enter__)]
    seen += [torch.autograd._profiler_enabled(), attempt(prof.__enter__)]
    off = make(enabled=False)
    return [*seen, off.__enter__(), off.__exit__(None, None, None), make().__exit__(None, None, None)]


@program
def a_block_that_fails(torch):
    x, prof = torch.ones(3), torch.autograd.profiler.profile()

    def run():
        with prof:
            x * 2
            raise ValueError("mine")

    seen = attempt(run)
    return [seen, [e.name for e in prof.function_events if e.name in NAMES], torch.autograd._profiler_enabled()]


@program
def wrong_arguments_of_a_profile(torch):
    make = torch.autograd.profiler.profile
    return [
        attempt(lambda: make(use_cpu=False)),
        attempt(lambda: make(nothing=1)),
        attempt(lambda: make(True, True)),
        warned(lambda: make(use_device="nothing")),
        attempt(lambda: torch.autograd.profiler.record_function()),
    ]


# -- torch.profiler ----------------------------------------------------------------------------------------------------


def actions(schedule, count=12):
    return [schedule(step).name for step in range(count)]


@program
def schedules(torch):
    make = torch.profiler.schedule
    return [
        actions(make(wait=1, warmup=1, active=2, repeat=2, skip_first=1)),
        actions(make(wait=2, warmup=1, active=1, skip_first_wait=1)),
        actions(make(wait=2, warmup=1, active=1, repeat=2, skip_first=3, skip_first_wait=1)),
        attempt(lambda: make(wait=1, warmup=1, active=0)),
        attempt(lambda: make(wait=-1, warmup=1, active=1)),
        attempt(lambda: make(1, 1, 1)),
        attempt(lambda: make(wait=0, warmup=1, active=1)(-1)),
        warned(lambda: make(wait=0, warmup=0, active=1)),
    ]


@program
def cycles(torch):
    seen, x = [], torch.ones(3)

    def ready(prof):
        names = [event.name for event in prof.events() if event.name in NAMES or "Step" in event.name]
        seen.append([prof.step_num, prof.current_action.name, names])

    schedule = torch.profiler.schedule
    for options in (
        {"schedule": schedule(wait=1, warmup=1, active=2, repeat=2)},
        {"schedule": schedule(wait=0, warmup=1, active=1)},
        {"schedule": schedule(wait=1, warmup=1, active=2), "acc_events": True},
        {},
    ):
        with torch.profiler.profile(on_trace_ready=ready, **options) as prof:
            for _ in range(8):
                x * 2
                prof.step()
        seen.append([prof.step_num, sum(event.name == "aten::mul" for event in prof.events())])
    return seen


@program
def steps_keep_their_number_in_traces(torch):
    with torch.profiler.profile(schedule=lambda step: torch.profiler.ProfilerAction.RECORD) as prof:
        prof.step()
    return [[event.name, event.trace_name] for event in prof.events() if "Step" in event.name]


@program
def incorrect_schedules(torch):
    action = torch.profiler.ProfilerAction
    seen = []
    for plan in (
        [action.RECORD, action.NONE], [action.WARMUP, action.NONE],
        [action.WARMUP], [action.DEVICE_STOPPED], [action.NONE, action.DEVICE_STOPPED],
    ):  # fmt: skip

        def run(plan=plan):
            with torch.profiler.profile(schedule=plan.__getitem__) as prof:
                for _ in plan[1:]:
                    prof.step()

        seen.append(attempt(lambda run=run: warned(run)))
    return seen


@program
def a_profiler_that_has_not_begun(torch):
    make = torch.profiler.profile
    return [
        attempt(lambda: make().events()),
        attempt(lambda: make().key_averages()),
        attempt(lambda: make().export_chrome_trace("/dev/null")),
        attempt(lambda: make().export_stacks("/dev/null")),
        attempt(lambda: make().stop()),
        attempt(lambda: make().step()),
        [make().profiler, make().step_num, make().current_action.name, make().get_trace_id()],
    ]


@program
def activities(torch):
    make, activity = torch.profiler.profile, torch.profiler.ProfilerActivity
    return [
        attempt(lambda: make(activities=[])),
        attempt(lambda: make(activities=[activity.CPU, activity.CPU])),
        attempt(lambda: make([1])),
        sorted(one.name for one in make(activities=[activity.CPU, {activity.CUDA: []}]).activities),
        warned(lambda: make(use_cuda=False)),
        [str(activity.CPU), str(torch.autograd.DeviceType.CPU), [one.name for one in torch.profiler.ProfilerAction]],
        activity.CPU in torch.profiler.supported_activities(),
        torch.profiler.record_function is torch.autograd.profiler.record_function,
    ]


@pytest.mark.filterwarnings("ignore:Warning. Profiler clears events:UserWarning")
@pytest.mark.parametrize("case", PROGRAMS, ids=lambda case: case.__name__)
def test_profiler(case):
    agree(case)


@pytest.mark.parametrize("module", [pytorch, tapegrad], ids=["pytorch", "tapegrad"])
def test_a_list_of_events_is_written_as_a_trace(module, tmp_path):
    path = tmp_path / "trace.json"
    made_by_hand(module).export_chrome_trace(str(path))
    trace = json.loads(path.read_text())
    assert [(event["name"], event["ts"], event["dur"], event["tid"]) for event in trace][1:3] == [
        ("aten::mul", 10.0, 20.5, 1),
        ("aten::add", 40.0, 2460.0, 1),
    ]


@pytest.mark.parametrize("module", [pytorch, tapegrad], ids=["pytorch", "tapegrad"])
def test_stacks_are_written(module, tmp_path):
    path = tmp_path / "stacks.txt"
    made_by_hand(module).export_stacks(str(path), "self_cpu_time_total")
    assert path.read_text() == "b.py(2):_g;a.py(1):_f 20\na.py(3):_f 2460\nc.py(2):_h;a.py(1):_f 10\n"


INTERNAL = 30 + 16 + 4 + 2
"""How many operators of the table are steps inside one of PyTorch's, and keep a name of their own; of which how many
compute with the values of sparse tensors, where PyTorch has functions of its own for each layout, of nested ones, or
of complex numbers of two halves."""


def test_operators_go_by_the_names_of_pytorch():
    names = {op.name: aten_name(op).removeprefix("aten::") for op in TABLE.values()}
    own = sorted(name for name, shown in names.items() if not hasattr(pytorch.ops.aten, shown))
    assert len(own) <= INTERNAL, own
