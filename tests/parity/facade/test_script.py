"""``python -m tapegrad SCRIPT`` and ``tapegrad.install()``: a program written for PyTorch, unchanged."""

import os
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

import tapegrad
from tapegrad._src.script import command as command_line
from tapegrad._src.script.command import showing_its_own_lines
from tapegrad._src.script.comparing import parting, table
from tapegrad.as_torch import Installed, Stand

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
    assert error.count('  File "') == 1 and f'File "{script}", line 2, in <module>' in error
    _, error = said("-m", "tapegrad", tmp_path / "none.py", status=2)
    assert "there is no file" in error


def raised_by(program):
    """What an ``excepthook`` is given for a program, as lines."""
    shown = []
    show = showing_its_own_lines(lambda kind, error, tb: shown.extend(traceback.format_exception(kind, error, tb)))
    try:
        exec(compile(program, "train.py", "exec"), {"torch": tapegrad})
    except Exception as error:
        show(type(error), error, error.__traceback__.tb_next)
    return "".join(shown)


def test_a_traceback_has_no_lines_of_ours():
    shown = raised_by("try: 1 / 0\nexcept ZeroDivisionError:\n  torch.ones(2) @ torch.ones(3)")
    assert shown.count("Traceback") == 2 and shown.count('  File "') == shown.count("train.py") == 2
    assert "KeyError" not in shown and "ZeroDivisionError" in shown
    module = "layer = torch.nn.Linear(2, 3)\ndef run(x): return layer(x)\nrun(torch.ones(3))"
    assert raised_by(module).count('  File "') == 2


CHILDREN = """
import multiprocessing
import torch
import torch.multiprocessing as mp

def rolled(i, queue):
    torch.manual_seed(i)
    queue.put((i, torch.rand(1).item(), torch.__version__ >= (2, 9)))

def doubled(x):
    return (2 * x).sum().item()

def fails(i):
    raise ValueError(f"no {i}")

if __name__ == "__main__":
    queue = mp.SimpleQueue()
    mp.spawn(rolled, args=(queue,), nprocs=2)
    print(sorted([queue.get(), queue.get()]))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(doubled, [torch.ones(3), torch.zeros(2)]))
    try:
        mp.spawn(fails, nprocs=1)
    except mp.ProcessRaisedException as error:
        print(str(error).splitlines()[-1], error.error_index)
    try:
        queue.put(torch.ones(2, requires_grad=True) * 2)
    except RuntimeError as error:
        print(error)
"""


@pytest.mark.ring("full")
def test_processes_of_a_script_have_the_name_too(tmp_path):
    script = tmp_path / "children.py"
    script.write_text(CHILDREN.replace("mp.SimpleQueue()", "mp.get_context('spawn').SimpleQueue()"))
    expected, _ = said(script)
    got, _ = said("-m", "tapegrad", "--random", "pytorch", script)
    assert got == expected and got.count("\n") == 4


def test_a_module_is_run_as_python_would(tmp_path):
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "__init__.py").write_text("")
    (tmp_path / "train" / "other.py").write_text("import torch\nkind = torch.Tensor\n")
    (tmp_path / "train" / "main.py").write_text(
        "import sys, torch\nfrom .other import kind\nprint(__name__, sys.argv[1:], kind, torch.torch is torch)\n"
    )
    command = [sys.executable, "-m", "tapegrad", "-m", "train.main", "--epochs", "3"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=here())
    assert done.stdout == "__main__ ['--epochs', '3'] <class 'torch.Tensor'> True\n", done.stderr
    with pytest.raises(SystemExit, match="2"):
        command_line.main(["--compare", "--random", "jax", "-m", "train.main"])


def here():
    """An environment in which another folder's programs find tapegrad."""
    return {**os.environ, "PYTHONPATH": str(Path(tapegrad.__file__).parent.parent)}


PACKAGE = """
import torch, tapegrad
from torch.nn import functional as F
import torch.autograd.functional
from torch.utils.checkpoint import checkpoint

assert F is tapegrad.nn.functional and torch.autograd is tapegrad.autograd and torch.Tensor is tapegrad.Tensor
assert repr(torch.Tensor) == "<class 'torch.Tensor'>" and torch.__version__ >= "2.9"
tied = torch.arange(6.0).reshape(2, 3)
from safetensors.torch import load, save, save_file, load_file
assert torch.equal(load(save({"x": tied[1:], "y": torch.ones(2).bfloat16()}))["x"], tied[1:])
torch.mine = 3
assert tapegrad.mine == 3
del torch.mine
assert not hasattr(tapegrad, "mine") and "ones" in dir(torch)
assert tuple(map(int, torch.__version__.split("+")[0].split("."))) >= (2, 0)
for name in ("torch.package", "torch.no_such_module"):
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
        "assert tapegrad.Tensor.__module__.startswith('tapegrad')\n"
        "assert not any(name.split('.')[0] == 'torch' for name in sys.modules)\n"
        "import torch\nassert torch.Tensor is not tapegrad.Tensor\n"
        "try: tapegrad.install()\nexcept RuntimeError as error: print(error)\n"
    )
    got, _ = said("-c", program)
    first, second, again, late = got.splitlines()
    assert first.startswith("No module named 'torch.package': tapegrad, which stands in for torch here, has none")
    assert second.startswith("No module named 'torch.no_such_module'")
    assert again.startswith("tapegrad stands in for torch already")
    assert late.startswith("torch was imported before tapegrad.install()")


PATCHES = """
import pytest, torch
from unittest.mock import patch

first = torch.randn
for _ in range(2):
    with pytest.MonkeyPatch.context() as outer:
        outer.setattr(torch, "randn", torch.ones)
        with patch("torch.randn", torch.zeros), pytest.MonkeyPatch.context() as inner:
            print(torch.randn is torch.zeros)
            inner.setattr("torch.randn", 3)
            print(torch.randn)
        print(torch.randn is torch.ones)
    print(torch.randn is first)
torch.own = 1
torch.own = 2
with patch("torch.own", 3):
    print(torch.own)
print(torch.own)
with patch("torch.another", 4, create=True):
    print(torch.another)
print(hasattr(torch, "another"))
"""


def test_patches_of_tests_end_as_on_pytorch():
    ours, _ = said("-c", f"import tapegrad\nwith tapegrad.install():\n    exec({PATCHES!r})\n")
    assert ours == said("-c", PATCHES)[0]


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
