"""What nodes save for backward: access, hooks, and the contexts that put hooks in force."""

import gc
import tempfile
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest
from harness import agree, attempt

PROGRAMS = []


def program(function):
    """Put a program into the table."""
    PROGRAMS.append(function)
    return function


def leaf(torch, *values):
    return torch.tensor(list(values or (1.0, 2.0)), requires_grad=True)


def names(node, prefix="_raw_saved_"):
    return sorted(name for name in dir(node) if name.startswith(prefix))


def hooked(torch, pack, unpack):
    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)


def logging(torch, log):
    """Hooks that keep a detached copy and note what they are given."""

    def pack(x):
        log.append(["pack", x.tolist(), x.requires_grad, x.is_leaf, torch.is_grad_enabled()])
        return x.detach().clone()

    def unpack(x):
        log.append(["unpack", x.tolist(), torch.is_grad_enabled()])
        return x

    return hooked(torch, pack, unpack)


# -- fields ------------------------------------------------------------------------------------------------------------


@program
def a_saved_input_is_the_same_object(torch):
    x, y = leaf(torch), leaf(torch, 3.0, 4.0)
    node = (x * y).grad_fn
    return node._saved_self is x, node._saved_other is y, node._raw_saved_self is node._raw_saved_self


@program
def a_saved_output_is_another_object_on_the_same_storage(torch):
    x = leaf(torch)
    y = x.exp()
    saved = y.grad_fn._saved_result
    before = [saved is y, saved.grad_fn is y.grad_fn, saved._version, saved.output_nr, saved.is_leaf]
    with torch.no_grad():
        y += 1
    return before, saved, saved._version, y._version, attempt(lambda: y.grad_fn._saved_result).__class__.__name__


@program
def handles_on_a_saved_output_share_its_version(torch):
    y = leaf(torch).exp()
    with torch.no_grad():
        y.mul_(1.0)
    z = leaf(torch).exp()
    first, second = z.grad_fn._saved_result, z.grad_fn._saved_result
    with torch.no_grad():
        z.add_(1)
    return y._version, first._version, second._version, first.tolist() == z.tolist() == second.tolist()


@program
def a_saved_output_without_gradient_is_the_same_object(torch):
    x = leaf(torch, 1.0, 3.0, 2.0)
    values, indices = x.max(0)
    node = values.grad_fn
    seen = [node._saved_indices is indices, node._saved_indices.requires_grad]
    indices.add_(0)
    return seen, attempt(lambda: values.backward())


@program
def raw_fields(torch):
    x, y = leaf(torch), leaf(torch)
    nodes = [(x * y).grad_fn, (x * 2).grad_fn, x.exp().grad_fn, (x**2).grad_fn, (x + y).grad_fn, x[[0]].grad_fn,
             torch.where(x > 1, x, y).grad_fn, x.clamp(1, 2).grad_fn, torch.stack([x, y]).grad_fn]  # fmt: skip
    return [names(node) for node in nodes], [type(getattr(node, n)).__name__ for node in nodes for n in names(node)]


@program
def tensors_go_plain_values_stay(torch):
    x = leaf(torch)
    nodes = [(x * x).grad_fn, (x**2).grad_fn, x.sum(0).grad_fn, x.clamp(0.5, 1.5).grad_fn]
    before = [nodes[1]._saved_exponent, nodes[3]._saved_min]
    for node in nodes:
        node(torch.ones(()) if node is nodes[2] else torch.ones(2))
    out = (x * x).sum() + (x**2).sum() + x.clamp(0.5, 1.5).sum()
    second = [out.grad_fn.next_functions[0][0].next_functions[i][0] for i in (0, 1)]
    clamp = out.grad_fn.next_functions[1][0].next_functions[0][0]
    power = second[1].next_functions[0][0]
    out.backward()
    return before, power._saved_exponent, clamp._saved_min, clamp._saved_max, attempt(lambda: power._saved_self)


@program
def numbers_do_not_count_as_saved(torch):
    x, y = leaf(torch), leaf(torch)
    out = x.lerp(y, 0.5).sum()
    out.backward()
    out.backward()
    return x.grad, out.grad_fn.next_functions[0][0]._saved_weight


@program
def a_wrapped_number_is_a_tensor(torch):
    x = leaf(torch)
    out = x * 2.5
    shown = out.grad_fn._saved_other
    none = attempt(lambda: out.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t))
    out.grad_fn._raw_saved_other.register_hooks(lambda t: t * 2, lambda t: t * 2)
    out.sum().backward()
    return shown, out.grad_fn._saved_self, none, x.grad, attempt(lambda: out.grad_fn._saved_other)


@program
def access_after_a_backward(torch):
    x, y = leaf(torch), leaf(torch)
    out = x * y
    node, raw = out.grad_fn, out.grad_fn._raw_saved_self
    out.sum().backward()
    register = [attempt(lambda: r.register_hooks(lambda t: t, lambda t: t)) for r in (raw, node._raw_saved_other)]
    return attempt(lambda: node._saved_self), attempt(lambda: node._saved_other), register, attempt(lambda: raw.unpack())


@program
def a_kept_graph_keeps_what_it_saved(torch):
    x = leaf(torch)
    out = x.exp() * x
    out.sum().backward(retain_graph=True)
    seen = [out.grad_fn._saved_other is x, out.grad_fn._saved_self]
    out.sum().backward()
    return seen, attempt(lambda: out.grad_fn._saved_other), x.grad


@program
def missing_fields(torch):
    node = leaf(torch).exp().grad_fn
    return [attempt(lambda name=name: getattr(node, name)) for name in ("_saved_self", "_saved_nope", "_raw_saved_self")]


@program
def indices_with_gaps(torch):
    x = torch.ones(2, 2, requires_grad=True)
    index = torch.tensor([0, 1])
    node = x[:, index].grad_fn
    raw = node._raw_saved_indices
    seen = [len(raw), [type(item).__name__ for item in raw], node._saved_indices[0], node._saved_indices[1]]
    raw[1].register_hooks(lambda t: t + 1, lambda t: t - 1)
    seen.append(node._saved_indices[1])
    seen.append(attempt(lambda: raw[0].register_hooks(lambda t: t, lambda t: t)))
    return seen, list(node._saved_self_sym_sizes)


@program
def which_version_is_saved(torch):
    x = leaf(torch)
    u = x * 1
    out = u * u
    u.add_(1)
    return attempt(lambda: out.sum().backward()), attempt(lambda: out.grad_fn._saved_self)


@program
def detached_in_place(torch):
    x = leaf(torch)
    u = x * 1
    out = u.sin()
    u.detach_()
    seen = [out.grad_fn._saved_self is u, attempt(lambda: out.sum().backward())]
    v = x.exp()
    out = v.sum()
    v.detach_()
    out.backward()
    leaf_ = leaf(torch)
    out = leaf_ * leaf_
    leaf_.detach_()
    return seen, x.grad, attempt(lambda: out.sum().backward())


@program
def detached_in_place_and_written(torch):
    x = leaf(torch)
    v = x.exp()
    out = v.sum()
    v.detach_()
    v.add_(1)
    return attempt(lambda: out.backward())


@program
def a_leaf_that_stops_requiring_grad_may_be_used(torch):
    x, y = leaf(torch), leaf(torch, 3.0, 4.0)
    out = x * y
    x.requires_grad_(False)
    return torch.autograd.grad(out.sum(), y)


# -- SavedTensor -------------------------------------------------------------------------------------------------------


@program
def a_saved_tensor_cannot_be_made(torch):
    return attempt(lambda: torch._C._autograd.SavedTensor())


@program
def what_a_saved_tensor_is(torch):
    x, y = leaf(torch), leaf(torch)
    raw = (x * y).grad_fn._raw_saved_self
    seen = [isinstance(raw, torch._C._autograd.SavedTensor), raw.data is y or raw.data is x, raw.unpack() is x,
            raw.unpack_hook]  # fmt: skip
    raw.register_hooks(lambda t: 5, lambda kept: torch.ones(2))
    out = x.exp()
    result = out.grad_fn._raw_saved_result
    return seen, raw.data, callable(raw.unpack_hook), result.data, attempt(lambda: result.unpack())


def without_addresses(result):
    return [*result[:2], result[2].split("Invoked with")[0]]


@program
def register_hooks_refuses(torch):
    x = leaf(torch)
    raw = (x * x).grad_fn._raw_saved_self
    identity = lambda t: t  # noqa: E731
    wrong = [(), (1, 2), (identity,), (identity, 3), (3, identity), (None, None), (identity, identity, identity)]
    seen = [without_addresses(attempt(lambda args=args: raw.register_hooks(*args))) for args in wrong]
    raw.register_hooks(identity, identity)
    return seen, attempt(lambda: raw.register_hooks(identity, identity))


@program
def register_hooks_with_wrong_arity(torch):
    x = leaf(torch)
    first, second = x * x, x * x
    seen = [attempt(lambda: first.grad_fn._raw_saved_self.register_hooks(lambda: 1, lambda t: t))[:2]]
    second.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda: 1)
    return seen, attempt(lambda: second.sum().backward())[:2], attempt(lambda: second.grad_fn._saved_self)[:2]


@program
def registered_hooks_get_a_detached_tensor(torch):
    x, log = leaf(torch), []
    out = x * x

    def pack(t):
        log.append([t is x, t.requires_grad, t.is_leaf, torch.is_grad_enabled(), t])
        return t

    def unpack(t):
        log.append([torch.is_grad_enabled(), t])
        return t

    out.grad_fn._raw_saved_self.register_hooks(pack, unpack)
    saved = out.grad_fn._saved_self
    out.sum().backward()
    return log, saved is x, saved.is_leaf, saved.requires_grad, saved.grad_fn, x.grad


@program
def registered_hooks_on_an_output(torch):
    x, log = leaf(torch), []
    out = x.exp()
    out.grad_fn._raw_saved_result.register_hooks(lambda t: log.append(t.requires_grad) or t * 2, lambda t: t / 2)
    saved = out.grad_fn._saved_result
    out.sum().backward()
    return log, saved, saved.grad_fn is out.grad_fn, saved is out, x.grad


@program
def registered_hooks_may_change_the_gradient(torch):
    x, y = leaf(torch), leaf(torch, 3.0, 4.0)
    out = x * y
    out.grad_fn._raw_saved_other.register_hooks(lambda t: 2 * t, lambda t: 2 * t)
    out.sum().backward()
    return x.grad, y.grad


@program
def unpack_must_give_a_tensor(torch):
    x = leaf(torch)
    seen = []
    for wrong in (5, None, [1.0], "tensor"):
        out = x * x
        out.grad_fn._raw_saved_self.register_hooks(lambda t, wrong=wrong: wrong, lambda kept: kept)
        seen += [attempt(lambda out=out: out.grad_fn._saved_self), attempt(lambda out=out: out.sum().backward())]
    return seen


@program
def pack_may_not_write(torch):
    x = leaf(torch)
    out = x * x
    seen = [attempt(lambda: out.grad_fn._raw_saved_self.register_hooks(lambda t: t.mul_(2), lambda t: t))]

    def forward():
        with hooked(torch, lambda t: t.add_(1), lambda t: t):
            return x.exp()

    return seen, attempt(forward), x


@program
def errors_of_hooks_pass(torch):
    class Boom(Exception):
        pass

    def bad(t):
        raise Boom("boom")

    def forward(pack, unpack):
        with hooked(torch, pack, unpack):
            return x * x

    x = leaf(torch)
    seen = [attempt(lambda: forward(bad, lambda t: t))]
    out = forward(lambda t: t, bad)
    seen += [attempt(lambda: out.sum().backward()), attempt(lambda: out.grad_fn._saved_self)]
    (x * x).sum().backward()
    return seen, x.grad, torch._C._autograd._top_saved_tensors_default_hooks(False)


# -- saved_tensors_hooks -----------------------------------------------------------------------------------------------

CALLS = {
    "mul": lambda torch, x, y: x * y,
    "square": lambda torch, x, y: x * x,
    "by a number": lambda torch, x, y: x * 2,
    "div": lambda torch, x, y: x / y,
    "div by a number": lambda torch, x, y: x / 2,
    "pow": lambda torch, x, y: x**y,
    "pow number": lambda torch, x, y: x**2,
    "number pow": lambda torch, x, y: 2**x,
    "exp": lambda torch, x, y: x.exp(),
    "sin": lambda torch, x, y: x.sin(),
    "outer": lambda torch, x, y: x[:, None] * y,
    "mm": lambda torch, x, y: x[None] @ y[:, None],
    "dot": lambda torch, x, y: x @ y,
    "softmax": lambda torch, x, y: x.softmax(0),
    "where": lambda torch, x, y: torch.where(x > 1, x, y),
    "addcmul": lambda torch, x, y: torch.addcmul(x, x, y),
    "sum": lambda torch, x, y: x.sum(),
    "add": lambda torch, x, y: x + y,
    "index": lambda torch, x, y: x[torch.tensor([0, 1])],
    "norm": lambda torch, x, y: x.norm(),
    "constant": lambda torch, x, y: x * y.detach(),
    "in place": lambda torch, x, y: x.clone().sin_(),
    "in place, other": lambda torch, x, y: x.clone().mul_(y),
    "in place, result": lambda torch, x, y: x.clone().exp_(),
    "no grad": lambda torch, x, y: (x * y.detach()) * torch.no_grad()(lambda: x * y)(),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_goes_through_hooks(name):
    def run(torch):
        x, y, log = leaf(torch), leaf(torch, 3.0, 4.0), []
        with logging(torch, log):
            out = CALLS[name](torch, x, y)
        log.append("backward")
        out.sum().backward()
        return log, x.grad, y.grad

    agree(run)


@program
def unpacked_at_each_access(torch):
    x, y, log = leaf(torch), leaf(torch), []
    with logging(torch, log):
        out = x * y
    counts = [len(log)]
    for action in (lambda: out.grad_fn._saved_self, lambda: out.grad_fn._saved_other, lambda: names(out.grad_fn),
                   lambda: out.grad_fn._raw_saved_self, lambda: out.sum().backward(retain_graph=True),
                   lambda: torch.autograd.grad(out.sum(), x)):  # fmt: skip
        action()
        counts.append(len(log))
    return counts


@program
def what_comes_back(torch):
    x, c, log = leaf(torch), torch.ones(2), []
    mid = x * 2
    with logging(torch, log):
        out, const, result = mid * mid, x * c, x.exp()
    saved = [out.grad_fn._saved_self, out.grad_fn._saved_other, const.grad_fn._saved_other, result.grad_fn._saved_result]
    parents = [mid.grad_fn, mid.grad_fn, None, result.grad_fn]
    return [[s.grad_fn is p, s.requires_grad, s.is_leaf, s._version] for s, p in zip(saved, parents, strict=True)], saved


@program
def an_unpacked_leaf_leads_to_the_same_accumulator(torch):
    x = leaf(torch)
    with hooked(torch, lambda t: t.detach().clone(), lambda t: t):
        out = x * x
    saved = out.grad_fn._saved_self
    again = saved * 3
    again.sum().backward()
    return saved is x, saved.is_leaf, x.grad, saved.grad, again.grad_fn.next_functions[0][0] is out.grad_fn.next_functions[0][0]


@program
def an_unpacked_constant_stays_one(torch):
    x, c, w = leaf(torch), torch.ones(2), leaf(torch, 5.0, 5.0)
    same = torch.ones(2)
    seen = []
    for replacement in (w * 1, w, same):
        with hooked(torch, lambda t: t, lambda kept, replacement=replacement: replacement):
            out = x * c
        saved = out.grad_fn._saved_other
        seen.append([saved, saved is replacement, saved.requires_grad])
    return seen


@program
def versions_follow_the_replacement(torch):
    x, kept = leaf(torch), torch.zeros(2)
    kept.add_(1)
    with hooked(torch, lambda t: None, lambda none: kept):
        out = x * x
    saved = out.grad_fn._saved_self
    seen = [saved._version]
    kept.add_(1)
    seen += [saved._version, saved.tolist()]
    with torch.no_grad():
        saved.add_(1)
    return seen, saved._version, kept._version, kept


@program
def the_version_of_what_was_packed_is_not_watched(torch):
    x = leaf(torch)
    u = x * 2
    with hooked(torch, lambda t: t, lambda t: t):
        out = u * u
    with hooked(torch, lambda t: t.detach(), lambda t: t):
        result = x.exp()
    with torch.no_grad():
        u.add_(1)
        result.add_(1)
    return torch.autograd.grad(out.sum(), x), torch.autograd.grad(result.sum(), x)


@program
def other_shapes_and_types_come_back(torch):
    x, y = leaf(torch), leaf(torch, 3.0, 4.0)
    seen = []
    for kept in (torch.ones(3), torch.ones(2, dtype=torch.float64), torch.ones(()), torch.ones(2, dtype=torch.int64)):
        with hooked(torch, lambda t: None, lambda none, kept=kept: kept):
            out = x * y
        seen.append(attempt(lambda out=out: torch.autograd.grad(out.sum(), (x, y))))
    return seen


@program
def the_innermost_hooks_are_used(torch):
    x, log = leaf(torch), []

    def note(name):
        return hooked(torch, lambda t: log.append(["pack", name]) or t, lambda t: log.append(["unpack", name]) or t)

    with note("outer"):
        a = x.sin()
        with note("inner"):
            b = a.sin()
            with note("innermost"):
                c = b.sin()
        d = c.sin()
    d.sum().backward()
    return log, x.grad


@program
def hooks_are_seen_by_backward_that_is_recorded(torch):
    x, log = leaf(torch), []
    out = (x * x * x).sum()
    with logging(torch, log):
        (g,) = torch.autograd.grad(out, x, create_graph=True)
    packs = [entry for entry in log if entry[0] == "pack"]
    log.clear()
    (h,) = torch.autograd.grad(g.sum(), x)
    return len(packs) > 0, len(log) > 0, g, h


@program
def double_backward_through_hooks(torch):
    x = leaf(torch)
    with hooked(torch, lambda t: t.detach().clone(), lambda t: t):
        out = ((x * 2).exp() * x).sum()
    (g,) = torch.autograd.grad(out, x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
    (k,) = torch.autograd.grad(h.sum(), x)
    return g, h, k


@program
def double_backward_with_registered_hooks(torch):
    x = leaf(torch)
    out = x.exp() * x
    out.grad_fn._raw_saved_self.register_hooks(lambda t: t * 2, lambda t: t / 2)
    out.grad_fn._raw_saved_other.register_hooks(lambda t: t * 2, lambda t: t / 2)
    (g,) = torch.autograd.grad(out.sum(), x, create_graph=True)
    return g, torch.autograd.grad(g.sum(), x)


@program
def hooks_may_return_anything(torch):
    x = leaf(torch)
    table = {}

    def pack(t):
        table[len(table)] = t.detach().clone()
        return len(table) - 1

    with hooked(torch, pack, table.__getitem__):
        out = (x.exp() * x).sum()
    out.backward()
    return sorted(table), x.grad


class File:
    """A tensor in a file, which goes when the object does."""

    def __init__(self, tensor):
        with tempfile.NamedTemporaryFile(suffix=".npy", delete=False) as file:
            np.save(file, tensor.detach().numpy())
        self.path = Path(file.name)
        self.remove = weakref.finalize(self, self.path.unlink)


@program
def saving_to_disk(torch):
    x, files = leaf(torch), []

    def pack(t):
        file = File(t)
        files.append(file.path)
        return file

    with hooked(torch, pack, lambda file: torch.tensor(np.load(file.path))):
        out = (x * x).sin().sum()
    before = [path.exists() for path in files]
    out.backward()
    return before, [path.exists() for path in files], x.grad


@program
def hooks_inside_pack_do_not_recurse(torch):
    x, log = leaf(torch), []

    def pack(t):
        log.append(torch.is_grad_enabled())
        return (t * 2).sin()  # not recorded: nothing is saved

    with hooked(torch, pack, lambda t: t):
        x * x
    return log


@program
def tensors_without_gradient_are_packed_too(torch):
    x, log = leaf(torch), []
    with logging(torch, log):
        x * torch.ones(2)
        torch.ones(2) * torch.ones(2)
        with torch.no_grad():
            x * x
    return log


@program
def hooks_may_differ_between_entries(torch):
    x, log = leaf(torch), []
    context = hooked(torch, lambda t: log.append("pack") or t, lambda t: log.append("unpack") or t)
    with context:
        a = x.sin()
    with context:
        b = a.sin()
    b.sum().backward()
    return log


@program
def extra_enters_in_backward(torch):
    def unpack(t):
        context.__enter__()
        return t

    context = hooked(torch, lambda t: t, unpack)
    x = leaf(torch)
    with context:
        x.sin().cos().sum().backward()
    return x.grad, torch._C._autograd._top_saved_tensors_default_hooks(False)


@program
def extra_exits_in_backward(torch):
    def unpack(t):
        context.__exit__()
        return t

    context = hooked(torch, lambda t: t, lambda t: t)
    for _ in range(3):
        with hooked(torch, lambda t: t, unpack):
            context.__enter__()
            x = leaf(torch)
            x.sin().sum().backward()
            context.__exit__()
    return x.grad, torch._C._autograd._top_saved_tensors_default_hooks(False)


@program
def hooks_belong_to_the_thread(torch):
    x, log = leaf(torch), []
    with logging(torch, log):
        thread = threading.Thread(target=lambda: x.sin().sum().backward())
        thread.start()
        thread.join()
        inside = torch._C._autograd._top_saved_tensors_default_hooks(False) is not None
    return log, inside, x.grad


# -- enabling and disabling --------------------------------------------------------------------------------------------


def state(torch):
    api = torch._C._autograd
    return api._saved_tensors_hooks_is_enabled(), api._saved_tensors_hooks_get_disabled_error_message()


@program
def disabled_hooks(torch):
    graph = torch.autograd.graph
    enter = lambda: hooked(torch, lambda t: t, lambda t: t).__enter__()  # noqa: E731
    seen = [state(torch)]
    with graph.disable_saved_tensors_hooks("one"):
        seen += [state(torch), attempt(enter), attempt(lambda: graph.save_on_cpu().__enter__())]
        with graph.disable_saved_tensors_hooks("two"):
            seen += [state(torch), attempt(enter)]
        seen += [state(torch), attempt(enter)]
    return seen, state(torch)


@program
def disabling_conflicts_with_hooks_in_force(torch):
    graph, api = torch.autograd.graph, torch._C._autograd
    seen = []

    def disable():
        with graph.disable_saved_tensors_hooks("no"):
            seen.append("inside")

    with hooked(torch, lambda t: t, lambda t: t):
        seen += [attempt(disable), state(torch)]
        api._saved_tensors_hooks_disable("quietly", False)
        seen.append(state(torch))
        api._saved_tensors_hooks_enable()
    return seen, state(torch)


@program
def an_error_inside_restores(torch):
    def fail():
        with torch.autograd.graph.disable_saved_tensors_hooks("no"):
            raise ValueError("inside")

    return attempt(fail), state(torch)


@program
def pushing_and_popping(torch):
    api, x, log = torch._C._autograd, leaf(torch), []
    pack, unpack = (lambda t: log.append("pack") or t), (lambda t: t)
    api._push_saved_tensors_default_hooks(pack, unpack)
    top = api._top_saved_tensors_default_hooks(False)
    x.sin()
    api._pop_saved_tensors_default_hooks()
    x.sin()
    wrong = [without_addresses(attempt(lambda args=args: api._push_saved_tensors_default_hooks(*args)))
             for args in ((1, 2), (pack,), ())]  # fmt: skip
    return log, top == (pack, unpack), wrong, attempt(lambda: api._pop_saved_tensors_default_hooks())[:2]


@program
def wrong_arguments(torch):
    graph, api = torch.autograd.graph, torch._C._autograd
    return [attempt(lambda: graph.saved_tensors_hooks(lambda t: t))[:2],
            without_addresses(attempt(lambda: graph.saved_tensors_hooks(1, 2).__enter__())),
            attempt(lambda: api._saved_tensors_hooks_disable(3))[:2]]  # fmt: skip


# -- save_on_cpu -------------------------------------------------------------------------------------------------------


@program
def save_on_cpu(torch):
    seen = []
    for arguments in ({}, {"pin_memory": False}, {"pin_memory": True}, {"pin_memory": True, "device_type": "cuda"}):
        x = leaf(torch)
        with torch.autograd.graph.save_on_cpu(**arguments):
            out = (x.exp() * x).sum()
        node = out.grad_fn.next_functions[0][0]
        saved = node._saved_self
        out.backward()
        seen.append([saved, saved.requires_grad, x.grad])
    return seen


@program
def save_on_cpu_with_double_backward(torch):
    x = leaf(torch)
    with torch.autograd.graph.save_on_cpu(pin_memory=True):
        out = (x.exp() * x).sum()
        (g,) = torch.autograd.grad(out, x, create_graph=True)
    return g, torch.autograd.grad(g.sum(), x)


# -- lifetimes ---------------------------------------------------------------------------------------------------------


class Kept:
    """What a pack hook returns: it can be watched, and knows its tensor."""

    def __init__(self, tensor):
        self.tensor = tensor.detach().clone()


def watched(torch, references):
    def pack(t):
        kept = Kept(t)
        references.append(weakref.ref(kept))
        return kept

    return hooked(torch, pack, lambda kept: kept.tensor)


def alive(references):
    return [reference() is not None for reference in references]


@program
def packed_objects_go_with_the_graph(torch):
    x, references = leaf(torch), []
    with watched(torch, references):
        out = (x * x).sin()
    seen = [alive(references)]
    out.sum().backward(retain_graph=True)
    seen.append(alive(references))
    out.sum().backward()
    seen.append(alive(references))
    references.clear()
    with watched(torch, references):
        out = (x * x).exp()
    seen.append(alive(references))
    del out
    return seen, alive(references)


@program
def packed_objects_go_when_the_raw_tensor_is_held(torch):
    x, references = leaf(torch), []
    with watched(torch, references):
        out = x.exp()
    raw = out.grad_fn._raw_saved_result
    out.sum().backward()
    return alive(references), attempt(lambda: out.grad_fn._saved_result), raw.data


@program
def hooks_go_with_the_graph(torch):
    class Unpack:
        def __call__(self, t):
            return t

    x, unpack = leaf(torch), Unpack()
    reference = weakref.ref(unpack)
    with hooked(torch, lambda t: t.detach(), unpack):
        out = x.exp()
    del unpack
    seen = [reference() is not None]
    del out
    seen.append(reference() is not None)
    return seen


@program
def saved_inputs_go_with_the_graph(torch):
    class Tag:
        pass

    x, references = leaf(torch), []
    mid = x * 2
    mid.tag = Tag()
    references.append(weakref.ref(mid.tag))
    out = mid * mid
    result = out.exp()
    saved = result.grad_fn._saved_result
    del mid
    seen = [alive(references)]
    result.sum().backward()
    seen.append(alive(references))
    del out, result, saved
    return seen, alive(references)


@program
def extra_enters_do_not_leak(torch):
    def scope():
        def unpack(t):
            reference().__enter__()
            return t

        context = hooked(torch, lambda t: t.detach(), unpack)
        reference = weakref.ref(context)
        with context:
            leaf(torch).sin().sum().backward()
        return weakref.ref(unpack)

    return scope()() is None


@pytest.fixture
def no_gc():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_gc")
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_program(function):
    agree(function)
