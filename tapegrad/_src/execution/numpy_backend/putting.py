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
from tapegrad._src.tape.sources import defined

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
    places = [f"y{index}" for index in range(count)]
    for place, value in zip(places, last.value.elts, strict=True):
        made = _assigned(tree, value.id) if isinstance(value, ast.Name) else value
        put = _put_into(made, place, names)
        if not put:
            tree.body += ast.parse(f"{PUT}({place}, {ast.unparse(value)})").body
        elif value is made:
            tree.body.append(ast.Expr(value))
    tree.args.args += [ast.arg(place) for place in places]
    if not tree.body:
        tree.body.append(ast.Pass())
    lines = ast.unparse(ast.fix_missing_locations(tree)).splitlines()
    return defined(lines, tree.name, {**names, PUT: np.copyto})


def _assigned(tree: ast.FunctionDef, name: str) -> ast.expr | None:
    """The expression that a name stands for, if it is assigned once, in a line of its own that is always run."""
    stores = [one for one in ast.walk(tree) if isinstance(one, ast.Name) and one.id == name
              and isinstance(one.ctx, ast.Store)]  # fmt: skip
    if len(stores) != 1:
        return None
    return next((line.value for line in tree.body if isinstance(line, ast.Assign) and line.targets == stores), None)


def _put_into(made: ast.expr | None, place: str, names: dict[str, Any]) -> bool:
    """Have a call of a ufunc put its result into an array; False if it is none, or does so already."""
    if not isinstance(made, ast.Call) or not isinstance(made.func, ast.Name):
        return False
    called = names.get(made.func.id)
    function = getattr(called, "ufunc", called)
    if not isinstance(function, np.ufunc) or function.nout != 1:
        return False
    others = [word for word in made.keywords if word.arg != "out"]
    already = [word.value for word in made.keywords if word.arg == "out"] + made.args[function.nin :]
    if others or len(made.args) < function.nin or any(isinstance(one, ast.Name) and one.id in PLACES for one in already):
        return False
    made.args[function.nin :] = []
    made.keywords = [ast.keyword("out", ast.Name(place, ast.Load()))]
    return True


PLACES = frozenset(f"y{index}" for index in range(64))
"""The names of arrays that results are put into."""


def multiplies(function: Callable) -> bool:
    """Tell whether a written function calls BLAS.

    >>> multiplies(defined(["def f(x):", "    return x.dot(x)"], "f", {})), multiplies(defined(["def f(x):", "    x"], "f", {}))
    (True, False)
    """
    seen, names = set(), {function.__name__}
    waiting = [function]
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
