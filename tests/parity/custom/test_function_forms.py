"""Custom functions on both: the ways to write and to call one, and what is said of an incomplete one."""

import warnings

import pytest
from custom import double, function, gradients, same_gradient
from harness import agree, attempt, leaf, warned

pytestmark = pytest.mark.parity

# -- other ways to write a function ------------------------------------------------------------------------------------


def split(torch, forward, setup, backward=same_gradient, **more):
    return function(torch, forward, backward, setup_context=setup, **more)


def test_setup_context():
    def program(torch):
        account = []

        def setup(ctx, inputs, output):
            account.extend([type(inputs).__name__, inputs, output, output.grad_fn, torch.is_grad_enabled()])
            ctx.save_for_backward(inputs[0], output)
            ctx.k = inputs[1]
            account.extend([ctx.needs_input_grad, ctx.saved_tensors])
            return "ignored"

        def backward(ctx, g):
            x, out = ctx.saved_tensors
            return g * x * ctx.k + out, None

        Mine = split(torch, lambda x, k=3: x * k, setup, backward)
        x = leaf(torch)
        first = gradients(Mine.apply(x), x)
        return [first, gradients(Mine.apply(k=2, x=x), x), Mine.apply(torch.ones(1), 5), account]

    agree(program)


SETUP_ERRORS = {
    "an input returned as it is and saved": lambda torch, x: split(
        torch, lambda x: x, lambda ctx, inputs, out: ctx.save_for_backward(*inputs)
    ).apply(x),
    "the same without grad": lambda torch, x: split(
        torch, lambda x: x, lambda ctx, inputs, out: ctx.save_for_backward(*inputs)
    ).apply(x.detach()),
    "a dirty input saved": lambda torch, x: split(
        torch, lambda x: x.mul_(2), lambda ctx, i, out: (ctx.mark_dirty(*i), ctx.save_for_backward(*i))
    ).apply(x.clone()),
    "setup_context raises": lambda torch, x: split(torch, lambda x: x, lambda ctx, i, out: 1 / 0).apply(x),
    "a forward with ctx": lambda torch, x: split(torch, lambda ctx, x: x, lambda ctx, i, out: None).apply(x),
    "several outputs": lambda torch, x: split(
        torch, lambda x: (x * 2, 3), lambda ctx, i, out: setattr(ctx, "out", type(out).__name__)
    ).apply(x),
}


@pytest.mark.parametrize("action", SETUP_ERRORS.values(), ids=SETUP_ERRORS.keys())
def test_setup_context_refuses(action):
    agree(lambda torch: attempt(lambda: action(torch, leaf(torch))))


def test_class_methods():
    def program(torch):
        account = []

        class Mine(torch.autograd.Function):
            @classmethod
            def forward(cls, ctx, x, k=4):
                account.append([cls.__name__, k])
                return x * 2

            @classmethod
            def backward(cls, ctx, g):
                account.append(cls.__name__)
                return g * 2

        class Split(Mine):
            @classmethod
            def forward(cls, x, k=4):
                return x * k

            @classmethod
            def setup_context(cls, ctx, inputs, output):
                account.append([cls.__name__, inputs[1]])

            @classmethod
            def backward(cls, ctx, g):
                return g * 3, None

        x = leaf(torch)
        return [gradients(Mine.apply(x), x), gradients(Split.apply(x), x), gradients(Split.apply(x, k=2), x), account]

    agree(program)


def with_rest(ctx, x, y=3, *rest):
    return x * y


def keyword_only(ctx, x, *, z=1):
    return x * z


def two_defaults(ctx, x, k=2, j=3):
    return x * k * j


KEYWORDS = {
    "x": lambda F, x: F.apply(x=x),
    "the last of two": lambda F, x: F.apply(x, j=4),
    "k": lambda F, x: F.apply(x, k=4),
    "y": lambda F, x: F.apply(x, y=4),
    "in another order": lambda F, x: F.apply(y=4, k=4, x=x),
    "twice": lambda F, x: F.apply(x, x=4),
    "unknown": lambda F, x: F.apply(x, z=4),
    "too many": lambda F, x: F.apply(x, 2, 3, 4, 5, k=4),
    "ctx": lambda F, x: F.apply(x, ctx=4),
    "nothing": lambda F, x: F.apply(),
    "without the first": lambda F, x: F.apply(y=4),
}


@pytest.mark.parametrize("call", KEYWORDS.values(), ids=KEYWORDS.keys())
@pytest.mark.parametrize("forward", [two_defaults, keyword_only, with_rest], ids=lambda f: f.__name__)
def test_keyword_arguments(forward, call):
    def program(torch):
        result = attempt(lambda: call(function(torch, forward, same_gradient), leaf(torch)))
        return [result, result.grad_fn.needs_input_grad] if isinstance(result, torch.Tensor) else result

    agree(program)


SPLIT_KEYWORDS = {
    "a default": lambda F, x: F.apply(x),
    "by keyword": lambda F, x: F.apply(x, y=3),
    "all by keyword": lambda F, x: F.apply(y=3, x=x),
    "too many": lambda F, x: F.apply(x, 3, 4),
    "too few": lambda F, x: F.apply(),
    "unknown": lambda F, x: F.apply(x, z=3),
}


@pytest.mark.parametrize("call", SPLIT_KEYWORDS.values(), ids=SPLIT_KEYWORDS.keys())
def test_keyword_arguments_with_setup_context(call):
    def program(torch):
        seen = []
        Mine = split(torch, lambda x, y=1: x * y, lambda ctx, inputs, out: seen.append(inputs))
        return [attempt(lambda: call(Mine, leaf(torch))), seen]

    agree(program)


def test_keyword_only_arguments_with_setup_context():
    def program(torch):
        Mine = split(torch, lambda x, *, z: x * z, lambda ctx, inputs, out: None)
        return [attempt(lambda: Mine.apply(leaf(torch), z=3)), attempt(lambda: Mine.apply(leaf(torch)))]

    agree(program)


def test_vjp_is_another_name_of_backward():
    def program(torch):
        Mine = function(torch, double, vjp=lambda ctx, g: g * 7)
        Both = type("Both", (Mine,), {"backward": staticmethod(same_gradient)})
        x = leaf(torch)
        return [gradients(Mine.apply(x), x), attempt(lambda: gradients(Both.apply(x), x)), Mine.apply(x)]

    agree(program)


INCOMPLETE = {
    "no forward": lambda torch, x: type("Mine", (torch.autograd.Function,), {}).apply(x),
    "no backward": lambda torch, x: function(torch, double).apply(x).sum().backward(),
    "forward of Function": lambda torch, x: torch.autograd.Function.forward(1, 2),
    "backward of Function": lambda torch, x: torch.autograd.Function.backward(1, 2),
    "vjp of Function": lambda torch, x: torch.autograd.Function.vjp(1, 2),
    "jvp of Function": lambda torch, x: torch.autograd.Function.jvp(1, 2),
    "setup_context of Function": lambda torch, x: torch.autograd.Function.setup_context(1, 2, 3),
    "vmap of Function": lambda torch, x: torch.autograd.Function.vmap(1, 2, 3),
    "generate_vmap_rule": lambda torch, x: [
        torch.autograd.Function.generate_vmap_rule, function(torch, double, generate_vmap_rule=True).generate_vmap_rule,
        torch.autograd.Function.clear_saved_tensors_on_access, torch.autograd.Function.boxed_grads_call,
    ],
    "backward that raises": lambda torch, x: function(torch, double, lambda ctx, g: 1 / 0).apply(x).sum().backward(),
    "forward that raises": lambda torch, x: function(torch, lambda ctx, x: {}["key"]).apply(x),
    "too few arguments": lambda torch, x: function(torch, lambda ctx, x, y: x).apply(x),
    "to_save is a list": lambda torch, x: function(torch, lambda ctx, x: setattr(ctx, "to_save", [x])).apply(x),
    "to_save is deleted": lambda torch, x: function(torch, lambda ctx, x: (delattr(ctx, "to_save"), x * 2)[1]).apply(x),
    "dirty_tensors is a list": lambda torch, x: function(
        torch, lambda ctx, x: setattr(ctx, "dirty_tensors", [x])
    ).apply(x),
    "non_differentiable is a list": lambda torch, x: function(
        torch, lambda ctx, x: setattr(ctx, "non_differentiable", [x])
    ).apply(x),
    "a number is marked dirty": lambda torch, x: function(torch, lambda ctx, x: ctx.mark_dirty(1)).apply(x),
    "a number is marked non-differentiable": lambda torch, x: function(
        torch, lambda ctx, x: ctx.mark_non_differentiable(1)
    ).apply(x),
    "a number is saved for forward": lambda torch, x: function(
        torch, lambda ctx, x: ctx.save_for_forward(x, 1)
    ).apply(x),
    "the names": lambda torch, x: sorted(torch.autograd.function.__all__),
}  # fmt: skip


@pytest.mark.parametrize("action", INCOMPLETE.values(), ids=INCOMPLETE.keys())
def test_messages(action):
    agree(lambda torch: attempt(lambda: action(torch, leaf(torch))))


def test_legacy_functions():
    def program(torch):
        Mine = function(torch, double, same_gradient)
        Inplace = type("Inplace", (torch.autograd.function.InplaceFunction,), {"forward": staticmethod(double)})
        warnings_given = [warned(Mine)[0][0], warned(lambda: Inplace(True))[0][0]]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            x = leaf(torch)
            called = attempt(lambda: Mine()(x))
            inplace = Inplace(True).inplace
        Nested = type(
            "Nested", (torch.autograd.function.NestedIOFunction,),
            {"forward": staticmethod(double), "backward": staticmethod(same_gradient)},
        )  # fmt: skip
        return [warnings_given, called, inplace, Inplace.apply(x), gradients(Nested.apply(x), x)]

    agree(program)
