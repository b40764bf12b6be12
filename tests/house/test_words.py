"""Words that were retired: each had another name in the field, or several meanings here.

An identifier of the package has none of them among its words. What stands for each is beside it.
"""

import io
import re
import tokenize

import pytest
from sources import PACKAGE

pytestmark = pytest.mark.once("reads the source")

RETIRED = {
    "currency": "gradient type, `GradientOps`",
    "currencies": "gradient types, `GradientOps`",
    "excerpt": "recorded segment",
    "lent": "borrowed",
    "misfit": "mismatch, `mismatched`",
    "misfits": "mismatches",
    "mould": "plan template, `Template`",
    "moulds": "plan templates",
    "prospects": "recording policy",
    "seam": "backend interface",
    "shortcut": "call cache",
    "shortcuts": "call cache, calls of functions",
    "severed": "detached from outside",
    "twins": "copies for XLA",
    "vain": "wasted",
    "host_tier": "NumPy backend",
    "stand_ins": "proxies",
    "standing_in": "proxying",
}
"""Each word, and what is said in its place."""

NAME = re.compile(r"[^\W\d]\w*")

ELSEWHERE = {"stand_ins": ("engine/", "interop/")}
"""Where a word has a meaning of its own: threads that work in the place of others, tensors that are traced."""


def words_of(name):
    """The words of an identifier, with blanks between and around, in small letters."""
    return f" {re.sub(r'(?<=[a-z0-9])(?=[A-Z])', ' ', name).replace('_', ' ').lower()} "


def is_retired(name):
    """Whether an identifier has a retired word."""
    words = words_of(name)
    return any(f" {word.replace('_', ' ')} " in words for word in RETIRED)


def retired_in(path, text):
    """The identifiers of a module that have a retired word, with their lines."""
    if not any(is_retired(name) for name in set(NAME.findall(text))):
        return  # also none in comments, which only the tokenizer tells from code, and takes its time
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME:
            for word in RETIRED:
                here = any(path.startswith(folder) for folder in ELSEWHERE.get(word, ()))
                if f" {word.replace('_', ' ')} " in words_of(token.string) and not here:
                    yield f"{path}:{token.start[0]} {token.string}: say {RETIRED[word]}"


def test_no_identifier_has_a_retired_word():
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = str(path.relative_to(PACKAGE)).removeprefix("_src/")
        found += retired_in(name, path.read_text())
    assert found == []


def test_retired_words_are_found():
    source = "class WatchedCurrency:\n    _misfit = prevailing = 1\n\ndef stand_ins(talent): pass\n"
    assert [one.partition(":")[0] + one.partition(" ")[2].partition(":")[0] for one in retired_in("a.py", source)] == [
        "a.pyWatchedCurrency", "a.py_misfit", "a.pystand_ins",
    ]  # fmt: skip
    assert not list(retired_in("engine/a.py", "stand_ins = 1"))
