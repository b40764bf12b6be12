"""Custom functions on both, together with the rest of autograd: modes, hooks, edges, what forward does to its input."""

import warnings

import pytest
from custom import double, function, gradients, recorder, same_gradient
from harness import agree, attempt, leaf

pytestmark = pytest.mark.parity

TOGETHER = {}


def together(program):
    """Collects a program under its name."""
    TOGETHER[program.__name__.replace("_", " ")] = program
    return program


def in_inference_mode(torch, forward, x):
    with torch.inference_mode():
        y = function(torch, forward, same_gradient).apply(x)
    return [y.is_inference(), y.requires_grad, y.grad_fn, y._is_view()]


@together
def in_inference_mode_on_a_normal_tensor(torch):
    return [in_inference_mode(torch, forward, leaf(torch)) for forward in (double, lambda ctx, x: x)]


@together
def in_inference_mode_on_an_inference_tensor(torch):
    with torch.inference_mode():
        x = leaf(torch)
    return [in_inference_mode(torch, forward, x) for forward in (double, lambda ctx, x: x)]


def inference_tensor(torch):
    with torch.inference_mode():
        return torch.ones(3)


@together
def saving_an_inference_tensor(torch):
    Mine = function(torch, lambda ctx, x, w: (ctx.save_for_backward(w), x * w)[1])
    return attempt(lambda: Mine.apply(leaf(torch), inference_tensor(torch)))


@together
def an_inference_tensor_as_input(torch):
    x = leaf(torch)
    Mine = function(torch, lambda ctx, x, w: x * w, lambda ctx, g: (g, g))
    return gradients(Mine.apply(x, inference_tensor(torch)), x)


@together
def functions_inside_forward_are_not_recorded(torch):
    inner, seen = function(torch, double, same_gradient, name="Inner"), []
    outer = function(torch, lambda ctx, x: (seen.append(inner.apply(x).grad_fn), inner.apply(x))[1], same_gradient)
    y = outer.apply(leaf(torch))
    return [seen, y.grad_fn.name(), y.grad_fn.next_functions[0][0].name()]


@together
def gradients_that_are_batched(torch):
    shapes = []
    x = leaf(torch)
    y = function(torch, double, lambda ctx, g: (shapes.append(list(g.shape)), g * 2)[1]).apply(x)
    return [torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True), shapes[0]]


@together
def retain_grad_and_an_output_written_to(torch):
    x = leaf(torch)
    y = function(torch, double, lambda ctx, g: g * 2).apply(x)
    y.retain_grad()
    y.mul_(3)
    y.sum().backward()
    return [y.grad, x.grad, y.grad_fn.name(), y._version]


@together
def hooks_that_return_another_shape(torch):
    x = leaf(torch)
    results = []
    for register in (
        lambda y: y.register_hook(lambda g: g[:2]),
        lambda y: y.grad_fn.register_hook(lambda inputs, outputs: (torch.ones(2),)),
    ):
        y = function(torch, double, same_gradient).apply(x)
        register(y)
        results.append(attempt(lambda y=y: gradients(y, x)))
    return results


@together
def a_prehook_that_takes_the_gradient_away(torch):
    seen, backward = recorder()
    y = function(torch, double, backward).apply(leaf(torch))
    y.grad_fn.register_prehook(lambda grads: (None,))
    y.sum().backward()
    return seen


@together
def posthooks_see_gradients_that_fit(torch):
    seen = []
    x = leaf(torch)
    y = function(torch, double, lambda ctx, g: torch.ones(2, 3, dtype=torch.float64)).apply(x)
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append([inputs, outputs]))
    return [gradients(y, x), seen]


@together
def no_tensors(torch):
    made = function(torch, lambda ctx: torch.ones(2)).apply()
    listed = function(torch, lambda ctx, xs: (ctx.needs_input_grad, xs[0] * 2)).apply([leaf(torch)])
    return [function(torch, lambda ctx, a: a).apply(3), made, listed]


@together
def the_same_tensor_twice(torch):
    x = leaf(torch)
    y = function(torch, lambda ctx, a, b: a * b, lambda ctx, g: (g, g * 2)).apply(x, x)
    return [gradients(y, x), len(y.grad_fn.next_functions), y.grad_fn.needs_input_grad]


@together
def written_to_thrice(torch):
    x = leaf(torch)
    z = x * 1
    Mine = function(torch, lambda ctx, x: (ctx.mark_dirty(x), x.mul_(2))[1], lambda ctx, g: g * 2)
    y = Mine.apply(Mine.apply(Mine.apply(z)))
    return [gradients(y, x), y is z, z._version]


@together
def differentiating_a_function_that_writes_twice(torch):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x.exp_()

    x = leaf(torch)
    y = function(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(x * 1)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return [g, torch.autograd.grad(g.sum(), x)]


@together
def an_edge_into_the_function(torch):
    seen, backward = recorder()
    x = leaf(torch)
    y, _ = function(torch, lambda ctx, x: (x * 2, 5), backward).apply(x)
    edge = torch.autograd.graph.GradientEdge(y.grad_fn, 0)
    return [torch.autograd.grad(y.sum(), edge), seen]


@together
def only_some_inputs(torch):
    x = leaf(torch)
    y = x * 1
    z = function(torch, lambda ctx, a, b: a + b, lambda ctx, g: (g, g * 2)).apply(x, y)
    torch.autograd.backward(z.sum(), inputs=[y])
    return [x.grad, y.grad]


@together
def no_gradient_for_an_operator(torch):
    x = leaf(torch)
    y = function(torch, double, lambda ctx, g: None).apply(x * 2)
    return [gradients(y, x), gradients(function(torch, double, lambda ctx, g: None).apply(x * 2) + x, x)]


@together
def inputs_of_several_dtypes(torch):
    x, y = leaf(torch), torch.ones(3, dtype=torch.float64, requires_grad=True)
    return gradients(function(torch, lambda ctx, x, y: x * y, lambda ctx, g: (g, g)).apply(x, y), x, y)


@together
def fitting_a_gradient_is_recorded(torch):
    account = []
    for change in (lambda g: g.expand(4, 3), lambda g: g.double(), lambda g: g.expand(2, 1, 3), lambda g: g):
        x, w = leaf(torch), leaf(torch)
        y = function(torch, double, lambda ctx, g, change=change: change(g)).apply(x)
        (g,) = torch.autograd.grad(y, x, w, create_graph=True)
        account.append([g, g.grad_fn and g.grad_fn.name(), torch.autograd.grad(g.sum(), w)])
    return account


@together
def a_parameter_as_gradient(torch):
    x, p = leaf(torch), leaf(torch)
    function(torch, double, lambda ctx, g: p).apply(x).sum().backward()
    x.grad.add_(1)
    return [x.grad, x.grad is p, p]


@together
def a_gradient_that_the_function_keeps(torch):
    x = leaf(torch)
    y = function(torch, double, lambda ctx, g: (setattr(ctx, "kept", g), g)[1]).apply(x)
    y.sum().backward()
    x.grad.add_(5)
    return [y.grad_fn.kept, x.grad]


@together
def a_gradient_that_backward_writes_to(torch):
    x = leaf(torch)
    y = function(torch, double, lambda ctx, g: g.mul_(2)).apply(x)
    return gradients(y + y, x)


@together
def several_threads_of_hooks(torch):
    seen = []
    x = leaf(torch)
    torch.autograd.graph.register_multi_grad_hook([x], seen.append)
    function(torch, double, lambda ctx, g: g * 5).apply(x).sum().backward()
    return seen


@together
def anomaly_mode_names_the_function(torch):
    x = leaf(torch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.set_detect_anomaly(True):
            y = function(torch, double, lambda ctx, g: g * float("nan")).apply(x)
            keys = sorted(y.grad_fn.metadata)
            kind, error, text = attempt(lambda: y.sum().backward())
    return [keys, kind, error, text.split("\n")[0]]


@together
def grad_mode_set_in_inference_mode(torch):
    with torch.inference_mode():
        function(torch, lambda ctx, x: (torch.set_grad_enabled(True), x * 2)[1], same_gradient).apply(leaf(torch))
        return [torch.is_grad_enabled(), torch.is_inference_mode_enabled(), (leaf(torch) * 2).requires_grad]


@together
def an_inference_tensor_marked_dirty(torch):
    Mine = function(torch, lambda ctx, x, w: (ctx.mark_dirty(w), w)[1])
    return attempt(lambda: Mine.apply(leaf(torch), inference_tensor(torch)))


@together
def backward_calls_150_deep(torch):
    class Nested(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, depth):
            with torch.enable_grad():
                ctx.x = x.detach().requires_grad_()
                ctx.y = ctx.x * 2 if depth == 0 else Nested.apply(ctx.x, depth - 1)
            return ctx.y.detach()

        @staticmethod
        def backward(ctx, g):
            with torch.enable_grad():
                torch.autograd.backward(ctx.y, g)
            return ctx.x.grad, None

    x = leaf(torch)
    return gradients(Nested.apply(x, 150), x)


@together
def an_error_in_a_nested_backward_that_is_caught(torch):
    caught = []

    def backward(ctx, g):
        with torch.enable_grad():
            x = g.detach().requires_grad_()
            caught.append(attempt(lambda: function(torch, double, lambda ctx, g: 1 / 0).apply(x).sum().backward()))
            caught.append(torch.is_grad_enabled())
        return g

    x = leaf(torch)
    return [gradients(function(torch, double, backward).apply(x), x), caught]


@together
def backward_that_writes_to_what_was_saved(torch):
    x = leaf(torch)

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    y = function(torch, forward, lambda ctx, g: (ctx.saved_tensors[0].data.add_(10), g)[1]).apply(x)
    return [gradients(y, x), x]


@together
def outputs_as_inputs_of_grad(torch):
    x = leaf(torch)
    outputs = [function(torch, double, same_gradient).apply(x) for _ in range(3)]
    return torch.autograd.grad(sum(outputs).sum(), [*outputs, x])


@together
def views_of_the_input(torch):
    x = torch.ones(2, 3, requires_grad=True)
    a, b = function(torch, lambda ctx, x: x.unbind(0), lambda ctx, *g: torch.stack(g)).apply(x)
    c = function(torch, lambda ctx, x: x.t(), lambda ctx, g: g.t()).apply(x)
    names = [t.grad_fn.name() for t in (a, b, c)]
    return [gradients(a * 2 + b * 3 + c[:, 0], x), [a._is_view(), c._base is x, b.output_nr], names]


CHANGES = {
    "detach_": lambda x: x.detach_(),
    "requires_grad_(False)": lambda x: x.requires_grad_(False) * 2,
    "an output that requires grad": lambda x: (x * 2).requires_grad_(),
    "in place, not marked": lambda x: x.add_(1),
    "in place, not marked, not returned": lambda x: (x.add_(1), x * 2)[1],
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
@pytest.mark.parametrize("given", ["leaf", "result", "constant", "not recorded"])
def test_what_forward_does_to_its_input(change, given):
    def program(torch):
        x = leaf(torch) if given in ("leaf", "not recorded") else leaf(torch) * 1
        x = x.detach() if given == "constant" else x
        Mine = function(torch, lambda ctx, x: change(x), same_gradient)
        with torch.set_grad_enabled(given != "not recorded"):
            y = attempt(lambda: Mine.apply(x))
        account = [y, x, x.is_leaf, x._version, x.grad_fn and x.grad_fn.name()]
        return [*account, y.grad_fn and y.grad_fn.name(), y.is_leaf] if isinstance(y, torch.Tensor) else account

    agree(program)


@pytest.mark.parametrize("program", TOGETHER.values(), ids=TOGETHER.keys())
def test_together(program):
    agree(program)
