"""Processes that were forked: XLA's threads are not in them.

Note [Forks]
A fork has the memory of its parent, and of its threads only the one that forked. If the parent has computed, XLA
believes to have threads, and waits for them, mostly for ever. So what is computed in such a process is refused. That
costs nothing elsewhere: the modes of a forked process are others (``Modes.forked``), for which there are no plans, and
in which kernels are not called at once. Numbers that were there before the fork can be read, and other programs than
tapegrad's are not concerned. What is forked before anything was computed has an XLA of its own.
"""

from __future__ import annotations

import os

from tapegrad._src.execution.data.devices import only_device
from tapegrad._src.tape.modes import set_default_modes, thread
from tapegrad.errors import message


def refuse_forked() -> None:
    """Refuse to compute in a process that was forked by one that had computed.

    Raises:
        RuntimeError: this is such a process.
    """
    if thread.modes.forked:
        raise RuntimeError(
            message(
                "tapegrad can't compute in a process that was forked after its parent had computed: XLA's threads are "
                "not in it, and what waits for them would never end",
                hint="start processes by spawn, as with multiprocessing.get_context('spawn'), or fork before the first "
                "tensor is made",
            )
        )


def _after_fork() -> None:
    if only_device.cache_info().currsize:  # so XLA has been started
        thread.modes = thread.modes.replace(forked=True)
        set_default_modes(forked=True)


os.register_at_fork(after_in_child=_after_fork)
