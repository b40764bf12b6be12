"""Reports: a title, a table, and facts; they print as text, and show themselves in notebooks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any

from tapegrad.viz.pages import line, table

MOST_ROWS = 40
"""So many rows of a table are printed; all of them are in ``rows``."""


class Report:
    """The findings of an explanation. They print as a table, also as the value of an expression.

    Attributes:
        title: the first line.
        rows: one named tuple for each row.
        facts: what else there is to say, a line each.
    """

    columns: Mapping[str, Callable[[Any], str]] = {}
    """The columns of the table: what they are called, and what stands there of a row."""

    def __init__(self, title: str, rows: Iterable[Any] = (), facts: Iterable[str | None] = ()) -> None:
        self.title = title
        self.rows: Sequence[Any] = tuple(rows)
        self.facts = tuple(fact for fact in facts if fact)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """The heads of the columns in which anything stands, and the cells of each row."""
        cells = [[text(row) for text in self.columns.values()] for row in self.rows]
        kept = [place for place in range(len(self.columns)) if any(row[place] for row in cells)]
        heads = list(self.columns)
        return [heads[place] for place in kept], [[row[place] for place in kept] for row in cells]

    def __str__(self) -> str:
        heads, cells = self.table()
        shown = aligned([heads, *cells[:MOST_ROWS]]) if cells else []
        more = [f"  and {len(cells) - MOST_ROWS} more"] if len(cells) > MOST_ROWS else []
        return "\n".join([self.title, *shown, *more, *(f"  {fact}" for fact in self.facts)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        heads, cells = self.table()
        facts = "".join(line([fact]) for fact in self.facts)
        return f"<b>{escape(self.title)}</b>{table(heads, cells) if cells else ''}{facts}"


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """The rows of a table, of which the first has the heads, as lines of text. Numbers stand to the right.

    >>> aligned([["name", "count"], ["mul", "12"], ["matmul", "3"]])
    ['  name    count', '  mul        12', '  matmul      3']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = [str.rjust if all(map(is_number, column)) else str.ljust for column in zip(*rows[1:], strict=True)]
    fitted = [[side(cell, width) for side, cell, width in zip(sides, row, widths, strict=True)] for row in rows]
    return ["  " + "  ".join(row).rstrip() for row in fitted]


def is_number(cell: str) -> bool:
    """Tell whether a cell has a number in it, perhaps with a unit, or nothing."""
    return not cell or cell.lstrip("-")[:1].isdigit()
