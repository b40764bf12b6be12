"""Processes that compute together: who they are, and what they send one another.

Note [Processes]
``init_process_group`` has ``jax.distributed`` connect the processes; from then on each sees the devices of all. A
collective is one program of XLA's that all processes run, on a mesh that has the first device of each (``_collected``).
What is no array goes through the ``TCPStore``, so that who waits for a peer that has ended is told so in time.
"""

from __future__ import annotations

import atexit
import os
import pickle
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from enum import Enum
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from tapegrad.autograd.grad_mode import no_grad
from tapegrad.bindings.inplace import copy_
from tapegrad.distributed import keeper
from tapegrad.distributed.peers import Peers
from tapegrad.distributed.store import TCPStore, free_port
from tapegrad.distributed.tensor.dtensor import same_everywhere
from tapegrad.errors import message
from tapegrad.execution.devices import jitted
from tapegrad.execution.host import array_of
from tapegrad.execution.processes import processes
from tapegrad.interop.arrays import from_jax_array
from tapegrad.tensor.tensor import Tensor, value_of

__all__ = [
    "ReduceOp", "all_gather", "all_gather_into_tensor", "all_gather_object", "all_reduce", "all_to_all",
    "all_to_all_single", "barrier", "broadcast", "broadcast_object_list", "destroy_process_group", "get_backend",
    "get_rank", "get_world_size", "init_process_group", "is_available", "is_initialized", "reduce_scatter",
    "reduce_scatter_tensor",
]  # fmt: skip

DEFAULT_TIMEOUT = timedelta(minutes=30)


class ReduceOp(Enum):
    """How what the processes have is put together."""

    SUM = "sum"
    AVG = "mean"
    PRODUCT = "prod"
    MIN = "min"
    MAX = "max"


class _World:
    store: TCPStore | None = None
    peers: Any = None
    keeper: Any = None
    service = ""
    timeout = DEFAULT_TIMEOUT


world = _World()


def is_available() -> bool:
    """True: processes can meet."""
    return True


def is_initialized() -> bool:
    """Whether the processes have met."""
    return world.store is not None


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
    processes.begin(rank, world_size, peers.compare, peers.wait_for)
    if os.environ.get("TORCH_DISTRIBUTED_DEBUG") == "DETAIL":
        processes.every = 1
    same_everywhere[:] = [_of_first]
    atexit.register(destroy_process_group)


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
    own = {"coordinator_bind_address": f"{host}:{free_port(host)}"} if rank == 0 else {}  # that of the keeper serves
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
    """Leave the other processes."""
    if world.store is None:
        return
    store, peers, world.store, world.peers = world.store, world.peers, None, None
    processes.begin(0, 0, None, None)
    with suppress(Exception):  # a peer that has ended does not answer
        peers.leave()
    store.close()
    if world.keeper is not None:
        keeper.let_go(world.keeper)
        world.keeper = None


def _store() -> TCPStore:
    if world.store is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return world.store


def get_rank(group: Any = None) -> int:
    """Which of the processes this is."""
    _store()
    return processes.rank


def get_world_size(group: Any = None) -> int:
    """How many processes there are."""
    _store()
    return processes.count


def get_backend(group: Any = None) -> str:
    """What carries arrays: XLA."""
    _store()
    return "xla"


# Objects --------------------------------------------------------------------------------------------------------------


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Put what each process gives into the list, which is as long as there are processes."""
    object_list[:] = gathered(pickle.dumps(obj), pickle.loads)


def gathered(data: bytes, read: Callable[[bytes], Any] = bytes, timeout: timedelta | None = None) -> list[Any]:
    """What each process gives, in the order of ranks."""
    _store()
    return [read(found) for found in world.peers.gathered(data, timeout)]


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None
) -> None:
    """Put what the process ``src`` has in its list into the lists of all."""
    source = _checked_rank(src or 0)
    own = pickle.dumps(object_list) if processes.rank == source else b""
    object_list[:] = pickle.loads(gathered(own)[source])


def barrier(
    group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: timedelta | None = None
) -> None:
    """Wait until all processes are here.

    Raises:
        TimeoutError: one has not come in time.
    """
    _store()
    world.peers.gathered(b"", timeout, name="barrier", what="the others at a barrier")


def _checked_rank(rank: int) -> int:
    _store()
    if not 0 <= rank < processes.count:
        raise ValueError(message("there is no such rank", expected=f"0 to {processes.count - 1}", got=rank))
    return rank


# Arrays ---------------------------------------------------------------------------------------------------------------


@cache
def _ranks() -> Mesh:
    """A mesh of the first device of each process."""
    first: dict[int, Any] = {}
    for device in jax.devices():
        first.setdefault(device.process_index, device)
    return Mesh(np.array([first[rank] for rank in sorted(first)]), ("ranks",), axis_types=(AxisType.Auto,))


@cache
def _program(compute: Callable, settings: tuple, split: bool) -> Callable:
    out = NamedSharding(_ranks(), PartitionSpec("ranks") if split else PartitionSpec())
    name = f"{compute.__name__}{settings}"

    def collective(x: Any) -> Any:
        return compute(x, *settings)

    collective.__name__ = collective.__qualname__ = name
    return jitted(collective, out_shardings=out)


def _collected(tensor: Tensor, compute: Callable, *settings: Any, split: bool = False) -> Tensor:
    """What is computed of the stack of what each process has: all of it, or this process's row."""
    _store()
    own = array_of(value_of(tensor))
    where = NamedSharding(_ranks(), PartitionSpec("ranks"))
    with jax.enable_x64(True):
        rows = jax.make_array_from_single_device_arrays((processes.count, *own.shape), where, [own[None]])
        found = _program(compute, settings, split)(rows).addressable_shards[0].data
    return from_jax_array(found[0] if split else found)


def _stack(x: Any) -> Any:
    return x


def _reduced(x: Any, how: str) -> Any:
    return getattr(jnp, how)(x, axis=0).astype(x.dtype)


def _row(x: Any, source: int) -> Any:
    return x[source]


def _turned(x: Any) -> Any:
    return jnp.swapaxes(x, 0, 1)


def _of_first(tensor: Tensor) -> Tensor:
    return _collected(tensor, _row, 0) if processes.count > 1 else tensor


def _put(target: Tensor, value: Tensor) -> None:
    if value.shape != target.shape:
        raise RuntimeError(message("a tensor for a result has another shape", expected=tuple(value.shape),
                                   got=tuple(target.shape)))  # fmt: skip
    with no_grad():
        copy_(target, value)


def all_reduce(tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> None:
    """Put the sum (or what ``op`` says) of what all processes have into the tensor of each."""
    _put(tensor, _collected(tensor, _reduced, ReduceOp(op).value))


def all_gather(tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False) -> None:
    """Put what each process has into the tensors of the list."""
    if len(tensor_list) != get_world_size():
        raise ValueError(
            message("all_gather: one tensor for each process", expected=processes.count, got=len(tensor_list))
        )
    for target, value in zip(tensor_list, _collected(tensor, _stack), strict=True):
        _put(target, value)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> None:
    """Put what all processes have behind one another into a tensor."""
    _put(output_tensor, _collected(input_tensor, _stack).reshape(tuple(output_tensor.shape)))


def broadcast(tensor: Tensor, src: int | None = None, group: Any = None, async_op: bool = False) -> None:
    """Put what the process ``src`` has into the tensor of each."""
    _put(tensor, _collected(tensor, _row, _checked_rank(src or 0)))


def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> None:
    """Put the sum over all processes of the tensor that each has for this one into ``output``."""
    _put(output, _collected(_stacked(input_list), _reduced, ReduceOp(op).value, split=True))


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> None:
    """``reduce_scatter`` of tensors that are one, behind one another."""
    parts = input.detach().reshape(get_world_size(), *output.shape)
    _put(output, _collected(parts, _reduced, ReduceOp(op).value, split=True))


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None, async_op: bool = False
) -> None:
    """Put what each process has for this one into the tensors of the first list."""
    found = _collected(_stacked(input_tensor_list), _turned, split=True)
    for target, value in zip(output_tensor_list, found, strict=True):
        _put(target, value)


def all_to_all_single(output: Tensor, input: Tensor, *args: Any, group: Any = None, async_op: bool = False) -> None:
    """``all_to_all`` of tensors that are one, behind one another, in equal parts."""
    parts = input.detach().reshape(get_world_size(), -1)
    _put(output, _collected(parts, _turned, split=True).reshape(tuple(output.shape)))


def _stacked(tensors: Sequence[Tensor]) -> Tensor:
    if len(tensors) != get_world_size():
        raise ValueError(message("one tensor for each process", expected=processes.count, got=len(tensors)))
    with jax.enable_x64(True):
        return from_jax_array(jnp.stack([array_of(value_of(tensor)) for tensor in tensors]))
