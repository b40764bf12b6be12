"""Writes that overlap what they read, or themselves: refused where PyTorch refuses them, before anything is changed."""

import pytest
import torch as pytorch
from harness import agree, attempt

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore:Use of .* on expanded tensors is deprecated")]

MASKS = """
m[1:].masked_fill_(m[:-1], False)
m.masked_fill_(m, False)
m[1:].masked_scatter_(m[:-1], torch.tensor([True, True]))
m[1:].__setitem__(m[:-1], False)
m[1:].__setitem__(m[:-1], torch.tensor([False]))
m.__setitem__(m, False)
m[1:].logical_and_(m[:-1])
"""
INDICES = """
i.index_fill_(0, i, 0)
i.index_fill_(0, i[:], 0)
i.index_fill_(0, torch.tensor([0]), i[1])
i.masked_fill_(i > 0, i[1])
i.__setitem__(i, 0)
i.__setitem__(torch.tensor([0, 1]), i[1:])
i.put_(i, torch.tensor([5, 5, 5]))
i.index_put_((i,), torch.tensor(5))
i.scatter_(0, i, 7)
i.scatter_add_(0, i, torch.ones(3, dtype=torch.int64))
i.index_add_(0, i, torch.ones(3, dtype=torch.int64))
i.index_copy_(0, i, torch.ones(3, dtype=torch.int64))
torch.gather(i, 0, i, out=i)
torch.take_along_dim(i, i, 0, out=i)
torch.index_add(i, 0, torch.tensor([0, 1, 2]), x.long(), out=i)
torch.index_add(x.long(), 0, torch.tensor([0, 1, 2]), i, out=i)
torch.index_copy(i, 0, torch.tensor([0, 1, 2]), x.long(), out=i)
torch.index_copy(x.long(), 0, torch.tensor([0, 1, 2]), i, out=i)
torch.index_reduce(x.long(), 0, torch.tensor([0, 1, 2]), i, "prod", out=i)
"""
NUMBERS = """
torch.cross(x, y, dim=0, out=x)
torch.linalg.cross(y, x, out=x)
torch.cumsum(x[:-1], 0, out=x[1:])
torch.cumsum(x, 0, out=x)
x[1:].lerp_(x[:-1], 0.5)
x[1:].bernoulli_(x[:-1] * 0)
x[1:].zero_().bernoulli_(x[:-1])
x[1:].copy_(x[:-1])
x.ldexp_(x[1:2].long())
x.ldexp_(x[:1])
x.expand(3, 3).copy_(torch.ones(3, 3))
x.expand(3, 3).masked_fill_(torch.ones(3, 3, dtype=torch.bool), 3)
"""


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("call", (MASKS + INDICES + NUMBERS).split("\n"))
def test_calls(call):
    def account(torch):
        names = {
            "torch": torch, "m": torch.tensor([True, False, True]), "i": torch.tensor([0, 1, 2]),
            "x": torch.tensor([0.0, 1.0, 0.0]), "y": torch.tensor([1.0, 2.0, 3.0]),
        }  # fmt: skip
        done = attempt(lambda: eval(call or "None", names))
        refused = isinstance(done, list) and done[:1] == ["raised"]
        return [done if refused else None, names["m"], names["i"], names["x"]]

    agree(account)


SETS = ["whole storage", "typed storage", "tensor"]


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("source", SETS)
@pytest.mark.parametrize("kind", ["plain", "NumPy's", "seen by NumPy", "a part"])
def test_sets_within_and_beyond_a_storage(source, kind):
    def account(torch):
        seen, places = [], ((0, (8,), (1,)), (2, (3,), (1,)), (5, (), ()), (1, (2, 2), (2, 1)), (5, (0,), (1,)))
        for offset, size, stride in places:
            x = {"a part": torch.ones(8)[2:6]}.get(kind, torch.ones(4))
            if kind == "NumPy's":
                x = torch.from_numpy(pytorch.ones(4).numpy())
            elif kind == "seen by NumPy":
                x.numpy()
            given = {"whole storage": x.untyped_storage, "tensor": lambda x=x: x}.get(source, x.storage)()
            y = torch.empty(0)
            done = attempt(lambda: [*y.set_(given, offset, size, stride).shape])  # noqa: B023
            if done[:1] != ["raised"]:  # PyTorch's has its new shape then, though it is refused
                done += [*y.stride(), y.storage_offset()]
            seen.append([*done, x.untyped_storage().nbytes()])
        return seen

    agree(account)
