"""Custom functions and views: functions that return views or write to views, and writes to what they return."""

import warnings

import pytest
import torch as pytorch
from custom import function, same_gradient
from harness import agree, attempt
from viewing import chain, counted, gradients, leaf, name, now, place, places

import tapegrad

pytestmark = pytest.mark.parity


def as_many(ctx, *grads):
    """A backward that gives every input the sum of the gradients that are as large, or nothing."""
    return tuple(grads[0] for _ in ctx.needs_input_grad)


def spread(ctx, g):
    """The backward of ``x[:2]`` for three elements."""
    return g.new_zeros(3).index_add(0, ctx.places, g)


def first_two(ctx, x):
    ctx.places = x.new_zeros(2).long()
    ctx.places[1] = 1
    return x[:2]


def written(ctx, x):
    ctx.mark_dirty(x)
    return x.mul_(2)


def written_through_a_view(ctx, x):
    ctx.mark_dirty(x)
    x[:1].mul_(2)
    return x


def written_and_new(ctx, x):
    ctx.mark_dirty(x)
    return x.mul_(2), x + 1


FORWARD = {
    "view": (lambda ctx, x: x.view_as(x), same_gradient),
    "slice": (first_two, spread),
    "identity": (lambda ctx, x: x, same_gradient),
    "new": (lambda ctx, x: x + 0, same_gradient),
    "view of something new": (lambda ctx, x: (x + 0).view(3), same_gradient),
    "detached": (lambda ctx, x: x.detach(), same_gradient),
    "two views": (lambda ctx, x: (x.view_as(x), x.view_as(x)), same_gradient),
    "view and new": (lambda ctx, x: (x.view_as(x), x + 0), same_gradient),
    "view and constant": (lambda ctx, x: (x.view_as(x), x.long()), same_gradient),
    "pieces": (lambda ctx, x: tuple(x.unbind()), lambda ctx, *grads: sum(g for g in grads if g is not None).expand(3)),
    "written": (written, lambda ctx, g: g * 2),
    "written through a view": (written_through_a_view, lambda ctx, g: g * 2),
    "written and new": (written_and_new, same_gradient),
}

INPUTS = {
    "recorded": lambda torch, a: [a * 1],
    "leaf": lambda torch, a: [a],
    "constant": lambda torch, a: [counted(torch, 3)],
    "view": lambda torch, a: viewed(a * 1, lambda x: x.view(1, 3)[0]),
    "view of a leaf": lambda torch, a: viewed(a, lambda x: x[:]),
    "view of a constant": lambda torch, a: viewed(counted(torch, 3), lambda x: x[:]),
    "unbind": lambda torch, a: viewed((a * 1).view(1, 3), lambda x: x.unbind()[0]),
    "in no_grad": lambda torch, a: viewed(a * 1, lambda x: unrecorded(torch, lambda: x[:])),
}

ACTIONS = {
    "nothing": lambda torch, x, out: None,
    "write": lambda torch, x, out: out.mul_(2),
    "write to a view": lambda torch, x, out: out[..., :1].mul_(2),
    "write to the input": lambda torch, x, out: x.mul_(3),
    "write in no_grad": lambda torch, x, out: unrecorded(torch, lambda: out.mul_(2)),
    "write to the input in no_grad": lambda torch, x, out: unrecorded(torch, lambda: x.mul_(2)),
    "detach_": lambda torch, x, out: out.detach_(),
}


def viewed(base, make):
    """A view, and what it is a view of."""
    return [make(base), base]


def unrecorded(torch, action):
    with torch.no_grad():
        return action()


@pytest.mark.parametrize("mode", ["enable_grad", "no_grad"])
@pytest.mark.parametrize("action", ACTIONS.values(), ids=ACTIONS.keys())
@pytest.mark.parametrize("forward", FORWARD.values(), ids=FORWARD.keys())
def test_what_functions_return(forward, action, mode):
    """For every kind of input: what comes out, what an action gives, and the gradients then."""

    def account(torch, given):
        a = leaf(torch)
        x, *base = given(torch, a)

        def call():
            with getattr(torch, mode)():
                out = function(torch, *forward).apply(x)
            return list(out) if isinstance(out, tuple) else [out]

        outputs = attempt(call)
        if outputs[0] == "raised":
            return outputs, places(x, *base)
        known = [x, *base, *outputs]
        seen = [places(*known), [out is x for out in outputs]]
        seen.append(attempt(lambda: action(torch, x, outputs[0]) is not None))
        seen.append(attempt(lambda: places(*known)))
        return seen, attempt(lambda: gradients(torch, [out for out in outputs if out.requires_grad], a))

    def program(torch):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [account(torch, given) for given in INPUTS.values()]

    agree(program)


# -- several inputs ----------------------------------------------------------------------------------------------------


def dirty_first(ctx, x, y):
    ctx.mark_dirty(x)
    return x.add_(y)


def dirty_second(ctx, x, y):
    ctx.mark_dirty(y)
    return y.add_(x)


def dirty_both(ctx, x, y):
    ctx.mark_dirty(x, y)
    return x.mul_(2), y.mul_(3)


def dirty_and_view(ctx, x, y):
    ctx.mark_dirty(x)
    return x.mul_(2), y.view_as(y)


SEVERAL = {
    "dirty first": dirty_first,
    "dirty second": dirty_second,
    "dirty both": dirty_both,
    "dirty and a view": dirty_and_view,
    "view of the first": lambda ctx, x, y: x.view_as(x),
    "view of the second": lambda ctx, x, y: y[:],
    "both as they are": lambda ctx, x, y: (x, y),
}

PAIRS = {
    "two recorded": lambda torch, a, b: (a * 1, b * 1),
    "view and recorded": lambda torch, a, b: ((a * 1)[:], b * 1),
    "recorded and view": lambda torch, a, b: (a * 1, (b * 1)[:]),
    "constant and recorded": lambda torch, a, b: (counted(torch, 3), b * 1),
    "view of a constant and recorded": lambda torch, a, b: (counted(torch, 6)[:3], b * 1),
    "view of a constant and leaf": lambda torch, a, b: (counted(torch, 2, 3)[1], b),
    "parts of one": lambda torch, a, b: torch.unsafe_chunk((a * 1).view(3, 1).expand(3, 2).reshape(-1), 2),
    "views of one": lambda torch, a, b: (lambda x: (x[:3], x[3:]))((a * 1).view(3, 1).expand(3, 2).reshape(-1)),
    "the same": lambda torch, a, b: (lambda x: (x, x))(a * 1),
}


MISTAKEN = [("dirty second", "recorded and view"), ("dirty second", "views of one")]
"""Where PyTorch takes the first input for the view that was written to; see the test below."""

EACH = [
    pytest.param(forward, given, id=f"{key}-{pair}")
    for key, forward in SEVERAL.items()
    for pair, given in PAIRS.items()
    if (key, pair) not in MISTAKEN
]


@pytest.mark.parametrize(("forward", "given"), EACH)
def test_functions_of_several(forward, given):
    def program(torch):
        a, b = leaf(torch), leaf(torch)
        x, y = given(torch, a, b)
        bases = [t._base for t in (x, y) if t._base is not None]

        def call():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                out = function(torch, forward, as_many).apply(x, y)
            return list(out) if isinstance(out, tuple) else [out]

        outputs = attempt(call)
        seen = [outputs[0] == "raised" and outputs, places(x, y, *bases)]
        if outputs[0] == "raised":
            return seen
        seen.append([places(*outputs, x, y, *bases)[: len(outputs)], [chain(out) for out in outputs]])
        return seen, attempt(lambda: gradients(torch, outputs, a, b)), attempt(lambda: gradients(torch, [x, y], a, b))

    agree(program)


def test_gradients_where_the_view_is_not_the_first_input():
    """Those of the same program without views and writes; PyTorch's are wrong then."""

    def both(torch, pair):
        a, b = leaf(torch), leaf(torch)
        x, y = PAIRS[pair](torch, a, b)
        out = function(torch, dirty_second, as_many).apply(x, y)
        expected = function(torch, lambda ctx, x, y: x + y, as_many).apply(*PAIRS[pair](torch, a, b))
        return gradients(torch, out, a, b), gradients(torch, expected, a, b)

    for _, pair in MISTAKEN:
        ours, expected = both(tapegrad, pair)
        assert ours == expected
        theirs, expected = both(pytorch, pair)
        assert theirs != expected


# -- together ----------------------------------------------------------------------------------------------------------


def a_write_to_a_view_and_then_to_its_base(torch):
    a = leaf(torch, 2, 3)
    x = a * 1
    v = x[0]
    function(torch, written, lambda ctx, g: g * 10).apply(v)
    x.mul_(3)
    v.mul_(5)
    return places(x, v), chain(x), gradients(torch, [x, v], a)


def a_function_that_looks_at_its_input(torch):
    """In forward an input is no view, whatever it is outside; nor does anything require grad."""
    seen = []

    def look(ctx, x):
        seen.append(place(x))
        return x * 2

    x = leaf(torch) * 1
    v = x[1:]
    function(torch, look, same_gradient).apply(v)
    x.mul_(2)
    function(torch, look, same_gradient).apply(v)
    return seen


def a_function_of_a_stale_view(torch):
    a = leaf(torch)
    x = a * 1
    v = x[1:]
    x.mul_(2)
    out = function(torch, lambda ctx, x: x * 2, same_gradient).apply(v)
    return chain(out), gradients(torch, out, a)


def a_function_of_a_view_that_must_not_be_used(torch):
    x = leaf(torch) * 1
    v = x.unbind()[0]
    x.mul_(2)
    run = function(torch, lambda ctx, x: x * 2, same_gradient).apply
    return attempt(lambda: run(v)), attempt(lambda: unrecorded(torch, lambda: run(v)))


def versions_of_dirty_views(torch):
    x = leaf(torch, 2, 3) * 1
    v = x[0]

    def mark(ctx, x):
        ctx.mark_dirty(x)
        return x

    def twice(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2).mul_(2)

    seen = []
    for forward in (mark, twice, written_through_a_view):
        function(torch, forward, same_gradient).apply(v)
        seen.append([x._version, v._version])
    return seen, chain(x), now(x, v)


def saved_inputs_that_are_views(torch):
    def save(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    def use(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x

    a = leaf(torch)
    x = a * 1
    v = x[1:]
    first = function(torch, save, use).apply(v)
    seen = gradients(torch, first, a)
    x[0] = 7
    return seen, gradients(torch, first, a)


def saved_views_of_dirty_inputs(torch):
    def save(ctx, x):
        ctx.mark_dirty(x)
        x.mul_(2)
        ctx.save_for_backward(x)
        return x

    def use(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x

    a = leaf(torch)
    x = a * 1
    v = x[1:]
    out = function(torch, save, use).apply(v)
    seen = [chain(out), chain(x), gradients(torch, x, a), gradients(torch, out, a)]
    v.mul_(2)
    return seen, gradients(torch, x, a)


def double_backward_through_dirty_views(torch):
    def cubed(ctx, x):
        ctx.mark_dirty(x)
        ctx.save_for_backward(x.clone())
        return x.pow_(3)

    def use(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x**2

    a = leaf(torch)
    x = a * a
    function(torch, cubed, use).apply(x[1:])
    (g,) = torch.autograd.grad((x * x).sum(), a, create_graph=True)
    return g, name(g), attempt(lambda: gradients(torch, g, a))


def a_pure_view(torch):
    """``_is_pure_view``: a function whose output may be written to as a view."""

    def forward(ctx, x):
        return x.view_as(x)

    pure = function(torch, forward, same_gradient, _is_pure_view=True)
    a = leaf(torch)
    x = a * 1
    v = pure.apply(x)
    seen = [places(x, v), attempt(lambda: now(v.mul_(2))), attempt(lambda: places(x, v))]
    return seen, gradients(torch, [x], a), attempt(lambda: gradients(torch, [v], a))


def views_of_what_a_function_returned(torch):
    a = leaf(torch)
    x = a * 1
    out = function(torch, lambda ctx, x: x.view_as(x), same_gradient).apply(x)
    u = out[1:]
    seen = [places(x, out, u), attempt(lambda: u.mul_(2)), attempt(lambda: x.mul_(2))]
    return seen, [name(t) for t in (x, out, u)], attempt(lambda: gradients(torch, u, a))


def what_is_set_up_afterwards(torch):
    """The form with ``setup_context``, whose forward writes to a view."""

    def forward(x):
        return x.mul_(2)

    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(output)

    run = function(torch, forward, lambda ctx, g: g * 2, setup_context=setup_context).apply
    x = leaf(torch) * 1
    v = x[1:]
    out = run(v)
    return places(x, v), out is v, chain(x)


TOGETHER = [
    a_write_to_a_view_and_then_to_its_base, a_function_that_looks_at_its_input, a_function_of_a_stale_view,
    a_function_of_a_view_that_must_not_be_used, versions_of_dirty_views, saved_inputs_that_are_views,
    saved_views_of_dirty_inputs, double_backward_through_dirty_views, a_pure_view, views_of_what_a_function_returned,
    what_is_set_up_afterwards,
]  # fmt: skip


@pytest.mark.parametrize("program", TOGETHER, ids=lambda program: program.__name__)
def test_together(program):
    agree(program)
