"""Anomaly detection: where in the forward pass a node that fails was made, and which one makes the first nan.

Note [Anomaly]
While it is on, every node keeps the stack of the user's program at its making (``tape/positions.py``) and the node that
ran meanwhile; ``node.metadata`` puts them into words when somebody reads it. When a node or one of its hooks
raises in a backward call, a warning shows them. The mode belongs to the program: Note [Modes of all threads] in
``tape/modes.py``.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from typing import Any

from tapegrad._src.tape.modes import all_states, everywhere, thread
from tapegrad._src.tape.node import Node, name_of
from tapegrad._src.tape.positions import here, stack
from tapegrad._src.warn import warn
from tapegrad.autograd.nonfinite.checks import OFF, Checked, Checks, check_operator, read_forward
from tapegrad.autograd.running import engine
from tapegrad.autograd.source_lines import refresh, watch

__all__ = ["detect_anomaly", "set_detect_anomaly"]


def checks_now() -> Checks:
    """The checks of anomaly detection, now."""
    return everywhere.anomaly or OFF


def is_anomaly_enabled() -> bool:
    """Tell whether anomaly detection is on."""
    return checks_now().enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Tell whether anomaly detection, when it is on, looks for nan."""
    return checks_now().check_nan


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Switch anomaly detection on or off.

    Args:
        enabled: whether forward calls are remembered, for what backward raises.
        check_nan: whether backward raises where a gradient is nan.

    Raises:
        TypeError: an argument is no bool.
    """
    put_in_force(Checks(enabled, check_nan))


def put_in_force(checks: Checks) -> None:
    """Let anomaly detection do this from here on. See Note [Anomaly]."""
    for position, (name, value) in enumerate(checks._asdict().items(), 1):
        if not isinstance(value, bool):
            raise TypeError(
                f"set_anomaly_enabled(): argument '{name}' (position {position}) must be bool, "
                f"not {type(value).__name__}"
            )
    try:
        read_forward()
    finally:
        everywhere.anomaly = None if checks == OFF else _one_object.setdefault(checks, checks)
        for state in all_states():
            watch("node_watchers", note_stack, checks.enabled, state)
            watch("failure_watchers", warn_of, checks.enabled, state)
            watch("backward_watchers", Checked, checks.any, state)
            watch("result_watchers", check_operator, checks.any and checks.forward, state)
            refresh(state.modes.replace(anomaly=everywhere.anomaly), state)


_one_object: dict[Checks, Checks] = {}
"""Checks, each for all that are equal to it."""


def note_stack(node: Node) -> None:
    """Remember where a node was made, and for which node of a backward pass, if one was running."""
    task = None if thread.backward_call is None else engine.current_task  # the former is quickly seen
    node._origin = stack(None if task is None else task.node)


def warn_of(node: Node | None, error: BaseException) -> None:
    """Warn of a node that failed, or of the one that ``error`` blames for it, and show where it was made."""
    node = vars(error).pop("blamed", node)
    for text in traces(node) if node is not None and thread.modes.detecting else ():
        emit(text)


def traces(node: Node) -> Iterator[str]:
    """PyTorch's texts about a node that failed: its own, then those of the nodes that induced it."""
    intro = f"Error detected in {name_of(node)}. Traceback of forward call that caused the error:\n"
    current: Any = node
    while current is not None:
        notes = current.metadata
        lines = notes.get("traceback_")
        if lines is None:
            yield (
                f"Error detected in {name_of(current)}. No forward pass information available. Enable detect anomaly "
                "during forward pass for more information."
            )
        else:
            yield intro + "".join(lines)
        current = notes.get("parent_")
        if current is not None:
            intro = (
                f"\n\nPrevious calculation was induced by {name_of(current)}. "
                "Traceback of forward call that induced the previous calculation:\n"
            )


def emit(text: str) -> None:
    """Warn, at the user's line; where warnings are errors, print the text: the error is on its way already."""
    place = here()
    try:
        if place is None:
            warn(text, UserWarning)
        else:
            warnings.warn_explicit(text, UserWarning, place.file, place.line)
    except UserWarning as warning:
        print(f"UserWarning: {warning}", file=sys.stderr)


def leave(checks: Checks, error: BaseException | None) -> None:
    """Put ``checks`` in force again at the end of a block. What was still to be checked of it is told by a note if
    an error is on its way already."""
    try:
        read_forward()
    except RuntimeError as found:
        if error is None:
            raise
        error.add_note(str(found))
    finally:
        put_in_force(checks)


class detect_anomaly:
    """Context manager: find out which operation makes a backward pass fail, or makes nan.

    Inside, every operation remembers where it was called; when its backward raises, or returns nan, a warning shows
    that place. The program becomes slower, but not by much: results are checked many at a time.

    Args:
        check_nan: raise when a backward returns nan.
        check_inf: raise when a backward returns inf (PyTorch has no such check).
        forward: look at the results of the forward pass too, and stop at the first operator that returns what is
            looked for (PyTorch has no such check).

    Raises:
        RuntimeError: naming the function, its operands, the line of the program, and often the cause.

    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     with torch.autograd.detect_anomaly(forward=True):
    ...         y = torch.tensor([4.0, -1.0]).sqrt()
    Traceback (most recent call last):
        ...
    RuntimeError: Operator 'sqrt' returned nan values in its 0th output (forward pass).
    Where:
      it was called at <doctest ...>:4 in <module>: y = torch.tensor([4.0, -1.0]).sqrt()
      x: float32[2], min -1, max 4, 0 nan, 0 inf
      Hint: the square root of a negative number is nan: clamp the argument
    """

    def __init__(self, check_nan: bool = True, check_inf: bool = False, forward: bool = False) -> None:
        self.previous = checks_now()
        self.checks = Checks(True, check_nan, check_inf, forward)
        warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging."
        )

    def __enter__(self) -> None:
        put_in_force(self.checks)

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        leave(self.previous, error)


class set_detect_anomaly:
    """Switch anomaly detection on or off, as a function; as a context manager, restore it at the end of the block.

    Args:
        mode: whether it is on.
        check_nan, check_inf, forward: as in ``detect_anomaly``.

    Raises:
        TypeError: an argument is no bool.

    >>> with torch.autograd.set_detect_anomaly(True):
    ...     torch.is_anomaly_enabled()
    True
    """

    def __init__(self, mode: bool, check_nan: bool = True, check_inf: bool = False, forward: bool = False) -> None:
        self.previous = checks_now()
        put_in_force(Checks(mode, check_nan, check_inf, forward))

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        leave(self.previous, error)
