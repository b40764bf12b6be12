"""``torch.backends.mkldnn``: see ``torch.backends``."""

from contextlib import AbstractContextManager
from typing import Any

from tapegrad.backends.keeping import kept

enabled = True
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """False: whether XLA uses oneDNN is its own affair."""
    return False


def is_acl_available() -> bool:
    """False: there is no oneDNN here, and none with Arm's library."""
    return False


def set_flags(
    _enabled: bool | None = None, _deterministic: bool | None = None, _allow_tf32: bool | None = None,
    _fp32_precision: str = "none",
) -> tuple[Any, ...]:  # fmt: skip
    """Set those that are not None; what they were before."""
    before = enabled, deterministic, allow_tf32, "none"
    given = {"enabled": _enabled, "deterministic": _deterministic, "allow_tf32": _allow_tf32}
    globals().update({name: value for name, value in given.items() if value is not None})
    return before


def flags(
    enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True, fp32_precision: str = "none"
) -> AbstractContextManager[None]:
    """A context in which these are set."""
    return kept(globals(), enabled=enabled, deterministic=deterministic, allow_tf32=allow_tf32)
