"""Passes over graphs: patterns that are replaced, shapes, parts."""

import pytest
from fx_programs import programs, same_account

pytestmark = [pytest.mark.parity, pytest.mark.once("nothing is computed, or a few numbers")]

PROGRAMS = r"""
def f(x, w1, w2):
    m1 = torch.cat([w1, w2]).sum()
    m2 = torch.cat([w1, w2]).sum()
    return x + torch.max(m1) + torch.max(m2)
def pat(w1, w2):
    return torch.cat([w1, w2]).sum()
def rep(w1, w2):
    return torch.stack([w1, w2])
gm = fx.symbolic_trace(f)
print(fx.replace_pattern(gm, pat, rep))
gm.code

def f(x):
    return torch.relu(x) + torch.relu(x)
gm = fx.symbolic_trace(f)
m = fx.replace_pattern(gm, lambda x: torch.relu(x), lambda x: torch.sigmoid(x).neg())
print([(i.anchor, i.nodes_map) for i in m])
gm.code

class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)
        self.b = nn.ReLU()
    def forward(self, x):
        return self.b(self.lin(x)) + 1
gm = fx.symbolic_trace(M())
class P(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)
        self.b = nn.ReLU()
    def forward(self, x):
        return self.b(self.lin(x))
class R(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Tanh()
    def forward(self, x):
        return self.q(x)
print(len(fx.replace_pattern(gm, P(), R())))
gm

def f(x, y):
    return x + y + 2
gm = fx.symbolic_trace(f)
print(len(fx.replace_pattern(gm, lambda a, b: a + b, lambda a, b: a * b)))
gm.code

def f(x, y):
    a = x + y
    return a, a * 2
gm = fx.symbolic_trace(f)
print(len(fx.replace_pattern(gm, lambda a, b: (a + b) * 2, lambda a, b: a - b)))
gm.code

def f(x):
    return x + 1
gm = fx.symbolic_trace(f)
fx.replace_pattern(gm, lambda a: a + 1, lambda a, b: a - b)
"""


@pytest.mark.parametrize("program", programs(PROGRAMS))
def test_programs(program):
    same_account(program)
