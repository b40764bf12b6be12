"""The benchmarks measure what they say they do."""

import json
import math
import os
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace
from itertools import count

import jax
import numpy as np
import pytest

import tapegrad
from benchmarks import __main__ as command
from benchmarks import (
    ablate,
    ablation_programs,
    apart,
    around,
    contest,
    dynamic,
    dynamic_jax,
    dynamic_programs,
    first_calls,
    first_operators,
    first_replays,
    fresh,
    layers,
    lengths,
    lengths_jax,
    loading,
    memory,
    nets,
    operators,
    plot,
    programs,
    report,
    targets,
    timing,
    writes,
)
from benchmarks.cases import TAPEGRAD, Case, workload_case
from benchmarks.contest import COMPILED, DEFERRED, EAGER, IMMEDIATE, JAX_EAGER, JAX_JIT, MODES, OURS
from benchmarks.models import transformer
from benchmarks.workloads import (
    FLOOR,
    FORWARD,
    HESSIAN,
    SHORT_CHAIN,
    TWO_FLOORS,
    UNET,
    compiled_workloads,
    model_workloads,
    of_model,
    workloads,
)
from tapegrad._src.tape import kept

pytestmark = pytest.mark.once("the benchmarks choose for themselves")

SMALL = {name: replace(workload, steps=2) for name, workload in (workloads(True) | compiled_workloads(True)).items()}


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


@pytest.mark.parametrize("name", model_workloads(small=True))
def test_a_step_with_a_compiled_model_is_the_same_in_jax(name):
    workload = replace(model_workloads(small=True)[name], steps=4)
    ours, theirs = (MODES[mode](workload, mode) for mode in (IMMEDIATE, JAX_JIT))
    ours.run(), theirs.run()
    same(ours.numbers(), theirs.numbers())


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
        ours = operators.torch_run(tapegrad, program, 10, backward=False)()
        theirs = operators.jax_run(program, 10, backward=False)()
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=2e-4, atol=2e-5, err_msg=name)


def test_gradients_of_operators_are_the_same_on_both():
    for program in (operators.PROGRAMS["elementwise"]["x / y"], operators.PROGRAMS["indexing"]["index_add"]):
        ours = operators.torch_run(tapegrad, program, 10, backward=True)()
        theirs = operators.jax_run(program, 10, backward=True)()
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-5)


@pytest.mark.parametrize("feature", around.FEATURES)
def test_a_feature_does_not_change_the_chain(feature):
    np.testing.assert_allclose(around.chain(tapegrad, 5, feature)(), np.full(4, 1.0001**5), rtol=1e-6)


# -- programs that always change ---------------------------------------------------------------------------------------

CHEAP = ("clamp to 600 bounds", "600 exponents", "10,000 leaves", "a fan-in of 10,000", "a loop of 5,000 scalars")


@pytest.mark.parametrize("name", CHEAP)
def test_a_dynamic_program_is_the_same_in_jax(name):
    program = dynamic_programs.PROGRAMS[name]
    assert program.run(tapegrad, program.few) == pytest.approx(dynamic_jax.PURE[name](jax, program.few), rel=1e-4)


def test_every_program_in_jax_has_one_to_be_compared_with():
    assert set(dynamic_jax.PURE) < set(dynamic_programs.PROGRAMS) and len(dynamic_programs.PROGRAMS) == 26
    assert set(lengths_jax.PURE) < set(lengths.PROGRAMS)


def test_a_fresh_process_for_each_program_which_is_ended_at_its_limit():
    with fresh.nurseries("benchmarks.dynamic", [fresh.JAX]) as opened:
        nursery = opened[fresh.JAX]
        assert nursery.ask(0.05, "10,000 leaves", False) is None
        answer = nursery.ask(30, "clamp to 600 bounds", True)
        assert answer["result"] == pytest.approx(78.3333, rel=1e-4) and 0 < answer["seconds"] < 30
        assert math.isnan(nursery.ask(30, "200 trees", True)["seconds"])
        with pytest.raises(RuntimeError, match="JAX: the process failed at 200 trees"):
            nursery.ask(30, "200 trees")  # it is asked wrongly


def test_processes_are_started_on_one_core():
    before = contest.cores()
    with fresh.on_one_core():
        assert contest.cores() == (1 if hasattr(os, "sched_getaffinity") else before)
    assert contest.cores() == before


MEASURED = {
    "a": {fresh.EAGER: 1.0, IMMEDIATE: 3.0, DEFERRED: 1.0, fresh.JAX: math.nan},
    "b": {fresh.EAGER: 2.0, IMMEDIATE: 2.0, DEFERRED: math.inf, fresh.JAX: 8.0},
    "c": {fresh.EAGER: 1.0, IMMEDIATE: 12.0, DEFERRED: math.inf, fresh.JAX: 1.0},
}


def test_what_is_told_of_dynamic_programs():
    assert dynamic.summary(MEASURED, 45.0).splitlines() == [
        "  tapegrad immediate   median 3.0, worst 12.0 (c); 3 of 3 ended within 45 s",
        "  tapegrad deferred    median > 22, worst not ended; 1 of 3 ended within 45 s",
        "  JAX                  median 2.5, worst 4.0 (b); 2 of 2 ended within 45 s",
    ]
    assert [(row["measured"], row["met"]) for row in targets.dynamic_rows(MEASURED)] == [
        (3.0, False), (12.0, False), (math.inf, False), (math.inf, False)
    ]  # fmt: skip
    assert dynamic.as_json(MEASURED)[1]["seconds"] == {fresh.EAGER: 2.0, IMMEDIATE: 2.0, DEFERRED: None, fresh.JAX: 8.0}


def test_who_is_slow_or_has_not_ended_is_not_asked_again():
    class Nursery:
        def __init__(self, *answers):
            self.answers = [answer and {"seconds": answer} for answer in answers]

        def ask(self, *question):
            return self.answers.pop(0)

    answers = {"quick": (3.0, 1.0, 2.0), "slow": (9.0,), "never": (None,), "later": (1.0, None)}
    opened = {name: Nursery(*given) for name, given in answers.items()}
    assert dynamic.program_seconds("a", opened, rounds=3, limit=45.0, few=True) == {
        "quick": 1.0, "slow": 9.0, "never": math.inf, "later": math.inf
    }  # fmt: skip


def test_a_net_is_the_same_in_jax():
    ours, theirs = lengths.mlp(tapegrad), lengths_jax.mlp(jax)
    for _ in range(2):
        assert ours(3) == pytest.approx(theirs(3), rel=1e-4)


def test_lengths_are_new_once_and_then_known(monkeypatch):
    seconds, taken = [0.0], []

    def step(length):
        seconds[0] += 1.0 if taken.count(length) else 4.0
        taken.append(length)
        return 0.5

    monkeypatch.setattr(lengths, "cpu_seconds", lambda: seconds[0])
    monkeypatch.setattr(lengths, "resident", lambda: 10.0 * len(taken))
    found = lengths.lived(step, count=20, limit=30.0)
    assert len(set(taken)) == 1 + 8 and taken[1:9] == taken[9:17] == taken[17:]  # 8 are begun in 30 seconds
    assert (found["lengths"], found["new"], found["mean new"], found["known"], found["loss"]) == (8, 4.0, 4.0, 1.0, 0.5)
    assert [found[when] for when in ("before", "first", "all", "at last")] == [10.0, 90.0, 90.0, 250.0]
    assert lengths.grown(found) == math.inf and lengths.grown(found | {"lengths": 11}) == 160.0


def test_promises_about_lengths():
    one = {"new": 2.0, "first": 100.0, "at last": 250.0, "lengths": 11}
    rows = targets.length_rows({"a net": {IMMEDIATE: one, DEFERRED: None, EAGER: one | {"new": 0.5}}})
    assert [(row["measured"], row["met"]) for row in rows] == [
        (4.0, True), (150.0, True), (math.inf, False), (math.inf, False)
    ]  # fmt: skip


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


def test_seconds_of_the_cpu(monkeypatch):
    ticks = count(0.0, 6.0)
    monkeypatch.setattr(timing, "process_time", lambda: next(ticks))
    assert timing.Contestant("a", int, cpu=True).seconds() == 6.0


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


def test_operators_are_told_by_family_and_by_size():
    found = {
        name: [
            (Case(f"{name}, {size} floats, {how}", "us", 1e6, ()), {TAPEGRAD: fake(ours), EAGER: fake(2.0)})
            for size, how in (("10", "forward"), ("1k", "forward and backward"))
        ]
        for name, ours in (("exp", 2.0), ("sort", 9.0), ("sum", 3.0))
    }
    lines = report.family_table("all", found).splitlines()
    assert lines[1].split() == ["10", "1k,", "backward"] and lines[3].split() == ["sort", "4.50", "4.50"]
    everything = [one for members in found.values() for one in members]
    assert report.sizes_table(everything).splitlines()[2].split() == ["1k,", "backward", "1.50", "4.50", "(sort)"]
    rows = targets.operator_rows(report.ratios_by_size(everything, EAGER))
    assert [(row["measured"], row["target"], row["met"]) for row in rows] == [(1.5, 1.3, False), (4.5, 2.5, False)]


def test_targets_of_what_runs_at_once():
    slower, quicker = timing.Timing("", (3.0, 1.0), 0.0), timing.Timing("", (2.0, 4.0), 0.0)
    (row,) = targets.at_once_rows({"MLP": {IMMEDIATE: slower, EAGER: quicker}, SHORT_CHAIN: {IMMEDIATE: slower}})
    assert (row["measured"], row["met"]) == (0.5, True)  # by the quickest rounds


def test_targets_of_compiled_steps():
    ours, theirs = timing.Timing("", (3.0, 2.0), 0.0), timing.Timing("", (1.0, 2.0), 0.0)
    (row,) = targets.compiled_rows({HESSIAN: {COMPILED: ours, JAX_JIT: theirs}})
    assert (row["measured"], row["target"], row["met"]) == (2.0, 1.03, False)
    one = {"compile seconds": 2.0, "longest": 3.0, "first replay": 4.0}
    of = {COMPILED: one, IMMEDIATE: one | {"longest": 2.9}, JAX_JIT: one | {"compile seconds": 1.0}}
    rows = targets.first_replay_rows({UNET: of | {f"{who}, warm cache": one for who in (COMPILED, JAX_JIT)}})
    assert [(round(row["measured"], 3), row["met"]) for row in rows] == [(2.0, False), (0.1, True), (1.0, True)]


def test_targets_of_modules():
    theirs = {f"{TAPEGRAD}, modules": fake(3.0), f"{TAPEGRAD}, functions": fake(2.0)}
    call = theirs | {f"{EAGER}, modules": fake(4.0), f"{EAGER}, functions": fake(2.0)}
    rows = targets.module_rows({"MLP": theirs, "a call": call, "another call": theirs})
    assert [(row["measured"], row["target"], row["met"]) for row in rows] == [(1.5, 1.05, False), (0.5, 1.0, True)]


@pytest.mark.parametrize("name", nets.NETS)
def test_nets_of_modules_compute_what_nets_of_functions_do(name):
    net, of_functions, x = nets.NETS[name](tapegrad, True)
    np.testing.assert_allclose(net(x).tolist(), of_functions(x).tolist(), rtol=1e-5, atol=1e-6)


def test_targets_of_first_steps():
    rows = targets.first_step_rows([{"mode": IMMEDIATE, "work ratio": 0.4}, {"mode": JAX_JIT, "work ratio": 1.0}])
    assert [(row["measured"], row["met"]) for row in rows] == [(0.4, True)]


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
    assert len(numbers["cases"]) == 1 + len(around.FEATURES) + len(writes.PROGRAMS) + len(layers.PROGRAMS)
    assert SMALL[SHORT_CHAIN].title in picture.read_text() and SMALL[SHORT_CHAIN].title in said
    assert list(numbers["cases"][0]["contestants"]) == [*OURS, JAX_EAGER, JAX_JIT, TWO_FLOORS]
    assert "what a feature adds" in said


def test_the_command_measures_cold_starts(monkeypatch, tmp_path, capsys):
    times = {"import": 0.4, "setup": 0.1, "first step": 0.3, "work": 0.4, "second step": 0.001}
    times |= {"whole": 0.8, "whole work": 0.9}
    monkeypatch.setattr(command.cold_start, "measured", lambda contestant, directory, quick: times)
    numbers = run_command(monkeypatch, tmp_path, "--cold-start")
    assert [one["ratio"] for one in numbers["cold_start"]] == [1.0] * len(numbers["cold_start"])
    assert "seconds in a fresh process" in capsys.readouterr().out
    of_first_step = run_command(monkeypatch, tmp_path, "--first-step")["first_step"]
    assert [one["mode"] for one in of_first_step] == [*OURS, JAX_JIT]
    assert {one["whole work ratio"] for one in of_first_step} == {1.0}
    assert "with import" in capsys.readouterr().out


def test_the_command_measures_what_runs_at_once(monkeypatch, tmp_path, capsys):
    together = lambda name, modes, small, cpu: nullcontext(workload_case(SMALL[name], modes))
    monkeypatch.setattr(command, "case_apart", together)
    monkeypatch.setattr(command.targets, "AT_ONCE", {SHORT_CHAIN: 1.0})
    (case,) = run_command(monkeypatch, tmp_path, "--at-once")["cases"]
    assert list(case["contestants"]) == [IMMEDIATE, JAX_EAGER, TWO_FLOORS]
    assert SMALL[SHORT_CHAIN].title in capsys.readouterr().out


def test_the_command_measures_compiled_steps(monkeypatch, tmp_path, capsys):
    together = lambda name, modes, small, cpu: nullcontext(workload_case(SMALL[name], modes))
    monkeypatch.setattr(command, "case_apart", together)
    times = dict.fromkeys(first_replays.COLUMNS, 2.0)
    monkeypatch.setattr(command.first_replays, "measured", lambda name, mode, quick, cache=None: times)
    monkeypatch.setattr(command.targets, "REPLAYED", ("MLP", UNET, HESSIAN))
    monkeypatch.setattr(command, "MODEL_ALONE", {})
    results = run_command(monkeypatch, tmp_path, "--compiled")
    assert [case["case"] for case in results["cases"]] == [SMALL[name].title for name in ("MLP", UNET, HESSIAN)]
    assert all(list(case["contestants"]) == [COMPILED, JAX_JIT] for case in results["cases"])
    assert list(results["first_replays"]) == list(targets.COMPILED_ONCE)
    told = capsys.readouterr().out
    assert HESSIAN in told and "until the first replay" in told


@pytest.mark.parametrize("mode", [
    pytest.param(COMPILED, marks=pytest.mark.ring("full")), pytest.param(JAX_JIT, marks=pytest.mark.ring("whole"))
])  # fmt: skip
def test_a_fresh_process_says_when_a_step_was_replayed(mode):
    found = first_replays.measured("MLP", mode, quick=True)
    assert set(found) == set(first_replays.COLUMNS)
    assert found["calls"] > 1 and found["compiles"] > 0
    assert 0 < found["longest"] <= found["first replay"] < first_replays.MOST


def test_the_command_measures_modules(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(command, "again_on_one_core", int)
    monkeypatch.setattr(command.gc, "freeze", int)
    monkeypatch.setattr(nets, "NETS", {"MLP": nets.mlp})
    cases = run_command(monkeypatch, tmp_path, "--modules")["cases"]
    assert [case["case"] for case in cases] == [*layers.PROGRAMS, "MLP"]
    assert "tapegrad, functions" in capsys.readouterr().out


def test_the_command_measures_operators(monkeypatch, tmp_path, capsys):
    one = {"exp": operators.PROGRAMS["elementwise"]["exp"]}
    monkeypatch.setattr(command, "PROGRAMS", {"elementwise": one})
    monkeypatch.setattr(operators, "SIZES", {10: "10"})
    monkeypatch.setattr(command, "again_on_one_core", int)
    monkeypatch.setattr(command.gc, "freeze", int)
    cases = run_command(monkeypatch, tmp_path, "--operators")["cases"]
    assert [case["case"] for case in cases] == ["exp, 10 floats, forward", "exp, 10 floats, forward and backward"]
    assert "all operators, times JAX eager: median, worst" in capsys.readouterr().out


def test_the_command_measures_what_always_changes(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(command.dynamic, "dynamic", lambda rounds, limit, few: MEASURED)
    assert run_command(monkeypatch, tmp_path, "--dynamic")["dynamic"][0]["case"] == "a"
    monkeypatch.setattr(command.lengths, "lengths", lambda count, limit: {"a net": {"count": count, "limit": limit}})
    measured = run_command(monkeypatch, tmp_path, "--lengths", "--limit", "9")["lengths"]
    assert measured == {"a net": {"count": 6, "limit": 9}}
    assert "tapegrad immediate   median 3.0" in capsys.readouterr().out


def test_the_command_measures_first_calls(monkeypatch, tmp_path, capsys):
    class Nursery:
        def __init__(self, who):
            self.who = who

        def ask(self, limit, families, directory):
            found = first_calls.answer("tapegrad immediate", families, directory)
            return dict.fromkeys(found, 1.0 if directory else 2.0)

    opened = lambda module, everybody: nullcontext({who: Nursery(who) for who in everybody})
    monkeypatch.setattr(first_calls, "nurseries", opened)
    monkeypatch.setattr(kept, "store", kept.Keeper(None))
    costs = run_command(monkeypatch, tmp_path, "--first-calls")["first_calls"]
    assert costs["x @ w"] == {IMMEDIATE: 2.0, first_calls.KEPT: 1.0} and kept.store.new == {}
    assert "products (8)" in capsys.readouterr().out


def test_targets_of_first_calls():
    rows = targets.first_call_rows({"x + y": {IMMEDIATE: 2.0, EAGER: 0.5}, "x @ w": {IMMEDIATE: 10.0, EAGER: 0.5}})
    assert [(row["measured"], row["met"]) for row in rows] == [(12.0, False), (20.0, False)]


def test_the_calls_of_a_table_are_told_apart():
    everything = [call for calls in first_operators.CALLS.values() for call in calls]
    assert len(everything) == len(set(everything)) > 200
    assert first_operators.code_of("F.embedding(i, x)")[1] == ["i", "x"]


def test_the_command_measures_memory(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(memory, "in_fresh_process", lambda *arguments: {"process": 2.0, "step": 1.0, "loss": 0.0})
    numbers = run_command(monkeypatch, tmp_path, "--memory")
    assert list(numbers["memory_mib"][memory.STEP]) == [*OURS, JAX_JIT]
    assert "peak memory" in capsys.readouterr().out


# -- whole programs ----------------------------------------------------------------------------------------------------


def taken(whole, step=1.0):
    return {"whole": whole, "first step": 1.0, "step": step}


def test_the_command_measures_programs(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(command.programs, "run", lambda command: taken(2.0 if "--compile" in command else 1.0))
    measured = run_command(monkeypatch, tmp_path, "--programs", "--only", "digits_")["programs"]
    assert measured["digits_lenet"] == {IMMEDIATE: taken(1.0), COMPILED: taken(2.0)} and len(measured) == 2
    assert "digits_resnet" in capsys.readouterr().out


def test_a_program_that_fails_is_no_measurement():
    failing = [sys.executable, "-c", "print('step  loss\\n   0  1.5'); raise SystemExit(3)"]
    with pytest.raises(subprocess.CalledProcessError, match="status 3"):
        programs.run(failing)
    assert programs.run([*failing[:2], failing[2].replace("3)", "0)")])["step"] >= 0


def test_promises_about_programs():
    slow, fast = {IMMEDIATE: taken(1.5), COMPILED: taken(9.0, 0.5), EAGER: taken(1.0)}, {EAGER: taken(1.0)}
    rows = targets.program_rows({"a": slow, "b": fast})
    assert [(row["measured"], row["met"]) for row in rows] == [(1.5, False), (0.5, True)]


# -- loaders -----------------------------------------------------------------------------------------------------------


@pytest.mark.ring("full")
def test_loaders_are_measured():
    found = loading.measured("tapegrad", "rows of tensors", quick=True)
    assert found["first batch"] > 0 and found["samples per second"] > 0


# -- ablation ----------------------------------------------------------------------------------------------------------


def test_every_mechanism_has_a_program():
    concerned = {name for workload in ablation_programs.WORKLOADS.values() for name in workload.mechanisms}
    assert concerned == set(tapegrad.execution.mechanisms())


@pytest.mark.parametrize("name", ["MLP, a new length", "settings that change", "views", "gelu of a large product"])
def test_programs_run_with_and_without(name):
    workload = ablation_programs.WORKLOADS[name]
    for without in ((), workload.mechanisms[:1]):
        with tapegrad.execution.without(*without):
            step = workload.make(tapegrad)
            step(0), step(1)


def test_what_has_not_ended_counts_as_endless():
    (row,) = ablate.rows_of("a program", {None: [1.0, 2.0, 3.0], "view cache": [4.0, None, 5.0]})
    assert row.factor == math.inf and "not ended" in ablate.line(row)
    assert "| view cache | a program | not ended | 2e+03 | **inf** |" in ablate.table([row])
