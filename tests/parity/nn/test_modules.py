"""``nn.Module``: what it owns, its attributes, conversions and text."""

import copy
import pickle

import pytest
from harness import Programs, agree, attempt, warned
from small_modules import modules, named, vector

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


@program
def registered_by_assignment(torch):
    net = modules(torch).Net()
    names = [name for name, _ in net.named_parameters()], [name for name, _ in net.named_buffers()]
    paths = [(path, type(module).__name__) for path, module in net.named_modules()]
    return [names, paths, [name for name, _ in net.named_children()], len(list(net.modules())), repr(net)]


@program
def functions_in_the_body_of_a_class(torch):
    """Builtins of PyTorch's are no methods; its functions in Python are."""
    F = torch.nn.functional

    class Squashing(torch.nn.Module):
        activation, convolve, transform, special = torch.tanh, F.conv2d, torch.fft.rfft, torch.special.erf
        outer, rank, softplus, linear = F.gelu, torch.linalg.det, F.softplus, F.linear
        static = staticmethod(F.relu)

        def forward(self, x):
            y = [self.activation(x), self.transform(x), self.special(x), self.outer(x), self.rank(x), self.softplus(x)]
            return [*y, self.linear(x, x), self.static(x), self.convolve(x[None], x[None, None])]

    class Inheriting(Squashing):
        pass

    class Bound(torch.nn.Module):
        relu, einsum = F.relu, torch.einsum

    x = torch.tensor([[1.0, -2.0], [0.5, 3.0]], dtype=torch.float64)
    bound = Bound()
    assert bound.relu.__self__ is bound and bound.einsum.__self__ is bound
    return Squashing()(x), Inheriting()(x), Squashing.activation is torch.tanh, Squashing().outer is F.gelu


@program
def shared_members(torch):
    m = modules(torch)
    net = torch.nn.Module()
    net.a = net.b = m.Scale()
    net.c = m.Scale()
    net.c.bias = net.c.weight
    net.missing = None
    net.register_module("nothing", None)
    net.register_parameter("no", None)
    net.register_buffer("none", None)

    def names(pairs):
        return [name for name, _ in pairs]

    return [
        names(net.named_parameters()), names(net.named_parameters(remove_duplicate=False)),
        names(net.named_parameters(prefix="p", recurse=False)), names(net.c.named_parameters("p")),
        names(net.named_modules()), names(net.named_modules(remove_duplicate=False)),
        names(net.named_modules(prefix="top")), names(net.named_children()), names(net.named_buffers()),
        len(list(net.parameters())), len(list(net.parameters(recurse=False))), len(list(net.children())),
        len(list(net.modules(remove_duplicate=False))), repr(net), list(net.state_dict()),
        net.nothing, net.no, net.none,
    ]  # fmt: skip


@program
def what_a_name_stands_for_may_change(torch):
    net, m = torch.nn.Module(), modules(torch)
    steps = [
        3, torch.nn.Parameter(torch.ones(1)), None, torch.nn.Parameter(torch.zeros(2)), m.Scale(), None, m.Shift(),
        torch.nn.Parameter(torch.ones(2)),
    ]  # fmt: skip
    account = []
    for value in steps:
        if isinstance(value, m.Scale):
            account.append(attempt(lambda: setattr(net, "x", m.Shift()))[:2])
            del net.x
        net.x = value
        tables = [sorted(table) for table in (net._parameters, net._modules, net._buffers)]
        account.append([type(net.x).__name__, "x" in vars(net), tables])
    del net.x
    net.x = torch.nn.Buffer(torch.ones(1), persistent=False)
    account.append([list(net.state_dict()), sorted(net._buffers), sorted(net._non_persistent_buffers_set)])
    net.x = torch.zeros(3)
    account.append([net.x, list(net.state_dict()), sorted(net._buffers)])
    net.x = torch.nn.Buffer(torch.ones(1))
    account.append([list(net.state_dict()), sorted(net._non_persistent_buffers_set)])
    net.x = None
    account.append([net.x, list(net.state_dict())])
    net.x = m.Shift()
    return [*account, sorted(net._buffers), sorted(net._modules), [hasattr(net, name) for name in ("x", "y")]]


@program
def refusals(torch):
    nn, m = torch.nn, modules(torch)

    class Early(nn.Module):
        def __init__(self, what):
            self.x = what

    class Arguments(nn.Module):
        def __init__(self):
            super().__init__(3)

    net = m.Net()
    bad = [
        lambda: Early(nn.Parameter(torch.ones(1))), lambda: Early(nn.Module()), lambda: Early(3).x,
        lambda: Early(3).y, Arguments, lambda: nn.Module(a=3), lambda: nn.Module(3), lambda: nn.Module()(3),
        lambda: nn.Module.register_buffer(Early(3), "b", None), lambda: net.register_parameter("first.b", None),
        lambda: nn.Module.register_parameter(Early(3), "b", None), lambda: net.register_parameter("", None),
        lambda: net.register_parameter(3, None), lambda: net.register_parameter("first", nn.Parameter(torch.ones(1))),
        lambda: net.register_parameter("b", torch.ones(1)), lambda: net.register_parameter("b", 3),
        lambda: net.register_parameter("b", net), lambda: net.register_buffer("first.b", None),
        lambda: net.register_buffer("", None), lambda: net.register_buffer(torch.ones(1), None),
        lambda: net.register_buffer("forward", None), lambda: net.register_buffer("b", 3.0),
        lambda: net.register_buffer("b", nn.Module()), lambda: net.add_module("a.b", None),
        lambda: net.add_module("", None), lambda: net.add_module("first", 3), lambda: net.add_module(3, m.Shift()),
        lambda: net.add_module("first", torch.ones(1)), lambda: net.add_module("training", m.Shift()),
        lambda: setattr(net.first, "weight", torch.ones(3)), lambda: setattr(net.first, "weight", 3),
        lambda: setattr(net, "first", 3), lambda: setattr(net.rest[0], "calls", 3),
        lambda: setattr(net.rest[0], "calls", "three"), lambda: net.nothing, lambda: delattr(net, "nothing"),
        lambda: net.train(3), lambda: net.get_extra_state(), lambda: net.set_extra_state(3),
        lambda: net.to(torch.int64), lambda: net.load_state_dict([]), lambda: net.first("a", "b", "c"),
    ]  # fmt: skip
    return [*(attempt(one) for one in bad), list(net.state_dict()), net.first.weight]


@program
def a_parameter_with_a_history(torch):
    net, x = torch.nn.Module(), torch.ones(2, requires_grad=True)
    history = torch.nn.Parameter(x).requires_grad_()
    made = torch.nn.Parameter(torch.ones(2))
    made.data = x * 2
    net.a, net.b = history, made
    part = made[0]
    part._is_param = True
    return [sorted(net._parameters), attempt(lambda: net.register_parameter("c", part))]


@program
def by_path(torch):
    net = modules(torch).Net()
    account = [
        type(net.get_submodule(path)).__name__ for path in ("", "first", "rest", "rest.0", "rest.2")
    ] + [net.get_parameter("rest.2.weight"), net.get_buffer("rest.0.calls")]  # fmt: skip
    bad = [
        lambda: net.get_submodule("other"), lambda: net.get_submodule("first.weight"),
        lambda: net.get_submodule("first..a"), lambda: net.get_parameter("rest.0.calls"),
        lambda: net.get_parameter("rest.9.weight"), lambda: net.get_parameter("first.other"),
        lambda: net.get_buffer("first.weight"), lambda: net.get_buffer("rest.0.others"),
        lambda: net.set_submodule("", net), lambda: net.set_submodule("a.b", net),
        lambda: net.set_submodule("first", torch.ones(1)), lambda: net.set_submodule("first.weight", net.rest[1]),
        lambda: net.set_submodule("first.other", net.rest[1], strict=True),
    ]  # fmt: skip
    account += [str(attempt(one)).replace("tapegrad.Tensor", "torch.Tensor") for one in bad]
    net.set_submodule("first", net.rest[1])
    net.set_submodule("rest.1", net.rest[0], strict=True)
    net.set_submodule("rest.new", net.first)
    return [*account, repr(net)]


@program
def modes(torch):
    net, x = modules(torch).Net(), vector(torch)
    net(x)
    account = [net.training, net(x).detach(), net.rest[0].calls.clone(), net.rest[0].last]
    net.eval()
    account += [[module.training for module in net.modules()], net(x).detach(), net.train() is net, net.train(False)]
    net.rest[0].train()
    account += [[module.training for module in net.modules()], net.apply(lambda m: m.train()) is net]
    return [*account, [module.training for module in net.modules()]]


@program
def order_of_apply(torch):
    seen, net = [], modules(torch).Net()
    net.apply(lambda module: seen.append(type(module).__name__))
    return seen


@program
def gradients(torch):
    net, x = modules(torch).Net(), vector(torch)
    net(x).sum().backward()
    account = [net.first.weight.grad.clone(), net.rest[2].bias.grad.clone()]
    net.zero_grad(set_to_none=False)
    account += [net.first.weight.grad, net.first.weight.grad is not None]
    net.zero_grad()
    account += [net.first.weight.grad, net.requires_grad_(False) is net]
    account += [[p.requires_grad for p in net.parameters()], net(x)]
    net.first.requires_grad_()
    loss = net(x).sum()
    (g,) = torch.autograd.grad(loss, net.first.weight, create_graph=True)
    net.first.weight.grad = g * net.first.weight
    net.zero_grad(set_to_none=False)
    return [*account, net.first.weight.grad, net.first.weight.grad.requires_grad]


def dtypes(net):
    tensors = (*net.parameters(), *net.buffers())
    return [str(x.dtype).rpartition(".")[2] for x in tensors]


@program
def conversions(torch):
    net = modules(torch).Net()
    net.register_buffer("number", torch.tensor(3))
    net(vector(torch)).sum().backward()
    weight, grad = net.first.weight, net.first.weight.grad
    account = []
    for change in (
        lambda: net.double(), lambda: net.half(), lambda: net.bfloat16(), lambda: net.float(), lambda: net.cpu(),
        lambda: net.to(torch.float64), lambda: net.to("cpu"), lambda: net.to("cpu", torch.float16),
        lambda: net.to(torch.ones(1)), lambda: net.to(dtype=torch.float64), lambda: net.to(device="cpu"),
        lambda: net.to(torch.device("cpu"), torch.float32, True), lambda: net.to(), lambda: net.to(None, None),
        lambda: net.to("cpu", non_blocking=True), lambda: net.to(memory_format=torch.channels_last),
    ):  # fmt: skip
        account.append([attempt(lambda: change() is net), dtypes(net), weight is net.first.weight])  # noqa: B023
        account.append([str(net.first.weight.grad.dtype).rpartition(".")[2], grad is net.first.weight.grad])
    account.append([net.first.weight.grad, net.first.weight, net.number, weight.is_leaf])
    net.type(torch.float64)
    return [*account, dtypes(net)]


@program
def bad_conversions(torch):
    net = modules(torch).Net()
    bad = [
        lambda: net.to(torch.bool), lambda: net.to(torch.uint8), lambda: net.to("nowhere"), lambda: net.to_empty(),
        lambda: net.to(dtype=torch.int32), lambda: net.type(3),
    ]  # fmt: skip
    return [[attempt(one)[:2] for one in bad], attempt(bad[0]), attempt(bad[-2]), dtypes(net)]


@program
def complex_modules_are_new(torch):
    net = modules(torch).Scale()
    return [warned(lambda: net.to(torch.complex64)), net.weight, dtypes(net), net.float() is net, dtypes(net)]


@program
def on_meta(torch):
    net = modules(torch).Net()
    weight = net.first.weight
    net.to("meta")
    account = [[x.device.type for x in (*net.parameters(), *net.buffers())], weight is net.first.weight]
    account += [weight.device.type, attempt(lambda: net.to("cpu")), net.to_empty(device="cpu") is net]
    account += [net.first.weight.device.type, net.first.weight.requires_grad, list(net.first.weight.shape)]
    net.first.to_empty(device="meta", recurse=False)
    return [*account, [x.device.type for x in net.parameters()]]


@program
def memory_formats(torch):
    net = torch.nn.Module()
    net.a = torch.nn.Parameter(torch.arange(24.0).reshape(1, 2, 3, 4))
    net.register_buffer("b", torch.ones(2, 3))
    net.to(memory_format=torch.channels_last)
    return [net.a.detach(), list(net.a.stride()), list(net.b.stride())]


@program
def copies(torch):
    net = modules(torch).Net()
    net.first.bias = net.rest[2].bias
    net.first.weight.requires_grad_(False)
    net.eval()
    other = copy.deepcopy(net)
    shallow = copy.copy(net)
    account = [named(other.named_parameters()), other.first.bias is other.rest[2].bias, repr(other) == repr(net)]
    account += [other.first.weight is net.first.weight, shallow.first is net.first, other.training, other.rest[0].calls]
    account += [[x.requires_grad for x in other.parameters()], other.rest[0]._non_persistent_buffers_set]
    with torch.no_grad():
        other.first.weight.add_(1)
    return [*account, net.first.weight, other.first.weight, other(vector(torch)).detach()]


@program
def modules_without_anything(torch):
    class Empty(torch.nn.Module):
        pass

    class Lines(torch.nn.Module):
        def extra_repr(self):
            return "one\ntwo"

        def _get_name(self):
            return "Named"

    lines = Lines()
    lines.below = Lines()
    lines.empty = Empty()
    return [repr(Empty()), repr(lines), repr(torch.nn.Sequential(lines, Lines())), attempt(lambda: Empty()(1, a=2))]


@program
def what_dir_lists(torch):
    net = modules(torch).Net()
    own = ("first", "rest", "training", "_parameters", "forward", "register_buffer")
    sequence = torch.nn.Sequential(net)
    return [[name in dir(net) for name in own], "0" in dir(sequence), sorted(dir(net)) == dir(net)]


@program
def super_with_arguments(torch):
    class Named:
        def __init__(self, name):
            self.name = name

    class Both(torch.nn.Module, Named):
        call_super_init = True

        def __init__(self, name):
            super().__init__(name)

    both = Both("x")
    return [both.name, both.training, sorted(both._parameters)]


@program
def registration_hooks(torch):
    from_ = __import__(f"{torch.__name__}.nn.modules.module", fromlist=["x"])
    seen = []

    def note(kind):
        return lambda module, name, value: seen.append([kind, name])

    def doubled(module, name, value):
        return torch.nn.Parameter(value.detach() * 2)

    handles = [
        from_.register_module_parameter_registration_hook(note("parameter")),
        from_.register_module_parameter_registration_hook(doubled),
        from_.register_module_buffer_registration_hook(note("buffer")),
        from_.register_module_module_registration_hook(note("module")),
    ]
    try:
        net = modules(torch).Net()
    finally:
        for handle in handles:
            handle.remove()
    modules(torch).Net()
    return [seen, net.first.weight]


@program
def a_class_that_registers_buffers_its_own_way(torch):
    class Own(torch.nn.Module):
        def register_buffer(self, name, tensor):
            super().register_buffer(name, tensor)

    own = Own()
    own.register_buffer("a", torch.ones(1))
    own.a = torch.zeros(1)
    own._non_persistent_buffers_set.add("a")
    return [own.a, attempt(lambda: setattr(own, "a", torch.ones(2))), own.a]


@program
def shared_with_other_processes(torch):
    net = modules(torch).Net()
    return [net.share_memory() is net, net(vector(torch))]


@program
def data_parallel_without_gpus(torch):
    net = torch.nn.DataParallel(modules(torch).Net())
    account = [repr(net), list(net.state_dict()), net(vector(torch)).detach(), net.device_ids, net.module.training]
    return [*account, torch.nn.parallel.DataParallel is torch.nn.DataParallel]


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.__name__ for program in PROGRAMS])
def test_programs(program):
    agree(program)


def test_pickling():
    import tapegrad as torch

    net = torch.nn.Sequential(torch.nn.ParameterList([torch.ones(2)]), torch.nn.ModuleDict({"a": torch.nn.Module()}))
    net.register_buffer("b", torch.zeros(1), persistent=False)
    net.register_forward_hook(len)
    again = pickle.loads(pickle.dumps(net))
    assert repr(again) == repr(net) and list(again.state_dict()) == ["0.0"] and len(again._forward_hooks) == 1
    assert again._non_persistent_buffers_set == {"b"} and isinstance(again[0][0], torch.nn.Parameter)


def test_state_of_older_modules_gets_what_they_lack():
    import tapegrad as torch

    net = torch.nn.Module()
    state = {name: value for name, value in vars(net).items() if not name.endswith("hooks")}
    other = torch.nn.Module.__new__(torch.nn.Module)
    other.__setstate__({**state, "_forward_hooks": {}, "_backward_hooks": {}})
    assert other._load_state_dict_post_hooks == {} and other._forward_pre_hooks == {} and other.state_dict() == {}
