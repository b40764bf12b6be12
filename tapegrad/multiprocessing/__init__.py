"""``torch.multiprocessing``: Python's, whose processes are spawned, because JAX does not survive ``fork``.

Note [Other processes]
``Process``, ``Pool``, ``Queue``, ``Manager`` and what else Python's ``multiprocessing`` has are those of its context
``spawn``, unless a program sets another start method. What is started is told which random numbers seeds stand for.
Tensors go through pipes and queues as copies: nobody sees what another process writes, and ``is_shared()`` is False.
Arrays that several processes write to are those of ``multiprocessing.shared_memory``.

>>> import tapegrad.multiprocessing as mp
>>> mp.get_sharing_strategy()
'file_descriptor'
"""

from __future__ import annotations

import multiprocessing

from tapegrad.multiprocessing import contexts, reductions
from tapegrad.multiprocessing.spawning import (
    ProcessContext,
    ProcessException,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)
from tapegrad.multiprocessing.strategies import get_all_sharing_strategies, get_sharing_strategy, set_sharing_strategy

globals().update({name: getattr(contexts.default, name) for name in multiprocessing.__all__})

__all__ = [  # noqa: PLE0604
    *multiprocessing.__all__, "ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException",
    "SpawnContext", "get_all_sharing_strategies", "get_sharing_strategy", "reductions", "set_sharing_strategy", "spawn",
    "start_processes",
]  # fmt: skip
