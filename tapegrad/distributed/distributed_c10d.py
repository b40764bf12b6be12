"""Processes that compute together: who they are, and what they send one another.

Note [Processes]
``init_process_group`` has ``jax.distributed`` connect the processes; from then on each sees the devices of all. A
collective is one program of XLA's that all processes run, on a mesh that has the first device of each (``collected``).
What is no array goes through the ``TCPStore``, so that who waits for a peer that has ended is told so in time.
"""

from __future__ import annotations

import atexit
import os
from contextlib import suppress
from datetime import timedelta
from typing import Any

import jax

from tapegrad._src.absent import refusing
from tapegrad._src.execution.data.devices import accelerator_type
from tapegrad._src.execution.state.processes import processes
from tapegrad.distributed import keeper
from tapegrad.distributed.collectives import *  # noqa: F403
from tapegrad.distributed.collectives import __all__ as _collectives
from tapegrad.distributed.collectives import of_first
from tapegrad.distributed.device_mesh import group_of, meet
from tapegrad.distributed.groups import *  # noqa: F403
from tapegrad.distributed.groups import DEFAULT_TIMEOUT, ProcessGroup, is_initialized, world
from tapegrad.distributed.groups import __all__ as _groups
from tapegrad.distributed.groups import _get_default_group as _get_default_group
from tapegrad.distributed.groups import _rank_not_in_group as _rank_not_in_group
from tapegrad.distributed.objects import *  # noqa: F403
from tapegrad.distributed.objects import __all__ as _objects
from tapegrad.distributed.peers import DistBackendError, DistError, DistNetworkError, DistStoreError, Peers
from tapegrad.distributed.store import TCPStore, free_port
from tapegrad.distributed.tensor.dtensor import same_everywhere
from tapegrad.errors import message

__all__ = [  # noqa: PLE0604 - lists of names
    "DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "default_pg_timeout",
    "destroy_process_group", "init_process_group", "is_available", "is_backend_available", "is_gloo_available",
    "is_mpi_available", "is_nccl_available", "is_ucc_available", "is_xccl_available", *_collectives, *_groups,
    *_objects,
]  # fmt: skip

__getattr__ = refusing(__name__)
default_pg_timeout = DEFAULT_TIMEOUT


def is_backend_available(backend: str) -> bool:
    """Tell whether arrays can be carried by it: XLA carries them, whatever a program asks for."""
    return backend.lower() in ("xla", "gloo", "nccl")


def is_gloo_available() -> bool:
    """True: programs that ask for it before they name it get XLA's."""
    return True


def is_nccl_available() -> bool:
    """Tell whether there are accelerators of CUDA, for which XLA has it."""
    return accelerator_type() == "cuda"


def is_mpi_available() -> bool:
    """False."""
    return False


def is_ucc_available() -> bool:
    """False."""
    return False


def is_xccl_available() -> bool:
    """False."""
    return False


def is_available() -> bool:
    """True: processes can meet."""
    return True


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: TCPStore | None = None,
    **unused: Any,
) -> None:
    """Meet the other processes. To be called before anything is computed.

    Args:
        backend: accepted; XLA has its own.
        init_method: ``env://`` (MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE, as ``torchrun`` sets them; the default), or
            ``tcp://HOST:PORT``.
        timeout: how long to wait for the others, here and in collectives of objects.
        world_size, rank: how many processes there are, and which one this is, if the environment doesn't say.
        store: where they meet, instead of ``init_method``.

    Raises:
        RuntimeError: they have met before.
        ValueError: something isn't said, or a rank that there is not.
    """
    if is_initialized():
        raise ValueError("trying to initialize the default process group twice!")
    wait = timeout or DEFAULT_TIMEOUT
    rank, world_size = _said("RANK", rank), _said("WORLD_SIZE", world_size)
    if not 0 <= rank < world_size:
        raise ValueError(message("there is no such rank", expected=f"0 to {world_size - 1}", got=rank))
    found = store or _met(*_meeting_place(init_method), rank, world_size, wait)
    if world_size > 1:
        found = _connected(found, rank, world_size, wait)
    peers = Peers(found, rank, world_size, wait)
    world.store, world.peers, world.timeout = found, peers, wait
    processes.begin(rank, world_size, peers)
    if os.environ.get("TORCH_DISTRIBUTED_DEBUG") == "DETAIL":
        processes.every = 1
    same_everywhere[:] = [of_first]
    atexit.register(_leave)


def _met(host: str, port: int, rank: int, world_size: int, wait: timedelta) -> TCPStore:
    """The table of entries, which a keeper has where there are several processes."""
    if world_size == 1:
        return TCPStore(host, port, is_master=True, timeout=wait)
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        port += 1  # torchrun has a table of its own there, which speaks otherwise
    if rank == 0:
        world.keeper, port, world.service = keeper.started(host, port, world_size, wait)
    return TCPStore(host, port, world_size, timeout=wait)


def _connected(store: TCPStore, rank: int, world_size: int, wait: timedelta) -> TCPStore:
    """Have jax connect the processes. A table that one of them keeps serves to find that of a keeper."""
    if rank == 0 and world.keeper is None:
        world.keeper, port, world.service = keeper.started(store.host, 0, world_size, wait)
        store.set("keeper", str(port))
    if rank == 0:
        store.set("jax", world.service)
    address = store.get("jax", wait).decode()
    seconds, host = max(1, int(wait.total_seconds())), address.rpartition(":")[0]
    own: dict[str, Any] = {}
    if rank == 0:  # jax has a service here, too, which nobody asks
        own["coordinator_bind_address"] = f"{host}:{free_port(host)}"
    jax.distributed.initialize(address, world_size, rank, initialization_timeout=seconds, **own)
    kept = store.entries("keeper")
    return TCPStore(store.host, int(kept["keeper"]), world_size, timeout=wait) if kept else store


def _said(name: str, given: int) -> int:
    if given >= 0:
        return given
    if name not in os.environ:
        raise ValueError(f"Error initializing torch.distributed using env:// rendezvous: environment variable {name} "
                         "expected, but not set")  # fmt: skip
    return int(os.environ[name])


def _meeting_place(init_method: str | None) -> tuple[str, int]:
    if init_method in (None, "env://"):
        for name in ("MASTER_ADDR", "MASTER_PORT"):
            if name not in os.environ:
                raise ValueError(f"Error initializing torch.distributed using env:// rendezvous: environment variable "
                                 f"{name} expected, but not set")  # fmt: skip
        return os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    kind, _, place = str(init_method).partition("://")
    host, _, port = place.partition(":")
    if kind != "tcp" or not port.isdigit():
        raise ValueError(message("no way to meet", expected="env:// or tcp://HOST:PORT", got=init_method))
    return host, int(port)


def destroy_process_group(group: Any = None) -> None:
    """Leave the other processes.

    Args:
        group: which; all processes by default.

    Raises:
        AssertionError: this process has joined none.
    """
    if world.store is None:
        raise AssertionError("Process group cannot be None")
    if group is not None and len(group.ranks) < processes.count:
        return  # nothing is kept for it
    store, peers, world.store = world.store, world.peers, None
    processes.begin(0, 0)
    with suppress(Exception):  # a peer that has ended does not answer
        peers.leave()
    store.close()
    if world.keeper is not None:
        keeper.let_go(world.keeper)
        world.keeper = None


def _leave() -> None:
    """Leave the other processes as the interpreter exits, unless that has been done."""
    if world.store is not None:
        destroy_process_group()


def _meet(device_type: str) -> None:
    """Meet the processes that a launcher has started, as a mesh of all of them is asked for."""
    if not is_initialized() and int(os.environ.get("WORLD_SIZE", "1")) > 1 and "MASTER_PORT" in os.environ:
        init_process_group()


meet.fill(_meet)
group_of.fill(lambda ranks: ProcessGroup(ranks, "mesh"))
