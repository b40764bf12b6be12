"""Written functions that put their results into arrays that are there, instead of giving new ones.

What is written for the host ends with ``return (multiply(v0, x1), )``. Where the array is there that this belongs into,
it is ``multiply(v0, x1, out=y0)`` instead: nothing is copied. What is no call of a ufunc is copied.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._src.execution.numpy_backend.writer import HostCode
from tapegrad._src.tape.kept import defined

PUT = "copyto"
PRODUCTS = frozenset(("dot", "matmul", "vecdot", "einsum", "tensordot", "inner"))
"""The names of functions that are BLAS's."""


def putting(code: HostCode, count: int) -> Callable:
    """A written function of some arrays that gives a tuple of so many, as one that takes as many more to put them into.

    >>> import jax
    >>> from tapegrad._src.execution.numpy_backend.writer import written
    >>> y, double = np.empty(2), putting(written(lambda x: (x + x,), [jax.ShapeDtypeStruct((2,), "float64")]), 1)
    >>> double(np.arange(2.0), y)
    >>> y
    array([0., 2.])
    """
    tree = ast.parse(code.source).body[0]
    assert isinstance(tree, ast.FunctionDef), code.source
    last, names = tree.body.pop(), code.body.__globals__
    assert isinstance(last, ast.Return) and isinstance(last.value, ast.Tuple), code.source
    outputs = [f"y{index}" for index in range(count)]
    taken: set[str] = set()
    for output, value in zip(outputs, last.value.elts, strict=True):
        name = value.id if isinstance(value, ast.Name) else None
        made = [value] if name is None else [] if name in taken else _assigned(tree, name)
        if not made or not all(_can_put(one, names) for one in made):
            tree.body += ast.parse(f"{PUT}({output}, {ast.unparse(value)})").body
            continue
        for one in made:
            _put_into(one, output, names)
        if name is None:
            tree.body.append(ast.Expr(value))
        else:
            taken.add(name)
    tree.args.args += [ast.arg(output) for output in outputs]
    lines = ast.unparse(ast.fix_missing_locations(tree)).splitlines()
    return defined(lines, tree.name, {**names, PUT: np.copyto})


def _assigned(tree: ast.FunctionDef, name: str) -> list[ast.expr]:
    """The expressions that a name stands for, if each is assigned in a line of its own; none, if that is not so."""
    nodes = list(ast.walk(tree))
    stores = [one for one in nodes if isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Store)]
    lines = [one for one in nodes if isinstance(one, ast.Assign) and one.targets[0] in stores]
    loops = any(isinstance(one, (ast.For, ast.While)) for one in nodes)
    return [] if len(lines) != len(stores) or (loops and len(lines) > 1) else [line.value for line in lines]


def _function(made: ast.expr, names: dict[str, Any]) -> tuple[Any, int | None]:
    """The function that an expression calls, if it may put its result somewhere, and the number of its inputs."""
    if not isinstance(made, ast.Call) or not isinstance(made.func, ast.Name):
        return None, None
    called = names.get(made.func.id)
    function = getattr(called, "ufunc", called)
    if isinstance(function, np.ufunc):
        return (function, function.nin) if function.nout == 1 else (None, None)
    return (function, None) if getattr(function, "takes_out", False) else (None, None)


def _can_put(made: ast.expr, names: dict[str, Any]) -> bool:
    """Tell whether an expression is a call that can put its result into an array."""
    function, count = _function(made, names)
    if function is None or not isinstance(made, ast.Call):
        return False
    return len(made.args) >= (count or 0) and all(word.arg == "out" for word in made.keywords)


def _put_into(made: ast.expr, output: str, names: dict[str, Any]) -> None:
    assert isinstance(made, ast.Call)
    _, count = _function(made, names)
    made.args[len(made.args) if count is None else count :] = []
    made.keywords = [ast.keyword("out", ast.Name(output, ast.Load()))]


def multiplies(function: Callable) -> bool:
    """Tell whether a written function calls BLAS.

    >>> multiplies(defined(["def f(x):", "    return x.dot(x)"], "f", {})), multiplies(defined)
    (True, False)
    """
    seen: set[Any] = set()
    names: set[str] = set()
    waiting: list[Any] = [function]
    while waiting:
        one = waiting.pop()
        code = getattr(one, "__code__", None)
        if code is None or code in seen:
            continue
        seen.add(code)
        names.update(code.co_names)
        waiting += [one.__globals__[name] for name in code.co_names if callable(one.__globals__.get(name))]
        wrapped = getattr(one, "__wrapped__", None)
        waiting += [] if wrapped is None else [wrapped]
    return bool(PRODUCTS & names)
