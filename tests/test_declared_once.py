"""What stands about a function or an operator stands where it is declared: tables that list them by name are few.

Note [Declared once] in ``functions/declarations.py`` says how functions are declared. A table of the package whose
entries are names of functions or operators, and that has more than ``MOST`` of them, is on the list here, with its
reason, or it is a mistake: another place that has to be known when a function is added.
"""

import ast
import re
from functools import cache

import pytest
from test_layers import modules_of

import tapegrad.ops
from tapegrad.functions.registry import NAMESPACES
from tapegrad.ops.operator import Operator

pytestmark = pytest.mark.once("reads the source")

MOST = 6
"""As many functions may be listed beside one another in passing."""

TABLES = {
    "functions.parser_table.FUNCTIONS": "PyTorch's signatures, from which declarations are derived",
    "functions.parser_table.METHODS": "the same, of methods",
}
"""The tables that there are, and why what they say is not said at the declarations."""


@cache
def names():
    """The names of all functions and operators."""
    functions = {name for table in NAMESPACES.values() for name in table}
    modules = [module for name, module in vars(tapegrad.ops).items() if type(module) is type(ast)]
    operators = {name for module in modules for name, value in vars(module).items() if isinstance(value, Operator)}
    return functions | operators


def entries(node):
    """What is listed by an expression: keys of dictionaries, elements of other collections, words of strings."""
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            yield from entries(value if key is None else key)
            if isinstance(value, (ast.Constant, ast.Tuple, ast.List, ast.Set)):
                listed = [*entries(value)]
                yield from listed if len(listed) > 1 else ()
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
        yield from re.split(r"[\s;:,]+", node.value.strip())
    elif isinstance(node, (ast.Attribute, ast.Name)):
        yield node.attr if isinstance(node, ast.Attribute) else node.id


def tables(package, known):
    """Name and number of entries of each table at the top of a module that lists more than ``MOST`` of ``known``."""
    for module, path in modules_of(package).items():
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
                continue
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            listed = [*entries(node.value)]
            found = [name for name in listed if name in known]
            if len(found) > MOST and 2 * len(found) > len(listed) and ast.unparse(target) != "__all__":
                yield f"{module.partition('.')[2]}.{ast.unparse(target)}", len(found)
