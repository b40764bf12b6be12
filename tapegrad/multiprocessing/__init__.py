"""``torch.multiprocessing``: Python's ``multiprocessing``, whose processes are spawned, and ``spawn``.

Tensors that are sent are copied. Where tapegrad stands in for torch it does so in processes that are started here, too:
Note [What workers are told], ``utils/data/spawning.py``.
"""

from multiprocessing import *  # noqa: F403
from multiprocessing import __all__ as _names

from tapegrad.multiprocessing.spawn import (
    Process,
    ProcessContext,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = [  # noqa: PLE0604 - a list of names
    "Process", "ProcessContext", "ProcessExitedException", "ProcessRaisedException", "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy", "set_sharing_strategy", "spawn", "start_processes", *_names,
]  # fmt: skip


def get_all_sharing_strategies() -> set[str]:
    """How tensors may be sent."""
    return {"file_system", "file_descriptor"}


def get_sharing_strategy() -> str:
    """How tensors are sent: they are copied."""
    return "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Accepted: tensors are copied."""
    assert new_strategy in get_all_sharing_strategies()
