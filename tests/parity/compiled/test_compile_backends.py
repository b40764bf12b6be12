"""``torch.compile`` with a function as its backend: the graphs that it is given, and what comes of what it gives."""

import importlib

import pytest
import torch as pytorch

import tapegrad

pytestmark = [
    pytest.mark.parity,
    pytest.mark.once("graphs are run as they are"),
    pytest.mark.filterwarnings("ignore:.*global hooks on modules"),  # which other tests may have left in PyTorch
]


@pytest.fixture(autouse=True)
def dynamo():
    """PyTorch's compiler, whose import takes longer than to list all tests."""
    importlib.import_module("torch._dynamo.testing")


class Kept:
    """A backend that keeps what it is given."""

    def __init__(self):
        self.graphs = []

    def __call__(self, gm, example_inputs):
        self.graphs.append((gm, example_inputs))
        return gm.forward


def seen(torch, program, *makers):
    """The graphs of two calls of a program, in words, and what the calls gave."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    backend = Kept()
    made = program(torch)
    compiled = torch.compile(made, backend=backend)
    results = [compiled(*(maker(torch) for maker in makers)) for _ in range(2)]
    graphs = [[node.op + " " + target_of(node) for node in gm.graph.nodes] for gm, _ in backend.graphs]
    inputs = [[tuple(one.shape) for one in examples] for _, examples in backend.graphs]
    return graphs, inputs, [plain(torch, one) for one in results]


def target_of(node):
    """The name of what a node calls; an argument's, where it is one."""
    return node.target if isinstance(node.target, str) else node.target.__name__


def plain(torch, value):
    """Tensors as lists."""
    if isinstance(value, torch.Tensor):
        return value.detach().tolist(), value.requires_grad, str(value.dtype)
    if isinstance(value, dict):
        return {key: plain(torch, one) for key, one in value.items()}
    return [plain(torch, one) for one in value] if isinstance(value, (list, tuple)) else value


def three(torch):
    return torch.tensor([1.0, -2.0, 3.0])


def rows(torch):
    return torch.arange(6.0).view(2, 3)


def graded(torch):
    return three(torch).requires_grad_()


def closed_over(torch):
    w = torch.ones(3)
    return lambda x, y: {"a": x @ w + y, "b": [x]}


def module(torch):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.rows = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
            self.norm = torch.nn.BatchNorm1d(2)
            self.register_buffer("scale", torch.tensor([1.0, 2.0]))

        def forward(self, x):
            return self.norm(self.rows(x) * self.scale)

    net = Net()
    for parameter in net.parameters():
        torch.nn.init.constant_(parameter, 0.5)
    return net


def branches(torch):
    def f(x):
        y = x * 2
        if y.sum() > 0:
            return y + 1
        return y - 1

    return f


def reads(torch):
    def f(x):
        n = x.sum().item()
        return x * n

    return f


def prints(torch):
    def f(x):
        y = x + 1
        torch._dynamo.graph_break()
        return y * 2

    return f


def differentiates(torch):
    def f(x):
        loss = (x * x).sum()
        loss.backward()
        return x.grad * 2

    return f


def writes(torch):
    def f(x):
        x.add_(1)
        x[0] = 5
        return x.mul(2)

    return f


def without_grad(torch):
    def f(x):
        with torch.no_grad():
            y = x * 2
        return y + x

    return f


def appends(torch):
    def f(x):
        kept = []
        for one in x.unbind(0):
            kept.append(one.sin())
        return torch.stack(kept), len(kept)

    return f


PROGRAMS = {
    "methods and functions": (
        lambda torch: lambda x, y: (torch.relu(x.sin()) + torch.cos(y), x.shape[0]),
        three,
        three,
    ),
    "operators": (lambda torch: lambda x: (2 * x, 1 / x, x**2, -x, x < 1, x[:, None], 2 - x), three),
    "what is closed over": (closed_over, three, three),
    "a module": (module, rows),
    "a branch": (branches, three),
    "an element": (reads, three),
    "a break": (prints, three),
    "a backward pass": (differentiates, graded),
    "writes": (writes, three),
    "no grad": (without_grad, graded),
    "parts": (appends, rows),
    "factories": (lambda torch: lambda x: torch.zeros(3) + x + torch.full((3,), 2.0), three),
    "numbers": (lambda torch: lambda x, n: x * n + n, three, lambda torch: 3),
    "results that are arguments": (lambda torch: lambda x: (x, x + 1), three),
    "several results": (lambda torch: lambda x: torch.sort(x)[0] + torch.max(x, 0).values, three),
    "losses": (lambda torch: lambda x: torch.nn.functional.mse_loss(x, x * 2), three),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_graphs(name):
    """Backends are given the same graphs, and calls give the same."""
    program, *makers = PROGRAMS[name]
    theirs, ours = seen(pytorch, program, *makers), seen(tapegrad, program, *makers)
    assert ours[:2] == theirs[:2] and close(ours[2], theirs[2])


@pytest.mark.parametrize("torch", [pytorch, tapegrad], ids=["pytorch", "tapegrad"])
def test_what_a_backend_gives_is_called(torch):
    torch._dynamo.reset()
    called = []

    def doubling(gm, example_inputs):
        return lambda *inputs: called.append(len(inputs)) or [out * 2 for out in gm(*inputs)]

    f = torch.compile(lambda x: x + 1, backend=doubling)
    assert f(torch.ones(2)).tolist() == [4.0, 4.0] and f(torch.ones(2)).tolist() == [4.0, 4.0]
    assert called == [1, 1]


@pytest.mark.parametrize("torch", [pytorch, tapegrad], ids=["pytorch", "tapegrad"])
def test_counters(torch):
    torch._dynamo.reset()
    counter = torch._dynamo.testing.CompileCounter()
    f = torch.compile(lambda x: x.sin() + 1, backend=counter)
    x = torch.ones(3)
    for given in (x, x, x.double(), x.double(), x.clone().requires_grad_()):
        f(given)
    assert (counter.frame_count, counter.op_count) == (3, 6)


@pytest.mark.parametrize("torch", [pytorch, tapegrad], ids=["pytorch", "tapegrad"])
def test_names_of_backends(torch):
    torch._dynamo.reset()
    name = f"mine_{torch.__name__}"
    seen = []

    def mine(gm, example_inputs):
        seen.append(type(gm).__name__)
        return gm

    torch._dynamo.register_backend(mine, name=name)
    assert torch.compile(lambda x: x + 1, backend=name)(torch.ones(1)).tolist() == [2.0]
    assert seen == ["GraphModule"] and name in torch._dynamo.list_backends()
    assert torch._dynamo.lookup_backend(name) is mine
    with pytest.raises(AssertionError, match=f"duplicate name: {name}"):
        torch._dynamo.register_backend(mine, name=name)
    with pytest.raises(RuntimeError, match="Invalid backend: 'nobody'"):
        torch._dynamo.lookup_backend("nobody")


def fails(gm, example_inputs):
    raise ValueError("no such luck")


@pytest.mark.parametrize("torch", [pytorch, tapegrad], ids=["pytorch", "tapegrad"])
@pytest.mark.parametrize(
    ("backend", "says"),
    [(fails, "backend='fails' raised:\nValueError: no such luck"), (lambda gm, inputs: 3, "did not return callable")],
)
def test_backends_that_fail(torch, backend, says):
    torch._dynamo.reset()
    x = torch.ones(2)
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match=says):
        torch.compile(lambda x: x.add_(1), backend=backend)(x)
    assert x.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("torch", [pytorch, tapegrad], ids=["pytorch", "tapegrad"])
@pytest.mark.parametrize("name", ["a branch", "a break", "a backward pass"])
def test_fullgraph(torch, name):
    """Graphs must not end early; what the call has written by then is undone."""
    program, maker = PROGRAMS[name]
    torch._dynamo.reset()
    made, x = program(torch), maker(torch)
    before = x.tolist()
    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(made, backend=Kept(), fullgraph=True)(x)
    assert x.tolist() == before


def test_a_step_of_training():
    """A step is the same compiled as uncompiled: parameters, buffers, and what is drawn."""
    torch = tapegrad
    found = []
    for compiled in (False, True):
        torch.manual_seed(3)
        net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Dropout(0.4))
        optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)

        def step(x):
            optimizer.zero_grad()  # noqa: B023 - it is called in the loop
            loss = net(x).square().mean()  # noqa: B023
            loss.backward()
            optimizer.step()  # noqa: B023
            return loss

        torch._dynamo.reset()
        call = torch.compile(step, backend=Kept()) if compiled else step
        losses = [call(torch.arange(12.0).view(4, 3) / 12 + i).item() for i in range(3)]
        found.append((losses, [one.tolist() for one in net.state_dict().values()]))
    assert close(*found)


def close(one, other):
    """Whether two nested lists hold about the same numbers."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(close(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(close, one, other))
    return one == (pytest.approx(other, rel=1e-5, abs=1e-6) if isinstance(one, float) else other)


@pytest.mark.parametrize("torch", [pytorch, tapegrad], ids=["pytorch", "tapegrad"])
def test_histories_of_results(torch):
    """What a compiled call gives has a history, through which gradients come to arguments and modules."""
    torch._dynamo.reset()
    net = torch.nn.Linear(2, 2)
    call = torch.compile(net, backend=Kept())
    x = torch.ones(3, 2, requires_grad=True)
    call(x).sum().backward()
    assert x.grad.shape == (3, 2) and net.bias.grad.tolist() == [3.0, 3.0]


@pytest.mark.parametrize("torch", [pytorch, tapegrad], ids=["pytorch", "tapegrad"])
def test_errors_of_programs(torch):
    """What a program has done before its error stays done."""
    torch._dynamo.reset()

    def f(x):
        x.add_(1)
        torch._dynamo.graph_break()
        raise KeyError("mine")

    x = torch.zeros(2)
    with pytest.raises(KeyError, match="mine"):
        torch.compile(f, backend=Kept())(x)
    assert x.tolist() == [1.0, 1.0]
