"""``.data`` of another shape or dtype: what was recorded goes on taking gradients of what was; the rest is refused."""

import numpy as np
import pytest
from harness import agree, attempt, same_error

pytestmark = pytest.mark.parity

DATA = {
    "transposed": lambda torch, x: x.data.t(),
    "another order": lambda torch, x: torch.ones(3, 2).t(),
    "larger": lambda torch, x: torch.ones(4, 3),
    "row": lambda torch, x: torch.ones(3),
    "number": lambda torch, x: torch.ones(()),
    "float64": lambda torch, x: torch.ones(2, 3).double(),
    "float64, transposed": lambda torch, x: torch.ones(3, 2).double(),
    "float16": lambda torch, x: torch.ones(2, 3).half(),
    "more dimensions": lambda torch, x: torch.ones(1, 2, 3),
    "expanded": lambda torch, x: torch.ones(3).expand(2, 3),
}
USES = {"scaled": lambda x: x * 3, "squared": lambda x: x * x}


def shown(grad):
    return None if grad is None else [tuple(grad.shape), str(grad.dtype), grad.tolist()]


def matrix(torch):
    return torch.arange(6.0).reshape(2, 3).requires_grad_()


def gradients(torch, a, x, outputs):
    """Those that backward accumulates, and those that ``grad`` gives, for each output by itself."""

    def accumulated(out):
        a.grad = None
        out.backward(retain_graph=True)
        return shown(a.grad), x.is_leaf and shown(x.grad)

    def returned(out):
        return [shown(g) for g in torch.autograd.grad(out, [x, a], retain_graph=True)]

    return [[attempt(lambda out=out, f=f: f(out)) for f in (accumulated, returned)] for out in outputs]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("is_leaf", [True, False], ids=["leaf", "result"])
def test_graphs_from_before_and_after(is_leaf, data, use):
    """Beside an old graph that is alive the accumulator of a leaf takes what it took; without one it is made anew."""

    def program(torch, before, after):
        a = matrix(torch)
        x = a if is_leaf else a * 2
        outputs = [USES[use](x).sum()] if before else []
        x.data = DATA[data](torch, x)
        if after:
            outputs.append(USES[use](x).sum())
        return gradients(torch, a, x, outputs)

    for before, after in ((True, False), (True, True), (False, True)):
        agree(lambda torch: program(torch, before, after))  # noqa: B023 - called at once


@pytest.mark.filterwarnings("ignore:grad and param do not obey")
@pytest.mark.parametrize("data", DATA)
def test_added_to_a_gradient_that_is_there(data):
    def program(torch):
        a = matrix(torch)
        a.grad = torch.ones(2, 3)
        y = a * 3
        a.data = DATA[data](torch, a)
        return attempt(lambda: y.backward(torch.ones(2, 3))), shown(a.grad)

    agree(program)


def test_hooks_see_what_is_accumulated():
    def program(torch):
        a, log = matrix(torch), []
        a.register_hook(lambda grad: log.append(shown(grad)))
        a.register_post_accumulate_grad_hook(lambda leaf: log.append(shown(leaf.grad)))
        y = a * 3
        a.data = torch.ones(4, 3)
        y.backward(torch.ones(2, 3))
        return log

    agree(program)


def test_recorded_backward():
    def program(torch):
        a = matrix(torch)
        x = a * 2
        x.data = torch.ones(2, 3).double()
        (first,) = torch.autograd.grad((x * x * x).sum(), a, create_graph=True)
        x.data = torch.ones(3, 2)
        again = attempt(lambda: torch.autograd.grad((x * x).sum(), a, create_graph=True))
        return shown(first), first.requires_grad, attempt(lambda: shown(torch.autograd.grad(first.sum(), a)[0])), again

    agree(program)


def test_what_was_saved_has_another_shape():
    def program(torch, a):
        y = (a * a).sum()
        a.data = a.data.t()
        y.backward()

    def to_a_leaf(torch, a):
        kept = a * a
        a.data = a.data[0]
        torch.autograd.grad((a * 2).sum(), a)
        del kept

    same_error(program, np.arange(6.0).reshape(2, 3))
    same_error(to_a_leaf, np.arange(6.0).reshape(2, 3))


def test_what_a_write_through_a_view_saved_has_another_shape():
    def program(torch):
        a, account = matrix(torch), []
        for data in (torch.full((3,), 2.0).double(), torch.full((), 3.0), torch.ones(4)):
            x, w = a * 2, torch.ones(3, requires_grad=True)
            x[0].mul_(w)
            w.data = data
            account.append(attempt(lambda x=x, w=w: [shown(g) for g in torch.autograd.grad(x.sum(), [a, w])]))
        return account

    agree(program)


@pytest.mark.parametrize("turn", ["unsqueeze_(0)", "t_()", "transpose_(0, 1)", "squeeze_()"])
@pytest.mark.parametrize("used", [True, False])
def test_a_tensor_was_turned_in_place_where_nothing_is_recorded(turn, used):
    """It keeps its place in the graph, which takes gradients of the shape that it had."""

    def program(torch):
        account = []
        for make in (lambda x: x, lambda x: x.view(x.shape), lambda x: x.requires_grad_() * 1):
            x = torch.arange(6.0).reshape(1, 6) if "sq" in turn else torch.arange(6.0).reshape(2, 3)
            y = make(x).requires_grad_()
            y.retain_grad()
            earlier = [y * y] if used else []
            with torch.no_grad():
                eval(f"y.{turn}", {"y": y})
            account.append([attempt((y * 2).sum().backward), tuple(y.shape), y.grad, x.grad])
            account.append([attempt((first.sum() + (y * 2).sum()).backward) for first in earlier])
        return account

    agree(program)


def test_an_expanded_leaf_was_turned_in_place():
    def program(torch):
        x = torch.ones(()).expand(2, 3).requires_grad_()
        y = x * 2
        with torch.no_grad():
            x.unsqueeze_(0)
        torch.autograd.backward([y.sum(), x.sum()])
        return x.grad

    agree(program)


RESIZED = {
    "a result": lambda torch, a: a.mean(),
    "a part": lambda torch, a: (a * 3)[:2],
    "a leaf": lambda torch, a: torch.tensor([0.5, 1.0], requires_grad=True),
    "a number": lambda torch, a: torch.tensor(0.5, requires_grad=True),
}


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("name", RESIZED)
@pytest.mark.parametrize("used", [True, False])
def test_what_is_written_to_is_resized(name, used):
    def program(torch):
        a = torch.tensor([1.25, 0.5, 0.25], requires_grad=True)
        b = RESIZED[name](torch, a)
        before = b * 3 if used else b.detach()
        with torch.no_grad():
            torch.add(a, 1, out=b)

        def backward(x):
            a.grad = None
            if b.is_leaf:
                b.grad = None  # else PyTorch would add what doesn't fit
            x.sum().backward(retain_graph=True)
            return shown(a.grad), b.is_leaf and shown(b.grad)

        return [attempt(lambda: backward(b)), used and attempt(lambda: backward(before))]

    agree(program)
