"""Processes that are spawned where tapegrad stands in for torch.

Note [Children]
``multiprocessing`` spawns a new Python, which imports the script as a module, and what the script does first is to
import torch. So the process is told that its main module is ``main_of_process``, which installs tapegrad and then runs
the script. What a process is told is made by ``multiprocessing.spawn``, whoever starts it: loaders, pools, managers,
``torch.multiprocessing``. Which script it is stands in the environment, that the process reads once.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from multiprocessing import spawn
from typing import Any

MAIN = "TAPEGRAD_MAIN_OF_PROCESS"
"""The variable that names the script, or the module, to a process where tapegrad stands in for torch."""

_told_by_python = spawn.get_preparation_data


def _told(name: str) -> dict[str, Any]:
    """The data that Python gives a new process, but for its main module."""
    told = _told_by_python(name)
    module, path = told.pop("init_main_from_name", ""), told.pop("init_main_from_path", "")
    os.environ[MAIN] = f"module {module}" if module else f"path {path}"
    return {**told, "init_main_from_name": "tapegrad.as_torch.main_of_process"}


def tell_children() -> Callable[[], None]:
    """Let processes that are spawned have tapegrad under the name of torch, until what is given is called."""
    spawn.get_preparation_data = _told

    def end() -> None:
        spawn.get_preparation_data = _told_by_python
        os.environ.pop(MAIN, None)

    return end
