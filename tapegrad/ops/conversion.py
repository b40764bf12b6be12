"""Conversions that are operators of their own."""

from __future__ import annotations

from tapegrad.ops.kinds import general, retyped
from tapegrad.ops.memory_formats import as_input


@general(aten="_to_copy", lies=as_input)
def truncate(x, *, dtype):
    """A floating or complex ``x`` in an integral dtype: see ``retyped``. It has no derivative."""
    return retyped(x, dtype.numpy)
