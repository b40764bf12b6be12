"""Whole models that are measured: all contestants train the same one, and what is told of them is what was measured."""

import argparse
import json
from pathlib import Path

import numpy as np
import pytest

import tapegrad
from benchmarks import contest
from benchmarks.fresh import DEFERRED, EAGER, IMMEDIATE
from benchmarks.whole import command, growth, measuring, pictures, process, promises
from benchmarks.whole.contestants import COMPILED, JAX_JIT, LIBRARIES, MODEL_COMPILED, OURS, TORCH_COMPILE, running
from benchmarks.whole.measuring import available
from benchmarks.whole.model import fill
from benchmarks.whole.models import MODELS, SMALL
from tests.rings import is_drawn

pytestmark = pytest.mark.once("the benchmarks choose for themselves")

TWINS = ("GPT, 6 layers, width 512, AdamW", "ResNet-18 for 32 x 32, batch 16, SGD")
"""Models that are made by the same functions as others."""

QUICKLY = ("MLP 3072-512-512-10, batch 128, SGD", "50 samples of a small policy, Adam")
"""Models that XLA compiles in half a second."""


def cases():
    """The models of which each is made by functions of its own; all but the quick ones come in wider rings."""
    names = [name for name in SMALL if name not in TWINS]
    wide = {name: "full" if is_drawn(name, 3) else "whole" for name in names if name not in QUICKLY}
    return [pytest.param(name, marks=pytest.mark.ring(wide[name]) if name in wide else []) for name in names]


def losses(name, who):
    return running(SMALL[name](), who).steps(3)


# -- all contestants do the same work ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", cases())
def test_a_model_is_the_same_in_jax(name):
    np.testing.assert_allclose(losses(name, JAX_JIT), losses(name, IMMEDIATE), rtol=1e-5)


@pytest.mark.parametrize("name", cases())
def test_a_model_is_the_same_compiled(name):
    np.testing.assert_allclose(losses(name, COMPILED), losses(name, IMMEDIATE), rtol=1e-5)


@pytest.mark.parametrize("name", QUICKLY)
def test_a_step_is_the_same_with_the_model_compiled(name):
    np.testing.assert_allclose(losses(name, MODEL_COMPILED), losses(name, IMMEDIATE), rtol=1e-5)


@pytest.mark.parametrize("name", SMALL)
def test_a_model_is_the_same_deferred(name):
    at_once = losses(name, IMMEDIATE)
    np.testing.assert_allclose(losses(name, DEFERRED), at_once, rtol=1e-5)
    assert len(set(at_once)) == 3 and np.isfinite(at_once).all()  # it learns


@pytest.mark.parity
@pytest.mark.parametrize("name", SMALL)
def test_a_model_is_the_same_in_pytorch(name):
    np.testing.assert_allclose(losses(name, IMMEDIATE), losses(name, EAGER), rtol=1e-5)


def test_the_full_sized_have_the_parameters_that_their_names_say():
    arrays = {name: make().parameters(np.random.default_rng(0)) for name, make in MODELS.items()}
    sizes = {name: sum(array.size for array in of) for name, of in arrays.items()}
    gpt = {"GPT, 4 layers, width 128, AdamW": 4 * 12 * 128**2, "GPT, 6 layers, width 512, AdamW": 6 * 12 * 512**2}
    assert sizes["MLP 3072-512-512-10, batch 128, SGD"] == 3073 * 512 + 513 * 512 + 513 * 10
    assert all(1 < sizes[name] / blocks < 1.2 for name, blocks in gpt.items())
    assert sizes["scalar network 2-16-16-1, 8 samples, SGD"] == 337


def test_parameters_of_another_shape_are_not_filled():
    net = tapegrad.nn.Linear(3, 2)
    with pytest.raises(ValueError, match=r"weight has shape \(2, 3\), and the array \(3,\)"):
        fill(tapegrad, net, [np.zeros(3, "float32"), np.zeros(2, "float32")])


def test_contestants_have_the_names_that_they_have_elsewhere():
    assert (contest.IMMEDIATE, contest.DEFERRED, contest.COMPILED) == (IMMEDIATE, DEFERRED, COMPILED)
    assert (contest.EAGER, contest.TORCH_COMPILE, contest.JAX_JIT) == (EAGER, TORCH_COMPILE, JAX_JIT)


def test_the_compiler_of_pytorch_takes_part_if_it_is_asked(monkeypatch):
    monkeypatch.setattr(measuring.importlib.util, "find_spec", lambda name: name != "torch")
    assert available(compiler=True) == [*OURS, JAX_JIT]
    monkeypatch.setattr(measuring.importlib.util, "find_spec", lambda name: True)
    assert (set(LIBRARIES) - set(available()), set(available(compiler=True))) == ({TORCH_COMPILE}, set(LIBRARIES))


# -- a process for each ------------------------------------------------------------------------------------------------


@pytest.mark.ring("full")
def test_a_process_has_nothing_of_the_others_and_says_what_it_took(tmp_path):
    question = process.Question(QUICKLY[0], JAX_JIT, 0.0, cpu=True, quick=True)
    found = measuring.in_turns(question, [JAX_JIT], rounds=2)[JAX_JIT]
    assert 0 < found["first loss"] <= found["tenth step"] and found["ratios"] == {JAX_JIT: 1.0}
    assert found["process"] > found["step"] > 0 and found["process"] >= found["later"] - 1
    np.testing.assert_allclose(found["losses"][:3], losses(QUICKLY[0], JAX_JIT))
    assert len(found["losses"]) == process.STEPS and all(seconds > 0 for seconds in found["rounds"])


@pytest.mark.ring("full")
def test_a_process_that_fails_is_told():
    with pytest.raises(RuntimeError, match="no model of size 1, jax.jit: the process failed"):
        measuring.in_turns(process.Question("no model of size 1", "", 0.0), [JAX_JIT], rounds=1)


def test_what_is_kept_is_found_by_the_second_process(monkeypatch):
    asked = []

    class Once(measuring.ExitStack):
        def __init__(self, question):
            super().__init__()
            asked.append((question.who, Path(question.cache).is_dir(), question.stays))

        def __enter__(self):
            return None, {"first loss": 2.0 / len(asked), "tenth step": 3.0, "losses": []}

    monkeypatch.setattr(measuring, "asked", Once)
    found = measuring.with_caches(process.Question("a model", "", 0.0), [JAX_JIT])
    assert found == {JAX_JIT: {"first loss, caches": 1.0, "tenth step, caches": 3.0}}
    assert asked == 2 * [(JAX_JIT, True, False)]


# -- promises ----------------------------------------------------------------------------------------------------------


def one(seconds=1.0, memory=100.0, **ratios):
    peers = {"torch": EAGER, "jax": JAX_JIT}
    found = {"seconds": seconds, "least": seconds, "process": memory, "step": memory / 2, "later": memory}
    found |= {"first loss": 1.0, "tenth step": 2.0, "rounds": [seconds], "losses": []}
    return found | {"ratios": {peers[name]: ratio for name, ratio in ratios.items()}}


MEASURED = {
    "a": {IMMEDIATE: one(torch=0.8), COMPILED: one(memory=110.0, torch=0.5, jax=1.0), EAGER: one(), JAX_JIT: one()},
    "b": {IMMEDIATE: one(memory=200.0, torch=1.6), EAGER: one(torch=1.0)},
}


def test_targets_of_whole_models_on_all_cores():
    rows = {row["what"]: (row["measured"], row["met"]) for row in promises.rows(MEASURED, one_core=False, before={})}
    assert rows == {
        f"models, all cores, median: {IMMEDIATE} / {EAGER}": (pytest.approx(1.2), False),
        f"models, all cores, worst: {IMMEDIATE} / {EAGER}": (1.6, False),
        f"models, all cores, median: {COMPILED} / {EAGER}": (0.5, True),
        f"models, all cores, worst: {COMPILED} / {EAGER}": (0.5, True),
        f"models, all cores, worst: {COMPILED} / {JAX_JIT}": (1.0, True),
        f"a, MiB: {IMMEDIATE} / {EAGER}": (1.0, True),
        f"b, MiB: {IMMEDIATE} / {EAGER}": (2.0, False),
        f"a, MiB: {COMPILED} / {JAX_JIT}": (1.1, False),
    }


def test_targets_of_whole_models_on_one_core_are_what_was_before():
    before = {"a": {IMMEDIATE: one(torch=0.79), COMPILED: one(torch=0.4)}}
    rows = promises.no_worse(MEASURED, before)
    assert [(row["what"], row["met"]) for row in rows] == [
        (f"a, one core, times before: {IMMEDIATE}", True),
        (f"a, one core, times before: {COMPILED}", False),
    ]
    assert promises.no_worse(MEASURED, {}) == []


# -- models that grow --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("net", growth.NETS)
def test_a_net_is_doubled_in_one_direction(net):
    for axis, smallest in growth.NETS[net][1].items():
        sizes = growth.grown(net, axis)
        assert [one[axis] // smallest for one in sizes] == [1, 2, 4, 8, 16]
        assert growth.sizes_of(growth.title(net, sizes[2])) == (net, sizes[2])


def test_a_net_that_grows_is_the_same_in_jax():
    small = growth.title("conv net", {"batch": 2, "width": 2, "depth": 1, "length": 4})
    ours, theirs = (running(growth.named(small, False), who).steps(3) for who in (IMMEDIATE, JAX_JIT))
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)


@pytest.mark.ring("full")
def test_the_picture_has_a_panel_for_each_direction(tmp_path):
    everybody = {who: one(memory=10.0) for who in (IMMEDIATE, EAGER)}
    measured = dict.fromkeys(command.titles("MLP", quick=True), everybody)
    assert list(pictures.lines(measured, "MLP", "width")) == [128, 256]
    pictures.draw(measured, tmp_path / "growth.svg")
    drawn = (tmp_path / "growth.svg").read_text()
    assert all(f"MLP: {axis}" in drawn for axis in ("batch", "width", "depth"))
    assert IMMEDIATE in drawn and COMPILED not in drawn and "ms a step" in drawn


# -- the command -------------------------------------------------------------------------------------------------------


def options(**given):
    usual = {"only": None, "cores": "all", "quick": False, "torch_compile": False, "before": None, "no_plot": True}
    return argparse.Namespace(**usual | given)


def test_the_command_measures_models(monkeypatch, capsys, tmp_path):
    asked = []

    def measured(question, everybody, rounds):
        asked.append((question.model, question.cpu, everybody, rounds))
        return {IMMEDIATE: one(torch=0.8), EAGER: one()}

    monkeypatch.setattr(command, "measured", measured)
    monkeypatch.setattr(command, "available", lambda compiler: [IMMEDIATE, *[TORCH_COMPILE][:compiler]])
    earlier = tmp_path / "before.json"
    earlier.write_text(json.dumps(command.of_models(options(only="MLP"), 3)))
    command.of_models(options(only="GPT", torch_compile=True), 3)
    gpts = [(name, False, [IMMEDIATE, TORCH_COMPILE], 3) for name in MODELS if "GPT" in name]
    assert asked == [(QUICKLY[0], False, [IMMEDIATE], 3), *gpts]
    told = capsys.readouterr().out
    assert "cores: all" in told and f"models, all cores, worst: {IMMEDIATE}" in told
    again = command.of_models(options(only="MLP", cores="1", before=earlier), 3)
    assert asked[-1][1] and again["targets"][0]["measured"] == 1.0
    with pytest.raises(SystemExit, match="nothing has 'RNN' in its name"):
        command.of_models(options(only="RNN"), 3)


def test_the_command_measures_growth(monkeypatch, capsys):
    monkeypatch.setattr(command, "in_turns", lambda question, everybody, rounds: {IMMEDIATE: one()})
    found = command.of_growth(options(only="GPT", cores="1"), 3)
    assert len(found["growth"]) == 1 + 4 * growth.DOUBLINGS and found["cores"] == "1"
    assert "GPT of batch 2, width 64, depth 1, length 512" in capsys.readouterr().out
    assert len(command.titles(None, quick=True)) == 2 * 11
