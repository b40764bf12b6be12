"""Modules under function transforms, checkpoints and saved-tensor hooks; and, without PyTorch, under those of jax."""

import importlib

import jax
import pytest
from harness import Programs, agree
from small_modules import modules, named, vector

import tapegrad

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


def network(torch):
    """A small network with fixed weights."""
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    with torch.no_grad():
        for number, parameter in enumerate(net.parameters()):
            parameter.copy_((torch.arange(float(parameter.numel())) + number).sin().reshape(parameter.shape))
    return net


def batch(torch):
    return torch.arange(12.0).reshape(4, 3).cos()


def detached(parameters):
    return {name: x.detach() for name, x in parameters}


@program
def functional_calls(torch):
    net, x, call = network(torch), batch(torch), torch.func.functional_call
    parameters = detached(net.named_parameters())
    twice = {name: value * 2 for name, value in parameters.items()}
    account = [call(net, twice, (x,)), net(x).detach(), call(net, {"0.weight": twice["0.weight"]}, x).detach()]

    def loss(parameters, x):
        return call(net, parameters, (x,)).pow(2).sum()

    account += [torch.func.grad(loss)(parameters, x), torch.func.vmap(torch.func.grad(loss), (None, 0))(parameters, x)]
    return [*account, [p.grad for p in net.parameters()]]


@program
def buffers_of_functional_calls(torch):
    net, x, call = modules(torch).Net(), vector(torch), torch.func.functional_call
    state = {**detached(net.named_parameters()), **named(net.named_buffers())}
    account = [call(net, state, x), state["rest.0.calls"], state["rest.0.last"], net.rest[0].calls, net.rest[0].last]
    return [*account, call(net, dict(net.named_parameters()), x).detach(), net.rest[0].calls]


@program
def ensembles(torch):
    nets = [network(torch) for _ in range(3)]
    with torch.no_grad():
        for number, net in enumerate(nets):
            net[0].bias.add_(number)
    x = batch(torch)
    parameters, buffers = torch.func.stack_module_state(nets)

    def call(parameters, buffers, x):
        return torch.func.functional_call(nets[0], (parameters, buffers), (x,))

    out = torch.func.vmap(call, (0, 0, None))(parameters, buffers, x)
    out.sum().backward()
    each = torch.stack([net(x) for net in nets])
    return [out.detach(), (out - each).abs().max() < 1e-5, parameters["0.bias"].grad, list(parameters), list(buffers)]


@program
def batch_norms_under_vmap(torch):
    norm = torch.nn.BatchNorm1d(3)
    torch.func.replace_all_batch_norm_modules_(norm)
    return [torch.func.vmap(norm)(batch(torch).expand(2, 4, 3)).detach(), norm.running_mean, norm.track_running_stats]


@program
def checkpoints(torch):
    checkpoint = importlib.import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    net, x, seen = network(torch), batch(torch).requires_grad_(), []
    net[0].register_forward_hook(lambda *args: seen.append("called"))
    for reentrant in (True, False):
        checkpoint(net, x, use_reentrant=reentrant).sum().backward()
    return [x.grad, [p.grad for p in net.parameters()], len(seen)]


@program
def under_grad_modes(torch):
    net, x = network(torch), batch(torch)
    with torch.no_grad():
        first = net(x)
    with torch.inference_mode():
        second = net(x)
    return [first, second, second.is_inference(), net(x).requires_grad]


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.__name__ for program in PROGRAMS])
def test_programs(program):
    agree(program, rtol=1e-5, atol=1e-6)


def test_modules_in_functions_of_jax():
    net, x = network(tapegrad), batch(tapegrad)

    def gradients(parameters, x):
        loss = tapegrad.func.functional_call(net, parameters, (x,)).pow(2).sum()
        return dict(zip(parameters, tapegrad.autograd.grad(loss, list(parameters.values())), strict=True))

    parameters = dict(net.named_parameters())
    compiled = jax.jit(gradients)(parameters, x)
    for name, gradient in gradients(parameters, x).items():
        tapegrad.testing.assert_close(gradient, compiled[name])


def test_states_are_trees():
    state = network(tapegrad).state_dict()
    doubled = jax.tree.map(lambda x: x * 2, dict(state))
    assert sorted(doubled) == sorted(state) and (doubled["0.bias"] == 2 * state["0.bias"]).all()


def test_modules_in_deferred_mode():
    net, x = network(tapegrad), batch(tapegrad)
    with tapegrad.deferred():
        net(x).sum().backward()
        deferred = [parameter.grad.clone() for parameter in net.parameters()]
    net.zero_grad()
    net(x).sum().backward()
    for one, other in zip(deferred, net.parameters(), strict=True):
        tapegrad.testing.assert_close(one, other.grad)

