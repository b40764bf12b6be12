"""``torch.__config__``: what computes here, as text for reports of errors."""

from __future__ import annotations

from importlib.metadata import version

from tapegrad._src.bindings.state.settings import get_num_interop_threads, get_num_threads
from tapegrad.version import __version__

__all__ = ["parallel_info", "show"]


def show() -> str:
    """The versions of tapegrad and of what it computes with.

    >>> print(show().partition(" ")[0])
    tapegrad
    """
    parts = "".join(f"  - {name} {version(name)}\n" for name in ("jax", "jaxlib", "numpy"))
    return f"tapegrad {__version__} computes with:\n{parts}"


def parallel_info() -> str:
    """Report how many threads there are, as far as is known.

    >>> "get_num_threads()" in parallel_info()
    True
    """
    return (
        "NumPy computes with as many threads as are set, XLA with one for each processor that the process may use:\n"
        f"\ttorch.get_num_threads() : {get_num_threads()}\n"
        f"\ttorch.get_num_interop_threads() : {get_num_interop_threads()}\n"
    )
