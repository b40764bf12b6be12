"""The house rules about imports, read from the source: they point up the list of rooms and stand at the top of a file.

A *room* is a module or a package right under the package; a *floor* is a row of rooms that may not see one another.
"""

import ast
import graphlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.once("reads the source")

PACKAGE = Path(__file__).resolve().parent.parent / "tapegrad"

FLOORS = [
    ["__future__", "absent", "errors", "version"],
    ["as_torch", "caches", "declaring"],
    ["tape"],
    ["engine"],
    ["execution"],
    ["tensor"],
    ["streams"],
    ["dispatch"],
    ["ops"],
    ["functions"],
    ["autograd"],
    ["func", "compiler", "interop"],
    ["utils"],
    ["distributions", "nn", "optim", "testing"],
    [
        "_C", "_ops", "accelerator", "backends", "cuda", "fft", "functional", "jit", "linalg", "masked", "overrides",
        "profiler", "random", "signal", "special",
    ],
    ["__init__"],
    ["demo", "script", "stubs"],
    ["__main__"],
]  # fmt: skip
"""From the top of the house down. A module may import from floors above its own, and from its own room."""

OPS = [
    "overloads", "signatures", "operator", "assignment", "checks", "comparison", "conversion", "random", "dropout",
    "elementwise", "special", "shape", "strided", "reductions", "indexing", "joining", "sorting", "scans", "matmul",
    "einsum", "activations", "losses", "convolving", "convolution", "resampling", "pooling", "patches", "normalization",
    "embedding", "attention", "quantiles", "histograms", "sets", "fft", "bessel", "polynomials", "distributions",
    "solving", "lu", "ldl", "determinants", "distances", "matrix_functions", "eigen", "svd", "cholesky", "qr",
    "pseudoinverse", "grid_sampling", "bags", "ctc", "recurrent", "packing", "unpooling", "segments", "margins",
    "adjoints", "foreign", "levels", "conventions", "page", "__main__",
]  # fmt: skip
"""Inside ``ops`` there is an order too: a module imports only from those before it."""

JAX_ROOMS = {"execution", "ops", "interop", "demo"}
"""Where arrays are computed with. All others pass the seam (or compare us with jax on purpose)."""

UNKNOWN = {
    "tape": ["jax", "numpy"],
    "engine": ["jax", "numpy"],
    "nn": ["tapegrad.tape.node", "tapegrad.engine"],
    "optim": ["tapegrad.tape.node", "tapegrad.engine"],
    "distributions": ["tapegrad.tape", "tapegrad.engine", "tapegrad.ops"],
}
"""What a room must never know, though it stands above."""


@dataclass(frozen=True)
class Import:
    """One import: of ``target`` (a dotted name) in ``module``.

    ``lazy`` if it stands inside a function; ``typing`` if only type checkers see it.
    """

    module: str
    target: str
    line: int
    lazy: bool = False
    typing: bool = False

    def __str__(self):
        return f"{self.module}:{self.line} imports {self.target}"


def modules_of(package):
    """Dotted name to path, for every module of a package; a package is called by its own name."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = [package.name, *path.relative_to(package).with_suffix("").parts]
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(name, path, modules):
    """All imports of a module. ``from package import module`` counts as one of ``package.module``.

    What a facade names in its table of what is imported ``on_demand`` counts as imported by it.
    """
    found = []

    def visit(node, lazy, typing):
        if isinstance(node, ast.Import):
            found.extend(Import(name, alias.name, node.lineno, lazy, typing) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = absolute(node, name, path)
            targets = [f"{base}.{alias.name}" for alias in node.names]
            targets = {target if target in modules else base for target in targets}
            found.extend(Import(name, target, node.lineno, lazy, typing) for target in sorted(targets))
        found.extend(Import(name, home, line) for _, home, line in on_demand(node))
        lazy = lazy or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        typing = typing or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
        for child in ast.iter_child_nodes(node):
            visit(child, lazy, typing)

    visit(ast.parse(path.read_text()), False, False)
    return found


def on_demand(node):
    """If this is a call of ``on_demand``: what it names, the module that has it, and the line."""
    is_table = isinstance(node, ast.Call) and ast.unparse(node.func) == "on_demand"
    return [(key.arg, key.value.value, key.value.lineno) for key in node.keywords] if is_table else []


def absolute(node, name, path):
    """The absolute name of the module in ``from ... import``."""
    if not node.level:
        return node.module
    parts = name.split(".")
    parents = parts[: len(parts) - node.level + (path.name == "__init__.py")]
    return ".".join([*parents, *([node.module] if node.module else [])])


def room_of(name):
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def floor_of(name):
    room = room_of(name)
    return next((number for number, rooms in enumerate(FLOORS) if room in rooms), None)


def check_direction(imports, package):
    """Upward imports, imports between rooms of one floor, imports against the order inside ``ops``."""
    for one in imports:
        if one.target.split(".")[0] != package:
            continue
        if floor_of(one.target) is None or floor_of(one.module) is None:
            unknown = one.target if floor_of(one.target) is None else one.module
            yield f"{unknown} is in no room; say in tests/test_layers.py where it belongs"
        elif room_of(one.module) == room_of(one.target):
            if room_of(one.module) == "ops" and not in_order(one.module, one.target):
                yield f"{one}: against the order inside ops"
        elif floor_of(one.target) >= floor_of(one.module):
            yield f"{one}: upward"


def in_order(module, target):
    name, other = module.split(".")[-1], target.split(".")[-1]
    return name not in OPS or other not in OPS or OPS.index(other) < OPS.index(name)


def check_cycles(imports, package):
    """Modules that import one another; what only type checkers see is no import."""
    graph = {}
    for one in imports:
        if one.target.split(".")[0] == package and not one.typing:
            graph.setdefault(one.module, set()).add(one.target)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        yield f"cycle: {' <- '.join(error.args[1])}"


def check_lazy(imports, package):
    for one in imports:
        if one.lazy and one.target.split(".")[0] == package:
            yield f"{one}: inside a function"


def check_jax(imports, package):
    """Only public names of jax, only in the rooms that compute."""
    for one in imports:
        if one.target.split(".")[0] not in ("jax", "jaxlib"):
            continue
        if one.target.split(".")[0] == "jaxlib" or "_src" in one.target or one.target.startswith("jax.interpreters"):
            yield f"{one}: not public"
        if room_of(one.module) not in JAX_ROOMS:
            yield f"{one}: this room passes the seam"


def check_unknown(imports, package):
    for one in imports:
        for forbidden in UNKNOWN.get(room_of(one.module), []):
            if (one.target + ".").startswith(forbidden + "."):
                yield f"{one}: which it must never know"


CHECKS = [check_direction, check_cycles, check_lazy, check_jax, check_unknown]


@cache
def imports_in(package):
    modules = modules_of(package)
    return [one for name, path in modules.items() for one in imports_of(name, path, modules)]


def complaints(check, package):
    return list(check(imports_in(package), package.name))


def private_names(package):
    """Uses of ``jax._src`` and of other private names of jax that are no imports."""
    for name, path in modules_of(package).items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
                root = node
                while isinstance(root, ast.Attribute):
                    root = root.value
                if isinstance(root, ast.Name) and root.id in ("jax", "jnp", "lax"):
                    yield f"{name}:{node.lineno} uses {ast.unparse(node)}"


def replaced_by_modules(package):
    """What is imported on demand, but has the name of another module: whoever imports that puts it in its place."""
    modules = modules_of(package)
    for name, path in modules.items():
        for node in ast.walk(ast.parse(path.read_text())):
            for given, home, line in on_demand(node):
                if f"{name}.{given}" in modules and home != f"{name}.{given}":
                    yield f"{name}:{line} gives {given}, which is a module too"


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
def test_the_house_keeps_its_rules(check):
    assert complaints(check, PACKAGE) == []


def test_no_private_names_of_jax():
    assert list(private_names(PACKAGE)) == []


def test_no_module_takes_the_place_of_what_is_imported_on_demand():
    assert list(replaced_by_modules(PACKAGE)) == []


def test_every_room_is_on_the_list():
    known = {room for floor in FLOORS for room in floor}
    assert {room_of(name) for name in modules_of(PACKAGE)} - known == set()


def test_every_module_of_ops_has_its_place():
    names = {path.stem for path in (PACKAGE / "ops").glob("*.py")} - {"__init__"}
    assert names - set(OPS) == set()


# -- the checker itself can fail ---------------------------------------------------------------------------------------


def house(root, **files):
    """A synthetic package ``house`` with these sources; ``ops__scan`` is ``ops/scans.py``."""
    package = root / "house"
    for name, source in {"__init__": "", **files}.items():
        path = package.joinpath(*name.split("__")) if not name.startswith("__") else package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".py").write_text(source)
    return package


@pytest.mark.parametrize(
    ("check", "files", "complaint"),
    [
        (check_direction, {"tape": "import house.engine", "engine": ""}, "house.tape:1 imports house.engine: upward"),
        (check_direction, {"tape": "from house import engine", "engine": ""}, "upward"),
        (check_direction, {"tape__node": "from ..engine import Engine", "engine": ""}, "house.engine: upward"),
        (check_direction, {"ops__scans": "import house"}, "house.ops.scans:1 imports house: upward"),
        (check_direction, {"nn": "from house.optim import SGD", "optim": ""}, "upward"),
        (check_direction, {"ops__operator": "from house.ops.scans import cumsum", "ops__scans": ""}, "inside ops"),
        (check_direction, {"attic": "import house.tape", "tape": ""}, "house.attic is in no room"),
        (check_direction, {"autograd": "def f():\n    from house.nn import Module", "nn": ""}, "upward"),
        (check_direction, {"func": "on_demand('x', a='house.nn')", "nn": ""}, "house.func:1 imports house.nn: upward"),
        (check_cycles, {"tape__a": "import house.tape.b", "tape__b": "from house.tape import a"}, "cycle"),
        (check_cycles, {"nn__a": "from . import b", "nn__b": "from . import c", "nn__c": "from .a import x"}, "cycle"),
        (check_cycles, {"tape": "from house import tape"}, "cycle"),
        (check_lazy, {"nn": "def f():\n    from house import tape", "tape": ""}, "house.nn:2 imports house.tape"),
        (check_lazy, {"nn": "class A:\n    def f(self):\n        import house.tape", "tape": ""}, "inside a function"),
        (check_jax, {"ops__scans": "from jax._src import core"}, "not public"),
        (check_jax, {"execution": "import jaxlib"}, "not public"),
        (check_jax, {"functions__shape": "import jax.numpy as jnp"}, "this room passes the seam"),
        (check_jax, {"dispatch": "def f():\n    from jax import jit"}, "this room passes the seam"),
        (check_unknown, {"engine": "import jax"}, "must never know"),
        (check_unknown, {"tape__node": "from numpy import ndarray"}, "must never know"),
        (check_unknown, {"nn__module": "from house.tape import node", "tape__node": ""}, None),
        (check_unknown, {"nn__module": "from tapegrad.tape.node import Node"}, "must never know"),
    ],
)  # fmt: skip
def test_the_checker_finds(tmp_path, check, files, complaint):
    found = complaints(check, house(tmp_path, **files))
    if complaint is None:  # another package of the same shape
        assert found == []
    else:
        assert len(found) == 1 and complaint in found[0]


def test_the_checker_finds_private_names(tmp_path):
    package = house(tmp_path, ops="import jax\ny = jax._src.core.Tracer\nz = jax.numpy.sin.__name__")
    assert list(private_names(package)) == ["house.ops:2 uses jax._src"]


def test_the_checker_finds_modules_in_the_place_of_names(tmp_path):
    source = "on_demand('house',\n  step='house.steps',\n  scan='house.steps',\n  ops='house.ops')"
    package = house(tmp_path, __init__=source, steps="", scan="", ops="")
    assert list(replaced_by_modules(package)) == ["house:3 gives scan, which is a module too"]


def test_a_tidy_house_has_no_complaints(tmp_path):
    package = house(
        tmp_path,
        errors="import math",
        tape__node="from house.errors import message",
        execution__kernel="import jax",
        ops__operator="import jax.numpy as jnp\nfrom house.tape import node",
        ops__scan="from house.ops.operator import linear\nfrom house.ops import operator",
        nn__modules="from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from house.nn import functional",
        nn__functional="from .modules import Linear\nclass A:\n    import math",
        __main__="import house",
    )
    assert [complaints(check, package) for check in CHECKS] == [[]] * len(CHECKS)


def foreign_imports(folder, foreign):
    """The lines of the modules right in a folder that import one of the modules named."""
    for path in sorted(folder.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            yield from (f"{path.name}:{node.lineno}" for name in names if name.partition(".")[0] in foreign)


def test_only_parity_tests_need_pytorch():
    tests = Path(__file__).resolve().parent
    foreign = {"torch", *(path.stem for path in (tests / "parity").glob("*.py"))}
    assert list(foreign_imports(tests, foreign)) == []


def test_foreign_imports_are_found(tmp_path):
    (tmp_path / "a.py").write_text("import os\n\ndef f():\n    import torch.nn as nn\n")
    (tmp_path / "b.py").write_text("from harness import agree\nfrom torchlike import x\n")
    assert list(foreign_imports(tmp_path, {"torch", "harness"})) == ["a.py:4", "b.py:1"]
