"""Settings of PyTorch's process that say how it computes. XLA decides most of it here: what is set is kept, and told
again; each docstring says what it does."""

from __future__ import annotations

from typing import Any

from tapegrad._src.bindings.declaration.parser import type_name
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.execution.state.threads import default_threads, helpers, set_threads
from tapegrad._src.execution.tiers.settings import be_deterministic
from tapegrad._src.warn import warn

_kept: dict[str, Any] = {
    "interop": default_threads(), "interop_set": False, "precision": "highest",
    "deterministic": "default", "filled": True,
}  # fmt: skip
"""The settings that were made."""


def _positive(function: str, number: Any) -> int:
    if isinstance(number, bool) or not isinstance(number, int):
        raise RuntimeError(f"{function} expects an int, but got {type(number).__name__}")
    if not -(1 << 31) <= number < 1 << 31:
        raise ValueError("Overflow when unpacking long")
    if number <= 0:
        raise RuntimeError(f"{function} expects a positive integer")
    return number


@public("torch", asks="nobody")
def get_num_threads() -> int:
    """The number given to ``set_num_threads``; before, that of ``OMP_NUM_THREADS``, or of the processors that this
    process may use.

    Returns:
        The number.
    """
    return helpers.number


@public("torch", asks="nobody")
def set_num_threads(num: Any, /) -> None:
    """Have so many threads compute what NumPy does with large arrays, and its matrix products.

    Large kernels that are computed row by row run in strips, which the threads share; how a kernel is cut depends on
    shapes alone, so that any number of threads gives the same bits. Products are BLAS's, which may add in another order
    with another number of threads, as PyTorch's. Where several of the program's threads use tapegrad, each computes for
    itself. XLA's own threads are made when it starts, one for each processor that the process may use then: to have
    fewer of those, start Python under ``taskset``.

    Args:
        num: the number.

    Raises:
        RuntimeError: no positive int.
        ValueError: more than 32 bits.

    >>> torch.set_num_threads(2)
    >>> torch.get_num_threads()
    2
    """
    set_threads(_positive("set_num_threads", num))


@public("torch", asks="nobody")
def get_num_interop_threads() -> int:
    """The number given to ``set_num_interop_threads``; before, of the processors that this process may use."""
    return _kept["interop"]


@public("torch", asks="nobody")
def set_num_interop_threads(num: Any, /) -> None:
    """Keep a number for ``get_num_interop_threads``, once. It changes no speed, as ``set_num_threads`` doesn't.

    Args:
        num: the number.

    Raises:
        RuntimeError: no positive int, or it was set before.
    """
    number = _positive("set_num_interop_threads", num)
    if _kept["interop_set"]:
        raise RuntimeError(
            "Error: cannot set number of interop threads after parallel work has started or set_num_interop_threads "
            "called"
        )
    _kept.update(interop=number, interop_set=True)


PRECISIONS = ("highest", "high", "medium")


@public("torch", asks="nobody")
def get_float32_matmul_precision() -> str:
    """The precision that ``set_float32_matmul_precision`` has set; ``"highest"`` before."""
    return _kept["precision"]


@public("torch", asks="nobody")
def set_float32_matmul_precision(precision: str) -> None:
    """Keep ``"highest"``, ``"high"`` or ``"medium"``. Products are computed as precisely as for ``"highest"``, always.

    Args:
        precision: one of the three.

    Raises:
        RuntimeError: no string. Another one is warned of, and changes nothing.
    """
    if not isinstance(precision, str):
        raise RuntimeError(f"set_float32_matmul_precision expects a str, but got {type(precision).__name__}")
    if precision in PRECISIONS:
        _kept["precision"] = precision
        return
    warn(
        f"{precision} is not one of 'highest', 'high', or 'medium'; the currentsetFloat32MatmulPrecision call has no "
        "effect."
    )


@public("torch", asks="nobody")
def use_deterministic_algorithms(mode: Any, *, warn_only: bool = False) -> None:
    """Say whether results must be the same each time: then no kernel runs by NumPy first and by XLA later.

    Otherwise the last digit may differ between the first calls of a kernel and later ones, as ``execution.tiers`` says.

    Args:
        mode: whether they must.
        warn_only: kept for ``is_deterministic_algorithms_warn_only_enabled``; it changes nothing else.

    Raises:
        TypeError: an argument is no bool.
    """
    if not isinstance(mode, bool):
        what = f"must be bool, not {type_name(mode)}"
        raise TypeError(f"_set_deterministic_algorithms(): argument 'mode' (position 1) {what}")
    _kept["deterministic"] = ("warn" if warn_only else "error") if mode else "default"
    be_deterministic(mode)


@public("torch", asks="nobody")
def are_deterministic_algorithms_enabled() -> bool:
    """Tell whether ``use_deterministic_algorithms`` was switched on."""
    return _kept["deterministic"] != "default"


@public("torch", asks="nobody")
def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Tell whether ``use_deterministic_algorithms`` was switched on with ``warn_only``."""
    return _kept["deterministic"] == "warn"


DEBUG_MODES = ("default", "warn", "error")


@public("torch", asks="nobody")
def get_deterministic_debug_mode() -> int:
    """0, 1 or 2: deterministic algorithms are not asked for, a warning is, an error is.

    >>> torch.get_deterministic_debug_mode()
    0
    """
    return DEBUG_MODES.index(_kept["deterministic"])


@public("torch", asks="nobody")
def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """``use_deterministic_algorithms`` in other words.

    Args:
        debug_mode: ``"default"`` or 0, off; ``"warn"`` or 1, on, with ``warn_only``; ``"error"`` or 2, on.

    Raises:
        TypeError, RuntimeError: another value.
    """
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if debug_mode not in (DEBUG_MODES if isinstance(debug_mode, str) else (0, 1, 2)):
        expected = "one of `default`, `warn`, `error`" if isinstance(debug_mode, str) else "0, 1, or 2"
        raise RuntimeError(f"invalid value of debug_mode, expected {expected}, but got {debug_mode}")
    number = DEBUG_MODES.index(debug_mode) if isinstance(debug_mode, str) else debug_mode
    use_deterministic_algorithms(number != 0, warn_only=number == 1)


def fills_uninitialized_memory() -> bool:
    """Tell whether ``empty`` and its like would be filled under deterministic algorithms; here they are zero,
    always."""
    return _kept["filled"]


def fill_uninitialized_memory(mode: Any) -> None:
    """Keep what was set for ``fills_uninitialized_memory``. Raises TypeError: no bool."""
    if not isinstance(mode, bool):
        raise TypeError(f"expected a bool, but got {type(mode)}")
    _kept["filled"] = mode


@public("torch", asks="nobody")
def set_flush_denormal(mode: bool) -> bool:
    """False: how the processor treats denormal numbers is not changed here.

    Args:
        mode: ignored.
    """
    return False
