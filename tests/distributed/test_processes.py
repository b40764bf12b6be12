"""Several processes that compute together, started on a free port, with a time-out, and ended."""

import os
import pickle
import socket
import struct
import subprocess
import sys
from datetime import timedelta

import pytest

from tapegrad import distributed
from tapegrad.distributed import TCPStore
from tapegrad.distributed.run import end, environment
from tapegrad.distributed.store import free_port
from tapegrad.optim import Optimizer

HERE = os.path.dirname(__file__)
ROOT = os.path.dirname(os.path.dirname(HERE))


def run(*arguments: str, nproc: int = 2, timeout: int = 240) -> subprocess.CompletedProcess:
    path = os.pathsep.join([ROOT, HERE, os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "tapegrad.distributed.run", "--nproc", str(nproc), *arguments]
    environment = {**os.environ, "PYTHONPATH": path, "JAX_PLATFORMS": "cpu"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout, check=False)


@pytest.mark.once("it computes each way by itself")
@pytest.mark.parametrize("models", [
    pytest.param("MLP", marks=pytest.mark.ring("full")),
    pytest.param("ConvNet Block", marks=pytest.mark.ring("everything")),
])  # fmt: skip
def test_two_processes_compute_what_one_does(models):
    done = run(os.path.join(HERE, "two_processes.py"), *models.split())
    assert done.returncode == 0, done.stderr
    assert "rank 0 done" in done.stdout and "rank 1 done" in done.stdout


@pytest.mark.once("nothing is computed")
def test_a_peer_that_has_ended_is_reported_in_time(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        "import sys, datetime, tapegrad.distributed as dist\n"
        "dist.init_process_group(timeout=datetime.timedelta(seconds=20))\n"
        "if dist.get_rank() == 1: sys.exit()\n"
        "try: dist.barrier()\n"
        "except dist.DistBackendError as error: print(error)\n"
    )
    done = run(str(script), timeout=120)
    assert "this process waits for the others at a barrier, but rank 1 has left" in done.stdout, done
    assert done.returncode == 0, done


@pytest.mark.once("nothing is computed")
@pytest.mark.ring("full")
def test_processes_that_part_are_told_where(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        "import datetime, tapegrad as torch, tapegrad.distributed as dist\n"
        "from tapegrad.distributed.tensor import ones, Shard\n"
        "dist.init_process_group(timeout=datetime.timedelta(seconds=20))\n"
        "mesh = dist.init_device_mesh('cpu', (2,))\n"
        "x = ones(2, 4, device_mesh=mesh, placements=[Shard(0)]).requires_grad_()\n"
        "try: (x.sin() if dist.get_rank() else x.cos()).sum().backward()\n"
        "except RuntimeError as error: print(error, flush=True)\n"
        "assert x.grad is None\n"
    )
    done = run(str(script), timeout=120)
    assert done.stdout.count("compute different programs") == 2, done
    where = f"rank 0: cos(float32[2, 4]P('dim_0',)) at {script}:6 in <module>: try: (x.sin()"
    assert done.stdout.count(where) == 2, done


PARTS = """
import datetime, os, signal, time, numpy as np, tapegrad as torch, tapegrad.distributed as dist
from tapegrad.distributed.tensor import ones, Shard
dist.init_process_group(timeout=datetime.timedelta(seconds=60))
rank, mesh = dist.get_rank(), dist.init_device_mesh('cpu', (2,))
made = lambda: ones(2, 4, device_mesh=mesh, placements=[Shard(0)]).requires_grad_()
try:
    for number in range(4):
        x = made()
        if number == 3:
            {what}
        (x * x if number % 2 else x * 2).sum().backward()
        print(rank, number, flush=True)
except (RuntimeError, TimeoutError) as error:
    print('told', rank, type(error).__name__, error, flush=True)
"""


@pytest.mark.once("nothing is computed")
@pytest.mark.parametrize(
    ("what", "who", "words"),
    [
        ("x = x * 2 if rank else x * x", "01", "different programs: they part at"),
        pytest.param("x = x * (rank + 2)", "01", "rank 1: mul(float32[2, 4]P('dim_0',), 3.0)",
                     marks=pytest.mark.ring("whole")),
        pytest.param("lazy = torch.deferred(); lazy.__enter__(); x = x * (rank + 2)", "01", "rank 1: mul(in0, 3.0)",
                     marks=pytest.mark.ring("whole")),
        pytest.param("x = torch.interop.from_jax(lambda a, c=np.arange(4.) + rank: a * c)(x)", "01",
                     "rank 1: an array written into the program: float", marks=pytest.mark.ring("whole")),
        pytest.param("x = x.lerp(x * x, torch.tensor(rank / 2))", "01", "rank 1: in2 is array(0.5, dtype=float32)",
                     marks=pytest.mark.ring("whole")),
        pytest.param("[dist.all_reduce(torch.ones(n)) for n in (2, 3, 2 + rank)]", "01", "they part at call",
                     marks=pytest.mark.ring("whole")),
        pytest.param("if rank: raise SystemExit(0)", "0", "rank 1 has left", marks=pytest.mark.ring("full")),
        pytest.param("rank and dist.barrier()", "01", "rank 1: the others at a barrier at",
                     marks=pytest.mark.ring("everything")),
        pytest.param("rank or os.kill(os.getpid(), signal.SIGKILL)", "1", "rank 0 has ended",
                     marks=pytest.mark.ring("whole")),
        pytest.param("time.sleep(9) if rank else dist.barrier(timeout=datetime.timedelta(seconds=2))", "01",
                     "wait timeout after 2 s for the others at a barrier: a process has ended, is stuck",
                     marks=pytest.mark.ring("whole")),
    ],
)  # fmt: skip
def test_who_waits_in_vain_is_told_why(tmp_path, what, who, words):
    """Nobody hangs, and nobody is ended by what others do."""
    script = tmp_path / "train.py"
    script.write_text(PARTS.replace("{what}", what))
    port = free_port("127.0.0.1")
    path = os.pathsep.join([ROOT, os.environ.get("PYTHONPATH", "")])
    started = [
        subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True,
                         env={**environment(rank, 2, "127.0.0.1", port), "JAX_PLATFORMS": "cpu", "PYTHONPATH": path})
        for rank in range(2)
    ]  # fmt: skip
    try:
        said = [process.communicate(timeout=120)[0] for process in started]
    finally:
        end(started)
    assert [str(rank) for rank in range(2) if f"told {rank}" in said[rank]] == [*who], said
    assert all(started[int(rank)].returncode == 0 for rank in who), said
    assert any(words in text for text in said), said


@pytest.mark.once("it computes in processes of its own")
@pytest.mark.ring("full")
def test_groups_and_collectives_of_three():
    done = run(os.path.join(HERE, "three_processes.py"), nproc=3)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("ok") == 3, done


@pytest.mark.once("nothing is computed")
def test_who_reaches_the_port_can_make_nothing_but_entries():
    store = TCPStore("127.0.0.1", 0, is_master=True, timeout=timedelta(seconds=5))
    for said in (pickle.dumps(("set", "key", b"x", 0.0)), b'["set"]', b'{"bytes": "?"}', b"\xff" * 100):
        with socket.create_connection(("127.0.0.1", store.port), timeout=5) as stranger:
            stranger.sendall(struct.pack("!Q", len(said)) + said)
            assert stranger.recv(1) == b""  # it hangs up
    with socket.create_connection(("127.0.0.1", store.port), timeout=5) as stranger:
        stranger.sendall(struct.pack("!Q", 1 << 62))
        assert stranger.recv(1) == b""
    store.set("bytes", bytes(range(256)))
    assert store.get("bytes") == bytes(range(256)) and store.add("count", 2) == 2
    store.close()


@pytest.mark.once("nothing is computed")
def test_names_that_packages_ask_for_when_they_are_imported():
    assert (distributed.Backend.NCCL, distributed.Backend("GLOO")) == ("nccl", "gloo")
    assert issubclass(TCPStore, distributed.Store)
    assert distributed.group.WORLD is distributed.GroupMember.WORLD is None
    with pytest.raises(ValueError, match="must be string-ish"):
        distributed.Backend(3)
    assert distributed.rpc.is_available() is False
    assert issubclass(distributed.optim.ZeroRedundancyOptimizer, Optimizer)
    for module, name in ((distributed, "FileStore"), (distributed.rpc, "init_rpc")):
        with pytest.raises(NotImplementedError, match=rf"{name} is not in tapegrad \(yet\): .{{20,}}"):
            getattr(module, name)()
