"""``torch.backends.cudnn``: see ``torch.backends``."""

from contextlib import AbstractContextManager

from tapegrad.backends.keeping import kept

__all__ = ["allow_tf32", "benchmark", "deterministic", "enabled", "flags", "is_available", "version"]

enabled = True
benchmark = False
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """False: whether XLA uses cuDNN is its own affair."""
    return False


def version() -> None:
    """None, as there is no cuDNN here."""


def flags(
    enabled: bool = False, benchmark: bool = False, benchmark_limit: int = 10, deterministic: bool = False,
    allow_tf32: bool = True, fp32_precision: str = "none",
) -> AbstractContextManager[None]:  # fmt: skip
    """A context in which these are set."""
    return kept(
        globals(), enabled=enabled, benchmark=benchmark, deterministic=deterministic, allow_tf32=allow_tf32
    )
