"""Trees of expressions and statements, and the printer: Note [Expressions]."""

import numpy as np
import pytest

from tapegrad._src.execution.numpy_backend.expression import (
    ALL,
    BACKWARDS,
    Assign,
    Attribute,
    Constant,
    Do,
    For,
    Index,
    Infix,
    Invocation,
    Lambda,
    Name,
    Return,
    Slice,
    Star,
    Try,
    Walrus,
    While,
    value_of,
)
from tapegrad._src.execution.numpy_backend.operands import along_rows, call, method, put_last
from tapegrad._src.execution.numpy_backend.printing import Printer, needed

pytestmark = pytest.mark.once("no arrays are computed with")

X, Y = Name("x0"), Name("x1")

TEXTS = {
    "exp(x0, 1, key=None)": call(np.exp, X, 1, key=None),
    "x0.T[0, :, ::-1, ...]": Index(Attribute(X, "T"), (0, ALL, BACKWARDS, ...)),
    "x0[2:x1, :3]": Index(X, (Slice(2, Y), Slice(None, 3))),
    "(x0, (x1,), ())": (X, (Y,), ()),
    "x0 or x1": Infix(X, "or", Y),
    "(x0 + 1).T": Attribute(Infix(X, "+", 1), "T"),
    "exp(*x0)": Invocation(np.exp, (Star(X),)),
    "lambda x0: x1": Lambda((X,), Y),
    "reduce_add(x0, -1, 'a', 1.5, True)": call(np.add.reduce, X, -1, "a", 1.5, True),
    "zip(range(3), x0)": call(zip, call(range, 3), X),
    "exp((all, slice(3), x0))": call(np.exp, (ALL, Slice(None, 3), X)),
    "exp(float('-inf'))": call(np.exp, -np.inf),
}


@pytest.mark.parametrize("text", TEXTS)
def test_expressions_are_said_as_python_says_them(text):
    assert Printer().text(TEXTS[text]) == text


def test_names_are_given_in_the_order_in_which_they_are_read():
    one, other = Name(), Name()
    assert Printer().lines([Assign(other, X), Return((one, other))]) == ["v0 = x0", "return (v1, v0)"]


def test_statements_are_lines():
    v, w = Name(), Name()
    body = (Assign((v, w), call(np.modf, X)), Do(method(np.add, "at", v, 0, w)))
    step = While(call(Attribute(Walrus(w, v), "any")), (Assign(Index(v, (w,)), 1),))
    assert Printer().lines([For(v, X, body), Try((step,), IndexError, (Assign((w,), X),))]) == [
        "for v0 in x0:", "    v0, v1 = modf(x0)", "    add.at(v0, 0, v1)",
        "try:", "    while (v1 := v0).any():", "        v0[v1] = 1", "except IndexError:", "    v1, = x0",
    ]  # fmt: skip


def test_statements_are_dropped_where_nothing_reads_them_and_moved_to_what_alone_does():
    v = [Name() for _ in range(4)]
    first, second, last = Assign(v[0], call(np.exp, X)), Assign(v[1], call(np.sin, v[0])), Assign(v[3], 1)
    body, handler = (Assign(v[2], call(np.cos, X)),), (Assign(v[2], v[1]),)
    tried = [first, second, Try(body, IndexError, handler)]
    assert needed([*tried, last], v[2]) == [Try(body, IndexError, (first, second, *handler))]
    assert needed(tried, (v[2], v[0])) == [first, Try(body, IndexError, (second, *handler))]


def test_a_result_is_put_into_memory_that_nobody_reads():
    once = Invocation(np.subtract, (X, call(np.exp, Y)), (), 1)
    assert Printer().text(once) == "subtract(x0, (v0 := exp(x1)), v0)"
    last = Invocation(along_rows(np.maximum), (Name("v"), X), (), 0)
    assert Printer().text(last) == "maximum_by_rows(v, x0)"
    assert Printer().text(put_last(last)) == "maximum_by_rows(v, x0, out=v)"


def test_expressions_are_equal_if_they_say_the_same():
    ones = np.ones(2)
    assert Constant(ones) == Constant(ones) != Constant(ones.copy())
    assert Constant(np.array(1.0)) == Constant(np.array(1.0)) != Constant(np.array(1))
    assert call(np.exp, X, 1) == call(np.exp, X, 1) and hash(call(np.exp, X)) == hash(call(np.exp, X))
    for one, other in [(1, True), (0.0, -0.0), (X, Y), (Name(), Name()), ((1,), (1, 2))]:
        assert call(np.exp, one) != call(np.exp, other)


def test_what_follows_from_constants_has_a_value():
    three = Constant(np.arange(3))
    assert value_of(Index(call(np.add, three, 1), (BACKWARDS,))).tolist() == [3, 2, 1]
    with pytest.raises(NameError):
        value_of(call(np.add, three, X))
