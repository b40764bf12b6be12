"""Graphs and nodes: what makes, moves, prints and checks them."""

import builtins

import pytest
from fx_programs import programs, same_account

pytestmark = [pytest.mark.parity, pytest.mark.once("nothing is computed, or a few numbers")]

GRAPH = """\
g = fx.Graph()
x = g.placeholder("x")
y = g.call_function(torch.add, (x, 1))
o = g.output(y)
"""
"""A graph of one call, with which the programs begin."""

PROGRAMS = r"""
fx.immutable_collections.immutable_dict(a=1).update(b=2)

(
    hash(fx.immutable_collections.immutable_list([1])) == hash((1,)),
    repr(fx.immutable_collections.immutable_list([1])),
    type(y.args),
    type(y.kwargs),
)

g.erase_node(y)

fx.Graph().erase_node(x)

g.create_node("foo", "x")

g.create_node("call_function", "x")

g.call_function(torch.add, [x])

g.call_function(torch.add, (x,), [1])

g.call_module("a")

g.get_attr("a")

gm = fx.GraphModule({}, g)
gm.graph.get_attr("zz")

gm = fx.GraphModule({}, g)
gm.graph.call_module("zz")

fx.GraphModule({}, g)(torch.ones(2))

z = g.call_module("a")
fx.GraphModule({}, g)

z = g.get_attr("a.b")
fx.GraphModule({"a.b": torch.ones(2)}, g).state_dict()

fx.GraphModule(3, g)

g.lint()

y.prepend(o)
g.lint()

y.args = (o,)
g.lint()

y.append(y)
g.lint()

x.append(3)

h = fx.Graph()
h.placeholder("q").append(x)

g.inserting_before(fx.Graph().placeholder("q"))

(
    list(g.nodes),
    len(g.nodes),
    list(reversed(g.nodes)),
    x.next,
    o.next,
    x.prev,
    x.users,
    y.all_input_nodes,
    g.output_node(),
)

g.find_nodes(op="call_function", target=torch.add), g.find_nodes(op="placeholder"), g.find_nodes(op="call_function")

y.replace_all_uses_with(x)
print(g)
g.eliminate_dead_code(), str(g)

y.update_arg(1, 5)
y.update_kwarg("alpha", 2)
y.insert_arg(0, x)
str(g)

y.replace_input_with(x, y)
str(g)

y.name = "foo"
str(g)

y._rename("bar")
str(g)

y.target = torch.mul
str(g), y.is_impure(), x.is_impure(), o.is_impure()

y.type = torch.Tensor
y.format_node(), str(g)

y.type = int
o.type = torch.Tensor
print(g.python_code("self").src)
str(g)

g.python_code("self") == g.python_code("self")

fx.node.map_arg((x, [y, {"a": x}], slice(x, None)), lambda n: n.name)

fx.node.map_arg(x, 3)

fx.node.map_aggregate([1, (2,)], lambda v: v + 1)

fx.map_arg is fx.node.map_arg

fx.wrap(3)

fx.wrap("len")

def f():
    fx.wrap("len")
f()

fx.Proxy(x) + 1, fx.Proxy(x), repr(fx.Proxy(x).foo), list(g.nodes)

fx.Proxy(x).node is x, fx.Proxy(x).tracer.__class__.__name__, fx.Proxy(x).tracer.graph is g

h = fx.Graph()
(
    h.placeholder("class"),
    h.placeholder("x.y"),
    h.placeholder("x"),
    h.placeholder("x"),
    h.placeholder("x_1"),
    h.placeholder("1"),
    h.placeholder("X"),
    h.placeholder("torch"),
    h.placeholder("sum"),
    h.placeholder("device"),
    h.placeholder("a_3"),
    h.placeholder("a_3"),
    h.placeholder("inf"),
    h.placeholder(""),
    h.placeholder("é"),
)

fx.Interpreter(fx.GraphModule({}, g)).run(torch.ones(2))

fx.Interpreter(fx.GraphModule({}, g)).run()

fx.Interpreter(fx.GraphModule({}, g)).run("a")

fx.Interpreter(fx.GraphModule({}, g)).run(1, 2)

fx.GraphModule({}, g)("a")

fx.GraphModule({}, g)()

gm = fx.GraphModule({}, g)
(
    gm.add_submodule("a.b", nn.Linear(1, 1)),
    gm.add_submodule("a.b.weight.c", nn.Linear(1, 1)),
    gm.delete_submodule("a.q"),
    gm.delete_submodule("a.b"),
    gm.delete_submodule(""),
    gm,
)

gm = fx.GraphModule({}, g)
gm.add_submodule("a.b", nn.Linear(1, 1))
gm.delete_all_unused_submodules()
gm

gm = fx.GraphModule({}, g)
gm.graph = 3

gm = fx.GraphModule({}, g)
gm.foo

str(fx.GraphModule({}, g, "Foo"))

gm = fx.GraphModule({}, g)
(
    gm.graph is g,
    g.owning_module is gm,
    type(gm).__name__,
    type(gm).__mro__[1].__name__,
    isinstance(gm, fx.GraphModule),
    type(gm).__qualname__,
)

y.meta["tensor_meta"] = 3
y.meta, y.stack_trace

g.call_function(torch.relu, (3,), name="hey", type_expr=int).format_node()

del y.args

y.args = [x]

y.kwargs = [x]

y.args = (x, 2, [x, (x,)], {"a": x})
y.args, y.kwargs, type(y.args[2]).__name__, type(y.args[3]).__name__, x.users

y.next.op, x._prev.op, g._root.name

y > x, x < y, sorted([y, x])

hash(y) == hash(y), y == x

list(g.graph_copy(fx.Graph(), {}) or [])

h = copy.deepcopy(g)
h is not g and str(h)

gm = copy.deepcopy(fx.GraphModule({}, g, "Foo"))
gm(torch.ones(2)), type(gm).__name__, gm.graph is g

gm = fx.GraphModule({}, g, "Foo")
gm.q = 5
gm2 = copy.copy(gm)
gm2.q, gm2(torch.ones(1))

pickle.loads(pickle.dumps(fx.GraphModule({}, g, "Foo"))).code

pickle.loads(pickle.dumps(fx.GraphModule({}, g, "Foo")))

h = fx.Graph()
a = h.placeholder("a")
b = h.call_function(operator.iadd, (a, 1))
c = h.call_function(operator.setitem, (a, 0, 1))
d = h.call_function(getattr, (a, "x y"))
e = h.call_function(getattr, (a, "t", None))
f = h.call_function(lambda q: q, (a,))
h.output(b)
print(h)
h.python_code("self").src

h = fx.Graph()
h.output(())
h.python_code("m").src

h = fx.Graph()
h.call_function(print, ("a",))
h.python_code("m").src

h = fx.Graph()
h.python_code("m").src

h = fx.Graph()
h.output(None)
h.output(1)
h.lint()

h = fx.Graph()
h.call_function(torch.add, (x,))
h.lint()

h = fx.Graph()
a = h.placeholder("a")
b = h.call_method("relu", (a,))
h.eliminate_dead_code(), str(h)

h = fx.Graph()
a = h.placeholder("a")
b = h.call_method("relu_", (a,))
c = h.call_function(operator.setitem, (a, 0, 1))
d = h.call_function(torch._assert, (a, "m"))
e = h.call_function(torch.dropout, (a, 0.5, True))
f = h.call_function(torch.nn.functional.dropout, (a,))
i = h.call_function(torch.rand, (1,))
j = h.call_function(torch.ops.aten.add_.Tensor, (a, a))
k = h.call_function(torch.ops.aten.add.Tensor, (a, a))
l = h.call_function(print, (a,))
m = h.call_function(operator.iadd, (a, a))
h.output(a)
h.eliminate_dead_code(), str(h)

fx.symbolic_trace(3)

fx.symbolic_trace(nn.Linear(2, 3))

fx.symbolic_trace(fx.GraphModule({}, g)).code

fx.symbolic_trace(len)

fx.symbolic_trace(torch.add)

print(fx.GraphModule({}, g).print_readable(False, include_stride=True, include_device=True))
g.python_code("self", verbose=True).src
"""


@pytest.mark.parametrize("program", programs(PROGRAMS))
def test_programs(program):
    same_account(GRAPH + program)


def test_the_last_result_of_an_interactive_session_is_no_name_of_pythons(monkeypatch):
    monkeypatch.setattr(builtins, "_", 3, raising=False)
    same_account(GRAPH + 'fx.Graph().placeholder("_")')
