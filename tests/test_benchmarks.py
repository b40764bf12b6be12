"""The benchmarks measure what they say they do."""

import json
import sys
from contextlib import nullcontext
from dataclasses import replace
from itertools import count

import numpy as np
import pytest

import tapegrad
from benchmarks import __main__ as command
from benchmarks import apart, around, contest, memory, operators, plot, report, targets, timing, writes
from benchmarks.cases import TAPEGRAD, Case, workload_case
from benchmarks.contest import COMPILED, DEFERRED, EAGER, IMMEDIATE, JAX_EAGER, JAX_JIT, MODES, OURS
from benchmarks.models import transformer
from benchmarks.workloads import FLOOR, FORWARD, SHORT_CHAIN, TWO_FLOORS, of_model, workloads

pytestmark = pytest.mark.once("the benchmarks choose for themselves")

SMALL = {name: replace(workload, steps=2) for name, workload in workloads(small=True).items()}


@pytest.fixture(autouse=True)
def quickly(monkeypatch):
    """The heap of the whole test run is too large to be collected before each measurement."""
    monkeypatch.setattr(timing.gc, "collect", int)


def after_two_steps(name, mode):
    running = MODES[mode](SMALL[name], mode)
    for _ in range(2 // running.steps):
        running.run()
    return running.numbers()


@pytest.fixture(scope="module")
def compiled_by_jax():
    return {name: after_two_steps(name, JAX_JIT) for name in SMALL}


# -- all contestants do the same work ----------------------------------------------------------------------------------


def same(ours, theirs):
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", OURS)
@pytest.mark.parametrize("name", SMALL)
def test_a_workload_is_the_same_in_every_mode_of_ours(name, mode, compiled_by_jax):
    same(after_two_steps(name, mode), compiled_by_jax[name])


@pytest.mark.ring("full")
def test_blocks_in_half_precision_are_the_same_in_jax():
    workload = of_model("blocks", transformer(2, 8, 4, 3, 2, "bfloat16"))
    ours, theirs = (MODES[mode](workload, mode) for mode in (COMPILED, JAX_JIT))
    ours.run(), theirs.run()
    for a, b in zip(ours.numbers(), theirs.numbers(), strict=True):
        np.testing.assert_allclose(a, b, rtol=0.05, atol=0.02)


@pytest.mark.parity
@pytest.mark.parametrize("name", SMALL)
def test_a_workload_is_the_same_in_pytorch(name, compiled_by_jax):
    same(after_two_steps(name, EAGER), compiled_by_jax[name])


def test_a_workload_is_the_same_in_jax_at_once(compiled_by_jax):
    same(after_two_steps("MLP", JAX_EAGER), compiled_by_jax["MLP"])


def test_a_mode_takes_as_many_steps_as_it_says():
    steps = []

    def step(x):
        steps.append(1)
        return x

    def program(torch, device):
        return contest.Program(step, (torch.ones(2),), [])

    running = MODES[IMMEDIATE](contest.Workload("", "", 1.0, program, None, steps=3), IMMEDIATE)
    running.run()
    assert len(steps) == running.steps == 3 and running.numbers()[0].tolist() == [1, 1]


def test_a_workload_and_its_floors():
    case = workload_case(replace(SMALL[SHORT_CHAIN], steps=5), [IMMEDIATE, JAX_EAGER])
    assert {one.name: one.units for one in case.contestants} == {IMMEDIATE: 20, JAX_EAGER: 4, TWO_FLOORS: 20}
    text = report.table(case, {IMMEDIATE: fake(2e-6), JAX_EAGER: fake(4e-6)})
    assert text.splitlines()[3].split() == ["JAX", "eager", "4.00", "4.00", "0.50", "0.00"]


@pytest.mark.ring("full")
def test_a_contestant_in_a_process_of_its_own():
    with apart.case_apart(SHORT_CHAIN, [JAX_JIT], small=True) as case:
        timings = timing.take_turns(list(case.contestants), rounds=2, warmups=1)
    assert {one.name: one.units for one in case.contestants} == {JAX_JIT: 80, TWO_FLOORS: 80}
    assert all(len(one.seconds) == 2 and one.least > 0 for one in timings.values())


@pytest.mark.parametrize("title", writes.PROGRAMS)
def test_writes_are_the_same_on_both(title):
    ours = writes.program(tapegrad, title)()
    for compiled in (False, True):
        np.testing.assert_allclose(ours, writes.jax_program(title, compiled=compiled)(), rtol=1e-5)


@pytest.mark.parametrize("family", operators.PROGRAMS)
def test_operators_are_the_same_on_both(family):
    for name, program in operators.PROGRAMS[family].items():
        ours = operators.torch_run(tapegrad, program, large=False, backward=False)()
        theirs = operators.jax_run(program, large=False, backward=False)()
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=2e-4, atol=2e-5, err_msg=name)


def test_gradients_of_operators_are_the_same_on_both():
    for program in (operators.PROGRAMS["elementwise"]["x / y"], operators.PROGRAMS["indexing"]["index_add"]):
        ours = operators.torch_run(tapegrad, program, large=False, backward=True)()
        theirs = operators.jax_run(program, large=False, backward=True)()
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-5)


@pytest.mark.parametrize("feature", around.FEATURES)
def test_a_feature_does_not_change_the_chain(feature):
    np.testing.assert_allclose(around.chain(tapegrad, 5, feature)(), np.full(4, 1.0001**5), rtol=1e-6)


# -- time --------------------------------------------------------------------------------------------------------------


def test_contestants_take_turns():
    order = []
    contestants = [timing.Contestant(name, lambda name=name: order.append(name)) for name in "ab"]
    timings = timing.take_turns(contestants, rounds=2, warmups=1)
    assert order == ["b", "a", "a", "b", "b", "a"]
    assert [len(t.seconds) for t in timings.values()] == [2, 2]


def test_seconds_are_per_unit_and_ratios_per_round(monkeypatch):
    ticks = count(0.0, 6.0)
    monkeypatch.setattr(timing, "perf_counter", lambda: next(ticks))
    timings = timing.take_turns([timing.Contestant("a", int, 3), timing.Contestant("b", int, 1)], rounds=1)
    assert [timings["a"].median, timings["b"].median, timings["b"].ratio_to(timings["a"])] == [2.0, 6.0, 3.0]


def test_who_is_slow_sits_out_and_warming_up_is_what_the_first_calls_lose(monkeypatch):
    taken = iter([9.0, 5.0, 2.0, 1.0, 1.0, 1.0, 3.0])  # warming up: compiled at the first call and at the second
    monkeypatch.setattr(timing, "seconds_of", lambda run: next(taken))
    result = timing.take_turns([timing.Contestant("a", int)], rounds=9, warmups=3, budget=4.0, least=2)["a"]
    assert (result.warming, result.seconds) == (10.0, (1.0, 1.0, 1.0, 3.0))
    assert result.ratio_to(fake(2.0)) == 0.5  # in the only round that both were in


def fake(seconds, warming=0.0):
    return timing.Timing("", (seconds,), warming)


# -- memory ------------------------------------------------------------------------------------------------------------


@pytest.mark.ring("full")
def test_memory_is_that_of_a_fresh_process():
    found = memory.in_fresh_process(memory.STEP, JAX_JIT, 2, 8, 4)
    assert found["process"] > found["step"] >= 0
    with pytest.raises(RuntimeError, match="nobody, a step of SGD.*: the process failed: 1\n(.|\n)*KeyError"):
        memory.in_fresh_process(memory.STEP, "nobody", 2, 8, 4)


@pytest.mark.parametrize("kind", [memory.GRADIENTS, memory.STEP])
def test_memory_is_measured_of_the_same_work(kind):
    losses = [memory.peak(kind, mode, 2, 8, 4)["loss"] for mode in (*OURS, JAX_JIT)]
    np.testing.assert_allclose(losses, losses[0], rtol=1e-5)


def test_promises_about_memory():
    peaks = {IMMEDIATE: 3.0, EAGER: 4.0, COMPILED: 3.0, JAX_JIT: 2.0}
    found = {"work": {mode: {"process": peak, "step": 1.0, "loss": 0.0} for mode, peak in peaks.items()}}
    assert [(row["measured"], row["met"]) for row in memory.rows(found)] == [(0.75, True), (1.5, False)]
    assert "MiB: work" in memory.table(found) and IMMEDIATE in memory.table(found)


# -- what is told ------------------------------------------------------------------------------------------------------


def test_what_a_feature_adds_is_told_beside_the_other():
    cases = [Case("a chain", "us", 1e6, ()), Case("a chain with bells", "us", 1e6, ())]
    seconds = [(10e-6, 4e-6), (16e-6, 7e-6)]
    text = report.extra_costs(cases, [{TAPEGRAD: fake(ours), "other": fake(other)} for ours, other in seconds])
    assert text.splitlines()[-1].split() == ["bells", "6.00", "3.00", "2.00"]


def test_the_worst_operators_are_named():
    cases = [Case(f"operator {i}", "us", 1e6, ()) for i in range(3)]
    timings = [{TAPEGRAD: fake(ours), "other": fake(1.0)} for ours in (2.0, 9.0, 4.0)]
    lines = report.worst(cases, timings, count=2).splitlines()
    assert [line.split() for line in lines[1:]] == [["operator", "1", "9.00"], ["operator", "2", "4.00"]]


def test_targets_are_met_or_missed():
    rows = targets.rows(
        {
            FORWARD: {IMMEDIATE: fake(13e-6), FLOOR: fake(12e-6)},
            SHORT_CHAIN: {DEFERRED: fake(8.0), EAGER: fake(10.0)},
            "MLP": {COMPILED: fake(2.0, warming=9.0), JAX_JIT: fake(2.0, warming=6.0), EAGER: fake(1.0)},
        }
    )
    assert [(round(row["measured"], 2), row["met"]) for row in rows] == [
        (1.0, True), (0.8, False), (1.0, True), (1.5, False)
    ]  # fmt: skip
    assert "0.80  (target 0.75: missed)" in targets.lines(rows)


def test_targets_of_fresh_processes():
    one = {"mode": COMPILED, "cache": "nothing kept", "import over jax": 0.2, "ratio": 0.9}
    rows = targets.cold_rows([one, {"mode": JAX_JIT, "cache": "nothing kept", "ratio": 1.0}])
    assert [(row["measured"], row["target"], row["met"]) for row in rows] == [(0.2, 0.15, False), (0.9, 1.0, True)]


def test_every_target_is_about_something_that_is_measured():
    named = set(SMALL) | {"GPT-2-small blocks, float32", "GPT-2-small blocks, bfloat16"}
    assert {target.workload for target in targets.TARGETS} <= named
    assert {target.mode for target in targets.TARGETS} <= set(OURS)


@pytest.mark.ring("full")
def test_the_picture_has_a_line_for_each_workload_that_was_run_in_modes(tmp_path):
    case = Case("a step", "ms", 1e3, ())
    timings = {mode: fake(float(place + 1)) for place, mode in enumerate(MODES)}
    writes = report.as_json(Case("a write", "us", 1e6, ()), {TAPEGRAD: fake(1.0)})
    plot.draw([report.as_json(case, timings), writes], tmp_path / "speed.svg")
    drawn = (tmp_path / "speed.svg").read_text()
    assert all(mode in drawn for mode in MODES) and "a step" in drawn and "a write" not in drawn


def test_the_picture_needs_an_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"(?s)needs matplotlib.*pip install 'tapegrad\[plot\]'"):
        plot.pyplot()


def test_without_pytorch_its_rows_are_left_out(monkeypatch, capsys):
    monkeypatch.setattr(command.importlib.util, "find_spec", lambda name: None)
    found = command.modules()
    assert list(found) == [TAPEGRAD] and command.available(found) == [*OURS, JAX_EAGER, JAX_JIT]
    assert "PyTorch is not installed" in capsys.readouterr().out


def run_command(monkeypatch, tmp_path, *options):
    target = tmp_path / "numbers.json"
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--quick", "--rounds", "1", "--json", str(target), *options])
    monkeypatch.setattr(command.importlib.util, "find_spec", lambda name: None)
    command.main()
    return json.loads(target.read_text())


@pytest.mark.ring("full")
def test_the_command_prints_tables_and_writes_numbers_and_a_picture(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(command, "workloads", lambda small: {SHORT_CHAIN: SMALL[SHORT_CHAIN]})
    together = lambda name, modes, small: nullcontext(workload_case(SMALL[name], modes))
    monkeypatch.setattr(command, "case_apart", together)
    picture = tmp_path / "speed.svg"
    numbers = run_command(monkeypatch, tmp_path, "--plot", str(picture))
    said = capsys.readouterr().out
    assert len(numbers["cases"]) == 1 + len(around.FEATURES) + len(writes.PROGRAMS)
    assert SMALL[SHORT_CHAIN].title in picture.read_text() and SMALL[SHORT_CHAIN].title in said
    assert list(numbers["cases"][0]["contestants"]) == [*OURS, JAX_EAGER, JAX_JIT, TWO_FLOORS]
    assert "what a feature adds" in said


def test_the_command_measures_cold_starts(monkeypatch, tmp_path, capsys):
    times = {"import": 0.4, "setup": 0.1, "first step": 0.3, "work": 0.4, "second step": 0.001}
    monkeypatch.setattr(command.cold_start, "measured", lambda contestant, directory, quick: times)
    numbers = run_command(monkeypatch, tmp_path, "--cold-start")
    assert [one["ratio"] for one in numbers["cold_start"]] == [1.0] * len(numbers["cold_start"])
    assert "seconds in a fresh process" in capsys.readouterr().out


def test_the_command_measures_memory(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(memory, "in_fresh_process", lambda *arguments: {"process": 2.0, "step": 1.0, "loss": 0.0})
    numbers = run_command(monkeypatch, tmp_path, "--memory")
    assert list(numbers["memory_mib"][memory.STEP]) == [*OURS, JAX_JIT]
    assert "peak memory" in capsys.readouterr().out
