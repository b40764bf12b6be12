"""A process beside the first one, which keeps what must outlive it: the table of entries, and jax's service.

When the process ends in which jax's service is, jax ends all others. So it is in none that computes. Rank 0 starts this
one, by ``started``; it ends by itself when the first process has ended and no other is connected any more.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from datetime import timedelta

import jax

from tapegrad.distributed.store import TCPStore, free_port
from tapegrad.errors import message

FOR_EVER = 10**7
"""Seconds."""

STARTS = 60.0
"""Seconds that it may take to start, on a machine that is busy."""

NOWHERE = "127.0.0.1:1"
"""An address at which nobody answers: this process is no client of the service that it has."""


def started(host: str, port: int, count: int, timeout: timedelta) -> tuple[subprocess.Popen, int, str]:
    """Start a keeper.

    Args:
        host, port: where the table of entries is to be; port 0 lets it choose one.
        count: how many processes there are.
        timeout: how long to wait for it.

    Returns:
        the process, the port of the table, the address of jax's service.

    Raises:
        RuntimeError: it could not start.
    """
    keeper = subprocess.Popen(
        [sys.executable, "-m", "tapegrad.distributed.keeper", host, str(port), str(count)], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
        env={**os.environ, "JAX_PLATFORMS": "cpu", "JAX_ENABLE_RECOVERABILITY": "1"},
    )  # fmt: skip
    alarm = threading.Timer(max(timeout.total_seconds(), STARTS), keeper.kill)
    alarm.start()
    try:
        said = json.loads(keeper.stdout.readline() or "null")  # type: ignore[union-attr]
    finally:
        alarm.cancel()
    if said is None or "error" in said:
        let_go(keeper)
        raise RuntimeError(message(f"the processes can't meet at {host}:{port}", expected="a free port",
                                   got=(said or {}).get("error", "a keeper that does not start")))  # fmt: skip
    return keeper, said["store"], said["jax"]


def let_go(keeper: subprocess.Popen) -> None:
    """Let a keeper end, when nobody needs it any more."""
    for pipe in (keeper.stdin, keeper.stdout):
        if pipe is not None:
            pipe.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        keeper.wait(1.0)


def main(host: str, port: int, count: int) -> None:
    """Keep the table and the service, until nobody is there any more."""
    try:
        store = TCPStore(host, port, count, is_master=True)
        address = f"{host}:{free_port(host)}"
    except OSError as error:
        print(json.dumps({"error": str(error)}), flush=True)
        return
    options = {"coordinator_bind_address": address, "initialization_timeout": FOR_EVER}
    threading.Thread(target=jax.distributed.initialize, args=(NOWHERE, count, 0), kwargs=options, daemon=True).start()
    print(json.dumps({"store": store.port, "jax": address}), flush=True)
    sys.stdin.read()
    store.wait_until_deserted()
    os._exit(0)  # jax's service would wait for its clients


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
