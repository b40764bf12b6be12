"""Warnings that name the line of the program that brought them about, not one of this package."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

_PACKAGE = str(Path(__file__).resolve().parent.parent) + "/"

WRITTEN = "<written function>"
"""The name in place of the file of code that this package has written."""


def warn(message: str | Warning, category: type[Warning] | None = None) -> None:
    """Warn of what the nearest line outside of this package does, as PyTorch's C++ code does.

    Args:
        message: the text, or a warning.
        category: ``UserWarning``, unless another class is given, or ``message`` has one.

    >>> import tapegrad as torch
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = torch.nn.functional.softmax(torch.ones(2))
    >>> Path(caught[0].filename).is_relative_to(_PACKAGE)
    False
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and is_of_package(frame.f_code.co_filename):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def is_of_package(filename: str) -> bool:
    """Tell whether code is from a file of this package, or was written by it."""
    return filename.startswith(_PACKAGE) or filename == WRITTEN
