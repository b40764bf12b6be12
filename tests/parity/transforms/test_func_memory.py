"""The memory of what a transform is given, on both: writes outside that nothing counts, or that are counted, and how
tensors lie inside."""

import pytest
import torch as pytorch
from harness import agree, attempt, leaf

import tapegrad

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore:`torch.jit.script:DeprecationWarning")]


TRANSFORMS = {
    "grad": lambda torch, f, x: torch.func.grad(lambda y: f(y).sum())(x),
    "vjp": lambda torch, f, x: torch.func.vjp(f, x)[1](torch.ones(3))[0],
    "jvp": lambda torch, f, x: torch.func.jvp(f, (x,), (torch.ones(3),))[1],
    "vmap": lambda torch, f, x: torch.func.vmap(f)(x),
    "grad of a vmap": lambda torch, f, x: torch.func.grad(lambda y: torch.func.vmap(f)(y).sum())(x),
    "vmap of grad": lambda torch, f, x: torch.func.vmap(torch.func.grad(f))(x),
    "jacrev": lambda torch, f, x: torch.func.jacrev(lambda y: f(y).sum())(x),
}
FUNCTIONS = {
    "of itself": lambda x: x.sin(),
    "of a view": lambda x: x.reshape(x.shape).sin(),
    "detached": lambda x: x.detach() * x * x,
}


def uncounted(torch, x):
    x.data.mul_(0.5)


def counted(torch, x):
    with torch.no_grad():
        x.mul_(0.5)


@pytest.mark.parametrize("write", (uncounted, counted))
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_writes_after_a_transform(transform, function, write):
    def run(torch):
        x = leaf(torch)
        y = TRANSFORMS[transform](torch, FUNCTIONS[function], x)
        write(torch, x)
        found = attempt(lambda: torch.autograd.grad(y.sum(), x)[0])
        # where the tensor came from is said in other words: the views that PyTorch makes on the way in have nodes
        return "modified by an inplace operation" if "modified by an inplace" in str(found) else found

    agree(run)


@pytest.mark.parametrize("write", (uncounted, counted))
def test_writes_between_a_transform_and_its_pullback(write):
    def run(torch):
        x = leaf(torch).clone()
        pullback = torch.func.vjp(torch.sin, x)[1]
        write(torch, x)
        return pullback(torch.ones(3))[0]

    agree(run)


def test_what_is_captured_is_written():
    def run(torch):
        x, c = leaf(torch), leaf(torch)
        y = torch.func.grad(lambda x: (x.sin() * c.sin()).sum())(x)
        c.data.mul_(0)
        return torch.autograd.grad(y.sum(), [x, c])

    agree(run)


@pytest.mark.parametrize("write", [
    lambda x, y: y.mul_(2), lambda x, y: y[1].mul_(x[1]), lambda x, y: y[:2].copy_(x[:2]), lambda x, y: y.fill_(2),
], ids=["all", "a part", "copied", "filled"])  # fmt: skip
@pytest.mark.parametrize("transform", ["jacrev", "hessian"])
def test_arguments_that_are_not_differentiated_are_written(transform, write):
    def run(torch):
        x, y = leaf(torch).detach(), torch.tensor([0.5, 0.25, 2.0])
        f = lambda x, y: (x.sin() * write(x, y).sum()).sum()
        return getattr(torch.func, transform)(f)(x, y), y

    agree(run)


@pytest.mark.parametrize("transform", ["grad", "grad_and_value", "jacrev", "jacfwd", "hessian"])
def test_out_may_be_a_view_of_what_is_captured(transform):
    def run(torch):
        c = torch.ones(3)

        def f(x):
            torch.add(c[1:], 1, out=c[1:])
            part = c[0]
            torch.mul(part, 3.0, out=part)
            return (x.sin() * c).sum() + part.detach()

        return getattr(torch.func, transform)(f)(leaf(torch).detach()), c

    agree(run)


def test_tensors_that_are_made_inside_are_written():
    """Also where the tangents come by the batch."""

    def run(torch):
        def filled(x):
            out = torch.zeros(3)
            out[0], out[1:] = x[1] * x[2], x[:2].sin()
            return out.mul_(x)

        x, c, forward = leaf(torch).detach(), torch.ones(3), {"vectorize": True, "strategy": "forward-mode"}
        found = torch.autograd.functional.jacobian(filled, x, **forward)
        return found, torch.autograd.functional.jacobian(lambda x: c.mul_(torch.full((3,), 2.0)) * x, x, **forward), c

    agree(run)


MATRICES = {
    "transposed": lambda torch: torch.arange(6.0).view(2, 3).t(),
    "of a batch": lambda torch: torch.arange(24.0).view(2, 3, 4).transpose(1, 2),
    "contiguous": lambda torch: torch.arange(6.0).view(2, 3),
}


@pytest.mark.parametrize("transform, matrix", [("grad", "transposed"), ("grad", "of a batch"), ("grad", "contiguous"),
                                               ("vmap", "of a batch"), ("vmap", "contiguous")])  # fmt: skip
def test_how_tensors_lie_inside(transform, matrix):
    def run(torch):
        seen = []

        def f(x):
            seen.append([x.stride(), (x * 2).stride(), x.is_contiguous(), x.as_strided((2,), (1,)).stride()])
            return (x.as_strided((2,), (1,)) ** 2).sum()

        return getattr(torch.func, transform)(f)(MATRICES[matrix](torch)), seen

    agree(run)


WITH_GAPS = {
    "columns": lambda torch: torch.arange(24.0).view(4, 6)[:, 1:3],
    "every other row": lambda torch: torch.arange(24.0).view(4, 6)[::2],
    "transposed": lambda torch: torch.arange(24.0).view(4, 6)[:, 1:3].t(),
    "expanded": lambda torch: torch.arange(3.0).expand(4, 3),
    "a diagonal": lambda torch: torch.arange(24.0).view(4, 6).diagonal().expand(2, 4),
}


@pytest.mark.parametrize("in_dim", (None, 0, 1))
def test_how_tensors_with_gaps_lie_inside(in_dim):
    def run(torch):
        account = []

        def f(x):
            x = x if x.ndim == 2 else x[None]
            seen = [x.stride(), x.mT.stride(), x.is_contiguous(), (x @ x.mT).shape]
            refused = [attempt(lambda: x.view(-1).stride()), attempt(lambda: (x.select(-1, 0).mul_(2), 0)[1])]
            account.append([seen, [str(item)[:60] for item in refused]])
            return x, x.unsqueeze(0), x * 3

        for make in WITH_GAPS.values():
            x = make(torch)
            if in_dim is None:
                found = torch.func.vjp(f, x)[0]
            else:
                found = torch.vmap(f, in_dims=in_dim)(x)
            account.append([found, [item._is_view() for item in found], x])
        return account

    agree(run)


def test_views_of_what_does_not_lie_in_order_are_refused():
    agree(lambda torch: attempt(lambda: torch.func.grad(lambda x: x.view(-1).sum())(MATRICES["transposed"](torch))))


@pytest.mark.parametrize("place", [((2,), (1,)), ((2,), (1,), 0)])
def test_a_window_on_a_part_of_some_memory_is_refused(place):
    """PyTorch reads what lies beside it, which a transform has not got here: better none than other numbers."""
    part = tapegrad.arange(6.0).view(2, 3)[:, 1:]
    with pytest.raises(NotImplementedError, match="the tensor shows a part of some memory"):
        tapegrad.func.grad(lambda x: x.as_strided(*place).sum())(part)
    assert pytorch.func.grad(lambda x: x.as_strided(*place).sum())(pytorch.arange(6.0).view(2, 3)[:, 1:]).sum() >= 1


def at_once(torch, x, v):
    y = x.sin()
    x.data.mul_(2)
    return y * x.cos()


def through_a_detached(torch, x, v):
    x.detach().mul_(v.detach())
    return x.sin() * v


def by_the_other(torch, x, v):
    return x.mul_(v).sin()


def of_parts(torch, x, v):
    x[...].mul_(2)
    x[...] = 5.0 * v
    return x * v


def through_a_view(torch, x, v):
    part = x.view_as(x)
    part.mul_(v)
    x.add_(1)
    return x * part * v


def that_counts_nothing(torch, x, v):
    with torch.no_grad():
        x.mul_(2)
    return x.sin() * v


WRITES = (at_once, through_a_detached, by_the_other, of_parts, through_a_view, that_counts_nothing)
GIVEN = {
    "grad": lambda torch, f, x, v: torch.func.grad(lambda v, x: f(x, v).sum())(v, x),
    "jvp": lambda torch, f, x, v: torch.func.jvp(f, (x, v), (v, v))[1],
    "vmap": lambda torch, f, x, v: torch.func.vmap(f)(x, v),
    "vmap of jvp": lambda torch, f, x, v: torch.func.jvp(torch.func.vmap(f), (x, v), (v, v))[1],
}
LEAVES = {
    "a result": lambda x: x.clone(),
    "a view": lambda x: x.clone().view(3),
    "a leaf": lambda x: x,
    "without history": lambda x: x.detach().clone(),
}


@pytest.mark.parametrize("given", LEAVES)
@pytest.mark.parametrize("transform", GIVEN)
@pytest.mark.parametrize("write", WRITES)
def test_writes_inside_to_what_was_given(write, transform, given):
    """They are made at once, and what was given has their history."""

    def run(torch):
        start, v = leaf(torch), torch.tensor([2.0, 3.0, 4.0])
        x = LEAVES[given](start)
        y = attempt(lambda: GIVEN[transform](torch, lambda x, v: write(torch, x, v), x, v))
        y = str(y).replace("a view of a leaf", "a leaf") if given == "a leaf" and isinstance(y, list | tuple) else y
        found = None
        if isinstance(y, torch.Tensor):
            found = attempt(lambda: torch.autograd.grad((y * y).sum() + (x * x).sum(), start, allow_unused=True))
        found = "modified by an inplace operation" if "modified by an inplace" in str(found) else found
        return y, x.detach(), v, x._version, type(x.grad_fn).__name__, found

    agree(run)


def test_along_itself():
    def run(torch):
        x = torch.tensor([1.0, 2.0, 3.0])
        return torch.func.jvp(lambda x: at_once(torch, x, None), (x,), (x,)), x

    agree(run)


WRITERS = {
    "the second": lambda x, y: (y.add_(1), x * y)[1],
    "the first": lambda x, y: (x.mul_(y), x * y)[1],
    "both": lambda x, y: (x.add_(1), y.mul_(2), x * y)[2],
    "a part": lambda x, y: (y[1:].mul_(2), x * y)[1],
    "a part of a part": lambda x, y: (y.view(-1)[1:].sub_(2), x * y)[1],
    "afterwards": lambda x, y: (z := x * y, y.add_(1), z * y)[2],
    "copied": lambda x, y: (y.copy_(x * x), x * y)[1],
    "without history": lambda x, y: (y.detach().add_(1), x * y)[1],
}
DIRECTIONS = {
    "themselves": lambda x, y: (x, y),
    "each other": lambda x, y: (y, x),
    "one": lambda x, y: (x, x),
    "the other": lambda x, y: (y, y),
    "views": lambda x, y: (x.view(-1), y[:]),
    "detached": lambda x, y: (x.detach(), y.detach()),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_directions_that_are_primals_are_written(writer):
    def run(torch):
        account = []
        for directions in DIRECTIONS.values():
            for transform in ("jvp", "vmap of jvp"):
                x, y = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0.5, 4.0, 1.5])
                along = lambda x, y, d=directions: torch.func.jvp(WRITERS[writer], (x, y), d(x, y))
                if transform == "jvp":
                    account.append([along(x, y), x, y, x._version, y._version])
                else:
                    x, y = x.expand(2, 3).clone(), y.expand(2, 3).clone()
                    account.append([torch.vmap(along)(x, y), x, y])
        return account

    agree(run)


TWICE = {
    "a": lambda a, b: a.mul_(2) * b,
    "b alone": lambda a, b: (a.mul_(2), b * 3)[1],
    "both": lambda a, b: (a.mul_(2), b.mul_(3), a * b)[2],
    "through a view": lambda a, b: (a.view(-1).mul_(2), a * b)[1],
    "a view from before": lambda a, b: (b.view(-1), a.mul_(2))[0].sin(),
    "a view of a view": lambda a, b: (b.view(-1)[:1], a.mul_(2))[0].sin(),
    "a transposed view": lambda a, b: (b.unsqueeze(0).mT, a.mul_(2))[0].sin(),
    "one of several views": lambda a, b: (b.unbind()[0], a.mul_(2))[0].sin(),
    "a view that is written twice": lambda a, b: (a.view(-1)[1:].mul_(2).mul_(3), b.sin())[1],
}
TO_BOTH = {
    "vmap": lambda torch, f, x: torch.vmap(f)(x, x),
    "vmap of a view": lambda torch, f, x: torch.vmap(f)(x, x[:]),
    "vmap of one": lambda torch, f, x: torch.vmap(f, in_dims=(0, None))(x, x[0]),
    "vjp": lambda torch, f, x: torch.func.vjp(lambda y: f(x, y), x)[0],
    "jvp": lambda torch, f, x: torch.func.jvp(f, (x, x), (torch.ones(2, 3), torch.ones(2, 3))),
    "jvp along itself": lambda torch, f, x: torch.func.jvp(f, (x, x), (x, x)),
    "vmap of jvp": lambda torch, f, x: torch.vmap(lambda a, b: torch.func.jvp(f, (a, b), (a, b)))(x, x),
}


@pytest.mark.parametrize("function", TWICE)
@pytest.mark.parametrize("transform", TO_BOTH)
def test_what_was_given_twice_is_written(transform, function):
    """Who else shows the memory has the history of the write."""

    def run(torch):
        start = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
        x = start * 1
        y = attempt(lambda: TO_BOTH[transform](torch, TWICE[function], x))
        y = y if isinstance(y, tuple) else (y,)
        found = [part for part in y if isinstance(part, torch.Tensor)]
        grads = attempt(lambda: torch.autograd.grad(sum((part * part).sum() for part in (*found, x)), start))
        said = str(y).partition(" of ")[2] if not found else [part.detach() for part in found]
        return said, x.detach(), x._version, type(x.grad_fn).__name__, grads

    agree(run)


RETURNED = {
    "vjp": lambda torch, f, x: torch.func.vjp(f, x)[0],
    "jvp": lambda torch, f, x: torch.func.jvp(f, (x,), (torch.ones_like(x),))[0],
    "besides": lambda torch, f, x: torch.func.grad(lambda x: (x.abs().sum(), f(x)), has_aux=True)(x)[1],
    "vmap": lambda torch, f, x: torch.vmap(f)(x),
    "vmap to another place": lambda torch, f, x: torch.vmap(f, out_dims=-1)(x),
    "vmap of vjp": lambda torch, f, x: torch.vmap(lambda x: torch.func.vjp(f, x)[0])(x),
}
VIEWS = {
    "itself": lambda x: x,
    "view": lambda x: x.view(-1),
    "transposed": lambda x: x.unsqueeze(0).mT,
    "part of a view": lambda x: x.view(-1)[1:],
    "one of several": lambda x: x.unbind()[0],
    "detached": lambda x: x.detach(),
    "conjugate": lambda x: x.conj(),
    "adjoint": lambda x: x.unsqueeze(0).mH,
    "imaginary": lambda x: x.imag,
    "as real": lambda x: x.view_as(x).real,
    "result": lambda x: x * 2,
}


@pytest.mark.parametrize("write", ("none", "to the view", "to what was given"))
@pytest.mark.parametrize("function", VIEWS)
@pytest.mark.parametrize("transform", RETURNED)
def test_what_is_returned_is_a_view(transform, function, write):
    """Of what was given, if it is one inside: who writes to one of the two gives the other its history."""

    def run(torch):
        start = torch.tensor([[1 + 2j, 3 - 1j], [2 - 1j, 4 + 3j]], requires_grad=True)
        x = start * 1
        y = RETURNED[transform](torch, VIEWS[function], x)
        seen = [y is x, y._is_view(), y._base is x, y.stride(), y.storage_offset(), y.is_conj(), y.requires_grad]
        target = {"none": None, "to the view": y, "to what was given": x}[write]
        failed = None if target is None else str(attempt(lambda: target.mul_(2).shape))[:90].replace("Alias", "Unbind")
        loss = lambda: sum((part * part.conj()).real.sum() for part in (x, y))
        grads = str(attempt(lambda: torch.autograd.grad(loss(), start)[0].tolist())).replace("Alias", "Unbind")
        return seen, failed, grads.partition(", which is output")[0], x.detach(), attempt(y.detach)

    agree(run)


@pytest.mark.parametrize("name", ("unsafe_chunk", "unsafe_split"))
def test_parts_that_count_their_own_writes(name):
    def run(torch):
        start = torch.tensor([[1.5, 2.0], [0.25, 1.0]], requires_grad=True)
        x = start * 1

        def f(y):
            part = getattr(y, name)(1, 0)[0]
            part.add_(0.5)
            return part * y

        y = torch.vmap(f)(x)
        found = str(attempt(lambda: torch.autograd.grad(y.sum() + (x * x).sum(), start)[0]))
        return y.detach(), x.detach(), x._version, type(x.grad_fn).__name__, found.partition(", which is output")[0]

    agree(run)


def test_what_was_written_when_a_function_raises_stays_written():
    def run(torch):
        x, seen = torch.tensor([1.0, 2.0, 3.0]), []

        def f(y):
            y.mul_(2)
            seen.append(x.tolist())
            raise ValueError

        return attempt(lambda: torch.func.vmap(f)(x)), seen, x

    agree(run)
