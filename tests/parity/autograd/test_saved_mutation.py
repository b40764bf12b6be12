"""``allow_mutation_on_saved_tensors``: gradients of what tensors were, and the books that the context keeps."""

import weakref

import pytest
from harness import Programs, agree, attempt, leaf

PROGRAMS = program = Programs()


def allow(torch):
    return torch.autograd.graph.allow_mutation_on_saved_tensors()


def counts(context):
    """How many clones, living handles, and versions there are."""
    return [len(list(context.cloned.items())), len(list(context.tid_to_weakhandle.items())), len(context.sid_to_tid)]


@program
def gradients_are_those_of_the_original(torch):
    x = leaf(torch, 1.0, 2.0)
    with allow(torch) as context:
        y = x.clone()
        out = (y**2).sum()
        y.sin_()
        seen = counts(context)
        out.backward()
        return seen, x.grad, y, counts(context)


@program
def without_it_backward_refuses(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x.clone()
    out = (y**2).sum()
    y.sin_()
    return attempt(out.backward)


@program
def convolutions_save_both(torch):
    outcomes = []
    for function in (torch.conv1d, torch.conv_transpose1d):
        for needed in (0, 1):
            given = [torch.ones(1, 2, 5), torch.ones(2, 2, 2)]
            given[needed].requires_grad_()
            given[needed] = given[needed] * 1
            out = function(*given).sum()
            given[needed].detach().add_(1)
            outcomes.append(attempt(out.backward))
    return outcomes


@program
def both_results(torch):
    x = leaf(torch, 1.0, 2.0)
    with allow(torch) as context:
        y = x.clone()
        out = (y**2).sum()
        y.sin_()
        (out + (y * 3).sum()).backward()
        return x.grad, counts(context)


@program
def one_clone_however_often_it_was_saved(torch):
    with allow(torch) as context:
        y = leaf(torch, 1.0, 2.0).clone()
        b, c, d = y**2, y**3, y.sin()
        seen = [counts(context)]
        y.mul_(2)
        seen.append(counts(context))
        del b, c
        seen.append(counts(context))
        del d
        return seen, counts(context)


@program
def one_clone_for_each_version(torch):
    with allow(torch) as context:
        y = leaf(torch, 1.0, 2.0).clone()
        b = y**2
        y.sin_()
        c = y**2
        y.sin_()
        seen = [counts(context)]
        del b
        seen.append(counts(context)[0])
        del c
        return seen, counts(context)[0]


@program
def no_clone_of_what_is_not_saved_any_more(torch):
    with allow(torch) as context:
        y = leaf(torch, 1.0, 2.0).clone()
        out = (y**2).sum()
        seen = [counts(context)]
        out.backward()
        seen.append(counts(context)[:2])
        y.add_(1)
        seen.append(counts(context)[0])
        out = (y**2).sum()
        y.add_(1)
        seen.append(counts(context)[0])
        del out
        return seen, counts(context)[0]


@program
def no_clone_where_nothing_is_saved(torch):
    with allow(torch) as context:
        y = leaf(torch, 1.0, 2.0).clone()
        out = (y + 1).sum()
        y.add_(1)
        return counts(context), torch.autograd.grad(out + y.sum(), y)


@program
def a_write_without_grad(torch):
    x = leaf(torch, 1.0, 2.0)
    with allow(torch) as context:
        out = (x**2).sum()
        with torch.no_grad():
            x.zero_()
        out.backward()
        return x, x.grad, counts(context)


@program
def a_write_through_a_detached_alias(torch):
    x = leaf(torch, 1.0, 2.0)
    with allow(torch) as context:
        y = x.clone()
        out = (y**2).sum()
        y.detach().zero_()
        seen = counts(context)
        out.backward()
        return seen, x.grad, y


@program
def several_inputs_of_one_operator(torch):
    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    with allow(torch) as context:
        a, b = x.clone(), y.clone()
        out = (a * b).sum() + (a * a).sum()
        a.zero_()
        seen = [counts(context)]
        b.zero_()
        seen.append(counts(context))
        out.backward()
        return seen, x.grad, y.grad


@program
def a_saved_result(torch):
    x = leaf(torch, 1.0, 2.0)
    with allow(torch) as context:
        y = x.exp()
        y.mul_(2)
        seen = counts(context)
        y.sum().backward()
        return seen, x.grad


@program
def a_chain_of_writes(torch):
    x = leaf(torch, 1.0, 2.0)
    with allow(torch):
        y = x.clone()
        for _ in range(3):
            y.mul_(y)
            y.sin_()
        y.sum().backward()
        return x.grad


@program
def out_variants(torch):
    x = leaf(torch, 1.0, 2.0)
    with allow(torch) as context:
        y = torch.ones(2)
        out = (x * y).sum()
        torch.sin(torch.zeros(2), out=y)
        seen = counts(context)
        out.backward()
        return seen, y, x.grad


@program
def item_assignment(torch):
    x = leaf(torch, 1.0, 2.0)
    with allow(torch) as context:
        y = x.clone()
        out = (y**2).sum()
        y[0] = 7.0
        seen = counts(context)[0]
        (out + (y**2).sum()).backward()
        return seen, x.grad


@program
def double_backward(torch):
    x = leaf(torch, 1.0, 2.0)
    with allow(torch):
        y = x.clone()
        out = (y**3).sum()
        y.sin_()
        (g,) = torch.autograd.grad(out, x, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
        (k,) = torch.autograd.grad(h.sum(), x)
        return g.tolist(), h.tolist(), k


@program
def writes_between_two_backwards(torch):
    x = leaf(torch, 1.0, 2.0)
    with allow(torch):
        y = x.clone()
        out = (y**3).sum()
        (g,) = torch.autograd.grad(out, x, create_graph=True)
        y.zero_()
        return g.tolist(), torch.autograd.grad(g.sum(), x)


@program
def saved_fields(torch):
    x = leaf(torch, 1.0, 2.0)
    with allow(torch):
        y = x.clone()
        out = y**2
        before = out.grad_fn._saved_self
        y.zero_()
        after = out.grad_fn._saved_self
        return before, after, after.grad_fn is out.grad_fn.next_functions[0][0], after is y


@program
def complex_tensors(torch):
    x = torch.tensor([1.0 + 2.0j, 3.0 - 1.0j], requires_grad=True)
    with allow(torch):
        y = x.clone()
        out = (y * y).abs().sum()
        y.mul_(2j)
        out.backward()
        return x.grad


@program
def backward_outside(torch):
    x = leaf(torch, 1.0, 2.0)
    with allow(torch):
        y = x.clone()
        out = (y**2).sum()
        y.sin_()
    seen = [attempt(out.backward)]
    with allow(torch):
        seen.append(attempt(out.backward))
    return seen, attempt(lambda: out.grad_fn.next_functions[0][0]._saved_self)


@program
def backward_inside_of_a_graph_from_outside(torch):
    x = leaf(torch, 1.0, 2.0)
    out = (x**2).sum()
    with allow(torch):
        out.backward()
    return x.grad


@program
def nesting_is_refused(torch):
    def nest():
        with allow(torch), allow(torch):
            pass

    seen = [attempt(nest)]
    with allow(torch) as context:
        seen.append(type(context.cloned).__name__)
    return seen


@program
def a_context_after_another(torch):
    x = leaf(torch, 1.0, 2.0)
    for _ in range(2):
        with allow(torch) as context:
            y = x.clone()
            out = (y**2).sum()
            y.zero_()
            out.backward()
    return x.grad, counts(context)


@program
def an_error_inside_leaves_no_trace(torch):
    def fail():
        with allow(torch):
            raise ValueError("inside")

    seen = attempt(fail)
    with allow(torch) as context:
        return seen, counts(context), torch._C._autograd._top_saved_tensors_default_hooks(False) is not None


@program
def the_context_is_empty_afterwards(torch):
    x = leaf(torch, 1.0, 2.0)
    with allow(torch) as context:
        y = x.clone()
        out = (y**2).sum()
        y.sin_()
        seen = counts(context)
    return seen, counts(context), out.requires_grad


@program
def a_tensor_that_was_written_is_not_kept(torch):
    class Tag:
        pass

    x = leaf(torch, 1.0, 2.0)
    with allow(torch):
        y = x.clone()
        y.tag = Tag()
        reference = weakref.ref(y.tag)
        out = (y**2).sum()
        other = y.detach()
        del y
        seen = [reference() is not None]
        other.zero_()
        seen.append(reference() is not None)
        out.backward()
    return seen, x.grad


@program
def hooks_and_the_context(torch):
    x, log = leaf(torch, 1.0, 2.0), []
    with allow(torch):
        y = x.clone()
        with torch.autograd.graph.saved_tensors_hooks(lambda t: log.append("pack") or t.detach().clone(), lambda t: t):
            out = (y**2).sum()
        y.zero_()
        out.backward()
    return log, x.grad


# -- views -------------------------------------------------------------------------------------------------------------


@program
def a_view_is_written_to_that_shows_all(torch):
    x = leaf(torch, 1.0, 2.0)
    with allow(torch) as context:
        y = x.clone()
        view = y.view_as(y)
        out = (y**2).sum()
        view.sin_()
        seen = counts(context)
        (out + view.sum() * 3).backward()
        return seen, x.grad, y, view, counts(context)


@program
def a_base_was_saved_and_a_view_is_written_to(torch):
    x = leaf(torch, 1.0, 2.0)
    with allow(torch) as context:
        y = x.clone()
        out = (y**2).sum()
        y[:1].mul_(5)
        seen = counts(context)
        (out + (y**3).sum()).backward()
        return seen, x.grad, y


@program
def a_view_was_saved_and_the_base_is_written_to(torch):
    x = leaf(torch, 1.0, 2.0)
    with allow(torch) as context:
        y = x.clone()
        view = y[:1]
        out = (view**2).sum()
        y.zero_()
        seen = counts(context)
        out.backward()
        return seen, x.grad, view, y


@program
def base_and_view_were_saved(torch):
    x = leaf(torch, 1.0, 2.0)
    with allow(torch) as context:
        y = x.clone()
        view = y[:]
        out = (y**2).sum() + (view**3).sum()
        seen = [counts(context)]
        view.mul_(2)
        seen.append(counts(context))
        out.backward()
        return seen, x.grad


@program
def conjugates_and_writes(torch):
    x = torch.tensor([1.0 + 2j, 3.0 - 1j], requires_grad=True)
    with allow(torch):
        y = x.clone()
        out = (y.conj() ** 2).sum() + (y * y.real).sum()
        y.conj().sin_()
        y.imag.zero_()
        out.abs().backward()
        return x.grad, y


@program
def double_backward_through_views(torch):
    x = leaf(torch, 1.0, 2.0)
    with allow(torch):
        y = x.clone()
        out = (y[:1] ** 3 * y[1]).sum()
        y[0].zero_()
        (grad,) = torch.autograd.grad(out, x, create_graph=True)
        grad.sum().backward()
        return grad, x.grad


@program
def a_view_of_a_leaf_is_written_to_without_grad(torch):
    x = leaf(torch, 1.0, 2.0)
    with allow(torch):
        out = (x**2).sum()
        with torch.no_grad():
            x[0] = 7
            x[1:].mul_(3)
        out.backward()
        return x, x.grad


@program
def detached_views_and_data(torch):
    x = leaf(torch, 1.0, 2.0)
    with allow(torch):
        y = x.clone()
        out = (y**2).sum()
        y.detach()[:1].zero_()
        first = torch.autograd.grad(out, x, retain_graph=True)
        y.data[1:].zero_()
        return first, attempt(lambda: torch.autograd.grad(out, x))


@pytest.mark.usefixtures("no_gc")
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_program(function):
    agree(function)
