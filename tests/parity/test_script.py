"""``python -m tapegrad SCRIPT`` and ``tapegrad.install()``: a program written for PyTorch, unchanged."""

import subprocess
import sys

import pytest

import tapegrad
from tapegrad.as_torch import Installed, Stand
from tapegrad.script.comparing import parting, table

pytestmark = [pytest.mark.parity, pytest.mark.once("runs programs of its own")]

TRAIN = """
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, autograd
from torch.optim.lr_scheduler import StepLR
import helper  # beside the script

assert __name__ == "__main__" and isinstance(torch.ones(1), Tensor) and helper.one.item() == 1
torch.manual_seed(int(sys.argv[1]))
weight = torch.randn(3, 4, requires_grad=True)
layer = torch.nn.Linear(3, 4)
optimizer = torch.optim.Adam([weight], lr=0.05)
schedule = StepLR(optimizer, 10)
x, y = torch.rand(20, 3), torch.randint(0, 4, (20,))
for step in range(12):
    optimizer.zero_grad()
    loss = F.cross_entropy(layer(x) + x @ weight, y)
    loss.backward()
    optimizer.step()
    schedule.step()
print(f"{loss.item():.5f} by {torch.__version__} {' '.join(sys.argv)}")
"""


@pytest.fixture
def script(tmp_path):
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "helper.py").write_text("import torch\none = torch.ones(())\n")
    return tmp_path / "train.py"


def said(*command, status=0):
    done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    return done.stdout, done.stderr


def test_a_script_runs_unchanged_and_as_on_pytorch(script):
    expected, _ = said(script, 3)
    got, _ = said("-m", "tapegrad", "--random", "pytorch", script, 3)
    loss, by, version, *argv = got.split()
    assert [loss, by] == expected.split()[:2] and version == f"2.13.0+tapegrad.{tapegrad.__version__}"
    assert argv == [str(script), "3"]


@pytest.mark.ring("full")
def test_both_curves_are_compared(script):
    got, _ = said("-m", "tapegrad", "--compare", script, 3)
    assert "They agree in all 12 steps" in got and "step       PyTorch      tapegrad" in got


@pytest.mark.ring("full")
def test_deferred_and_profiled(script):
    got, _ = said("-m", "tapegrad", "--execution", "deferred", "--profile", script, 3)
    assert "by 2.13.0" in got and "Self CPU" in got


def test_a_script_that_fails_fails_here(tmp_path):
    script = tmp_path / "fails.py"
    script.write_text("import torch\ntorch.onnx_of_tomorrow\n")
    _, error = said("-m", "tapegrad", script, status=1)
    assert error.endswith("AttributeError: module 'tapegrad' has no attribute 'onnx_of_tomorrow'\n")
    _, error = said("-m", "tapegrad", tmp_path / "none.py", status=2)
    assert "there is no file" in error


PACKAGE = """
import torch, tapegrad
from torch.nn import functional as F
import torch.autograd.functional
from torch.utils.checkpoint import checkpoint

assert F is tapegrad.nn.functional and torch.autograd is tapegrad.autograd and torch.Tensor is tapegrad.Tensor
torch.mine = 3
assert tapegrad.mine == 3
del torch.mine
assert not hasattr(tapegrad, "mine") and "ones" in dir(torch)
assert tuple(map(int, torch.__version__.split("+")[0].split("."))) >= (2, 0)
for name in ("torch.onnx", "torch.no_such_module"):
    try:
        __import__(name)
    except ModuleNotFoundError as error:
        print(error)
"""


def test_the_name_torch_is_tapegrad_inside_and_not_afterwards():
    program = (
        "import sys, tapegrad\n"
        f"with tapegrad.install():\n    exec({PACKAGE!r})\n"
        "    try: tapegrad.install()\n    except RuntimeError as error: print(error)\n"
        "assert not any(name.split('.')[0] == 'torch' for name in sys.modules)\n"
        "import torch\nassert torch.Tensor is not tapegrad.Tensor\n"
        "try: tapegrad.install()\nexcept RuntimeError as error: print(error)\n"
    )
    got, _ = said("-c", program)
    first, second, again, late = got.splitlines()
    assert first.startswith("No module named 'torch.onnx': tapegrad, which stands in for torch here, has none")
    assert second.startswith("No module named 'torch.no_such_module'")
    assert again.startswith("tapegrad stands in for torch already")
    assert late.startswith("torch was imported before tapegrad.install()")


def test_what_install_gives():
    assert Stand.__version__.startswith("2.13.0+") and hasattr(Installed, "remove")


@pytest.mark.parametrize(
    ("theirs", "mine", "parts", "last"),
    [
        ([1.0], [1.0], None, "They agree in all 1 steps; the greatest distance is 0."),
        ([1.0] * 40, [1.0] * 20 + [2.0] * 20, 20, "They part at step 20."),
        ([1.0, 2.0], [1.0], 1, "They agree in 1 steps, but PyTorch made 2 and tapegrad 1."),
        ([float("nan")], [float("nan")], None, "They agree in all 1 steps; the greatest distance is 0."),
        ([], [], None, "backward() was called on no number by both programs, so there is nothing to compare."),
    ],
)
def test_tables(theirs, mine, parts, last):
    assert parting(theirs, mine) == parts
    assert table(theirs, mine)[-1] == last
