"""The pages of the reference that are made of the package: every public name, links that lead somewhere, all lists."""

import re

import pytest

from docs.docstrings import slug
from docs.pages import HOMES, ROOT, chapters, found, notes, pages, public
from tests.house.test_help import NAMES

pytestmark = pytest.mark.once("reads docstrings")


@pytest.fixture(scope="module")
def generated():
    """All pages that are made, by their paths."""
    return dict(pages())


def test_every_public_name_has_an_entry(generated):
    named = set(re.findall(r"^#+ (tapegrad[\w.]*) \{ #", "\n".join(generated.values()), re.MULTILINE))
    known = {name for name, item in NAMES.items() if item.__doc__ and (callable(item) or isinstance(item, property))}
    shown = {id(NAMES[name]) for name in named & NAMES.keys()}  # under one of its names
    assert {name for name in known - named if id(NAMES[name]) not in shown} == set()
    assert len(named) > 2500


def test_what_a_module_imports_for_itself_has_no_entry_on_its_page():
    """A module that is a file of its own either says what is public, or has nothing but its own names."""
    homes = [(path, found(path)) for paths in HOMES.values() for path in paths]
    files = [(path, home) for path, home in homes if not hasattr(home, "__path__") and not hasattr(home, "__all__")]
    assert not [
        f"{path}.{name}" for path, home in files if not isinstance(home, type)
        for name in public(home) if getattr(home, name).__module__ != home.__name__
    ]  # fmt: skip


def test_notes_that_are_named_are_on_their_page(generated):
    anchors = {slug(title) for _, title, _ in notes()}
    text = "\n".join(generated.values())
    assert set(re.findall(r"\]\((?:\.\./notes\.md)?#(note-[\w-]+)\)", text)) - anchors == set()


def test_titles_of_notes_are_used_once():
    titles = [slug(title) for _, title, _ in notes()]
    assert sorted(titles) == sorted(set(titles)) and len(titles) > 150


def test_all_pages_are_in_a_chapter(generated):
    listed = {page for chapter in chapters() for page in leaves(chapter)}
    by_hand = {path.name for path in (ROOT / "docs").glob("*.md")}
    assert listed == {path for path in generated.keys() | by_hand if path.endswith(".md")}


def leaves(chapter):
    for part in chapter.values():
        if isinstance(part, str):
            yield part
        else:
            yield from (page for one in part for page in leaves(one))


def test_what_tests_list_is_on_the_page_for_those_who_come_from_pytorch(generated):
    page = generated["from_pytorch.md"]
    assert "there are no quantized tensors" in page and "`softshrink`" not in page.partition("## What is not there")[0]
    for line in ("Entries that are not run, and why.", "sparse tensors: results of other kinds", "`jiterator_"):
        assert line in page


def test_the_readme_begins_with_a_page():
    """What it is, two commands, a picture, a table of what is there; figures are in the reference."""
    readme = (ROOT / "README.md").read_text()
    page, _, tour = readme.partition("## A short tour")
    assert page.count("```sh\n") == 3 and page.count("<img") == 1 and page.count("| --- |") == 1
    assert len(page.splitlines()) < 50
    assert not re.search(r"\| [\d.]+ (/ [\d.]+ )?\|", readme), "a table of figures"
    for page in ("docs/from_pytorch.md", "docs/ways.md", "docs/benchmarks.md", "docs/programs.md", "docs/tests.md"):
        assert f"({page})" in tour


def test_messages_are_collected_with_what_is_filled_in_left_open(generated):
    page = generated["errors.md"]
    assert "- `RuntimeError`: ``Inplace update to inference tensor outside InferenceMode is not allowed" in page
    assert page.count("\n- `") > 800
