"""Tensors on a mesh of eight devices of one process: what one device computes, in their layouts, without needless
traffic."""

from __future__ import annotations

import ast
import os
import subprocess
import sys

import pytest

HERE = os.path.dirname(__file__)
ROOT = os.path.dirname(os.path.dirname(HERE))


def on_eight(*arguments: str, timeout: int = 300) -> list[str]:
    """The lines that a program prints in a process with eight devices."""
    # XLA's collectives wait for one another in a pool of as many threads as NPROC says
    quick = os.environ.get("XLA_FLAGS", "")  # as conftest.py says, so that little time goes into compiling
    flags = {"XLA_FLAGS": f"{quick} --xla_force_host_platform_device_count=8", "JAX_PLATFORMS": "cpu", "NPROC": "32"}
    path = os.pathsep.join([ROOT, HERE, os.environ.get("PYTHONPATH", "")])
    done = subprocess.run([sys.executable, *arguments], env={**os.environ, **flags, "PYTHONPATH": path},
                          capture_output=True, text=True, timeout=timeout, check=False)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.once("it computes each way by itself")
@pytest.mark.parametrize(
    "case",
    [
        "MLP:sharded",
        pytest.param("ConvNet:data", marks=pytest.mark.ring("full")),
        pytest.param("Block:tensor", marks=pytest.mark.ring("whole")),
        pytest.param("Block:sharded", marks=pytest.mark.ring("everything")),
        pytest.param("MLP:data", marks=pytest.mark.ring("everything")),
    ],
)
def test_trajectories_are_those_of_one_device(case):
    lines = on_eight(os.path.join(HERE, "sharded_models.py"), case)
    found = {line.split(maxsplit=1)[1].rpartition(" ")[0]: float(line.split()[-1]) for line in lines}
    assert len(found) == 3
    assert max(found.values()) < 1e-6, found


@pytest.mark.once("programs are compiled, and what they compute isn't looked at")
@pytest.mark.ring("full")
def test_no_more_travels_than_in_a_program_written_in_jax():
    """But for two numbers: the loss counts what it does not ignore, which the program in JAX does not."""
    lines = on_eight(os.path.join(HERE, "sharded_traffic.py"))
    assert len(lines) == 6
    for line in lines:
        case, (ours, size), (theirs, least) = (
            ast.literal_eval(part) if "(" in part else part for part in line.split("|")
        )
        assert ours.keys() <= theirs.keys(), case
        assert all(count <= theirs[kind] + 2 for kind, count in ours.items()), case
        assert size <= least + 8, case


@pytest.mark.once("it prints what it computes")
def test_tensors_on_a_mesh():
    assert on_eight(os.path.join(HERE, "sharded_programs.py"))[-1] == "done"
