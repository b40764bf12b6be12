"""What stands about a function or an operator stands where it is declared: tables that list them by name are few.

Note [Declared once] in ``bindings/declaration/declarations.py`` says how it is declared. A table of the package that
lists more than ``MOST`` functions or operators by name is on the list here, with its reason, or it is a mistake:
another place that has to be known when a function is added.
"""

import ast
import re
from functools import cache

import pytest
from sources import PACKAGE, tree_of

import tapegrad.ops
from tapegrad._src.bindings.declaration.registry import NAMESPACES
from tapegrad.ops.operator import Operator
from tests.house.test_layers import house, modules_of, room_of

pytestmark = pytest.mark.once("reads the source")

MOST = 7
"""As many functions may be listed beside one another in passing."""

TABLES = {
    "bindings.declaration.parser_table.FUNCTIONS":
        "PyTorch's signatures, collected from it: declarations are derived from them",
    "bindings.declaration.parser_table.METHODS": "the same, of methods that are no functions",
    "bindings.declaration.parser_table.NUMBERS_AS_TENSORS": "where numbers pass for tensors: a list of PyTorch's own",
    "compiler.capture.dynamic_number.BY_NUMBERS": "what a compiled step knows of Python code above the operators",
    "compiler.capture.dynamic_number.CHECKED": "the same",
    "nn.init.GAINS": "facts of initial values, by the names that PyTorch gives to kinds of layers",
    "nn.parameter.ALLOWED": "what an uninitialised parameter lets through: a fact of it, not of the functions",
    "amp.casting.LISTS": "PyTorch\'s own, which autocast is: what is cast, by device",
    "functions.foreach.UNARY": "itself a declaration, of the functions of lists",
    "fx._effects.RANDOM": "PyTorch's own list of functions that graphs keep, though nobody takes their values",
    "functions.identities.LOSSES": "arguments of PyTorch's operators, which are called otherwise than its functions",
    "fx._composites.ALSO": "PyTorch's own: functions whose graphs above autograd have them whole",
    "fx._composites.DTYPES": "methods that PyTorch's graphs have under one name",
    "fx.experimental.normalize.SPELLED": "operators of Python that PyTorch's pass writes for functions",
    "fx._operators.magic_methods": "operators of Python, as code is written, whose functions have the same names",
    "ops.random.OVERWRITE": "itself a declaration, of the operators behind in-place sampling",
}
"""The tables that there are, and why what they say is not said at the declarations."""

OF_JAX = {"execution", "shipping"}
"""Rooms that say nothing of functions: what they list are jax's primitives, some of which have the same names, and
calls that are made as examples."""


@cache
def names():
    """The names of all functions and operators."""
    functions = {name for table in NAMESPACES.values() for name in table}
    modules = [module for module in vars(tapegrad.ops).values() if type(module) is type(ast)]
    return functions | {key for module in modules for key, value in vars(module).items() if isinstance(value, Operator)}


KEYS = re.compile(r"^(\S[^:\n]*(?:\n +(?=\S)[^:\n]*)*):\s", re.MULTILINE)
"""In a text, what stands before colons, where each entry begins a line."""


def entries(node):
    """What an expression lists: keys of dictionaries and of texts, elements of other collections, words of strings."""
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            yield from entries(value if key is None else key)
    elif isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        for element in node.elts:
            yield from entries(element)
    elif isinstance(node, (ast.DictComp, ast.SetComp, ast.ListComp, ast.GeneratorExp)):
        yield from entries(node.generators[0].iter)
    elif isinstance(node, ast.Call):
        for part in (*([node.func.value] if isinstance(node.func, ast.Attribute) else []), *node.args):
            yield from entries(part)
    elif isinstance(node, ast.BinOp):
        yield from (*entries(node.left), *entries(node.right))
    elif isinstance(node, (ast.Starred, ast.Subscript)):
        yield from entries(node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        keys = KEYS.findall(node.value)
        yield from re.split(r"[\s;:,]+", " ".join(keys) if len(keys) > 1 else node.value.strip())
    elif isinstance(node, (ast.Attribute, ast.Name)):
        yield node.attr if isinstance(node, ast.Attribute) else node.id


def tables(package, known):
    """The tables at the top of modules that list more than ``MOST`` of the names that are ``known``."""
    for module, path in modules_of(package).items():
        for node in tree_of(path).body if room_of(module) not in OF_JAX else ():
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                target = ast.unparse(node.target if isinstance(node, ast.AnnAssign) else node.targets[0])
                listed = [*entries(node.value)]
                found = [name for name in listed if name in known]
                if len(found) > MOST and 2 * len(found) > len(listed) and target != "__all__":
                    yield f"{module.partition('.')[2]}.{target}"


def test_tables_are_sixteen_at_most():
    assert len(TABLES) <= 16


def test_no_other_table_lists_functions():
    found = set(tables(PACKAGE, names()))
    assert found - TABLES.keys() == set(), "say it where they are declared, or here why not"
    assert TABLES.keys() - found == set(), "there is no such table any more"


EIGHT = "one two three four five six seven eight"
WORDS = EIGHT.split()


@pytest.mark.parametrize(
    "source",
    [
        f"T = {dict.fromkeys(WORDS, 1)}",
        f"T: dict = {{**{dict.fromkeys(WORDS[:4], 1)}, **dict.fromkeys({WORDS[4:]}, 2)}}",
        f"T = frozenset({EIGHT!r}.split())",
        f"T = {{ops.{', ops.'.join(WORDS)}}}",
        f"T = {{f'{{name}}_': 1 for name in {WORDS}}}",
        f"T = {{({EIGHT!r}): 'a signature'}}",
        "T = by_name(\"\"\"\none two three\n    four: that and no other\nfive six seven eight: this of mine\n\"\"\")",
        f"T = tuple({WORDS}) + ('other',)",
    ],
)
def test_tables_are_found(tmp_path, source):
    assert [*tables(house(tmp_path, functions__a=source), set(WORDS))] == ["functions.a.T"]
    assert [*tables(house(tmp_path, functions__a=source), set(WORDS[:7]))] == []


def test_what_is_no_table_is_left(tmp_path):
    source = f"__all__ = {WORDS}\nfor one in {WORDS}:\n    declare(one)\nT = 'a text of one two and some other words'"
    assert [*tables(house(tmp_path, functions__a=source, execution__b=f"T = {WORDS}"), set(WORDS))] == []
