"""The benchmarks measure what they say they do."""

import json
import sys
from itertools import count

import numpy as np
import pytest

import tapegrad
from benchmarks import __main__ as command
from benchmarks import around, jax_programs, operators, programs, report, timing, writes
from benchmarks.cases import FLOOR, OURS, TWO_FLOORS, Case
from benchmarks.programs import Sizes

TINY = Sizes(batch=4, layers=(6, 5, 3), steps=3, lstm_batch=2, inputs=4, hidden=5)


def rng():
    return np.random.default_rng(0)


def test_the_chain_is_the_same_on_both():
    np.testing.assert_allclose(programs.chain_forward(tapegrad, 5)(), jax_programs.chain_forward(5)(), rtol=1e-6)
    np.testing.assert_allclose(programs.chain_forward(tapegrad, 5)(), jax_programs.floor(5)(), rtol=1e-6)
    ours = programs.chain_total(tapegrad, 5)()
    for compiled in (False, True):
        np.testing.assert_allclose(ours, jax_programs.chain_total(5, compiled=compiled)(), rtol=1e-6)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_the_models_are_the_same_on_both(compiled):
    ours, theirs = programs.mlp_step(tapegrad, TINY, rng()), jax_programs.mlp_step(TINY, rng(), compiled=compiled)
    for _ in range(2):
        for a, b in zip(ours(), theirs(), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    ours, theirs = programs.lstm_step(tapegrad, TINY, rng()), jax_programs.lstm_step(TINY, rng(), compiled=compiled)
    for a, b in zip(ours(), theirs()[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-7)


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
    plain = programs.chain_total(tapegrad, 5)()
    np.testing.assert_allclose(around.chain(tapegrad, 5, feature)(), plain, rtol=1e-6)


def test_what_a_feature_adds_is_told_beside_the_other():
    cases = [Case("a chain", "us", 1e6, ()), Case("a chain with bells", "us", 1e6, ())]
    seconds = [(10e-6, 4e-6), (16e-6, 7e-6)]
    text = report.extra_costs(cases, [{OURS: fake(ours), "other": fake(other)} for ours, other in seconds])
    assert text.splitlines()[-1].split() == ["bells", "6.00", "3.00", "2.00"]


def test_the_worst_operators_are_named():
    cases = [Case(f"operator {i}", "us", 1e6, ()) for i in range(3)]
    timings = [{OURS: fake(ours), "other": fake(1.0)} for ours in (2.0, 9.0, 4.0)]
    lines = report.worst(cases, timings, count=2).splitlines()
    assert [line.split() for line in lines[1:]] == [["operator", "1", "9.00"], ["operator", "2", "4.00"]]


def test_contestants_take_turns():
    order = []
    contestants = [timing.Contestant(name, lambda name=name: order.append(name)) for name in "ab"]
    timings = timing.take_turns(contestants, rounds=2, warmups=1)
    assert order == ["a", "b", "a", "b", "b", "a"]
    assert [len(t.seconds) for t in timings.values()] == [2, 2]


def test_seconds_are_per_unit_and_ratios_per_round(monkeypatch):
    ticks = count(0.0, 6.0)
    monkeypatch.setattr(timing, "perf_counter", lambda: next(ticks))
    timings = timing.take_turns([timing.Contestant("a", int, 3), timing.Contestant("b", int, 1)], rounds=1)
    assert [timings["a"].median, timings["b"].median, timings["b"].ratio_to(timings["a"])] == [2.0, 6.0, 3.0]


def fake(seconds):
    return timing.Timing("", (seconds,), 0.0)


def test_targets_are_met_or_missed():
    chains = {
        100: ({OURS: fake(13.0), FLOOR: fake(10.0)}, {OURS: fake(31.0), TWO_FLOORS: fake(20.0)}),
        10_000: ({OURS: fake(13.0), FLOOR: fake(10.0)}, {OURS: fake(31.0), TWO_FLOORS: fake(20.0)}),
    }
    rows = report.targets(chains)
    assert [(round(row["ratio"], 2), row["met"]) for row in rows] == [(1.3, True), (1.55, False), (1.0, True)]
    assert "1.55  (target 1.5: missed)" in report.target_lines(rows)


def test_without_pytorch_its_rows_are_left_out(monkeypatch, capsys):
    monkeypatch.setattr(command.importlib.util, "find_spec", lambda name: None)
    assert list(command.modules()) == [OURS]
    assert "PyTorch is not installed" in capsys.readouterr().out


def test_the_command_prints_tables_and_writes_json(monkeypatch, tmp_path, capsys):
    target = tmp_path / "numbers.json"
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--quick", "--rounds", "1", "--json", str(target)])
    monkeypatch.setattr(command, "QUICK", TINY)
    monkeypatch.setattr(command, "QUICK_LENGTHS", {3: 1, 6: 1})
    monkeypatch.setattr(command.importlib.util, "find_spec", lambda name: None)
    command.main()
    said, numbers = capsys.readouterr().out, json.loads(target.read_text())
    assert len(numbers["cases"]) == 6 + len(around.FEATURES) + len(writes.PROGRAMS)
    assert "what a feature adds" in said
    assert all(case["case"] in said and OURS in case["contestants"] for case in numbers["cases"])
