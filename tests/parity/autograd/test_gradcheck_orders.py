"""``gradgradcheck``, ``gradcheck`` of forward mode, and the Jacobians that are deprecated."""

import importlib

import pytest
from gradchecks import (
    MODES,
    both_modes,
    counted,
    cplx,
    cube,
    other,
    random_backward,
    real,
    unrecorded,
    vector,
    verdict,
)
from harness import agree, attempt, warned

# Second order --------------------------------------------------------------------------------------------------------

SECOND = {
    "one input": lambda torch: (torch.exp, real(torch)),
    "two inputs": lambda torch: (lambda x, y: (x * y, x.sin() / y), (real(torch), other(torch))),
    "linear": lambda torch: (lambda x: x * 2, real(torch)),
    "an input that is not used": lambda torch: (lambda x, y: x**3, (real(torch), other(torch))),
    "arguments of other kinds": lambda torch: (lambda x, k: x**k, (real(torch), 3)),
    "C to C": lambda torch: (lambda z: z * z.exp(), cplx(torch)),
    "C to R": lambda torch: (lambda z: z.abs(), cplx(torch)),
    "R to C": lambda torch: (lambda x: torch.complex(x, x**2), real(torch)),
    "a constant output": lambda torch: (lambda x: (x**2, torch.ones(2)), real(torch)),
    "custom": lambda torch: (cube(torch), real(torch)),
    "custom, wrong in the first order": lambda torch: (cube(torch, 2), real(torch)),
    "no grad": lambda torch: (torch.exp, real(torch).detach()),
    "a gradient that is not recorded": lambda torch: (unrecorded(torch), real(torch), other(torch)),
    "a gradient that is cut off": lambda torch: (lambda x: x * x.detach(), real(torch), other(torch)),
}  # fmt: skip


@both_modes
@pytest.mark.parametrize("case", SECOND.values(), ids=SECOND)
def test_second_order(case, fast):
    def program(torch):
        func, inputs, *grads = case(torch)
        given = {"grad_outputs": grads} if grads else {}
        return verdict(torch, func, inputs, "gradgradcheck", fast_mode=fast, **given)

    agree(program)


@both_modes
def test_a_wrong_second_derivative(fast):
    def program(torch):
        wrong, weights = cube(torch, of_grad=1.5), vector(torch, 0.3, -0.8)
        first = verdict(torch, wrong, real(torch), fast_mode=fast)
        options = [{}, {"raise_exception": False}]
        return first, [verdict(torch, wrong, real(torch), "gradgradcheck", grad_outputs=weights, fast_mode=fast, **each)
                       for each in options]  # fmt: skip

    agree(program)


def test_given_gradients():
    def program(torch):
        func = lambda x: (x**3, x.sum())
        point = vector(torch, 2.5).reshape(()).detach().requires_grad_()
        given = [(other(torch), point), (other(torch).detach(), point), [other(torch), point.detach()], other(torch),
                 (other(torch), None)]  # fmt: skip
        return [verdict(torch, func, real(torch), "gradgradcheck", grad_outputs=grads) for grads in given]

    agree(program)


@pytest.mark.parametrize("option", [
    {"gen_non_contig_grad_outputs": True},
    {"check_rev_over_rev": False},
    {"check_rev_over_rev": False, "check_fwd_over_rev": True},
    {"check_rev_over_rev": False, "check_fwd_over_rev": True, "check_undefined_grad": False},
    {"check_rev_over_rev": False, "check_fwd_over_rev": True, "check_batched_grad": True},
    {"check_batched_grad": True},
    {"masked": True, "check_undefined_grad": False, "nondet_tol": 1e-3, "check_grad_dtypes": True},
], ids=str)  # fmt: skip
def test_options_of_the_second_order(option):
    agree(lambda torch: verdict(torch, torch.exp, real(torch), "gradgradcheck", **option))


def test_calls_of_the_second_order():
    def program(torch):
        cases = [SECOND[name](torch) for name in ("one input", "two inputs")]
        return [counted(torch, *case, check="gradgradcheck", fast_mode=fast) for fast in MODES for case in cases]

    agree(program)


# Deprecated ----------------------------------------------------------------------------------------------------------


def test_numerical_jacobians():
    def program(torch):
        module = importlib.import_module(f"{torch.__name__}.autograd.gradcheck")
        x, y = real(torch), other(torch).detach()
        seen = []

        def func(inputs):
            return inputs[0] ** 2 * inputs[1], inputs[0]

        def action(**options):
            return lambda: seen.append(attempt(lambda: module.get_numerical_jacobian(func, (x, y), **options)))

        warnings = [warned(action(**each)) for each in ({}, {"eps": 1e-6}, {"target": x}, {"target": (y, x)},
                                                        {"grad_out": 2.0})]  # fmt: skip
        z = cplx(torch)
        warned(lambda: seen.append(attempt(lambda: module.get_numerical_jacobian(lambda inputs: inputs[0], (z,)))))
        specific = module.get_numerical_jacobian_wrt_specific_input
        outputs = func((x, y))
        seen.append(specific(lambda *inputs: func(inputs), 0, (x, y), outputs, 1e-6))
        seen.append(attempt(lambda: specific(lambda *inputs: func(inputs), 1, (x, y), outputs, 1e-6)))
        return warnings, seen

    agree(program, rtol=1e-4)


def test_analytical_jacobians():
    def program(torch):
        module = importlib.import_module(f"{torch.__name__}.autograd.gradcheck")
        x, y, seen = real(torch), other(torch).detach(), []

        def action(inputs, output, **options):
            return lambda: seen.append(attempt(lambda: module.get_analytical_jacobian(inputs, output, **options)))

        noisy = random_backward(torch, 1e-9)
        warnings = [
            warned(action((x, y), x**2 * y)),
            warned(action((x, y), (x**2 * y).sum())),
            warned(action((x, y), noisy(x), nondet_tol=1e-3)),
            warned(action((x, y), x**2, grad_out=0.5)),
            warned(action((x, y), x * 1j)),
        ]
        return warnings, seen

    agree(program)


# Forward mode --------------------------------------------------------------------------------------------------------

FORWARD = {
    "one input": lambda torch: (lambda x: x.sin() * x, (real(torch),)),
    "two inputs, two outputs": lambda torch: (lambda x, y: (x * y, (x / y).sum()), (real(torch), other(torch))),
    "an input without grad": lambda torch: (lambda x, y: x * y, (other(torch).detach(), real(torch))),
    "an input that is not used": lambda torch: (lambda x, y: x * 3, (real(torch), other(torch))),
    "arguments of other kinds": lambda torch: (lambda k, x: x * k, (3, real(torch))),
    "a constant output": lambda torch: (lambda x: torch.ones(2), (real(torch),)),
    "a constant among the outputs": lambda torch: (lambda x: (x * 2, torch.ones(3)), (real(torch),)),
    "no leaf": lambda torch: (lambda x: x**2, (real(torch) * 2,)),
    "R to C": lambda torch: (lambda x: torch.complex(x, x**2), (real(torch),)),
    "C to C": lambda torch: (lambda z: z * z.exp(), (cplx(torch),)),
    "C to R": lambda torch: (lambda z: z.abs(), (cplx(torch),)),
    "R and C to R and C": lambda torch: (lambda x, z: (x * z, x.exp(), z.abs()), (real(torch), cplx(torch))),
    "custom": lambda torch: (cube(torch), (real(torch),)),
    "another tangent": lambda torch: (lambda x, y: (x + other_tangent(torch, y), y), (real(torch), other(torch))),
    "another tangent, a complex input": lambda torch: (
        lambda x, y: (x + other_tangent(torch, y), y), (cplx(torch), other(torch))
    ),
    "another tangent, complex": lambda torch: (
        lambda x, y: (x + other_tangent(torch, y), y), (cplx(torch), cplx(torch) * 2)
    ),
    "R to R by way of C": lambda torch: (lambda x: torch.view_as_real(torch.resolve_conj(x * 1j)), (real(torch),)),
    "no output": lambda torch: (lambda x: (), (real(torch),)),
    "custom, a wrong jvp": lambda torch: (cube(torch, jvp_factor=2), (real(torch),)),
    "custom, a wrong backward": lambda torch: (cube(torch, factor=2), (real(torch),)),
    "custom, the second output of the second input": lambda torch: (
        lambda x, y: (x * y, x + cube(torch, jvp_factor=2)(y)), (real(torch), other(torch))
    ),
    "custom, a wrong jvp, complex": lambda torch: (cube(torch, jvp_factor=2), (cplx(torch),)),
    "custom, a wrong jvp of the imaginary part": lambda torch: (
        lambda z: torch.complex(z.real, cube(torch, jvp_factor=2)(z.imag)), (cplx(torch),)
    ),
    "custom, a wrong jvp after a real input": lambda torch: (
        lambda x, z: cube(torch, jvp_factor=2)(x * z), (real(torch), cplx(torch))
    ),
    "no jvp": lambda torch: (unrecorded(torch), (real(torch),)),
    "detached": lambda torch: (lambda x: x * x.detach(), (real(torch),)),
    "not linear": lambda torch: (not_linear(torch), (real(torch), other(torch))),
}  # fmt: skip


def other_tangent(torch, x):
    forward_ad = torch.autograd.forward_ad
    if forward_ad._current_level < 0:
        return x
    primal, tangent = forward_ad.unpack_dual(x)
    return x if tangent is None else forward_ad.make_dual(primal, tangent * 1.1)


def not_linear(torch):
    """A function whose jvp takes an undefined tangent for ones."""

    class Sum(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.set_materialize_grads(False)
            return x + y

        @staticmethod
        def backward(ctx, grad):
            return grad, grad

        @staticmethod
        def jvp(ctx, x, y):
            return (torch.ones_like(y) if x is None else x) + (torch.ones_like(x) if y is None else y)

    return Sum.apply


@both_modes
@pytest.mark.parametrize("case", FORWARD.values(), ids=FORWARD)
def test_forward_mode(case, fast):
    options = {"check_forward_ad": True, "fast_mode": fast}

    def program(torch):
        return [
            verdict(torch, *case(torch), **options),
            verdict(torch, *case(torch), check_backward_ad=False, **options),
            verdict(torch, *case(torch), check_undefined_grad=False, check_grad_dtypes=True, **options),
            verdict(torch, *case(torch), check_batched_forward_grad=True, raise_exception=False, **options),
        ]

    agree(program)


def failing(torch, forward, backward):
    class Failing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, number):
            return x * 2

        @staticmethod
        def vjp(ctx, grad):
            if backward:
                raise RuntimeError("FAIL BWD")
            return 2 * grad, None

        @staticmethod
        def jvp(ctx, tangent, none):
            if forward:
                raise RuntimeError("FAIL FWD")
            return 2 * tangent

    return Failing.apply


@pytest.mark.parametrize("backward", MODES)
@pytest.mark.parametrize("forward", MODES)
def test_only_one_mode_is_run(forward, backward):
    def program(torch):
        func, said = failing(torch, forward, backward), []
        for check_forward in MODES:
            for check_backward in MODES:
                for fast in MODES:
                    options = {
                        "check_forward_ad": check_forward,
                        "check_backward_ad": check_backward,
                        "check_undefined_grad": check_backward,
                        "check_batched_grad": check_backward,
                    }
                    said.append(verdict(torch, func, (real(torch), 3), fast_mode=fast, **options))
        return said

    agree(program)


def drawing(torch, mode):
    class Drawing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def vjp(ctx, grad):
            return grad * 2 if mode == "forward" else grad * 2 + 0 * torch.rand_like(grad)

        @staticmethod
        def jvp(ctx, tangent):
            return tangent * 2 if mode == "backward" else tangent * 2 + 0 * torch.rand_like(tangent)

    return Drawing.apply


@pytest.mark.parametrize("mode", ["forward", "backward"])
def test_no_random_numbers_in_a_batch(mode):
    options = {"check_forward_ad": True, "check_batched_grad": True, "check_batched_forward_grad": True}
    agree(lambda torch: verdict(torch, drawing(torch, mode), real(torch), **options))


def counting_jvp(torch, calls):
    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            calls.append(f"forward {x.requires_grad} {y.requires_grad}")
            return x.clone(), y.clone()

        @staticmethod
        def jvp(ctx, x, y):
            calls.append("jvp")
            return x, y

    return Both.apply


@pytest.mark.parametrize("wanted", [(True, True), (True, False), (False, True)], ids=str)
def test_number_of_jvps(wanted):
    def program(torch):
        counts = []
        for options in ({}, {"check_undefined_grad": True}, {"check_batched_forward_grad": True}, {"fast_mode": True}):
            calls = []
            options = {"check_undefined_grad": False, "check_forward_ad": True, "check_backward_ad": False} | options
            inputs = [torch.ones(1, dtype=torch.float64, requires_grad=want) for want in wanted]
            assert torch.autograd.gradcheck(counting_jvp(torch, calls), inputs, **options)
            counts.append([calls.count("jvp"), calls])
        return counts

    agree(program)


@both_modes
@pytest.mark.parametrize("name", ["one input", "two inputs", "linear", "C to C", "R to C", "custom"])
def test_forward_over_reverse(name, fast):
    def program(torch):
        func, inputs = SECOND[name](torch)
        options = {"check_fwd_over_rev": True, "fast_mode": fast}
        return [
            verdict(torch, func, inputs, "gradgradcheck", **options),
            verdict(torch, func, inputs, "gradgradcheck", check_rev_over_rev=False, check_undefined_grad=False,
                    **options),
        ]  # fmt: skip

    agree(program)
