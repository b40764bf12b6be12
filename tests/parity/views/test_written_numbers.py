"""Numbers that a tensor's dtype can't hold, written into it: what wraps around, what is refused."""

import pytest
from harness import agree, attempt

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore:Casting complex")]

VALUES = [-1.5, 300.75, 3e9, float("nan"), -200.0]
WIDE = ("float32", "float16")
NARROW = ("uint8", "int8", "int16", "int32", "int64", "bool")

WRITES = [
    "z[:] = x", "z[None] = x", "z[True] = x", "z[0] = x[0]", "z[1:3] = x[1]", "z[torch.tensor(0)] = x[0]", "z.copy_(x)",
    "z.fill_(x[0])", "z.t()[:] = x", "z.view(5)[:] = x", "z.data = z.data; z[:] = x",
    "z = z.slice_scatter(x)", "z = z[None].select_scatter(x, 0, 0)", "z = x.sum(dtype=z.dtype)",
    "z = x.cumsum(0, dtype=z.dtype)", "z[z == 0] = x[0]", "z.masked_fill_(z == 0, x[0])",
    "z.index_fill_(0, torch.tensor([1]), x[0])", "z = x.to(z.dtype)", "torch.sum(x[None], 0, out=z)",
]  # fmt: skip
FILLS = [
    "z[0] = v", "z.fill_(v)", "z.copy_(v)", "z.masked_fill_(z == 0, v)", "z[z == 0] = v", "z[torch.tensor([0])] = v",
    "z.index_fill_(0, torch.tensor([0]), v)", "z = torch.full(z.shape, v, dtype=z.dtype)", "z = torch.full_like(z, v)",
    "z = torch.nn.functional.pad(z, (1, 1), value=v)", "z.scatter_(0, torch.tensor([0]), v)",
    "z[z == 0] = torch.tensor(v)", "z.masked_fill_(z == 0, torch.tensor(v))",
    "z.index_fill_(0, torch.tensor([0]), torch.tensor(v))",
]  # fmt: skip
NUMBERS = [-1, -1.5, -0.5, -255, -256, 255.5, 256, 1 + 0j, 1 + 1j, -1 + 0j, float("nan"), 1e30, 70000, 2**62, True]


def written(torch, statement, **names):
    names["torch"] = torch
    exec(statement, names)
    return names["z"]


@pytest.mark.parametrize("statement", WRITES)
def test_a_tensor_that_does_not_fit(statement):
    def program(torch):
        for wide in WIDE:
            for narrow in NARROW:
                x = torch.tensor(VALUES).to(getattr(torch, wide))
                z = torch.zeros(5, dtype=getattr(torch, narrow))
                yield attempt(lambda x=x, z=z: written(torch, statement, x=x, z=z))

    agree(lambda torch: list(program(torch)))


@pytest.mark.parametrize("statement", FILLS)
@pytest.mark.parametrize("count", [1, 2])
def test_a_number_that_does_not_fit(statement, count):
    def program(torch):
        for kind in (*NARROW, "float16", "bfloat16", "float32"):
            for number in NUMBERS:
                z = torch.zeros(count, dtype=getattr(torch, kind))
                yield attempt(lambda z=z, number=number: written(torch, statement, z=z, v=number))

    agree(lambda torch: list(program(torch)))
