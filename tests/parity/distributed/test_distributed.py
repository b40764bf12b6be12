"""A program for two processes does what it does on PyTorch: data parallel, parameters in parts, matrices in parts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from transcripts import same_transcript

from tapegrad.distributed.store import free_port

PROGRAM = str(Path(__file__).parent / "distributed_program.py")
ROOT = str(Path(__file__).parents[3])
PYTORCH_ABORTS = "terminate called without an active exception"
"""What PyTorch's processes say now and then on a busy machine, when a thread of theirs is still there."""


def told(folder, *command, tries=1):
    """What two processes tell, one after the other; PyTorch's may try again."""
    folder.mkdir(exist_ok=True)
    path = os.pathsep.join([ROOT, os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-m", *command, PROGRAM, str(folder)], env=environment, capture_output=True,
                          text=True, timeout=240, check=False)  # fmt: skip
    if tries > 1 and done.stderr.startswith(PYTORCH_ABORTS):
        (folder / "told").unlink(missing_ok=True)
        return told(folder, *command, tries=tries - 1)
    assert done.returncode == 0, done.stderr
    return sorted((line.split() for line in (folder / "told").read_text().splitlines()), key=lambda line: line[:2])


@pytest.mark.once("it computes in processes of its own")
@pytest.mark.ring("everything")
def test_a_program_for_two_processes(tmp_path):
    launcher = ("torch.distributed.run", "--nproc-per-node", "2", "--master-port", str(free_port("127.0.0.1")))
    theirs = told(tmp_path / "theirs", *launcher, tries=3)
    ours = told(tmp_path / "ours", "tapegrad.distributed.run", "--nproc", "2", "-m", "tapegrad", "--random", "pytorch")
    assert len(ours) == 2 * (2 + 3 + 1 + 3) + 1
    assert [line[:2] for line in ours] == [line[:2] for line in theirs]
    assert [float(line[2]) for line in ours] == pytest.approx([float(line[2]) for line in theirs], abs=2e-4)


ALONE = """
torch.distributed.is_available(), torch.distributed.is_initialized()
torch.distributed.get_rank()
torch.distributed.get_world_size()
torch.distributed.barrier()
torch.distributed.all_reduce(torch.ones(2))
torch.distributed.all_reduce(2.0)
torch.distributed.destroy_process_group()
"""


@pytest.mark.once("nothing is computed")
@pytest.mark.parametrize("line", ALONE.strip().splitlines())
def test_without_a_group(line):
    same_transcript(f"import importlib; importlib.import_module(torch.__name__ + '.distributed'); {line}")


OF_ONE = """
import os, sys
from importlib import import_module
torch = import_module(sys.argv[1])
group = import_module(f"{sys.argv[1]}.distributed")
group.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{sys.argv[2]}", rank=0, world_size=1)
module = torch.nn.Linear(2, 1)
with torch.no_grad():
    module.weight.fill_(0.5), module.bias.fill_(1.0)
parallel = torch.nn.parallel.DistributedDataParallel(module)
optimizer = torch.optim.SGD(parallel.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    loss = (parallel(torch.tensor([[1.0, 2.0]])) ** 2).sum()
    loss.backward()
    optimizer.step()
    print(float(loss.detach()))
with parallel.no_sync():
    parallel(torch.ones(1, 2)).sum().backward()
print([p.grad.tolist() for p in parallel.parameters()], sorted(parallel.state_dict()), parallel.module is module)
sys.stdout.flush()
os._exit(0)
"""


@pytest.mark.once("it computes in processes of its own")
def test_a_process_alone():
    path = os.pathsep.join([ROOT, os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": path, "XLA_FLAGS": ""}
    said = []
    for name in ("torch", "tapegrad"):
        command = [sys.executable, "-W", "ignore", "-c", OF_ONE, name, str(free_port("127.0.0.1"))]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=True)
        said.append(done.stdout)
    assert said[0] == said[1] != ""
