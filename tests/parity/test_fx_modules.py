"""Modules that run graphs: their code, copies and pickles; interpreters and transformers."""

import pytest
from fx_programs import programs, same_account

pytestmark = [pytest.mark.parity, pytest.mark.once("nothing is computed, or a few numbers")]

PROGRAMS = r'''
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
'''


@pytest.mark.parametrize("program", programs(PROGRAMS))
def test_programs(program):
    same_account(program)
