"""Custom functions in forward mode on both: what jvp gets, what it may return, and what is said of the rest."""

import warnings

import pytest
import torch as pytorch
from custom import function
from harness import agree, attempt

pytestmark = pytest.mark.parity

with warnings.catch_warnings():  # PyTorch scripts some decompositions at the first use, which it deprecates itself
    warnings.simplefilter("ignore")
    with pytorch.autograd.forward_ad.dual_level():
        pytorch.autograd.forward_ad.make_dual(pytorch.ones(1), pytorch.ones(1))


def constant(torch):
    return torch.tensor([1.0, 2.0, 3.0])


def tangent(torch):
    return torch.tensor([10.0, 20.0, 30.0])


def parts(torch, outputs):
    """Primal and tangent of each output, without the graph of the primal."""
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    unpack = torch.autograd.forward_ad.unpack_dual
    tensors = [unpack(out) if isinstance(out, torch.Tensor) else (out, None) for out in outputs]
    return [[p.detach() if isinstance(p, torch.Tensor) else p, t] for p, t in tensors]


def forwards(forward, jvp, *rest, requires_grad=False):
    """A program: a function with this forward and jvp applied to a dual tensor and the rest."""

    def program(torch):
        Mine = function(torch, forward, jvp=jvp)
        with torch.autograd.forward_ad.dual_level():
            x = torch.autograd.forward_ad.make_dual(constant(torch).requires_grad_(requires_grad), tangent(torch))
            others = [constant(torch) if item == "tensor" else item for item in rest]
            return attempt(lambda: parts(torch, Mine.apply(x, *others)))

    return program


def square(ctx, x, *rest):
    ctx.x = x
    return x * x


def square_without_zeros(ctx, x, *rest):
    ctx.set_materialize_grads(False)
    return square(ctx, x)


def square_jvp(ctx, t, *rest):
    ctx.rest = rest
    return 2 * ctx.x * t


def constant_second(ctx, x):
    out = x * 2, x * 3
    ctx.mark_non_differentiable(out[1])
    return out


def rest_as_sum(ctx, t, *rest):
    """Tells which tangents arrive: None counts 100."""
    return t + sum(100 if item is None else item.sum() for item in rest)


PROGRAMS = {
    "one input": forwards(square, square_jvp),
    "one that requires grad": forwards(square, square_jvp, requires_grad=True),
    "further inputs": forwards(square, rest_as_sum, 5, None, "tensor"),
    "further inputs, without zeros": forwards(square_without_zeros, rest_as_sum, 5, None, "tensor"),
    "no jvp": forwards(square, None),
    "two instead of one": forwards(square, lambda ctx, t: (t, t)),
    "nothing": forwards(square, lambda ctx, t: ()),
    "a number": forwards(square, lambda ctx, t: 3),
    "a list": forwards(square, lambda ctx, t: [t]),
    "another shape": forwards(square, lambda ctx, t: t[:2]),
    "another dtype": forwards(square, lambda ctx, t: t.double()),
    "two outputs": forwards(lambda ctx, x: (x * 2, x * 3), lambda ctx, t: (t * 2, t * 3)),
    "one instead of two": forwards(lambda ctx, x: (x * 2, x * 3), lambda ctx, t: t * 2),
    "outputs that are no tensors": forwards(lambda ctx, x: (x * 2, 5, None), lambda ctx, t: (t * 2, None, None)),
    "a tangent for what is no tensor": forwards(lambda ctx, x: (x * 2, 5, None), lambda ctx, t: (t * 2, t, None)),
    "too few for outputs that are no tensors": forwards(lambda ctx, x: (x * 2, 5, None), lambda ctx, t: t * 2),
    "an integral output": forwards(lambda ctx, x: (x * 2, x.long()), lambda ctx, t: (t * 2, None)),
    "a tangent for an integral output": forwards(lambda ctx, x: (x * 2, x.long()), lambda ctx, t: (t * 2, t)),
    "an output that is not differentiable": forwards(constant_second, lambda ctx, t: (t * 2, None)),
    "a tangent for one that is not": forwards(constant_second, lambda ctx, t: (t * 2, t)),
    "the input and a view": forwards(lambda ctx, x: x, lambda ctx, t: t.view_as(t)),
    "the input and the tangent": forwards(lambda ctx, x: x, lambda ctx, t: t),
    "the input and a copy": forwards(lambda ctx, x: x, lambda ctx, t: t.clone()),
    "the input and a view of a copy": forwards(lambda ctx, x: x, lambda ctx, t: t.clone().view_as(t)),
    "a view and a view": forwards(lambda ctx, x: x.view(-1), lambda ctx, t: t.view(-1)),
    "a view and the tangent": forwards(lambda ctx, x: x.view(-1), lambda ctx, t: t),
    "a view and a copy": forwards(lambda ctx, x: x.view(-1), lambda ctx, t: t.clone()),
    "a view and a view of a copy": forwards(lambda ctx, x: x.view(-1), lambda ctx, t: t.clone().view(-1)),
    "something new and a view": forwards(lambda ctx, x: x * 2, lambda ctx, t: t.view(-1)),
    "something new and the tangent": forwards(lambda ctx, x: x * 2, lambda ctx, t: t),
    "a view of what is not dual": forwards(lambda ctx, x, y: y.view(-1), lambda ctx, t, u: t.clone(), "tensor"),
    "a view of what is not dual, with zeros": forwards(lambda ctx, x, y: y.view(-1), lambda ctx, t, u: u, "tensor"),
    "jvp raises": forwards(square, lambda ctx, t: 1 / 0),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_jvp(program):
    agree(program)


NO_TANGENT = {
    "None": lambda ctx, t: None,
    "integers": lambda ctx, t: t.long(),
}


@pytest.mark.parametrize("jvp", NO_TANGENT.values(), ids=NO_TANGENT.keys())
def test_outputs_without_a_tangent(jvp):
    """PyTorch fails an assertion of its own; the sentence at its end is ours."""

    def program(torch):
        kind, error, text = forwards(square, jvp)(torch)
        return [kind, error, "Expected both tensor and its forward grad to be floating point or complex" in text]

    agree(program)


def write_double(ctx, x):
    x.mul_(2)
    ctx.mark_dirty(x)
    return x


WRITES = {
    "in place": lambda ctx, t: t.mul_(2),
    "not in place": lambda ctx, t: t * 2,
    "in place, but another tensor": lambda ctx, t: t.mul_(2).clone(),
    "None": lambda ctx, t: None,
}


@pytest.mark.parametrize("requires_grad", [False, True], ids=["constant", "requires grad"])
@pytest.mark.parametrize("jvp", WRITES.values(), ids=WRITES.keys())
def test_functions_that_write(jvp, requires_grad):
    def program(torch):
        forward_ad = torch.autograd.forward_ad
        with forward_ad.dual_level():
            t = tangent(torch)
            x = forward_ad.make_dual(constant(torch).requires_grad_(requires_grad) * 1, t)
            result = attempt(lambda: function(torch, write_double, jvp=jvp).apply(x))
            if result is not x:
                return result
            return [parts(torch, x), t, forward_ad.unpack_dual(x).tangent is t]

    agree(program)


def test_writing_to_what_is_not_dual():
    def program(torch):
        def forward(ctx, x, y):
            y.mul_(2)
            ctx.mark_dirty(y)
            return y

        forward_ad = torch.autograd.forward_ad
        with forward_ad.dual_level():
            x, y = forward_ad.make_dual(constant(torch), tangent(torch)), constant(torch)
            result = function(torch, forward, jvp=lambda ctx, t, u: t * 2).apply(x, y)
            return [result is y, parts(torch, result), parts(torch, y)]

    agree(program)


def test_saved_for_forward():
    def program(torch):
        seen = []

        def forward(ctx, x):
            ctx.save_for_forward(x, x * 5, None)
            ctx.save_for_backward(x)
            seen.append(len(ctx.saved_tensors))
            return x * x

        def jvp(ctx, t):
            seen.append([None if item is None else item.detach() for item in ctx.saved_tensors])
            return t

        forward_ad = torch.autograd.forward_ad
        with forward_ad.dual_level():
            x = forward_ad.make_dual(constant(torch).requires_grad_(), tangent(torch))
            y = function(torch, forward, lambda ctx, g: g, jvp=jvp).apply(x)
            return [seen, parts(torch, y), y.grad_fn.saved_for_forward, len(y.grad_fn.saved_tensors)]

    agree(program)


def test_setup_context():
    def program(torch):
        Mine = function(
            torch, lambda x: x * x, setup_context=lambda ctx, inputs, out: ctx.save_for_forward(*inputs),
            jvp=lambda ctx, t: 2 * t * ctx.saved_tensors[0],
        )  # fmt: skip
        forward_ad = torch.autograd.forward_ad
        with forward_ad.dual_level():
            return parts(torch, Mine.apply(forward_ad.make_dual(constant(torch), tangent(torch))))

    agree(program)


def test_modes_of_jvp():
    def program(torch):
        seen = []

        def jvp(ctx, t):
            seen.append(torch.is_grad_enabled())
            torch.set_grad_enabled(not torch.is_grad_enabled())
            return t * 2

        forward_ad = torch.autograd.forward_ad
        with forward_ad.dual_level():
            x = forward_ad.make_dual(constant(torch), tangent(torch))
            Mine = function(torch, square, jvp=jvp)
            with torch.no_grad():
                outputs = Mine.apply(x), Mine.apply(x)
            outputs = (*outputs, Mine.apply(x), Mine.apply(constant(torch)))
            with forward_ad._set_fwd_grad_enabled(False):
                outputs = (*outputs, Mine.apply(x))
            return [parts(torch, outputs), seen[0], torch.is_grad_enabled()]

    def run(torch):
        try:
            return program(torch)
        finally:
            torch.set_grad_enabled(True)

    agree(run)


def test_reverse_over_forward():
    def program(torch):
        forward_ad = torch.autograd.forward_ad
        with forward_ad.dual_level():
            p = constant(torch).requires_grad_()
            x = forward_ad.make_dual(p, tangent(torch))
            y = function(torch, square, lambda ctx, g: 2 * g * ctx.x, jvp=square_jvp).apply(x)
            t = forward_ad.unpack_dual(y).tangent
            return [t.detach(), torch.autograd.grad(t.sum(), p)]

    agree(program)


def test_forward_over_reverse():
    def program(torch):
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            return x**3

        forward_ad = torch.autograd.forward_ad
        with forward_ad.dual_level():
            p = constant(torch).requires_grad_()
            y = function(
                torch, forward, lambda ctx, g: 3 * g * ctx.saved_tensors[0] ** 2,
                jvp=lambda ctx, t: 3 * t * ctx.saved_tensors[0] ** 2,
            ).apply(forward_ad.make_dual(p, tangent(torch)))  # fmt: skip
            (g,) = torch.autograd.grad(y.sum(), p)
            return parts(torch, g)

    agree(program)
