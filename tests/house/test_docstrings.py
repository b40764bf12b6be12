"""How docstrings begin: with a noun, for a module, a class or a value, or with a verb, for a function."""

import ast

import pytest
from sources import PACKAGE, nodes_of

from tests.house.test_layers import modules_of, room_of

pytestmark = pytest.mark.once("reads docstrings")

QUESTIONS = {"What", "How", "Where", "Whether", "Who"}
"""Words that begin a question: they say that something is meant, and not what it is."""


def docstrings_in(nodes):
    """All docstrings of a module, also those below its values and the attributes of its classes: line and text."""
    for node in nodes:
        body = getattr(node, "body", None)
        for before, one in zip([None, *body], body, strict=False) if isinstance(body, list) else ():
            text = one.value.value if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) else None
            if isinstance(text, str) and (before is None or isinstance(before, (ast.Assign, ast.AnnAssign))):
                yield one.lineno, text


def questions_in(package):
    """Where a docstring begins with a question, by rooms."""
    found = {}
    for name, path in modules_of(package).items():
        for line, text in docstrings_in(nodes_of(path)):
            if text.strip() and text.split(maxsplit=1)[0].strip(".,:") in QUESTIONS:
                found.setdefault(room_of(name), []).append(f"{path.relative_to(package)}:{line}")
    return found


def test_docstrings_say_what_a_thing_is():
    """If this is red, name the thing: "What runs a plan" is "A runner of plans"."""
    assert questions_in(PACKAGE) == {}


def test_questions_are_found(tmp_path):
    package = tmp_path / "house"
    package.mkdir()
    lines = ['"""A module."""', "X = 1", '"""How many."""', "class A:", '    """What is meant."""', "    x: int = 0"]
    lines += ['    """Where."""', "    def f(self):", '        """Whether so."""', "        g()", "        'What?'"]
    (package / "tape.py").write_text("\n".join(lines))
    assert questions_in(package) == {"tape": ["tape.py:3", "tape.py:5", "tape.py:7", "tape.py:9"]}
