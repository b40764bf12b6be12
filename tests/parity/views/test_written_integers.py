"""Values that require grad, written into tensors of integers and of truth values: what is recorded, what is refused."""

import pytest
from harness import agree, attempt
from viewing import name

pytestmark = pytest.mark.parity


def mask(torch):
    return torch.tensor([True, False, True])


def places(torch):
    return torch.tensor([0, 2])


WRITES = {
    "x[mask] = 0-dim": lambda torch, x, w, ws: x.__setitem__(mask(torch), w),
    "x[mask] = one element": lambda torch, x, w, ws: x.__setitem__(mask(torch), ws[:1]),
    "x[mask] = several": lambda torch, x, w, ws: x.__setitem__(mask(torch), ws[:2]),
    "x[places] = 0-dim": lambda torch, x, w, ws: x.__setitem__(places(torch), w),
    "x[0] = 0-dim": lambda torch, x, w, ws: x.__setitem__(0, w),
    "x[0:2] = 0-dim": lambda torch, x, w, ws: x.__setitem__(slice(0, 2), w),
    "x[0:2] = several": lambda torch, x, w, ws: x.__setitem__(slice(0, 2), ws[:2]),
    "x[...] = 0-dim": lambda torch, x, w, ws: x.__setitem__(..., w),
    "x[...] = several": lambda torch, x, w, ws: x.__setitem__(..., ws),
    "x[True] = 0-dim": lambda torch, x, w, ws: x.__setitem__(True, w),
    "part[0] = 0-dim": lambda torch, x, w, ws: x[1:].__setitem__(0, w),
    "part[mask] = 0-dim": lambda torch, x, w, ws: x[1:].__setitem__(torch.tensor([True, False]), w),
    "part.fill_": lambda torch, x, w, ws: x[1:].fill_(w),
    "index_put_": lambda torch, x, w, ws: x.index_put_((places(torch),), w),
    "index_put_, mask": lambda torch, x, w, ws: x.index_put_((mask(torch),), w),
    "copy_": lambda torch, x, w, ws: x.copy_(ws),
    "copy_ of 0-dim": lambda torch, x, w, ws: x.copy_(w),
    "fill_": lambda torch, x, w, ws: x.fill_(w),
    "masked_fill_": lambda torch, x, w, ws: x.masked_fill_(mask(torch), w),
    "masked_scatter_": lambda torch, x, w, ws: x.masked_scatter_(mask(torch), ws),
    "scatter_": lambda torch, x, w, ws: x.scatter_(0, places(torch), ws),
    "scatter_add_": lambda torch, x, w, ws: x.scatter_add_(0, places(torch), ws),
    "index_add_": lambda torch, x, w, ws: x.index_add_(0, places(torch), ws[:2]),
    "index_copy_": lambda torch, x, w, ws: x.index_copy_(0, places(torch), ws[:2]),
    "index_fill_": lambda torch, x, w, ws: x.index_fill_(0, places(torch), w),
    "put_": lambda torch, x, w, ws: x.put_(places(torch), ws[:2]),
    "add_": lambda torch, x, w, ws: x.add_(ws),
    "mul_": lambda torch, x, w, ws: x.mul_(w),
    "eq_": lambda torch, x, w, ws: x.eq_(w),
    "gt_": lambda torch, x, w, ws: x.gt_(ws),
    "logical_and_": lambda torch, x, w, ws: x.logical_and_(w),
    "where, out": lambda torch, x, w, ws: torch.where(mask(torch), ws, ws, out=x),
    "add, out": lambda torch, x, w, ws: torch.add(x, ws, out=x),
    "data": lambda torch, x, w, ws: setattr(x, "data", ws),
    "masked_fill": lambda torch, x, w, ws: x.masked_fill(mask(torch), w),
    "masked_fill, function": lambda torch, x, w, ws: torch.masked_fill(x, mask(torch), w),
    "masked_scatter": lambda torch, x, w, ws: x.masked_scatter(mask(torch), ws),
    "index_put": lambda torch, x, w, ws: x.index_put((places(torch),), w),
    "index_put, mask": lambda torch, x, w, ws: x.index_put((mask(torch),), w),
    "index_fill": lambda torch, x, w, ws: x.index_fill(0, places(torch), w),
    "scatter": lambda torch, x, w, ws: x.scatter(0, places(torch), ws),
    "select_scatter": lambda torch, x, w, ws: x.select_scatter(w, 0, 0),
    "slice_scatter": lambda torch, x, w, ws: x.slice_scatter(ws[:2], 0, 0, 2),
    "fill": lambda torch, x, w, ws: torch.fill(x, w),
    "where": lambda torch, x, w, ws: torch.where(mask(torch), x, w),
}


def seen(tensor):
    return [str(tensor.dtype), tensor.detach().tolist(), tensor.requires_grad, tensor.is_leaf, name(tensor),
            tensor._version]  # fmt: skip


@pytest.mark.parametrize("dtype", ["int64", "bool"])
@pytest.mark.parametrize("write", WRITES)
def test_what_is_written_into_integers(write, dtype):
    def program(torch):
        x = torch.tensor([5, 6, 7]).to(getattr(torch, dtype))
        view = x[:]
        w, ws = torch.tensor(2.0, requires_grad=True), torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        outcome = attempt(lambda: WRITES[write](torch, x, w, ws))
        told = [seen(outcome)] if isinstance(outcome, torch.Tensor) else [outcome]
        return told, seen(x), seen(view)

    agree(program)


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("write", ["x[mask] = 0-dim", "x[0:2] = 0-dim", "fill_", "part.fill_"])
def test_no_gradient_passes_through_integers(write, create_graph):
    """PyTorch fails by an internal assertion."""

    def program(torch):
        w, other = torch.tensor(2.0, requires_grad=True), torch.ones(3, requires_grad=True)
        x = torch.tensor([5, 6, 7])
        WRITES[write](torch, x, w, None)
        y = (x * other).sum()
        refused = attempt(lambda: torch.autograd.grad(y, [w, other], create_graph=create_graph, retain_graph=True))
        (passed,) = torch.autograd.grad(y, other, create_graph=create_graph)
        return refused[:2], passed.tolist()

    agree(program)
