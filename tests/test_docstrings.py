"""How docstrings begin: with a noun, for a module, a class or a value, or with a verb, for a function."""

import ast

import pytest
from test_layers import FLOORS, PACKAGE, modules_of, room_of

pytestmark = pytest.mark.once("reads docstrings")

QUESTIONS = {"What", "How", "Where", "Who"}
"""Words that begin a question: they say that something is meant, and not what it is."""

LEFT = frozenset("""
    __config__ _dynamo _higher_order_ops _subclasses absent amp ao as_torch autograd backends caches demo distributed
    distributions engine func functions futures fx hub interop multiprocessing nn ops optim progress script
    serialization shipping sparse streams stubs tape tensor testing torch_version utils viz
""".split())  # noqa: SIM905
"""The rooms whose docstrings still begin so. Mend one, and take it off this list."""


def docstrings_in(tree):
    """All docstrings of a module, also those below its values and the attributes of its classes: line and text."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for before, one in zip([None, *body], body, strict=False) if isinstance(body, list) else ():
            text = one.value.value if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) else None
            if isinstance(text, str) and (before is None or isinstance(before, (ast.Assign, ast.AnnAssign))):
                yield one.lineno, text


def questions_in(package):
    """Where a docstring begins with a question, by rooms."""
    found = {}
    for name, path in modules_of(package).items():
        for line, text in docstrings_in(ast.parse(path.read_text())):
            if text.strip() and text.split(maxsplit=1)[0].strip(".,:") in QUESTIONS:
                found.setdefault(room_of(name), []).append(f"{path.relative_to(package)}:{line}")
    return found


def test_docstrings_say_what_a_thing_is():
    found = questions_in(PACKAGE)
    assert {room: places for room, places in found.items() if room not in LEFT} == {}
    assert found.keys() >= LEFT, "a room is done: take it off the list"


def test_rooms_that_are_left_are_rooms():
    assert {room for floor in FLOORS for room in floor} >= LEFT


def test_questions_are_found(tmp_path):
    package = tmp_path / "house"
    package.mkdir()
    lines = ['"""A module."""', "X = 1", '"""How many."""', "class A:", '    """What is meant."""', "    x: int = 0"]
    lines += ['    """Where."""', "    def f(self):", '        """Whether it is so."""', "        g()", "        'What?'"]
    (package / "tape.py").write_text("\n".join(lines))
    assert questions_in(package) == {"tape": ["tape.py:3", "tape.py:5", "tape.py:7"]}
