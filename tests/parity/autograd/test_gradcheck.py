"""``gradcheck`` and ``gradgradcheck``: verdicts, texts, warnings, and how often they call what they are given."""

import importlib
import inspect

import pytest
import torch as pytorch
from gradchecks import (
    MODES,
    both_modes,
    changed,
    counted,
    cplx,
    cube,
    last_seen,
    matrix,
    other,
    random_backward,
    real,
    vector,
    verdict,
)
from harness import agree

import tapegrad
from tapegrad.autograd.gradcheck import messages as gradcheck_messages

CORRECT = {
    "one input": lambda torch: (lambda x: x.sin() * x, (real(torch),)),
    "no tuple": lambda torch: (lambda x: x.exp(), real(torch)),
    "a list of inputs": lambda torch: (lambda x, y: x * y, [real(torch), other(torch)]),
    "two inputs, two outputs": lambda torch: (lambda x, y: (x * y, (x / y).sum()), (real(torch), other(torch))),
    "outputs in a list": lambda torch: (lambda x: [x * 2, x.sum()], (real(torch),)),
    "arguments of other kinds": lambda torch: (lambda x, k, s: x * k, (real(torch), 3, "s")),
    "an input without grad": lambda torch: (lambda x, y: x * y, (real(torch), other(torch).detach())),
    "an input that is not used": lambda torch: (lambda x, y: x * 3, (real(torch), other(torch))),
    "one tensor as two inputs": lambda torch: (lambda x: (lambda a, b: a * b, (x, x)))(real(torch)),
    "a 0-dim input": lambda torch: (lambda x: x**3, (real(torch)[0].detach().requires_grad_(),)),
    "a 0-dim output": lambda torch: (lambda x: (x * x).sum(), (real(torch),)),
    "a matrix": lambda torch: (lambda x, y: x @ y, (matrix(torch), matrix(torch))),
    "an empty input": lambda torch: (lambda x: x * 2, (torch.empty(0, 2, dtype=torch.float64, requires_grad=True),)),
    "an empty input, a 0-dim output": lambda torch: (
        lambda x: x.sum(), (torch.empty(0, 2, dtype=torch.float64, requires_grad=True),)
    ),
    "an input that is no leaf": lambda torch: (lambda x: x.exp(), (real(torch) * 2,)),
    "a constant output": lambda torch: (lambda x: torch.ones(2), (real(torch),)),
    "a constant among the outputs": lambda torch: (lambda x: (x * 2, torch.ones(3)), (real(torch),)),
    "an integral output": lambda torch: (lambda x: torch.sort(x), (real(torch),)),
    "a closure that knows the input": lambda torch: (lambda x: (lambda _: x * x, (x,)))(real(torch)),
    "a closure that knows the input's data": lambda torch: (lambda x: (lambda y: x.detach() * 0 + y * y, (x,)))(
        real(torch)
    ),
    "C to C": lambda torch: (lambda z: z * z.exp(), (cplx(torch),)),
    "C to C, not holomorphic": lambda torch: (lambda z: z.conj() * z * z, (cplx(torch),)),
    "C to R": lambda torch: (lambda z: z.abs(), (cplx(torch),)),
    "C to R, the imaginary part": lambda torch: (lambda z: z.imag * z.real, (cplx(torch),)),
    "R to C": lambda torch: (lambda x, y: torch.complex(x, y) ** 2, (real(torch), other(torch))),
    "R and C to R and C": lambda torch: (lambda x, z: (x * z, x.exp(), z.abs()), (real(torch), cplx(torch))),
    "R and C to R": lambda torch: (lambda x, z: (x * z).abs(), (real(torch), cplx(torch))),
    "no output": lambda torch: (lambda x: (), (real(torch),)),
    "real and complex outputs": lambda torch: (lambda x, y: (torch.complex(x, y), x + 1), (real(torch), other(torch))),
    "a complex output and its real part": lambda torch: (lambda z: (z, torch.real(z)), (cplx(torch),)),
    "a complex constant": lambda torch: (lambda x: (x * 2, torch.ones(1, dtype=torch.complex128)), (real(torch),)),
}  # fmt: skip


@both_modes
@pytest.mark.parametrize("case", CORRECT.values(), ids=CORRECT)
def test_correct_functions_pass(case, fast):
    agree(lambda torch: verdict(torch, *case(torch), fast_mode=fast))


@both_modes
@pytest.mark.parametrize("name", CORRECT)
def test_calls_of_the_function(name, fast):
    theirs, ours = (counted(torch, *CORRECT[name](torch), fast_mode=fast) for torch in (pytorch, tapegrad))
    wasted = fast * (name in ("a constant output", "no output"))  # PyTorch computes the same differences a second time
    assert ours == theirs - 2 * wasted


def test_they_do_pass():
    assert all(verdict(tapegrad, *case(tapegrad))[0] is True for case in CORRECT.values())


WRONG = {
    "twice the gradient": lambda torch: (lambda x: changed(lambda g: 2 * g, x), (real(torch),)),
    "one element": lambda torch: (
        lambda x: changed(lambda g: g * torch.tensor([1.0, 1.01], dtype=torch.float64), x), (real(torch),)
    ),
    "close enough": lambda torch: (lambda x: changed(lambda g: g * 1.0009, x), (real(torch),)),
    "the second input of the second output": lambda torch: (
        lambda x, y: (x * y, x * changed(lambda g: -g, y)), (real(torch), other(torch))
    ),
    "both inputs": lambda torch: (
        lambda x, y: (x * y, torch.mul(*changed(lambda g: -g, x, y))), (real(torch), other(torch))
    ),
    "nothing recorded": lambda torch: (lambda x: x.detach() * 2, (real(torch),)),
    "recorded in part": lambda torch: (lambda x: x * x.detach(), (real(torch),)),
    "nothing recorded, a new tensor": lambda torch: (lambda x: torch.tensor([x]), (vector(torch, 1.0),)),
    "an integral output that moves": lambda torch: (lambda x: x.long(), (vector(torch, 1.0, 2.5),)),
    "a detached output among others": lambda torch: (lambda x: (x * 2, x.detach()), (real(torch),)),
    "not a number": lambda torch: (lambda x: x.sqrt(), (real(torch),)),
    "a large Jacobian": lambda torch: (
        lambda x: changed(lambda g: -g, x * 1000.5), (torch.ones(7, dtype=torch.float64, requires_grad=True),)
    ),
    "C to C, real and imaginary": lambda torch: (lambda z: changed(lambda g: g * 1j, z), (cplx(torch),)),
    "C to C, the imaginary part": lambda torch: (
        lambda z: torch.complex(z.real, changed(lambda g: 2 * g, z.imag.clone())), (cplx(torch),)
    ),
    "C to C, the real part": lambda torch: (
        lambda z: torch.complex(changed(lambda g: 2 * g, z.real.clone()), z.imag), (cplx(torch),)
    ),
    "conjugated": lambda torch: (lambda z: changed(lambda g: g.conj(), z) * z, (cplx(torch),)),
    "C to R": lambda torch: (lambda z: changed(lambda g: 2 * g, z.abs()), (cplx(torch),)),
    "R to C": lambda torch: (
        lambda x: torch.complex(x, changed(lambda g: 2 * g, x * x)), (real(torch),)
    ),
    "R and C to R and C, the last": lambda torch: (
        lambda x, z: (x * z, x.exp(), changed(lambda g: 3 * g, z.abs())), (real(torch), cplx(torch))
    ),
    "single precision": lambda torch: (lambda x: x * x, (torch.full((2,), 0.3, requires_grad=True),)),
    "complex single precision": lambda torch: (
        lambda x, z: z * 2 + x, (other(torch), torch.ones(2, dtype=torch.complex64, requires_grad=True))
    ),
    "no grad at all": lambda torch: (lambda x: x * 2, (real(torch).detach(),)),
    "no tensor at all": lambda torch: (lambda x: x * 2, 5),
    "no tensor for an output": lambda torch: (lambda x: 5, (real(torch),)),
    "a function that raises": lambda torch: (lambda x: x.no_such_method(), (real(torch),)),
    "a shape that depends on the data": lambda torch: (
        lambda x: torch.cat([x, x]) if x[0] >= 1 else x, (vector(torch, 1.0),)
    ),
    "a shape that depends on the data, of a matrix": lambda torch: (
        lambda x: torch.cat([x, x]) if x[1, 1] >= 1.2 else x, ((matrix(torch)),)
    ),
    "a dtype that depends on the data": lambda torch: (
        lambda x: x.float() if x[0] >= 1 else x, (vector(torch, 1.0),)
    ),
    "another gradient each time": lambda torch: (
        lambda x: changed(last_seen(lambda g, times: g * (1 + 1e-7 * (times % 3))), x), (real(torch),)
    ),
    "not multiplied by grad_output": lambda torch: (
        lambda x: changed(lambda g: g + 1e-9, x), (real(torch),)
    ),
    "not multiplied by grad_output, by much": lambda torch: (
        lambda x: changed(lambda g: g + (g == 0).all().to(g.dtype), x), (real(torch),)
    ),
}  # fmt: skip


@both_modes
@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_wrong_functions_fail(case, fast):
    agree(lambda torch: verdict(torch, *case(torch), fast_mode=fast))


@both_modes
@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_without_an_exception(case, fast):
    agree(lambda torch: verdict(torch, *case(torch), fast_mode=fast, raise_exception=False))


def test_most_of_them_do_fail():
    passed = {name for name, case in WRONG.items() if verdict(tapegrad, *case(tapegrad))[0] is True}
    assert passed == {
        "close enough", "an integral output that moves", "a detached output among others",
    }  # fmt: skip


# Undefined gradients -------------------------------------------------------------------------------------------------


def picky(wanted):
    """A hook that doesn't take undefined gradients, or gives ones for them."""

    def hook(torch, grad, like):
        if grad is None and wanted == "raises":
            raise RuntimeError("x is undefined")
        if grad is None and wanted == "raises another":
            raise KeyError("x is undefined")
        return grad

    return hook


def with_hook(torch, wanted):
    def func(x):
        y = x.clone()
        y.register_hook(lambda grad: picky(wanted)(torch, grad, y))
        return y

    return func


def sum_and_product(torch, broken):
    """A custom function of two outputs that treats one undefined gradient, or both, as ones."""

    class SumAndProduct(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            ctx.set_materialize_grads(False)
            return x + y, x * y

        @staticmethod
        def backward(ctx, of_sum, of_product):
            x, y = ctx.saved_tensors
            undefined = (of_sum is None, of_product is None)
            if undefined == (True, True) and broken != "both":
                return None, None
            default = torch.ones_like(x) if undefined in BROKEN[broken] else torch.zeros_like(x)
            of_sum = default if of_sum is None else of_sum
            of_product = default if of_product is None else of_product
            return of_sum + of_product * y, of_sum + of_product * x

    return SumAndProduct.apply


BROKEN = {"none": [], "both": [(True, True)], "first": [(True, False)], "second": [(False, True)]}


@both_modes
@pytest.mark.parametrize("wanted", ["raises", "raises another", "is fine"])
def test_a_hook_sees_undefined_gradients(wanted, fast):
    agree(lambda torch: verdict(torch, with_hook(torch, wanted), real(torch), fast_mode=fast))


@pytest.mark.parametrize("option", [{}, {"check_undefined_grad": False}, {"raise_exception": False}], ids=str)
@pytest.mark.parametrize("broken", BROKEN)
def test_undefined_gradients_are_zeros(broken, option):
    agree(lambda torch: verdict(torch, sum_and_product(torch, broken), (real(torch), other(torch)), **option))


def test_calls_for_undefined_gradients():
    def program(torch):
        func, inputs = sum_and_product(torch, "none"), (real(torch), other(torch))
        return [counted(torch, func, inputs, check_undefined_grad=check) for check in MODES]

    agree(program)


# Custom functions ----------------------------------------------------------------------------------------------------


@both_modes
@pytest.mark.parametrize("factor", [3, 2, -3, 0])
def test_custom_functions(factor, fast):
    agree(lambda torch: verdict(torch, cube(torch, factor), real(torch), fast_mode=fast))


@both_modes
@pytest.mark.parametrize(("size", "tolerance"), [(1e-7, 0.0), (1e-7, 1e-5), (0, 0.0), (1e-7, float("inf"))])
def test_nondeterminism(size, tolerance, fast):
    agree(lambda torch: verdict(
        torch, random_backward(torch, size), real(torch), nondet_tol=tolerance, fast_mode=fast
    ))  # fmt: skip


# Tolerances and options ----------------------------------------------------------------------------------------------

OPTIONS = {
    "atol": [{"atol": 0.2}, {"atol": 0.05}],
    "rtol": [{"rtol": 0.2}, {"rtol": 0.05}],
    "eps": [{"eps": 1e-3}, {"eps": 1e-1}, {"eps": 1e-3, "rtol": 0, "atol": 1e-9}],
    "dtypes": [{"check_grad_dtypes": True}],
    "masked": [{"masked": True}, {"masked": False}, {"masked": None}],
    "batched": [{"check_batched_grad": True}],
    "nothing": [{"check_backward_ad": False}],
    "batched, not backward": [
        {"check_backward_ad": False, "check_forward_ad": True, "check_batched_grad": True}
    ],
    "batched forward, not forward": [{"check_batched_forward_grad": True}],
    "an option that does not exist": [{"atoll": 1}],
}


@both_modes
@pytest.mark.parametrize("name", OPTIONS)
def test_options(name, fast):
    def program(torch):
        funcs = [torch.exp, lambda x: changed(lambda g: 1.1 * g, x), lambda x: changed(lambda g: g + 1e-9, x)]
        return [
            verdict(torch, func, real(torch), fast_mode=fast, **option) for option in OPTIONS[name] for func in funcs
        ]

    agree(program)


@both_modes
def test_batches_of_gradients(fast):
    def program(torch):
        inputs = real(torch), cplx(torch), other(torch)
        func = lambda x, z, unused: (x * z, x.exp().sum())
        return verdict(torch, func, inputs, check_batched_grad=True, fast_mode=fast)

    agree(program)


@pytest.mark.parametrize("name", ["gradcheck", "gradgradcheck"])
def test_signatures(name):
    def program(torch):
        parameters = inspect.signature(getattr(torch.autograd, name)).parameters.values()
        return [[each.name, str(each.kind), each.default] for each in parameters if each.default is not each.empty]

    agree(program)


def test_the_module():
    def program(torch):
        module = importlib.import_module(f"{torch.__name__}.autograd.gradcheck")
        error = module.GradcheckError
        return [
            type(module).__name__,
            type(torch.autograd.gradcheck).__name__,
            hasattr(torch.autograd.gradcheck, "GradcheckError"),
            [base.__name__ for base in error.__mro__],
            error.__module__,
            {"gradcheck", "gradgradcheck"} <= set(torch.autograd.__all__),
            sorted(set(module.__all__)),
        ]

    agree(program)


def test_texts():
    module = importlib.import_module("torch.autograd.gradcheck")
    texts = {
        "NONDETERMINISTIC": module.FAILED_NONDET_MSG,
        "BATCHED": module.FAILED_BATCHED_GRAD_MSG,
        "BATCHED_FORWARD": module.FAILED_BATCHED_GRAD_MSG_FWD_AD,
        "ONLY_FAST_FAILED": module.FAST_FAIL_SLOW_OK_MSG,
    }
    assert {name: getattr(gradcheck_messages, name) for name in texts} == texts
    for forward in MODES:
        theirs = module._get_failed_batched_grad_test_msg(1, 2, "got", "expected", is_forward_ad=forward)
        assert gradcheck_messages.batch_mismatch("got", "expected", 1, 2, forward) == theirs


# What is left behind -------------------------------------------------------------------------------------------------


@both_modes
def test_inputs_are_as_they_were(fast):
    def program(torch):
        x, z = real(torch), cplx(torch)
        alias, before = x.detach(), x.detach().clone()
        seen = []

        def func(x, z):
            seen.append([alias._version, x._version, bool((alias == x).all()), x.requires_grad, x.is_leaf])
            return x * z + 0 * alias

        said = verdict(torch, func, (x, z), fast_mode=fast)
        return [said, seen, bool((x == before).all()), x._version, x.grad, z.grad, x.requires_grad]

    agree(program)


def test_a_gradient_that_is_there_stays():
    def program(torch):
        x = real(torch)
        x.sum().backward()
        torch.autograd.gradcheck(torch.sin, x, fast_mode=True)
        torch.autograd.gradgradcheck(torch.sin, x)
        return x.grad

    agree(program)


def test_what_the_function_sees():
    def program(torch):
        seen = []

        def func(x, y):
            seen.append([x.tolist(), y.tolist(), x.requires_grad, y.requires_grad, torch.is_grad_enabled()])
            return x * y

        torch.autograd.gradcheck(func, (real(torch), other(torch).detach()))
        return seen

    agree(program)


def test_the_random_state_is_left_alone():
    def program(torch):
        before = torch.get_rng_state()
        torch.autograd.gradcheck(torch.sin, real(torch), fast_mode=True)
        torch.autograd.gradcheck(torch.sin, cplx(torch))
        return bool((torch.get_rng_state() == before).all())

    agree(program)


def test_without_grad_mode():
    def program(torch):
        with torch.no_grad():
            return [verdict(torch, torch.exp, real(torch), fast_mode=fast) for fast in MODES]

    agree(program)


def test_number_of_backward_passes():
    def program(torch):
        passes = []

        def func(x):
            return changed(lambda grad: passes.append(grad.tolist()), x) * 2

        counts = []
        for fast in MODES:
            for undefined in MODES:
                torch.autograd.gradcheck(func, real(torch), fast_mode=fast, check_undefined_grad=undefined)
                counts.append(len(passes))
        return counts, [[round(number, 6) for number in one] for one in passes]

    agree(program)
