"""``make_fx``: the graph of operators that a function is, forward and backward, as PyTorch writes it."""

import pytest
import torch as pytorch
import torch.fx.experimental.proxy_tensor

import tapegrad
import tapegrad.fx.experimental.proxy_tensor

pytestmark = [pytest.mark.parity, pytest.mark.once("graphs are made and run once")]

THREE, ROWS = [1.0, -2.0, 3.0], [[0.5, 1.5, 2.5], [3.5, 4.5, 5.5]]

PROGRAMS = {
    "elementwise": lambda t: lambda x: (t.relu(x.sin() + t.cos(x)) * 2, x.shape[0]),
    "constants": lambda t: lambda x: t.ones(3) * x + t.zeros(3) + t.tensor([1.0, 2.0, 3.0]),
    "softmax": lambda t: lambda x: x.softmax(-1).log(),
    "squared error": lambda t: lambda x: t.nn.functional.mse_loss(x, x * 2),
    "cross entropy": lambda t: lambda x: t.nn.functional.cross_entropy(x, t.tensor([0, 1])),
    "layer norm": lambda t: lambda x: t.nn.functional.layer_norm(x, (3,)),
    "batch norm": lambda t: lambda x: t.nn.functional.batch_norm(x, None, None, training=True),
    "several results": lambda t: lambda x: (t.sort(x)[0], t.max(x, 0).values, x.chunk(3)[1]),
    "views": lambda t: lambda x: (x.view(3, 2), x.t(), x[0], x[:, 1:], x.unsqueeze(0), x.permute(1, 0)),
    "writes": lambda t: lambda x: x.clone().mul_(2).add_(1),
    "reductions": lambda t: lambda x: (x.sum(0), x.mean(), x.amax(1), x.prod(), x.argmax()),
    "products": lambda t: lambda x: (x @ x.t(), t.addmm(t.ones(2), x, x.t()), t.bmm(x[None], x.t()[None])),
    "joining": lambda t: lambda x: (t.cat([x, x]), t.stack([x, x]), x.clamp(0, 1)),
    "factories": lambda t: lambda x: (t.ones(2), t.arange(3), t.full((2,), 3.0), t.zeros_like(x), t.eye(2)),
    "convolution": lambda t: lambda x: t.nn.functional.conv2d(x.view(1, 1, 2, 3), t.ones(1, 1, 2, 2)),
    "indexing": lambda t: lambda x: (x[t.tensor([0, 1])], x.index_select(0, t.tensor([0]))),
    "embedding": lambda t: lambda x: t.nn.functional.embedding(t.tensor([0, 1]), x),
    "dtypes": lambda t: lambda x: (x.double(), x.to(t.int32), x.half()),
    "the argument": lambda t: lambda x: x,
    "a tree": lambda t: lambda x: {"a": x + 1, "b": [x.t(), None, 3]},
    "a gradient of a product": lambda t: t.func.grad(lambda x: (x @ x.t()).sum()),
    "a gradient of a sine": lambda t: t.func.grad(lambda x: x.sin().sum()),
}
FLAT = {"elementwise", "constants", "several results", "writes", "dtypes", "factories"}


def make_fx(torch):
    """The function of a library."""
    return torch.fx.experimental.proxy_tensor.make_fx


def example(torch, name):
    return torch.tensor(THREE if name in FLAT else ROWS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_code(name):
    """The code is PyTorch's; so it is if nothing is computed."""
    theirs = make_fx(pytorch)(PROGRAMS[name](pytorch))(example(pytorch, name)).code
    assert make_fx(tapegrad)(PROGRAMS[name](tapegrad))(example(tapegrad, name)).code == theirs
    traced = make_fx(tapegrad)(PROGRAMS[name](tapegrad), tracing_mode="fake")
    assert traced(example(tapegrad, name)).code == theirs


GRADIENTS = {
    "of powers": lambda t: lambda x: (x.sin() ** 2).sum(),
    "of layer norm": lambda t: lambda x: t.nn.functional.layer_norm(x, (3,)).pow(2).sum(),
    "of cross entropy": lambda t: lambda x: t.nn.functional.cross_entropy(x, t.tensor([0, 1])),
    "of activations": lambda t: lambda x: (t.nn.functional.gelu(x) + t.tanh(x) + t.sigmoid(x)).sum(),
    "of log_softmax": lambda t: lambda x: x.log_softmax(-1)[0, 0],
    "of a gradient": lambda t: lambda x: t.func.grad(lambda y: (y**3).sum())(x).sum(),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_graphs_of_gradients_are_functions(name):
    """A graph that was traced with one tensor gives the gradient at another."""
    gradient = tapegrad.func.grad(GRADIENTS[name](tapegrad))
    gm = make_fx(tapegrad)(gradient)(tapegrad.tensor(ROWS))
    other = tapegrad.tensor([[0.1, -0.2, 0.3], [1.0, 0.5, -0.5]])
    tapegrad.testing.assert_close(gm(other), gradient(other))
    theirs = pytorch.func.grad(GRADIENTS[name](pytorch))(pytorch.tensor(other.tolist()))
    assert gm(other).tolist() == [pytest.approx(row, rel=1e-4, abs=1e-6) for row in theirs.tolist()]


@pytest.mark.parametrize("torch", [pytorch, tapegrad], ids=["pytorch", "tapegrad"])
def test_modules(torch):
    """Parameters are constants; a graph runs on other tensors."""
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
    gm = make_fx(torch)(net)(torch.tensor(ROWS))
    assert [name for name, _ in gm.named_parameters()] == [f"_param_constant{number}" for number in range(4)]
    x = torch.ones(5, 3)
    torch.testing.assert_close(gm(x), net(x))


@pytest.mark.parametrize("torch", [pytorch, tapegrad], ids=["pytorch", "tapegrad"])
def test_elements_are_refused(torch):
    for program in (lambda x: x.sum().item() * x, lambda x: x if x.sum() > 0 else -x):
        with pytest.raises(RuntimeError, match="get value out of a tracing tensor with aten._local_scalar_dense"):
            make_fx(torch)(program)(torch.tensor(THREE))


@pytest.mark.parametrize("torch", [pytorch, tapegrad], ids=["pytorch", "tapegrad"])
def test_decompositions(torch):
    """A function is called in the place of an operator."""
    table = {torch.ops.aten.silu.default: lambda x: x * torch.sigmoid(x)}
    gm = make_fx(torch)(lambda x: torch.nn.functional.silu(x), decomposition_table=table)(torch.tensor(THREE))
    assert [node.name for node in gm.graph.nodes] == ["x_1", "sigmoid", "mul", "output"]


def test_fake_tracing_writes_to_nothing():
    x = tapegrad.zeros(2)
    gm = make_fx(tapegrad)(lambda x: x.add_(1), tracing_mode="fake")(x)
    assert x.tolist() == [0.0, 0.0] and gm(x).tolist() == [1.0, 1.0] and x.tolist() == [1.0, 1.0]


def test_other_transforms_are_refused():
    with pytest.raises(NotImplementedError, match="no function transforms but"):
        make_fx(tapegrad)(tapegrad.vmap(lambda x: x.sin()))(tapegrad.ones(3))
