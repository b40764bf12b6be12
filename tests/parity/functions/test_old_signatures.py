"""Orders of arguments that PyTorch has given up, but still takes: a number before what it multiplies."""

import pytest
from harness import agree, attempt, recorded_warnings

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore:This overload of")]

CALLS = """
m.data.add_(-0.1, n)
m.add(2, n)
m.add_(2, n)
m.add_(2, 3)
m.add_(2, n[:1])
m.add(2, other=n)
m.add(alpha=2, other=n)
m.add_(True, n)
m.long().add_(2.5, n.long())
torch.add(m, 2, n)
torch.add(m, 2, n, out=o)
m.sub(2, n)
m.sub_(2, n)
torch.sub(m, 2, n, out=o)
m.addmm(2, n, k)
m.addmm_(2, n, k)
m.addmm_(2, 3, n, k)
m.addmm(2, mat1=n, mat2=k)
m.addmm(2, n, k, beta=3)
torch.addmm(2, m, n, k)
torch.addmm(2, m, 3, n, k)
torch.addmm(2, m, 3, n, k, out=o)
m.addr_(2, v, w)
m.addr_(2, 3, v, w)
torch.addr(2, m, 3, v, w, out=o)
v.addmv_(2, n, w)
v.addmv_(2, 3, n, w)
torch.addmv(2, v, 3, n, w)
b.baddbmm_(2, c, c)
b.baddbmm_(2, 3, c, c)
torch.baddbmm(2, b, 3, c, c)
m.addbmm_(2, b, c)
m.addbmm_(2, 3, b, c)
torch.addbmm(2, m, 3, b, c)
m.addcmul(2, n, k)
m.addcmul_(2, n, k)
m.addcmul(value=2.0, tensor1=n, tensor2=k)
torch.addcmul(m, 2, n, k, out=o)
m.addcdiv_(2, n, k)
torch.addcdiv(m, 2, n, k)
m.add_("2", n)
torch.add(2, m, n)
"""


def names_for(torch):
    m, b = torch.tensor([[2.0, 0.5], [1.0, 3.0]]), torch.arange(1.0, 9.0).reshape(2, 2, 2)
    return {
        "torch": torch, "m": m, "n": m * 2, "k": m + 1, "o": torch.empty(2, 2), "v": m[0].clone(), "w": m[1].clone(),
        "b": b, "c": b - 3,
    }  # fmt: skip


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_calls(call):
    def account(torch):
        names = names_for(torch)
        return [attempt(lambda: eval(call, names)), names["m"], names["v"], names["b"]]

    agree(account)


@pytest.mark.parametrize("call", ["m.add_(2, n)", "torch.addmm(2, m, 3, n, k)", "v.addmv_(2, 3, n, w)", "m.add(2, n)"])
def test_all_of_them_are_warned_of_once(call):
    def account(torch):
        names, said = names_for(torch), []
        torch.set_warn_always(True)
        try:
            with recorded_warnings() as caught:
                eval(call, names)
        finally:
            torch.set_warn_always(False)
        said.append([str(one.message).split(" (Triggered")[0] for one in caught])
        with recorded_warnings() as caught:
            eval(call, names)
            eval("m.sub_(2, n)", names)
        return said, len(caught)

    agree(account)
