"""What programs about ``gradcheck`` share: inputs, wrong derivatives, and what a check says."""

import re

import pytest
from harness import attempt, warned

MODES = [False, True]
both_modes = pytest.mark.parametrize("fast", MODES, ids=["slow", "fast"])


def vector(torch, *numbers):
    """A float64 (complex128) leaf that requires grad."""
    dtype = torch.complex128 if any(isinstance(number, complex) for number in numbers) else torch.float64
    return torch.tensor(numbers, dtype=dtype, requires_grad=True)


def real(torch):
    return vector(torch, 0.7, -1.3)


def other(torch):
    return vector(torch, 1.9, 0.4)


def cplx(torch):
    return vector(torch, 0.7 - 0.2j, -1.3 + 0.5j)


def verdict(torch, func, inputs, check="gradcheck", **options):
    """What a check says, and what it warns of."""
    said, before = [], torch.is_warn_always_enabled()
    torch.set_warn_always(True)  # what a process says only once may have been said by another test
    try:
        caught = warned(lambda: said.append(attempt(lambda: getattr(torch.autograd, check)(func, inputs, **options))))
    finally:
        torch.set_warn_always(before)
    caught = dict.fromkeys(map(tuple, caught))
    warnings = [list(each) for each in caught if "torch.jit.script" not in each[1]]  # PyTorch of its own forward mode
    return [[rounded(part) for part in said[0]] if isinstance(said[0], list) else said[0], warnings]


def counted(torch, func, inputs, check="gradcheck", **options):
    """How often a check calls the function."""
    calls = []

    def counting(*args):
        calls.append(None)
        return func(*args)

    warned(lambda: attempt(lambda: getattr(torch.autograd, check)(counting, inputs, **options)))
    return len(calls)


def rounded(text):
    """A text without what is nobody's promise: the last digits of sums, the sign of a complex zero, and who made a
    Jacobian (PyTorch's can have a history, if constants of the problem require grad).
    """
    text = re.sub(r"-?\d+\.\d+(e-?\d+)?", lambda found: f"{float(found[0]):.4g}", text)
    text = re.sub(r"-0([+-])", r" 0\1", re.sub(r"\b0-0j", "0+0j", text))
    return re.sub(r",\s*grad_fn=<\w+>", "", text)


def changed(change, *tensors):
    """Copies of tensors whose gradients are changed on their way back."""
    copies = [tensor.clone() for tensor in tensors]
    for copy in copies:
        copy.register_hook(lambda grad: None if grad is None else change(grad))
    return copies[0] if len(copies) == 1 else copies


def last_seen(change):
    """A change of gradients that knows how many came before it."""
    seen = []

    def hook(grad):
        seen.append(None)
        return change(grad, len(seen))

    return hook


def matrix(torch):
    return (torch.arange(4, dtype=torch.float64).reshape(2, 2) / 3 + 0.2).detach().requires_grad_()


def cube(torch, factor=3, jvp_factor=3, of_grad=1):
    """A cube with wrong or right factors in its derivatives."""

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            return x**3

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return factor * changed(lambda g: g * of_grad, x) ** 2 * grad

        @staticmethod
        def jvp(ctx, tangent):
            return jvp_factor * ctx.saved_tensors[0] ** 2 * tangent

    return Cube.apply


def random_backward(torch, size):
    """A function whose gradient is off by less than ``size``, each time by something else."""

    class Noisy(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2 * (1 + size * (0.5 + torch.rand_like(grad)))

    return Noisy.apply


def unrecorded(torch):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    return Square.apply
