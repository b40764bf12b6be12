"""The import of the package, which declares some thousands of functions that stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def nothing_collected() -> Iterator[None]:
    """No collection of garbage inside; what is there at the end counts as old, so that none is due right after, either.

    A collection during the import, or soon after, would find nothing, and look for it through all of JAX as well: that
    takes as long as the rest of the import.

    >>> with nothing_collected():
    ...     gc.isenabled()
    False
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            if not gc.get_freeze_count():  # somebody else's frozen objects stay frozen
                gc.freeze()
                gc.unfreeze()  # into the oldest generation
            gc.enable()
