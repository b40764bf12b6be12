"""The rings of tests: each has every kind of check, and the last one has all of them. See Note [Rings of tests]."""

from itertools import pairwise
from pathlib import Path

import pytest

from tests import rings
from tests.rings import (
    DEAR,
    DEAREST,
    FIRST,
    IN_DEFAULT,
    IN_FULL,
    ORDERLESS,
    RINGS,
    SECONDS,
    Case,
    is_drawn,
    reaches,
    ring_of,
)

pytestmark = pytest.mark.once("nothing is computed")

HERE = Path(__file__).resolve().parents[2]


def case(name="of nothing", execution="immediate", *, file="tests/test_new.py", leads=False, said=None):
    return Case(file, "test_sum", f"{file}::test_sum[{name}]", execution, leads, said)


def test_each_file_has_tests_in_the_default_ring(cases):
    in_default = {one.file for one in cases if reaches("default", ring_of(one))}
    assert sorted({one.file for one in cases} - in_default) == []


def test_each_test_function_has_a_case_in_the_full_ring(cases):
    in_full = {(one.file, one.function) for one in cases if reaches("full", ring_of(one))}
    late = {(one.file, one.function) for one in cases if one.said == "everything"}
    assert sorted({(one.file, one.function) for one in cases} - in_full - late) == []


def test_each_ring_has_the_tests_of_the_one_before_and_the_last_has_all(cases):
    of_rings = [{one for one in cases if reaches(ring, ring_of(one))} for ring in RINGS]
    assert all(narrow <= wide for narrow, wide in pairwise(of_rings))
    assert of_rings[-1] == set(cases)


def test_the_tables_name_what_is_there():
    files = {*FIRST, *ORDERLESS, *DEAR, *DEAREST, *SECONDS}
    assert sorted(file for file in files if not (HERE / file).exists()) == []
    missing = [(file, name) for file, names in FIRST.items() for name in names or ()
               if f"def {name}(" not in (HERE / file).read_text()]  # fmt: skip
    assert missing == []


def test_what_is_drawn_depends_on_the_name_alone():
    names = [f"tests/test_new.py::test_sum[{n}]" for n in range(20)]
    assert [n for n, name in enumerate(names) if is_drawn(name, 5)] == [7, 8, 13, 14, 17]
    many = [is_drawn(f"tests/test_new.py::test_sum[{n}]", 5) for n in range(5000)]
    assert 900 < sum(many) < 1100


def test_the_first_case_of_a_function_comes_before_the_others():
    assert ring_of(case(leads=True)) == "default"
    assert {ring_of(case(n)) for n in range(99)} == {"default", "full"}
    assert {ring_of(case(n, file=min(DEAR))) for n in range(99)} == {"default", "full", "whole"}
    assert {ring_of(case(n, file=min(DEAREST))) for n in range(99)} == {"default", "whole"}
    assert IN_DEFAULT % IN_FULL == 0 and not DEAR & DEAREST


def test_deferred_operators_come_later_where_order_does_not_matter():
    file = min(ORDERLESS)
    assert ring_of(case(leads=True, file=file)) == "default"
    assert {ring_of(case(n, "deferred", leads=True, file=file)) for n in range(99)} == {"full", "whole"}
    assert {ring_of(case(n, "deferred", leads=True)) for n in range(99)} == {"default"}
    assert {ring_of(case(n, "deferred", file=file)) for n in range(99)} <= {"full", "whole"}


def test_a_third_of_the_other_cases_are_deferred_in_the_full_ring():
    runs = [(ring_of(case(n)), ring_of(case(n, "deferred"))) for n in range(500)]
    assert {one for one in runs if one[0] == "default"} == {("default", "default")}
    late = [later for at_once, later in runs if at_once == "full"]
    assert set(late) == {"full", "whole"} and 0.25 < late.count("full") / len(late) < 0.42


@pytest.mark.parametrize("ring", RINGS)
def test_a_mark_says_where_a_test_belongs(ring):
    assert ring_of(case(said=ring)) == ring


def test_the_first_ring_looks_at_no_other_files(pytestconfig, monkeypatch):
    monkeypatch.setattr(pytestconfig.option, "ring", "first")
    ignored = pytestconfig.hook.pytest_ignore_collect
    assert ignored(collection_path=Path(__file__).resolve(), config=pytestconfig)
    assert not ignored(collection_path=HERE / "tests" / "first" / "test_tiny.py", config=pytestconfig)
    monkeypatch.setattr(pytestconfig.option, "ring", "default")
    assert not ignored(collection_path=Path(__file__).resolve(), config=pytestconfig)


def test_files_that_take_long_are_begun_first():
    class Item:
        def __init__(self, nodeid):
            self.nodeid = nodeid

    quick = [Item(f"tests/tools/test_new.py::test_{n}") for n in range(9)]
    slow = Item("tests/tools/test_benchmarks.py::test_all")
    assert rings.longest_first([*quick[:3], slow, *quick[3:]]) == [slow, *quick]


def test_files_that_read_the_same_sources_come_one_after_the_other():
    class Item:
        def __init__(self, nodeid):
            self.nodeid = nodeid

    layers, words = (Item(f"tests/house/test_{name}.py::test_all") for name in ("layers", "words"))
    between = [Item(f"tests/tools/test_new.py::test_{n}") for n in range(2)]
    assert rings.longest_first([words, *between, layers, layers]) == [layers, layers, words, *between]
