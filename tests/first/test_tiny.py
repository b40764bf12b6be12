"""The smallest programs first, each a little harder than the one before: the first thing to run."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from leaves import leaf

import tapegrad as torch


def values(tensor):
    return tensor.detach().numpy().tolist()


def names(tensor):
    """The names of the nodes of a graph in the order in which backward runs them, without changing anything."""
    order = []

    def note(node):
        def hook(*_):
            order.append(node.name().split("::")[-1])

        return hook

    stack, seen = [tensor.grad_fn], set()
    while stack:
        node = stack.pop()
        if node is not None and node not in seen:
            seen.add(node)
            node.register_prehook(note(node))
            stack.extend(successor for successor, _ in node.next_functions)
    tensor.backward()
    return order


# -- one operator ------------------------------------------------------------------------------------------------------


def test_a_tensor_holds_numbers():
    x = torch.tensor([1.0, 2.0])
    assert values(x) == [1.0, 2.0]
    assert (x.dtype, tuple(x.shape), x.requires_grad, x.grad, x.grad_fn) == (torch.float32, (2,), False, None, None)


def test_arithmetic_without_gradients():
    y = torch.tensor([1.0, 2.0]) * 3 + 2
    assert values(y) == [5.0, 8.0]
    assert y.grad_fn is None


def test_one_multiplication():
    x = leaf(2.0)
    y = x * x
    assert y.grad_fn.name() == "MulBackward0"
    y.backward()
    assert x.grad.item() == 4.0


def test_the_gradient_of_a_leaf_by_itself_is_one():
    x = leaf(2.0)
    x.backward()
    assert x.grad.item() == 1.0


# -- a chain, and its order --------------------------------------------------------------------------------------------


def test_three_x_plus_two():
    x = leaf([1.0, 2.0])
    (x * 3 + 2).sum().backward()
    assert values(x.grad) == [3.0, 3.0]


def test_nodes_run_from_the_last_to_the_first():
    x = leaf([1.0, 2.0])
    assert names((x * 3 + 2).sum()) == ["SumBackward0", "AddBackward0", "MulBackward0", "AccumulateGrad"]


def test_x_plus_x():
    x = leaf(1.0)
    y = x + x
    (left, _), (right, _) = y.grad_fn.next_functions
    assert left is right
    y.backward()
    assert x.grad.item() == 2.0


def test_two_paths_meet():
    x = leaf(1.0)
    (x * 2 + x * 3).backward()
    assert x.grad.item() == 5.0


def test_gradients_accumulate_over_calls():
    x = leaf(1.0)
    for _ in range(3):
        (x * 2).backward()
    assert x.grad.item() == 6.0


def test_the_gradient_tensor_keeps_its_identity():
    x = leaf(1.0)
    (x * 2).backward()
    first = x.grad
    (x * 2).backward()
    assert x.grad is first


def test_only_leaves_that_ask_for_it_get_a_gradient():
    x, c = leaf(2.0), torch.tensor(5.0)
    y = x * c
    y.backward()
    assert (x.grad.item(), c.grad, y.is_leaf) == (5.0, None, False)


def test_broadcasting_is_undone():
    x, row, scalar = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([1.0, 10.0]), leaf(2.0)
    (x * row * scalar).sum().backward()
    assert values(x.grad) == [[2.0, 20.0], [2.0, 20.0]]
    assert values(row.grad) == [8.0, 12.0]
    assert scalar.grad.item() == 64.0


def test_a_given_seed():
    x = leaf([1.0, 2.0])
    (x * x).backward(torch.tensor([1.0, 10.0]))
    assert values(x.grad) == [2.0, 40.0]


# -- grad(): asking for some gradients only ----------------------------------------------------------------------------


def test_grad_gives_gradients_and_touches_no_leaf():
    x, y = leaf(2.0), leaf(3.0)
    gx, gy = torch.autograd.grad(x * y, (x, y))
    assert (gx.item(), gy.item()) == (3.0, 2.0)
    assert (x.grad, y.grad) == (None, None)


def test_grad_skips_the_branch_that_nobody_asked_for():
    x, y = leaf(2.0), leaf(3.0)
    left, right = x.exp(), y.exp()
    ran = []
    for name, node in (("left", left.grad_fn), ("right", right.grad_fn)):
        node.register_prehook(lambda grads, name=name: ran.append(name))
    torch.autograd.grad(left * right, x)
    assert ran == ["left"]


def test_grad_with_respect_to_something_in_the_middle():
    x = leaf(2.0)
    middle = x * x
    (g,) = torch.autograd.grad(middle * 3, middle)
    assert g.item() == 3.0
    assert torch.autograd.grad(middle, x)[0].item() == 4.0  # what was only asked about has not been freed


def test_an_unused_input_is_an_error_unless_allowed():
    x, y = leaf(2.0), leaf(3.0)
    with pytest.raises(RuntimeError, match="index 1 appears to not have been used in the graph"):
        torch.autograd.grad(x * 2, (x, y))
    assert torch.autograd.grad(x * 2, (x, y), allow_unused=True)[1] is None


# -- modes and lifetimes -----------------------------------------------------------------------------------------------


def test_no_grad_records_nothing():
    x = leaf(2.0)
    with torch.no_grad():
        y = x * x
    assert (y.requires_grad, y.grad_fn, torch.is_grad_enabled()) == (False, None, True)


def test_a_step_of_gradient_descent():
    x = leaf(2.0)
    (x * x).backward()
    with torch.no_grad():
        x -= 0.25 * x.grad
    assert (x.item(), x.requires_grad, x.is_leaf) == (1.0, True, True)


def test_detach_cuts_the_tape():
    x = leaf(2.0)
    (x * (x * x).detach()).backward()
    assert x.grad.item() == 4.0


def test_a_second_backward_needs_retain_graph():
    x = leaf(2.0)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 8.0
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()


def test_a_graph_that_saved_nothing_runs_twice():
    x = leaf(2.0)
    y = x + x
    y.backward()
    y.backward()
    assert x.grad.item() == 4.0


def test_a_saved_tensor_that_was_written_is_noticed():
    x = leaf([1.0, 2.0])
    y = torch.tensor([3.0, 4.0])
    z = (x * y).sum()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation: .* is at version 1; expected version 0"):
        z.backward()


def test_a_written_tensor_that_was_not_saved_is_not():
    x = leaf([1.0, 2.0])
    y = torch.tensor([3.0, 4.0])
    z = (x + y).sum()
    y.add_(1)
    z.backward()
    assert values(x.grad) == [1.0, 1.0]


# -- derivatives of derivatives ----------------------------------------------------------------------------------------


def test_double_backward():
    x = leaf(3.0)
    (first,) = torch.autograd.grad(x * x * x, x, create_graph=True)
    (second,) = torch.autograd.grad(first, x)
    assert (first.item(), second.item()) == (27.0, 18.0)


def test_derivatives_of_any_order():
    x = leaf(1.0, dtype=torch.float64)
    y, expected = (x * 2).sin(), [jnp.sin]
    for order in range(1, 5):
        (y,) = torch.autograd.grad(y, x, create_graph=True)
        expected.append(jax.grad(expected[-1]))
        with jax.enable_x64(True):
            assert y.item() == pytest.approx(2**order * float(expected[-1](2.0)))


def test_a_gradient_penalty_reaches_the_parameters():
    w, x = leaf(3.0), leaf(2.0)
    (slope,) = torch.autograd.grad(w * x * x, x, create_graph=True)
    (slope * slope).backward()
    assert w.grad.item() == 2 * (2 * 3.0 * 2.0) * (2 * 2.0)


# -- a model -----------------------------------------------------------------------------------------------------------


def test_a_small_network_against_jax():
    generator = np.random.default_rng(0)
    shapes = [(4, 3), (3,), (3, 2), (2,)]
    parameters = [generator.normal(size=shape).astype("float32") for shape in shapes]
    x, target = (generator.normal(size=shape).astype("float32") for shape in ((5, 4), (5, 2)))

    def loss(tanh, w1, b1, w2, b2, x, target):
        difference = tanh(x @ w1 + b1) @ w2 + b2 - target
        return (difference * difference).mean()

    leaves = [torch.tensor(p.tolist(), requires_grad=True) for p in parameters]
    ours = loss(torch.tanh, *leaves, torch.tensor(x.tolist()), torch.tensor(target.tolist()))
    ours.backward()
    theirs, gradients = jax.value_and_grad(lambda *ps: loss(jnp.tanh, *ps, x, target), (0, 1, 2, 3))(*parameters)
    assert ours.item() == pytest.approx(float(theirs), rel=1e-6)
    for p, expected in zip(leaves, gradients, strict=True):
        np.testing.assert_allclose(p.grad.numpy(), expected, rtol=1e-5, atol=1e-6)


def test_a_loop_whose_length_depends_on_the_data():
    x = leaf(1.5)
    y, steps = x, 0
    while y < 100:
        y, steps = y * y, steps + 1
    y.backward()
    assert steps == 4
    assert x.grad.item() == pytest.approx(16 * 1.5**15)


def test_ten_thousand_nodes():
    x = leaf([1.0])
    y = x
    for _ in range(10_000):
        y = y + x
    y.sum().backward()
    assert values(x.grad) == [10_001.0]
