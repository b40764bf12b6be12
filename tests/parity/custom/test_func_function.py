"""Custom functions inside function transforms on both: whose rule is used where, how often what runs."""

import pytest
from custom import function
from custom_levels import doubled, everywhere, matrix, product, vector, writer
from harness import Programs, agree, attempt

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


@program
def rules_in_every_order(torch):
    return everywhere(torch, doubled(torch, generate_vmap_rule=True).apply)


@program
def two_arguments_in_every_order(torch):
    Product = product(torch)
    return everywhere(torch, lambda x: Product.apply(x, x.sin()))


@program
def how_often_what_runs(torch):
    func, seen, account = torch.func, [], []
    Mine = doubled(torch, seen, generate_vmap_rule=True)
    total = lambda x: Mine.apply(x).sum()
    for transform in (
        func.grad(total),
        func.grad(lambda x: func.grad(total)(x).sum()),
        func.vmap(func.grad(total)),
        lambda x: func.grad(lambda x: func.vmap(Mine.apply)(x).sum())(x),
        lambda x: func.jvp(Mine.apply, (x,), (x,)),
    ):
        account += [transform(matrix(torch)), list(seen)]
        seen.clear()
    return account


@program
def where_only_some_arguments_are_differentiated(torch):
    Product, func, x, X = product(torch), torch.func, vector(torch), matrix(torch)
    y = torch.tensor([0.5, 2.0, 4.0], requires_grad=True)
    total = lambda x, y: Product.apply(x, y).sum()
    captured = func.grad(lambda x: total(x, y))(x)
    return [
        captured.detach(), torch.autograd.grad(captured.sum(), y),
        func.grad(total, argnums=(0, 1))(x, x), func.jvp(lambda x: Product.apply(x, x + 1), (x,), (x,)),
        func.vmap(Product.apply, in_dims=(0, None))(X, x),
        func.vmap(func.grad(total, argnums=1), in_dims=(0, None))(X, x),
        func.grad(lambda x: func.vmap(Product.apply, in_dims=(0, None))(X, x).sum())(x),
        func.grad(lambda x: func.vmap(Product.apply, in_dims=(None, 0))(x, X).sum())(x),
        func.vmap(lambda x: Product.apply(y.detach(), y.detach()))(X),
    ]  # fmt: skip


@program
def several_outputs(torch):
    seen, func = [], torch.func

    def setup_context(ctx, inputs, output):
        ctx.n = inputs[1]
        ctx.mark_non_differentiable(output[2])

    def backward(ctx, g, h, k, s):
        seen.append([list(g.shape), list(h.shape), h.dtype == torch.int64, list(k.shape), s])
        return 2 * g * ctx.n, None

    def jvp(ctx, t, n):
        seen.append(n)
        return t * ctx.n, None, None, None

    def forward(x, n):
        return x * n, x.argmax(), x.detach() * 5, "text"

    Mine = function(torch, forward, backward, setup_context=setup_context, jvp=jvp, generate_vmap_rule=True)

    def first(x):
        outputs = Mine.apply(x, 3)
        seen.append([[out.requires_grad, out.grad_fn and out.grad_fn.name()] for out in outputs[:3]] + [outputs[3]])
        return outputs[0].sum()

    x, X, tensors = vector(torch), matrix(torch), lambda x: Mine.apply(x, 3)[:3]
    results = [func.grad(first)(x), func.vmap(func.grad(first))(X), func.jvp(tensors, (x,), (x,))]
    return [*results, func.vmap(tensors)(X), func.grad(lambda x: func.vmap(tensors)(x)[0].sum())(X), seen]


@program
def gradients_that_are_missing(torch):
    seen, func, x = [], torch.func, vector(torch)

    def setup_context(ctx, inputs, output):
        ctx.set_materialize_grads(False)

    def backward(ctx, g, h):
        seen.append([g is None, h is None])
        return None if h is None else h * 3

    def jvp(ctx, s, t=None):
        seen.append([s is None, t is None])
        return s, s

    both = function(
        torch, lambda x: (x * 1, x * 2), backward, setup_context=setup_context, jvp=jvp, generate_vmap_rule=True
    ).apply
    X = matrix(torch)
    results = [func.grad(lambda x: both(x)[i].sum())(x) for i in (0, 1)]  # noqa: B023
    results += [func.vmap(func.grad(lambda x: both(x)[1].sum()))(X)]
    results += [func.grad(lambda x: func.vmap(both)(x)[i].sum())(X) for i in (0, 1)]  # noqa: B023
    return [*results, func.jvp(both, (x,), (x,)), seen]


@program
def backward_that_can_be_differentiated_once(torch):
    once = torch.autograd.function.once_differentiable
    backward = once(lambda ctx, g: g * 3)
    Mine = function(torch, lambda x: x * 2, backward, setup_context=lambda ctx, inputs, output: None)
    func, x = torch.func, vector(torch)
    total = lambda x: Mine.apply(x).sum()
    return [func.grad(total)(x), attempt(lambda: func.grad(lambda x: (func.grad(total)(x) * x).sum())(x))]


@program
def writes(torch):
    Mine, func, x, X, same = writer(torch), torch.func, vector(torch), matrix(torch), []
    Mapping = writer(torch, vmap=lambda info, in_dims, x: (x.mul_(2), in_dims[0]))

    def written(x, apply=Mine.apply):
        y = x.clone()
        z = apply(y)
        same.append([z is y, y._version, y.requires_grad and y.grad_fn.name()])
        return z * y

    captured = torch.ones(3)
    return [
        func.grad(lambda x: written(x).sum())(x), func.jvp(written, (x,), (x,)),
        func.vmap(lambda x: written(x, Mapping.apply))(X), func.vmap(Mapping.apply)(X), X,
        attempt(lambda: func.grad(lambda x: Mine.apply(x).sum())(x.clone())),
        func.grad(lambda x: (Mine.apply(captured) * x).sum())(x), captured, same,
    ]  # fmt: skip


@program
def an_input_returned_as_it_is(torch):
    seen, func, x, X = [], torch.func, vector(torch), matrix(torch)

    def setup_context(ctx, inputs, output):
        seen.append(output is inputs[0])

    Mine = function(
        torch, lambda x: x, lambda ctx, g: g * 3, setup_context=setup_context, jvp=lambda ctx, t: t.view_as(t),
        generate_vmap_rule=True,
    )  # fmt: skip
    total = lambda x: func.vmap(Mine.apply)(x).sum()
    results = [func.grad(lambda x: Mine.apply(x).sum())(x), func.jvp(Mine.apply, (x,), (x,)), func.vmap(Mine.apply)(X)]
    return [*results, func.grad(total)(X), seen]


@program
def functions_without_a_setup_context(torch):
    Old, func = function(torch, lambda ctx, x: x * 2, lambda ctx, g: g), torch.func
    transforms = [func.vmap, lambda f: func.grad(lambda x: f(x).sum()), func.jacrev, func.jacfwd]
    return [attempt(lambda: transform(Old.apply)(matrix(torch))) for transform in transforms]  # noqa: B023


@program
def backward_that_returns_something_else(torch):
    func, account = torch.func, []
    for result in ((1.0,), lambda g: (g, g), lambda g: "text", lambda g: g[:2], lambda g: None, lambda g: g.sum()):
        backward = (lambda ctx, g: result(g)) if callable(result) else lambda ctx, g: result  # noqa: B023
        Mine = function(
            torch, lambda x: x * 2, backward, setup_context=lambda ctx, inputs, output: None, generate_vmap_rule=True
        )
        account.append(attempt(lambda: func.grad(lambda x: Mine.apply(x).sum())(vector(torch))))  # noqa: B023
    return account


@program
def arguments_by_keyword_and_by_default(torch):
    def forward(x, n=2):
        return x * n

    def setup_context(ctx, inputs, output):
        ctx.n = inputs[1]

    Mine = function(
        torch, forward, lambda ctx, g: (g * ctx.n, None), setup_context=setup_context, generate_vmap_rule=True
    )
    func, x, X = torch.func, vector(torch), matrix(torch)
    calls = [lambda x: Mine.apply(x), lambda x: Mine.apply(x, n=3), lambda x: Mine.apply(x, 4)]
    account = [func.grad(lambda x: call(x).sum())(x) for call in calls]  # noqa: B023
    return [*account, func.grad(lambda X: func.vmap(calls[1])(X).sum())(X)]


@program
def without_grad_mode(torch):
    """It is each level's own, but off at a level it is off for a custom function there alone."""
    Mine, func, x = doubled(torch), torch.func, vector(torch)
    y = vector(torch).requires_grad_()

    def inside(x):
        with torch.no_grad():
            z = Mine.apply(x)
        return (z * x).sum()

    account = [func.grad(inside)(x), func.grad(lambda x: func.grad(inside)(x).sum())(x)]
    account += [torch.autograd.grad(func.grad(inside)(y).sum(), y)]
    with torch.no_grad():
        return [*account, func.grad(lambda x: Mine.apply(x).sum())(x)]


@program
def what_a_transform_leaves_behind(torch):
    """The graph that ``vjp`` keeps, whose backward applies a function to what it saved; and a leaked tensor."""
    Product, leaked = product(torch), []
    setup_context = lambda ctx, inputs, output: ctx.save_for_backward(output)
    backward = lambda ctx, g: Product.apply(g, ctx.saved_tensors[0])
    Exp = function(torch, lambda x: x.exp(), backward, setup_context=setup_context)
    x = vector(torch).requires_grad_()
    output, pull = torch.func.vjp(lambda x: leaked.append(x) or Exp.apply(x), x)
    cotangent = torch.ones(3, requires_grad=True)
    (result,) = pull(cotangent)
    grads = torch.autograd.grad(result.sum(), [x, cotangent])
    return [output.detach(), result.detach(), grads, Product.apply(leaked[0], leaked[0]).detach()]


@program
def in_both_of_two_nested_functions(torch):
    """A function whose forward applies another one."""
    func, X = torch.func, matrix(torch)
    Inner = doubled(torch, generate_vmap_rule=True)
    save = lambda ctx, inputs, output: ctx.save_for_backward(inputs[0])
    Outer = function(
        torch, lambda x: Inner.apply(x) + 1, lambda ctx, g: Inner.apply(g) * ctx.saved_tensors[0],
        setup_context=save, generate_vmap_rule=True,
    )  # fmt: skip
    total = lambda x: Outer.apply(x).sum()
    return [func.grad(total)(X), func.vmap(func.grad(total))(X), func.grad(lambda x: func.grad(total)(x).sum())(X)]


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.__name__ for program in PROGRAMS])
def test_programs(program):
    agree(program)
