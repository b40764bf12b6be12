"""The picture of the rooms in ``ARCHITECTURE.md`` is that of their imports, and stands on its base.

An arrow leads from a room to one that it imports from, where no way over other rooms does, so that what all others
stand on is drawn at the bottom. This file draws the picture anew when it is run:
``python tests/house/test_rooms_picture.py``.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sources import PACKAGE

from tests.house.test_layers import FLOORS, house, imports_in, room_of

pytestmark = pytest.mark.once("reads the source")

PAGE = PACKAGE.parent / "ARCHITECTURE.md"
FENCE = re.compile(r"```mermaid\n.*?```\n", re.DOTALL)
SHARED = {
    "__future__", "absent", "absent_modules", "caches", "declaring", "doors", "errors", "progress", "torch_version",
    "version", "warn",
}  # fmt: skip
"""What all rooms import, and nobody wants to see drawn."""

FACADE = {room for floor in FLOORS[18:21] for room in floor}
ENDS = {"as_torch", "demo", "script", "shipping", "stubs", "__main__"}


def drawn(room: str) -> str | None:
    """The box that a room is drawn as; None if it is not."""
    return None if room in SHARED | ENDS else "facade" if room in FACADE else room


def uses(package: Path) -> dict[str, set[str]]:
    """For each box those that its rooms import from."""
    found: dict[str, set[str]] = {}
    for one in imports_in(package):
        if one.target.partition(".")[0] == package.name:
            box, used = drawn(room_of(one.module)), drawn(room_of(one.target))
            if box:
                found.setdefault(box, set()).update({used} - {None, box})
    return found


def reached(graph: dict[str, set[str]], start: str) -> set[str]:
    """Whatever can be reached from a box, by one arrow or more."""
    seen, waiting = set(), [*graph.get(start, ())]
    while waiting:
        box = waiting.pop()
        if box not in seen:
            seen.add(box)
            waiting.extend(graph.get(box, ()))
    return seen


def direct(graph: dict[str, set[str]]) -> list[tuple[str, str]]:
    """The arrows that no way over other boxes says.

    >>> direct({"nn": {"tape", "ops"}, "ops": {"tape"}, "tape": set()})
    [('nn', 'ops'), ('ops', 'tape')]
    """
    arrows = []
    for box, used in graph.items():
        indirect = {far for near in used for far in reached(graph, near)}
        arrows += [(box, one) for one in used - indirect]
    return sorted(arrows)


def picture(package: Path) -> str:
    """The diagram, in mermaid's words."""
    lines = [f"    {above} --> {below}" for above, below in direct(uses(package))]
    return "\n".join(["```mermaid", "flowchart TD", *lines, "```", ""])


def test_the_picture_is_that_of_the_imports():
    assert FENCE.findall(PAGE.read_text()) == [picture(PACKAGE)], "run this file, which draws it anew"


def test_a_new_import_changes_the_picture(tmp_path):
    sources = {"tape": "", "ops": "import house.tape", "nn": "import house.ops\nimport house.tape\nimport house.errors"}
    assert "ops --> tape\n" in picture(house(tmp_path / "one", **sources, errors=""))
    sources["nn"] = "import house.tape"
    drawn_anew = picture(house(tmp_path / "two", **sources, errors=""))
    assert "nn --> tape\n" in drawn_anew and "errors" not in drawn_anew


def test_the_picture_stands_on_its_base():
    """Mermaid draws from the top down (``TD``): at the bottom is the room from which no arrow leads."""
    arrows = direct(uses(PACKAGE))
    assert {below for _, below in arrows} - {above for above, _ in arrows} == {"tape"}
    assert all(height(below) < height(above) for above, below in arrows)


def height(box: str) -> int:
    """The number of the floor that a box is on, from the ground up."""
    return next(number for number, rooms in enumerate(FLOORS) if box in {drawn(room) for room in rooms})


if __name__ == "__main__":
    PAGE.write_text(FENCE.sub(picture(PACKAGE), PAGE.read_text(), count=1))
