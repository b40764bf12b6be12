"""Modules that run graphs: their code, copies and pickles; interpreters and transformers."""

import pytest
from fx_programs import programs, same_account

pytestmark = [pytest.mark.parity, pytest.mark.once("nothing is computed, or a few numbers")]

PROGRAMS = r"""
def f(x):
    return x
g = fx.symbolic_trace(f, concrete_args={"x": {"a": fx._symbolic_trace.PH, "b": [fx._symbolic_trace.PH]}})
print(g.code)
print(g({"a": 1, "b": [2]}))
print(g.print_readable(False))
copy.deepcopy(g).code

class It(fx.Interpreter):
    def call_function(self, target, args, kwargs):
        print(getattr(target, "__name__", target), args, kwargs)
        return super().call_function(target, args, kwargs)
    def call_module(self, target, args, kwargs):
        print(target)
        return super().call_module(target, args, kwargs)
    def call_method(self, target, args, kwargs):
        print(target)
        return super().call_method(target, args, kwargs)
    def get_attr(self, target, args, kwargs):
        print(target)
        return super().get_attr(target, args, kwargs)
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.ReLU()
        self.p = nn.Parameter(torch.ones(2))
    def forward(self, x, y=2):
        return self.lin(x).neg() + self.p * y
gm = fx.symbolic_trace(M())
It(gm).run(torch.ones(2))

class Tr(fx.Transformer):
    def call_function(self, target, args, kwargs):
        if target is torch.sigmoid:
            return torch.neg(*args)
        return super().call_function(target, args, kwargs)
    def call_method(self, target, args, kwargs):
        return super().call_method("relu", args, kwargs)
def f(x, y=1):
    return torch.sigmoid(x).neg() + y
gm = fx.symbolic_trace(f)
t = Tr(gm).transform()
print(t.code, t.graph)
type(t).__name__

class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.g = fx.symbolic_trace(lambda x: x + 1)
        self.h = nn.Sequential(fx.symbolic_trace(nn.ReLU()))
    def forward(self, x):
        return self.h(self.g(x))
class T(fx.Tracer):
    def is_leaf_module(self, m, n):
        return isinstance(m, fx.GraphModule)
m = M()
gm = fx.GraphModule(m, T().trace(m), "Top")
print(gm.print_readable(False))
gm

g = fx.Graph()
x = g.placeholder("x")
with g.inserting_before(x):
    y = g.call_function(torch.ones, (1,))
with g.inserting_after(y):
    z = g.call_function(torch.add, (y, y))
    w = g.call_function(torch.mul, (z, z))
g.output(w)
print(g)
g.on_generate_code(lambda cur: lambda body: ["# hello\n", *body])
print(fx.GraphModule({}, g).code)

g = fx.symbolic_trace(lambda x: x + 1).graph
with g.on_generate_code(lambda cur: lambda body: ["import os\n", *body]):
    print(g.python_code("self").src)
print(g.python_code("self").src)

def f(x):
    return x + 1
gm = fx.symbolic_trace(f)
gm.register_forward_hook(lambda m, i, o: print("hook", o))
gm.register_forward_pre_hook(lambda m, i: print("pre", i))
gm(torch.ones(1))

class G(fx.GraphModule):
    def __init__(self):
        super().__init__(self, fx.Graph())
        x = fx.Proxy(self.graph.placeholder("x"))
        self.graph.output((x * 2).node)
        self.recompile()
    def extra(self):
        return 5
g = G()
print(g, g.extra(), type(g).__name__, type(g).__mro__[1].__name__)
g(3)

g = fx.Graph()
x = g.placeholder("x")
g.call_function(torch.Tensor.add, (x, 1))
g.call_function(torch.float32.to_complex, ()) if hasattr(torch.float32, "zz") else 0
g.call_function(torch.nn.Linear, (1, 1))
g.call_function(typing.cast, (int, x))
g.call_function(torch.Size, ((1,),))
g.call_function(torch.device, ("cpu",))
g.call_function(torch.no_grad, ())
g.call_function(torch.nn.init.ones_, (x,))
g.call_function(torch.Tensor, (x,))
g.call_function(int, (x,))
g.call_function(collections.OrderedDict, ())
g.call_function(torch.autograd.grad, (x,))
g.call_function(torch.tensor, (x,))
g.call_function(math.sqrt, (x,))
g.call_function(torch.utils.checkpoint.checkpoint, (x,))
print(g)
print(g.python_code("self").src)

gm = fx.symbolic_trace(lambda x: x + 1)
gm.register_forward_hook(lambda m, i, o: print("called"))
gm.foo = 5
gm.meta["a"] = [1]
gm.train(False)
twin = copy.deepcopy(gm)
print(twin(1), hasattr(twin, "foo"), twin.meta, twin.meta["a"] is gm.meta["a"], twin.training, len(twin._forward_hooks))
other = copy.copy(gm)
print(other.training, other.meta, other.meta is gm.meta, len(other._forward_hooks))
gm._forward_hooks.clear()
read = pickle.loads(pickle.dumps(gm))
read.training, read.meta, read.foo, type(read).__name__, read(2), read.code

m = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
gm = fx.symbolic_trace(m)
print(gm[0].weight is m[0].weight if hasattr(type(gm), "__getitem__") else getattr(gm, "0").weight is m[0].weight)
print(list(gm.state_dict()), gm.load_state_dict(m.state_dict()))
gm.half().training, [str(p.dtype) for p in gm.parameters()]

gm = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2)))
seen = []
gm._register_create_node_hook(lambda n: seen.append(("made", n.name)))
gm._register_erase_node_hook(lambda n: seen.append(("erased", n.name)))
with gm._set_replace_hook(lambda old, new, user: seen.append((old.name, new, user.name))):
    node = gm.graph.find_nodes(op="call_module")[0]
    with gm.graph.inserting_after(node):
        new = gm.graph.call_function(torch.relu, (node.args[0],))
    node.replace_all_uses_with(new)
    gm.graph.erase_node(node)
seen

gm = fx.symbolic_trace(lambda x: torch.relu(x))
print(len(fx.GraphModule.__new__(fx.GraphModule).__class__.__mro__))
again = fx.symbolic_trace(gm)
again.code == gm.code, again.graph is gm.graph, type(again).__name__

class Doubling(fx.Transformer):
    def call_module(self, target, args, kwargs):
        return super().call_module(target, args, kwargs) * 2
    def get_attr(self, target, args, kwargs):
        return super().get_attr(target, args, kwargs) + 1
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.r, self.p = nn.ReLU(), nn.Parameter(torch.ones(2))
    def forward(self, x):
        return self.r(x) * self.p
new = Doubling(fx.symbolic_trace(M())).transform()
print(new.code)
new(torch.ones(2))

gm = fx.symbolic_trace(lambda x, *, y=2: {"a": [x, (y, x)]})
print(fx.Interpreter(gm).run(1), fx.Interpreter(gm).run(1, 3))
args = [1, 2]
fx.Interpreter(gm).boxed_run(args), args

gm = fx.symbolic_trace(lambda x: x.foo + 1)
fx.Interpreter(gm).run(torch.ones(1))

class Body(fx.graph.CodeGen):
    def gen_fn_def(self, free_vars, annotation, **options):
        return super().gen_fn_def([*free_vars, "extra=3"], annotation, **options) + "\n    x = x + extra"
    def additional_globals(self):
        return [("thing", dict)]
gm = fx.symbolic_trace(lambda x: x * 2)
gm.graph.set_codegen(Body())
print(gm.recompile().src, list(gm.graph.python_code("self").globals))
gm(1), copy.deepcopy(gm)(1)
"""


@pytest.mark.parametrize("program", programs(PROGRAMS))
def test_programs(program):
    same_account(program)
