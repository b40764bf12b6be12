"""``torch.backends.cudnn``: see ``torch.backends``."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

enabled = True
benchmark = False
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """False: whether XLA uses cuDNN is its own affair."""
    return False


def version() -> None:
    """None, as there is no cuDNN here."""


@contextmanager
def flags(
    enabled: bool = False, benchmark: bool = False, benchmark_limit: int = 10, deterministic: bool = False,
    allow_tf32: bool = True, fp32_precision: str = "none",
) -> Iterator[None]:  # fmt: skip
    """A context in which these are set."""
    given: dict[str, Any] = {
        "enabled": enabled, "benchmark": benchmark, "deterministic": deterministic, "allow_tf32": allow_tf32,
    }  # fmt: skip
    here = globals()
    before = {name: here[name] for name in given}
    here.update(given)
    try:
        yield
    finally:
        here.update(before)
