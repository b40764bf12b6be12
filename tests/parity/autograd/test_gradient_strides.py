"""How gradients lie in memory that hooks and ``autograd.grad`` show: Note [Gradients as views], beside PyTorch's."""

import pytest
from harness import agree, attempt

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]


def other(torch):
    return torch.arange(6.0).view(2, 3)


FUNCTIONS = {
    "sum": lambda torch, x: x.sum(),
    "sum of a dimension": lambda torch, x: (x.sum(1) * torch.ones(2)).sum(),
    "sum of the first": lambda torch, x: (x.sum(0) * torch.ones(3)).sum(),
    "sum, kept": lambda torch, x: (x.sum(-1, keepdim=True) * torch.ones(2, 1)).sum(),
    "sum of sums": lambda torch, x: x.sum(1).sum(),
    "mean": lambda torch, x: x.mean(),
    "mean of a dimension": lambda torch, x: x.mean(0).sum(),
    "expand": lambda torch, x: x.expand(4, 2, 3).sum(),
    "t": lambda torch, x: (x.t() * torch.ones(3, 2)).sum(),
    "t, sum": lambda torch, x: x.t().sum(),
    "transpose": lambda torch, x: x.transpose(0, 1).cos().sum(),
    "permute": lambda torch, x: (x[None].permute(2, 0, 1) * torch.ones(3, 1, 2)).sum(),
    "movedim": lambda torch, x: (x.movedim(0, 1) * torch.ones(3, 2)).sum(),
    "mT": lambda torch, x: (x.mT @ torch.ones(2, 2)).sum(),
    "a product of transposed": lambda torch, x: (x.t() @ other(torch)).sum(),
    "elementwise": lambda torch, x: (x * other(torch).t().contiguous().t()).sum(),
    "elementwise, transposed": lambda torch, x: x.t().exp().sum(),
    "through a sum": lambda torch, x: (x + 1).sum(),
    "clone": lambda torch, x: x.clone().sum(),
    "contiguous": lambda torch, x: x.t().contiguous().sin().sum(),
    "reshape": lambda torch, x: x.t().reshape(6).sum(),
    "view": lambda torch, x: x.view(3, 2).t().sin().sum(),
    "unsqueeze": lambda torch, x: (x.t().unsqueeze(1) * torch.ones(3, 1, 2)).sum(),
    "squeeze": lambda torch, x: (x.t()[None].squeeze() * torch.ones(3, 2)).sum(),
    "two that meet": lambda torch, x: x.sum() + x.sum(),
    "two transposed": lambda torch, x: (x.t() * torch.ones(3, 2)).sum() + (x.t() * torch.ones(3, 2)).sum(),
    "softmax": lambda torch, x: (x.t() / 8).softmax(1).square().sum(),  # of the sum it is rounding alone
    "var": lambda torch, x: x.t().var(),
}  # fmt: skip


def shown(torch, g):
    """What can be seen of a gradient's memory, and done with it."""
    lies = [g.stride(), g.is_contiguous(), g.storage_offset(), g.untyped_storage().nbytes(), (g * 2).stride()]
    written = attempt(lambda: g.detach().add_(1).tolist())
    one = attempt(lambda: g.detach()[0, 0].mul_(5).tolist())
    return [*lies, attempt(lambda: g.view(-1).shape), written, one, g.tolist()]


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradient(name, create_graph):
    def program(torch):
        x, account = other(torch).requires_grad_(), []
        y = x * 1
        y.retain_grad()
        y.register_hook(lambda g: account.append([g.stride(), g.is_contiguous(), g.detach().clone()]))
        out = FUNCTIONS[name](torch, y)
        account += shown(torch, torch.autograd.grad(out, y, create_graph=create_graph, retain_graph=True)[0])
        out.backward(create_graph=create_graph)
        return account, y.grad.stride(), x.grad.stride(), x.grad

    agree(program)


def test_what_a_node_is_given():
    def program(torch):
        account, x = [], other(torch).requires_grad_()
        y = x.t() + 1
        y.grad_fn.register_prehook(lambda grads: account.append([g.stride() for g in grads]))
        y.grad_fn.register_hook(lambda ins, outs: account.append([g.stride() for g in (*ins, *outs) if g is not None]))
        z = y.sum()
        z.backward()
        return account

    agree(program)


def test_a_strided_seed():
    def program(torch):
        x = other(torch).requires_grad_()
        seeds = [torch.ones(1).expand(2, 3), other(torch).t().contiguous().t(), other(torch)]
        functions = lambda x: x + 1, lambda x: x * 2
        return [torch.autograd.grad(f(x), x, seed)[0].stride() for f in functions for seed in seeds]

    agree(program)


def test_a_pass_that_is_remembered():
    def program(torch):
        x, seen = other(torch).requires_grad_(), []
        for _ in range(6):
            y = x.t()
            for _ in range(20):
                y = y + 1
            seen.append(torch.autograd.grad(y.sum() + y.sum(), x)[0].stride())
        return seen

    agree(program)


def test_a_hook_that_gives_another():
    def program(torch):
        x = other(torch).requires_grad_()
        y = x * 1
        y.register_hook(lambda g: g.t().contiguous().t())
        z = y + 1
        z.register_hook(lambda g: g * 2)
        return torch.autograd.grad(z.sum(), [y, x])[0].stride()

    agree(program)


def test_gradients_of_two_shapes_meet():
    """The graph was made when the leaf had one dimension less, and somewhere there is a hook."""

    def program(torch):
        (torch.ones(1, requires_grad=True) * 1).register_hook(lambda g: None)
        x = torch.ones(()).expand(2, 3).requires_grad_()
        y = x * 2
        with torch.no_grad():
            x.unsqueeze_(0)
        torch.autograd.backward([y.sum(), x.sum()])
        return x.grad, x.grad.stride()

    agree(program)


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_a_custom_function_is_given(name, create_graph):
    """Its backward sees the gradient as it lies, and what it makes of it goes on so."""

    def program(torch):
        account = []

        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                account.append([grad.stride(), attempt(lambda: grad.view(-1).shape)])
                return grad * 2

        x = other(torch).requires_grad_()
        FUNCTIONS[name](torch, Double.apply(Double.apply(x.t()).t())).backward(create_graph=create_graph)
        return account, x.grad, x.grad.stride()

    agree(program)


@pytest.mark.parametrize("how", ["grad of itself", "functional.vjp"])
def test_a_gradient_given_with_gaps_can_be_read(how):
    """It is the window itself in PyTorch; here it has memory of its own, without gaps."""

    def program(lib):
        x = lib.tensor([[0.0, 1.25], [0.75, 0.5]])[:, ::2].requires_grad_()
        if how == "functional.vjp":
            found = lib.autograd.functional.vjp(lambda x: x, (x,), x)[1][0]
        else:
            (found,) = lib.autograd.grad(x, x, x.detach())
        return found.numpy().tolist(), (found * 2).tolist(), found.t().tolist()

    agree(program)
