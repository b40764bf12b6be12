"""``nn.utils``: clipped gradients, parameters as vectors, norms of weights, fused batch norms, memory formats."""

import copy

import pytest
from harness import Programs, agree, attempt, warned
from small_modules import modules, named, vector

import tapegrad

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


def with_gradients(torch, *values):
    parameters = [torch.nn.Parameter(torch.zeros(len(value) if value else 2)) for value in values]
    for parameter, value in zip(parameters, values, strict=True):
        parameter.grad = None if value is None else torch.tensor(value)
    return parameters


def grads(parameters):
    return [parameter.grad for parameter in parameters]


@program
def clipped_norms(torch):
    utils, account = torch.nn.utils, []
    for order in (2, 1, 3.5, float("inf"), 0, "inf", "2"):
        for bound in (1.0, 100.0, "3"):
            parameters = with_gradients(torch, [3.0, -4.0], None, [1.0])
            account += [utils.clip_grad_norm_(parameters, bound, norm_type=order), grads(parameters)]
    one = with_gradients(torch, [3.0, 4.0])[0]
    account += [utils.clip_grad_norm_(one, 1.0), one.grad, utils.clip_grad_norm_([], 1.0)]
    account += [utils.clip_grad_norm_(with_gradients(torch, None), 1.0, foreach=True)]
    account += [warned(lambda: utils.clip_grad_norm_((x for x in ()), 1.0))]
    account += [warned(lambda: utils.clip_grad_norm([], 1))]
    parameters = with_gradients(torch, [float("nan"), 1.0], [float("inf")])
    account += [attempt(lambda: utils.clip_grad_norm_(parameters, 1.0, error_if_nonfinite=True)), grads(parameters)]
    return [*account, utils.clip_grad_norm_(parameters, 1.0), grads(parameters)]


@program
def norms_and_clipping_apart(torch):
    utils = torch.nn.utils
    parameters = with_gradients(torch, [3.0, -4.0], None, [1.0])
    total = utils.get_total_norm([x.grad for x in parameters if x.grad is not None])
    account = [total, utils.get_total_norm(torch.ones(4)), utils.get_total_norm([]), total.requires_grad]
    account += [utils.clip_grads_with_norm_(parameters, 2.0, total), grads(parameters)]
    account += [utils.clip_grads_with_norm_(parameters[0], 0.1, torch.tensor(8.0)), grads(parameters)]
    double = [torch.ones(2, dtype=torch.float64), torch.ones(2)]
    return [*account, utils.get_total_norm(double), attempt(lambda: utils.get_total_norm([3.0]))[1]]


@program
def clipped_values(torch):
    utils, parameters = torch.nn.utils, with_gradients(torch, [3.0, -4.0, 0.5], None, [1.0])
    account = [utils.clip_grad_value_(parameters, 1), grads(parameters)]
    account += [utils.clip_grad_value_(parameters[0], 0.7), grads(parameters)]
    account += [attempt(lambda: utils.clip_grad_value_(parameters, "a"))]
    return [*account, utils.clip_grad_value_(parameters, "0.2"), grads(parameters)]


@program
def vectors(torch):
    utils, net = torch.nn.utils, modules(torch).Net()
    flat = utils.parameters_to_vector(net.parameters())
    account = [flat.detach(), flat.grad_fn.name(), utils.vector_to_parameters(flat.detach() * 2, net.parameters())]
    account += [named(net.named_parameters()), [x.is_leaf for x in net.parameters()]]
    flat.sum().backward()
    account += [net.first.weight.grad, attempt(lambda: utils.vector_to_parameters(3, net.parameters()))]
    account += [attempt(lambda: utils.parameters_to_vector([])), attempt(lambda: utils.parameters_to_vector([3]))]
    return [*account, attempt(lambda: utils.vector_to_parameters(torch.ones(2), net.parameters()))]


def weighted(torch, *shape):
    """A module with a weight of some shape."""

    class Weighted(torch.nn.Module):
        def __init__(self):
            super().__init__()
            size = 1
            for length in shape:
                size *= length
            self.weight = torch.nn.Parameter((torch.arange(size) * 1.3).sin().reshape(shape))

        def forward(self, x):
            return (x * self.weight).sum()

    return Weighted()


def gradients_of(torch, module, *names):
    x = torch.ones(module.weight.shape) * 1.5
    module.zero_grad()
    (module(x) ** 2).backward()
    return [module.get_parameter(name).grad.clone() for name in names]


@program
def weight_norms(torch):
    utils, account = torch.nn.utils, []
    for dim in (0, 1, 2, -1, None):
        module = weighted(torch, 2, 3, 4)
        before = module.weight.detach().clone()
        account.append(warned(lambda: utils.weight_norm(module, dim=dim)))  # noqa: B023
        account += [named(module.named_parameters()), (module.weight - before).abs().max() < 1e-6, module.weight]
        account += gradients_of(torch, module, "weight_g", "weight_v")
        with torch.no_grad():
            module.weight_g.mul_(2)
        account += [module(torch.ones(2, 3, 4)).detach(), list(module.state_dict())]
        with pytest.warns(FutureWarning):
            account.append(attempt(lambda: utils.weight_norm(module, dim=dim)))  # noqa: B023
        account += [utils.remove_weight_norm(module) is module, named(module.named_parameters())]
        account.append(attempt(lambda: utils.remove_weight_norm(module))[:2])  # noqa: B023
    return account


@program
def weight_norms_directly(torch):
    v, account = weighted(torch, 2, 3, 4).weight.detach().double().requires_grad_(), []
    for dim in (0, 1, 2, -1):
        for power in (1, 2, 3):
            account.append(torch.norm_except_dim(v, power, dim).detach())
        g = torch.norm_except_dim(v, 2, dim).detach().requires_grad_()
        w = torch._weight_norm(v, g * 2, dim)
        first = torch.autograd.grad((w**2).sum() + w.sum(), (v, g), create_graph=True)
        second = torch.autograd.grad((first[0] * first[0]).sum() + first[1].sum(), (v, g))
        account += [w.grad_fn.name(), w.detach(), [x.detach() for x in first]]
        account += [second] if dim in (1, -1) else []  # of others PyTorch's is wrong: it takes norms for constants
    bad = [
        lambda: torch._weight_norm(v, g, 5), lambda: torch._weight_norm(v, g.float(), 0),
        lambda: torch._weight_norm(v), lambda: torch.norm_except_dim(v, 2, 7), lambda: torch.norm_except_dim(3),
        lambda: torch.norm_except_dim(v, 2, -5),
    ]  # fmt: skip
    return [*account, *(attempt(one) for one in bad)]


def fix_vectors(torch, module, prefix=""):
    """Give the estimates of singular vectors values that don't depend on chance."""
    for name, buffer in module.named_buffers():
        if name.endswith(("_u", "_v")):
            buffer.copy_(torch.nn.functional.normalize(torch.arange(1.0, 1.0 + len(buffer)).cos(), dim=0))


@program
def spectral_norms(torch):
    utils, account = torch.nn.utils, []
    for dim in (0, 1):
        module = weighted(torch, 3, 2, 4)
        utils.spectral_norm(module, n_power_iterations=2, dim=dim)
        account += [sorted(module._parameters), sorted(module._buffers), list(module.weight_u.shape)]
        fix_vectors(torch, module)
        account += [module(torch.ones(3, 2, 4)).detach(), module.weight_u, module.weight_v]
        account += gradients_of(torch, module, "weight_orig")
        module.eval()
        state = module.state_dict()
        account += [module(torch.ones(3, 2, 4)).detach(), state, state._metadata, module.weight_u]
        account += [repr(module.load_state_dict(state)), attempt(lambda: module.load_state_dict({}))]  # noqa: B023
        account += [attempt(lambda: utils.spectral_norm(module)), len(module._load_state_dict_pre_hooks)]  # noqa: B023
        state.pop("weight_v")
        state._metadata.clear()
        state["weight"] = module.weight.detach()
        account += [repr(module.load_state_dict(state)), module.weight_v]
        account += [utils.remove_spectral_norm(module) is module, named(module.named_parameters())]
        account += [len(module._forward_pre_hooks), len(module._state_dict_hooks), list(module._buffers)]
        account.append(attempt(lambda: utils.remove_spectral_norm(module))[:2])  # noqa: B023
    bad = [
        lambda: utils.spectral_norm(weighted(torch, 2, 3), n_power_iterations=0),
        lambda: utils.spectral_norm(weighted(torch, 2, 3), "other"),
    ]
    return [*account, *(attempt(one) for one in bad)]


def filled(module):
    """A module with weights and statistics that don't depend on chance."""
    for number, x in enumerate((*module.parameters(), *module.buffers())):
        if x.is_floating_point():
            x.data = (x.data.flatten().cumsum(0) * 0 + 1).cumsum(0).add(number).cos().reshape(x.shape).abs()
    return module.eval()


@program
def fused(torch):
    nn, utils, account = torch.nn, torch.nn.utils, []
    for conv, bn, transpose, shape in (
        (nn.Conv2d(2, 3, 2), nn.BatchNorm2d(3), False, (1, 2, 4, 4)),
        (nn.Conv2d(2, 3, 2, bias=False), nn.BatchNorm2d(3, affine=False), False, (1, 2, 4, 4)),
        (nn.ConvTranspose1d(2, 3, 2), nn.BatchNorm1d(3), True, (1, 2, 4)),
    ):
        both = filled(nn.Sequential(conv, bn))
        made = utils.fuse_conv_bn_eval(both[0], both[1], transpose)
        x = torch.arange(32.0)[: 32 if len(shape) > 3 else 8].reshape(shape)
        account += [named(made.named_parameters()), made(x).detach(), type(made).__name__]
        account.append((made(x) - both(x)).abs().max() < 1e-4)
        account += [[x.requires_grad for x in made.parameters()], repr(made), made.weight is conv.weight]
    for linear, bn in ((nn.Linear(2, 3), nn.BatchNorm1d(3)), (nn.Linear(2, 1, bias=False), nn.BatchNorm1d(1))):
        both = filled(nn.Sequential(linear, bn))
        made = utils.fuse_linear_bn_eval(both[0], both[1])
        account += [named(made.named_parameters()), made(torch.ones(2, 2)).detach()]
    bad = [
        lambda: utils.fuse_conv_bn_eval(conv.train(), bn), lambda: utils.fuse_linear_bn_eval(linear, bn.train()),
        lambda: utils.fuse_linear_bn_eval(nn.Linear(2, 3).eval(), nn.BatchNorm1d(2).eval()),
        lambda: utils.fuse_conv_bn_eval(conv.eval(), nn.BatchNorm1d(3, track_running_stats=False).eval()),
    ]
    return [*account, *(attempt(one) for one in bad)]


@program
def memory_formats(torch):
    nn, utils = torch.nn, torch.nn.utils
    net = nn.Sequential(nn.Conv2d(2, 3, 2), nn.ConvTranspose2d(2, 3, 2), nn.Conv3d(2, 3, 2))
    weight = net[0].weight
    account = [utils.convert_conv2d_weight_memory_format(net, torch.channels_last) is net, weight is net[0].weight]
    account += [list(part.weight.stride()) for part in net]
    utils.convert_conv3d_weight_memory_format(net, torch.channels_last_3d)
    return [*account, *(list(part.weight.stride()) for part in net)]


@program
def skipped_initial_values(torch):
    nn, utils = torch.nn, torch.nn.utils
    made = utils.skip_init(nn.Linear, 2, 3, bias=False, dtype=torch.float64)
    account = [repr(made), made.weight.device.type, str(made.weight.dtype).rpartition(".")[2]]
    account += [utils.skip_init(nn.Linear, 2, 3, device="meta").weight.is_meta]
    return [*account, attempt(lambda: utils.skip_init(nn.ReLU)), attempt(lambda: utils.skip_init(int))]


@program
def stateless(torch):
    call, module, x = torch.nn.utils.stateless.functional_call, modules(torch).Scale(), vector(torch)
    given = {"weight": torch.zeros(3)}
    account = [warned(lambda: call(module, given, x))]
    with pytest.warns(FutureWarning):
        account.append(call(module, given, (x,), {"power": 2}).detach())
    return [*account, module.weight]


@program
def reparametrized(torch):
    """A module twice in another one, so that its tensors have two names."""
    layer, given = torch.nn.Linear(2, 1, bias=False), {"a.weight": torch.zeros(1, 2), "b.weight": torch.ones(1, 2)}
    layer.weight.data = torch.tensor([[7.0, 7.0]])

    def lent(tensors, **flags):
        both = torch.nn.ModuleDict({"a": layer, "b": layer})
        with torch.nn.utils.stateless._reparametrize_module(both, tensors, **flags):
            return layer.weight

    account = [lent(given, stack_weights=True), layer.weight, attempt(lambda: lent(given, tie_weights=True))]
    account += [attempt(lambda: lent({"a.weight": torch.zeros(1)}, strict=True)), layer.weight]
    return [*account, lent({"a.weight": torch.zeros(1)}, tie_weights=True, strict=True), layer.weight, given]


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.__name__ for program in PROGRAMS])
def test_programs(program):
    agree(program, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_second_derivatives_of_weight_norms(dim):
    v = weighted(tapegrad, 2, 3, 2).weight.detach().double().requires_grad_()
    g = tapegrad.norm_except_dim(v, 2, dim).detach().requires_grad_()
    assert tapegrad.autograd.gradgradcheck(lambda v, g: tapegrad._weight_norm(v, g, dim), (v, g))


def test_singular_values_are_found():
    module = weighted(tapegrad, 4, 3)
    tapegrad.nn.utils.spectral_norm(module, n_power_iterations=30)
    module(tapegrad.ones(4, 3))
    assert abs(tapegrad.linalg.matrix_norm(module.weight, 2).item() - 1) < 1e-4
    assert tapegrad.linalg.matrix_norm(copy.deepcopy(tapegrad.nn.utils.remove_spectral_norm(module)).weight, 2) < 1.001
