"""The profilers: what has no counterpart in PyTorch, and what it writes to files."""

import gzip
import json
import threading
import weakref

import pytest

import tapegrad as torch
from tapegrad._src.tape.modes import thread
from tapegrad.autograd.profiling import profile as profiler
from tapegrad.autograd.profiling import recorder as profiler_recorder
from tapegrad.ops.arithmetic import mul


def step(x):
    (x * 2).sum().backward()


def leaf():
    return torch.ones(3, requires_grad=True)


def names(prof):
    return [event.name for event in prof.function_events if not event.name.startswith("autograd::engine")]


def test_it_leaves_nothing_behind():
    modes, x = thread.modes, leaf()
    step(x)
    plans = len(mul.plans)
    with profiler.profile():
        assert thread.modes is not modes
    step(x)
    assert thread.modes is modes
    assert (thread.interceptors, thread.backward_watchers) == ((), ())
    assert len(mul.plans) == plans


def test_the_same_computation_with_and_without():
    x, y = leaf(), leaf()
    step(x)
    with profiler.profile(record_shapes=True, profile_memory=True, with_stack=True, with_flops=True, sync=True):
        step(y)
    assert x.grad.tolist() == y.grad.tolist() == [2.0, 2.0, 2.0]


def test_profiles_nest():
    x = leaf()
    with profiler.profile() as outer:
        x * 2
        with profiler.profile() as inner:
            x + 2
        with profiler.record_function("after"):
            pass
    assert names(inner) == ["aten::add"]
    assert names(outer) == ["aten::mul", "aten::add", "after"]


def test_another_thread_is_not_recorded():
    x, here = leaf(), []
    with profiler.profile() as prof:
        other = threading.Thread(target=lambda: (step(x), here.append(torch.autograd._profiler_enabled())))
        other.start()
        other.join()
    assert (names(prof), here) == ([], [False])


def test_a_thread_may_record_itself():
    x, recorded = leaf(), []

    def run():
        with profiler.profile() as prof:
            step(x)
        recorded.extend(prof.function_events)

    other = threading.Thread(target=run)
    other.start()
    other.join()
    with profiler.profile() as prof:
        step(x)
    assert {event.thread for event in recorded} != {event.thread for event in prof.function_events}
    assert all(event.fwd_thread == event.thread for event in recorded if "Backward" in event.name)


def test_operators_in_hooks_are_recorded():
    x = leaf()
    y = x * 2
    y.register_hook(lambda grad: grad * 3)
    y.grad_fn.register_prehook(lambda grads: (grads[0] + 1,))
    with profiler.profile() as prof:
        y.sum().backward()
    assert names(prof) == [
        "aten::sum", "SumBackward0", "aten::mul", "aten::add", "MulBackward0", "torch::autograd::AccumulateGrad",
    ]  # fmt: skip


def test_a_failing_operator_and_a_failing_node_end():
    x = leaf()
    with profiler.profile() as prof:
        with pytest.raises(RuntimeError):
            x + torch.ones(2)
        y = x.exp().sum()
        y.backward()
        with pytest.raises(RuntimeError, match="second time"):
            y.backward()
    assert names(prof)[0] == "aten::add"
    assert all(event.time_range.elapsed_us() >= 0 for event in prof.function_events)


def test_events_keep_no_tensors():
    x = leaf()
    with profiler.profile(record_shapes=True) as prof:
        y = x * 2
        reference = weakref.ref(y)
        del y
        assert reference() is None
    assert len(prof.function_events) == 1


def test_sync_waits_for_every_result(monkeypatch):
    waited = []
    monkeypatch.setattr(profiler_recorder, "wait_for", lambda values: waited.append(len(list(values))))
    with profiler.profile():
        step(leaf())
    assert waited == []
    with profiler.profile(sync=True) as prof:
        step(leaf())
    assert len(waited) == len(names(prof)) == 5


def test_names_go_to_the_traces_of_jax(monkeypatch):
    spans = []

    class Span:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            spans.append(("begin", self.name))

        def __exit__(self, *exception):
            spans.append(("end", self.name))

    monkeypatch.setattr(profiler, "annotation", Span)
    mark = profiler.record_function("outer")
    with mark, profiler.record_function("inner"), mark:
        pass
    assert spans == [(when, name) for when, name in zip(
        ["begin", "begin", "begin", "end", "end", "end"], ["outer", "inner", "outer"] * 2, strict=True
    )]  # fmt: skip


def test_stacks_show_the_program_only():
    x = leaf()
    with profiler.profile(with_stack=True) as prof:
        step(x)
    first = prof.function_events[0]
    assert first.stack[0].startswith(__file__) and first.stack[0].endswith(": step")
    assert first.stack[1].endswith(": test_stacks_show_the_program_only")
    assert not any("/tapegrad/autograd/" in place or "written function" in place for place in first.stack)
    backward = next(event for event in prof.function_events if event.name == "MulBackward0")
    assert backward.stack == first.stack
    assert "Source Location" in prof.key_averages(group_by_stack_n=2).table()


def test_traces_are_nested_json(tmp_path):
    path = tmp_path / "trace.json"
    with profiler.profile(record_shapes=True) as prof, profiler.record_function('a "name"'):
        step(leaf())
    prof.export_chrome_trace(str(path))
    events = [event for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "X"]
    assert [event["name"] for event in events] == [event.trace_name for event in prof.function_events]
    outer, product = events[0], events[1]
    assert (outer["cat"], product["cat"], product["args"]["Input Dims"]) == ("user_annotation", "cpu_op", [[3], []])
    assert outer["ts"] <= product["ts"] and product["ts"] + product["dur"] <= outer["ts"] + outer["dur"]


def test_steps_are_written_with_metadata(tmp_path):
    plan = torch.profiler.schedule(wait=0, warmup=1, active=1, repeat=1)
    handler = torch.profiler.tensorboard_trace_handler(str(tmp_path / "traces"), "me", use_gzip=True)
    with torch.profiler.profile(schedule=plan, on_trace_ready=handler) as prof:
        prof.add_metadata("who", "me")
        prof.add_metadata_json("numbers", "[1, 2]")
        for _ in range(3):
            prof.step()
    (path,) = (tmp_path / "traces").iterdir()
    assert path.name.startswith("me.") and path.name.endswith(".pt.trace.json.gz")
    trace = json.loads(gzip.decompress(path.read_bytes()))
    assert (trace["who"], trace["numbers"]) == ("me", [1, 2])
    assert "ProfilerStep#1" in [event["name"] for event in trace["traceEvents"]]


def test_a_schedule_that_stops_recording_without_saving_is_told_so():
    action = torch.profiler.ProfilerAction
    plan = [action.RECORD, action.WARMUP]
    with pytest.warns(UserWarning, match="Incorrect schedule: RECORD followed by WARMUP"):
        with torch.profiler.profile(schedule=plan.__getitem__) as prof:
            prof.step()
    assert thread.backward_watchers == ()


@pytest.mark.filterwarnings("ignore:Warning. Profiler clears events:UserWarning")
@pytest.mark.parametrize(("keep", "count"), [(True, 2), (False, 1)])
def test_events_of_all_cycles_or_of_the_last(keep, count):
    x, plan = leaf(), torch.profiler.schedule(wait=1, warmup=1, active=1, repeat=2)
    with torch.profiler.profile(schedule=plan, acc_events=keep) as prof:
        for _ in range(6):
            x * 2
            prof.step()
    assert sum(event.name == "aten::mul" for event in prof.events()) == count


def test_times_of_devices_are_not_measured():
    with pytest.warns(UserWarning, match="is not a valid device option"):
        assert profiler.profile(use_device="nothing").use_device is None
    with pytest.warns(UserWarning, match="not measured|not available"):
        assert profiler.profile(use_device="cuda").use_device is None
    assert not profiler.kineto_available()


def test_mapped_functions_are_seen():
    """An operator at a level is the operator outside, over batches: one event."""
    x = torch.arange(6.0).reshape(2, 3)
    with profiler.profile() as prof:
        once, twice = torch.vmap(torch.sin)(x), torch.vmap(torch.vmap(torch.sin))(x)
    assert torch.allclose(once, x.sin()) and torch.allclose(twice, x.sin())
    assert names(prof).count("aten::sin") == 2
