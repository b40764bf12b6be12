"""How long graphs live: what goes when the last reference goes, without the garbage collector, and what needs it."""

import contextlib
import gc
import weakref

import pytest
from harness import agree, leaf

PROGRAMS = []
CHAIN = 20_000
"""Nodes in a row: a recursion over them would not end well."""


def program(function):
    """Put a program into the table."""
    PROGRAMS.append(function)
    return function


class Tag:
    """Something to watch: it lives as long as what it is attached to."""


def tag(holder, references):
    """Attach a tag to a tensor or to the metadata of a node; note a weak reference to it."""
    mark = Tag()
    if hasattr(holder, "metadata"):
        holder.metadata["tag"] = mark
    else:
        holder.tag = mark
    references.append(weakref.ref(mark))


def alive(references):
    return [reference() is not None for reference in references]


def doubling(torch):
    class Double(torch.autograd.Function):
        """Doubles; saves its input."""

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    return Double


# -- without the collector ---------------------------------------------------------------------------------------------


@program
def nodes_go_with_the_output(torch):
    x, references = leaf(torch, 1.0, 2.0), []
    a = x * 2
    b = a.exp()
    c = b.sum()
    for node in (a.grad_fn, b.grad_fn, c.grad_fn):
        tag(node, references)
    del node
    seen = [alive(references)]
    del a
    seen.append(alive(references))
    del b, c
    return seen, alive(references)


@program
def a_node_keeps_its_successors(torch):
    x, references = leaf(torch, 1.0, 2.0), []
    out = (x * 2).sum()
    tag(out.grad_fn.next_functions[0][0], references)
    node = out.grad_fn
    del out
    seen = alive(references)
    del node
    return seen, alive(references)


@program
def saved_tensors_go_at_backward(torch):
    x, references = leaf(torch, 1.0, 2.0), []
    a = x * 2
    tag(a, references)
    out = (a * a).sum()
    del a
    seen = [alive(references)]
    out.backward()
    return seen, alive(references)


@program
def saved_tensors_stay_while_the_graph_is_kept(torch):
    x, references = leaf(torch, 1.0, 2.0), []
    a = x * 2
    tag(a, references)
    out = (a * a).sum()
    del a
    out.backward(retain_graph=True)
    seen = [alive(references)]
    del out
    return seen, alive(references)


@program
def what_a_looked_at_output_leaves(torch):
    x, references = leaf(torch, 1.0, 2.0), []
    y = x.exp()
    tag(y.grad_fn, references)
    saved = y.grad_fn._saved_result
    raw = y.grad_fn._raw_saved_result
    del y
    seen = [alive(references)]
    del saved, raw
    return seen, alive(references)


@program
def hooks_go_with_the_graph(torch):
    class Hook(Tag):
        def __call__(self, *grads):
            return None

    x, references = leaf(torch, 1.0, 2.0), []
    y = x * 2
    for register in (y.register_hook, y.grad_fn.register_hook, y.grad_fn.register_prehook):
        hook = Hook()
        references.append(weakref.ref(hook))
        register(hook)
    del hook, register
    y.sum().backward()
    seen = [alive(references)]
    del y
    return seen, alive(references)


@program
def closures_of_hooks_go_with_the_graph(torch):
    x, references = leaf(torch, 1.0, 2.0), []

    def forward():
        mark = Tag()
        references.append(weakref.ref(mark))
        y = x * 2
        y.register_hook(lambda grad: (grad, mark)[0])
        return y.sum()

    out = forward()
    out.backward()
    seen = [alive(references)]
    del out
    return seen, alive(references), x.grad


@program
def a_leaf_goes_with_its_last_graph(torch):
    references = []
    x = leaf(torch, 1.0, 2.0)
    tag(x, references)
    out = (x * 2).sum()
    del x
    seen = [alive(references)]
    out.backward()
    seen.append(alive(references))
    del out
    return seen, alive(references)


@program
def retain_grad_keeps_nothing_alive(torch):
    x, references = leaf(torch, 1.0, 2.0), []
    y = x * 2
    y.retain_grad()
    tag(y, references)
    out = y.sum()
    seen = [alive(references)]
    del y
    seen.append(alive(references))
    out.backward()
    return seen, x.grad


@program
def post_accumulate_hooks_keep_nothing_alive(torch):
    references = []
    x = leaf(torch, 1.0, 2.0)
    x.register_post_accumulate_grad_hook(lambda p: None)
    tag(x, references)
    (x * 2).sum().backward()
    seen = [alive(references)]
    del x
    return seen, alive(references)


@program
def a_custom_function_goes_with_its_output(torch):
    double, references = doubling(torch), []
    x = leaf(torch, 1.0, 2.0)
    a = x * 1
    tag(a, references)
    out = double.apply(a)
    tag(out.grad_fn, references)
    del a
    seen = [alive(references)]
    del out
    return seen, alive(references)


@program
def what_a_custom_function_saves_goes_at_backward(torch):
    double, references = doubling(torch), []
    x = leaf(torch, 1.0, 2.0)
    a = x * 1
    tag(a, references)
    out = double.apply(a).sum()
    del a
    out.backward()
    return alive(references), x.grad


@program
def grad_without_create_graph_keeps_nothing(torch):
    x, references = leaf(torch, 1.0, 2.0), []
    a = x * 2
    tag(a.grad_fn, references)
    (g,) = torch.autograd.grad((a * a).sum(), x)
    del a
    return alive(references), g


@program
def a_recorded_gradient_keeps_the_graph(torch):
    x, references = leaf(torch, 1.0, 2.0), []
    a = x * 2
    tag(a.grad_fn, references)
    (g,) = torch.autograd.grad((a * a).sum(), x, create_graph=True)
    del a
    seen = [alive(references)]
    del g
    return seen, alive(references)


@program
def a_failed_backward_keeps_nothing(torch):
    x, references = leaf(torch, 1.0, 2.0), []

    def forward():
        y = x * 2
        tag(y.grad_fn, references)
        y.register_hook(fail)
        return y.sum()

    def fail(grad):
        raise ValueError("no")

    out = forward()
    with contextlib.suppress(ValueError):
        out.backward()
    seen = alive(references)
    del out
    return seen, alive(references)


# -- long chains -------------------------------------------------------------------------------------------------------


def chained(torch, step):
    """The last of a long chain, freed; whether its first node has gone."""
    x, references = leaf(torch, 1.0), []
    y = step(x)
    tag(y.grad_fn, references)
    for _ in range(CHAIN):
        y = step(y)
    seen = alive(references)
    del y
    return seen, alive(references)


@program
def a_long_chain_of_operators(torch):
    return chained(torch, lambda y: y + 1)


@program
def a_long_chain_that_saves(torch):
    return chained(torch, lambda y: y * y)


@program
def a_long_chain_that_saves_results(torch):
    return chained(torch, lambda y: y.tanh())


@program
def a_long_chain_of_functions(torch):
    double = doubling(torch)
    return chained(torch, lambda y: double.apply(y))


@program
def a_long_chain_with_hooks_on_saved_tensors(torch):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: t):
        return chained(torch, lambda y: y.sin())


@program
def a_long_chain_with_skips(torch):
    x, references = leaf(torch, 1.0), []
    before = y = x * 1
    tag(y.grad_fn, references)
    for _ in range(CHAIN // 2):
        before, y = y, before * y + before
    seen = alive(references)
    del before, y
    return seen, alive(references)


@program
def a_long_chain_after_a_backward(torch):
    x, references = leaf(torch, 1.0), []
    y = x * 1
    tag(y.grad_fn, references)
    for _ in range(CHAIN):
        y = y * 1.0
    y.sum().backward()
    seen = alive(references)
    del y
    return seen, alive(references), x.grad


# -- cycles ------------------------------------------------------------------------------------------------------------


def collected(references):
    """Whether they are alive before, and after, a collection."""
    before = alive(references)
    gc.collect()
    return before, alive(references)


@program
def a_cycle_through_ctx(torch):
    class Keep(torch.autograd.Function):
        """Keeps its own output on ctx."""

        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x, references = leaf(torch, 1.0, 2.0), []

    def forward():
        y = Keep.apply(x)
        y.grad_fn.kept = y
        tag(y.grad_fn, references)
        return y

    y = forward()
    seen = [collected(references)]  # reachable: it must survive
    y.sum().backward()
    del y
    return seen, collected(references), x.grad


@program
def a_hook_that_holds_its_output_survives_while_reachable(torch):
    x, references = leaf(torch, 1.0, 2.0), []

    def forward():
        y = x * 2
        tag(y.grad_fn, references)
        y.register_hook(lambda grad: grad * y.detach())
        return y.sum()

    out = forward()
    gc.collect()
    seen = alive(references)
    out.backward()
    return seen, x.grad


@program
def collecting_inside_a_finalizer(torch):
    class Collects(Tag):
        def __del__(self):
            gc.collect()

    x = leaf(torch, 1.0, 2.0)
    y = x * 2
    y.grad_fn.metadata["collects"] = Collects()
    out = y.sum()
    del y
    out.backward()
    del out
    return x.grad


# -- gradients' memory -------------------------------------------------------------------------------------------------


@program
def a_fresh_gradient_is_taken_over(torch):
    x, seen = leaf(torch, 1.0, 2.0), []
    x.register_hook(lambda grad: seen.append(grad.data_ptr()))
    (x * 2).sum().backward()
    return x.grad.data_ptr() == seen[0]


@program
def a_gradient_that_others_hold_is_not_written_to(torch):
    x, y, held = leaf(torch, 1.0, 2.0), leaf(torch, 1.0, 2.0), []
    seed = torch.ones(2)
    x.register_hook(held.append)
    (x + y).backward(seed)
    x.grad.add_(1)
    torch.autograd.backward([x, y], [seed, seed])
    x.grad.mul_(5)
    return seed, held, x.grad, y.grad


@program
def accumulation_keeps_the_object(torch):
    x = leaf(torch, 1.0, 2.0)
    (x * 2).sum().backward()
    grad = x.grad
    (x * 2).sum().backward()
    return x.grad is grad, grad, grad._version


@pytest.mark.usefixtures("no_gc")
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_program(function):
    agree(function)
