"""Hooks of tensors over time: ``retain_grad``, in-place writes, the dictionaries of hooks, handles, and lifetimes."""

import collections
import copy
import functools
import gc
import pickle
import weakref

import pytest
from harness import Programs, agree, attempt, leaf

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


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
def test_hook_state(case):
    agree(case)
