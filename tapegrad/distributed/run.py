"""``python -m tapegrad.distributed.run --nproc 2 train.py``: several processes of one program, on this machine.

Each finds RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT in its environment, as with ``torchrun``. When one
fails, the others are ended, and its exit status is that of the whole.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence

from tapegrad._src.absent import refusing
from tapegrad.distributed.store import free_port

__getattr__ = refusing(__name__)
GRACE = 5.0
"""The seconds that processes get to end by themselves when they are told to."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Start the processes, and wait for them."""
    parser = argparse.ArgumentParser(prog="python -m tapegrad.distributed.run", description=__doc__)
    parser.add_argument(
        "--nproc", "--nproc-per-node", "--nproc_per_node", type=int, default=1, help="how many processes"
    )
    parser.add_argument("--master-addr", "--master_addr", default="127.0.0.1", help="where they meet")
    parser.add_argument("--master-port", "--master_port", type=int, default=0, help="a free port, if none is given")
    parser.add_argument("-m", "--module", action="store_true", help="the script is the name of a module")
    parser.add_argument("script", help="what each of them runs")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="what the script is given")
    given = parser.parse_args(arguments)
    if given.nproc < 1:
        parser.error(f"--nproc must be 1 or more, not {given.nproc}")
    port = given.master_port or free_port(given.master_addr)
    command = [sys.executable, *(["-m"] if given.module else []), given.script, *given.args]
    started = [subprocess.Popen(command, env=environment(rank, given.nproc, given.master_addr, port))
               for rank in range(given.nproc)]  # fmt: skip
    try:
        return waited_for(started)
    finally:
        end(started)


def environment(rank: int, count: int, host: str, port: int) -> dict[str, str]:
    """The environment of a process."""
    own = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count, "MASTER_ADDR": host,
           "MASTER_PORT": port}  # fmt: skip
    return {**os.environ, **{name: str(value) for name, value in own.items()}}


def waited_for(started: Sequence[subprocess.Popen]) -> int:
    """The exit status: 0 when all have ended well, or that of the first that has not."""
    while True:
        codes = [process.poll() for process in started]
        failed = next((code for code in codes if code), None)
        if failed is not None:
            return failed
        if all(code == 0 for code in codes):
            return 0
        time.sleep(0.05)


def end(started: Sequence[subprocess.Popen]) -> None:
    """End what still runs."""
    for process in started:
        if process.poll() is None:
            process.terminate()
    for process in started:
        try:
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


if __name__ == "__main__":
    sys.exit(main())
