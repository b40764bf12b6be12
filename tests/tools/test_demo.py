"""``python -m tapegrad``, in short."""

import subprocess
import sys

import numpy as np
import pytest

import tapegrad as torch
from tapegrad.demo import comparison, digits, network, run, training


@pytest.mark.ring("full")
def test_a_short_run_says_and_draws_everything(capsys, tmp_path):
    assert run.main(["--epochs", "2", "--out", str(tmp_path / "tape.svg")]) == 0
    said = capsys.readouterr().out
    accuracy = float(said.split("test accuracy: ")[1].split(" %")[0])
    assert accuracy > 80
    assert all(name in said for name in network.SHAPES)
    assert "eager JAX" in said
    assert "What next:" in said and f"open {tmp_path / 'tape.svg'} in a browser" in said
    drawn = (tmp_path / "tape.svg").read_text()
    assert all(f">{name}<" in drawn for name in (*network.SHAPES, "loss", "ConvolutionBackward0", "NllLossBackward0"))


def test_gradients_are_those_of_jax():
    rng = np.random.default_rng(1)
    arrays = network.initial(rng)
    pictures, labels = rng.uniform(size=(64, 1, 8, 8)).astype("f4"), rng.integers(0, 10, 64)
    p = training.parameters_on("cpu", arrays)
    loss, ours = training.gradients(p, torch.tensor(pictures), torch.tensor(labels))
    theirs = comparison.jax_gradients(arrays, pictures, labels)
    expected = network.jax_loss(*comparison.jax_arguments(arrays, pictures, labels))
    np.testing.assert_allclose(loss.item(), expected, rtol=1e-5)
    assert all(relative < 1e-4 for *_, relative in comparison.differences(ours, theirs))


def test_the_comparison_sees_a_wrong_gradient():
    right = {"conv1.bias": np.ones(3, "f4")}
    wrong = {"conv1.bias": np.array([1, 1, 1.5], "f4")}
    assert comparison.differences(wrong, right) == [("conv1.bias", 1.0, 0.5, 0.5)]


@pytest.mark.parametrize("package, module", [("scikit-learn", "sklearn.datasets"), ("tqdm", "tqdm")])
def test_a_missing_package_names_the_extra(package, module, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, module, None)
    assert run.main(["--epochs", "1"]) == 1
    assert f"the demo needs {package}, which is not installed; pip install 'tapegrad[demo]'" in capsys.readouterr().err


def test_a_device_that_is_not_there_is_refused(capsys):
    with pytest.raises(SystemExit):
        run.main(["--device", "cuda:99"])
    assert "--device" in capsys.readouterr().err


def test_batches_are_whole_and_shuffled():
    data = digits.Digits(np.arange(10.0)[:, None, None, None], np.arange(10))
    batches = list(data.batches(4, np.random.default_rng(0)))
    assert [len(batch) for batch in batches] == [4, 4]
    labels = np.concatenate([batch.labels for batch in batches])
    assert len(set(labels)) == 8
    assert labels.tolist() != sorted(labels)


@pytest.mark.once("a process of its own knows nothing of this one's execution")
def test_help_needs_nothing_but_python():
    done = subprocess.run([sys.executable, "-m", "tapegrad", "--help"], capture_output=True, text=True, check=True)
    assert "handwritten digits" in done.stdout
