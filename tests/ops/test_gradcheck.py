"""``gradcheck`` where PyTorch is no guide: what it leaves behind, what it can find, and operators of the table."""

import gc
import importlib
import pkgutil
import weakref
from itertools import count

import numpy as np
import pytest
from samples import all_samples

import tapegrad as torch
from tapegrad import ops
from tapegrad.autograd import gradcheck, gradgradcheck
from tapegrad.autograd.gradcheck import GradcheckError
from tapegrad.autograd.gradcheck.analytical_jacobian import check_like
from tapegrad.autograd.gradcheck.numerical_jacobian import derivatives, perturbable
from tapegrad.ops.operator import TABLE

for module in pkgutil.iter_modules(ops.__path__):
    importlib.import_module(f"tapegrad.ops.{module.name}")


def vector(*numbers, **options):
    return torch.tensor(numbers, dtype=torch.float64, **{"requires_grad": True} | options)


def wrong(tensor):
    """A copy of a tensor whose gradient is too large by one; anything else as it is."""
    if not (isinstance(tensor, torch.Tensor) and tensor.requires_grad):
        return tensor
    copy = tensor.clone()
    copy.register_hook(lambda grad: None if grad is None else grad + 1)
    return copy


both_modes = pytest.mark.parametrize("fast", [False, True], ids=["slow", "fast"])

# Operators of the table ----------------------------------------------------------------------------------------------


def first_samples():
    """Of every eighth operator that has one its first sample that can be differentiated, by finite differences too."""
    found = {}
    for sample in all_samples():
        usual = sample.directions is None and not sample.constants
        if sample.smooth and sample.derivable and usual and any(varying(sample)):
            found.setdefault(sample.op, sample)
    return [found[name] for name in sorted(found)[::8]]


def varying(sample):
    """For each argument, whether it is a floating array that has a formula."""
    differentiable = TABLE[sample.op].differentiable
    return [
        isinstance(arg, np.ndarray) and arg.dtype.kind in "fc" and differentiable(position)
        for position, arg in enumerate(sample.args)
    ]


def as_inputs(sample):
    """The arguments of a sample as tensors; the floating ones that have a formula require grad."""
    return tuple(
        torch.tensor(arg.tolist(), dtype=getattr(torch, arg.dtype.name)).reshape(arg.shape).requires_grad_(requires)
        if isinstance(arg, np.ndarray)
        else arg
        for arg, requires in zip(sample.args, varying(sample), strict=True)
    )


@pytest.mark.parametrize("sample", first_samples(), ids=str)
def test_operators(sample):
    def func(*args):
        return TABLE[sample.op](*args, **sample.settings)

    inputs = as_inputs(sample)
    assert gradcheck(func, inputs, check_forward_ad=sample.forward, check_batched_grad=True)
    assert gradcheck(func, inputs, check_forward_ad=sample.forward, fast_mode=True)
    if sample.second and sample.twice:
        assert gradgradcheck(func, inputs, fast_mode=True)
    with pytest.raises(GradcheckError, match="Jacobian mismatch"):
        gradcheck(lambda *args: func(*map(wrong, args)), inputs)


# What is left behind -------------------------------------------------------------------------------------------------


@both_modes
def test_a_tensor_that_is_plain_stays_plain(fast):
    x = vector(0.3, -0.4)
    gradcheck(torch.sin, x, fast_mode=fast)
    assert x._spec.plain and x._version == 0 and x.tolist() == [0.3, -0.4]


@both_modes
@pytest.mark.parametrize("shared", [False, True])
def test_data_is_put_back_when_the_function_raises(fast, shared):
    x = vector(0.3, -0.4)
    alias = x.detach() if shared else x
    seen = []

    def func(x):
        seen.append(x.tolist())
        if len(seen) > 1:
            raise KeyError("enough")
        return x * 2

    with pytest.raises(KeyError, match="enough"):
        gradcheck(func, x, fast_mode=fast)
    assert seen[1] != [0.3, -0.4]
    assert x.tolist() == alias.tolist() == [0.3, -0.4]


def test_data_is_put_back_when_the_tensor_is_shared_in_between():
    x, aliases = vector(0.3, -0.4), []

    def func(x):
        aliases.append(x.detach())
        return x * 2

    assert gradcheck(func, x)
    assert x.tolist() == [0.3, -0.4]
    assert all(alias.tolist() == [0.3, -0.4] for alias in aliases)


def test_who_shares_the_data_sees_it_change():
    x = vector(0.3, -0.4)
    alias = x.detach()
    with perturbable(x) as put:
        put(np.array([1.0, 2.0]))
        assert alias.tolist() == [1.0, 2.0] and alias._version == 0
    assert alias.tolist() == [0.3, -0.4]


def test_elements_that_are_not_perturbed_keep_their_sign():
    x = vector(-0.0, 1.0)
    signs = []
    step = np.array([0.0, 1.0])
    derivatives(lambda: signs.append(np.signbit(x.detach().numpy()).tolist()) or x.detach(), x, (step,), 1e-6)
    assert signs == [[True, False]] * 2


@both_modes
def test_no_result_is_kept(fast):
    x, results = vector(0.3, -0.4), []

    def func(x):
        y = x * x.exp()
        results.append(weakref.ref(y))
        return y

    gc.disable()
    try:
        gradcheck(func, x, fast_mode=fast, check_batched_grad=True)
        assert [reference() for reference in results] == [None] * len(results)
    finally:
        gc.enable()


# What passes here and doesn't in PyTorch ----------------------------------------------------------------------------


@both_modes
@pytest.mark.parametrize(
    "func",
    [
        lambda x: (x.argsort(), x * 2),
        lambda x: (x * 2, x > 0),
        lambda x: (x > 0, x * 2, x.argsort(), x.sum()),
        lambda x: (torch.ones(2), x * 2),
    ],
    ids=["integral first", "truth values", "mixed", "constant first"],
)
def test_outputs_without_derivatives_stand_anywhere(func, fast):
    assert gradcheck(func, vector(0.3, -0.4), fast_mode=fast)
    with pytest.raises(GradcheckError, match=r"output \d with respect to input 0"):
        gradcheck(lambda x: func(wrong(x)), vector(0.3, -0.4), fast_mode=fast)


@both_modes
def test_tensors_inside_of_arguments_are_no_inputs(fast):
    assert gradcheck(lambda x, pair: x * pair[0], (vector(0.3), [vector(0.5)]), fast_mode=fast)


def test_nothing_recorded_in_forward_mode():
    options = {"check_forward_ad": True, "check_backward_ad": False}
    with pytest.raises(GradcheckError, match="expected to be zero"):
        gradcheck(lambda x: x.detach() * 2, vector(0.3), **options)
    with pytest.raises(GradcheckError, match="Jacobian computed with forward mode mismatch"):
        gradcheck(lambda x: x.detach() * 2, vector(0.3), fast_mode=True, **options)


def test_elements_that_share_memory_are_refused():
    with pytest.raises(RuntimeError, match="The 0th input has a dimension with stride 0"):
        gradcheck(lambda x: x * 2, vector(0.3).expand(3))


# What the checks can find -------------------------------------------------------------------------------------------


def noisy(size):
    """A doubling whose derivatives, both of them, grow by a relative size from one time to the next."""
    times = count(1)

    class Noisy(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2 * (1 + size * next(times))

        @staticmethod
        def jvp(ctx, tangent):
            return tangent * 2 * (1 + size * next(times))

    return Noisy.apply


def test_a_batch_that_is_not_what_its_elements_are():
    options = {"nondet_tol": float("inf"), "rtol": 0.1, "check_batched_grad": True}
    assert gradcheck(noisy(0), vector(0.3, 0.4), **options)
    with pytest.raises(GradcheckError) as caught:
        gradcheck(noisy(0.001), vector(0.3, 0.4), **options)
    text = str(caught.value)
    assert text.startswith("For output 0 and input 0:\n\ngradcheck or gradgradcheck failed while testing batched")
    assert "Got:\ntensor([[" in text and "Expected:\ntensor([[" in text


def test_a_batch_of_tangents_that_is_not_what_its_elements_are():
    options = {"rtol": 0.1, "check_undefined_grad": False, "check_forward_ad": True, "check_backward_ad": False}
    assert gradcheck(noisy(0.001), vector(0.3, 0.4), **options)
    assert gradcheck(noisy(0), vector(0.3, 0.4), check_batched_forward_grad=True, **options)
    with pytest.raises(GradcheckError, match="with forward-mode AD.\nThis test is enabled"):
        gradcheck(noisy(0.001), vector(0.3, 0.4), check_batched_forward_grad=True, **options)


def test_a_batch_that_draws_random_numbers():
    """As vmap has it; a generator of one's own goes unseen here."""
    dropout = torch.nn.functional.dropout
    x, generator = vector(0.3, 0.4), torch.Generator()
    options = {"check_undefined_grad": False, "check_forward_ad": True, "check_backward_ad": False}
    with pytest.raises(GradcheckError, match="vmap: We do not yet support calling random operations inside of vmap"):
        gradcheck(lambda x: x * 2 + 0 * torch.rand(2), x, check_batched_forward_grad=True, **options)
    own = lambda x: x * 2 + 0 * torch.rand(2, generator=generator)
    assert gradcheck(own, x, check_batched_forward_grad=True, **options)
    assert gradcheck(lambda x: dropout(x, 0.0), x, check_batched_grad=True)  # drawn before, in the forward pass


def limited(passes):
    """A doubling that can be differentiated so many times."""
    count = []

    class Limited(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            count.append(None)
            if len(count) > passes:
                raise RuntimeError("no more")
            return grad * 2

        @staticmethod
        def jvp(ctx, tangent):
            return Limited.backward(ctx, tangent)

    return Limited.apply


def test_a_batch_that_raises():
    x = vector(0.3, 0.4)  # 2 x 2 passes for the Jacobian, 2 for the elements of the batch
    with pytest.raises(GradcheckError, match="While computing batched gradients, got: no more\n\ngradcheck or grad"):
        gradcheck(limited(6), x, check_batched_grad=True)
    options = {"check_undefined_grad": False, "check_forward_ad": True, "check_backward_ad": False}
    with pytest.raises(GradcheckError, match="While computing batched gradients, got: no more\n\n\ngradcheck failed"):
        gradcheck(limited(4), x, check_batched_forward_grad=True, **options)


@pytest.mark.parametrize("check_dtypes", [False, True])
def test_a_gradient_is_like_its_input(check_dtypes):
    x = vector(0.3, 0.4)
    check_like([x.detach(), None], [x, x], check_dtypes)
    with pytest.raises(GradcheckError, match="Analytical gradient has incorrect size"):
        check_like([x.detach()[:1]], [x], check_dtypes)
    if check_dtypes:
        with pytest.raises(GradcheckError, match="Gradient has dtype mismatch"):
            check_like([x.detach().float()], [x], check_dtypes)
    else:
        check_like([x.detach().float()], [x], check_dtypes)
