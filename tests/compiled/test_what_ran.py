"""What Python does besides computing with tensors is done at each call, or known to be the same."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import tapegrad as torch
from tests.compiled.what_ran_programs import PROGRAMS, observed
from tests.rings import is_drawn

CASES = [name if is_drawn(name, 3) else pytest.param(name, marks=pytest.mark.ring("whole")) for name in PROGRAMS]
"""A third by default, all in the widest rings."""


@pytest.fixture(autouse=True)
def settings():
    """What programs set is taken back."""
    before, benchmark = np.get_printoptions(), torch.backends.cudnn.benchmark
    yield
    np.set_printoptions(**before)
    torch.backends.cudnn.benchmark = benchmark
    torch.use_deterministic_algorithms(False)
    torch.set_printoptions(profile="default")


@pytest.mark.once("what Python does besides is the same in both")
@pytest.mark.parametrize("name", CASES)
def test_a_compiled_step_does_what_it_does_at_once(name):
    make = PROGRAMS[name]
    assert observed(make, torch.compile) == observed(make, lambda step: step)


def leaving_python_out(step):
    """What a compiler that is wrong would do: from the third call on, what the second one gave."""
    found = []

    def call(*args):
        if len(found) < 2:
            found.append(step(*args))
        return found[-1]

    return call


@pytest.mark.once("nothing is compiled")
@pytest.mark.parametrize("name", CASES)
def test_who_leaves_python_out_is_found_out(name):
    make = PROGRAMS[name]
    assert observed(make, leaving_python_out) != observed(make, lambda step: step)


SCRIPT = """
import torch
from torch import manual_seed as seed
step = torch.compile(lambda x: (seed(3), x + torch.rand(3))[1])
first = step(torch.ones(3)).tolist()
assert all(step(torch.ones(3)).tolist() == first for _ in range(5))
assert not step.replayed and "manual_seed" in step.report(), step.report()
"""


@pytest.mark.once("it is another process")
def test_under_another_name(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "tapegrad", str(tmp_path / "script.py")]
    subprocess.run(command, check=True, capture_output=True, timeout=100)
