"""Forward mode among the other parts of autograd on both: levels, reverse mode, grad modes, hooks, custom functions."""

import pytest
from custom import function
from forward_mode import level
from harness import Programs, agree, attempt, leaf

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


def direction(torch):
    return torch.tensor([1.0, 2.0, -0.5])


def make(torch):
    """A leaf and a dual of it."""
    x = leaf(torch)
    return x, torch.autograd.forward_ad.make_dual(x, direction(torch))


def parts(torch, *tensors):
    """Primals and tangents without their graphs."""
    pairs = [torch.autograd.forward_ad.unpack_dual(tensor) for tensor in tensors]
    return [[None if part is None else part.detach().clone() for part in pair] for pair in pairs]


# Levels ---------------------------------------------------------------------------------------------------------------


@program
def levels(torch):
    forward_ad, account, x = torch.autograd.forward_ad, [], torch.ones(2)

    def note(*actions):
        account.extend(attempt(action) for action in actions)

    note(
        forward_ad.enter_dual_level,
        forward_ad.enter_dual_level,
        lambda: forward_ad.exit_dual_level(level=1),
        lambda: forward_ad.exit_dual_level(level=-1),
        lambda: forward_ad.exit_dual_level(level=0),
        forward_ad.exit_dual_level,
        lambda: forward_ad.exit_dual_level(level=0),
        lambda: forward_ad.unpack_dual(x).primal is x,
        lambda: forward_ad.unpack_dual(3),
    )
    with forward_ad.dual_level() as number:
        unpacked = forward_ad.unpack_dual(x)
        account += [number, unpacked.primal is x, unpacked._fields, type(unpacked).__name__]
        note(
            lambda: list(forward_ad.unpack_dual(forward_ad.make_dual(x, x, level=0), level=0)),
            lambda: forward_ad.make_dual(x, x, level=-1),
            lambda: list(forward_ad.unpack_dual(x, level=-1)),
            lambda: forward_ad.unpack_dual(torch.ones(2, dtype=torch.int64)).primal,
        )
    return [*account, forward_ad._current_level]


@program
def a_level_that_is_left_by_an_error(torch):
    forward_ad = torch.autograd.forward_ad
    kept = []

    def fails():
        with forward_ad.dual_level():
            kept.append(make(torch)[1])
            raise ValueError("mine")

    return [attempt(fails), forward_ad._current_level, str(kept[0]), kept[0].requires_grad]


@program
def decorators(torch):
    forward_ad = torch.autograd.forward_ad

    @forward_ad.dual_level()
    def doubled(x):
        return forward_ad.unpack_dual(forward_ad.make_dual(x, x) * 2).tangent

    account = [doubled(leaf(torch).detach()), doubled(direction(torch)), forward_ad._current_level]
    forward_ad._set_fwd_grad_enabled(False)  # from here on, also without ``with``
    with forward_ad._set_fwd_grad_enabled(True):
        account.append(forward_ad._is_fwd_grad_enabled())
    account.append(forward_ad._is_fwd_grad_enabled())
    forward_ad._set_fwd_grad_enabled(True)
    return [*account, forward_ad._is_fwd_grad_enabled()]


@program
def printed(torch):
    forward_ad = torch.autograd.forward_ad
    with level(torch):
        x, d = make(torch)
        number = forward_ad.make_dual(torch.tensor(1.0), torch.tensor(2.0))
        with_graph = forward_ad.make_dual(direction(torch), x * 2)
        shown = [d, d.detach(), d[0], number, number.double(), number + 1j, with_graph, forward_ad.unpack_dual(d)]
        account = [str(item) for item in shown] + [f"{number:.2f}", number.item(), repr(torch.nn.Parameter(x))]
    return [*account, str(d)]


# With reverse mode ----------------------------------------------------------------------------------------------------

COMPOSED = {
    "elementwise": lambda torch, x: (x.sin() * x.exp() / (x * x + 2)).sum(),
    "reductions and matrices": lambda torch, x: (torch.outer(x, x.tanh()) @ x).square().mean() * x.sum(),
    "views and writes": lambda torch, x: (squared_at_the_end(x * x) * x[0]).sum(),
}


def squared_at_the_end(x):
    x[1:].mul_(x[1:].clone())
    return x


@pytest.mark.parametrize("name", COMPOSED)
def test_third_order(name):
    """Forward over reverse over reverse, reverse over forward over reverse, and reverse over reverse over forward."""

    def program(torch):
        scale, function = torch.tensor([1.0, -1.0, 2.0]), COMPOSED[name]
        with level(torch):
            x, d = make(torch)
            (first,) = torch.autograd.grad(function(torch, d), d, create_graph=True)
            (second,) = torch.autograd.grad((first * scale).sum(), d, create_graph=True)
            tangents = [torch.autograd.forward_ad.unpack_dual(item).tangent for item in (function(torch, d), first)]
            (of_first,) = torch.autograd.grad((tangents[1] * scale).sum(), x, retain_graph=True)
            (of_value,) = torch.autograd.grad(tangents[0], x, create_graph=True)
            (twice,) = torch.autograd.grad((of_value * scale).sum(), x)
            return [parts(torch, first, second), of_first, twice]

    agree(program, rtol=1e-4, atol=1e-5)


@program
def gradients_of_duals(torch):
    forward_ad = torch.autograd.forward_ad
    with level(torch):
        x, d = make(torch)
        seeds = forward_ad.make_dual(direction(torch), torch.ones(3))
        rows = forward_ad.make_dual(torch.eye(3), torch.ones(3, 3))
        account = [
            parts(torch, *torch.autograd.grad(d * d, d, direction(torch))),
            parts(torch, *torch.autograd.grad(d * d, d, seeds)),
            parts(torch, *torch.autograd.grad(x * x, x, seeds)),
            parts(torch, *torch.autograd.grad(d * d, d, torch.eye(3), is_grads_batched=True)),
            parts(torch, *torch.autograd.grad(d * d, d, rows, is_grads_batched=True)),
        ]
        with forward_ad._set_fwd_grad_enabled(False):
            (found,) = torch.autograd.grad((d * d).sum(), d)
        return [*account, parts(torch, found)]


@program
def gradients_that_accumulate(torch):
    """A gradient that is there is added to in place."""
    with level(torch):
        x, d = make(torch)
        x.grad = grad = torch.zeros(3)
        account = []
        for _ in range(2):
            (d * d * x).sum().backward()
            account += [x.grad is grad, grad._version, parts(torch, grad)]
        y = leaf(torch)
        y.grad = d.detach() + 0 * d
        grad = y.grad
        (y * 2).sum().backward()
        account += [y.grad is grad, parts(torch, grad)]
    (x * 2).sum().backward()
    return [*account, x.grad]


@program
def confusion_of_perturbations(torch):
    forward_ad = torch.autograd.forward_ad
    with level(torch):
        _, d = make(torch)
        y = leaf(torch)
        (grad,) = torch.autograd.grad((d * y * y).sum(), y, create_graph=True)
        (inner,) = torch.autograd.grad(grad.sum(), y)
        primal, tangent = forward_ad.unpack_dual(d * d)
        return parts(torch, grad, inner, primal * d, tangent * d, primal * tangent)


@program
def duals_whose_history_is_used_later(torch):
    forward_ad = torch.autograd.forward_ad
    with level(torch):
        x, given = leaf(torch), direction(torch).requires_grad_()
        y = forward_ad.make_dual(x, given)
        y = y.exp() * y
        tangent = forward_ad.unpack_dual(y).tangent
    account = [torch.autograd.grad(out.sum(), [x, given], retain_graph=True, allow_unused=True) for out in (y, tangent)]
    with level(torch):
        again = forward_ad.make_dual(x, direction(torch) * 2)
        return [*account, parts(torch, *torch.autograd.grad((y * again).sum(), [x, again]))]


@program
def requires_grad_on_duals(torch):
    forward_ad = torch.autograd.forward_ad
    with level(torch):
        x = leaf(torch).detach()
        d = forward_ad.make_dual(x, direction(torch)).requires_grad_()
        account = [x.requires_grad, d.is_leaf, parts(torch, *torch.autograd.grad((d * d).sum(), d))]
        d.grad = torch.zeros(3)
        (d * d).sum().backward()
        account += [parts(torch, d.grad), x.grad]
        _, other = make(torch)
        return [*account, attempt(lambda: other.requires_grad_(False)), attempt(other.detach_)]


# With the rest --------------------------------------------------------------------------------------------------------


@program
def in_grad_modes(torch):
    forward_ad = torch.autograd.forward_ad
    with level(torch):
        x, d = make(torch)
        with torch.no_grad():
            inside = forward_ad.make_dual(x, direction(torch))
            account = [inside.requires_grad, parts(torch, d * 2, d[0], inside * inside)]
        with torch.inference_mode():
            made = forward_ad.make_dual(torch.ones(2), torch.ones(2))
            account += [forward_ad._is_fwd_grad_enabled(), parts(torch, made, made * 2, d, d * 2)]
            plain = torch.ones(2)
        account.append(attempt(lambda: parts(torch, forward_ad.make_dual(plain, torch.ones(2)) * 2)))
        account.append(attempt(lambda: parts(torch, forward_ad.make_dual(torch.ones(2), plain) * 2)))
    with torch.inference_mode(), level(torch):
        account.append(parts(torch, forward_ad.make_dual(torch.ones(2), torch.ones(2)) * 3))
    return account


@program
def hooks_get_duals(torch):
    account = []
    with level(torch):
        _, d = make(torch)
        y = d * d
        y.register_hook(lambda grad: account.append(parts(torch, grad)))
        y.register_hook(lambda grad: grad * d)
        y.grad_fn.register_hook(lambda inputs, outputs: account.append(parts(torch, *inputs, *outputs)))
        account.append(parts(torch, *torch.autograd.grad((y * y).sum(), d)))
        packed = []
        with torch.autograd.graph.saved_tensors_hooks(lambda t: (packed.append(parts(torch, t)), t)[1], lambda t: t):
            z = d.exp() * d
        account.append(sorted(packed, key=lambda found: [*found[0][0].tolist(), found[0][1] is None]))
        account.append(parts(torch, *torch.autograd.grad(z.sum(), d)))
        with torch.autograd.graph.save_on_cpu():
            z = d.exp() * d
        return [*account, parts(torch, *torch.autograd.grad(z.sum(), d))]


@program
def through_checkpoints(torch):
    checkpoint = torch.utils.checkpoint.checkpoint

    def run(use_reentrant):
        with level(torch):
            _, d = make(torch)
            y = checkpoint(lambda x: (x * x).exp() * x, d, use_reentrant=use_reentrant)
            return [parts(torch, y), parts(torch, *torch.autograd.grad(y.sum(), d))]

    return [attempt(lambda: run(False)), attempt(lambda: run(True))]


@program
def custom_functions_with_reverse_mode(torch):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        return x * x * x

    def backward(ctx, grad):
        return 3 * grad * ctx.saved_tensors[0] ** 2

    Cube = function(torch, forward, backward, jvp=lambda ctx, t: 3 * t * ctx.saved_tensors[0] ** 2)
    with level(torch):
        x, d = make(torch)
        y = Cube.apply(d)
        tangent = torch.autograd.forward_ad.unpack_dual(y).tangent
        (first,) = torch.autograd.grad(y.sum(), d, create_graph=True)
        account = [parts(torch, y, first), parts(torch, *torch.autograd.grad(first.sum(), d))]
        account.append(torch.autograd.grad(tangent.sum(), x))
        written = (d * 1).mul_(2)
        account.append(parts(torch, Cube.apply(written[1:]), Cube.apply(x)))
        with torch.autograd.forward_ad._set_fwd_grad_enabled(False):
            account.append(parts(torch, Cube.apply(d)))
        with torch.no_grad():
            return [*account, parts(torch, Cube.apply(d))]


@program
def subclasses(torch):
    class Mine(torch.Tensor):
        pass

    forward_ad = torch.autograd.forward_ad
    with level(torch):
        _, d = make(torch)
        mine = d.detach().clone().as_subclass(Mine)
        dual = forward_ad.make_dual(mine, direction(torch))
        into = torch.ones(3).as_subclass(Mine).mul_(d.clone())
        unpacked = forward_ad.unpack_dual(dual * 2)
        account = [type(item).__name__ for item in (dual, dual * 2, dual[0], into[0], *unpacked)]
        shared = (d * 1).as_subclass(Mine)
        return [account, *[p.tolist() for p in unpacked], into[0].item(), parts(torch, shared.mul_(2))[0][0].tolist()]


@program
def complex_numbers(torch):
    forward_ad = torch.autograd.forward_ad
    functions = [
        lambda d: d.conj() * d,
        lambda d: d.imag,
        lambda d: d.abs(),
        lambda d: d.angle(),
        lambda d: torch.view_as_complex(torch.view_as_real(d).clone()),
        lambda d: d.real.mul_(2),
        lambda d: d.imag.zero_(),
        lambda d: d.conj().mul_(2j),
        lambda d: d.conj().imag.add_(1),
        lambda d: d.conj().resolve_conj(),
        lambda d: torch.polar(d.abs(), d.angle()),
        lambda d: d.copy_(d.real.clone()),
        lambda d: torch.ones(3).copy_(d.real),
        lambda d: torch.vdot(d, d.detach()),
        lambda d: torch.where(d.real > 0, d, d.real),
    ]
    with level(torch):
        account = []
        for apply in functions:
            primal, tangent = torch.tensor([1 + 2j, -0.5j, 3.0]), torch.tensor([1.0, 2j, 1 + 1j])
            dual = forward_ad.make_dual(primal, tangent)
            account.append([parts(torch, apply(dual), dual), primal, tangent])
        return account


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.__name__ for program in PROGRAMS])
def test_programs(program):
    agree(program, rtol=1e-5, atol=1e-6)


def test_the_first_gradient_of_a_leaf_keeps_its_tangent():
    """PyTorch keeps it only where it has to copy the gradient."""
    import tapegrad as torch

    with level(torch):
        x, d = make(torch)
        (d * d).sum().backward()
        assert torch.equal(parts(torch, x.grad)[0][1], 2 * direction(torch))
