"""Kernels and programs that are kept on disk, so that the next process finds them compiled.

The cache is JAX's own, by its public configuration, and keyed by the program, the devices and the versions of JAX and
XLA: what changed is compiled again. It is the one thing in which tapegrad changes the configuration of the process, and
only when it is asked to; functions of JAX that are jitted in this process are kept too.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import jax
from jax.experimental.compilation_cache import compilation_cache

ALL_OF_IT = {
    "jax_enable_compilation_cache": True,
    "jax_persistent_cache_min_compile_time_secs": 0.0,
    "jax_persistent_cache_min_entry_size_bytes": -1,
}
"""What makes JAX keep everything; by default it leaves out what compiles within a second, as single kernels do."""

_before: dict[str, Any] = {}  # what JAX was configured to do before we were asked


def persistent_cache(directory: str | os.PathLike | None = None, *, enabled: bool = True) -> Path:
    """Keep what is compiled from here on in a directory, and take from there what another process has compiled.

    All is kept, however small and fast to compile, but for kernels that call back into Python (``linalg.ldl_factor``).
    Tracing is done by each process anew. Nothing is ever removed: delete the directory to be rid of it.

    Any number of processes and threads may share it. JAX writes its files in place: who reads one that is half written,
    or that a process has left so when it was killed, gets a ``UserWarning`` of JAX and compiles what it holds anew.

    Args:
        directory: made if it isn't there; by default ``tapegrad`` where the platform has its caches
            (``$XDG_CACHE_HOME`` or ``~/.cache``; ``~/Library/Caches``; ``%LOCALAPPDATA%``).
        enabled: False goes back to what the process did before the first call.

    Returns:
        The directory.

    Raises:
        OSError: the directory can't be made.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     persistent_cache(place) == Path(place), persistent_cache(enabled=False).name
    (True, 'tapegrad')
    """
    place = Path(directory) if directory is not None else platform_caches() / "tapegrad"
    if enabled:
        place.mkdir(parents=True, exist_ok=True)
        settings = {**ALL_OF_IT, "jax_compilation_cache_dir": str(place)}
        for name in settings:
            _before.setdefault(name, getattr(jax.config, name))
    else:
        settings = dict(_before)
        _before.clear()
    for name, value in settings.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()  # who has compiled before has settled on the cache that there was, or on none
    return place


def platform_caches() -> Path:
    """Where programs of this user keep what can be made again."""
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Caches"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
