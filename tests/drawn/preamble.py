"""What the lines of a drawn program may speak of, besides ``torch``. A program is printed with what it uses of this."""

import tapegrad as torch

seen = []


def log(tag, *values):
    """Note what a hook was given, as it is now."""
    seen.append([tag, *[v.detach().clone() if isinstance(v, torch.Tensor) else v for v in values]])


def named(tag, answer=None):
    """A hook that notes what it is given, and answers with a function of the gradient, or nothing."""

    def hook(grad):
        log(tag, grad, grad.requires_grad)
        return None if answer is None else answer(grad)

    return hook


def node_hook(tag):
    """A hook of a node, before it or behind it."""
    return lambda *grads: log(tag, *[grad for group in grads for grad in group])


def around(x):
    """The names of the nodes behind a tensor, three deep."""
    found, nodes = [], [x.grad_fn]
    for _ in range(3):
        found.append([None if node is None else node.name() for node in nodes])
        nodes = [after for node in nodes if node is not None for after, _ in node.next_functions]
    return found


def filled(kind, *settings, **more):
    """A module whose parameters are numbers that can be told apart."""
    module = kind(*settings, **more)
    with torch.no_grad():
        for number, p in enumerate(module.parameters()):
            p.copy_(torch.arange(p.numel()).add(number).mul(1.7).sin().mul(8).round().div(8).reshape(p.shape))
    return module


class Double(torch.autograd.Function):
    """Twice, and says so."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        log("Double", grad)
        return grad * 2


class Product(torch.autograd.Function):
    """The product and the sum of two tensors; the sum has no derivative."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        total = x + y
        ctx.mark_non_differentiable(total)
        return x * y, total

    @staticmethod
    def backward(ctx, grad, grad_total):
        x, y = ctx.saved_tensors
        log("Product", ctx.needs_input_grad, grad, grad_total)
        return (grad * y).sum_to_size(x.shape), (grad * x).sum_to_size(y.shape)


class Cube(torch.autograd.Function):
    """The cube, in the form that function transforms take."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x * x * grad

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return 3 * x * x * tangent


class Shift(torch.autograd.Function):
    """Writes to its argument, and gives it back."""

    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.add_(1)

    @staticmethod
    def backward(ctx, grad):
        return grad * 3


class Pair(torch.autograd.Function):
    """Sine and cosine; gradients that nobody asked for are None."""

    @staticmethod
    def forward(ctx, x, scale):
        ctx.set_materialize_grads(False)
        ctx.scale = scale
        ctx.save_for_backward(x)
        return x.sin() * scale, x.cos()

    @staticmethod
    def backward(ctx, first, second):
        (x,) = ctx.saved_tensors
        log("Pair", first, second)
        total = torch.zeros_like(x)
        if first is not None:
            total = total + first * x.cos() * ctx.scale
        if second is not None:
            total = total - second * x.sin()
        return total, None
