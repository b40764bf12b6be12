"""Modules as functions of their parameters: a small module of our own here, PyTorch's there."""

import forward_mode  # noqa: F401 - for what it does
import pytest
from harness import Programs, agree, attempt

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


class Module:
    """What ``functional_call`` and ``stack_module_state`` ask of a module, and no more."""

    training = True

    def named_modules(self, prefix=""):
        yield prefix, self
        for name, value in vars(self).items():
            if isinstance(value, Module):
                yield from value.named_modules(f"{prefix}{name}.")

    def modules(self):
        return [module for _, module in self.named_modules()]

    def _named(self, kind, remove_duplicate):
        seen = set()
        for prefix, module in self.named_modules():
            for name in getattr(module, kind, ()):
                tensor = getattr(module, name)
                if not (remove_duplicate and id(tensor) in seen):
                    seen.add(id(tensor))
                    yield prefix + name, tensor

    def named_parameters(self, remove_duplicate=True):
        return self._named("parameter_names", remove_duplicate)

    def named_buffers(self, remove_duplicate=True):
        return self._named("buffer_names", remove_duplicate)

    def _get_name(self):
        return type(self).__name__

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)


def classes(torch):
    """A module ``Scale``, and ``Net``, which has two of them."""
    theirs = "nn" in dir(torch) and hasattr(torch.nn, "Module")
    base = torch.nn.Module if theirs else Module

    def parameter(module, name, value):
        setattr(module, name, torch.nn.Parameter(value))
        if not theirs:
            module.parameter_names = (*getattr(module, "parameter_names", ()), name)

    def buffer(module, name, value):
        if theirs:
            module.register_buffer(name, value)
        else:
            setattr(module, name, value)
            module.buffer_names = (*getattr(module, "buffer_names", ()), name)

    class Scale(base):
        def __init__(self, value):
            super().__init__()
            parameter(self, "weight", torch.tensor([1.0, value, 3.0]))
            parameter(self, "bias", torch.tensor([value, 1.0, 2.0]))
            buffer(self, "calls", torch.tensor(0.0))

        def forward(self, x, power=1):
            self.calls = self.calls + 1
            return x * self.weight**power + self.bias

    class Net(base):
        def __init__(self, value=2.0):
            super().__init__()
            self.first, self.second = Scale(value), Scale(-value)

        def forward(self, x, power=1):
            return self.second(self.first(x, power=power))

    return Scale, Net


def state(torch, module):
    return {name: x.detach() * 2 for name, x in module.named_parameters()}


def vector(torch):
    return torch.tensor([1.0, 2.0, 3.0])


def values(tensors):
    return {name: x.detach() for name, x in sorted(tensors.items())}


@program
def calls_with_other_tensors(torch):
    _, Net = classes(torch)
    net, x, call = Net(), vector(torch), torch.func.functional_call
    given = {**state(torch, net), "first.calls": torch.tensor(5.0)}
    account = [call(net, given, (x,), {"power": 2}), call(net, given, x), values(given)]
    account += [call(net, [state(torch, net), {"second.calls": torch.tensor(7.0)}], x), net(x).detach()]
    return [*account, net.first.calls, net.second.calls, [name for name, _ in net.named_parameters()]]


@program
def only_some_tensors(torch):
    Scale, _ = classes(torch)
    module = Scale(2.0)
    out = torch.func.functional_call(module, {"weight": torch.zeros(3)}, vector(torch))
    out.sum().backward()
    return [out.detach(), module.bias.grad, module.weight.grad]


@program
def derivatives(torch):
    _, Net = classes(torch)
    net, x = Net(), vector(torch)
    func, parameters = torch.func, state(torch, net)
    calls = {"first.calls": torch.tensor(0.0), "second.calls": torch.tensor(0.0)}

    def loss(parameters, x):
        return (func.functional_call(net, (parameters, calls), x) ** 2).sum()

    rows = torch.stack([x, 2 * x])
    second = func.jacfwd(func.grad(loss))(parameters, x)
    return [
        values(func.grad(loss)(parameters, x)),
        values(func.vmap(func.grad(loss), in_dims=(None, 0))(parameters, rows)),
        second["first.weight"]["second.weight"], net(x).detach(),
    ]  # fmt: skip


@program
def ensembles(torch):
    Scale, _ = classes(torch)
    models = [Scale(2.0), Scale(4.0)]
    parameters, buffers = torch.func.stack_module_state(models)
    call = lambda parameters, buffers, x: torch.func.functional_call(models[0], (parameters, buffers), x)
    out = torch.func.vmap(call, in_dims=(0, 0, None))(parameters, buffers, vector(torch))
    out.sum().backward()
    leaves = [[x.requires_grad, x.is_leaf] for x in (*parameters.values(), *buffers.values())]
    return [out.detach(), values(parameters), values(buffers), leaves, parameters["weight"].grad, models[1].weight.grad]


@program
def tied_tensors(torch):
    Scale, _ = classes(torch)
    module, call, x = Scale(2.0), torch.func.functional_call, vector(torch)
    module.bias = module.weight
    a, b = torch.zeros(3), torch.ones(3)
    return [
        call(module, {"weight": a}, x), call(module, {"bias": b}, x).detach(),
        call(module, {"weight": a}, x, tie_weights=False).detach(),
        call(module, {"weight": a, "bias": a}, x), attempt(lambda: call(module, {"weight": a, "bias": b}, x)),
        call(module, {"weight": a, "bias": b}, x, tie_weights=False),
    ]  # fmt: skip


@program
def refusals(torch):
    _, Net = classes(torch)
    net, call, x, a = Net(), torch.func.functional_call, vector(torch), torch.ones(3)
    strict = {**state(torch, net), "first.calls": torch.tensor(0.0), "second.calls": torch.tensor(0.0)}
    bad = [
        lambda: call(net, 3, x), lambda: call(net, [a], x), lambda: call(net, ({"b": a}, {"b": a, "c": a}), x),
        lambda: call(net, {"first.weight": a}, x, strict=True), lambda: call(net, {"other": a}, x).detach(),
        lambda: call(net, {**strict, "other": a}, x, strict=True), lambda: call(net, {"other.weight": a}, x),
        lambda: call(net, {"first.weight": 3}, x), lambda: call(net, {"": a}, x),
        lambda: call(net, {"first.weight.data": a}, x), lambda: call(net, {"first.weight": a, "second.bias": "b"}, x),
        lambda: call(net, {"first.training": a}, x),
    ]  # fmt: skip
    account = [attempt(lambda: call(net, strict, x, strict=True)), *(attempt(one) for one in bad)]
    account[11] = account[11][:2]  # it names the class of tensors
    return [*account, net(x).detach(), hasattr(net, "other")]


@program
def models_that_do_not_fit(torch):
    Scale, Net = classes(torch)
    stack, evaluated, frozen = torch.func.stack_module_state, Scale(1.0), Scale(1.0)
    evaluated.training = False
    frozen.weight.requires_grad_(False)
    groups = [], [Scale(1.0), evaluated], [Scale(1.0), Net()], [Scale(1.0), frozen]
    return [attempt(lambda: stack(group)) for group in groups]  # noqa: B023


@program
def written_inside(torch):
    """What is written to inside ``functionalize``: what was saved survives it, and an input that is returned is new."""

    def written(x):
        y = x.exp()
        y.mul_(2)
        return y

    leaf, x = torch.ones(2, requires_grad=True), torch.ones(2)
    found = torch.func.functionalize(lambda x: (x.add_(1), x))(x)[1]
    found.mul_(5)
    value = torch.func.functionalize(written)(leaf)
    value.sum().backward()
    kept = torch.func.functionalize(lambda x: x)(x)
    return value, leaf.grad, found, x, x._version, found is x, kept is x


@program
def functionalized(torch):
    def written(x, by=1):
        y = x.view(-1)
        y.add_(by)
        return x * 2

    func, x = torch.func, vector(torch)
    account = [func.functionalize(written)(x), x, func.functionalize(written, remove="mutations_and_views")(x, by=2), x]
    account += [func.functionalize(written).__name__, attempt(lambda: func.functionalize(written, remove="views"))]
    return [*account, func.grad(lambda x: func.functionalize(lambda x: x.clone().mul_(x))(x).sum())(x)]


@program
def unwrapped(torch):
    func, x, seen = torch.func, vector(torch), []
    look = lambda x: seen.append([func.debug_unwrap(x), list(func.debug_unwrap(x, recurse=False).shape)]) or x.sum()
    rows = x.reshape(3, 1)
    results = [func.grad(look)(x), func.vmap(func.grad(look))(rows)]
    results += [func.grad(lambda x: func.vmap(look)(x).sum())(rows)]
    return [*results, seen, func.debug_unwrap(x) is x, attempt(lambda: func.debug_unwrap(3))]


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.__name__ for program in PROGRAMS])
def test_programs(program):
    agree(program)


def test_batch_norms_without_running_statistics():
    import tapegrad as torch

    class _BatchNorm(Module):
        track_running_stats, running_mean, running_var, num_batches_tracked = True, "mean", "var", "batches"

    class BatchNorm1d(_BatchNorm):
        pass

    class InstanceNorm1d(Module):
        track_running_stats, running_mean = True, "mean"

    net = Module()
    net.norm, net.other = BatchNorm1d(), InstanceNorm1d()
    assert torch.func.replace_all_batch_norm_modules_(net) is net
    assert [net.norm.track_running_stats, net.norm.running_mean, net.norm.running_var] == [False, None, None]
    assert net.other.track_running_stats and net.other.running_mean == "mean"
