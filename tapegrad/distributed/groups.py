"""Groups of processes, and what is known of all of them: see Note [Processes] in ``distributed_c10d.py``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, ClassVar

from tapegrad._src.execution.state.processes import processes
from tapegrad.distributed.peers import Peers
from tapegrad.distributed.store import TCPStore
from tapegrad.errors import message

__all__ = [
    "Backend", "GroupMember", "ProcessGroup", "Work", "get_backend", "get_global_rank", "get_group_rank",
    "get_node_local_rank", "get_process_group_ranks", "get_rank", "get_world_size", "group", "is_initialized",
    "is_torchelastic_launched", "new_group", "new_subgroups_by_enumeration",
]  # fmt: skip

DEFAULT_TIMEOUT = timedelta(minutes=30)


class _World:
    """The processes that this process has met, and its groups."""

    store: TCPStore | None = None
    peers: Peers
    keeper: Any = None
    service = ""
    timeout = DEFAULT_TIMEOUT
    groups = 0


world = _World()


class ProcessGroup:
    """Some of the processes.

    Args:
        ranks: which, in the order in which the group counts them.
        name: what it is called.
    """

    def __init__(self, ranks: Sequence[int], name: str) -> None:
        self.ranks, self.group_name = tuple(ranks), name

    def rank(self) -> int:
        """Which of the group this process is; -1 if it is none."""
        return self.ranks.index(processes.rank) if processes.rank in self.ranks else -1

    def size(self) -> int:
        """The number of processes."""
        return len(self.ranks)

    def name(self) -> str:
        """The name of the carrier of arrays."""
        return "xla"

    def __repr__(self) -> str:
        return f"ProcessGroup({list(self.ranks)})"


class Backend(str):
    """The carrier of arrays, by name; that is XLA, whatever a program asks for (``is_backend_available``).

    ``Backend(name)`` is the name as it is written here, a string.

    Raises:
        ValueError: it is no string.

    >>> Backend("NCCL"), Backend.GLOO
    ('nccl', 'gloo')
    """

    UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL, FAKE = "undefined", "gloo", "nccl", "ucc", "mpi", "xccl", "fake"
    XLA = "xla"
    default_device_backend_map: ClassVar = {"cpu": GLOO, "cuda": NCCL, "xpu": XCCL, "mps": GLOO, "hpu": FAKE}
    backend_list = (UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE, XLA)

    def __new__(cls, name: str) -> str:  # type: ignore[misc]
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return name.lower()


class _HasWorld(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        """All processes; None before they have met."""
        return everybody() if is_initialized() else None


class group(metaclass=_HasWorld):
    """``group.WORLD`` is the group of all processes."""


class GroupMember(metaclass=_HasWorld):
    """``GroupMember.NON_GROUP_MEMBER`` is what ``new_group`` gives to a process that is none of the group."""

    NON_GROUP_MEMBER = -100


class Work:
    """The result of a call with ``async_op=True``. XLA computes by itself; whoever reads a result waits for it."""

    def __init__(self, result: Any = None) -> None:
        self._result = result

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until it is done: it is, or XLA sees to it."""
        return True

    def is_completed(self) -> bool:
        """Tell whether it is done."""
        return True

    def is_success(self) -> bool:
        """Tell whether it went well: what did not has raised."""
        return True

    def synchronize(self) -> None:
        """Wait until it is done."""

    def exception(self) -> None:
        """The error: none, else the call would have raised."""

    def result(self) -> Any:
        """The tensors that were written to."""
        return self._result


def work(result: Any, async_op: bool) -> Work | None:
    """The result of a collective."""
    return Work(result) if async_op else None


def the_store() -> TCPStore:
    """The store that the processes share. Raises ValueError: they have not met."""
    if world.store is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return world.store


def everybody() -> ProcessGroup:
    """All processes."""
    the_store()
    return ProcessGroup(range(processes.count), "0")


_get_default_group = everybody


def members(group: Any) -> ProcessGroup:
    """A group that this process is in; by default that of all.
    Raises ValueError: this process is not in it. TypeError: it is no group.
    """
    if group is None:
        return everybody()
    if not isinstance(group, ProcessGroup):
        if group == GroupMember.NON_GROUP_MEMBER:
            raise ValueError("Invalid process group specified: this process is not in it; ask get_rank() before")
        raise TypeError(message("no process group", expected="what new_group returned", got=type(group).__name__))
    the_store()
    if processes.rank not in group.ranks:
        raise ValueError(message("this process is not in the group", expected=f"one of {list(group.ranks)}",
                                 got=processes.rank))  # fmt: skip
    return group


def member(rank: int | None, group: ProcessGroup, group_rank: int | None = None) -> int:
    """Which of a group a process is.

    Args:
        rank: its number among all processes; the first of the group by default.
        group: the group.
        group_rank: its number in the group, instead.

    Raises:
        ValueError: both are given, or there is none such.
    """
    if rank is not None and group_rank is not None:
        raise ValueError("Can't specify both group_src and src" if group_rank is not None else "")
    if group_rank is not None:
        rank = group.ranks[group_rank] if 0 <= group_rank < group.size() else -1
    rank = group.ranks[0] if rank is None else rank
    if rank not in group.ranks:
        expected = f"0 to {processes.count - 1}" if group.size() == processes.count else f"one of {list(group.ranks)}"
        raise ValueError(message("there is no such rank", expected=expected, got=rank))
    return group.ranks.index(rank)


def is_initialized() -> bool:
    """Tell whether the processes have met."""
    return world.store is not None


def _rank_not_in_group(group: Any) -> bool:
    """Tell whether this process is none of a group's; ignite asks for it."""
    return group is not None and group == GroupMember.NON_GROUP_MEMBER


def get_rank(group: Any = None) -> int:
    """Which of the processes this is; in a group, which of its: -1 if it is none."""
    the_store()
    if _rank_not_in_group(group):
        return -1
    return processes.rank if group is None else group.rank()


def get_world_size(group: Any = None) -> int:
    """Count the processes, or those of a group: -1 if this process is not in it."""
    the_store()
    if _rank_not_in_group(group):
        return -1
    return processes.count if group is None else group.size()


def get_backend(group: Any = None) -> str:
    """Give the name of the carrier of arrays: XLA."""
    the_store()
    return "xla"


def new_group(
    ranks: Sequence[int] | None = None, timeout: timedelta | None = None, backend: str | None = None, **unused: Any
) -> Any:
    """A group of some of the processes. All processes call it, in the same order.

    Args:
        ranks: which; all by default.
        timeout, backend: accepted.

    Returns:
        the group; ``GroupMember.NON_GROUP_MEMBER`` in a process that is not in it.

    Raises:
        ValueError: there is no such rank, or one comes twice.
    """
    given = list(range(get_world_size())) if ranks is None else list(ranks)
    unknown = [rank for rank in given if not 0 <= rank < processes.count]
    if unknown or len({*given}) < len(given):
        raise ValueError(message("a group is of different ranks that there are", expected=f"0 to {processes.count - 1}",
                                 got=given))  # fmt: skip
    world.groups += 1
    found = ProcessGroup(sorted(given), str(world.groups))
    return found if processes.rank in given else GroupMember.NON_GROUP_MEMBER


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]], timeout: timedelta | None = None, backend: str | None = None,
    **unused: Any,
) -> tuple[Any, list[Any]]:  # fmt: skip
    """Groups of which each process is in one at most. All processes call it, in the same order.

    Args:
        ranks_per_subgroup_list: the ranks of each.
        timeout, backend: accepted.

    Returns:
        the group that this process is in, or None; and all of them.

    Raises:
        ValueError: there are none, a rank comes twice, or there is no such rank.
    """
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    given = [rank for ranks in ranks_per_subgroup_list for rank in ranks]
    twice = next((rank for rank in given if given.count(rank) > 1), None)
    if twice is not None:
        raise ValueError(f"Rank {twice} has appeared in more than one subgroup")
    groups = [new_group(ranks) for ranks in ranks_per_subgroup_list]
    return next((one for one in groups if isinstance(one, ProcessGroup)), None), groups


def get_process_group_ranks(group: Any) -> list[int]:
    """The ranks of a group."""
    return list((everybody() if group is None else group).ranks)


def get_group_rank(group: Any, global_rank: int) -> int:
    """Which of a group a process is."""
    return member(global_rank, group)


def get_global_rank(group: Any, group_rank: int) -> int:
    """Which of all processes one of a group is."""
    return group.ranks[member(None, group, group_rank)]


def is_torchelastic_launched() -> bool:
    """Tell whether ``torchrun`` has started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """Which of the processes on this machine this is.

    Raises:
        RuntimeError: the environment does not say.
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError("LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow "
                       "`get_node_local_rank` to work, assuming you are not running in a multi-device context and want "
                       "the code to run locally instead.")  # fmt: skip
