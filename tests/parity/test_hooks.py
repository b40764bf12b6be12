"""Hooks of tensors: ``register_hook``, ``register_post_accumulate_grad_hook``, ``retain_grad``, and their handles."""

import collections
import copy
import functools
import gc
import pickle
import weakref

import pytest
from harness import agree, attempt

pytestmark = pytest.mark.parity

PROGRAMS = []


def program(function):
    PROGRAMS.append(function)
    return function


def leaf(torch, values=(1.0, 2.0, 3.0)):
    return torch.tensor(values, requires_grad=True)


def returning(value):
    def hook(*args):
        return value

    return hook


# -- order, replacing, removing ----------------------------------------------------------------------------------------


@program
def hooks_come_and_go_between_backwards(torch):
    x, y, counter = leaf(torch), leaf(torch), [0]

    def count(amount, grad):
        counter[0] += amount

    z = x**2 + x * 2 + x * y + y
    seen = []
    first = z.register_hook(functools.partial(count, 1))
    z.backward(torch.ones(3), retain_graph=True)
    seen.append(counter[0])
    second = z.register_hook(functools.partial(count, 10))
    z.backward(torch.ones(3), retain_graph=True)
    seen.append(counter[0])
    second.remove()
    z.backward(torch.ones(3), retain_graph=True)
    first.remove()
    z.register_hook(lambda grad: grad.mul(2))
    x.grad = y.grad = None
    z.backward(torch.ones(3), retain_graph=True)
    return [seen, counter, x.grad, y.grad]


@program
def the_order_at_a_node(torch):
    x, seen = leaf(torch), []
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda grad: seen.append(["first", grad]))
    y.register_hook(lambda grad: grad * 2)
    y.register_hook(lambda grad: seen.append(["third", grad]))
    y.grad_fn.register_prehook(lambda grads: seen.append(["pre", *grads]))
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append(["post", *inputs, *outputs]))
    x.register_hook(lambda grad: seen.append(["leaf", grad]))
    (y**2).sum().backward()
    return [seen, y.grad, x.grad, y.retains_grad, x.retains_grad]


@program
def the_order_at_a_leaf(torch):
    x, seen = leaf(torch), []
    y = x.view(3)
    accumulator = y.grad_fn.next_functions[0][0]
    x.register_post_accumulate_grad_hook(lambda tensor: seen.append(["accumulated", tensor.grad.clone()]))
    accumulator.register_hook(lambda inputs, outputs: seen.append(["post", len(inputs), *outputs]))
    accumulator.register_prehook(lambda grads: (grads[0] * 3,))
    accumulator.register_prehook(lambda grads: seen.append(["pre", *grads]))
    x.register_hook(lambda grad: grad * 2)
    x.register_hook(lambda grad: seen.append(["tensor", grad]))
    (y * 2).sum().backward()
    (x * 2).sum().backward()
    return [seen, x.grad]


@program
def the_hooks_of_an_accumulator_die_with_it(torch):
    x, seen = leaf(torch), []
    y = x * 2
    y.grad_fn.next_functions[0][0].register_hook(lambda inputs, outputs: seen.append("post"))
    y.sum().backward()
    del y
    (x * 2).sum().backward()
    return seen


@program
def a_gradient_is_changed_in_place(torch):
    x, w, seed = leaf(torch), leaf(torch), torch.ones(3)
    x.register_hook(lambda grad: grad.mul_(5))
    x.register_hook(lambda grad: grad)

    def add_one(grad):
        grad.add_(1)

    w.register_hook(add_one)
    (x * 2).backward(seed)
    (w * 1).backward(seed)
    return [x.grad, w.grad, seed]


@program
def the_hooks_of_a_tensor_see_one_object(torch):
    x, kept = leaf(torch), []
    y = x * 2
    y.register_hook(kept.append)
    y.register_hook(kept.append)
    y.register_hook(lambda grad: kept.append(grad.mul_(2)))
    (y * 1).backward(torch.ones(3))
    return [kept, kept[0] is kept[1], x.grad]


@program
def removed_while_running(torch):
    x, seen, handles = leaf(torch), [], {}
    y = x * 2

    def remove(name, *others):
        def hook(grad):
            seen.append(name)
            for other in others:
                handles[other].remove()

        return hook

    for name, others in (("a", "b"), ("b", ""), ("c", "aa"), ("d", "d")):
        handles[name] = y.register_hook(remove(name, *others))
    results = [attempt(lambda: y.sum().backward(retain_graph=True)) for _ in range(3)]
    return [seen, results, x.grad]


@program
def registered_while_running(torch):
    x, seen = leaf(torch), []
    y = x * 2

    def hook(grad):
        seen.append("first")
        y.register_hook(lambda grad: seen.append("second"))

    y.register_hook(hook)
    return [[attempt(lambda: y.sum().backward(retain_graph=True)) for _ in range(2)], seen]


@program
def one_function_registered_twice(torch):
    x = leaf(torch)
    handle = x.register_hook(lambda grad: grad * 2)
    x.register_hook(lambda grad: grad * 2)
    (x * 1).sum().backward()
    handle.remove()
    handle.remove()
    (x * 1).sum().backward()
    return x.grad


@program
def the_handle_outlives_the_tensor(torch):
    y = leaf(torch) * 2
    handles = [y.register_hook(print), y.grad_fn.register_hook(print), y.grad_fn.register_prehook(print)]
    del y
    return [handle.remove() for handle in handles]


# -- what hooks may return ---------------------------------------------------------------------------------------------


@program
def wrong_returns(torch):
    values = [
        1, "s", torch.ones(2), torch.ones(3, dtype=torch.float64), [torch.ones(3)], (torch.ones(3),),
        torch.ones(3, dtype=torch.int64), torch.ones(1, 3), torch.ones(()), torch.ones(3, dtype=torch.complex64),
    ]  # fmt: skip
    seen = []
    for value in values:
        for nonleaf in (False, True):
            x = leaf(torch)
            y = x * 2
            (y if nonleaf else x).register_hook(returning(value))
            seen.append([attempt(lambda y=y: y.sum().backward()), x.grad])
    return seen


@program
def types_in_messages(torch):
    seen = []
    for name in ("float16", "bfloat16", "float64", "complex64", "complex128", "bool", "int8", "uint8", "int16"):
        dtype = getattr(torch, name)
        x = leaf(torch)
        x.register_hook(lambda grad, dtype=dtype: grad.to(dtype))
        seen.append(attempt(lambda x=x: (x * 2).sum().backward()))
        if dtype.is_floating_point or dtype.is_complex:
            x = torch.ones(3, dtype=dtype, requires_grad=True)
            x.register_hook(lambda grad: torch.ones(3))
            seen.append(attempt(lambda x=x, dtype=dtype: (x * 2).backward(torch.ones(3, dtype=dtype))))
    return seen


@program
def names_in_messages(torch):
    def with_two(grad, value):
        return value

    class Plain:
        def __call__(self, grad):
            return torch.ones(2)

        def method(self, grad):
            return torch.ones(2)

    class Named(Plain):
        __name__ = "its own"

    class Misnamed(Plain):
        __name__ = 5

    hooks = [Plain(), Plain().method, Named(), Misnamed(), functools.partial(with_two, value=torch.ones(2))]
    seen = []
    for hook in hooks:
        x = leaf(torch)
        x.register_hook(hook)
        seen.append(attempt(lambda x=x: (x * 2).sum().backward()))
    return seen


@program
def wrong_signatures(torch):
    seen = []
    for hook in (lambda: None, lambda a, b: None, 5, None, "x"):
        x = leaf(torch)
        seen.append(attempt(lambda x=x, hook=hook: x.register_hook(hook)))
        seen.append(attempt(lambda x=x: (x * 2).sum().backward()))
    return seen


@program
def a_leaf_as_the_gradient(torch):
    x, w, p = leaf(torch), leaf(torch), torch.nn.Parameter(torch.ones(3))
    x.register_hook(lambda grad: w)
    (x * 2).sum().backward()
    seen = [x.grad.detach(), x.grad is w]
    y = leaf(torch)
    y.register_hook(lambda grad: p)
    (y * 2).sum().backward()
    return [seen, y.grad.detach(), y.grad is p]


@program
def what_needs_no_gradient_takes_no_hooks(torch):
    x, y = torch.ones(3), leaf(torch) * 2
    _, indices = leaf(torch).sort()
    return [
        attempt(lambda: x.register_hook(print)),
        attempt(lambda: x.retain_grad()),
        attempt(lambda: x.register_post_accumulate_grad_hook(print)),
        attempt(lambda: y.register_post_accumulate_grad_hook(print)),
        attempt(lambda: y.detach().register_hook(print)),
        attempt(lambda: indices.register_hook(print)),
        x.retains_grad,
    ]


@program
def hooks_see_the_absence_of_a_gradient(torch):
    x, seen = leaf(torch, [[1.0, 2.0], [3.0, 4.0]]), []
    a, b = x.unbind(0)
    a.register_hook(lambda grad: seen.append(["a", grad]))
    b.register_hook(lambda grad: seen.append(["b", grad]))
    b.retain_grad()
    (a * 2).sum().backward(retain_graph=True)
    b.register_hook(lambda grad: torch.ones(2))
    return [seen, b.grad, attempt(lambda: (a * 2).sum().backward())]


@program
def an_undefined_gradient_reaches_a_leaf(torch):
    x, seen = leaf(torch), []
    y = x.clone()
    accumulator = y.grad_fn.next_functions[0][0]
    accumulator.register_hook(lambda inputs, outputs: seen.append(["post", *outputs]))
    accumulator.register_prehook(lambda grads: seen.append(["pre", *grads]))
    x.register_hook(lambda grad: seen.append(["tensor", grad]))
    x.register_post_accumulate_grad_hook(lambda tensor: seen.append(["accumulated", tensor.grad]))
    y.grad_fn.register_hook(lambda inputs, outputs: (None,))
    y.sum().backward()
    return [seen, x.grad]


# -- hooks of leaves after accumulation --------------------------------------------------------------------------------


@program
def hooks_after_accumulation(torch):
    x, seen = leaf(torch), []

    def take(tensor):
        seen.append([tensor is x, tensor.grad.clone()])
        tensor.grad = None

    handle = x.register_post_accumulate_grad_hook(take)
    x.register_post_accumulate_grad_hook(lambda tensor: seen.append([tensor is x, tensor.grad]))
    (x * 2).sum().backward()
    (x * 3).sum().backward()
    handle.remove()
    handle.remove()
    (x * 3).sum().backward()
    return [seen, x.grad, len(x._post_accumulate_grad_hooks)]


@program
def an_optimizer_in_backward(torch):
    x = leaf(torch)

    def step(tensor):
        with torch.no_grad():
            tensor.sub_(0.1 * tensor.grad)
        tensor.grad = None

    x.register_post_accumulate_grad_hook(step)
    for _ in range(3):
        (x * x).sum().backward()
    return [x.detach(), x.grad, x._version]


@program
def hooks_after_accumulation_return_nothing(torch):
    seen = []
    for value in (1, "s", torch.ones(3), False):
        x, calls = leaf(torch), []
        x.register_post_accumulate_grad_hook(returning(value))
        x.register_post_accumulate_grad_hook(calls.append)
        seen.append([attempt(lambda x=x: (x * 2).sum().backward()), x.grad, len(calls)])
    return seen


@program
def hooks_after_accumulation_with_wrong_signatures(torch):
    seen = []
    for hook in (lambda: None, 5):
        x = leaf(torch)
        x.register_post_accumulate_grad_hook(hook)
        seen.append([attempt(lambda x=x: (x * 2).sum().backward()), x.grad])
    return seen


# -- retain_grad -------------------------------------------------------------------------------------------------------


@program
def retained_gradients_add_up(torch):
    x = leaf(torch)
    h = x * 3
    out = (h * h).sum()
    h.retain_grad()
    h.retain_grad()
    seen = [h.retains_grad]
    out.backward(retain_graph=True)
    first = h.grad
    seen.append(first.clone())
    out.backward(retain_graph=True)
    seen += [h.grad is first, h.grad]
    x.retain_grad()
    return [*seen, x.retains_grad, x.grad]


@program
def retained_gradients_see_all_tensor_hooks(torch):
    x = leaf(torch)
    y = x * 2
    y.register_hook(lambda grad: grad * 2)
    y.retain_grad()
    y.register_hook(lambda grad: grad * 3)
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 5,))
    y.sum().backward()
    return [y.grad, x.grad]


@program
def retained_gradients_are_differentiable(torch):
    x = leaf(torch)
    y = x**3
    y.retain_grad()
    (y**2).sum().backward(create_graph=True)
    return [y.grad, torch.autograd.grad(y.grad.sum(), x)]


@program
def retained_gradients_follow_in_place_writes(torch):
    seen = []
    for again in (False, True):
        a = leaf(torch)
        b = a.clone()
        b.retain_grad()
        b *= 2
        if again:
            b.retain_grad()
        b.mul_(3)
        b.sum().backward()
        seen.append([b.retains_grad, b.grad, a.grad])
    a = torch.ones(3)
    a.mul_(leaf(torch))
    a.retain_grad()
    a.mul_(2)
    a.sum().backward()
    return [seen, a.grad]


# -- in-place writes and detaching -------------------------------------------------------------------------------------


@program
def hooks_stay_with_the_version_they_were_registered_on(torch):
    a, seen = leaf(torch), []
    b = a.clone()
    first = b.register_hook(lambda grad: seen.append(["first", grad]))
    present = [len(b._backward_hooks)]
    b.mul_(2)
    present.append(b._backward_hooks)
    second = b.register_hook(lambda grad: seen.append(["second", grad]))
    b.mul_(3)
    b.register_hook(lambda grad: seen.append(["third", grad]))
    b.sum().backward(retain_graph=True)
    first.remove()
    b.sum().backward()
    return [seen, a.grad, present, second.id > first.id]


@program
def hooks_at_several_outputs_of_one_node(torch):
    a, seen = leaf(torch, [[1.0, 2.0], [3.0, 4.0]]), []
    x, y = torch.unsafe_split(a.clone(), 1)
    x.retain_grad()
    y.retain_grad()
    x.register_hook(lambda grad: seen.append(["x", grad]))
    y.register_hook(lambda grad: seen.append(["y", grad]))
    x *= 2
    x.register_hook(lambda grad: seen.append(["new x", grad]))
    (x.sum() + (y * y).sum()).backward()
    return [seen, x.grad, y.grad, a.grad]


@program
def a_write_without_recording_leaves_hooks_alone(torch):
    a, seen = torch.ones(3, requires_grad=True), []
    a.register_hook(seen.append)
    with torch.no_grad():
        a.mul_(2)
    (a * 3).sum().backward()
    return [seen, a.grad, len(a._backward_hooks)]


@program
def detached_in_place(torch):
    a, seen = leaf(torch), []
    b = a * 2
    b.register_hook(lambda grad: seen.append("b"))
    b.retain_grad()
    c = (b * 1).sum()
    b.detach_()
    state = [b.retains_grad, b._backward_hooks is None, b.requires_grad]
    c.backward()
    b.requires_grad_()
    (b * 2).sum().backward()
    return [state, seen, b.grad]


@program
def requires_grad_switched_off_and_on(torch):
    a, seen = leaf(torch), []
    a.register_hook(seen.append)
    a.requires_grad_(False)
    present = a._backward_hooks is not None
    a.requires_grad_(True)
    (a * 2).sum().backward()
    return [present, seen]


# -- recording, raising, nesting ---------------------------------------------------------------------------------------


@program
def hooks_are_recorded_with_create_graph(torch):
    x, seen = leaf(torch), []
    y = x**3

    def square(grad):
        seen.append([grad.requires_grad, torch.is_grad_enabled()])
        return grad * grad

    y.register_hook(square)
    (first,) = torch.autograd.grad((y**2).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    return [seen, first, second]


@program
def hooks_are_not_recorded_without(torch):
    x, w, seen = leaf(torch), leaf(torch), []

    def hook(grad):
        seen.append([grad.requires_grad, torch.is_grad_enabled(), (w * 2).requires_grad])
        with torch.enable_grad():
            return grad * w

    y = x * 2
    y.register_hook(hook)
    y.retain_grad()
    y.sum().backward()
    return [seen, x.grad, y.grad.requires_grad]


@program
def a_hook_raises(torch):
    def fail(*args):
        raise ValueError("mine")

    seen = []
    for kind in range(5):
        x = leaf(torch)
        y = x * 2
        registers = [
            x.register_hook, y.register_hook, y.grad_fn.register_hook, y.grad_fn.register_prehook,
            x.register_post_accumulate_grad_hook,
        ]  # fmt: skip
        handle = registers[kind](fail)
        seen.append(attempt(lambda y=y: y.sum().backward(retain_graph=True)))
        seen += [torch.is_grad_enabled(), x.grad, (x * 2).requires_grad]
        handle.remove()
        seen += [attempt(lambda y=y: y.sum().backward()), x.grad]
    return seen


@program
def a_backward_inside_a_hook(torch):
    x, seen = leaf(torch), []

    def inner(grad):
        with torch.enable_grad():
            w = leaf(torch)
            (w * grad).sum().backward()
            seen.append(w.grad)

    y = x * 2
    y.register_hook(inner)
    (y * y).sum().backward()
    return [seen, x.grad]


# -- attributes and handles --------------------------------------------------------------------------------------------


@program
def the_dictionary_of_hooks(torch):
    x, seen = leaf(torch), []
    state = [x._backward_hooks]
    handle = x.register_hook(lambda grad: grad)
    state += [type(x._backward_hooks).__name__, list(x._backward_hooks) == [handle.id]]
    handle.remove()
    state.append(len(x._backward_hooks))
    mine = collections.OrderedDict({0: seen.append})
    x.register_hook(lambda grad: seen.append("replaced"))
    x._backward_hooks = mine
    (x * 2).sum().backward()
    state.append(x._backward_hooks is mine)
    x._backward_hooks = None
    (x * 2).sum().backward()

    def delete():
        del x._backward_hooks

    return [state, seen, attempt(delete)]


@program
def the_dictionary_of_hooks_of_others(torch):
    y, constant, seen = leaf(torch) * 2, torch.ones(3), []
    y._backward_hooks = collections.OrderedDict({0: lambda grad: seen.append("set")})
    y.sum().backward(retain_graph=True)
    y._backward_hooks = None
    y.register_hook(lambda grad: seen.append("registered"))
    y.sum().backward(retain_graph=True)
    y._backward_hooks = None
    y.sum().backward()
    hooks = collections.OrderedDict({0: lambda grad: seen.append("constant")})
    constant._backward_hooks = hooks
    constant.requires_grad_()
    (constant * 2).sum().backward()
    return [seen, constant._backward_hooks is hooks]


@program
def the_dictionary_of_hooks_after_accumulation(torch):
    x, seen = leaf(torch), []
    state = [x._post_accumulate_grad_hooks, torch.ones(2)._post_accumulate_grad_hooks]
    state.append((leaf(torch) * 2)._post_accumulate_grad_hooks)
    handle = x.register_post_accumulate_grad_hook(lambda tensor: None)
    state += [type(x._post_accumulate_grad_hooks).__name__, list(x._post_accumulate_grad_hooks) == [handle.id]]
    handle.remove()
    state.append(len(x._post_accumulate_grad_hooks))
    x._post_accumulate_grad_hooks = collections.OrderedDict({0: lambda tensor: seen.append(tensor.grad.clone())})
    (x * 1).sum().backward()

    def delete():
        del x._post_accumulate_grad_hooks

    return [state, seen, attempt(delete)]


@program
def a_handle_is_a_context(torch):
    x, seen = leaf(torch), []
    with x.register_hook(lambda grad: seen.append(1)) as handle:
        (x * 2).sum().backward()
    (x * 2).sum().backward()
    return [seen, isinstance(handle, torch.utils.hooks.RemovableHandle)]


@program
def handles_by_hand(torch):
    handle = torch.utils.hooks.RemovableHandle
    hooks, one, two = collections.OrderedDict(), collections.OrderedDict(), collections.OrderedDict()
    a, b, c = handle(hooks), handle(hooks, extra_dict=one), handle(hooks, extra_dict=[one, two])
    hooks.update({a.id: 1, b.id: 2, c.id: 3})
    one.update({b.id: 1, c.id: 1})
    two.update({c.id: 2})
    seen = [b.id - a.id, c.id - b.id, handle.next_id - c.id]
    for one_of in (b, b, c):
        one_of.remove()
        seen.append([len(hooks), len(one), len(two)])
    again = pickle.loads(pickle.dumps(a))
    seen += [again.id == a.id, again.hooks_dict_ref()]
    state = a.__getstate__()
    seen += [len(state), state[0] is hooks, state[1] == a.id, state[2], sorted(vars(a))]
    older = handle.__new__(handle)
    older.__setstate__((None, handle.next_id + 10))
    seen += [handle.next_id - older.id, older.extra_dict_ref]
    return [*seen, *[attempt(functools.partial(handle, *args)) for args in ((), (5,), ({},), (hooks, one))]]


@program
def copies_have_no_hooks(torch):
    x = leaf(torch)
    x.register_hook(lambda grad: grad * 2)
    y = copy.deepcopy(x)
    (y * 2).sum().backward()
    return [y._backward_hooks is None, y.grad]


# -- lifetime ----------------------------------------------------------------------------------------------------------


class Kept:
    """What the closure of a hook holds."""


@program
def hooks_die_with_what_they_hang_on(torch):
    seen = []
    gc.disable()
    try:
        for kind in range(6):
            kept, x = Kept(), leaf(torch)
            reference, y = weakref.ref(kept), x * 2

            def hook(*args, kept=kept):
                pass

            registers = [
                y.register_hook, y.grad_fn.register_hook, y.grad_fn.register_prehook,
                y.grad_fn.next_functions[0][0].register_hook, x.register_hook, x.register_post_accumulate_grad_hook,
            ]  # fmt: skip
            handle = registers[kind](hook)
            del hook, kept, registers
            y.sum().backward(retain_graph=True)
            del y
            seen.append(reference() is None)
            del x
            seen.append(reference() is None)
            del handle
    finally:
        gc.enable()
    return seen


@program
def retain_grad_keeps_nothing_alive(torch):
    gc.disable()
    try:
        y = leaf(torch) * 2
        y.retain_grad()
        z = y.sum()
        z.backward()
        reference = weakref.ref(y)
        del y
        seen = [reference() is None]
        del z
        return [*seen, reference() is None]
    finally:
        gc.enable()


@program
def cycles_through_hooks_are_collected(torch):
    seen = []
    for at_node in (False, True):
        y, kept = leaf(torch) * 2, Kept()
        reference, node = weakref.ref(kept), y.grad_fn

        def hook(*args, node=node, kept=kept):
            pass

        (node if at_node else y).register_hook(hook)
        del hook, kept
        gc.collect()
        seen.append(reference() is None)
        del y, node
        gc.collect()
        seen.append(reference() is None)
    return seen


@pytest.mark.filterwarnings("ignore:Using backward\\(\\) with create_graph=True")
@pytest.mark.parametrize("case", PROGRAMS, ids=lambda case: case.__name__)
def test_hooks(case):
    agree(case)
