"""Under which names it is kept what is written for calls. See Note [Kept functions] in ``tape/kept.py``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.execution.tiers.host_trace import HostFunction
from tapegrad._src.execution.tiers.keeping import KeptEntry, Unkept, circumstances, outlined, said
from tapegrad._src.execution.tiers.settings import hosted
from tapegrad._src.tape import kept
from tapegrad._src.tape.mechanisms import DISK_CACHE, SHIPPED_CLASSES
from tapegrad._src.tensor.spec import Spec

AXES = frozenset(("axis", "axes", "axis0", "axis1", "axis2"))
"""The names of settings that say which dimensions are meant."""


def kept_entry(what: str, op: OperatorLike, specs: Sequence, settings: dict, *others: Any) -> KeptEntry | None:
    """The entry on disk for what is written for a call; None if that can't be said, or nothing is kept.

    Args:
        what: what is meant of the call.
        others: what decides besides, as settings are.
    """
    name = None if kept.store.directory is None else op.lasting_name
    if name is None or not hosted() or DISK_CACHE.off:
        return None
    try:
        given = [f"{spec.dtype.name}{list(spec.shape)}" if isinstance(spec, Spec) else said(spec) for spec in specs]
        bound = [f"{name}={said(value)}" for name, value in settings.items()]
        return KeptEntry(what, name, *given, *bound, *map(said, others))
    except Unkept:
        return None


def shipped_family(op: OperatorLike, specs: Sequence, settings: dict) -> str | None:
    """The name under which the package has what it brings for calls that differ in numbers alone from this one; or
    None."""
    if not kept.shipped.is_there or op.lasting_name is None or not hosted() or SHIPPED_CLASSES.off:
        return None
    try:
        given = [f"{spec.dtype.name}{spec.ndim}" if isinstance(spec, Spec) else said(spec) for spec in specs]
        bound = [f"{name}={said(one) if name in AXES else outlined(one)}" for name, one in settings.items()]
    except Unkept:
        return None
    return "\n".join([op.lasting_name, *given, *bound, circumstances()])


class Rather:
    """Gives what a function knows, or else what is kept where ``kept_entry`` says, for these arguments of it."""

    __slots__ = ("first", "call")

    def __init__(self, first: Callable, *call: Any) -> None:
        self.first, self.call = first, call

    def __call__(self) -> Any:
        """Gives what is known."""
        written = self.first()
        entry = kept_entry(*self.call) if written is None else None
        return written if entry is None else entry()

    def keep(self, made: Any) -> None:
        """Keep what was made, as nothing was known."""
        entry = kept_entry(*self.call)
        if entry is not None:
            entry.keep(made)


def kept_from(entry: KeptEntry | None, trace: Any) -> HostFunction:
    """The function of the host for a trace; it is kept.

    Raises:
        Unwritable: there is no rule for a primitive.
    """
    written = trace.written()
    if entry is not None:
        entry.keep(written)
    return written
