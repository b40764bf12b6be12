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
    "numbers": lambda t: lambda x: (2 - x, x / 2, x // 2, x % 2, 2**x, x**0.5, x > 1, x == 2, abs(x), x + True),
    "shapes": lambda t: lambda x: (
        x.reshape(-1, 2), x.flatten(), x.ravel(), x.T, x.mT, x.t().contiguous(), x.expand(4, 2, 3),
    ),
    "a copy": lambda t: lambda x: x.t().reshape(6),
    "indices": lambda t: lambda x: (x[-1], x[..., 0], x[:, None], x[1:, ::2], x[x > 2], x[:, [0, 2]], x[:-1]),
    "writes to parts": lambda t: write_parts,
    "reductions of dimensions": lambda t: lambda x: (
        x.var(1), x.std(0), x.var(1, unbiased=False), x.all(1), x.any(), t.count_nonzero(x), x.norm(dim=1), x.argsort(),
        x.mean((0, 1), keepdim=True), x.logsumexp(1), x.masked_select(x > 1),
    ),
    "choices": lambda t: lambda x: (
        t.where(x > 1, x, 0.0), x.where(x > 1, -x), t.where(x > 1, 1.0, 0.0), t.where(x > 1), x.where(x > 1, 2.0),
    ),
    "comparisons": lambda t: lambda x: (x > 1, (x > 1) & (x < 2), ~(x > 1), t.isclose(x, x), x != 0, t.isfinite(x)),
    "activations": lambda t: lambda x: (
        t.nn.functional.elu(x), t.nn.functional.hardtanh(x), t.nn.functional.relu(x.clone(), inplace=True),
        t.nn.functional.gelu(x, approximate="tanh"), t.nn.functional.rms_norm(x, (3,)), t.nn.functional.logsigmoid(x),
    ),
    "attention": lambda t: lambda x: t.nn.functional.scaled_dot_product_attention(*[x[None, None]] * 3, is_causal=True),
    "random": lambda t: lambda x: (t.rand(2), t.randint(0, 5, (2,)), t.randn_like(x), t.nn.functional.dropout(x, 0.5)),
    "a pullback": lambda t: lambda x: t.func.vjp(lambda z: t.tanh(z).sum(1), x)[1](t.ones(2)),
    "a gradient of a mean": lambda t: t.func.grad(lambda x: x.relu().mean() + (x**2).sum(1).mean(0)),
    "a gradient of a loss": lambda t: t.func.grad(lambda x: t.nn.functional.mse_loss(x @ x.t(), t.ones(2, 2))),
    "a gradient of softmax": lambda t: t.func.grad(lambda x: x.softmax(1)[:, 0].sum()),
    "a gradient of a product": lambda t: t.func.grad(lambda x: (x @ x.t()).sum()),
    "a gradient of a sine": lambda t: t.func.grad(lambda x: x.sin().sum()),
}
DATA_DEPENDENT = {"indices", "reductions of dimensions", "choices"}


def write_parts(x):
    y = x.clone()
    y[0] = 1.0
    y[:, 1] = x[:, 0]
    y[1] += 1
    y[:, :1] *= 2
    return y


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
    if name not in DATA_DEPENDENT:
        traced = make_fx(tapegrad)(PROGRAMS[name](tapegrad), tracing_mode="fake")
        assert traced(example(tapegrad, name)).code == theirs


@pytest.mark.parametrize("name", PROGRAMS)
def test_graphs_are_functions(name):
    """A graph gives what the function gives, of another tensor than that with which it was traced."""
    function = PROGRAMS[name](tapegrad)
    gm, other = make_fx(tapegrad)(function)(example(tapegrad, name)), example(tapegrad, name) * 1.25 + 0.5
    if name == "random":
        return
    found, expected = map(tapegrad.utils._pytree.tree_leaves, (gm(other), function(other)))
    for one, wanted in zip(found, expected, strict=True):
        tapegrad.testing.assert_close(one, wanted)


ONE_NODE = {
    "pooling": lambda t: lambda x: t.nn.functional.adaptive_max_pool2d(x[None], 1),
    "unique": lambda t: lambda x: t.unique(x.round()),
    "an equation": lambda t: lambda x: t.einsum("ij,kj->ik", x, x),
    "a cell": lambda t: lambda x: t.nn.functional.group_norm(x, 3),
    "a median": lambda t: lambda x: (x.median(), x.quantile(0.5), t.histc(x), t.cdist(x, x), t.bincount(x.long()[0])),
    "in a gradient": lambda t: t.func.grad(lambda x: t.cat([x, x * 2], 1).max(1)[0].sum() + (x[:, 1:] * 2).amax()),
}


@pytest.mark.parametrize("name", ONE_NODE)
def test_nothing_of_the_example_is_in_the_graph(name):
    """What comes down to operators of tapegrad alone, of places or windows, gives the right result of other tensors."""
    function = ONE_NODE[name](tapegrad)
    gm, other = make_fx(tapegrad)(function)(tapegrad.tensor(ROWS)), tapegrad.tensor([[6.0, 1.0, 2.0], [2.0, 9.0, 9.0]])
    found, expected = map(tapegrad.utils._pytree.tree_leaves, (gm(other), function(other)))
    for one, wanted in zip(found, expected, strict=True):
        tapegrad.testing.assert_close(one, wanted)
    assert not [node for node in gm.graph.nodes if node.op == "get_attr"]


ABOVE = {
    "layers": lambda t: lambda x: t.nn.functional.layer_norm(t.nn.functional.linear(x, x, x[:, 0]), (2,)).softmax(-1),
    "losses": lambda t: lambda x: (
        t.nn.functional.cross_entropy(x, t.tensor([0, 1])), t.nn.functional.mse_loss(x, x * 2),
        t.nn.functional.binary_cross_entropy_with_logits(x, x),
    ),
    "conversions": lambda t: lambda x: (x.double(), x.to(t.int64), x.type_as(x.double()), x.to("cpu", t.float64)),
    "shapes": lambda t: lambda x: (
        x.reshape(6), x.flatten(), x.T, x.chunk(3, 1), x.view_as(x), x.tile(2), x.t().contiguous(),
    ),
    "norms": lambda t: lambda x: (
        t.nn.functional.batch_norm(x, x[0].clone(), x[1].clone()), t.nn.functional.group_norm(x, 3),
        t.nn.functional.instance_norm(x[None]), t.nn.functional.rms_norm(x, (3,)), t.nn.functional.dropout(x, 0.0),
    ),
    "products": lambda t: lambda x: (x @ x.t(), t.einsum("ij,kj->ik", x, x), t.outer(x[0], x[1]), t.kron(x, x)),
    "operators": lambda t: lambda x: ((x > 1) & (x < 2), t.where(x > 1, x, 0.0), x.square(), x.var(1), 2 - x),
    "functions": lambda t: lambda x: (t.linalg.inv(x @ x.t()), t.fft.fft(x), t.special.expit(x), t.cdist(x, x)),
}


@pytest.mark.parametrize("name", ABOVE)
def test_graphs_above_autograd(name):
    """With ``pre_dispatch`` functions are not taken apart; the graph runs."""
    theirs = make_fx(pytorch)(ABOVE[name](pytorch), pre_dispatch=True)(pytorch.tensor(ROWS)).code
    gm = make_fx(tapegrad)(ABOVE[name](tapegrad), pre_dispatch=True)(tapegrad.tensor(ROWS))
    assert gm.code == theirs
    other = tapegrad.tensor(ROWS) + 1
    found, expected = map(tapegrad.utils._pytree.tree_leaves, (gm(other), ABOVE[name](tapegrad)(other)))
    for one, wanted in zip(found, expected, strict=True):
        tapegrad.testing.assert_close(one, wanted)


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


DECOMPOSED = {
    "silu": "silu", "gelu": "gelu", "softmax": "_softmax", "log_softmax": "_log_softmax", "mish": "mish",
}  # fmt: skip


@pytest.mark.parametrize("name", DECOMPOSED)
def test_tables_of_decompositions(name):
    """``get_decompositions`` gives what PyTorch's gives."""
    codes = []
    for t in (pytorch, tapegrad):
        table = t._decomp.get_decompositions([getattr(t.ops.aten, DECOMPOSED[name])])
        options = {"dim": 1} if "softmax" in name else {}
        function = getattr(t.nn.functional, name)
        traced = make_fx(t)(lambda x: function(x, **options), decomposition_table=table)  # noqa: B023
        codes.append(traced(t.tensor(ROWS)).code)
    assert codes[0] == codes[1]


def test_fake_tracing_leaves_buffers_and_surroundings_as_they_are():
    norm, total = tapegrad.nn.BatchNorm1d(3), tapegrad.zeros(2, 3)
    before = {name: one.clone() for name, one in norm.state_dict().items()}

    def function(x):
        total.add_(norm(x))
        return total * 2

    make_fx(tapegrad)(function, tracing_mode="fake")(tapegrad.tensor(ROWS))
    assert not total.any() and total._version == 0
    tapegrad.testing.assert_close(dict(norm.state_dict()), before)


def test_fake_tracing_writes_to_nothing():
    x = tapegrad.zeros(2)
    gm = make_fx(tapegrad)(lambda x: x.add_(1), tracing_mode="fake")(x)
    assert x.tolist() == [0.0, 0.0] and gm(x).tolist() == [1.0, 1.0] and x.tolist() == [1.0, 1.0]


def test_other_transforms_are_refused():
    with pytest.raises(NotImplementedError, match="no function transforms but"):
        make_fx(tapegrad)(tapegrad.vmap(lambda x: x.sin()))(tapegrad.ones(3))
