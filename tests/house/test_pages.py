"""The pages for those who work on the package, held against the code: they are short, and name what is there."""

import re
from pathlib import Path

import pytest
from sources import PACKAGE

from tests.house.test_layers import FLOORS, imports_in, modules_of, room_of

pytestmark = pytest.mark.once("reads files")

ROOT = PACKAGE.parent
FOLDERS = PACKAGE, PACKAGE / "_src"
"""Where rooms are."""
HARD_ROOMS = ("dispatch", "execution", "compiler", "bindings")
PAGES = {
    "ARCHITECTURE.md": 150,
    "CONTRIBUTING.md": 150,
    "docs/benchmarks.md": 120,
    "tapegrad/README.md": 240,
    **{f"tapegrad/{room}/README.md": 26 for room in ("compiler", "_src/dispatch", "_src/execution", "_src/bindings")},
}
"""How many lines each of them has at most."""

CODE = re.compile(r"`([\w./]+)`")
LONGEST_CELL = 170


@pytest.mark.parametrize("page", PAGES)
def test_pages_are_short(page):
    assert len((ROOT / page).read_text().splitlines()) <= PAGES[page]


def cells_of(text):
    """The cells of all tables in a text."""
    return [cell.strip() for line in text.splitlines() if line.startswith("|") for cell in line.strip("|").split("|")]


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md", "tapegrad/README.md"])
def test_cells_of_tables_are_short(page):
    assert [cell for cell in cells_of((ROOT / page).read_text()) if len(cell) > LONGEST_CELL] == []


def lost(text, *folders):
    """The paths that a text names of files and folders that are in none of these folders."""
    named = {name for name in CODE.findall(text) if name.endswith((".py", ".md", "/"))}
    return {name for name in named if not any((folder / name).exists() for folder in folders)}


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md", "tapegrad/README.md"])
def test_files_that_a_page_names_are_there(page):
    rooms = [path for path in PACKAGE.rglob("*") if path.is_dir()]
    templates = {"tests/samples/FAMILY.py", "tests/parity/ROOM/test_FAMILY.py"}
    assert lost((ROOT / page).read_text(), ROOT, PACKAGE, ROOT / "tests", *rooms) <= templates


def folder_of(room):
    return next(folder / room for folder in FOLDERS if (folder / room).is_dir())


def modules_in(folder):
    """The names of the modules and folders in a folder."""
    files = {path.name for path in folder.glob("*.py")} - {"__init__.py"}
    return files | {f"{path.parent.name}/" for path in folder.glob("*/__init__.py")}


@pytest.mark.parametrize("room", HARD_ROOMS)
def test_the_page_of_a_room_names_every_file_of_it(room):
    folder = folder_of(room)
    text = (folder / "README.md").read_text()
    named = set(CODE.findall(text.partition("In reading order:")[2].partition("\nCalled by")[0]))
    wings = [folder / wing for wing in modules_in(folder) if wing.endswith("/")]
    assert modules_in(folder) <= named
    if room == "compiler":
        assert {name for wing in wings for name in modules_in(wing)} <= named
    assert lost(text, folder, *wings, ROOT, *FOLDERS) == set()


@pytest.mark.parametrize("room", HARD_ROOMS)
def test_the_page_of_a_room_says_who_calls_it_and_what_it_must_not_import(room):
    """The rooms that it names as callers are above it; those that it must not import it does not."""
    text = (folder_of(room) / "README.md").read_text()
    calling = text.partition("\nCalled by:")[2].partition("\nIt must not import:")[0]
    forbidden = text.partition("\nIt must not import:")[2].partition(" or anything above")[0]
    height = {name: number for number, floor in enumerate(FLOORS) for name in floor}
    assert forbidden.strip() and all(height[name] > height[room] for name in rooms_named(forbidden))
    assert all(height[name] > height[room] for name in rooms_named(calling) - {"execution", "engine"})
    imported = {room_of(one.target) for one in imports_in(PACKAGE) if room_of(one.module) == room}
    assert not imported & rooms_named(forbidden)


def rooms_named(text):
    """The rooms among the folders that a text names."""
    named = [name for name in CODE.findall(text) if "/" in name]
    return {name.partition("/")[0] for name in named if any((folder / name).exists() for folder in FOLDERS)}


def rooms_in_the_table(text):
    """The rooms of the table in the account of the house, row by row."""
    table = text.partition("| room | what is in it |")[2].partition("\n\n")[0]
    return [CODE.findall(line.split("|")[1]) for line in table.splitlines() if line.count("|") > 2 and "`" in line]


def test_the_account_of_the_house_has_every_room_from_the_ground_up():
    """Of the namespaces it names some."""
    rows = rooms_in_the_table((PACKAGE / "README.md").read_text())
    names = [[name.removesuffix("/").removesuffix(".py") for name in row] for row in rows]
    height = {name: number for number, floor in enumerate(FLOORS) for name in floor}
    heights = [max(height[name] for name in row) for row in names]
    assert heights == sorted(heights)
    known = {name for name in {room_of(name) for name in modules_of(PACKAGE)} if height[name] != height["_C"]}
    small = {"__future__", "__main__", "progress", "torch_version", "version"}
    assert known - {name for row in names for name in row} <= small


def test_what_is_wrong_on_a_page_is_found(tmp_path):
    Path(tmp_path / "there.py").write_text("")
    assert lost("`there.py`, `gone.py`, `Thing`, `gone/`", tmp_path) == {"gone.py", "gone/"}
    assert cells_of("a\n| b | c d |\n") == ["b", "c d"]
    assert rooms_in_the_table("| room | what is in it |\n| --- | --- |\n| `a.py`, `b/` | c |\n\n| `d` | e |") == [
        ["a.py", "b/"]
    ]
