"""Every entry of the table gives compiled what it gives at once; and what is compared can tell."""

import pytest

from tests.compiled.running import difference, entries

RED: frozenset[str] = frozenset("""
""".split())
"""What is wrong today."""


def names(kind):
    return sorted(entries(kind))


@pytest.mark.once("a program is compared with itself at once")
@pytest.mark.parametrize("name", names("steps"))
def test_step(name):
    assert_right(entries()[name])


@pytest.mark.once("a program is compared with itself at once")
@pytest.mark.parametrize("name", names("attacks"))
def test_attack(name):
    assert_right(entries()[name])


def assert_right(entry):
    fault, _ = difference(entry)
    if entry.name in RED:
        assert fault is not None, f"{entry.name} is right: take it out of RED"
    else:
        assert fault is None, fault
