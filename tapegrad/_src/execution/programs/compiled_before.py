"""Marks beside jax's compilation cache on disk: which steps another process has compiled into it.

Note [Compiled by another process]
When a program takes the place of calls is decided before it is compiled, by how long that is likely to take (Note
[Compiled in the background] in ``step_executable.py``). Where jax keeps what it compiles on disk
(``persistent_cache``), a step that is there need only be lowered and loaded, in a tenth of the time. Whether it is
there, jax says only after lowering; so an empty file with the digest of the step's instructions is left beside what
jax has written. It decides nothing but when: a mark whose program is gone makes one call wait for the compiler.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jax

from tapegrad._src.tape import kept


def cache_directory() -> Path | None:
    """The directory in which jax keeps what it compiles; None if it keeps nothing."""
    directory, enabled = _setting("jax_compilation_cache_dir"), _setting("jax_enable_compilation_cache")
    return Path(directory) if directory and enabled else None


def _setting(name: str) -> Any:
    """A setting of jax: its types name some of them only."""
    return getattr(jax.config, name)


class CacheMark:
    """A mark of one program.

    Args:
        described: what the program consists of, in an order and in words that are the same in each process.

    >>> import tempfile
    >>> from tapegrad._src.execution.state.persistent import persistent_cache
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     place, mark = persistent_cache(directory), CacheMark(["add(in0, in1)", "float32[2]"])
    ...     before = mark.is_there
    ...     mark.leave(seconds=1.5)
    ...     before, mark.is_there, persistent_cache(enabled=False).name
    (False, True, 'tapegrad')
    """

    def __init__(self, described: Iterable[str]) -> None:
        directory = cache_directory()
        self._file: Path | None = None
        if directory is not None:
            text = "\n".join([repr(kept.versions()), *described])
            self._file = directory / f"step-{kept.digest(text.encode()).hex()}"

    @property
    def is_there(self) -> bool:
        """True if a process has compiled the program into the cache."""
        return self._file is not None and self._file.exists()

    def leave(self, seconds: float) -> None:
        """Say that the program is in the cache, if jax keeps what took so many ``seconds`` to compile."""
        if self._file is not None and seconds >= _setting("jax_persistent_cache_min_compile_time_secs"):
            with contextlib.suppress(OSError):
                self._file.touch()
