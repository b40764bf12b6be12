"""Custom functions inside ``vmap`` on both; and what works with transforms only here."""

import math

import pytest
from custom import function
from custom_levels import doubled, everywhere, matrix, product, vector, writer
from harness import Programs, agree, attempt

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


@program
def a_rule_for_vmap_in_every_order(torch):
    seen = []

    def vmap(info, in_dims, x):
        seen.append([info.batch_size, info.randomness, in_dims, list(x.shape)])
        return Mine.apply(x), 0

    Mine = doubled(torch, vmap=vmap)
    return [everywhere(torch, Mine.apply), seen]


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
def outputs_that_all_examples_share(torch):
    X, y = matrix(torch), vector(torch)
    rule = lambda info, in_dims, x, y: ((x * 2, y * 3), (0, None))
    setup_context = lambda ctx, inputs, output: None
    Mine = function(torch, lambda x, y: (x * 2, y * 3), setup_context=setup_context, vmap=rule)
    return torch.func.vmap(lambda x: Mine.apply(x, y), out_dims=(0, None))(X)


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
        y = x.detach()
        y.requires_grad = True
        (z,) = torch.autograd.grad(Product.apply(y, x * x).sum(), y, create_graph=True)
        return (z * y).sum()

    x, X = vector(torch), matrix(torch)
    assert torch.equal(gradient(x), (x**3).sum())
    assert torch.equal(torch.func.grad(gradient)(x), 2 * x * x)  # y is a constant
    assert torch.equal(torch.func.vmap(torch.func.grad(gradient))(X), 2 * X * X)


# -- what is mapped over -----------------------------------------------------------------------------------------------


def telling(torch, told, returns):
    """A function whose ``vmap`` tells what it is given."""

    class Telling(torch.autograd.Function):
        @staticmethod
        def forward(x, y, k):
            told.append(["forward", tuple(x.shape)])
            return x * k

        @staticmethod
        def setup_context(ctx, inputs, output):
            told.append(["setup", tuple(inputs[0].shape)])
            ctx.k = inputs[2]

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.k, None, None

        @staticmethod
        def vmap(info, in_dims, x, y, k):
            shapes = [tuple(one.shape) if isinstance(one, torch.Tensor) else one for one in (x, y)]
            told.append([info.batch_size, info.randomness, in_dims, shapes, type(info).__name__])
            return returns(Telling.apply(x, y, k), in_dims[0])

    return Telling


RETURNS = {
    "as it came": lambda out, dim: (out, dim),
    "at the end": lambda out, dim: (out, None) if dim is None else (out.movedim(dim, -1), out.ndim - 1),
    "from the end": lambda out, dim: (out, None) if dim is None else (out.movedim(dim, -1), -1),
}
MAPS = {
    "first": lambda torch, f: torch.vmap(f)(*given(torch, 3, 4)),
    "second": lambda torch, f: torch.vmap(f, in_dims=1)(*given(torch, 4, 3)),
    "one and the other": lambda torch, f: torch.vmap(f, in_dims=(1, 0))(*given(torch, 3, 3)),
    "from the end": lambda torch, f: torch.vmap(f, in_dims=-1, out_dims=-1)(*given(torch, 2, 4, 3)),
    "one shared": lambda torch, f: torch.vmap(f, in_dims=(None, 1))(*given(torch, 4, 3)),
    "captured": lambda torch, f: torch.vmap(lambda x: f(x, given(torch, 4)[0]), in_dims=1)(given(torch, 4, 3)[0]),
    "a number": lambda torch, f: torch.vmap(lambda x: f(x, 5), in_dims=1)(given(torch, 4, 3)[0]),
    "a tree": lambda torch, f: torch.vmap(lambda d: f(d["x"], d["y"]), in_dims=({"x": 1, "y": 0},))(
        dict(zip("xy", given(torch, 3, 3), strict=True))
    ),
    "a result": lambda torch, f: torch.vmap(lambda x, y: f(x * 2, y), in_dims=1)(*given(torch, 4, 3)),
    "a view": lambda torch, f: torch.vmap(lambda x, y: f(x.unsqueeze(0), y), in_dims=1)(*given(torch, 4, 3)),
    "its own result": lambda torch, f: torch.vmap(lambda x, y: f(f(x, y), y), in_dims=1)(*given(torch, 4, 3)),
    "by chunks": lambda torch, f: torch.vmap(f, in_dims=1, chunk_size=2)(*given(torch, 4, 3)),
    "randomness": lambda torch, f: torch.vmap(f, in_dims=1, randomness="different")(*given(torch, 4, 3)),
    "nested": lambda torch, f: torch.vmap(torch.vmap(f, in_dims=1), in_dims=2)(*given(torch, 4, 3, 2)),
    "nested and shared": lambda torch, f: torch.vmap(torch.vmap(f, in_dims=(1, None)), in_dims=(None, 1))(
        given(torch, 4, 3)[0], given(torch, 4, 2)[0]
    ),
    "grad of it": lambda torch, f: torch.func.grad(
        lambda x: torch.vmap(f, in_dims=1)(x, given(torch, 4, 3)[0]).sum()
    )(given(torch, 4, 3)[0]),
    "of grad": lambda torch, f: torch.vmap(torch.func.grad(lambda x, y: f(x, y).sum()), in_dims=1)(*given(torch, 4, 3)),
}  # fmt: skip


def given(torch, *shape):
    x = torch.arange(float(math.prod(shape))).reshape(shape)
    return x, x + 1


@pytest.mark.parametrize("returns", RETURNS)
def test_what_vmap_is_told(returns):
    """Of what ``vmap`` was given, or another such function has returned: that, and where its examples are."""

    def run(torch):
        account = []
        for call in MAPS.values():
            told = []
            function = telling(torch, told, RETURNS[returns])
            account.append([attempt(lambda c=call, f=function: c(torch, lambda x, y: f.apply(x, y, 2))), told])
        return account

    agree(run)
