"""What is computed from tensors of the second device lies there: ``second_device.py``, a process with two devices."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("second_device.py")


def printed(execution, limit, every):
    """The lines that the program prints."""
    command = [sys.executable, str(PROGRAM), execution, str(limit), str(every)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return run.stdout.splitlines()


@pytest.mark.once("a process of its own")
def test_results_gradients_and_tangents_lie_where_the_tensors_do():
    *elsewhere, count = printed("immediate", 1, 24)
    assert elsewhere == []
    assert int(count.split()[0]) > 20


@pytest.mark.ring("everything")
@pytest.mark.once("chooses for itself")
@pytest.mark.parametrize("execution", ["immediate", "deferred"])
def test_so_does_everything_of_the_database(execution):
    *elsewhere, count = printed(execution, 2, 1)
    assert elsewhere == []
    assert int(count.split()[0]) > 1000
