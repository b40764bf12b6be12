"""State dicts: what is saved, what is loaded, what is wrong with it, and hooks."""

import weakref
from collections import OrderedDict

import pytest
from harness import Programs, agree, attempt, warned
from small_modules import modules, named, vector

import tapegrad

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


def state(torch, net, factor=2.0):
    return {name: x.detach() * factor for name, x in net.state_dict().items()}


def everything(net):
    return named((*net.named_parameters(), *net.named_buffers()))


@program
def saved(torch):
    net = modules(torch).Net()
    saved = net.state_dict()
    account = [saved, type(saved).__name__, saved._metadata, list(net.first.state_dict(prefix="p."))]
    account += [[x.requires_grad for x in saved.values()], saved["first.weight"] is net.first.weight]
    kept = net.state_dict(keep_vars=True)
    account += [[x.requires_grad for x in kept.values()], kept["first.weight"] is net.first.weight]
    with torch.no_grad():
        net.first.weight.mul_(3)
    return [*account, saved["first.weight"], [x._version for x in saved.values()]]


@program
def into_what_is_given(torch):
    net, own = modules(torch).Net(), {"before": 3}
    account = [net.state_dict(destination=own) is own, own, hasattr(own, "_metadata")]
    ordered = OrderedDict()
    ordered._metadata = OrderedDict()
    net.state_dict(destination=ordered, prefix="a.")
    account += [list(ordered), ordered._metadata, warned(lambda: net.state_dict({}, "p.", True))]
    with pytest.warns(FutureWarning):
        return [*account, net.first.state_dict({}, "p."), list(net.first.state_dict(OrderedDict()))]


@program
def loaded(torch):
    net, other = modules(torch).Net(), modules(torch).Net()
    before = net.first.weight
    result = net.load_state_dict(state(torch, other))
    account = [repr(result), str(result), result.missing_keys, everything(net), before is net.first.weight]
    account += [net.first.weight.requires_grad, net.first.weight.is_leaf, net.first.weight._version]
    account += [net(vector(torch)).detach(), repr(net.load_state_dict(other.state_dict())), everything(net)]
    return [*account, net.load_state_dict(net.state_dict()).unexpected_keys, everything(net)]


@program
def not_strict(torch):
    net, given = modules(torch).Net(), {"first.weight": torch.zeros(3), "a": 3, "first.b": None, "x.y": 1, "first": 2}
    result = net.load_state_dict(given, strict=False)
    return [repr(result), result.missing_keys, result.unexpected_keys, everything(net), repr(type(result).__name__)]


@program
def refused(torch):
    net = modules(torch).Net()
    good, account = state(torch, net), []
    for change in (
        {"first.weight": torch.zeros(2)}, {"first.weight": 3}, {"more": torch.zeros(1)}, {"first.weight": None},
        {"rest.2.bias": torch.zeros(3, 1), "a.b": 1, "rest.9.c": 2, "first.weight.x": 4},
        {"rest.0.last": torch.ones(3)}, {"rest.0.calls": torch.ones(2)}, {"first.weight": "text"},
    ):  # fmt: skip
        for strict in (True, False):
            text = attempt(lambda: net.load_state_dict({**good, **change}, strict=strict))  # noqa: B023
            account.append(text if not strict else [text[0] if isinstance(text, list) else text])
            net.load_state_dict(state(torch, modules(torch).Net(), 1.0))
    for missing in ("first.weight", "rest.0.calls"):
        fewer = {key: value for key, value in good.items() if key != missing}
        account.append(attempt(lambda: net.load_state_dict(fewer)))  # noqa: B023
    account.append(attempt(lambda: net.load_state_dict({})))
    return [*account, *(str(attempt(lambda: net.load_state_dict(x)))[:80] for x in (3, None, [("a", 1)]))]  # noqa: B023


@program
def converted_on_the_way(torch):
    net = modules(torch).Net()
    given = {name: x.to(torch.float64) * 1.5 for name, x in state(torch, net).items()}
    given["rest.0.calls"] = torch.tensor([5.0])
    account = [repr(net.load_state_dict(given)), everything(net), str(net.first.weight.dtype).rpartition(".")[2]]
    given["rest.0.calls"] = torch.tensor(7)
    return [*account, repr(net.load_state_dict(given)), everything(net)]


@program
def assigned(torch):
    net = modules(torch).Net()
    net.first.bias.requires_grad_(False)
    given = state(torch, net.double())
    given["rest.2.weight"] = torch.nn.Parameter(given["rest.2.weight"])
    given["first.bias"] = torch.nn.Parameter(given["first.bias"])
    before = net.first.weight, net.rest[2].weight
    account = [repr(net.load_state_dict(given, assign=True)), everything(net)]
    account += [net.first.weight is before[0], net.rest[2].weight is given["rest.2.weight"]]
    account += [net.rest[0].calls is given["rest.0.calls"], [x.requires_grad for x in net.parameters()]]
    account += [type(x).__name__ for x in net.parameters()]
    meta = modules(torch).Net().to("meta")
    warnings = warned(lambda: meta.load_state_dict(given))
    account += [warnings, meta.first.weight.device.type]
    meta.load_state_dict(given, assign=True)
    return [*account, meta.first.weight.device.type, meta.first.weight, meta.rest[0].calls]


@program
def versions(torch):
    class Old(torch.nn.Module):
        _version = 3

        def __init__(self):
            super().__init__()
            self.a = torch.nn.Parameter(torch.ones(1))

        def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
            seen.append([prefix, local_metadata])
            if local_metadata.get("version") == 2:
                state_dict[prefix + "a"] = state_dict.pop(prefix + "old")
            super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    seen, net = [], torch.nn.Sequential(Old())
    given = net.state_dict()
    account = [given._metadata]
    given["0.old"] = given.pop("0.a") * 4
    given._metadata["0"]["version"] = 2
    account += [attempt(lambda: repr(net.load_state_dict(given))), net[0].a]
    account += [attempt(lambda: net.load_state_dict(dict(given))), net.load_state_dict({"0.a": torch.ones(1)}), seen]
    return account


@program
def hooks_around_saving(torch):
    net, seen = modules(torch).Net(), []

    def before(module, prefix, keep_vars):
        seen.append([type(module).__name__, prefix, keep_vars])

    def after(module, destination, prefix, metadata):
        seen.append([type(module).__name__, list(destination), prefix, metadata])
        destination[prefix + "more"] = 3

    def another(module, destination, prefix, metadata):
        return {"only": list(destination)}

    handles = [net.first.register_state_dict_pre_hook(before), net.register_state_dict_pre_hook(before)]
    handles += [net.register_state_dict_post_hook(after), net.rest.register_state_dict_post_hook(after)]
    account = [list(net.state_dict()), seen]
    handles += [net._register_state_dict_hook(another)]
    account += [net.state_dict(), attempt(lambda: net._register_state_dict_hook(after))]
    for handle in handles:
        handle.remove()
    net.register_state_dict_post_hook(lambda *args: {"no": 1})
    return [*account, attempt(lambda: net.state_dict())]


@program
def hooks_around_loading(torch):
    net, seen = modules(torch).Net(), []

    def before(state_dict, prefix, metadata, strict, missing, unexpected, errors):
        seen.append([list(state_dict), prefix, metadata, strict, missing, unexpected, errors])
        state_dict.pop(prefix + "old", None)

    def before_with_module(module, *rest):
        seen.append([type(module).__name__, rest[1]])

    def after(module, keys):
        seen.append([type(module).__name__, keys.missing_keys, keys.unexpected_keys, everything(module)])
        keys.missing_keys.clear()

    handles = [net.first._register_load_state_dict_pre_hook(before), net.register_load_state_dict_post_hook(after)]
    handles += [net.rest.register_load_state_dict_pre_hook(before_with_module)]
    handles += [net.rest.register_load_state_dict_post_hook(after)]
    given = {**state(torch, net), "first.old": 3}
    given.pop("rest.2.bias")
    account = [attempt(lambda: repr(net.load_state_dict(given))), seen, everything(net)]
    for handle in handles:
        handle.remove()
    net.register_load_state_dict_post_hook(lambda *args: 3)
    return [*account, attempt(lambda: net.load_state_dict(given)), attempt(lambda: net.load_state_dict({}))]


@program
def extra_state(torch):
    class Extra(torch.nn.Module):
        note = "first"

        def get_extra_state(self):
            return {"note": self.note}

        def set_extra_state(self, state):
            self.note = state["note"] + "!"

    class Half(torch.nn.Module):
        def get_extra_state(self):
            return 3

    net = torch.nn.Sequential(Extra(), Half())
    given = net.state_dict()
    account = [given, attempt(lambda: net.load_state_dict(given))]
    net[0].note = "other"
    given.pop("1._extra_state")
    account += [repr(net.load_state_dict(given)), net[0].note, attempt(lambda: net.load_state_dict({}))]
    return [*account, repr(net.load_state_dict({"0._extra_state": {"note": "x"}, "1": 3}, strict=False)), net[0].note]


@program
def swapped(torch):
    future = __import__(f"{torch.__name__}.__future__", fromlist=["x"])
    net, weak = modules(torch).Net(), []
    net(vector(torch)).sum().backward()
    weight, grad = net.first.weight, net.first.weight.grad
    future.set_swap_module_params_on_conversion(True)
    try:
        account = [future.get_swap_module_params_on_conversion(), net.double() is net, weight is net.first.weight]
        account += [everything(net), net.first.weight.grad, grad is net.first.weight.grad]
        account += [repr(net.load_state_dict(state(torch, net))), everything(net), weight is net.first.weight]
        account += [repr(net.load_state_dict(state(torch, net), assign=True)), everything(net), net.training]
        weak.append(weakref.ref(net.first.weight, lambda _: None))
        return [*account, attempt(lambda: net.float()), attempt(lambda: net.load_state_dict(state(torch, net)))]
    finally:
        future.set_swap_module_params_on_conversion(False)


@program
def overwritten(torch):
    future = __import__(f"{torch.__name__}.__future__", fromlist=["x"])
    net = modules(torch).Net()
    net(vector(torch)).sum().backward()
    weight, grad = net.first.weight, net.first.weight.grad
    future.set_overwrite_module_params_on_conversion(True)
    try:
        net.double()
        return [weight is net.first.weight, weight, grad, net.first.weight, net.first.weight.grad, everything(net)]
    finally:
        future.set_overwrite_module_params_on_conversion(False)


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.__name__ for program in PROGRAMS])
def test_programs(program):
    agree(program)


class Extra(tapegrad.nn.Module):
    """A module with a parameter, a buffer and a note."""

    def __init__(self):
        super().__init__()
        self.a = tapegrad.nn.Parameter(tapegrad.tensor([1.0, 2.0]))
        self.register_buffer("b", tapegrad.tensor([3.0]))
        self.note = "first"

    def get_extra_state(self):
        return self.note

    def set_extra_state(self, state):
        self.note = state


GOOD = {"0.a": tapegrad.zeros(2), "0.b": tapegrad.zeros(1), "0._extra_state": "other", "1.a": tapegrad.zeros(2),
        "1.b": tapegrad.zeros(1), "1._extra_state": "other"}  # fmt: skip


@pytest.mark.parametrize("assign", [False, True])
@pytest.mark.parametrize("change", [{"more": 3}, {"1.b": tapegrad.zeros(2)}, {"1.a": "text"}, {"1.a": None}])
def test_a_load_that_fails_leaves_the_module_as_it_was(assign, change):
    net = tapegrad.nn.Sequential(Extra(), Extra())
    members = [*net.parameters(), *net.buffers()]
    given = {**GOOD, "0.a": tapegrad.nn.Parameter(tapegrad.zeros(2), requires_grad=False), **change}
    given = {key: value for key, value in given.items() if value is not None}
    with pytest.raises(RuntimeError, match="Error"):
        net.load_state_dict(given, assign=assign)
    assert all(one is other for one, other in zip(members, [*net.parameters(), *net.buffers()], strict=True))
    assert [x.tolist() for x in members] == [[1.0, 2.0], [1.0, 2.0], [3.0], [3.0]]
    assert [part.note for part in net] == ["first", "first"] and not given["0.a"].requires_grad


def test_a_hook_that_raises_undoes_a_load():
    net = tapegrad.nn.Sequential(Extra(), Extra())
    net.register_load_state_dict_post_hook(lambda *args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        net.load_state_dict(GOOD)
    assert net[0].a.tolist() == [1.0, 2.0] and net[1].note == "first"


def test_memory_that_can_not_be_written_undoes_a_load():
    net = tapegrad.nn.Module()
    net.a = tapegrad.nn.Parameter(tapegrad.ones(2))
    net.b = tapegrad.nn.Parameter(tapegrad.ones(1).expand(2))
    with pytest.raises(RuntimeError, match="While copying the parameter named \"b\""):
        net.load_state_dict({"a": tapegrad.zeros(2), "b": tapegrad.zeros(2)})
    assert net.a.tolist() == [1.0, 1.0]
