"""``saved_tensors_hooks``: what goes through the hooks, when, and what comes back."""

import contextlib
import tempfile
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest
from harness import Programs, agree, attempt, leaf
from saving import hooked, logging, names

PROGRAMS = program = Programs()


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
        x, y, log = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0), []
        with logging(torch, log):
            out = CALLS[name](torch, x, y)
        log.append("backward")
        out.sum().backward()
        return log, x.grad, y.grad

    agree(run)


@program
def unpacked_at_each_access(torch):
    x, y, log = leaf(torch, 1.0, 2.0), leaf(torch, 1.0, 2.0), []
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
    x, c, log = leaf(torch, 1.0, 2.0), torch.ones(2), []
    mid = x * 2
    with logging(torch, log):
        out, const, result = mid * mid, x * c, x.exp()
    node = out.grad_fn
    saved = [node._saved_self, node._saved_other, const.grad_fn._saved_other, result.grad_fn._saved_result]
    parents = [mid.grad_fn, mid.grad_fn, None, result.grad_fn]
    seen = [[s.grad_fn is p, s.requires_grad, s.is_leaf, s._version] for s, p in zip(saved, parents, strict=True)]
    return seen, saved


@program
def an_unpacked_leaf_leads_to_the_same_accumulator(torch):
    x = leaf(torch, 1.0, 2.0)
    with hooked(torch, lambda t: t.detach().clone(), lambda t: t):
        out = x * x
    saved = out.grad_fn._saved_self
    again = saved * 3
    again.sum().backward()
    accumulators = [node.next_functions[0][0] for node in (out.grad_fn, again.grad_fn)]
    return saved is x, saved.is_leaf, x.grad, saved.grad, accumulators[0] is accumulators[1]


@program
def an_unpacked_constant_stays_one(torch):
    x, c, w = leaf(torch, 1.0, 2.0), torch.ones(2), leaf(torch, 5.0, 5.0)
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
    x, kept = leaf(torch, 1.0, 2.0), torch.zeros(2)
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
    x = leaf(torch, 1.0, 2.0)
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
    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    seen = []
    for kept in (torch.ones(3), torch.ones(2, dtype=torch.float64), torch.ones(()), torch.ones(2, dtype=torch.int64)):
        with hooked(torch, lambda t: None, lambda none, kept=kept: kept):
            out = x * y
        seen.append(attempt(lambda out=out: torch.autograd.grad(out.sum(), (x, y))))
    return seen


def undefined(torch):
    class Undefined(torch.autograd.Function):
        """Gives back no gradient."""

        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return None

    return Undefined


@program
def undefined_gradients_unpack_too(torch):
    counts = []
    for create_graph in (False, True):
        x, log = leaf(torch, 1.0, 2.0), []
        with logging(torch, log):
            out = x * x
        log.clear()
        torch.autograd.grad(undefined(torch).apply(out).sum(), x, create_graph=create_graph, allow_unused=True)
        counts.append([len(log), attempt(lambda out=out: out.grad_fn._saved_self)])
    return counts


@program
def undefined_gradients_do_not_use_what_was_freed(torch):
    seen = []
    for create_graph in (False, True):
        x = leaf(torch, 1.0, 2.0)
        y = x * x
        out = undefined(torch).apply(y).sum()
        y.sum().backward()
        seen.append(attempt(lambda out=out, x=x, record=create_graph: torch.autograd.grad(out, x, create_graph=record)))
    return seen


@program
def every_saved_tensor_is_unpacked_whatever_is_wanted(torch):
    x, y, log = leaf(torch, 1.0, 2.0), leaf(torch, 1.0, 2.0), []
    with logging(torch, log):
        out = x * y
    log.clear()
    u = y * 1
    other = x * u
    with torch.no_grad():
        u.add_(1)
    torch.autograd.grad(out.sum(), x)
    return len(log), attempt(lambda: torch.autograd.grad(other.sum(), u))


@program
def the_innermost_hooks_are_used(torch):
    x, log = leaf(torch, 1.0, 2.0), []

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
    x, log = leaf(torch, 1.0, 2.0), []
    out = (x * x * x).sum()
    with logging(torch, log):
        (g,) = torch.autograd.grad(out, x, create_graph=True)
    packs = [entry for entry in log if entry[0] == "pack"]
    log.clear()
    (h,) = torch.autograd.grad(g.sum(), x)
    return len(packs) > 0, len(log) > 0, g, h


@program
def double_backward_through_hooks(torch):
    x = leaf(torch, 1.0, 2.0)
    with hooked(torch, lambda t: t.detach().clone(), lambda t: t):
        out = ((x * 2).exp() * x).sum()
    (g,) = torch.autograd.grad(out, x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
    (k,) = torch.autograd.grad(h.sum(), x)
    return g, h, k


@program
def double_backward_with_registered_hooks(torch):
    x = leaf(torch, 1.0, 2.0)
    out = x.exp() * x
    out.grad_fn._raw_saved_self.register_hooks(lambda t: t * 2, lambda t: t / 2)
    out.grad_fn._raw_saved_other.register_hooks(lambda t: t * 2, lambda t: t / 2)
    (g,) = torch.autograd.grad(out.sum(), x, create_graph=True)
    return g, torch.autograd.grad(g.sum(), x)


@program
def hooks_may_return_anything(torch):
    x = leaf(torch, 1.0, 2.0)
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
    x, files = leaf(torch, 1.0, 2.0), []

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
    x, log = leaf(torch, 1.0, 2.0), []

    def pack(t):
        log.append(torch.is_grad_enabled())
        return (t * 2).sin()  # not recorded: nothing is saved

    with hooked(torch, pack, lambda t: t):
        x * x
    return log


@program
def tensors_without_gradient_are_packed_too(torch):
    x, log = leaf(torch, 1.0, 2.0), []
    with logging(torch, log):
        x * torch.ones(2)
        torch.ones(2) * torch.ones(2)
        with torch.no_grad():
            x * x
    return log


@program
def hooks_may_differ_between_entries(torch):
    x, log = leaf(torch, 1.0, 2.0), []
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
    x = leaf(torch, 1.0, 2.0)
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
            x = leaf(torch, 1.0, 2.0)
            x.sin().sum().backward()
            context.__exit__()
    return x.grad, torch._C._autograd._top_saved_tensors_default_hooks(False)


@program
def hooks_belong_to_the_thread(torch):
    x, log = leaf(torch, 1.0, 2.0), []
    with logging(torch, log):
        thread = threading.Thread(target=lambda: x.sin().sum().backward())
        thread.start()
        thread.join()
        inside = torch._C._autograd._top_saved_tensors_default_hooks(False) is not None
    return log, inside, x.grad


def doubled(torch):
    """Hooks that double what is saved: each saved use shows in the gradient as a factor."""
    return hooked(torch, lambda t: 2 * t, lambda t: t)


@program
def how_often_a_double_backward_saves(torch):
    grads = []
    for first, second in ((True, False), (False, True), (True, True)):
        a = leaf(torch, 1.0, 2.0)
        with doubled(torch) if first else contextlib.nullcontext():
            y = (a**3).sum()
        with doubled(torch) if second else contextlib.nullcontext():
            (g,) = torch.autograd.grad(y, a, create_graph=True)
            g.sum().backward()
        grads.append(a.grad)
    return grads


def product(torch):
    class Product(torch.autograd.Function):
        """``x * y * exp(x)``; saves both inputs, an intermediate, None and its output."""

        @staticmethod
        def forward(ctx, x, y):
            e = x.exp()
            out = x * y * e
            ctx.save_for_backward(x, e, None, y, out)
            return out

        @staticmethod
        def backward(ctx, grad):
            x, e, _, _, out = ctx.saved_tensors
            return grad * (out + out / x), grad * x * e

    return Product


@program
def custom_functions_go_through_hooks(torch):
    x, y, log = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0), []
    with logging(torch, log):
        out = product(torch).apply(x, y)
    log.append("backward")
    out.sum().backward()
    return log, x.grad, y.grad


@program
def custom_functions_unpack_at_each_access(torch):
    x, y, log = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0), []
    with logging(torch, log):
        out = product(torch).apply(x, y)
    packed = len(log)
    first = out.grad_fn.saved_tensors
    second = out.grad_fn.saved_tensors
    kinds = [t is None or [t.requires_grad, t.is_leaf, t.grad_fn is out.grad_fn] for t in first]
    return packed, len(log), kinds, first[0] is second[0], attempt(lambda: len(out.grad_fn._raw_saved_tensors))


@program
def double_backward_of_a_custom_function_through_hooks(torch):
    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    with hooked(torch, lambda t: t.detach().clone(), lambda t: t):
        out = product(torch).apply(x, y)
    (g,) = torch.autograd.grad(out.sum(), y, create_graph=True)
    return g.tolist(), torch.autograd.grad(g.sum(), x, allow_unused=True)


@program
def unpack_runs_where_backward_does(torch):
    x, log = leaf(torch, 1.0, 2.0), []

    def unpack(t):
        log.append(threading.current_thread() is thread)
        return t

    with hooked(torch, lambda t: t.detach(), unpack):
        out = (x * x).sum()
    thread = threading.Thread(target=out.backward)
    thread.start()
    thread.join()
    return log, x.grad


@program
def a_hook_may_call_backward(torch):
    x = leaf(torch, 1.0, 2.0)

    def unpack(t):
        inner = torch.tensor([1.0, 2.0], requires_grad=True)
        with torch.enable_grad():
            (g,) = torch.autograd.grad((inner * inner).sum(), inner)
        return t + 0 * g

    with hooked(torch, lambda t: t.detach(), unpack):
        out = (x * x).sum()
    out.backward()
    return x.grad


@program
def unpacking_saves_where_backward_is_recorded(torch):
    x, log = leaf(torch, 1.0, 2.0), []
    scale = torch.tensor([1.0, 1.0], requires_grad=True)
    with hooked(torch, lambda t: t.detach(), lambda t: t * scale):
        out = (x.sin()).sum()
    with logging(torch, log):
        (g,) = torch.autograd.grad(out, x, create_graph=True)
    return len(log) > 0, g.tolist()


@program
def a_result_is_packed_when_it_is_written(torch):
    seen = []
    for write in (lambda c: c.exp_(), lambda c: c.mul_(2).tanh_(), lambda c: torch.nn.functional.relu(c, inplace=True),
                  lambda c: c[1:].sigmoid_(), lambda c: torch.nn.functional.elu_(c), lambda c: c.pow_(c.detach() + 1)):
        x, c = leaf(torch, 1.0, 2.0), torch.ones(2)

        def pack(t, c=c):
            seen.append([t.detach().clone(), t._version, c.detach().clone(), c._version])
            if t.grad_fn is not None:
                raise ValueError("enough")
            return t

        with hooked(torch, pack, lambda t: t):
            seen.append(attempt(lambda write=write, c=c, x=x: write(c.add_(x))))
        seen.append([c.detach(), c._version, c.requires_grad])
    return seen


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_program(function):
    agree(function)


MATRICES = {
    "solve": lambda torch, a: torch.linalg.solve(a, a[:, :2] * 2),
    "inv": lambda torch, a: torch.linalg.inv(a),
    "cholesky": lambda torch, a: torch.linalg.cholesky(a @ a.mT + torch.eye(3)),
    "triangular": lambda torch, a: torch.linalg.solve_triangular(a, a[:, :2], upper=True),
    "pinv": lambda torch, a: torch.linalg.pinv(a),
    "qr": lambda torch, a: torch.linalg.qr(a)[1],
    "lu": lambda torch, a: torch.linalg.lu_factor(a)[0],
    "relu of a transposed": lambda torch, a: a.t().relu(),
}
HOOKS = {
    "none": lambda torch: contextlib.nullcontext(),
    "identity": lambda torch: torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t),
    "copy": lambda torch: torch.autograd.graph.save_on_cpu(),
    "survive": lambda torch: torch.autograd.graph.allow_mutation_on_saved_tensors(),
    "numpy": lambda torch: torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().numpy(), torch.from_numpy),
}


@pytest.mark.parametrize("hooks", HOOKS.values(), ids=HOOKS.keys())
@pytest.mark.parametrize("function", MATRICES.values(), ids=MATRICES.keys())
def test_what_was_saved_leaves_an_output_its_layout(function, hooks):
    def program(torch):
        a = torch.tensor([[4.0, 1, 0.5], [0, 3, 1], [1, 0.5, 2]], dtype=torch.float64).requires_grad_()
        with hooks(torch):
            y = function(torch, a)
            seen = y.detach().numpy().copy(), y.detach().clone(), y[0], y.detach().t().numpy().copy()
            (y * y).sum().backward()
        return [array.tolist() for array in (seen[0], seen[3])], seen[1:3], y, a.grad

    agree(program)


def test_an_output_that_a_node_gives_again_lies_as_the_output_does():
    def program(torch):
        a = torch.tensor([[4.0, 1, 0.5], [0, 3, 1], [1, 0.5, 2]], dtype=torch.float64).requires_grad_()
        y = torch.linalg.solve(a, a[:, :2] * 2)
        saved = y.grad_fn._saved_result
        return saved.stride(), y.stride(), saved.detach().numpy().tolist(), y.detach().numpy().tolist(), saved, y

    agree(program)
