"""backward() and grad() and their arguments: the same programs on both, telling what they saw."""

import gc
import weakref

import pytest
from harness import Programs, agree, attempt, leaf, warned

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


# -- accumulation ------------------------------------------------------------------------------------------------------


@program
def gradients_accumulate_in_the_same_object(torch):
    x = leaf(torch, [1.0, 2.0])
    (x * 2).sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    return x.grad, x.grad is first, first


@program
def with_create_graph_they_accumulate_in_a_new_object(torch):
    x = leaf(torch, [1.0, 2.0])
    (x * x).sum().backward()
    first = x.grad
    warnings = warned(lambda: (x * x * x).sum().backward(create_graph=True))
    return x.grad, x.grad is first, first, x.grad.requires_grad, len(warnings) <= 1


@program
def gradients_of_a_recorded_backward_can_be_differentiated(torch):
    x = leaf(torch, [1.0, 2.0])
    warned(lambda: (x * x * x).sum().backward(create_graph=True))
    first = x.grad
    x.grad = None
    first.sum().backward()
    return first.detach(), x.grad


@program
def grad_none_starts_again(torch):
    x = leaf(torch, 1.0)
    (x * 2).backward()
    x.grad = None
    (x * 3).backward()
    return x.grad


@program
def zero_the_gradient_in_place(torch):
    x = leaf(torch, [1.0, 2.0])
    (x * 2).sum().backward()
    kept = x.grad
    x.grad.zero_()
    (x * 3).sum().backward()
    return x.grad, x.grad is kept


@program
def an_assigned_gradient_is_added_to(torch):
    x = leaf(torch, [1.0, 2.0])
    x.grad = torch.tensor([10.0, 20.0])
    (x * 2).sum().backward()
    return x.grad


@program
def empty_tensors_have_empty_gradients(torch):
    x = torch.zeros(0, 3, requires_grad=True)
    (x * 2).sum().backward()
    return x.grad


@program
def broadcasting_is_reduced_to_the_shape_of_the_input(torch):
    x, row, column, point = (torch.ones(shape, requires_grad=True) for shape in ((2, 3), (1, 3), (2, 1), ()))
    (x * row + column * point).sum().backward()
    return x.grad, row.grad, column.grad, point.grad


@program
def dtypes_of_gradients_are_those_of_the_leaves(torch):
    x, y = leaf(torch, [1.0, 2.0], dtype=torch.float64), leaf(torch, [1.0, 2.0], dtype=torch.float32)
    (x * y).sum().backward()
    return x.grad, y.grad


@program
def a_real_leaf_in_a_complex_product(torch):
    z, x = leaf(torch, [1 + 2j, 3 - 1j]), leaf(torch, [1.0, 2.0])
    (z * x).abs().sum().backward()
    return z.grad, x.grad


# -- seeds -------------------------------------------------------------------------------------------------------------


@program
def implicit_seeds(torch):
    account = []
    for shape in ((), (1,), (1, 1)):
        x = torch.full(shape, 3.0, requires_grad=True)
        (x * x).backward()
        account.append(x.grad)
    return account


@program
def given_seeds(torch):
    x = leaf(torch, [1.0, 2.0])
    y = x * x
    y.backward(torch.tensor([1.0, 10.0]), retain_graph=True)
    torch.autograd.backward(y, torch.tensor([2.0, 2.0]), retain_graph=True)
    torch.autograd.backward([y], [torch.tensor([2.0, 2.0])])
    return x.grad


@program
def none_as_seed_of_a_scalar(torch):
    x = leaf(torch, 2.0)
    torch.autograd.backward([x * x, x * 3], [None, torch.tensor(10.0)])
    return x.grad


@program
def a_seed_of_another_floating_type(torch):
    x = leaf(torch, [1.0, 2.0])
    return torch.autograd.grad(x * 2, x, torch.tensor([1.0, 1.0], dtype=torch.float64))


@program
def a_seed_is_not_modified(torch):
    x = leaf(torch, [1.0, 2.0])
    seed = torch.tensor([1.0, 1.0])
    (x + 0).backward(seed)
    (x + 0).backward(seed)
    return x.grad, seed, x.grad is seed


@program
def a_seed_that_requires_grad(torch):
    x, seed = leaf(torch, [1.0, 2.0]), leaf(torch, [3.0, 4.0])
    (first,) = torch.autograd.grad(x * x, x, seed, create_graph=True)
    return first, torch.autograd.grad(first.sum(), (x, seed))


@program
def seeds_that_do_not_fit(torch):
    x = leaf(torch, [1.0, 2.0])
    z = leaf(torch, [1j])
    return [
        attempt(lambda: (x * 2).backward()),
        attempt(lambda: (x * 2).backward(torch.ones(3))),
        attempt(lambda: (x * 2).backward(torch.ones(2, 1))),
        attempt(lambda: torch.autograd.grad([x * 2, x.sum()], x, [torch.ones(3), None])),
        attempt(lambda: torch.autograd.grad([x.sum(), x * 2], x, [None])),
        attempt(lambda: torch.autograd.backward([x.sum()], [None, None])),
        attempt(lambda: (x * 2).backward(torch.tensor([1j, 1j]))),
        attempt(lambda: (z * 2).backward(torch.tensor([1.0]))),
        attempt(lambda: (z * 2).sum().backward()),
        attempt(lambda: (x * 2).backward(2.0)),
        attempt(lambda: torch.autograd.grad(x * 2, x, "seed")),
        x.grad,
    ]


# -- roots -------------------------------------------------------------------------------------------------------------


@program
def several_roots(torch):
    x, y = leaf(torch, 2.0), leaf(torch, 3.0)
    torch.autograd.backward([x * y, x * x, y.exp()])
    return x.grad, y.grad


@program
def the_same_root_twice(torch):
    x = leaf(torch, 2.0)
    y = x * x
    torch.autograd.backward([y, y], [torch.tensor(1.0), torch.tensor(10.0)])
    return x.grad


@program
def roots_that_depend_on_one_another(torch):
    x = leaf(torch, 2.0)
    y = x * x
    z = y * 3
    torch.autograd.backward([y, z], retain_graph=True)
    return x.grad, torch.autograd.grad([z, y], [x, y])


@program
def a_leaf_as_root(torch):
    x = leaf(torch, 2.0)
    x.backward()
    return x.grad, torch.autograd.grad(x, x), torch.autograd.grad([x, x * 2], x)


@program
def roots_that_do_not_require_grad(torch):
    x, c = leaf(torch, 2.0), torch.tensor(1.0)
    y = x * 2
    account = [
        attempt(lambda: c.backward()),
        attempt(lambda: torch.autograd.backward([y, c])),
        attempt(lambda: torch.autograd.grad([y, c], x)),
        attempt(lambda: y.detach().backward()),
    ]
    return account, x.grad, attempt(lambda: y.backward()), x.grad


# -- inputs ------------------------------------------------------------------------------------------------------------


@program
def backward_into_chosen_inputs(torch):
    x, y = leaf(torch, 2.0), leaf(torch, 3.0)
    account = []
    for inputs in (x, [x], (x, y), [y, y]):
        x.grad = y.grad = None
        (x * y).backward(inputs=inputs)
        account.append([x.grad, y.grad])
    return account


@program
def backward_into_something_in_the_middle(torch):
    x = leaf(torch, 2.0)
    middle = x * x
    end = middle * 3
    end.backward(inputs=[middle], retain_graph=True)
    account = [middle.grad, x.grad]
    end.backward(inputs=[middle, x])
    return account, middle.grad, x.grad


@program
def backward_with_inputs_that_are_not_reached(torch):
    x, y = leaf(torch, 2.0), leaf(torch, 3.0)
    (x * x).backward(inputs=[x, y])
    return x.grad, y.grad


@program
def backward_with_no_inputs(torch):
    x = leaf(torch, 2.0)
    y = x * x
    return [
        attempt(lambda: y.backward(inputs=[])),
        attempt(lambda: torch.autograd.backward(y, inputs=())),
        attempt(lambda: y.backward(inputs=[torch.tensor(1.0)])),
        attempt(lambda: torch.autograd.grad(y, [])),
        attempt(lambda: torch.autograd.grad(y, torch.tensor(1.0))),
        attempt(lambda: torch.autograd.grad(y, y.detach())),
        x.grad,
    ]


@program
def grad_with_respect_to_the_root_and_to_the_middle(torch):
    x = leaf(torch, 2.0)
    middle = x * x
    end = middle * 3
    return torch.autograd.grad(end, (end, middle, x, middle))


@program
def grad_of_unused_inputs(torch):
    x, y = leaf(torch, 2.0), leaf(torch, [3.0, 4.0], dtype=torch.float64)
    end = x * x
    return [
        attempt(lambda: torch.autograd.grad(end, (x, y), retain_graph=True)),
        attempt(lambda: torch.autograd.grad(end, (x, y), retain_graph=True, allow_unused=False)),
        attempt(lambda: torch.autograd.grad(end, (x, y), retain_graph=True, allow_unused=True)),
        attempt(lambda: torch.autograd.grad(end, (x, y), retain_graph=True, materialize_grads=True)),
        attempt(lambda: torch.autograd.grad(end, (x, y), retain_graph=True, materialize_grads=True, allow_unused=True)),
        attempt(lambda: torch.autograd.grad(end, (x, y), materialize_grads=True, allow_unused=False)),
        attempt(lambda: torch.autograd.grad(end, y, create_graph=True, materialize_grads=True)),
    ]


@program
def an_input_that_the_engine_never_reaches_runs_nothing(torch):
    x, y = leaf(torch, 2.0), leaf(torch, 3.0)
    end = x * x
    account = [torch.autograd.grad(end, y, allow_unused=True)]
    end.backward()  # nothing was freed
    return account, x.grad


@program
def only_inputs_is_deprecated(torch):
    x = leaf(torch, 2.0)
    return warned(lambda: torch.autograd.grad(x * x, x, only_inputs=False))


@program
def grad_variables_is_deprecated(torch):
    x = leaf(torch, [2.0])
    account = warned(lambda: torch.autograd.backward(x * x, grad_variables=torch.tensor([2.0])))
    return account, x.grad


@program
def branches_that_nobody_asked_for_do_not_run(torch):
    x, y = leaf(torch, 2.0), leaf(torch, 3.0)
    broken = torch._C._functions.DelayedError("do not run", 1)(y * y)
    account = [torch.autograd.grad(x * broken, x, retain_graph=True)]
    end = x * broken
    account.append(attempt(lambda: torch.autograd.grad(end, y, retain_graph=True)))
    end.backward(inputs=[x], retain_graph=True)
    account.append(attempt(lambda: end.backward()))
    return account, x.grad, y.grad


# -- freeing the graph -------------------------------------------------------------------------------------------------


@program
def a_second_backward(torch):
    x = leaf(torch, [1.0, 2.0])
    account = []
    for function in (
        lambda: x * x, lambda: x + x, lambda: x.exp(), lambda: x * 2, lambda: x + 1, lambda: -x, lambda: x.sum(),
        lambda: x.mean(), lambda: x.reshape(2, 1), lambda: x.sin().cos(),
    ):  # fmt: skip
        x.grad = None
        y = function()
        seed = torch.ones(y.shape)
        y.backward(seed)
        account.append([attempt(lambda y=y, seed=seed: y.backward(seed)), x.grad])
    return account


@program
def retained_graphs_run_as_often_as_wanted(torch):
    x = leaf(torch, 2.0)
    y = x.exp() * x
    for _ in range(3):
        y.backward(retain_graph=True)
    y.backward()
    return x.grad, attempt(lambda: y.backward())


@program
def create_graph_retains_unless_told_otherwise(torch):
    x = leaf(torch, 2.0)
    y = x.exp()
    first = torch.autograd.grad(y, x, create_graph=True)
    second = torch.autograd.grad(y, x, create_graph=True, retain_graph=False)
    return first, second, attempt(lambda: torch.autograd.grad(y, x))


@program
def a_part_that_was_freed_with_another_root(torch):
    x = leaf(torch, 2.0)
    shared = x.exp()
    first, second = shared * 2, shared * 3
    first.backward()
    return attempt(lambda: second.backward()), x.grad


@program
def what_was_only_captured_is_not_freed(torch):
    x = leaf(torch, 2.0)
    middle = x.exp()
    account = [torch.autograd.grad(middle * 2, middle)]
    middle.backward()
    return account, x.grad


@program
def an_error_in_backward_leaves_the_rest_usable(torch):
    x = leaf(torch, 2.0)
    y = torch._C._functions.DelayedError("too late", 1)(x * x)
    account = [attempt(lambda: y.backward())]
    (x * 3).backward()
    return account, x.grad, torch.is_grad_enabled()


# -- higher orders -----------------------------------------------------------------------------------------------------


@program
def derivatives_of_any_order(torch):
    x = leaf(torch, 0.5, dtype=torch.float64)
    y, account = (x * x).sin() * x.exp(), []
    for _ in range(5):
        (y,) = torch.autograd.grad(y, x, create_graph=True)
        account.append(y.detach())
    return account


@program
def hessian_vector_products(torch):
    x = leaf(torch, [1.0, 2.0, 3.0], dtype=torch.float64)
    v = torch.tensor([1.0, -1.0, 0.5], dtype=torch.float64)
    y = (x * x * x).sum() * x.sum()
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    return first, torch.autograd.grad(first, x, v)


@program
def a_gradient_penalty(torch):
    w, x = leaf(torch, [[1.0, 2.0], [3.0, 4.0]]), leaf(torch, [1.0, -1.0])
    (slope,) = torch.autograd.grad((w @ x).tanh().sum(), x, create_graph=True)
    ((slope * slope).sum() - 1).pow(2).backward()
    return w.grad, x.grad


@program
def a_gradient_that_does_not_depend_on_anything(torch):
    x = leaf(torch, [1.0, 2.0])
    (first,) = torch.autograd.grad((x * 3).sum(), x, create_graph=True)
    return first, first.requires_grad, attempt(lambda: first.sum().backward())


@program
def second_order_through_something_in_the_middle(torch):
    x = leaf(torch, 2.0)
    middle = x * x
    (first,) = torch.autograd.grad(middle * middle, middle, create_graph=True)
    return first, torch.autograd.grad(first, (middle, x))


@program
def a_step_that_is_differentiated(torch):
    w, rate = leaf(torch, 3.0), leaf(torch, 0.1)
    (slope,) = torch.autograd.grad(w * w, w, create_graph=True)
    stepped = w - rate * slope
    (stepped * stepped).backward()
    return w.grad, rate.grad


@program
def backward_with_create_graph_warns(torch):
    torch.set_warn_always(True)
    try:
        x = leaf(torch, 2.0)
        return [warned(lambda: (x * x).backward(create_graph=True)) for _ in range(2)], x.grad.detach()
    finally:
        torch.set_warn_always(False)


@program
def batches_of_gradients(torch):
    x = leaf(torch, [1.0, 2.0])
    y = x * x
    seeds = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    return [
        torch.autograd.grad(y, x, seeds, is_grads_batched=True, retain_graph=True),
        attempt(lambda: torch.autograd.grad(y, x, torch.ones(3, 3), is_grads_batched=True, retain_graph=True)),
    ]


# -- tensors in the middle ---------------------------------------------------------------------------------------------


@program
def retain_grad_keeps_the_gradient_of_a_middle(torch):
    x = leaf(torch, [1.0, 2.0])
    y = x * x
    y.retain_grad()
    y.retain_grad()
    x.retain_grad()
    account = [x.retains_grad, y.retains_grad, (y * 2).retains_grad]
    (y * 3).sum().backward(retain_graph=True)
    account.append(y.grad)
    (y * 3).sum().backward()
    return account, y.grad, attempt(lambda: torch.ones(2).retain_grad())


@program
def the_gradient_of_a_middle_is_read_with_a_warning(torch):
    x = leaf(torch, 2.0)
    y = x * x
    y.backward()
    return [text[0] for text in warned(lambda: y.grad)], warned(lambda: x.grad)


@program
def leaves_and_non_leaves(torch):
    x, c = leaf(torch, 2.0), torch.tensor(1.0)
    y = x * c
    with torch.no_grad():
        z = x * c
    return [[t.is_leaf, t.requires_grad, t.grad_fn is None, t.output_nr] for t in (x, c, y, z, y.detach(), c * c)]


@program
def requires_grad_can_be_switched(torch):
    x = torch.tensor([1.0])
    account = [x.requires_grad_() is x, x.requires_grad, x.requires_grad_(False).requires_grad]
    y = leaf(torch, 1.0) * 2
    account.append(attempt(lambda: y.requires_grad_(False)))
    account.append(attempt(lambda: setattr(y, "requires_grad", False)))
    account.append(attempt(lambda: torch.tensor([1]).requires_grad_()))
    account.append(attempt(lambda: setattr(torch.tensor([1]), "requires_grad", True)))
    return account


# -- lifetimes ---------------------------------------------------------------------------------------------------------


@program
def graphs_die_without_the_garbage_collector(torch):
    gc.disable()
    try:
        x = leaf(torch, [1.0, 2.0], dtype=torch.float64)
        y = (x.exp() * x).tanh().sum()
        nodes = [weakref.ref(x.exp()), weakref.ref(y)]
        z = y * 2
        del y
        account = [node() is None for node in nodes]
        z.backward()
        del z
        return account, [node() is None for node in nodes], x.grad
    finally:
        gc.enable()


@program
def a_leaf_lives_as_long_as_its_graph(torch):
    x = leaf(torch, 2.0)
    y, reference = x * 3, weakref.ref(x)
    del x
    account = [reference() is None]
    y.backward()
    account.append(reference().grad)
    del y
    return account, reference() is None


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_program(function):
    agree(function)
