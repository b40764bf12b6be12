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

HEART = ("dispatch/", "execution/", "bindings/", "compiler/")
RETIRED_IN = {
    "moves": (HEART, "is dynamic, of a number; varies, of a tensor; crosses devices, of an operator"),
    "moving": (HEART, "dynamic, of a number"),
    "spread": (HEART, "broadcast; dilated; sharded, of a tensor on a mesh"),
    "piece": (HEART, "subprogram, a part of a program that is run as one"),
    "pieces": (HEART, "subprograms; a loop, which runs calls of many operands"),
    "found": (HEART, "entry, of what is kept; finding, of a check; or what it is: array, slots, gradients"),
    "place": (HEART, "index, in a sequence; position, of an argument; geometry, of a view; location, of an object"),
    "places": (HEART, "indices, positions, geometries, locations"),
    "kind": (HEART[1:], "tag, of a record; type; role, of a function; form, of a box: operators have a kind"),
    "kinds": (HEART[1:], "tags, types, roles, forms"),
}
"""Words that had several meanings in the rooms where calls are run: these, and what is said in the place of each."""

NAME = re.compile(r"[^\W\d]\w*")

ELSEWHERE = {"stand_ins": ("engine/", "interop/"), "kinds": ("execution/programs/running.py",)}
"""Where a word has a meaning of its own: threads that work in the place of others, tensors that are traced; what
``torch.execution.stats()`` counts."""

OF_OTHERS = {"kind", "kinds", "device_kind"}
"""Names that may stand behind a point: NumPy's types and JAX's devices have a kind, ``ops.kinds`` is a module."""


def words_of(name):
    """The words of an identifier, with blanks between and around, in small letters; what is "in place" is one."""
    return f" {re.sub(r'(?<=[a-z0-9])(?=[A-Z])', ' ', name).replace('_', ' ').lower()} ".replace("in place", "inplace")


def retired_words(name, words):
    """Those of some words that an identifier has."""
    own = words_of(name)
    return [word for word in words if f" {word.replace('_', ' ')} " in own]


def retired_at(path):
    """The words that no identifier of a module may have, and what is said in place of each."""
    words = RETIRED | {word: said for word, (rooms, said) in RETIRED_IN.items() if path.startswith(rooms)}
    return {word: said for word, said in words.items() if not path.startswith(ELSEWHERE.get(word, "?"))}


def retired_in(path, text):
    """The identifiers of a module that have a retired word, with their lines."""
    words = retired_at(path)
    names = {name for name in set(NAME.findall(text)) if retired_words(name, words)}
    if not names:
        return  # also none in comments, which only the tokenizer tells from code, and takes its time
    before = ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        before, behind = token.string, before
        if token.type == tokenize.NAME and token.string in names and not (behind == "." and token.string in OF_OTHERS):
            for word in retired_words(token.string, words):
                yield f"{path}:{token.start[0]} {token.string}: say {words[word]}"


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
    assert list(retired_in("dispatch/a.py", "in_pieces = 1")) and not list(retired_in("ops/a.py", "in_pieces = 1"))
    assert list(retired_in("bindings/a.py", "def place_of(kind): pass")) and not list(
        retired_in("bindings/a.py", "put_in_place(dtype.kind)")
    )
