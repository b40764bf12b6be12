"""Custom functions on both: those that return or write to their inputs, and writing to what they return."""

import warnings

import pytest
from custom import function, gradients, same_gradient
from harness import agree, attempt, leaf, warned

pytestmark = pytest.mark.parity

# -- inputs as outputs, and writing to them ----------------------------------------------------------------------------


def write_double(ctx, x):
    x.mul_(2)
    ctx.mark_dirty(x)
    return x


def twice_the_gradient(ctx, g):
    return g * 2


def rewritten(ctx, x, y):
    x.mul_(2)
    ctx.mark_dirty(x)
    return y, x


def marked_but_not_returned(ctx, x):
    ctx.mark_dirty(x)
    return x * 2


def written_but_not_marked(ctx, x):
    x.mul_(2)
    return x


def marked_no_input(ctx, x):
    y = x * 2
    ctx.mark_dirty(y)
    return y


def marked_twice_returned(ctx, x):
    ctx.mark_dirty(x)
    return x, x


def dirty(forward, given, backward=twice_the_gradient, others=()):
    """A program: apply to ``given(leaf)`` and tell how input and outputs relate."""

    def program(torch):
        x = leaf(torch)
        z = given(torch, x)
        more = [leaf(torch) for _ in others]

        def call():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                outputs = function(torch, forward, backward).apply(z, *more)
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            account = [[out, out is z, out.output_nr, out.is_leaf, out._version, out._is_view()] for out in outputs]
            account.append([z, z._version, z.grad_fn and z.grad_fn.name(), outputs[0].grad_fn is z.grad_fn])
            if outputs[0].requires_grad:
                account.append(gradients(outputs, x, *more))
            return account

        return [attempt(call), x.requires_grad]

    return program


DIRTY = {
    "a result": dirty(write_double, lambda torch, x: x.clone()),
    "a leaf": dirty(write_double, lambda torch, x: x),
    "a leaf without grad": dirty(write_double, lambda torch, x: x.detach().clone()),
    "one of two": dirty(rewritten, lambda torch, x: x.clone(), lambda ctx, g, h: (h * 2, g), others="y"),
    "one without grad beside one with": dirty(
        rewritten, lambda torch, x: x.detach().clone(), lambda ctx, g, h: (h * 2, g), others="y"
    ),
    "not returned": dirty(marked_but_not_returned, lambda torch, x: x.clone()),
    "not returned, without grad": dirty(marked_but_not_returned, lambda torch, x: x.detach().clone()),
    "not marked": dirty(written_but_not_marked, lambda torch, x: x.clone()),
    "no input": dirty(marked_no_input, lambda torch, x: x.clone()),
    "returned twice": dirty(marked_twice_returned, lambda torch, x: x.clone(), lambda ctx, g, h: g + h),
}


@pytest.mark.parametrize("program", DIRTY.values(), ids=DIRTY.keys())
def test_mark_dirty(program):
    agree(program)


@pytest.mark.parametrize("program", DIRTY.values(), ids=DIRTY.keys())
def test_mark_dirty_unrecorded(program):
    def unrecorded(torch):
        with torch.no_grad():
            return program(torch)

    agree(unrecorded)


def test_what_is_no_input_warns_when_marked_dirty():
    agree(lambda torch: warned(lambda: function(torch, marked_no_input).apply(leaf(torch))))


def test_several_outputs_and_a_view_written_to():
    def program(torch):
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x, x * 2

        base = leaf(torch).clone()
        return attempt(lambda: function(torch, forward).apply(base[:2]))

    agree(program)


def test_history_goes_on_from_a_dirty_input():
    def program(torch):
        x = leaf(torch)
        z = x * 3
        y = function(torch, write_double, twice_the_gradient).apply(z)
        z = z * z
        names = []
        node = z.grad_fn
        while node is not None:
            names.append(node.name())
            node = node.next_functions[0][0] if node.next_functions else None
        z.sum().backward()
        return [names, y, x.grad]

    agree(program)


def test_hooks_and_retain_grad_of_a_dirty_input():
    def program(torch):
        events = []
        x = leaf(torch)
        z = x * 3
        z.retain_grad()
        z.register_hook(lambda g: events.append(["before", g]))
        function(torch, write_double, twice_the_gradient).apply(z)
        z.register_hook(lambda g: events.append(["after", g]))
        (z * 5).sum().backward()
        return [events, z.grad, x.grad]

    agree(program)


def test_hooks_on_an_input_returned_as_it_is():
    def program(torch):
        events = []
        x = leaf(torch)
        y = function(torch, lambda ctx, x: x, twice_the_gradient).apply(x)
        y.register_hook(lambda g: events.append(["y", g]))
        x.register_hook(lambda g: events.append(["x", g]))
        (y * 3 + x).sum().backward()
        return [events, x.grad, x.is_leaf, y.grad_fn.name()]

    agree(program)


FOREIGN = {
    "a leaf": lambda torch, x: torch.ones(3, requires_grad=True),
    "a result": lambda torch, x: x.clone(),
    "a constant": lambda torch, x: torch.ones(3),
}


@pytest.mark.parametrize("make", FOREIGN.values(), ids=FOREIGN.keys())
@pytest.mark.parametrize("recorded", [True, False], ids=["recorded", "not recorded"])
def test_returning_a_tensor_from_outside(make, recorded):
    def program(torch):
        x = leaf(torch)
        other = make(torch, x)
        given = x if recorded else x.detach()
        y = function(torch, lambda ctx, x: other, same_gradient).apply(given)
        return [y is other, y, other.is_leaf, y.grad_fn and y.grad_fn.name(), y._is_view()]

    agree(program)


IN_PLACE = {
    "a view": (lambda ctx, x: x.view(-1), 0),
    "the input": (lambda ctx, x: x, 0),
    "a view of something new": (lambda ctx, x: (x * 2).view(-1), 0),
    "a view among several": (lambda ctx, x: (x.view(-1), x * 2), 0),
    "the input among several": (lambda ctx, x: (x, x * 2), 0),
    "something new among several": (lambda ctx, x: (x.view(-1), x * 2), 1),
    "something new": (lambda ctx, x: x * 2, 0),
    "a view beside integers": (lambda ctx, x: (x.view(-1), x.long()), 0),
}


@pytest.mark.parametrize(("forward", "which"), IN_PLACE.values(), ids=IN_PLACE.keys())
def test_writing_to_an_output(forward, which):
    def program(torch):
        x = leaf(torch)
        outputs = function(torch, forward, same_gradient).apply(x)
        out = (outputs if isinstance(outputs, tuple) else (outputs,))[which]
        return [attempt(lambda: out.add_(1)), attempt(lambda: gradients(out, x))]

    agree(program)


def test_writing_to_a_view_of_what_does_not_require_grad():
    def program(torch):
        out = function(torch, lambda ctx, x, y: y.view(-1), lambda ctx, g: (g, g)).apply(leaf(torch), torch.ones(3))
        return [attempt(lambda: out.add_(1)), out._is_view()]

    agree(program)


def test_writing_to_an_input_returned_unrecorded():
    def program(torch):
        x = leaf(torch)
        with torch.no_grad():
            y = function(torch, lambda ctx, x: x, same_gradient).apply(x)
        return [y.add_(1), y.is_leaf, y._is_view()]

    agree(program)
