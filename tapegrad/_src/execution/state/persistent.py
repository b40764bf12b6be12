"""Kernels and programs that are kept on disk, so that the next process finds them compiled.

What NumPy runs is kept anyway: Note [Kept functions] in ``tape/kept.py``. The cache of what XLA has compiled is JAX's
own, by its public configuration, and keyed by the program, the devices and the versions of JAX and XLA: what changed is
compiled again. It is the one thing in which tapegrad changes the configuration of the process, and only when it is
asked to; functions of JAX that are jitted in this process are kept too.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import jax
from jax.experimental.compilation_cache import compilation_cache

from tapegrad._src.tape import kept
from tapegrad._src.tape.kept import platform_caches

ALL_OF_IT = {
    "jax_enable_compilation_cache": True,
    "jax_persistent_cache_min_compile_time_secs": 0.0,
    "jax_persistent_cache_min_entry_size_bytes": -1,
}
"""The settings that make JAX keep everything; by default it leaves out what compiles within a second, as single kernels
do."""

WRITTEN = "written"
_before: dict[str, Any] = {}  # what JAX was configured to do before we were asked, and where functions were kept


def persistent_cache(directory: str | os.PathLike | None = None, *, enabled: bool = True) -> Path:
    """Keep what is compiled from here on in a directory, and take from there what another process has compiled.

    All is kept, however small and fast to compile, but for kernels that call back into Python (``linalg.ldl_factor``).
    Nothing of it is ever removed: delete the directory to be rid of it. In the same directory is then the file with the
    functions of NumPy that were written for small kernels, which are kept by default, in ``tapegrad`` or where the
    variable ``TAPEGRAD_CACHE_DIR`` says (nowhere, if it is empty); what they compute has the same bits, kept or not.

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
    folder = Path(directory) if directory is not None else platform_caches() / "tapegrad"
    if enabled:
        folder.mkdir(parents=True, exist_ok=True)
        settings = {**ALL_OF_IT, "jax_compilation_cache_dir": str(folder)}
        for name in settings:
            _before.setdefault(name, getattr(jax.config, name))
        _before.setdefault(WRITTEN, kept.store.directory)
        kept.keep_in(folder)
    else:
        settings = dict(_before)
        _before.clear()
        written: Any = settings.pop(WRITTEN, kept.store.directory)
        kept.keep_in(written)
    for name, value in settings.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()  # who has compiled before has settled on the cache that there was, or on none
    return folder
