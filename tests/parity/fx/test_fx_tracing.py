"""Tracing: what becomes of what a function does with proxies."""

import re

import pytest
from fx_programs import programs, same_account
from harness import agree

pytestmark = [pytest.mark.parity, pytest.mark.once("nothing is computed, or a few numbers")]

FUNCTIONS = r"""
def f(x):
    if x:
        return 1
    return 2

def f(x):
    for a in x:
        pass

def f(x):
    return len(x)

def f(x):
    return int(x)

def f(x):
    return float(x)

def f(x):
    return range(x)

def f(x):
    return [1, 2][x]

def f(x):
    return {**x}

def f(x):
    a, b = x
    return a

def f(x):
    return bool(x)

def f(x):
    return x and x

def f(x):
    assert x > 0
    return x

def f(x):
    return not x

def f(x):
    x[0] = 1
    return x

def f(x):
    return x.foo.bar(1)

def f(x):
    return x(1)

def f(x):
    return "%s" % x

def f(x):
    return f"{x}"

def f(x):
    return x in [1]

def f(x):
    return 1 in x

def f(x):
    return {x: 1}

def f(x):
    return -x + (+x)

def f(x):
    x.a = 1
    return x

def f(x):
    return str(x)

def f(x):
    return list(x)

def f(x):
    return x.keys()

def f(x):
    return divmod(x, 2)

def f(x):
    return round(x)

def f(x):
    return torch.zeros(x)

def f(x):
    return torch.arange(x.shape[0])

def f(x):
    return object()

def f(x):
    return {1: x}

def f(x):
    return {"a": {"b": slice(x, None)}}

def f(x):
    return (x,), [x]

def f(x):
    return torch.nn.functional.linear(x, torch.ones(2, 2))

def f(x):
    return x**True, 2 // x, 3 % x, 4 << x, 5 >> x, 6 & x, 7 | x, 8 ^ x, 9.0 / x

def f(x):
    import copy
    return copy.copy(x)

def f(x):
    import copy
    return copy.deepcopy(x)

def f(x):
    return getattr(x, "y")

def f(x):
    return x.dtype, x.device

def f(x):
    return torch.tensor([x])

def f(x):
    return torch.tensor(1.0) + x

def f(x):
    return complex(x)

def f(x):
    x = x.clone()
    x += 1
    x @= x
    return x

def f(x):
    return isinstance(x, torch.Tensor), type(x).__name__

def f(x):
    return x.__class__.__name__

def f(x):
    return torch.is_tensor(x)

def f(x):
    return torch.float32, x

def f(x):
    return range(2), x

def f(x):
    return None

def f(x):
    return 1

def f(x):
    return ..., x

def f(x):
    return x.size(0) > 1

def f(x):
    return torch.Size([1, 2]), x

def f(x):
    import collections
    return collections.OrderedDict(a=x)

def f(x):
    import collections
    return collections.namedtuple("N", "a")(x)

def f(x):
    return {1: 2}[x]

def f(x):
    yield x

def f(x):
    del x[0]
    return x

def f(x):
    return x.__add__(1), x.__radd__(1)

def f(x):
    return torch.no_grad(), x

def f(x):
    return {x.shape: 1}

def f(x):
    return set([1]), x

def f(x):
    return b"a", x

def f(x):
    import operator
    return operator.mul(x, 2), operator.is_(x, 2), operator.pos(x)

def f(x):
    with torch.no_grad():
        y = x + 1
    return y
"""


@pytest.mark.parametrize("program", programs(FUNCTIONS))
def test_functions(program):
    same_account(f"{program}\ngm = fx.symbolic_trace(f)\ngm.code + str(gm.graph)")


PROGRAMS = r"""
def f(x, y):
    return x * y if y else x
fx.symbolic_trace(f, concrete_args={"y": True}).code

def f(x, y):
    return x * y if y is None else x
fx.symbolic_trace(f, concrete_args={"y": None}).code

def f(x, y):
    return x * y if y == "a" else x
fx.symbolic_trace(f, concrete_args={"y": "a"}).code

def f(x, y):
    return x * y if y == "a" else x
fx.symbolic_trace(f, concrete_args={"y": torch.ones(2)}).code

def f(x):
    return x["a"] + x["b"][0]
g = (
    fx.symbolic_trace(f, concrete_args={"x": {"a": fx.PH, "b": [fx.PH, 3]}})
    if hasattr(fx, "PH")
    else fx.symbolic_trace(f, concrete_args={"x": {"a": fx._symbolic_trace.PH, "b": [fx._symbolic_trace.PH, 3]}})
)
print(g.code)
print(g.graph)
print(g({"a": 1, "b": [2, 3]}))
print(g({"a": 1, "b": [2, 4]}))

def f(x, y):
    return x
fx.symbolic_trace(f, concrete_args=(1,))

def f(x, y=2, *a, z=5, **k):
    return x
fx.symbolic_trace(f, concrete_args={"y": 2}).code

def f(x, *a, **k):
    return helper(x, *a, **k)
def helper(x, *a, **k):
    return x + len(a)
fx.symbolic_trace(f).code

class M(nn.Module):
    def forward(*args):
        return args[0]
fx.symbolic_trace(M()).code

class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = [nn.Linear(2, 2)]
    def forward(self, x):
        return self.l[0](x)
fx.symbolic_trace(M()).code

class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = [nn.Parameter(torch.ones(2))]
    def forward(self, x):
        return self.l[0] + x
fx.symbolic_trace(M()).code

class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.ModuleList([nn.Linear(2, 2), nn.Sequential(nn.ReLU())])
        self.d = nn.ModuleDict({"a": nn.Tanh()})
        self.p = nn.ParameterList([nn.Parameter(torch.ones(2))])
    def forward(self, x):
        for m in self.l:
            x = m(x)
        return self.d["a"](x) + self.p[0]
g = fx.symbolic_trace(M())
print(g.state_dict().keys())
print(g)
[(n.name, n.target, n.meta) for n in g.graph.nodes]

class Inner(nn.Module):
    def forward(self, x, k=2):
        return x * k
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.i = Inner()
        self.lin = nn.Linear(2, 2)
    def forward(self, x):
        return self.i(self.i(x), k=3) + self.lin.weight
class T(fx.Tracer):
    def is_leaf_module(self, m, name):
        print("leaf?", type(m).__name__, name)
        return isinstance(m, Inner)
t = T()
g = t.trace(M())
print(g, t.root.__class__.__name__, t.node_name_to_scope)
gm = fx.GraphModule(t.root, g)
print(gm.code)
[(n.name, n.meta) for n in fx.symbolic_trace(M()).graph.nodes]

class T(fx.Tracer):
    def to_bool(self, p):
        return True
    def iter(self, p):
        return iter([p[0], p[1]])
    def keys(self, p):
        return ["a"]
    def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None, proxy_factory_fn=None):
        return super().create_proxy(kind, target, args, kwargs, "n_" + str(kind), type_expr)
def f(x):
    if x > 0:
        y = sum(i for i in x)
    return {**x}, y
print(T().trace(f))

class T(fx.Tracer):
    trace_asserts = True
def f(x):
    assert x.sum() > 0
    assert x.shape[0] == 2, "msg"
    assert x
    return x
print(fx.GraphModule({}, T().trace(f)).code)

class T(fx.Tracer):
    proxy_buffer_attributes = True
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.ones(2))
        self.p = nn.Parameter(torch.ones(3, 4))
    def forward(self, x):
        return self.b + x, self.p.shape, self.p + 1
print(fx.GraphModule(M(), T().trace(M())).code) if False else None
m = M()
t = T()
g = t.trace(m)
print(fx.GraphModule(m, g).code)
t = fx.Tracer(param_shapes_constant=True)
g = t.trace(m)
print(fx.GraphModule(m, g).code)

class T(fx.Tracer):
    record_stack_traces = True
def f(x):
    return (x + 1).relu()
g = T().trace(f)
print([bool(n.stack_trace) for n in g.nodes])

t = fx.Tracer(autowrap_functions=(abs,), autowrap_modules=(math, operator))
def f(x):
    return abs(x) + math.sqrt(x) + math.pi
fx.GraphModule({}, t.trace(f)).code

Pt = collections.namedtuple("Pt", "a b")
def f(x):
    return Pt(x, x + 1)
g = fx.symbolic_trace(f)
print(g.code, g.graph)
g(1)

@dataclasses.dataclass
class D:
    a: int
    b: object = 2
def f(x):
    return D(x)
g = fx.symbolic_trace(f)
print(g.code)
g(1)

class E(enum.Enum):
    A = 1
def f(x):
    return x.foo(E.A), x
fx.symbolic_trace(f).code

x = fx.Proxy(fx.Graph().placeholder("x"))
torch.is_tensor(x), isinstance(x, fx.Proxy), callable(x), hasattr(x, "foo"), hasattr(x, "__len__")

g = fx.Graph()
x = fx.Proxy(g.placeholder("x"))
y = copy.copy(x)
y.node

x = fx.Proxy(fx.Graph().placeholder("x"))
x.__deepcopy__({})

x = fx.Proxy(fx.Graph().placeholder("x"))
torch.randn(x)

x = fx.Proxy(fx.Graph().placeholder("x"))
torch.zeros(2, dtype=x.dtype, device=x.device), torch.ones(2).to(x)
"""


@pytest.mark.parametrize("program", programs(PROGRAMS))
def test_programs(program):
    same_account(program)


def test_nodes_know_the_lines_that_made_them():
    def program(torch):
        class Model(torch.nn.Module):
            def forward(self, x):
                return doubled(x) + 1

        def doubled(x):
            return torch.sin(x) * 2

        tracer = torch.fx.Tracer()
        tracer.record_stack_traces = True
        graph = tracer.trace(Model())
        places = [re.findall(r"line \d+, in (?:forward|doubled)", node.stack_trace or "") for node in graph.nodes]
        return list(zip([node.name for node in graph.nodes], places, strict=True))

    agree(program)


def test_verbose_code_says_which_line_it_is_of():
    import tapegrad as torch

    class Model(torch.nn.Module):
        def forward(self, x):
            return x + 1

    tracer = torch.fx.Tracer()
    tracer.record_stack_traces = True
    code = tracer.trace(Model()).python_code("self", verbose=True).src
    assert re.search(r"# File: .*test_fx_tracing.py:\d+ in forward, code: return x \+ 1\n    add = x \+ 1", code)
