"""Custom functions inside function transforms on both: whose rule is used where, how often what runs, what is refused.

The rules are wrong on purpose, and differ: a derivative tells which of them was used.
"""

import forward_mode  # noqa: F401 - for what it does
import pytest
from custom import function
from harness import Programs, agree, attempt

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


def vector(torch):
    return torch.tensor([1.0, 2.0, 3.0])


def matrix(torch):
    return torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def doubled(torch, seen=None, **attributes):
    """Twice its argument, says ``forward``; its backward is that of 5 x², its jvp that of 100 x."""
    note = [].append if seen is None else seen.append

    def forward(x):
        note(["forward", list(x.shape)])
        return x * 2

    def setup_context(ctx, inputs, output):
        note(["setup", list(inputs[0].shape), list(output.shape)])
        ctx.save_for_backward(inputs[0])
        ctx.save_for_forward(inputs[0])

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        note(["backward", list(g.shape), list(x.shape), ctx.needs_input_grad])
        return g * 10 * x

    def jvp(ctx, t):
        note(["jvp", list(t.shape)])
        return t * 100

    return function(torch, forward, backward, setup_context=setup_context, jvp=jvp, **attributes)


def product(torch, **attributes):
    """x y, of which backward and jvp compute with what was saved for each."""

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output)
        ctx.save_for_forward(*inputs, output)

    def backward(ctx, g):
        _, y, output = ctx.saved_tensors
        return g * y if ctx.needs_input_grad[0] else None, g * output / y if ctx.needs_input_grad[1] else None

    def jvp(ctx, s, t):
        x, y, _ = ctx.saved_tensors
        return s * y + x * t

    return function(
        torch, lambda x, y: x * y, backward, setup_context=setup_context, jvp=jvp, generate_vmap_rule=True, **attributes
    )


def everywhere(torch, apply):
    """A function of one argument, derived and mapped in every order."""
    func, x, X = torch.func, vector(torch), matrix(torch)
    total = lambda x: apply(x).sum()
    return [
        func.grad(total)(x),
        func.vjp(apply, x)[1](x),
        func.jvp(apply, (x,), (x,)),
        func.jacrev(apply)(x),
        func.jacfwd(apply)(x),
        func.grad(lambda x: func.grad(total)(x).sum())(x),
        func.jvp(func.grad(total), (x,), (x,)),
        func.grad(lambda x: func.jvp(apply, (x,), (x,))[1].sum())(x),
        func.hessian(total)(x),
        func.jacrev(func.jacfwd(apply))(x),
        func.vmap(apply)(X),
        func.vmap(func.grad(total))(X),
        func.grad(lambda X: func.vmap(apply)(X).sum())(X),
        func.vmap(func.vmap(apply))(X),
        func.vmap(func.jacrev(apply))(X),
        func.jvp(func.vmap(apply), (X,), (X,)),
        func.vmap(lambda x: func.jvp(apply, (x,), (x,)))(X),
        func.vmap(func.grad(lambda x: func.grad(total)(x).sum()))(X),
        func.grad(lambda X: func.vmap(func.grad(total))(X).sum())(X),
        func.vmap(lambda x: func.grad(lambda y: func.vmap(apply)(y).sum())(x))(X),
    ]


@program
def rules_in_every_order(torch):
    return everywhere(torch, doubled(torch, generate_vmap_rule=True).apply)


@program
def two_arguments_in_every_order(torch):
    Product = product(torch)
    return everywhere(torch, lambda x: Product.apply(x, x.sin()))


@program
def a_rule_for_vmap_in_every_order(torch):
    seen = []

    def vmap(info, in_dims, x):
        seen.append([info.batch_size, info.randomness, in_dims, list(x.shape)])
        return Mine.apply(x), 0

    Mine = doubled(torch, vmap=vmap)
    return [everywhere(torch, Mine.apply), seen]


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


def writer(torch, **attributes):
    """Doubles a tensor in place."""

    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])

    return function(
        torch, lambda x: x.mul_(2), lambda ctx, g: g * 3, setup_context=setup_context, jvp=lambda ctx, t: t.mul_(4),
        **attributes,
    )  # fmt: skip


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
def rules_for_vmap_that_are_missing_or_wrong(torch):
    double, X = lambda x: x * 2, matrix(torch)

    def refused(argument=None, **attributes):
        Mine = function(torch, double, setup_context=lambda ctx, inputs, output: None, **attributes)
        return attempt(lambda: torch.func.vmap(lambda x: Mine.apply(x if argument is None else argument))(X))

    both = lambda info, in_dims, x: (x, 0)
    return [
        refused(), refused(torch.ones(2)), refused(vmap=both, generate_vmap_rule=True),
        refused(vmap=lambda info, in_dims, x: (x, 0, 1)), refused(vmap=lambda info, in_dims, x: (x, (0, 1))),
        refused(vmap=lambda info, in_dims, x: ((x, x), (0, 1, 2))), refused(vmap=lambda info, in_dims, x: [x, 0]),
    ]  # fmt: skip


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
def places_of_the_examples(torch):
    X, seen = matrix(torch), []

    def vmap(info, in_dims, x, n, items):
        seen.append([in_dims, list(x.shape), list(items[0].shape)])
        return (x.t() * n, items[0].sum(1)), (1, -1)

    Mine = function(
        torch, lambda x, n, items: (x * n, items[0].sum()), setup_context=lambda ctx, inputs, output: None, vmap=vmap
    )
    return [torch.func.vmap(lambda x: Mine.apply(x, 3, [x, "text"]))(X), seen]


@program
def a_rule_for_vmap_that_is_mapped_itself(torch):
    """By two transforms, of which one has no examples of one argument: the rule applies the function, one level out."""
    func, x, X, seen = torch.func, vector(torch), matrix(torch), []

    def in_front(x, dim):
        return x.unsqueeze(0) if dim is None else x.movedim(dim, 0)

    def vmap(info, in_dims, x, y):
        seen.append([info.batch_size, info.randomness, in_dims, list(x.shape), list(y.shape)])
        x, y = in_front(x, in_dims[0]), in_front(y, in_dims[1])
        dims = max(x.dim(), y.dim())
        x, y = (a.reshape(a.shape[0], *(1,) * (dims - a.dim()), *a.shape[1:]) for a in (x, y))
        return Mine.apply(x, y), 0

    Mine = function(
        torch, lambda x, y: x * y, lambda ctx, g: (10 * g * ctx.saved_tensors[1], 100 * g * ctx.saved_tensors[0]),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs), vmap=vmap,
    )  # fmt: skip
    cube = torch.stack([X, X + 1, X + 2])
    both = func.vmap(func.vmap(Mine.apply, in_dims=(0, None)), in_dims=(0, None), randomness="different")
    results = [both(cube, x), func.vmap(func.vmap(Mine.apply, in_dims=(None, 0)), in_dims=(0, None))(x, X)]
    return [*results, func.grad(lambda x: both(cube, x).sum())(x), seen]


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
def rules_that_are_missing_or_do_not_fit(torch):
    func, x, X, account = torch.func, vector(torch), matrix(torch), []
    rules = [{}] + [{"backward": rule} for rule in (
        lambda ctx, g: g.expand(2, 3), lambda ctx, g: g.expand(2), lambda ctx, g: g.expand(1),
    )]  # fmt: skip
    for rule in rules:
        Mine = function(
            torch, lambda x: x.sum(), setup_context=lambda ctx, inputs, output: None, generate_vmap_rule=True, **rule
        )
        mapped = func.vmap(Mine.apply)
        calls = [lambda: func.grad(Mine.apply)(x), lambda: func.grad(lambda X: mapped(X).sum())(X)]  # noqa: B023
        account += map(attempt, calls)
    return [*account, attempt(lambda: func.jvp(Mine.apply, (x,), (x,))), attempt(lambda: func.jvp(mapped, (X,), (X,)))]


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
def outputs_that_all_examples_share(torch):
    X, y = matrix(torch), vector(torch)
    rule = lambda info, in_dims, x, y: ((x * 2, y * 3), (0, None))
    setup_context = lambda ctx, inputs, output: None
    Mine = function(torch, lambda x, y: (x * 2, y * 3), setup_context=setup_context, vmap=rule)
    return torch.func.vmap(lambda x: Mine.apply(x, y), out_dims=(0, None))(X)


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


# -- where PyTorch can't be asked --------------------------------------------------------------------------------------


def test_a_generated_rule_may_save_different_things_for_backward_and_jvp():
    import tapegrad as torch

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output, None)
        ctx.save_for_forward(inputs[0])

    Mine = function(
        torch, lambda x: x * x, lambda ctx, g: 2 * g * ctx.saved_tensors[0] * ctx.saved_tensors[1], "Mine",
        setup_context=setup_context, jvp=lambda ctx, t: 2 * t * ctx.saved_tensors[0], generate_vmap_rule=True,
    )  # fmt: skip
    X = matrix(torch)
    assert torch.equal(torch.func.jvp(torch.func.vmap(Mine.apply), (X,), (X,))[1], 2 * X * X)
    assert torch.equal(torch.func.grad(lambda X: torch.func.vmap(Mine.apply)(X).sum())(X), 2 * X * X * X)


def test_a_generated_rule_keeps_marks():
    import tapegrad as torch

    Writer = writer(torch, generate_vmap_rule=True)
    X, same = matrix(torch), []

    def written(x):
        y = x.clone()
        same.append(Writer.apply(y) is y)
        return y

    assert torch.equal(torch.func.vmap(written)(X), 2 * X)
    assert torch.equal(torch.func.grad(lambda X: torch.func.vmap(written)(X).sum())(X), torch.full((2, 3), 3.0))
    assert torch.equal(torch.func.jvp(torch.func.vmap(written), (X,), (X,))[1], 4 * X)
    assert torch.equal(torch.func.vmap(Writer.apply)(X), X) and all(same)

    mark = lambda ctx, inputs, output: ctx.mark_non_differentiable(output[1])
    Constant = function(
        torch, lambda x: (x * 2, x * 3), lambda ctx, g, h: g + h, setup_context=mark, generate_vmap_rule=True
    )
    total = lambda X: sum(out.sum() for out in torch.func.vmap(Constant.apply)(X))
    assert torch.equal(torch.func.grad(total)(X), torch.ones(2, 3))


def test_a_function_may_have_a_vjp_in_place_of_a_backward():
    import tapegrad as torch

    setup_context = lambda ctx, inputs, output: None
    vjp = lambda ctx, g: g * 3
    Mine = function(torch, lambda x: x * 2, vjp=vjp, setup_context=setup_context, generate_vmap_rule=True)
    X = matrix(torch)
    assert torch.equal(torch.func.grad(lambda X: torch.func.vmap(Mine.apply)(X).sum())(X), torch.full((2, 3), 3.0))


def test_a_captured_tensor_is_not_written_to_where_that_had_to_be_recorded():
    import tapegrad as torch

    setup_context = lambda ctx, inputs, output: ctx.mark_dirty(inputs[0])
    Mine = function(torch, lambda y, x: y.mul_(x), lambda ctx, g: (g, g), setup_context=setup_context)
    captured = torch.ones(3)
    with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
        torch.func.grad(lambda x: Mine.apply(captured, x).sum())(vector(torch))


def test_backward_inside_a_transform():
    import tapegrad as torch

    Product = product(torch)

    def gradient(x):
        y = x.detach().requires_grad_()
        (z,) = torch.autograd.grad(Product.apply(y, x * x).sum(), y, create_graph=True)
        return (z * y).sum()

    x, X = vector(torch), matrix(torch)
    assert torch.equal(gradient(x), (x**3).sum())
    assert torch.equal(torch.func.grad(gradient)(x), 2 * x * x)  # y is a constant
    assert torch.equal(torch.func.vmap(torch.func.grad(gradient))(X), 2 * X * X)
