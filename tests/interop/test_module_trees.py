"""Modules as trees of jax: ``jax.jit``, ``jax.vmap``, ``jax.tree`` and optax take and return them."""

import jax
import jax.numpy as jnp
import optax
import pytest

import tapegrad as torch

nn, F = torch.nn, torch.nn.functional

pytestmark = pytest.mark.once("jax runs the operators")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.norm = nn.Linear(3, 4), nn.BatchNorm1d(4)
        self.head = nn.Linear(4, 3, bias=False)

    def forward(self, x):
        return self.head(self.norm(self.layer(x)).relu())


@pytest.fixture
def net():
    torch.manual_seed(0)
    return Net()


def paths(tree):
    return [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(tree)]


def test_leaves_are_parameters_and_buffers_by_path(net):
    names = [*dict(net.named_parameters()), *dict(net.named_buffers())]
    assert sorted(path.rsplit("[", 1)[0] for path in paths(net)) == sorted(f".{name}" for name in names)
    same = jax.tree.map(lambda array: array, net)
    assert type(same) is Net and same is not net and same.layer is not net.layer
    assert type(same.layer.weight) is nn.Parameter and same.layer.weight.requires_grad
    for ours, theirs in zip(same.state_dict().items(), net.state_dict().items(), strict=True):
        assert ours[0] == theirs[0] and torch.equal(ours[1], theirs[1])


def test_a_jitted_step_takes_and_gives_modules(net):
    x, y = torch.randn(5, 3), torch.tensor([0, 1, 2, 0, 1])

    def step(net):
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        with torch.no_grad():
            for parameter in net.parameters():
                parameter -= 0.1 * parameter.grad
        return net, loss.detach()

    before = {name: value.clone() for name, value in net.state_dict().items()}
    given, loss = jax.jit(step)(net)
    assert all(torch.equal(before[name], value) for name, value in net.state_dict().items())
    _, expected = step(net)
    assert loss.item() == pytest.approx(expected.item(), abs=1e-6)
    for name, value in net.state_dict().items():
        assert torch.allclose(given.state_dict()[name], value, atol=1e-6), name
    assert given.norm.num_batches_tracked.item() == 1 and given.layer.weight.is_leaf


def test_tied_weights_stay_tied(net):
    net.head.weight = nn.Parameter(torch.ones(3, 4))
    net.more = net.head
    net.layer.again = net.head.weight
    leaves, structure = jax.tree.flatten(net)
    assert len(leaves) == 8
    same = jax.tree.unflatten(structure, leaves)
    assert same.more is same.head and same.layer.again is same.head.weight


def test_the_mode_and_attributes_are_structure(net):
    traces = []

    @jax.jit
    def run(net, x):
        traces.append(net.training)
        return net(x).detach()

    x = torch.randn(5, 3)
    for again in (net, Net()):
        run(again, x)
    for again in (net, Net()):
        run(again.eval(), x)
    assert traces == [True, False]
    assert torch.allclose(run(net, x), net(x), atol=1e-6)
    assert jax.tree.structure(nn.Dropout(0.1)) != jax.tree.structure(nn.Dropout(0.2))
    assert jax.tree.structure(nn.Linear(2, 2)) != jax.tree.structure(nn.Linear(2, 2, bias=False))


def test_hooks_come_along_and_are_no_longer_shared(net):
    calls = []
    net.register_forward_hook(lambda *_: calls.append("hook"))
    same = jax.tree.map(lambda array: array, net)
    same.register_forward_hook(lambda *_: calls.append("another"))
    same(torch.ones(2, 3))
    net(torch.ones(2, 3))
    assert calls == ["hook", "another", "hook"]


def test_modules_that_are_stacked_are_mapped():
    nets = [nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)) for _ in range(3)]
    stacked = jax.tree.map(lambda *arrays: jnp.stack(arrays), *nets)
    x = torch.randn(5, 3)
    results = jax.vmap(lambda net: net(x).detach())(stacked)
    assert torch.allclose(results, torch.stack([net(x) for net in nets]), atol=1e-6)


def test_jax_differentiates_where_the_tape_does_not():
    net = nn.Linear(3, 1).requires_grad_(False)
    grads = jax.grad(lambda net: net(torch.ones(2, 3)).sum().jax())(net)
    assert type(grads) is nn.Linear and grads.weight.tolist() == [[2, 2, 2]] and grads.bias.tolist() == [2]


def test_optax_takes_modules():
    net = nn.Linear(3, 1)
    net(torch.ones(2, 3)).sum().backward()
    grads = jax.tree.map(jnp.ones_like, net)
    optimizer = optax.sgd(0.5)
    updates, _ = optimizer.update(grads, optimizer.init(net), net)
    stepped = jax.tree.map(lambda one, other: one + other, net, updates)
    assert torch.allclose(stepped.weight, net.weight - 0.5)


def test_parametrized_and_replaced_parameters(net):
    nn.utils.parametrizations.weight_norm(net.layer)
    net.layer.register_parameter("bias", None)
    same = jax.tree.map(lambda array: array, net)
    x = torch.randn(2, 3)
    assert torch.allclose(same.eval()(x), net.eval()(x)) and same.layer.bias is None


def test_what_cannot_be_a_tree_says_so():
    with pytest.raises(TypeError, match="a tensor with a history can't go into"):
        jax.jit(lambda net, x: net(x))(nn.Linear(2, 2), torch.ones(2))
    with pytest.raises(ValueError, match="uninitialized parameter"):
        jax.jit(lambda net: net)(nn.LazyLinear(2))
    with pytest.raises(TypeError):
        jax.jit(lambda net: 0)(torch.compile(nn.ReLU()))
