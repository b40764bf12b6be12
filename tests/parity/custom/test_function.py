"""Custom functions on both: what backward and forward may return, what ctx offers, what is saved."""

from collections import namedtuple

import pytest
from custom import double, function, gradients, recorder, same_gradient
from harness import agree, attempt, leaf, same_error, warned

pytestmark = pytest.mark.parity

# -- what backward returns ---------------------------------------------------------------------------------------------

RETURNS = {
    "a gradient": lambda torch, g: g * 2,
    "None": lambda torch, g: None,
    "a gradient and further Nones": lambda torch, g: (g, None, None),
    "too many": lambda torch, g: (g, g),
    "nothing": lambda torch, g: (),
    "a gradient that is broadcast": lambda torch, g: torch.ones(2, 3),
    "a gradient that is broadcast more": lambda torch, g: torch.ones(2, 1, 4, 3),
    "another shape": lambda torch, g: torch.ones(2),
    "too small a shape": lambda torch, g: torch.ones(1),
    "no dimensions": lambda torch, g: torch.ones(()),
    "another dtype": lambda torch, g: g.double(),
    "integers": lambda torch, g: g.long(),
    "bools": lambda torch, g: g > 0,
    "complex numbers": lambda torch, g: g + 1j,
    "a number": lambda torch, g: 1.0,
    "a string": lambda torch, g: "gradient",
    "a list": lambda torch, g: [g],
    "an empty tensor": lambda torch, g: torch.ones(0),
    "a tensor that requires grad": lambda torch, g: torch.ones(3, requires_grad=True),
    "the gradient that it got": lambda torch, g: g,
}


@pytest.mark.parametrize("returned", RETURNS.values(), ids=RETURNS.keys())
def test_backward_returns(returned):
    def program(torch):
        Mine = function(torch, double, lambda ctx, g: returned(torch, g))
        x = leaf(torch)
        return attempt(lambda: gradients(Mine.apply(x), x))

    agree(program)


SEVERAL = {
    "one for each": lambda g: (g * 2, g * 3, None),
    "only the first": lambda g: g,
    "too few": lambda g: (g, g),
    "one for a number": lambda g: (g, g, g),
    "a wrong one in second place": lambda g: (g, g[:2], None),
    "None in first place": lambda g: (None, g, None),
    "as a list": lambda g: [g, g, None],
}


@pytest.mark.parametrize("returned", SEVERAL.values(), ids=SEVERAL.keys())
@pytest.mark.parametrize("second", [True, False], ids=["both require grad", "one requires grad"])
def test_backward_returns_several(returned, second):
    def program(torch):
        Mine = function(torch, lambda ctx, x, y, k: x * y * k, lambda ctx, g: returned(g))
        x, y = leaf(torch), leaf(torch).detach().requires_grad_(second)
        return attempt(lambda: gradients(Mine.apply(x, y, 2), x, y))

    agree(program)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("returned", ["float32", "int64", "complex64"])
def test_gradients_are_cast(dtype, returned):
    def program(torch):
        Mine = function(torch, double, lambda ctx, g: torch.ones(3, dtype=getattr(torch, returned)))
        x = torch.ones(3, dtype=getattr(torch, dtype), requires_grad=True)
        return attempt(lambda: gradients(Mine.apply(x).abs(), x))

    agree(program)


# -- what forward returns ----------------------------------------------------------------------------------------------

Pair = namedtuple("Pair", "first second")

OUTPUTS = {
    "two tensors": lambda torch, x: (x * 2, x * 3),
    "a tuple of one": lambda torch, x: (x * 2,),
    "a list": lambda torch, x: [x * 2, x * 3],
    "a named tuple": lambda torch, x: Pair(x * 2, x * 3),
    "None": lambda torch, x: None,
    "a string": lambda torch, x: "no tensor",
    "an empty tuple": lambda torch, x: (),
    "a mixture": lambda torch, x: (x * 2, None, "text", 3, True, [x], x * 3),
    "integers": lambda torch, x: (x.long(), x * 2, x > 1),
    "only integers": lambda torch, x: x.long(),
    "the same twice": lambda torch, x: (lambda y: (y, y))(x * 2),
    "the input": lambda torch, x: x,
    "the input twice": lambda torch, x: (x, x),
    "the input and another": lambda torch, x: (x * 2, x),
    "a view": lambda torch, x: (x * 2).view(3, 1),
    "detached": lambda torch, x: x.detach(),
    "a constant": lambda torch, x: torch.ones(2),
    "complex numbers": lambda torch, x: x + 1j,
    "a nested tuple": lambda torch, x: ((x * 2, x * 3), x * 4),
}


@pytest.mark.parametrize("forward", OUTPUTS.values(), ids=OUTPUTS.keys())
@pytest.mark.parametrize("recorded", [True, False], ids=["recorded", "not recorded"])
def test_forward_returns(forward, recorded):
    def program(torch):
        seen, backward = recorder()
        Mine = function(torch, lambda ctx, x: forward(torch, x), backward)
        x = leaf(torch)
        with torch.set_grad_enabled(recorded):
            outputs = Mine.apply(x)
        tensors = outputs if isinstance(outputs, (tuple, list)) else [outputs]
        tensors = [out for out in tensors if isinstance(out, torch.Tensor)]
        account = [outputs, [[out.output_nr, out._is_view(), out is x, out.is_leaf, out._version] for out in tensors]]
        account += [[one is other for one in tensors for other in tensors], x._version]
        nodes = [out.grad_fn for out in tensors if out.grad_fn is not None]
        account += [[[node.name(), type(node).__name__, len(node._input_metadata)] for node in nodes]]
        if nodes:
            torch.autograd.backward(next(out for out in tensors if out.requires_grad).abs().sum())
        return [*account, seen]

    agree(program)


def non_differentiable(count):
    """A forward with two outputs, of which the last ``count`` are not differentiable."""

    def forward(ctx, x):
        outputs = x * 2, x * 3
        ctx.mark_non_differentiable(*outputs[2 - count :])
        return outputs

    return forward


def input_non_differentiable(ctx, x):
    ctx.mark_non_differentiable(x)
    return x, x * 2


def without_zeros(ctx, x):
    ctx.set_materialize_grads(False)
    return x * 2, x * 3, x > 1, None


def without_zeros_for_constants(ctx, x):
    ctx._materialize_non_diff_grads = False
    return x * 2, x * 3, x > 1, None


MISSING = {
    "one is not differentiable": non_differentiable(1),
    "none is differentiable": non_differentiable(2),
    "an input is not differentiable": input_non_differentiable,
    "unused outputs get zeros": lambda ctx, x: (x * 2, x * 3, x > 1, None),
    "unused outputs get None": without_zeros,
    "outputs that are not differentiable get None": without_zeros_for_constants,
    "zeros of other shapes and dtypes": lambda ctx, x: (x * 2, x.double()[:2], x.sum(), x.long()),
}


@pytest.mark.parametrize("forward", MISSING.values(), ids=MISSING.keys())
@pytest.mark.parametrize("used", [0, 1])
def test_gradients_that_do_not_arrive(forward, used):
    def program(torch):
        seen, backward = recorder()
        x = leaf(torch)
        out = function(torch, forward, backward).apply(x)[used]
        account = [out, out.is_leaf, x.requires_grad]
        if out.requires_grad:
            out.sum().backward()
        return [*account, seen, x.grad]

    agree(program)


# -- what ctx offers ---------------------------------------------------------------------------------------------------


def context(program):
    """A program from a function of (torch, ctx, x) that runs in forward and in backward and tells what it saw."""

    def run(torch):
        account = []

        def forward(ctx, x, *rest):
            account.append(attempt(lambda: program(torch, ctx, x)))
            return x * 2

        def backward(ctx, g):
            account.append(attempt(lambda: program(torch, ctx, g)))
            return (g, *[None] * (len(ctx.needs_input_grad) - 1))

        Mine = function(torch, forward, backward)
        x = leaf(torch)
        y = Mine.apply(x, None, torch.ones(1), "text")
        account.append(attempt(lambda: program(torch, y.grad_fn, x)))
        y.sum().backward()
        account.append(attempt(lambda: program(torch, y.grad_fn, x)))
        Mine.apply(x.detach(), 2)
        with torch.no_grad():
            Mine.apply(x, 2)
        return account

    return run


def keep(torch, ctx, x):
    """Set an attribute, once."""
    if not hasattr(ctx, "kept"):
        ctx.kept, ctx.shape, ctx.saved, ctx.input = x, x.shape, "saved", 3
    return [ctx.kept, list(ctx.shape), ctx.saved, ctx.input, sorted(vars(ctx))]


CONTEXT = {
    "needs_input_grad": lambda torch, ctx, x: ctx.needs_input_grad,
    "next_functions": lambda torch, ctx, x: [[type(node).__name__, nr] for node, nr in ctx.next_functions],
    "name": lambda torch, ctx, x: [ctx.name(), type(ctx).__name__, repr(ctx).split(" object")[0]],
    "the class of its base": lambda torch, ctx, x: [
        isinstance(ctx, torch.autograd.function.BackwardCFunction),
        isinstance(ctx, torch.autograd.function.FunctionCtx),
        ctx._forward_cls.__name__,
        ctx._forward_cls._backward_cls is type(ctx),
    ],
    "saved_tensors": lambda torch, ctx, x: ctx.saved_tensors,
    "saved_for_forward": lambda torch, ctx, x: ctx.saved_for_forward,
    "to_save": lambda torch, ctx, x: [ctx.to_save, ctx.dirty_tensors, ctx.non_differentiable],
    "_raw_saved_tensors": lambda torch, ctx, x: len(ctx._raw_saved_tensors),
    "materialize_grads": lambda torch, ctx, x: ctx.materialize_grads,
    "_materialize_non_diff_grads": lambda torch, ctx, x: ctx._materialize_non_diff_grads,
    "metadata": lambda torch, ctx, x: dict(ctx.metadata),
    "requires_grad": lambda torch, ctx, x: ctx.requires_grad,
    "_input_metadata": lambda torch, ctx, x: len(ctx._input_metadata),
    "the grad mode": lambda torch, ctx, x: torch.is_grad_enabled(),
    "calling it": lambda torch, ctx, x: ctx(x),
    "attributes of one's own": keep,
    "set next_functions": lambda torch, ctx, x: attempt(lambda: setattr(ctx, "next_functions", ()))[1],
    "set saved_tensors": lambda torch, ctx, x: attempt(lambda: setattr(ctx, "saved_tensors", ()))[1],
    "set needs_input_grad": lambda torch, ctx, x: [setattr(ctx, "needs_input_grad", "1234"), ctx.needs_input_grad],
    "set materialize_grads to a number": lambda torch, ctx, x: ctx.set_materialize_grads(1),
    "an attribute that it has not": lambda torch, ctx, x: ctx.nothing,
}


@pytest.mark.parametrize("program", CONTEXT.values(), ids=CONTEXT.keys())
def test_context(program):
    agree(context(program))


def test_an_attribute_called_name():
    def program(torch):
        def forward(ctx, x):
            ctx.name = "mine"
            y = x * 2
            ctx.save_for_backward(y)
            return y

        y = function(torch, forward, lambda ctx, g: ctx.saved_tensors and g).apply(leaf(torch))
        y.add_(1)
        return [y.grad_fn.name(), attempt(lambda: y.grad_fn.next_functions[0][0].saved_tensors)]

    agree(program)


# -- saved tensors -----------------------------------------------------------------------------------------------------


def saves(*pick):
    """A program: forward saves what the functions of (torch, x, output) pick; backward tells what it finds."""

    def program(torch):
        seen = []

        def forward(ctx, x):
            out = x.exp()
            ctx.save_for_backward(*[choose(torch, x, out) for choose in pick])
            return out

        def backward(ctx, g):
            saved = ctx.saved_tensors
            seen.append([saved, [None if t is None else [t.is_leaf, t.output_nr] for t in saved]])
            seen.append([t is not None and t.grad_fn is ctx for t in saved])
            return g

        x = leaf(torch)
        results = []
        for given in (x, x * 1):
            y = attempt(lambda given=given: function(torch, forward, backward).apply(given))
            results.append(y)
            if isinstance(y, torch.Tensor):
                y.sum().backward(retain_graph=True)
                y.sum().backward()
                results += [attempt(lambda y=y: y.sum().backward()), attempt(lambda y=y: y.grad_fn.saved_tensors)]
        return [*results, seen, attempt(lambda: function(torch, forward, backward).apply(torch.ones(2)))]

    return program


SAVED = {
    "an input": saves(lambda torch, x, out: x),
    "the output": saves(lambda torch, x, out: out),
    "an intermediate": saves(lambda torch, x, out: x * 5),
    "None": saves(lambda torch, x, out: None),
    "all of them": saves(lambda torch, x, out: x, lambda *_: None, lambda torch, x, out: out, lambda t, x, o: o + 1),
    "the same twice": saves(lambda torch, x, out: x, lambda torch, x, out: x),
    "nothing": saves(),
    "integers": saves(lambda torch, x, out: x.long()),
    "a number": saves(lambda torch, x, out: 1),
    "a string in second place": saves(lambda torch, x, out: None, lambda torch, x, out: "text"),
    "a list": saves(lambda torch, x, out: [x]),
    "a view": saves(lambda torch, x, out: (x * 5).view(3, 1)),
    "the output detached": saves(lambda torch, x, out: out.detach()),
}


@pytest.mark.parametrize("program", SAVED.values(), ids=SAVED.keys())
def test_saved(program):
    agree(program)


def test_saving_twice_keeps_the_last():
    def program(torch):
        def forward(ctx, x):
            ctx.save_for_backward(x, x)
            ctx.save_for_backward(x * 3)
            return x * 2

        x = leaf(torch)
        return gradients(function(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(x), x)

    agree(program)


WRITES = {
    "to the input": lambda x, out: x.add_(1),
    "to the output": lambda x, out: out.add_(1),
    "to what shares the input's data": lambda x, out: x.detach().add_(1),
    "to the output's alias": lambda x, out: out.detach().add_(1),
    "through data": lambda x, out: x.data.add_(1),
    "to both": lambda x, out: (x.add_(1), out.mul_(2)),
    "history of the input is cut": lambda x, out: x.detach_(),
    "of nothing": lambda x, out: None,
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
@pytest.mark.parametrize("saved", [0, 1], ids=["input saved", "output saved"])
def test_saved_and_written_to(write, saved):
    def program(torch):
        def forward(ctx, x):
            out = x.exp()
            ctx.save_for_backward((x, out)[saved])
            return out

        x = leaf(torch)
        z = x * 1
        y = function(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(z)
        s = y.sum()
        write(z, y)
        message = attempt(lambda: gradients(s, x))
        return [message[:2], message[2].split("\n\nWhere")[0]] if message[0] == "raised" else message

    agree(program)


def test_saved_variables():
    def program(torch):
        y = function(torch, lambda ctx, x: (ctx.save_for_backward(x), x * 2)[1], same_gradient).apply(leaf(torch))
        return warned(lambda: y.grad_fn.saved_variables)

    agree(program)


def test_shared_storage_is_deprecated():
    agree(
        lambda torch: warned(
            lambda: function(torch, lambda ctx, x: (ctx.mark_shared_storage((x, x)), x * 2)[1]).apply(leaf(torch))
        )
    )


def test_raw_saved_tensors_take_hooks():
    def program(torch):
        def forward(ctx, x):
            out = x * 3
            ctx.save_for_backward(x, None, out)
            return out

        x = leaf(torch)
        seen = []
        y = function(torch, forward, lambda ctx, g: (seen.append(ctx.saved_tensors), g)[1]).apply(x)
        raw = y.grad_fn._raw_saved_tensors
        raw[0].register_hooks(lambda t: t * 10, lambda t: t)
        raw[2].register_hooks(lambda t: [t], lambda kept: kept[0])
        account = [
            [type(item).__name__ for item in raw],
            attempt(lambda: raw[1].register_hooks(lambda t: t, lambda t: t)),
            attempt(lambda: raw[0].register_hooks(lambda t: t, lambda t: t)),
        ]
        y.sum().backward()
        return [account, seen]

    agree(program)


def test_saved_tensors_hooks_reach_what_is_saved():
    def program(torch):
        def forward(ctx, x):
            out = x * 3
            ctx.save_for_backward(x, out, None)
            return out

        events = []
        x = leaf(torch)

        def pack(t):
            events.append(["pack", t, t.is_leaf])
            return t * 2

        def unpack(t):
            events.append(["unpack", t])
            return t

        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            y = function(torch, forward, lambda ctx, g: (events.append(ctx.saved_tensors), g)[1]).apply(x)
        y.sum().backward()
        return [events, x.grad]

    agree(program)


def test_saved_tensors_that_can_be_read_once():
    def program(torch):
        account = []

        def backward(ctx, g):
            account.extend([ctx.saved_tensors, attempt(lambda: ctx.saved_tensors), len(ctx._raw_saved_tensors)])
            return g

        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        x = leaf(torch)
        Mine = function(torch, forward, backward, clear_saved_tensors_on_access=True)
        return [gradients(Mine.apply(x), x), account]

    agree(program)


def test_clearing_saved_tensors():
    def program(torch):
        account = []

        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        def backward(ctx, g):
            account.extend([ctx.maybe_clear_saved_tensors(), attempt(lambda: ctx.saved_tensors)])
            return g

        y = function(torch, forward, backward).apply(leaf(torch))
        account.extend([y.grad_fn.maybe_clear_saved_tensors(), y.grad_fn.saved_tensors])
        y.sum().backward(retain_graph=True)
        y.sum().backward()
        return [[item[:2], item[2].split("\n\nWhere")[0]] if isinstance(item, list) else item for item in account]

    agree(program)


def test_gradients_in_a_list():
    def program(torch):
        seen, backward = recorder()
        Mine = function(torch, lambda ctx, x: (x * 2, x * 3), backward, boxed_grads_call=True)
        y, _ = Mine.apply(leaf(torch))
        y.sum().backward()
        return [seen, attempt(lambda: y.grad_fn.apply(1, 2)), seen]

    agree(program)


def test_programs_differ_where_they_should():
    """The comparison can fail: a wrong gradient is seen."""
    with pytest.raises(AssertionError):
        agree(lambda torch: gradients(function(torch, double, lambda ctx, g: g * len(torch.__version__)).apply(
            x := leaf(torch)), x))  # fmt: skip


def test_gradients_of_another_dtype_raise_alike():
    def program(torch):
        x = leaf(torch)
        function(torch, double, lambda ctx, g: g * 1j).apply(x).sum().backward()

    same_error(program)
