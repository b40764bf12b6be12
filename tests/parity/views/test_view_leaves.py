"""Views of leaves, leaves that are views: detaching, requiring grad, ``data``; what keeps what alive."""

import gc
import weakref

import pytest
from harness import Programs, agree, attempt
from viewing import counted, gradients, leaf, name, now, place, places

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()

# -- detaching, requiring grad -----------------------------------------------------------------------------------------


@program
def a_base_detached_in_place(torch):
    a = leaf(torch, 2, 2)
    x = a * 1
    v = x[0]
    x.detach_()
    seen = [places(x, v), gradients(torch, v * v, a)]
    x.mul_(2)
    seen.append(attempt(lambda: places(x, v)))
    return seen, attempt(lambda: gradients(torch, v * v, a))


@program
def a_base_detached_in_place_then_a_write_to_the_view(torch):
    a = leaf(torch, 2, 2)
    x = a * 1
    v = x[0]
    x.detach_()
    seen = [attempt(lambda: now(v.mul_(2))), attempt(lambda: places(x, v))]
    return seen, attempt(lambda: gradients(torch, [x, v], a))


@program
def a_view_detached_in_place(torch):
    a = leaf(torch, 2, 2)
    x = a * 1
    v, constant = x[0], counted(torch, 2)[:1]
    return attempt(v.detach_), place(v, x), attempt(constant.detach_), attempt(a[0].detach_)


@program
def a_base_that_requires_grad_later(torch):
    a = counted(torch, 3)
    v, u = a[0], a[1:]
    a.requires_grad_()
    seen = [places(a, v, u)]
    seen.append(gradients(torch, v * v, a))
    with torch.no_grad():
        a.mul_(2)
    seen.append(places(a, v, u))
    return seen, gradients(torch, [v * v, u], a)


@program
def a_view_that_requires_grad_by_itself(torch):
    a = counted(torch, 3)
    v = a[1:]
    v.requires_grad_()
    seen = [places(a, v), gradients(torch, v * v, v)]
    seen.append(attempt(lambda: now(v.mul_(2))))
    seen.append(attempt(lambda: now(a.mul_(2))))
    return seen, places(a, v), attempt(lambda: gradients(torch, v * v, v))


@program
def a_view_that_requires_grad_whose_base_comes_to_do_so(torch):
    a, w = counted(torch, 3), leaf(torch, 3)
    v = a[1:]
    v.requires_grad_()
    a.mul_(w)
    seen = attempt(lambda: places(a, v))
    return seen, attempt(lambda: gradients(torch, v * v, w))


@program
def requires_grad_switched_off_on_views(torch):
    a = leaf(torch, 3)
    v = a[1:]
    constant = counted(torch, 3)[1:]
    x = a * 1
    return [
        attempt(lambda: v.requires_grad_(False)),
        attempt(lambda: x[1:].requires_grad_(False)),
        place(constant.requires_grad_()),
        place(constant.requires_grad_(False)),
        place(v.requires_grad_(), a),
    ]


@program
def a_view_in_no_grad_of_a_leaf_as_a_leaf(torch):
    a = leaf(torch, 3)
    with torch.no_grad():
        v = a[1:]
    seen = [place(v, a), gradients(torch, v * v, a, v)]
    a.requires_grad_(False)
    seen.append(place(v, a))
    v.requires_grad_(True)
    return seen, place(v, a), gradients(torch, v * v, v)


@program
def detached_views_do_not_carry_history(torch):
    a = leaf(torch, 3)
    x = a * 1
    d = x[1:].detach()
    d.mul_(5)
    seen = [places(x, d), gradients(torch, x, a)]
    w = leaf(torch, 2)
    d.mul_(w)
    return seen, places(x, d), gradients(torch, [x, d], a, w)


@program
def a_detached_base_comes_to_require_grad(torch):
    w = leaf(torch, 3)
    a = leaf(torch, 3)
    d = a.detach()
    v = d[:2]
    d.mul_(w)
    return places(a, d, v), gradients(torch, v * v, w), gradients(torch, a * a, a)


@program
def set_data_keeps_history(torch):
    a = leaf(torch, 3)
    x = a * 1
    v = x[1:]
    x.data = torch.zeros(3)
    seen = [places(x, v)]
    v.mul_(2)
    seen.append(attempt(lambda: places(x, v)))
    return seen, attempt(lambda: gradients(torch, x, a))


@program
def backward_after_setting_data(torch):
    """A gradient has to fit what was recorded, not the data there is now; where it fits, it is cast."""
    a = leaf(torch, 2, 3)
    x, y = a * 2, a * 3
    x.data = torch.ones(2)
    y.data = torch.ones(2, 3, dtype=torch.float64)
    seen = [attempt(lambda: x.backward(torch.ones_like(x))), attempt(lambda: torch.autograd.grad(x, a, torch.ones(2)))]
    y.backward(torch.ones_like(y))
    return seen, a.grad


# -- inference mode ----------------------------------------------------------------------------------------------------


@program
def a_view_made_inside_drops_its_gradient(torch):
    """It says that it requires grad, but its gradient goes nowhere."""
    a = leaf(torch, 2)
    with torch.inference_mode():
        v = a.view(2, 1)
    (v * 3).sum().backward()
    return [v.requires_grad, v.is_leaf, v.grad, a.grad]


@program
def writes_inside_are_seen_and_counted(torch):
    x = counted(torch, 3)
    v = x[1:]
    with torch.inference_mode():
        u = x[:2]
        x.add_(1)
        u.mul_(2)
        seen = places(x, v, u)
        v[0] = 9
    return seen, places(x, v, u)


# -- lifetimes ---------------------------------------------------------------------------------------------------------


@program
def a_view_keeps_its_base(torch):
    x = counted(torch, 3)
    v = x[1:]
    gone = weakref.ref(x)
    del x
    gc.collect()
    kept = gone() is not None and v._base is gone()
    del v
    gc.collect()
    return kept, gone() is None


@program
def a_base_does_not_keep_its_views(torch):
    a = leaf(torch, 3)
    x = a * 1
    v = x[1:]
    v.mul_(2)
    gone = weakref.ref(v)
    del v
    gc.collect()
    return gone() is None, gradients(torch, x, a)


@program
def nothing_is_left_of_a_graph_of_writes(torch):
    gc.collect()
    gc.disable()
    try:
        a = leaf(torch, 3)
        x = a * 1
        v = x[1:]
        v.mul_(a[1:])
        x.mul_(2)
        name(v)
        u = v[:1]
        u.exp_()
        kept = [weakref.ref(item) for item in (x, v, u)]
        del x, v, u
        return [item() is None for item in kept]
    finally:
        gc.enable()


@program
def a_regenerated_node_dies_with_its_view(torch):
    a = leaf(torch, 3)
    x = a * 1
    v = x[1:]
    x.mul_(2)

    class Mark:
        pass

    mark = Mark()
    v.grad_fn.metadata["mark"] = mark
    gone = weakref.ref(mark)
    del mark
    gc.collect()
    kept = gone() is not None and v.grad_fn.metadata["mark"] is gone()
    del v
    gc.collect()
    return kept, gone() is None


@program
def a_regenerated_node_of_a_replaced_view_dies(torch):
    """The node of a view's former place is not kept by the tensor."""
    a = leaf(torch, 3)
    x = a * 1
    v = x[1:]

    class Mark:
        pass

    mark = Mark()
    v.grad_fn.metadata["mark"] = mark
    gone = weakref.ref(mark)
    del mark
    x.mul_(2)
    name(v)
    gc.collect()
    return gone() is None


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_program(function):
    agree(function)
