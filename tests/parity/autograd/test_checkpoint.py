"""``torch.utils.checkpoint`` with ``use_reentrant=False``: the same programs on tapegrad and on PyTorch."""

import functools

import pytest
from checkpoints import checkpoint_of, counted, first_line, leaf, name_of
from harness import agree, attempt

# -- recorded ----------------------------------------------------------------------------------------------------------


def gradients(torch):
    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    out = checkpoint_of(torch)(lambda x, y: (x * y).sin() * y.exp())(x, y)
    out.sum().backward()
    return out, x.grad, y.grad


def structures(torch):
    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0)

    def function(given, n, nothing, *, scale, extra):
        return {"a": given["x"].sin() * n, "b": [given["y"].cos() * scale, None], "c": nothing, "d": extra}

    out = checkpoint_of(torch)(function)({"x": x, "y": y}, 3, None, scale=y, extra="text")
    (out["a"].sum() + out["b"][0].sum()).backward()
    return out, x.grad, y.grad


def with_grad(torch):
    x = leaf(torch, 1.0, 2.0)
    function, calls = counted(lambda x: x.sin().exp())
    out = checkpoint_of(torch)(function)(x)
    (first,) = torch.autograd.grad(out.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    return first, second, len(calls)


def backward_with_inputs(torch):
    x, y = leaf(torch, 1.0), leaf(torch, 2.0)
    checkpoint_of(torch)(lambda x, y: x.sin() * y.cos())(x, y).backward(inputs=[x])
    return x.grad, y.grad


def a_mapped_tensor_that_was_written(torch):
    x = leaf(torch, 1.0, 2.0)
    written = x.clone()
    written.scatter_(0, torch.tensor([0]), 0.5)
    out = checkpoint_of(torch)(torch.func.vmap(lambda v: v * v))(written)
    out.sum().backward()
    return out, x.grad


def requires_nothing(torch):
    x = torch.tensor([1.0])
    function, calls = counted(lambda x: x.sin())
    out = checkpoint_of(torch)(function)(x)
    return out, len(calls)


def in_no_grad(torch):
    x = leaf(torch, 1.0)
    function, calls = counted(lambda x: x.sin())
    with torch.no_grad():
        out = checkpoint_of(torch)(function)(x)
    return out, len(calls)


def no_grad_inside(torch):
    x = leaf(torch, 1.0, 2.0)

    def function(x):
        with torch.no_grad():
            y = x.exp()
        return (x.sin() * y).cos()

    out = checkpoint_of(torch)(function)(x)
    out.sum().backward()
    return out, x.grad


def detached_outputs(torch):
    x = leaf(torch, 1.0, 2.0)
    outs = checkpoint_of(torch)(lambda x: (x.sin(), x.exp().detach(), x.cos() * 2))(x)
    (outs[0] + outs[1] + outs[2]).sum().backward()
    return outs, x.grad


def a_constant_and_a_captured_tensor(torch):
    x, w = leaf(torch, 1.0), leaf(torch, 2.0)
    out = checkpoint_of(torch)(lambda x: x.sin() * w.cos())(x)
    out.backward()
    return out, x.grad, w.grad


def hooks_fire_once(torch):
    x, seen = leaf(torch, 1.0), []

    def function(x):
        y = x.sin()
        if y.requires_grad:
            y.register_hook(lambda grad: seen.append(grad))
        return y.exp()

    checkpoint_of(torch)(function)(x).backward()
    return seen, x.grad


def saved_tensors_keep_their_identity(torch):
    seen = []

    class Keep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(y)
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            seen.extend(ctx.saved_tensors)
            return grad, None

    x, y = leaf(torch, 1.0), torch.tensor([1.0])
    checkpoint_of(torch)(Keep.apply)(x, y).backward()
    return len(seen), seen[0] is y


def inputs_are_not_cloned(torch):
    x = leaf(torch, 1.0)
    seen = []
    out = checkpoint_of(torch)(lambda x: seen.append(x) or x.sin().cos())(x)
    out.backward()
    return [item is x for item in seen]


def input_written_to_meanwhile(torch):
    x = torch.tensor([1.0])
    w = leaf(torch, 2.0)
    out = checkpoint_of(torch)(lambda x, w: (x * w).sin())(x, w)
    x.add_(1)
    return attempt(out.backward)


def random_numbers(torch, preserve):
    x = torch.ones(50, requires_grad=True)
    torch.manual_seed(3)
    out = checkpoint_of(torch, preserve_rng_state=preserve)(
        lambda x: torch.nn.functional.dropout(x, 0.5, True).exp()
    )(x)
    before = torch.get_rng_state()
    out.sum().backward()
    expected = torch.where(out.detach() > 1.5, 2 * out.detach(), torch.zeros(50))
    return bool((x.grad == expected).all()), bool((torch.get_rng_state() == before).all())


def dropout_again(torch):
    return random_numbers(torch, True)


def dropout_not_preserved(torch):
    return random_numbers(torch, False)


def error_inside(torch):
    def function(x):
        x.sin()
        raise KeyError("inside")

    x = leaf(torch, 1.0)
    seen = attempt(lambda: checkpoint_of(torch)(function)(x))
    y = x.exp()
    y.backward()
    return seen, x.grad


def error_in_the_second_run(torch):
    calls = []

    def function(x):
        calls.append(1)
        y = x.sin()
        if len(calls) == 2:
            raise KeyError("inside")
        return y.cos()

    x = leaf(torch, 1.0)
    out = checkpoint_of(torch)(function)(x)
    seen = attempt(lambda: out.backward(retain_graph=True))
    out.backward()
    return seen, len(calls), x.grad


def grad_mode_afterwards(torch):
    x = leaf(torch, 1.0)
    out = checkpoint_of(torch)(lambda x: x.sin().exp())(x)
    with torch.no_grad():
        out.backward()
        inside = torch.is_grad_enabled()
    return inside, torch.is_grad_enabled(), x.grad


def inside_save_on_cpu(torch):
    x = leaf(torch, 1.0, 2.0)
    with torch.autograd.graph.save_on_cpu():
        out = checkpoint_of(torch)(lambda x: x.sin().exp())(x.cos())
    out.sum().backward()
    return out, x.grad


def save_on_cpu_inside(torch):
    x = leaf(torch, 1.0, 2.0)

    def function(x):
        with torch.autograd.graph.save_on_cpu(pin_memory=True):
            return x.sin().exp()

    function, calls = counted(function)
    out = checkpoint_of(torch)(lambda x: function(x.cos()).sin())(x)
    out.sum().backward()
    return out, x.grad, len(calls)


def hooks_disabled(torch):
    x = leaf(torch, 1.0)
    with torch.autograd.graph.disable_saved_tensors_hooks("not now"):
        return attempt(lambda: checkpoint_of(torch)(lambda x: x.sin())(x))


def in_place_inside(torch):
    x = leaf(torch, 1.0, 2.0)
    out = checkpoint_of(torch)(lambda x: x.sin().mul_(2).exp())(x)
    out.sum().backward()
    return out, x.grad


def with_a_function(torch):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    x = leaf(torch, 1.0, 2.0)
    out = checkpoint_of(torch)(lambda x: Square.apply(x.sin()).exp())(x)
    out.sum().backward()
    return out, x.grad


def saved_tensors_read_twice(torch):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    x = leaf(torch, 1.0)
    return attempt(checkpoint_of(torch)(Twice.apply)(x).backward)


def parts_of_a_graph(torch):
    x = leaf(torch, 1.0, 2.0)
    function, calls = counted(lambda x: (x.sin().exp(), x.cos().exp()))
    a, b = checkpoint_of(torch)(function)(x)
    a.sum().backward()
    seen = [x.grad.clone(), len(calls)]
    b.sum().backward()
    return seen, x.grad, len(calls)


def exec_group(torch):
    x = leaf(torch, 1.0, 2.0)
    function, calls = counted(lambda x: (x.sin().exp(), x.cos().exp()))
    a, b = checkpoint_of(torch)(function)(x)
    group = torch.utils.checkpoint.GraphExecGroup
    with group():
        a.sum().backward()
        b.sum().backward(retain_graph=True)
        seen = attempt(b.sum().backward)
        nested = first_line(attempt(lambda: group().__enter__()))[:2]
    return x.grad, len(calls), seen, nested


def freed(torch):
    x = leaf(torch, 1.0)
    out = checkpoint_of(torch)(lambda x: x.exp())(x)
    out.backward()
    return attempt(lambda: out.grad_fn._saved_result)


def hooks_on_nodes(torch):
    x, seen = leaf(torch, 1.0), []
    out = checkpoint_of(torch)(lambda x: x.sin().cos().sin())(x)
    out.grad_fn.next_functions[0][0].register_hook(lambda *grads: seen.append(grads))
    out.backward()
    return seen, x.grad


def a_backward_in_a_hook_of_a_node(torch):
    x = leaf(torch, 1.0)
    function, calls = counted(lambda x: (x.sin().cos(), x.sin().cos().sin()))
    y, out = checkpoint_of(torch)(function)(x)
    out.grad_fn.register_hook(lambda *grads: y.backward(retain_graph=True))
    out.backward(retain_graph=True)
    return x.grad, len(calls)


def written_to_afterwards(torch):
    x = leaf(torch, 1.0, 2.0)
    rows = []
    for _ in range(2):
        out = checkpoint_of(torch)(lambda x: x.detach().sin())(x)
        out += x
        out.sum().backward()
        rows.append([out, x.grad.clone()])
    return rows


def a_parameter_is_written_to_between(torch):
    x, w = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    out = checkpoint_of(torch)(lambda x: (x * w).sin())(x)
    with torch.no_grad():
        w.mul_(2)
    return attempt(out.sum().backward), x.grad, w.grad


def sliced_and_reshaped(torch):
    x = torch.arange(6.0, dtype=torch.float64).requires_grad_()
    out = checkpoint_of(torch)(lambda x: x.view(2, 3)[:, 1:].t().exp().reshape(-1)[0:3])(x)
    out.sum().backward()
    return out, x.grad


def gradients_inside(torch):
    """Gradients inside, of the kept graph and of the freed one, and more saved after them."""
    rows = []
    for keep in (True, False):
        function, calls = counted(
            lambda x, keep=keep: x.cos() * torch.autograd.grad(x.sin().cos(), x, retain_graph=keep)[0]
        )
        x = leaf(torch)
        out = checkpoint_of(torch)(function)(x)
        out.backward()
        rows.append([out, x.grad, len(calls)])
    return rows


def regions_that_share(torch):
    """Backward calls one after another through regions that share their arguments."""
    x = leaf(torch, 1.0)
    first, a = counted(lambda x: x.sin().exp())
    second, b = counted(lambda x: x.cos().exp())
    y = checkpoint_of(torch)(first)(x)
    out = checkpoint_of(torch)(second)(y) + checkpoint_of(torch)(second)(y)
    out.backward()
    return out, x.grad, len(a), len(b)


RECORDED = [
    a_mapped_tensor_that_was_written,
    freed, hooks_on_nodes, a_backward_in_a_hook_of_a_node, written_to_afterwards, a_parameter_is_written_to_between,
    sliced_and_reshaped, gradients_inside, regions_that_share,
    gradients, structures, with_grad, backward_with_inputs, requires_nothing, in_no_grad, no_grad_inside,
    detached_outputs, a_constant_and_a_captured_tensor, hooks_fire_once, saved_tensors_keep_their_identity,
    inputs_are_not_cloned, input_written_to_meanwhile, dropout_again, dropout_not_preserved, error_inside,
    error_in_the_second_run, grad_mode_afterwards, inside_save_on_cpu, save_on_cpu_inside, hooks_disabled,
    in_place_inside, with_a_function, saved_tensors_read_twice, parts_of_a_graph, exec_group,
]  # fmt: skip


# -- how often ---------------------------------------------------------------------------------------------------------


def read_outside_of_backward(torch):
    x = leaf(torch, 1.0)
    function, calls = counted(lambda x: x.sin().exp())
    out = checkpoint_of(torch)(function)(x)
    seen = [out.grad_fn._saved_result, len(calls)]
    seen += [out.grad_fn._saved_result, len(calls)]
    seen += [out.grad_fn.next_functions[0][0]._saved_self, len(calls)]
    out.backward()
    return seen, len(calls), x.grad


def twice_with_the_graph_kept(torch):
    x = leaf(torch, 1.0)
    function, calls = counted(lambda x: x.sin().exp().cos())
    out = checkpoint_of(torch)(function)(x)
    out.backward(retain_graph=True)
    seen = [len(calls)]
    out.backward()
    return seen, len(calls), x.grad, attempt(out.backward)


def nothing_saved(torch):
    x = leaf(torch, 1.0)
    function, calls = counted(lambda x: x + 1)
    checkpoint_of(torch)(function)(x).backward()
    return len(calls), x.grad


def early_stop(torch, switch=None, **options):
    """How often the last function, after the last saved tensor, runs."""
    last, calls = counted(lambda x: x.clone())
    x = leaf(torch, 1.0)
    wrapped = checkpoint_of(torch, **options)(lambda x: last(x.sin().cos()))
    if switch is None:
        out = wrapped(x)
    else:
        with torch.utils.checkpoint.set_checkpoint_early_stop(switch):
            out = wrapped(x)
    out.backward()
    return len(calls), x.grad


def nested_early_stop(torch, stop):
    with torch.utils.checkpoint.set_checkpoint_early_stop(stop):
        wrap = checkpoint_of(torch)
        inner, inner_calls = counted(lambda x: x.sin().cos().sin())
        outer, outer_calls = counted(lambda x: wrap(inner)(x.exp()) + 1)
        x = leaf(torch, 1.0)
        out = wrap(outer)(x)
    out.backward()
    return len(inner_calls), len(outer_calls), x.grad


COUNTS = [
    read_outside_of_backward, twice_with_the_graph_kept, nothing_saved, early_stop,
    functools.partial(early_stop, switch=False), functools.partial(early_stop, switch=True, early_stop=False),
    functools.partial(early_stop, early_stop=False), functools.partial(early_stop, switch=None, early_stop=True),
    functools.partial(nested_early_stop, stop=True), functools.partial(nested_early_stop, stop=False),
]  # fmt: skip


@pytest.mark.parametrize("program", [*RECORDED, *COUNTS], ids=name_of)
def test_recorded(program):
    agree(program)


# -- what is written ---------------------------------------------------------------------------------------------------

STATEFUL = {
    "batch norm": lambda torch, x, c, m, v: torch.nn.functional.batch_norm(x, m, v, training=True),
    "by statistics": lambda torch, x, c, m, v: torch.nn.functional.batch_norm(x, m, v),
    "instance norm": lambda torch, x, c, m, v: torch.nn.functional.instance_norm(x[..., None] * torch.ones(3), m, v),
    "legit": lambda torch, x, c, m, v: torch._native_batch_norm_legit(x, None, None, m, v, True, 0.1, 1e-5)[0],
    "native": lambda torch, x, c, m, v: torch.native_batch_norm(x, None, None, m, v, True, 0.1, 1e-5)[0].exp(),
    "counted first": lambda torch, x, c, m, v: (m.add_(1), x.exp())[1],
    "counted last": lambda torch, x, c, m, v: (x.exp(), m.add_(1))[0],
    "a result that is saved": lambda torch, x, c, m, v: c.add_(x).exp_(),
    "of a view": lambda torch, x, c, m, v: (c.mul_(x)[:1].exp_(), c)[1],
    "an input that is saved": lambda torch, x, c, m, v: c.mul_(x),
    "inputs and a result": lambda torch, x, c, m, v: c.pow_(x.exp()),
    "scattered": lambda torch, x, c, m, v: c.scatter_reduce_(0, torch.zeros(3, 2, dtype=torch.int64), x, "prod"),
    "twice": lambda torch, x, c, m, v: c.mul_(x).sigmoid_().tanh_(),
    "relu": lambda torch, x, c, m, v: torch.nn.functional.relu(c.add_(x), inplace=True),
    "rrelu": lambda torch, x, c, m, v: torch.nn.functional.rrelu_(c.add_(x), 0.25, 0.25, True),
    "renormed": lambda torch, x, c, m, v: torch.nn.functional.embedding(torch.tensor([0, 1, 1]), c, max_norm=0.5) * x,
}


@pytest.mark.parametrize("name", STATEFUL)
def test_state_is_written_again(name):
    """The second run ends at the last tensor that is saved; a result is saved when it is written."""

    def run(torch):
        account = []
        for stop in (True, False, None):
            options = {"use_reentrant": True} if stop is None else {"use_reentrant": False, "early_stop": stop}
            x = torch.arange(6.0, dtype=torch.float64).reshape(3, 2).cos().requires_grad_()
            c, m, v = torch.ones(3, 2).double() / 2, torch.zeros(2).double(), torch.ones(2).double()
            function = lambda x, c=c, m=m, v=v: STATEFUL[name](torch, x, c, m, v)
            out = torch.utils.checkpoint.checkpoint(function, x, **options)
            before = [[one.detach().clone(), one._version] for one in (c, m, v)]
            outcome = first_line(attempt(lambda out=out, x=x: (out.sum() * x.sum()).backward()))
            account += [before, outcome, x.grad, [[one.detach(), one._version] for one in (c, m, v)]]
        return account

    agree(run)


# -- nested ------------------------------------------------------------------------------------------------------------


def gradient_of(torch, function):
    def gradient(x):
        with torch.enable_grad():
            (result,) = torch.autograd.grad(function(x), x, create_graph=True)
        return result

    return gradient


def chain(torch):
    return lambda x: x.sin().exp().sin()


def with_gradients_inside(torch):
    def function(x):
        a, b = x.sin().exp().sin(), x.sin().exp().sin()
        (ga,) = torch.autograd.grad(a, x)
        (gb,) = torch.autograd.grad(b, x)
        return x.sin() * ga * gb

    return function


NESTINGS = {
    "c": lambda c, g, f: c(f),
    "cc": lambda c, g, f: c(c(f)),
    "ccc": lambda c, g, f: c(c(c(f))),
    "gc": lambda c, g, f: g(c(f)),
    "gcc": lambda c, g, f: g(c(c(f))),
    "cg": lambda c, g, f: c(g(f)),
    "gcg": lambda c, g, f: g(c(g(f))),
    "cggc": lambda c, g, f: c(g(g(c(f)))),
    "gcgc": lambda c, g, f: g(c(g(c(f)))),
}


@pytest.mark.parametrize("stop", [True, False])
@pytest.mark.parametrize("function", [chain, with_gradients_inside])
@pytest.mark.parametrize("nesting", NESTINGS)
def test_nested(nesting, function, stop):
    def program(torch):
        with torch.utils.checkpoint.set_checkpoint_early_stop(stop):
            inner, calls = counted(function(torch))
            nested = NESTINGS[nesting](checkpoint_of(torch), functools.partial(gradient_of, torch), inner)
            x = leaf(torch)
            out = nested(x)
            seen = [out, len(calls)]
            out.backward()
        return seen, x.grad, len(calls)

    agree(program)


@pytest.mark.parametrize("stop", [True, False])
def test_two_children(stop):
    def program(torch):
        with torch.utils.checkpoint.set_checkpoint_early_stop(stop):
            c = checkpoint_of(torch)
            first, a = counted(lambda x: x.sin().exp())
            second, b = counted(lambda x: x.cos().tanh())
            x = leaf(torch)
            out = c(lambda x: c(first)(x) * c(second)(x).sin())(x)
            out.backward()
        return out, x.grad, len(a), len(b)

    agree(program)


def test_nested_with_structures():
    def program(torch):
        c = checkpoint_of(torch)

        def inner(given, *, n):
            return {"y": given["x"].sin() * n, "n": n}

        def outer(x, n):
            out = c(inner)({"x": x.exp()}, n=n)
            return out["y"].cos(), out["n"]

        x = leaf(torch)
        out, n = c(outer)(x, 3)
        out.backward()
        return out, n, x.grad

    agree(program)


def test_a_reentrant_backward_inside():
    """A hook that runs a backward of its own through the same checkpoint."""

    def program(torch):
        x = leaf(torch, 1.0)
        function, calls = counted(lambda x: x.sin().exp())
        out = checkpoint_of(torch)(function)(x)
        inner = []

        def hook(grad):
            handle.remove()
            inner.extend(torch.autograd.grad(out, x, retain_graph=True))

        handle = out.register_hook(hook)
        return torch.autograd.grad(out, x, retain_graph=True), inner, len(calls)

    agree(program)


BATCHED = {
    "chain": lambda torch, x: x.sin().exp() * x,
    "nested": lambda torch, x: checkpoint_of(torch)(lambda z: z.exp() * z)(x.sin()) * x,
    "transform": lambda torch, x: torch.func.jvp(torch.sin, (x,), (x,))[1],
    "product": lambda torch, x: torch.mv(torch.outer(x, x), x),
}


@pytest.mark.filterwarnings("ignore:`torch.jit.script`")
@pytest.mark.parametrize("function", BATCHED.values(), ids=BATCHED.keys())
@pytest.mark.parametrize("create_graph", [False, True])
def test_a_batch_of_gradients(function, create_graph):
    def program(torch):
        x = leaf(torch, 0.1, 0.4, 1.0)
        y = checkpoint_of(torch)(lambda x: function(torch, x))(x)
        options = {"retain_graph": True, "create_graph": create_graph}
        rows = torch.autograd.grad(y, x, torch.eye(3, dtype=x.dtype), is_grads_batched=True, **options)[0]
        alone = torch.autograd.grad(y, x, torch.ones(3), **options)[0]
        return rows, alone, torch.autograd.grad(rows.pow(2).sum(), x)[0] if create_graph else None

    agree(program)


def test_a_jacobian_of_batched_gradients():
    def program(torch):
        function = checkpoint_of(torch)(lambda x: x.sin() * x)
        return torch.autograd.functional.jacobian(function, leaf(torch, 1.0, 2.0).detach(), vectorize=True)

    agree(program)


def test_hooks_within_vmap_see_what_is_saved_outside():
    def program(torch):
        shapes, x = [], leaf(torch, 0.1, 0.4, 1.0)

        def function(v):
            with torch.autograd.graph.saved_tensors_hooks(lambda t: (shapes.append(t.shape), t)[1], lambda t: t):
                return v * x + x.sin()

        torch.func.vmap(function)(torch.ones(2, 3)).sum().backward()
        return shapes, x.grad

    agree(program)
