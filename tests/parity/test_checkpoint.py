"""``torch.utils.checkpoint``: the same programs on tapegrad and on PyTorch."""

import functools
import logging
import platform
import warnings

import pytest
from harness import agree, attempt, warned


def checkpoint_of(torch, **options):
    """``checkpoint`` as a wrapper of functions."""
    def wrap(function):
        return lambda *args, **kwargs: torch.utils.checkpoint.checkpoint(
            function, *args, use_reentrant=False, **options, **kwargs
        )

    return wrap


def counted(function):
    """A function, and a list with an entry for each of its calls."""
    calls = []

    def call(*args, **kwargs):
        calls.append(len(calls))
        return function(*args, **kwargs)

    return call, calls


def leaf(torch, *values):
    return torch.tensor(values or 0.5, dtype=torch.float64, requires_grad=True)


def first_line(outcome):
    """An outcome of ``attempt`` with the first line of the message."""
    if isinstance(outcome, list) and outcome[:1] == ["raised"]:
        return [*outcome[:2], outcome[2].splitlines()[0]]
    return outcome


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


RECORDED = [
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


def name_of(program):
    if isinstance(program, functools.partial):
        return f"{program.func.__name__}-{'-'.join(f'{k}={v}' for k, v in program.keywords.items())}"
    return program.__name__


@pytest.mark.parametrize("program", [*RECORDED, *COUNTS], ids=name_of)
def test_recorded(program):
    agree(program)


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


# -- what differs is noticed ------------------------------------------------------------------------------------------


def three(torch, x):
    return x.sin().exp().sin()


def two(torch, x):
    return x.sin().exp()


def another_shape(torch, x):
    return x.sin() * torch.tensor([1.0, 2.0])


def another_dtype(torch, x):
    return x.float().sin().exp().double()


def differing(torch, first, second, **options):
    """A backward where the function does something else than it did before."""
    runs = iter([first, second])
    x = leaf(torch, 1.0)
    out = checkpoint_of(torch, **options)(lambda x: next(runs)(torch, x))(x)
    outcome = attempt(out.sum().backward)
    if not isinstance(outcome, list):
        return [outcome, x.grad]
    message = outcome[2].partition("\nTip:")[0].partition("_dynamo")[0]
    return [*outcome[:2], message if "debug" not in options else message.splitlines()[:3]]


@pytest.mark.parametrize("options", [{}, {"determinism_check": "none"}, {"early_stop": False}], ids=str)
@pytest.mark.parametrize("second", [two, three, another_shape, another_dtype], ids=lambda f: f.__name__)
@pytest.mark.parametrize("first", [two, three], ids=lambda f: f.__name__)
def test_nondeterminism(first, second, options):
    if (first, second) == (three, three) and "determinism_check" in options:
        first = two
    agree(lambda torch: differing(torch, first, second, **options))


@pytest.fixture
def logs(monkeypatch):
    """Lets PyTorch log without the stacks of C++, which take it minutes, and messages that pytest can't format."""
    monkeypatch.setattr(platform, "machine", lambda: "another")
    monkeypatch.setattr(logging, "raiseExceptions", False)


def test_debug(logs):
    agree(lambda torch: differing(torch, two, another_shape, debug=True))


@pytest.mark.parametrize("enabled", [True, False, None])
@pytest.mark.parametrize("debug", [True, False])
def test_debug_switch(enabled, debug, logs):
    def program(torch):
        with torch.utils.checkpoint.set_checkpoint_debug_enabled(enabled):
            return differing(torch, two, another_shape, debug=debug)

    agree(program)


def test_debug_says_which_operators_ran(logs):
    def program(torch):
        runs = iter([two, another_shape])
        x = leaf(torch, 1.0)
        out = checkpoint_of(torch, debug=True)(lambda x: next(runs)(torch, x))(x)
        with pytest.raises(torch.utils.checkpoint.CheckpointError) as caught:
            out.sum().backward()
        text = str(caught.value)
        lines = [line for line in text.splitlines() if "torch._ops.aten.sin" in line or "torch._ops.aten.exp" in line]
        places = [line for line in text.splitlines() if __file__ in line and line.endswith((":two", ":another_shape"))]
        headings = [line for line in text.splitlines() if line.startswith("|")]
        shown = [line.partition(" = ")[2].partition("   (")[0] for line in lines]
        return shown, sorted({place.rpartition(":")[2] for place in places}), headings

    agree(program)


# -- arguments ---------------------------------------------------------------------------------------------------------


def refusals(torch):
    c, x = torch.utils.checkpoint, leaf(torch, 1.0)
    contexts = lambda: c.noop_context_fn()
    calls = [
        lambda: c.checkpoint(torch.sin, x, use_reentrant=True, other=1, another=2),
        lambda: c.checkpoint(torch.sin, x, use_reentrant=True, context_fn=contexts),
        lambda: c.checkpoint(torch.sin, x, use_reentrant=True, debug=True),
        lambda: c.checkpoint(torch.sin, x, use_reentrant=False, determinism_check="strict"),
        lambda: c.checkpoint(torch.sin, x, use_reentrant=False, context_fn=contexts, debug=True),
        lambda: c.checkpoint_sequential([torch.sin], 1, x, use_reentrant=False, other=1),
        lambda: c.checkpoint_sequential([torch.sin], 2, x, use_reentrant=False),
        lambda: c.detach_variable([x]),
        lambda: c.create_selective_checkpoint_contexts(2),
        lambda: c.create_selective_checkpoint_contexts([2]),
    ]
    return [attempt(call) for call in calls]


def contexts_are_used(torch):
    seen = []

    class Context:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            seen.append(["enter", self.name, torch.is_grad_enabled()])

        def __exit__(self, kind, *rest):
            seen.append(["exit", self.name, None if kind is None else kind.__name__])

    def context_fn():
        seen.append("made")
        return Context("first"), Context("second")

    x = leaf(torch, 1.0)
    function = lambda x: seen.append("run") or x.sin().exp()
    checkpoint_of(torch, context_fn=context_fn)(function)(x).backward()
    with torch.no_grad():
        checkpoint_of(torch, context_fn=context_fn)(function)(x)
    return seen


def a_context_that_swallows(torch):
    class Swallow:
        def __enter__(self):
            return self

        def __exit__(self, *exception):
            return True

    def fail(x):
        raise KeyError("lost")

    x = leaf(torch, 1.0)
    wrapped = checkpoint_of(torch, context_fn=lambda: (Swallow(), Swallow()))
    return attempt(lambda: wrapped(fail)(x)), attempt(lambda: wrapped(torch.sin)(x))


def warnings_given(torch):
    c, x = torch.utils.checkpoint, leaf(torch, 1.0)
    return (
        warned(lambda: c.checkpoint(torch.sin, x)),
        warned(lambda: c.checkpoint_sequential([torch.sin, torch.cos], 2, x)),
        warned(lambda: c.checkpoint(torch.sin, torch.ones(1), use_reentrant=True)),
        warned(lambda: c.checkpoint(torch.sin, torch.ones(1), use_reentrant=False)),
        warned(lambda: c.check_backward_validity([1, torch.ones(1)])),
        warned(lambda: c.check_backward_validity([x])),
    )


def device_states(torch):
    c = torch.utils.checkpoint
    return (
        c.get_device_states(torch.ones(2), [1, {"a": torch.ones(1)}]), c.set_device_states([], []),
        c._infer_device_type(torch.ones(2)) == c.DefaultDeviceType.get_device_type(),
    )


def detached_variables(torch):
    x, y = leaf(torch, 1.0), torch.ones(2)
    out = torch.utils.checkpoint.detach_variable((x.sin(), y, 3, x))
    return out, [item.is_leaf for item in out if isinstance(item, torch.Tensor)], out[3] is x


def policies(torch):
    return [[policy.name, policy.value] for policy in torch.utils.checkpoint.CheckpointPolicy]


@pytest.mark.parametrize(
    "program",
    [refusals, contexts_are_used, a_context_that_swallows, warnings_given, device_states, detached_variables, policies],
    ids=name_of,
)
def test_arguments(program):
    agree(program)


# -- reentrant ---------------------------------------------------------------------------------------------------------


def reentrant(torch, function, *args, **options):
    return torch.utils.checkpoint.checkpoint(function, *args, use_reentrant=True, **options)


def reentrant_gradients(torch):
    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    function, calls = counted(lambda x, y, n: ((x * y).sin() * n, y.exp()))
    a, b = reentrant(torch, function, x, y, 2.0)
    seen = [len(calls), a.grad_fn.name(), b.requires_grad]
    (a + b).sum().backward()
    return a, b, seen, len(calls), x.grad, y.grad


def reentrant_grad(torch):
    x = leaf(torch, 1.0)
    out = reentrant(torch, lambda x: x.sin().exp(), x)
    seen = [
        attempt(lambda: torch.autograd.grad(out, x, retain_graph=True)),
        attempt(lambda: out.backward(inputs=[x], retain_graph=True)),
    ]
    out.backward()
    return seen, x.grad


def reentrant_nested(torch):
    x = leaf(torch, 1.0)
    function, calls = counted(lambda x: x.sin().exp())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # inside of the first run nothing requires grad
        out = reentrant(torch, lambda x: reentrant(torch, function, x.cos()).tan(), x)
    out.backward()
    return out, x.grad, len(calls)


def reentrant_nothing_requires_grad(torch):
    x = leaf(torch, 1.0)

    def function(x):
        with torch.no_grad():
            return x.sin()

    return attempt(reentrant(torch, function, x).backward)


def reentrant_some_outputs(torch):
    x = leaf(torch, 1.0)
    a, b, c = reentrant(torch, lambda x: (x.sin(), 3, x.detach().exp()), x)
    a.backward()
    return a, b, c, x.grad


def reentrant_dropout(torch):
    x = torch.ones(50, requires_grad=True)
    torch.manual_seed(3)
    out = reentrant(torch, lambda x: torch.nn.functional.dropout(x, 0.5, True).exp(), x)
    out.sum().backward()
    expected = torch.where(out.detach() > 1.5, 2 * out.detach(), torch.zeros(50))
    return bool((x.grad == expected).all())


def reentrant_and_recorded(torch):
    x = leaf(torch, 1.0)
    out = checkpoint_of(torch)(lambda x: reentrant(torch, lambda y: y.sin().exp(), x.cos()).tan())(x)
    out.backward()
    return out, x.grad


def reentrant_with_an_unused_input(torch):
    x, y = leaf(torch, 1.0), leaf(torch, 2.0)
    reentrant(torch, lambda x, y: x.sin(), x, y).backward()
    return x.grad, y.grad


def reentrant_accumulates_in_a_parameter(torch):
    x, w = leaf(torch, 1.0), leaf(torch, 2.0)
    reentrant(torch, lambda x: x.sin() * w, x).backward()
    return x.grad, w.grad


def sequential(torch):
    rows = []
    for use_reentrant in (True, False):
        for segments in (1, 2, 3):
            x = leaf(torch, 0.3, 0.4)
            counts = [counted(f) for f in (torch.sin, torch.exp, torch.cos, torch.tanh, torch.sin)]
            out = torch.utils.checkpoint.checkpoint_sequential(
                [function for function, _ in counts], segments, x, use_reentrant=use_reentrant, preserve_rng_state=False
            )
            out.sum().backward()
            rows.append([out, x.grad, [len(calls) for _, calls in counts]])
    return rows


@pytest.mark.parametrize(
    "program",
    [
        reentrant_gradients, reentrant_grad, reentrant_nested, reentrant_nothing_requires_grad, reentrant_some_outputs,
        reentrant_dropout, reentrant_and_recorded, reentrant_with_an_unused_input,
        reentrant_accumulates_in_a_parameter, sequential,
    ],
    ids=name_of,
)  # fmt: skip
def test_reentrant(program):
    agree(program)


# -- selective ---------------------------------------------------------------------------------------------------------


def selective(torch, policy, **options):
    """A wrapper of functions: checkpointed, with a policy."""
    contexts = functools.partial(torch.utils.checkpoint.create_selective_checkpoint_contexts, policy, **options)
    return checkpoint_of(torch, context_fn=contexts)


def keeping(torch, *names):
    """A policy that keeps the results of operators named so, and a list of all that it was asked for."""
    asked = []
    choice = torch.utils.checkpoint.CheckpointPolicy

    def policy(context, op, *args, **kwargs):
        asked.append(str(op))
        assert not context.is_recompute
        return choice.MUST_SAVE if str(op) in names else choice.PREFER_RECOMPUTE

    return policy, asked


def policies_are_asked(torch):
    policy, asked = keeping(torch, "aten.mm.default")
    x, y = torch.eye(2, dtype=torch.float64).requires_grad_(), torch.ones(2, 2, dtype=torch.float64)
    out = selective(torch, policy)(lambda x, y: ((x @ y).sin() + x * 2 - y / 3).exp().sum(0).neg())(x, y)
    seen = len(asked)
    out.sum().backward()
    return asked, seen == len(asked), out, x.grad


def what_policies_see(torch):
    seen = []

    def policy(context, op, *args, **kwargs):
        out = context.op_output
        seen.append([str(op), context.is_recompute, [a.shape for a in args if isinstance(a, torch.Tensor)],
                     out.shape, out.requires_grad, op is torch.ops.aten.mm.default, op in {torch.ops.aten.exp.default}])
        return op is torch.ops.aten.mm.default

    x = torch.ones(2, 2, dtype=torch.float64, requires_grad=True)
    selective(torch, policy)(lambda x: (x @ x).exp())(x).sum().backward()
    return seen, x.grad


def a_list_of_operators(torch):
    x = leaf(torch, 1.0, 2.0)
    out = selective(torch, [torch.ops.aten.sin.default, torch.ops.aten.exp.default])(lambda x: x.sin().cos().exp())(x)
    out.sum().backward()
    return out, x.grad


def each_policy(torch):
    rows = []
    for policy in list(torch.utils.checkpoint.CheckpointPolicy)[:4]:
        x = leaf(torch, 1.0, 2.0)
        out = selective(torch, lambda *args, policy=policy: policy)(lambda x: x.sin().cos().exp() * x)(x)
        out.sum().backward(retain_graph=True)
        again = attempt(lambda out=out: out.sum().backward())
        rows.append([policy.name, out, x.grad, again])
    return rows


def not_kept_where_it_stops(torch):
    """The last operator is not reached again, so that its result is still there for the second backward."""
    x = leaf(torch, 1.0)
    out = selective(torch, [torch.ops.aten.sin.default])(lambda x: x.sin())(x)
    out.backward(retain_graph=True)
    return attempt(out.backward), x.grad


def a_policy_with_state(torch):
    class Policy:
        def __init__(self):
            self.calls = 0

        def __call__(self, context, op, *args, **kwargs):
            self.calls += 1
            choice = torch.utils.checkpoint.CheckpointPolicy
            return choice.MUST_SAVE if self.calls % 2 else choice.PREFER_RECOMPUTE

    policy, x = Policy(), leaf(torch, 1.0)
    out = selective(torch, policy)(lambda x: x.sin().cos().sin().cos())(x)
    out.backward()
    return out, policy.calls, x.grad


def a_kept_result_is_written_to(torch):
    rows = []
    for allow in (False, True):
        x = leaf(torch, 1.0)
        policy, _ = keeping(torch, "aten.sin.default")
        out = selective(torch, policy, allow_cache_entry_mutation=allow)(lambda x: x.sin().mul_(2).cos().exp())(x)
        rows.append([out, attempt(out.backward), x.grad])
    return rows[0], rows[1][:2]


def several_outputs(torch):
    policy, asked = keeping(torch, "aten.var_mean.correction")
    x = leaf(torch, 1.0, 2.0, 4.0)

    def function(x):
        a, b = torch.var_mean(x)
        return a * b

    out = selective(torch, policy)(function)(x)
    return torch.autograd.grad(out, x), asked


def a_view_of_what_is_not_differentiable(torch):
    x, y = torch.tensor([1, 2, 3]), leaf(torch, 1.0)
    out = selective(torch, [torch.ops.aten.view.default])(lambda x, y: (x.view(-1), y.sin().cos()))(x, y)
    out[1].sum().backward()
    return out[0], y.grad


def other_operators_the_second_time(torch):
    rows = []
    for second in (lambda x: x.sin().tan().exp(), lambda x: x.sin().sin().exp()):
        runs = iter([lambda x: x.sin().cos().exp(), second])
        x = leaf(torch, 1.0)
        policy, _ = keeping(torch, "aten.cos.default")
        out = selective(torch, policy)(lambda x, runs=runs: next(runs)(x))(x)
        rows.append(attempt(out.backward))
    return rows


def selective_with_higher_order(torch):
    x = leaf(torch, 1.0)
    out = selective(torch, [torch.ops.aten.sin.default])(lambda x: x.sin().exp())(x)
    (first,) = torch.autograd.grad(out, x, create_graph=True)
    return first, attempt(lambda: torch.autograd.grad(first, x))


def selective_without_grad(torch):
    policy, asked = keeping(torch)
    with torch.no_grad():
        selective(torch, policy)(lambda x: x.sin())(leaf(torch, 1.0))
    return asked


def only_overloads(torch):
    make = torch.utils.checkpoint.create_selective_checkpoint_contexts
    outcome = attempt(lambda: make([torch.ops.aten.sin]))
    return outcome[:2], outcome[2].partition(" of type ")[0], outcome[2].partition(">. ")[2]


@pytest.mark.parametrize(
    "program",
    [
        policies_are_asked, what_policies_see, a_list_of_operators, each_policy, not_kept_where_it_stops,
        a_policy_with_state, a_kept_result_is_written_to, several_outputs, a_view_of_what_is_not_differentiable,
        other_operators_the_second_time, selective_with_higher_order, selective_without_grad, only_overloads,
    ],
    ids=name_of,
)  # fmt: skip
def test_selective(program):
    agree(program)


# -- identities --------------------------------------------------------------------------------------------------------


def identities(torch):
    aten = torch.ops.aten
    rows = []
    for op in (aten.sin.default, aten.add.Tensor, aten.add_.Tensor, aten.sum.dim_IntList, aten.mm.default,
               aten._softmax.default, aten.native_layer_norm.default, aten.detach.default, aten.var_mean.correction,
               torch.ops.prim.device.default, aten._scaled_dot_product_flash_attention.default):  # fmt: skip
        rows.append([str(op), repr(op), op.name(), op.__name__, op.namespace, op._opname, op._overloadname,
                     repr(op.overloadpacket), str(op.overloadpacket), op == op.overloadpacket])  # fmt: skip
    return rows, str(aten), aten.name, aten.sin.default is aten.sin.default, len({aten.sin.default, aten.sin.default})


def identities_that_are_none(torch):
    return [
        attempt(call)
        for call in (
            lambda: torch.ops.aten.nosuch, lambda: torch.ops.aten.sin.nosuch, lambda: torch.ops.aten.add.default2,
            lambda: torch.ops.aten.sin_.out, lambda: torch.ops.prim.nosuch,
        )
    ]  # fmt: skip


def identities_are_called(torch):
    aten = torch.ops.aten
    x, y = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True), torch.ones(2, 2)
    return (
        aten.sin.default(x), aten.add.Tensor(x, y, alpha=2), aten.mm.default(x, y), aten.sum.dim_IntList(x, [0], True),
        aten.mul(x, 3), aten._softmax.default(x, 1, False), aten.view.default(x, [4]), aten.var_mean.correction(x, [0]),
        aten.relu.default(x), aten.linalg_vector_norm.default(x), aten.constant_pad_nd.default(y, [1, 0], 2.0),
    )  # fmt: skip


@pytest.mark.parametrize("program", [identities, identities_that_are_none, identities_are_called], ids=name_of)
def test_identities(program):
    agree(program)
