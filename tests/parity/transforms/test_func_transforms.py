"""The transforms that differentiate, on both: structure of results, nesting, what is captured, what is left behind."""

import collections

import forward_mode  # noqa: F401 - for what it does
import pytest
from harness import Programs, agree, attempt

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr")]

PROGRAMS = program = Programs()

Point = collections.namedtuple("Point", "x y")


def vector(torch):
    return torch.tensor([0.5, 1.0, 2.0])


def matrix(torch):
    return torch.tensor([[0.5, 1.0, 2.0], [1.5, 0.25, 3.0]])


def shown(tree):
    """A tree with its structure, as an account: the kinds of its nodes beside their children."""
    if isinstance(tree, dict):
        return [type(tree).__name__, [[key, shown(item)] for key, item in tree.items()]]
    if isinstance(tree, (tuple, list)):
        return [type(tree).__name__, [shown(item) for item in tree]]
    return tree


def curve(torch, x):
    """Three numbers from three, with a full Jacobian."""
    return x.sin() * x.cumsum(0)


def total(torch, x):
    return (curve(torch, x) * x).sum()


# -- arguments and structure -------------------------------------------------------------------------------------------


@program
def which_arguments(torch):
    func, x, y = torch.func, vector(torch), vector(torch) + 1
    f = lambda x, y, power=2: (x**power * y).sum()
    numbers = [0, 1, -1, (0, 1), (1, 0), (-1,), (0, -1)]
    account = [shown(func.grad(f, argnums=n)(x, y)) for n in numbers]
    account += [shown(func.jacrev(f, argnums=n)(x, y)) for n in (1, (0, 1))]
    account += [shown(func.jacfwd(f, argnums=n)(x, y)) for n in (1, (1, 0))]
    account += [shown(func.hessian(f, argnums=n)(x, y)) for n in (1, (0, 1))]
    return [*account, func.grad(f)(x, y, power=3), shown(func.grad_and_value(f, argnums=1)(x, y, power=3))]


@program
def arguments_that_are_not_there(torch):
    func, x = torch.func, vector(torch)
    f = lambda x, y: (x * y).sum()
    numbers = [2, -3, (0, 2), (0, 0), (0, -2), (), "x", [0], (0, "x"), 1.0, None]
    transforms = [func.grad, func.grad_and_value, func.jacrev, func.jacfwd]
    return [[attempt(lambda: t(f, argnums=n)(x, x)) for n in numbers] for t in transforms]  # noqa: B023


@program
def trees(torch):
    func, x = torch.func, vector(torch)
    tree = {"a": [x, (x + 1,)], "b": Point(x * 2, {"c": x})}

    def f(tree):
        return (tree["a"][0] * tree["a"][1][0] + tree["b"].x * tree["b"].y["c"]).sum()

    def g(point):
        return {"first": point.x * 2, "both": (point.x * point.y, [point.y.sum()])}

    output, pull = func.vjp(g, Point(x, x))
    return [
        shown(func.grad(f)(tree)), shown(output), shown(pull(output)),
        shown(func.jvp(g, (Point(x, x),), (Point(x, 2 * x),))), shown(func.jacrev(g)(Point(x, x))),
        shown(func.jacfwd(g)(Point(x, x))), shown(func.vmap(func.grad(f), in_dims=None)) and None,
    ]  # fmt: skip


@program
def something_besides(torch):
    func, x = torch.func, vector(torch)
    f = lambda x: ((x * x).sum(), {"y": x * 2, "z": [x.argmax()]})
    g = lambda x: (x * x, x + 1)
    output, pull, aux = func.vjp(g, x, has_aux=True)
    return [
        shown(func.grad(f, has_aux=True)(x)), shown(func.grad_and_value(f, has_aux=True)(x)),
        output, pull(output), aux, shown(func.jvp(g, (x,), (x,), has_aux=True)),
        shown(func.jacrev(g, has_aux=True)(x)), shown(func.jacfwd(g, has_aux=True)(x)),
    ]  # fmt: skip


@program
def something_besides_that_is_not_there(torch):
    func, x = torch.func, vector(torch)
    account = []
    for result in (x, (x,), (x, x, x), [x, x], (x.sum(), 3), (x.sum(), "text"), (x.sum(), None)):
        f = lambda x: result  # noqa: B023
        account += [
            attempt(lambda: shown(func.grad(f, has_aux=True)(x))),  # noqa: B023
            attempt(lambda: shown(func.vjp(f, x, has_aux=True)[2])),  # noqa: B023
            attempt(lambda: shown(func.jvp(f, (x,), (x,), has_aux=True))),  # noqa: B023
            attempt(lambda: shown(func.jacrev(f, has_aux=True)(x))),  # noqa: B023
        ]
    return account


@program
def outputs_that_are_refused(torch):
    func, x = torch.func, vector(torch)
    account = []
    for result in (None, 3, "text", (), [], (x, 3), (x, None), x.sum(), (x.sum(),), x.argmax(), {"a": 1}):
        f = lambda x: result  # noqa: B023
        account += [
            attempt(lambda: shown(func.grad(f)(x))),  # noqa: B023
            attempt(lambda: shown(func.vjp(f, x)[0])),  # noqa: B023
            attempt(lambda: shown(func.jvp(f, (x,), (x,)))),  # noqa: B023
            attempt(lambda: shown(func.jacrev(f)(x))),  # noqa: B023
            attempt(lambda: shown(func.jacfwd(f)(x))),  # noqa: B023
        ]
    return account


@program
def inputs_that_are_refused(torch):
    func, x = torch.func, vector(torch)
    whole, double = torch.tensor([1, 2, 3]), lambda *args: args[0] * 2
    calls = [
        lambda: func.grad(lambda x: x.sum())(whole), lambda: func.grad(lambda x: x * 2)(3.0),
        lambda: func.grad(lambda x: x * 2)(None), lambda: func.grad(lambda: x)(), lambda: func.vjp(double, whole),
        lambda: func.vjp(double), lambda: func.vjp(double, 3.0), lambda: func.jvp(double, x, x),
        lambda: func.jvp(double, (x,), x), lambda: func.jvp(double, (x,), (x, x)), lambda: func.jvp(double, (), ()),
        lambda: func.jvp(double, (x,), (3.0,)), lambda: func.jvp(double, (3.0,), (x,)),
        lambda: func.jvp(double, ([x],), ((x,),)), lambda: func.jvp(double, (x,), (x[:2],)),
        lambda: func.jvp(double, (whole,), (whole,)), lambda: func.jvp(double, (x,), (whole,)),
        lambda: func.jacrev(double)(whole), lambda: func.jacfwd(double)(whole), lambda: func.jacrev(double)(3.0),
        lambda: func.jacfwd(double)(3.0), lambda: func.hessian(double)(whole),
        lambda: func.jacrev(double, chunk_size=0), lambda: func.jacrev(double, chunk_size=-1),
    ]  # fmt: skip
    return [attempt(call) for call in calls]


@program
def cotangents_that_are_refused(torch):
    x = vector(torch)
    _, pull = torch.func.vjp(lambda x: (x * 2, {"a": x.sum()}), x)
    given = [x, (x,), (x, x), (x, {"b": x.sum()}), (x, {"a": 3.0}), [x, {"a": x.sum()}]]
    account = [attempt(lambda: pull(g)) for g in given]  # noqa: B023
    _, pull = torch.func.vjp(lambda x: x * 2, x)
    account += [attempt(lambda: pull(g)) for g in (x[:2], x.sum(), (x,), [x], None, x.double())]  # noqa: B023
    return account


@program
def jacobians_in_chunks(torch):
    func, x = torch.func, vector(torch)
    f = lambda x: {"a": curve(torch, x), "b": x.prod()}
    return [shown(func.jacrev(f, chunk_size=size)(x)) for size in (None, 1, 3, 100)]


@program
def jacobians_of_matrices(torch):
    func, x = torch.func, matrix(torch)
    f = lambda x: x @ x.t()
    return [func.jacrev(f)(x), func.jacfwd(f)(x), func.hessian(lambda x: f(x).sum())(x)]


@program
def linear_functions(torch):
    func, x = torch.func, vector(torch)
    account = []
    for f in (
        lambda x: curve(torch, x), lambda x: (x.sin(), x.argmax(), [3, x.detach() * 2]), lambda x: x.clone().mul_(x),
        lambda x: torch.ones(2), lambda x: None, lambda x: x.cumprod(0).max(),
    ):  # fmt: skip
        output, push = func.linearize(f, x)
        account += [shown(output), attempt(lambda: shown([push(x), push(2 * x)]))]  # noqa: B023
    output, push = func.linearize(lambda d, y: [d["a"] * d["b"] * y], {"a": x, "b": x + 1}, x)
    account += [output, shown(push({"a": x, "b": x}, x))]
    account += [attempt(lambda: push(*bad)) for bad in ((x,), (x, x), ({"a": x}, x), ({"a": x, "b": x[:2]}, x))]  # noqa: B023
    account += [attempt(lambda: push({"a": x, "b": x}, x.double()))]
    account += [attempt(lambda: func.linearize(lambda x: x, torch.tensor([1, 2]))), func.linearize(lambda: x)[0]]
    return account


# -- nesting -----------------------------------------------------------------------------------------------------------


@program
def nested_in_every_order(torch):
    func, x, X = torch.func, vector(torch), matrix(torch)
    f = lambda x: total(torch, x)
    c = lambda x: curve(torch, x)
    hvp = lambda x: func.jvp(func.grad(f), (x,), (x,))[1]
    return [
        func.grad(lambda x: func.grad(f)(x).sum())(x), func.vmap(func.grad(f))(X),
        func.grad(lambda X: func.vmap(f)(X).sum())(X), func.jacfwd(func.jacrev(c))(x), func.jacrev(func.jacfwd(c))(x),
        func.jacfwd(func.jacfwd(c))(x), func.jacrev(func.jacrev(c))(x), func.hessian(f)(x),
        func.vmap(func.jacrev(func.grad(f)))(X), func.vmap(hvp)(X), func.grad(lambda x: hvp(x).sum())(x),
        func.vmap(func.vmap(func.grad(lambda x: x.sin())))(X), func.vjp(func.grad(f), x)[1](x),
        func.jvp(lambda x: func.jvp(c, (x,), (x,))[1], (x,), (x,)),
        func.jvp(lambda x: func.vjp(c, x)[1](x)[0], (x,), (x,)),
        func.grad(lambda x: func.vmap(lambda a: func.grad(lambda b: (a * b).sin() * b)(a))(x).sum())(x),
    ]  # fmt: skip


@program
def four_deep(torch):
    func, x, X = torch.func, torch.tensor(0.7), vector(torch)
    g = func.grad
    f = lambda x: x.sin() * x**3
    return [
        g(g(g(g(f))))(x), func.vmap(g(g(g(f))))(X), g(lambda X: func.vmap(g(g(f)))(X).sum())(X),
        func.vmap(func.jacfwd(func.jacrev(g(f))))(X),
        g(g(lambda x: func.jvp(lambda y: func.jvp(f, (y,), (x,))[1], (x,), (x,))[1]))(x),
    ]  # fmt: skip


@program
def perturbations_are_not_confused(torch):
    func, x, y = torch.func, torch.tensor(2.0), vector(torch)
    grad, jvp, one = func.grad, func.jvp, torch.tensor(1.0)
    d = lambda f, x: jvp(f, (x,), (torch.ones_like(x),))[1]
    return [
        grad(lambda x: x * grad(lambda y: x * y)(one))(x), d(lambda x: x * d(lambda y: x + y, one), x),
        d(lambda x: x * d(lambda y: x * y, x), x), grad(lambda x: x * d(lambda y: x * y * y, x))(x),
        d(lambda x: x * grad(lambda y: x * y * y)(x), x), grad(lambda x: grad(lambda y: x * x)(x) + x)(x),
        d(lambda x: d(lambda y: x * x, x) + x, x), d(lambda x: d(lambda y: d(lambda z: x * y * z, y), x), x),
        grad(lambda x: grad(lambda y: grad(lambda z: x * y * z * z)(x * y))(x))(x),
        func.jacfwd(lambda x: func.jacrev(lambda z: x * z)(x) @ x)(y),
        func.vmap(lambda a: grad(lambda b: func.vmap(lambda c: a * b * c * b)(y).sum())(a))(y),
        grad(lambda x: jvp(lambda a: a * x, (x,), (x * x,))[1])(x),
        d(lambda x: func.vjp(lambda a: a * a * x, x)[1](x)[0], x),
    ]  # fmt: skip


# -- what a function captures, and what it does besides ---------------------------------------------------------------


def gradient(torch, result, *leaves):
    grads = torch.autograd.grad(result.sum(), leaves, allow_unused=True)
    return [result.requires_grad, *(None if g is None else g.clone() for g in grads)]


@program
def captured_tensors(torch):
    func, x = torch.func, vector(torch)
    w = (x + 1).requires_grad_()
    f = lambda x: (w * x * x).sum()
    account = [gradient(torch, func.grad(f)(x), w), gradient(torch, func.jvp(f, (x,), (x,))[1], w)]
    account += [gradient(torch, func.vjp(f, x)[1](torch.tensor(1.0))[0], w), gradient(torch, func.jacrev(f)(x), w)]
    account += [gradient(torch, func.hessian(f)(x), w), gradient(torch, func.vmap(func.grad(f))(matrix(torch)), w)]
    leaf = x.clone().requires_grad_()
    account += [gradient(torch, func.grad(f)(leaf), w, leaf), gradient(torch, func.jacfwd(f)(leaf), w, leaf)]
    g, value = func.grad_and_value(f)(leaf)
    return [*account, gradient(torch, g * value, leaf, w), func.linearize(f, leaf)[0].requires_grad, w.grad, leaf.grad]


@program
def views_of_captured_tensors(torch):
    func, b, y = torch.func, torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    views = (
        lambda b: b[0], lambda b: b.view(2, 1), lambda b: b.unbind()[1], lambda b: b[None].t(), lambda b: (b * 2)[1:],
        lambda b: b.unsqueeze(0)[0], lambda b: b.detach()[0],
    )  # fmt: skip
    account = []
    for view in views:
        seen = []
        note = lambda v: seen.append([v.requires_grad, v.grad_fn is None]) or v  # noqa: B023
        output, pull = func.vjp(lambda y: note(view(b)), y)  # noqa: B023
        account += [output, seen, pull(torch.ones_like(output)), func.jacrev(lambda y: view(b))(y)]  # noqa: B023
        account += [func.jacrev(lambda b, y: view(b), argnums=1)(b, y)]  # noqa: B023
        if output.requires_grad:
            account += [torch.autograd.grad(output.sum(), b)]
    return account


@program
def captured_duals(torch):
    forward_ad, func, x = torch.autograd.forward_ad, torch.func, vector(torch)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, x + 1)
        inside = func.grad(lambda x: (x * x * x).sum())(dual)
        captured = func.grad(lambda x: (x * x * dual).sum())(x)
        return [list(forward_ad.unpack_dual(out)) for out in (inside, captured)]


@program
def grad_modes(torch):
    func, x = torch.func, vector(torch).requires_grad_()
    f = lambda x: (x**3).sum()
    account = []

    def inside(x):
        with torch.no_grad():
            y = x * x
        account.append([y.requires_grad, torch.is_grad_enabled()])
        return (y * x).sum()

    with torch.no_grad():
        g = func.grad(f)(x)
        account += [g, g.requires_grad, func.grad(lambda x: func.grad(f)(x).sum())(x), torch.is_grad_enabled()]
    with torch.inference_mode():
        g = func.grad(f)(x)
        account += [g.requires_grad, torch.is_inference_mode_enabled()]
    account += [func.grad(inside)(x.detach()), func.jvp(inside, (x.detach(),), (x.detach(),))]
    return [*account, func.grad(inside)(x), func.grad(lambda x: func.grad(inside)(x).sum())(x.detach())]


@program
def side_effects(torch):
    func, x, seen = torch.func, vector(torch), []

    def f(x):
        y = x * x
        y.register_hook(lambda g: seen.append(func.debug_unwrap(g).tolist()) or g * 2)
        seen.append([x.requires_grad, x.is_leaf, y.requires_grad, y.grad_fn.name(), type(x) is torch.Tensor])
        return y.sum()

    return [func.grad(f)(x), func.grad(lambda x: func.grad(f)(x).sum())(x), x.requires_grad, x.grad, seen]


@program
def views_and_writes(torch):
    func, x, X = torch.func, vector(torch), matrix(torch)

    def part(x):
        y = x * 1
        y[0] = x[1] * x[2]
        y[1:].mul_(x[:2])
        y.view(3, 1)[2, 0].add_(y[0])
        return y

    def diagonal(x):
        y = torch.zeros_like(x).expand(3, 3).clone()
        y.diagonal().copy_(x * x)
        y.t()[0].add_(x)
        return y

    def replaced(x):
        x = x.clone()
        x.zero_()
        x.add_(x.new_ones(3))
        return x * 2

    account = [func.jacfwd(part)(x), func.vmap(func.jacrev(part))(X), func.vmap(func.jacfwd(diagonal))(X)]
    for f in (part, diagonal, replaced):
        account += [func.jvp(f, (x,), (x + 1,)), func.jacrev(f)(x)]
        account += [func.grad(lambda x: func.grad(lambda x: (f(x) ** 2).sum())(x).sum())(x)]  # noqa: B023
    return account


def pushed(torch):
    """``jvp`` as a transform of one argument."""
    return lambda f: lambda x: torch.func.jvp(f, (x,), (torch.ones(3),))


@program
def writes_to_arguments(torch):
    func, account = torch.func, []
    for write in (lambda x: x.mul_(2), lambda x: x[0].zero_(), lambda x: x.detach().add_(1), lambda x: x.data.add_(1)):
        for transform in (func.grad, pushed(torch)):
            x = vector(torch)

            def f(x):
                write(x)  # noqa: B023
                return (x * x).sum()

            account += [attempt(lambda: transform(f)(x)), x]  # noqa: B023
    return account


@program
def writes_to_captured_tensors(torch):
    func, account = torch.func, []
    writes = [
        lambda w, x: w.add_(x), lambda w, x: w.copy_(x), lambda w, x: w.mul_(2), lambda w, x: w.zero_(),
        lambda w, x: w.__setitem__(0, x[0]), lambda w, x: w.add_(x.detach()), lambda w, x: w[0].add_(1),
        lambda w, x: w.sub_(x), lambda w, x: w.relu_(),
        lambda w, x: w.index_put_((torch.tensor([0]),), x[:1]),
    ]  # fmt: skip
    for write in writes:
        for transform in (func.grad, pushed(torch)):
            w = torch.ones(3)

            def f(x):
                write(w, x)  # noqa: B023
                return (w * x).sum()  # noqa: B023

            account += [attempt(lambda: transform(f)(vector(torch))), w]  # noqa: B023
    return account


@program
def tensors_that_leak(torch):
    func, x, leaked = torch.func, vector(torch), []

    def f(x):
        leaked.extend([x, x * 2])
        return (x * x).sum()

    func.grad(f)(x)
    func.jvp(f, (x,), (x,))
    func.grad(lambda x: func.grad(f)(x).sum())(x)
    account = [(y * 2 + 1).detach() for y in leaked] + [tuple(y.shape) for y in leaked]
    again = leaked[1]
    return [*account, func.grad(lambda x: (x * again).sum())(x), func.vmap(lambda x: x * again)(matrix(torch))]


# -- kinds of numbers --------------------------------------------------------------------------------------------------


@program
def integers_and_constants(torch):
    func, x, n = torch.func, vector(torch), torch.tensor([1, 2, 3])
    f = lambda x, n: (x * n, n + 1, x > 1, torch.ones(2), x.detach())
    account = [shown(func.jvp(lambda x: f(x, n), (x,), (x,))), attempt(lambda: func.vjp(lambda x: f(x, n), x))]
    account += [func.grad(lambda x: torch.tensor(3.0))(x), func.grad(lambda x, n: (x * n).sum())(x, n)]
    account += [shown(func.grad(lambda x, y: x.sum(), argnums=(0, 1))(x, x)), func.jacrev(lambda x: torch.ones(2))(x)]
    account += [func.jacfwd(lambda x: torch.ones(2))(x), attempt(lambda: func.grad(lambda x: x.argmax())(x))]
    account += [func.jvp(lambda x: x, (x,), (x,), strict=True)]
    return [*account, attempt(lambda: func.jvp(lambda x: (x, torch.ones(2)), (x,), (x,), strict=True))]


@program
def complex_numbers(torch):
    func, z = torch.func, torch.tensor([1 + 2j, 0.5 - 1j])
    f = lambda z: (z * z.conj()).real.sum()
    g = lambda z: z * z.sin()
    calls = [lambda: func.grad(lambda z: z.sum())(z), lambda: func.jacrev(g)(z), lambda: func.jacfwd(g)(z)]
    calls += [lambda: func.jacrev(lambda x: torch.complex(x, x))(z.real), lambda: func.jacfwd(lambda x: x * 1j)(z.real)]
    second = func.grad(lambda z: func.grad(f)(z).real.sum())(z)
    account = [func.grad(f)(z), func.vjp(g, z)[1](z), func.jvp(g, (z,), (z,)), func.vmap(func.grad(f))(z[:, None])]
    return [*account, second, *map(attempt, calls)]


@program
def half_and_double(torch):
    func, account = torch.func, []
    for dtype in (torch.float64, torch.bfloat16):
        x = vector(torch).to(dtype)
        account += [func.grad(lambda x: (x * x).sum())(x), func.jvp(lambda x: (x * 2).float(), (x,), (x,))]
    return account


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.__name__ for program in PROGRAMS])
def test_programs(program):
    agree(program, rtol=1e-4, atol=1e-5)


def test_in_inference_mode_they_give_normal_tensors():
    def program(torch):
        func = torch.func
        with torch.inference_mode():
            x = torch.ones(2)
            value, pull = func.vjp(torch.sin, x)
            found = [func.grad(lambda y: (y * y).sum())(x), value, pull(x)[0], *func.jvp(torch.sin, (x,), (x,))]
            found += [func.vmap(torch.sin)(x), func.jacrev(torch.sin)(x), func.jacfwd(torch.sin)(x)]
        return [[one.is_inference(), one.requires_grad, one.tolist()] for one in found]

    agree(program)


def test_a_leaf_that_passes_through_a_transform_is_a_leaf():
    def program(torch):
        func, x = torch.func, torch.ones(2, requires_grad=True)
        passed = [
            func.vjp(lambda v: v, x)[0], func.vjp(lambda v: v, x)[1](x)[0], func.jvp(lambda v: v, (x,), (x,))[1],
            func.grad(lambda v: (v.sum(), v), has_aux=True)(x)[1], func.linearize(lambda v: v, x)[0],
            func.linearize(lambda v: v.clone(), x)[1](x), func.linearize(lambda v: v * 1 + 1, x)[1](x),
        ]  # fmt: skip
        return [[y is x, y.is_leaf, y.requires_grad] for y in passed]

    agree(program)


def test_determinants_of_singular_matrices():
    def program(torch):
        det, ones = torch.linalg.det, torch.ones(2, 2)
        batch = torch.stack([ones, ones + torch.eye(2)])
        return [torch.func.grad(det)(ones), torch.func.vmap(torch.func.grad(det))(batch)]

    agree(program, rtol=1e-5, atol=1e-6)


def test_a_view_that_was_written_to_is_read_after_its_level_is_over():
    def program(torch):
        kept = []

        def written(x):
            y = x * 2
            kept.append(y[1:])
            y.mul_(3)
            return y.sum()

        gradient = torch.func.grad(written)(torch.arange(3.0))
        return [gradient, kept[0] + 1, torch.func.grad(lambda x: (x * kept[0]).sum())(torch.ones(2))]

    agree(program)


# -- gradients that depend on no input, but have a history -------------------------------------------------------------

CONSTANT = {
    "max_pool1d": lambda F, x: F.max_pool1d(x[0], 2),
    "max_pool2d": lambda F, x: F.max_pool2d(x, 2),
    "indices": lambda F, x: F.max_pool2d(x, 2, return_indices=True)[0],
    "max_pool3d": lambda F, x: F.max_pool3d(x, (1, 2, 2)),
    "adaptive_max_pool2d": lambda F, x: F.adaptive_max_pool2d(x, 2),
    "fractional": lambda F, x: F.fractional_max_pool2d(
        x, 2, output_size=2, _random_samples=x[:, :, 0, :2].detach().abs()
    ),
    "unpool": lambda F, x: F.max_unpool2d(*F.max_pool2d(x + x, 2, return_indices=True), 2),
    "avg_pool1d": lambda F, x: F.avg_pool1d(x[0], 2),
    "avg_pool2d": lambda F, x: F.avg_pool2d(x, 2),
    "avg_pool3d": lambda F, x: F.avg_pool3d(x, (1, 2, 2)),
    "adaptive_avg_pool2d": lambda F, x: F.adaptive_avg_pool2d(x, 2),
    "adaptive_avg_pool3d": lambda F, x: F.adaptive_avg_pool3d(x, 2),
    "area": lambda F, x: F.interpolate(x, scale_factor=0.5, mode="area"),
    **{
        f"{mode} {n}": lambda F, x, mode=mode, n=n: F.pad(x[0] if n == 1 else x[None, :, :n], (1, 1) * n, mode=mode)
        if n != 2
        else F.pad(x, (1, 1, 1, 1), mode=mode)
        for mode in ("reflect", "replicate", "circular")
        for n in (1, 2, 3)
        if n != 3 or mode != "reflect"
    },
    "nll_loss": lambda F, x: F.nll_loss(x[0, :, 0], x[0, :, 0, 0].abs().long()),
    "convolution": lambda F, x: F.conv2d(x, x[:, :, :2, :2].detach()),
    "grid": lambda F, x: F.grid_sample(x, x[:, 0, :, :2, None].detach().expand(1, 4, 2, 2)),
    "layer_norm": lambda F, x: F.layer_norm(x, (4,)),
    "batch_norm": lambda F, x: F.batch_norm(x, None, None, training=True),
    "bilinear": lambda F, x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    "relu": lambda F, x: F.relu(x),
}


@pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")
@pytest.mark.parametrize("name", CONSTANT)
def test_constant_gradients_have_a_history_further_out(name):
    def run(torch):
        account, func, f = [], torch.func, lambda x: CONSTANT[name](torch.nn.functional, x)
        total = lambda x: f(x).sum()
        for over in (
            func.grad(total), lambda x: func.vjp(f, x)[1](torch.ones_like(f(x)))[0],
            torch.vmap(func.grad(lambda x: total(x[None]))),
        ):  # fmt: skip
            x = torch.arange(32.0).double().view(1, 2, 4, 4).sin().requires_grad_()
            found = attempt(lambda over=over, x=x: over(x))
            account += [found.detach(), found.requires_grad] if isinstance(found, torch.Tensor) else found[:2]
            if isinstance(found, torch.Tensor) and found.requires_grad:
                account += torch.autograd.grad(found.sum(), x, allow_unused=True)
        return account

    agree(run)


def test_linearize_runs_the_function_as_often():
    def counted(torch, dtype):
        calls = []
        x = torch.ones(2, dtype=dtype)
        found = attempt(lambda: torch.func.linearize(lambda x: calls.append(len(calls)) or x.sin(), x)[1](x))
        return calls, found

    agree(lambda torch: [counted(torch, torch.float32), counted(torch, torch.int64)])
