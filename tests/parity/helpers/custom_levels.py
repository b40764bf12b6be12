"""What the tests of custom functions inside function transforms share.

The rules are wrong on purpose, and differ: a derivative tells which of them was used.
"""

import forward_mode  # noqa: F401 - for what it does
from custom import function


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


def writer(torch, **attributes):
    """Doubles a tensor in place."""

    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])

    return function(
        torch, lambda x: x.mul_(2), lambda ctx, g: g * 3, setup_context=setup_context, jvp=lambda ctx, t: t.mul_(4),
        **attributes,
    )  # fmt: skip


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
