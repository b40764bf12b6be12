"""The looks of nodes, tensors, modules and reports in a notebook.

Note [In notebooks]
Jupyter asks an object for ``_repr_html_``. The classes that have one are in many rooms; what they show is written in
one, ``viz/pages.py``, which is imported when somebody asks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad._src.doors import Door

page_writer: Door[Callable[[Any], str]] = Door("page_writer", filled_by="viz/showing.py")


def shown_in_html(self: Any) -> str:
    """A piece of HTML that shows this, whole in itself."""
    return page_writer.content(self)
