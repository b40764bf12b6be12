"""Objects that processes send one another and that are no arrays: they are pickled; and tensors from one to another."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from tapegrad._src.bindings.writes.in_place import copy_
from tapegrad._src.execution.array_functions.host import to_host
from tapegrad._src.execution.state.processes import processes
from tapegrad._src.functions.construction import from_numpy
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad.autograd.grad_mode import no_grad
from tapegrad.distributed.groups import Work, member, members, the_store, work, world
from tapegrad.errors import message

__all__ = [
    "P2POp", "all_gather_object", "barrier", "batch_isend_irecv", "broadcast_object_list", "gather_object", "irecv",
    "isend", "monitored_barrier", "recv", "recv_object_list", "scatter_object_list", "send", "send_object_list",
]  # fmt: skip


def gathered(
    data: bytes, read: Callable[[bytes], Any] = bytes, timeout: timedelta | None = None, group: Any = None
) -> list[Any]:
    """The objects that the processes of a group give, in the order of ranks."""
    ranks = members(group).ranks
    return [read(found) for found in world.peers.gathered(data, timeout, ranks)]


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Put what each process gives into the list, which is as long as there are processes."""
    object_list[:] = gathered(pickle.dumps(obj), pickle.loads, group=group)


def gather_object(
    obj: Any, object_gather_list: list[Any] | None = None, dst: int | None = None, group: Any = None,
    group_dst: int | None = None,
) -> None:  # fmt: skip
    """Put what each process gives into the list of one of them."""
    given = members(group)
    target = member(dst, given, group_dst)
    _check_list(object_gather_list, given.rank() == target, "object_gather_list")
    found = gathered(pickle.dumps(obj), group=group)
    if object_gather_list is not None and given.rank() == target:
        object_gather_list[:] = map(pickle.loads, found)


def _check_list(found: Any, wanted: bool, name: str) -> None:
    if wanted and not found:
        raise ValueError(f"Argument ``{name}`` must be specified on the rank that has it.")
    if not wanted and found:
        raise ValueError(f"Argument ``{name}`` must NOT be specified on other ranks.")


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None
) -> None:
    """Put what the process ``src`` has in its list into the lists of all."""
    given = members(group)
    source = member(src, given, group_src)
    own = pickle.dumps(object_list) if given.rank() == source else b""
    object_list[:] = pickle.loads(gathered(own, group=group)[source])


def scatter_object_list(
    scatter_object_output_list: list[Any], scatter_object_input_list: list[Any] | None = None, src: int | None = None,
    group: Any = None, group_src: int | None = None,
) -> None:  # fmt: skip
    """Put the object that the process ``src`` has for this one into its list, as the first one."""
    given = members(group)
    source = member(src, given, group_src)
    if not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    own = given.rank() == source
    if own and (scatter_object_input_list is None or len(scatter_object_input_list) != given.size()):
        raise ValueError(message("scatter_object_list: one object for each process", expected=given.size(),
                                 got=len(scatter_object_input_list or ())))  # fmt: skip
    found = gathered(pickle.dumps(list(scatter_object_input_list or ())) if own else b"", group=group)
    scatter_object_output_list[0] = pickle.loads(found[source])[given.rank()]


def barrier(
    group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: timedelta | None = None
) -> Work | None:
    """Wait until all processes are here.

    Raises:
        TimeoutError: one has not come in time.
        DistBackendError: one has ended.
    """
    world_of = members(group).ranks
    world.peers.gathered(b"", timeout, world_of, name="barrier", what="the others at a barrier")
    return work(None, async_op)


def monitored_barrier(group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
    """``barrier``: it says who has not come."""
    barrier(group, timeout=timeout)


# From one to another --------------------------------------------------------------------------------------------------


def _place(source: int, target: int, tag: int) -> str:
    """The next place for what one process sends to another."""
    kept = world.peers.rounds
    name = f"sent/{source}/{target}/{tag}"
    kept[name] = kept.get(name, 0) + 1
    return f"{name}/{kept[name]}"


def _send(data: bytes, dst: int | None, group: Any, tag: int, group_dst: int | None) -> None:
    given = members(group)
    target = given.ranks[member(dst, given, group_dst)]
    if target == processes.rank:
        raise ValueError("Invalid destination rank: destination rank should not be the same as the rank of the current "
                         "process.")  # fmt: skip
    the_store().set(_place(processes.rank, target, tag), data)


def _received(src: int, tag: int) -> bytes:
    return world.peers.awaited(_place(src, processes.rank, tag), src)


def send(
    tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None
) -> None:
    """Send a tensor to one process, through the table that all share: for small things, not for gradients."""
    array = to_host(value_of(tensor.detach()))
    header = pickle.dumps((array.shape, str(tensor.dtype)))
    _send(pickle.dumps((header, array.tobytes())), dst, group, tag, group_dst)


def recv(
    tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None
) -> int:
    """Put what one process has sent into a tensor; returns its rank.

    Raises:
        ValueError: it isn't said which one.
        RuntimeError: it has sent another shape or dtype.
    """
    given = members(group)
    if src is None and group_src is None:
        raise ValueError(message("recv takes from one process that is named", hint="write recv(tensor, src=RANK)"))
    source = given.ranks[member(src, given, group_src)]
    header, data = pickle.loads(_received(source, tag))
    shape, dtype = pickle.loads(header)
    if (shape, dtype) != (tuple(tensor.shape), str(tensor.dtype)):
        raise RuntimeError(message(f"rank {source} has sent another tensor", expected=(tuple(tensor.shape), str(
            tensor.dtype)), got=(shape, dtype)))  # fmt: skip
    with no_grad():
        copy_(tensor, from_numpy(np.frombuffer(bytearray(data), tensor.dtype.numpy).reshape(shape)))
    return source


class _Receiving(Work):
    """The result of ``irecv``: the tensor is written to when somebody waits."""

    def __init__(self, receive: Callable[[], Any]) -> None:
        self._receive: Callable[[], Any] | None = receive

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Receive it."""
        receive, self._receive = self._receive, None
        if receive is not None:
            receive()
        return True

    def is_completed(self) -> bool:
        """Tell whether somebody has waited."""
        return self._receive is None


def isend(
    tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None
) -> Work:
    """``send``, which nobody waits for anyway."""
    send(tensor, dst, group, tag, group_dst)
    return Work(tensor)


def irecv(
    tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None
) -> Work:
    """``recv`` when somebody calls ``wait()`` of what it returns."""
    return _Receiving(lambda: recv(tensor, src, group, tag, group_src))


class P2POp:
    """A call of ``isend`` or ``irecv`` to be made by ``batch_isend_irecv``."""

    def __init__(
        self, op: Callable, tensor: Tensor, peer: int | None = None, group: Any = None, tag: int = 0,
        group_peer: int | None = None,
    ) -> None:  # fmt: skip
        if op not in (isend, irecv):
            raise ValueError("Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                             "``torch.distributed.irecv``.")  # fmt: skip
        self.op, self.arguments = op, (tensor, peer, group, tag, group_peer)


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Make calls of ``isend`` and ``irecv``, and return what they return."""
    return [one.op(*one.arguments) for one in p2p_op_list]


def send_object_list(
    object_list: list[Any], dst: int | None = None, group: Any = None, device: Any = None, group_dst: int | None = None,
    use_batch: bool = False,
) -> None:  # fmt: skip
    """Send objects to one process."""
    _send(pickle.dumps(object_list), dst, group, -1, group_dst)


def recv_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None,
    use_batch: bool = False,
) -> int:  # fmt: skip
    """Put the objects that one process has sent into the list; returns its rank."""
    given = members(group)
    source = given.ranks[member(src, given, group_src)]
    object_list[:] = pickle.loads(_received(source, -1))
    return source
