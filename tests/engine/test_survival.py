"""``saved_tensors_survive_mutation``: gradients of what was saved, whatever is written later. PyTorch has none."""

import threading
import weakref

import pytest
from leaves import leaf

import tapegrad as torch
from tapegrad.autograd.graph import saved_tensors_survive_mutation, set_saved_tensors_survive_mutation


def overwritten_input(x):
    y = x * 3
    z = (y * y).sum()
    y.zero_()
    return z


def overwritten_output(x):
    y = x.exp()
    z = y.sum()
    y.mul_(0)
    return z


def overwritten_through_a_view(x):
    y = x * 3
    z = (y * y).sum()
    y[0] = 100.0
    return z


def saved_view_of_what_is_overwritten(x):
    y = x * 3
    z = (y[1:] * y[1:]).sum() + (y[:1] * y[:1]).sum()
    y.fill_(7.0)
    return z


def overwritten_alias(x):
    y = x * 3
    z = (y * y).sum()
    y.detach().zero_()
    return z


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = x * x
        ctx.save_for_backward(x)
        return out

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad * ctx.saved_tensors[0]


class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = x.exp()
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0]


def overwritten_input_of_a_function(x):
    y = x * 3
    z = Square.apply(y).sum()
    y.zero_()
    return z


def overwritten_output_of_a_function(x):
    y = Exp.apply(x)
    z = (y * 1).sum()
    y.zero_()
    return z


def overwritten_twice(x):
    y = x * 3
    z = (y * y).sum()
    y.add_(1)
    z = z + (y * y).sum()
    y.add_(1)
    return z


PROGRAMS = {
    overwritten_input: lambda x: 18 * x,
    overwritten_output: lambda x: x.exp(),
    overwritten_through_a_view: lambda x: 18 * x,
    saved_view_of_what_is_overwritten: lambda x: 18 * x,
    overwritten_alias: lambda x: 18 * x,
    overwritten_input_of_a_function: lambda x: 18 * x,
    overwritten_output_of_a_function: lambda x: x.exp(),
    overwritten_twice: lambda x: 18 * x + 6 * (3 * x + 1),
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_gradients_are_those_of_what_was_saved(program):
    x = leaf(1.0, 2.0)
    with saved_tensors_survive_mutation():
        out = program(x)
    out.backward()
    with torch.no_grad():
        assert torch.allclose(x.grad, PROGRAMS[program](x))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_without_it_backward_refuses(program):
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        program(leaf(1.0, 2.0)).backward()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_second_derivatives(program):
    x, reference = leaf(1.0, 2.0), leaf(1.0, 2.0)
    with saved_tensors_survive_mutation():
        out = program(x)
    (first,) = torch.autograd.grad(out, x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x, allow_unused=True, materialize_grads=True)
    (expected,) = torch.autograd.grad(PROGRAMS[program](reference).sum(), reference)
    assert torch.allclose(second, expected)


def test_a_step_of_an_optimizer_before_backward():
    w = leaf(1.0, 2.0)
    with saved_tensors_survive_mutation():
        loss = (w * w * w).sum()
    with torch.no_grad():
        w.sub_(0.5)
    loss.backward()
    assert w.grad.tolist() == [3.0, 12.0]
    assert w.tolist() == [0.5, 1.5]


def test_the_gradient_of_a_saved_leaf_reaches_the_leaf():
    w = leaf([2.0])
    with saved_tensors_survive_mutation():
        (first,) = torch.autograd.grad((w * w * w).sum(), w, create_graph=True)
    first.sum().backward()
    assert w.grad.tolist() == [12.0]


def test_what_is_saved_outside_is_checked():
    x = leaf(1.0, 2.0)
    y = x * 3
    z = (y * y).sum()
    with saved_tensors_survive_mutation():
        y.zero_()
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        z.backward()


def test_what_is_saved_can_be_read():
    x = leaf(1.0, 2.0)
    with saved_tensors_survive_mutation():
        y = x * 3
        z = y * y
        e = y.exp()
        y.zero_()
        e.zero_()
    assert z.grad_fn._saved_self.tolist() == [3.0, 6.0]
    assert z.grad_fn._saved_self.grad_fn.name() == "MulBackward0"
    assert e.tolist() == [0.0, 0.0]


def test_it_can_be_nested_and_switched_off_inside():
    x = leaf(1.0, 2.0)
    with saved_tensors_survive_mutation(), saved_tensors_survive_mutation(False):
        out = overwritten_input(x)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.backward()


def test_it_is_a_decorator():
    x = leaf(1.0, 2.0)
    saved_tensors_survive_mutation()(overwritten_input)(x).backward()
    assert x.grad.tolist() == [18.0, 36.0]


def test_it_ends_when_the_block_raises():
    with pytest.raises(KeyError), saved_tensors_survive_mutation():
        raise KeyError
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        overwritten_input(leaf(1.0, 2.0)).backward()


def test_the_switch_holds_for_this_thread_and_later_ones():
    grads = []

    def work():
        x = leaf(1.0, 2.0)
        overwritten_input(x).backward()
        grads.append(x.grad.tolist())

    set_saved_tensors_survive_mutation(True)
    try:
        work()
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        set_saved_tensors_survive_mutation(False)
    assert grads == [[18.0, 36.0]] * 2
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        overwritten_input(leaf(1.0, 2.0)).backward()


def test_the_switch_takes_a_bool():
    with pytest.raises(TypeError, match="expected a bool, got int"):
        set_saved_tensors_survive_mutation(1)


def test_what_was_saved_is_freed_by_backward(no_gc):
    x = leaf(1.0, 2.0)
    with saved_tensors_survive_mutation():
        y = x * 3
        z = (y * y).sum()
    kept = weakref.ref(z.grad_fn.next_functions[0][0].saved[0])
    assert kept() is not None
    z.backward()
    assert kept() is None
