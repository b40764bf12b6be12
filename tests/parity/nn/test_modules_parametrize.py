"""``nn.utils.parametrize`` with its parametrizations, and ``nn.utils.prune``."""

import copy
import importlib
import pickle

import pytest
from harness import Programs, agree, attempt
from small_modules import modules, named, vector

import tapegrad

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


def kinds(torch):
    """Parametrizations: ``Symmetric``, ``Double`` (with an inverse), ``Parts`` (of two tensors), and wrong ones."""
    Module = torch.nn.Module

    class Symmetric(Module):
        def forward(self, x):
            return x.triu() + x.triu(1).mT

    class Double(Module):
        def forward(self, x):
            return x * 2

        def right_inverse(self, x):
            return x / 2

    class Parts(Module):
        def forward(self, x, y):
            return x + y

        def right_inverse(self, x):
            return x * 0.25, x * 0.75

    class Longer(Module):
        def forward(self, x):
            return torch.cat([x, x])

        def right_inverse(self, x):
            return x[: len(x) // 2]

    class Other(Module):
        def forward(self, x):
            return 3

    class OtherInverse(Double):
        def right_inverse(self, x):
            return 3

    class OneWay(Double):
        def right_inverse(self, x):
            raise NotImplementedError

    class Wide(Double):
        def right_inverse(self, x):
            return x.double()

    return [Symmetric, Double, Parts, Longer, Other, OtherInverse, OneWay, Wide]


def square(torch):
    """A module with a square matrix and a buffer."""

    class Square(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.tensor([[1.0, 2.0], [-3.0, 4.0]]))
            self.register_buffer("shift", torch.tensor([1.0, 2.0]))

        def forward(self, x):
            return x @ self.weight + self.shift

    return Square()


def parametrize_of(torch):
    return importlib.import_module(f"{torch.__name__}.nn.utils.parametrize")


@program
def parametrized(torch):
    p, net, (Symmetric, Double, *_) = parametrize_of(torch), square(torch), kinds(torch)
    before = net.weight
    account = [p.is_parametrized(net), p.register_parametrization(net, "weight", Symmetric()) is net]
    account += [p.is_parametrized(net), p.is_parametrized(net, "weight"), p.is_parametrized(net, "shift")]
    account += [net.weight.detach(), net.parametrizations.weight.original is before, repr(net), type(net).__name__]
    account += [named(net.named_parameters()), list(net.state_dict())]
    account += [isinstance(net, p.type_before_parametrizations(net))]
    net(torch.ones(2)).sum().backward()
    account += [net.parametrizations.weight.original.grad, attempt(lambda: setattr(net, "weight", before))]
    p.register_parametrization(net, "weight", Double())
    account += [net.weight.detach(), repr(net), [name for name, _ in net.named_modules()]]
    p.register_parametrization(net, "shift", Double())
    account += [net.shift, list(net.state_dict()), net.parametrizations.shift.original]
    net.shift = torch.tensor([8.0, 6.0])
    account += [net.shift, net.parametrizations.shift.original, [type(b).__name__ for b in net.buffers()]]
    p.remove_parametrizations(net, "weight")
    account += [net.weight.detach(), net.weight is before, list(net.state_dict()), type(net).__name__]
    p.remove_parametrizations(net, "shift", leave_parametrized=False)
    account += [net.shift, type(net).__name__, hasattr(net, "parametrizations"), list(net.state_dict()), repr(net)]
    return [*account, attempt(lambda: p.remove_parametrizations(net, "weight"))]


@program
def of_several_tensors(torch):
    p, net, Parts = parametrize_of(torch), square(torch), kinds(torch)[2]
    p.register_parametrization(net, "weight", Parts())
    account = [named(net.named_parameters()), net.weight.detach(), net.parametrizations.weight.is_tensor]
    net.weight = torch.ones(2, 2)
    account += [named(net.named_parameters()), [type(x).__name__ for x in net.parameters()]]
    account += [attempt(lambda: p.remove_parametrizations(net, "weight", leave_parametrized=False))]
    p.remove_parametrizations(net, "weight")
    p.register_parametrization(net, "shift", Parts())
    account += [net.weight.detach(), net.weight.requires_grad, named(net.named_buffers()), net.shift]
    return [*account, p.remove_parametrizations(net, "shift") is net, net.shift, sorted(net._buffers)]


@program
def refused(torch):
    p, account = parametrize_of(torch), []
    _, Double, Parts, Longer, Other, OtherInverse, OneWay, Wide = kinds(torch)
    for kind in (Longer, Other, OtherInverse, Wide):
        for first in (None, Double):
            net = square(torch)
            if first is not None:
                p.register_parametrization(net, "weight", first())
            account.append([kind.__name__, attempt(lambda: p.register_parametrization(net, "weight", kind()) is net)])  # noqa: B023
            account.append([attempt(lambda: net.weight.detach()), sorted(net._parameters)])  # noqa: B023
    net = square(torch)
    account += [attempt(lambda: p.register_parametrization(net, "weight", Longer(), unsafe=True).weight.detach())]
    account += [attempt(lambda: p.ParametrizationList([], net.shift))]
    account += [attempt(lambda: p.register_parametrization(net, "z", net))]
    net = p.register_parametrization(square(torch), "weight", OneWay())
    account += [net.weight.detach(), attempt(lambda: setattr(net, "weight", torch.ones(2, 2)))]
    net = p.register_parametrization(square(torch), "weight", Parts())
    net.parametrizations.weight[0].right_inverse = lambda x: (x,)
    account += [attempt(lambda: setattr(net, "weight", torch.ones(2, 2)))]
    net.parametrizations.weight[0].right_inverse = lambda x: x.sum() and 3
    account += [attempt(lambda: setattr(net, "weight", torch.ones(2, 2)))]
    net.parametrizations.weight[0].right_inverse = lambda x: (x, x.double())
    account += [attempt(lambda: setattr(net, "weight", torch.ones(2, 2)))]
    return [*account, attempt(lambda: pickle.dumps(net))]


@program
def read_once(torch):
    p, net, seen = parametrize_of(torch), square(torch), []

    class Noting(torch.nn.Module):
        def forward(self, x):
            seen.append("read")
            return x * 2

    p.register_parametrization(net, "weight", Noting())
    seen.clear()
    net(torch.ones(2)), net(torch.ones(2))
    account = [len(seen)]
    with p.cached():
        account += [net.weight is net.weight, len(seen)]
        with p.cached():
            net(torch.ones(2))
        net(torch.ones(2))
        account += [len(seen)]
    net(torch.ones(2))
    return [*account, len(seen), net.weight is net.weight]


@program
def copied_and_moved(torch):
    p, net, Double = parametrize_of(torch), square(torch), kinds(torch)[1]
    p.register_parametrization(net, "weight", Double())
    other = copy.deepcopy(net)
    with torch.no_grad():
        other.parametrizations.weight.original.add_(1)
    net.double()
    account = [net.weight.detach(), other.weight.detach(), type(other).__name__, str(net.weight.dtype)[-7:]]
    target = square(torch)
    account += [p.transfer_parametrizations_and_params(net, target) is target, target.weight.detach(), repr(target)]
    account += [target.parametrizations.weight.original is net.parametrizations.weight.original]
    net.load_state_dict(other.state_dict())
    account += [net.weight.detach(), p.type_before_parametrizations(target).__name__]
    several = p.register_parametrization(square(torch), "weight", kinds(torch)[2]())
    target = p.transfer_parametrizations_and_params(several, torch.nn.Module(), "weight")
    return [*account, target.weight.detach(), list(target.state_dict())]


def parametrizations_of(torch):
    return importlib.import_module(f"{torch.__name__}.nn.utils.parametrizations")


def matrix(torch, *shape, dtype=None):
    """A module with a weight."""
    module, size = torch.nn.Module(), 1
    for length in shape:
        size *= length
    weight = (torch.arange(size, dtype=torch.float64) ** 2 * 1.3).sin().reshape(shape)
    module.weight = torch.nn.Parameter(weight if dtype is None else (weight * (1 + 0.5j)).to(dtype))
    return module


@program
def orthogonal(torch):
    p, account = parametrizations_of(torch), []
    for shape, maps in (((3, 3), (None, "cayley", "householder")), ((4, 2), (None, "matrix_exp")), ((2, 4), (None,))):
        for map_ in maps:
            for trivial in (True, False):
                if trivial and shape != (3, 3):
                    continue  # by chance
                module = p.orthogonal(matrix(torch, *shape), "weight", map_, use_trivialization=trivial)
                q = module.weight
                gram = q.mT @ q if shape[-2] >= shape[-1] else q @ q.mT
                account += [(gram - torch.eye(gram.shape[-1], dtype=q.dtype)).abs().max() < 1e-9]
                if not (trivial and map_ == "householder"):
                    loss = (q * q.detach().cos()).sum()
                    account += [q.detach(), torch.autograd.grad(loss, list(module.parameters()))]
                account.append(attempt(lambda: setattr(module, "weight", q.detach())))  # noqa: B023
                account += [(module.weight - q).abs().max() < 1e-9, list(module.state_dict())]
    module = p.orthogonal(matrix(torch, 3, 3, dtype=torch.complex128))
    account += [module.weight.detach(), repr(module)]
    bad = [
        lambda: p.orthogonal(torch.nn.Module()), lambda: p.orthogonal(matrix(torch, 3)),
        lambda: p.orthogonal(matrix(torch, 3, 3), orthogonal_map="other"),
        lambda: p.orthogonal(matrix(torch, 3, 3, dtype=torch.complex128), orthogonal_map="householder"),
        lambda: setattr(module, "weight", torch.ones(2, 2)),
    ]  # fmt: skip
    return [*account, *(attempt(one) for one in bad)]


@program
def weight_norms(torch):
    p, account = parametrizations_of(torch), []
    for dim in (0, 1, None):
        module = p.weight_norm(matrix(torch, 3, 2), dim=dim)
        account += [named(module.named_parameters()), module.weight.detach(), repr(module)]
        account += [torch.autograd.grad((module.weight**3).sum(), list(module.parameters()))]
        ones = torch.ones(3, 2, dtype=torch.float64)
        state = {"weight_g": torch.full_like(module.parametrizations.weight.original0, 2.0), "weight_v": ones}
        account += [repr(module.load_state_dict(state)), module.weight.detach(), list(module.state_dict())]
        module.weight = ones
        account += [named(module.named_parameters())]
    return account


@program
def spectral_norms(torch):
    p, account = parametrizations_of(torch), []
    for shape, dim in (((3, 2), 0), ((3, 2), 1), ((2, 3, 2), -1), ((3,), 0)):
        module = p.spectral_norm(matrix(torch, *shape), n_power_iterations=20, dim=dim)
        account += [list(module.state_dict()), module.weight.abs().detach()]
        for name in ("_u", "_v") if len(shape) > 1 else ():
            x = getattr(module.parametrizations.weight[0], name)
            x.copy_(torch.nn.functional.normalize(torch.arange(1.0, 1.0 + len(x), dtype=x.dtype).cos(), dim=0))
        account += [module.weight.detach(), torch.autograd.grad(module.weight.sum(), list(module.parameters()))]
        module.eval()
        account += [module.weight.detach(), repr(module), named(module.named_buffers())]
        module.weight = torch.ones(*shape, dtype=torch.float64)
        account += [module.weight.detach()]
    bad = [
        lambda: p.spectral_norm(matrix(torch, 2, 3), n_power_iterations=0), lambda: p.spectral_norm(torch.nn.Module()),
        lambda: p.spectral_norm(matrix(torch, 2, 3), dim=5),
    ]  # fmt: skip
    return [*account, *(attempt(one) for one in bad)]


# -- pruning -----------------------------------------------------------------------------------------------------------


def prune_of(torch):
    return importlib.import_module(f"{torch.__name__}.nn.utils.prune")


@program
def pruned(torch):
    prune, account = prune_of(torch), []
    for action in (
        lambda m: prune.identity(m, "weight"), lambda m: prune.l1_unstructured(m, "weight", 3),
        lambda m: prune.l1_unstructured(m, "weight", 0.5), lambda m: prune.l1_unstructured(m, "weight", 0),
        lambda m: prune.l1_unstructured(m, "weight", 2, torch.arange(12.0).reshape(3, 4)),
        lambda m: prune.ln_structured(m, "weight", 1, 2, 0), lambda m: prune.ln_structured(m, "weight", 0.5, 1, -1),
        lambda m: prune.ln_structured(m, "weight", 0, 1, -1),
        lambda m: prune.custom_from_mask(m, "weight", torch.arange(12).reshape(3, 4) % 2),
        lambda m: prune.ln_structured(m, "weight", 1, float("inf"), 1, torch.arange(12.0).reshape(3, 4)),
    ):  # fmt: skip
        module = matrix(torch, 3, 4).float()
        account += [action(module) is module, named(module.named_parameters()), named(module.named_buffers())]
        (module.weight**2).sum().backward()
        account += [module.weight.detach(), module.weight_orig.grad, prune.is_pruned(module), list(module.state_dict())]
        account += [prune.l1_unstructured(module, "weight", 2).weight_mask, prune.identity(module, "weight").weight]
        account += [prune.ln_structured(module, "weight", 1, 2, 1).weight_mask, len(module._forward_pre_hooks)]
        hook = next(iter(module._forward_pre_hooks.values()))
        account += [type(hook).__name__, len(hook), [type(method).__name__ for method in hook], type(hook[0]).__name__]
        account += [prune.remove(module, "weight") is module, module.weight.detach(), list(module.state_dict())]
        account += [prune.is_pruned(module), attempt(lambda: prune.remove(module, "weight"))]  # noqa: B023
    return account


@program
def pruned_before_each_call(torch):
    prune, net, x = prune_of(torch), modules(torch).Net(), vector(torch)
    prune.l1_unstructured(net.first, "weight", 1)
    account = [net(x).detach()]
    with torch.no_grad():
        net.first.weight_orig.mul_(3)
    other = copy.deepcopy(net) if not net.first.weight.requires_grad else None
    account += [net(x).detach(), other, prune.is_pruned(net), prune.is_pruned(net.rest)]
    prune.global_unstructured([(net.first, "bias"), (net.rest[2], "weight")], prune.L1Unstructured, amount=0.5)
    account += [net.first.bias_mask, net.rest[2].weight_mask, net(x).detach()]
    scores = {(net.first, "bias"): torch.tensor([9.0, 8.0, 7.0])}
    prune.global_unstructured([(net.first, "bias"), (net.rest[2], "weight")], prune.L1Unstructured, scores, amount=2)
    return [*account, net.first.bias_mask, net.rest[2].weight_mask]


@program
def pruned_by_chance(torch):
    prune, account = prune_of(torch), []
    for action in (
        lambda m: prune.random_unstructured(m, "weight", 5), lambda m: prune.random_unstructured(m, "weight", 0.25),
        lambda m: prune.random_structured(m, "weight", 1, 0), lambda m: prune.random_structured(m, "weight", 0.5, -1),
    ):  # fmt: skip
        module = action(matrix(torch, 3, 4))
        account += [module.weight_mask.sum(), str(module.weight_mask.dtype)[-7:]]
        account += [action(module).weight_mask.sum()]
    return account


@program
def not_pruned(torch):
    prune, m = prune_of(torch), matrix(torch, 3, 4)
    L1 = prune.L1Unstructured
    one = torch.nn.Module()
    one.weight = torch.nn.Parameter(torch.ones(3))
    bad = [
        lambda: prune.l1_unstructured(m, "weight", -1), lambda: prune.l1_unstructured(m, "weight", 1.5),
        lambda: prune.l1_unstructured(m, "weight", "a"), lambda: prune.l1_unstructured(m, "weight", 13),
        lambda: prune.l1_unstructured(m, "other", 1), lambda: prune.random_structured(m, "weight", 1, 2),
        lambda: prune.random_structured(one, "weight", 1, 0), lambda: prune.ln_structured(m, "weight", 4, 2, 0),
        lambda: prune.custom_from_mask(m, "weight", torch.ones(2)), lambda: prune.global_unstructured(3, L1),
        lambda: prune.global_unstructured([(m, "weight")], prune.LnStructured, amount=1, n=2),
        lambda: prune.global_unstructured([(m, "weight")], L1, [3], amount=1),
        lambda: prune.PruningContainer().add_pruning_method(3),
        lambda: L1(2).prune(torch.ones(3), importance_scores=torch.ones(2)), prune.BasePruningMethod,
    ]  # fmt: skip
    account = [attempt(action) for action in bad]
    account[-1] = account[-1][:2]
    account[-4] = account[-4][:2]
    account[10] = account[10][:2]
    account += [named(m.named_parameters()), sorted(m._buffers), len(m._forward_pre_hooks)]
    return [*account, L1(1).prune(torch.tensor([3.0, 1.0, 2.0])), L1(1).prune(torch.ones(2), torch.zeros(2))]


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.__name__ for program in PROGRAMS])
def test_programs(program):
    agree(program, rtol=1e-5, atol=1e-7)


def test_assigned_matrices_become_orthogonal():
    module = tapegrad.nn.utils.parametrizations.orthogonal(matrix(tapegrad, 4, 2))
    first = module.weight.detach()
    module.weight = first
    assert (module.weight - first).abs().max() < 1e-9
    module.weight = first * 2 + 1
    assert (module.weight.mT @ module.weight - tapegrad.eye(2, dtype=tapegrad.float64)).abs().max() < 1e-9


def test_a_cache_belongs_to_its_thread():
    from concurrent.futures import ThreadPoolExecutor

    parametrize = tapegrad.nn.utils.parametrize
    net = parametrize.register_parametrization(square(tapegrad), "weight", kinds(tapegrad)[1]())
    with parametrize.cached(), ThreadPoolExecutor(1) as pool:
        assert net.weight is net.weight
        assert pool.submit(lambda: net.weight is not net.weight).result()
