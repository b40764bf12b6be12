"""``register_multi_grad_hook``: one hook for the gradients of several tensors."""

import gc
import threading
import weakref

import pytest
from harness import Programs, agree, attempt, leaf

import tapegrad

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


def leaves(torch, count):
    return [leaf(torch) for _ in range(count)]


def register(torch, tensors, hook, **mode):
    return torch.autograd.graph.register_multi_grad_hook(tensors, hook, **mode)


@program
def all_of_them(torch):
    a, b, c, d = leaves(torch, 4)
    seen, results = [], []
    handle = register(torch, (a, b, c, d), lambda grads: seen.append([type(grads).__name__, grads]))
    for run in (
        lambda: (a * b + c).sum().backward(),
        lambda: a.sum().backward(),
        lambda: (a * b * c * d).sum().backward(),
        lambda: torch.autograd.grad((a * b).sum(), a),
        lambda: (a * b).sum().backward(inputs=[b]),
        lambda: torch.autograd.grad((a * b).sum(), (a, b)),
        lambda: (a * b).sum().backward(inputs=[b, c]),
    ):
        results.append(attempt(run))
        seen.append("|")
    handle.remove()
    handle.remove()
    (a * b).sum().backward()
    return [seen, results, type(handle).__name__, isinstance(handle, torch.utils.hooks.RemovableHandle)]


@program
def any_of_them(torch):
    a, b, c, d = leaves(torch, 4)
    seen = []
    handle = register(torch, (a, torch.ones(3), b, c, d), seen.append, mode="any")
    for run in (
        lambda: (a * b + c).sum().backward(),
        lambda: a.sum().backward(),
        lambda: (a * b * c * d).sum().backward(),
        lambda: torch.autograd.grad((a * b).sum(), a),
        lambda: (a * b).sum().backward(inputs=[b]),
        lambda: torch.autograd.grad((a * b).sum(), (a, b)),
    ):
        run()
        seen.append("|")
    handle.remove()
    (a * b).sum().backward()
    return seen


@program
def which_comes_first(torch):
    seen, x = [], leaf(torch)
    a = x * 2
    b = a * 3
    c = b * 4
    register(torch, [a, b, c, x], seen.append, mode="any")
    c.sum().backward(retain_graph=True)
    b.sum().backward(retain_graph=True)
    a.sum().backward(retain_graph=True)
    return seen


@program
def tensors_along_one_path(torch):
    seen, x = [], leaf(torch)
    y = x * 2
    z = y.exp()
    register(torch, [z, y, x], lambda grads: seen.append(list(grads)))
    x.register_hook(lambda grad: seen.append("x"))
    for run in (
        lambda: z.sum().backward(retain_graph=True),
        lambda: y.sum().backward(retain_graph=True),
        lambda: torch.autograd.grad(z.sum(), y, retain_graph=True),
        lambda: torch.autograd.grad(z.sum(), (z, y), retain_graph=True),
    ):
        run()
        seen.append("|")
    return seen


@program
def the_root_itself(torch):
    seen, x = [], leaf(torch)
    y = x * 2
    z = y.sum()
    register(torch, [z, y, x], lambda grads: seen.append(list(grads)))
    register(torch, [z], lambda grads: seen.append(["root", *grads]))
    z.backward(retain_graph=True)
    z.backward(inputs=[x], retain_graph=True)
    torch.autograd.grad(z, y)
    return seen


@program
def one_tensor_twice(torch):
    seen, x = [], leaf(torch)
    register(torch, [x, x], lambda grads: seen.append(list(grads)))
    register(torch, [x, x], seen.append, mode="any")
    (x * 2).sum().backward()
    return seen


@program
def outputs_of_one_node(torch):
    seen = []
    a, b = leaf(torch, [[1.0, 2.0], [3.0, 4.0]]).unbind(0)
    register(torch, [a, b], lambda grads: seen.append(list(grads)))
    register(torch, [a, b], lambda grad: seen.append(["any", grad]), mode="any")
    (a * 2).sum().backward(retain_graph=True)
    (a * 2 + b).sum().backward()
    return seen


@program
def recorded(torch):
    seen, x = [], leaf(torch)
    register(torch, [x], lambda grads: seen.append([grad.requires_grad for grad in grads]))
    torch.autograd.grad((x**3).sum(), [y := x * 1], create_graph=True, allow_unused=True)
    (x**3).sum().backward()
    return [seen, y]


@program
def a_backward_that_fails_half_way(torch):
    x, w = leaves(torch, 2)
    seen, failing = [], [True]
    y, v = x * 1, w * 1

    def fail(grad):
        if failing[0]:
            raise ValueError("half-way")

    y.register_hook(fail)
    register(torch, [w, x, v, y], lambda grads: seen.append(list(grads)))
    register(torch, [w, x, v, y], lambda grad: seen.append("any"), mode="any")
    out = (y * v).sum()
    seen.append(attempt(lambda: out.backward(retain_graph=True)))
    failing[0] = False
    seen.append(attempt(out.backward))
    return seen


@program
def a_hook_that_fails(torch):
    def fail(grads):
        raise ValueError("mine")

    seen, x = [], leaf(torch)
    for mode in ("all", "any"):
        handle = register(torch, [x], fail, mode=mode)
        seen.append(attempt((x * 2).sum().backward))
        handle.remove()
        seen.append(attempt((x * 2).sum().backward))
    return [seen, x.grad]


@program
def what_it_returns_is_ignored(torch):
    x = leaf(torch)
    register(torch, [x], lambda grads: (grads[0] * 10,))
    register(torch, [x], lambda grad: grad * 10, mode="any")
    (x * 2).sum().backward()
    return x.grad


@program
def a_backward_inside_a_backward(torch):
    x, w = leaves(torch, 2)
    seen = []
    register(torch, [x, w], lambda grads: seen.append(list(grads)))
    register(torch, [x, w], lambda grad: seen.append(["any", grad]), mode="any")

    def inner(grad):
        with torch.enable_grad():
            (x * w * 5).sum().backward()

    y = x * 2
    y.register_hook(inner)
    (y + w).sum().backward()
    return [seen, x.grad, w.grad]


@program
def backwards_on_several_threads(torch):
    x, y = leaves(torch, 2)
    seen = []
    register(torch, [x, y], lambda grads: seen.append([grad is None for grad in grads]))
    register(torch, [x, y], lambda grad: seen.append("any"), mode="any")
    threads = [threading.Thread(target=lambda: (x * y).sum().backward()) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [seen.count("any"), seen.count([False, False]), len(seen)]


@program
def wrong_arguments(torch):
    x = leaf(torch)
    hook = torch.autograd.graph.register_multi_grad_hook
    return [
        attempt(lambda: hook((x,), print, mode="some")),
        attempt(lambda: hook((x,), print, mode=None)),
        attempt(lambda: hook((x,), print, "any")),
        attempt(lambda: hook((x,))),
        attempt(lambda: hook(5, print)),
        attempt(lambda: hook((5,), print)),
        attempt(lambda: hook((torch.ones(3),), print)),
        attempt(lambda: type(hook((torch.ones(3),), print, mode="any")).__name__),
        attempt(lambda: type(hook([], print)).__name__),
        attempt(lambda: hook((x,), print).id),
    ]


@program
def its_handle(torch):
    x = leaf(torch)
    one, two = register(torch, [x], print), register(torch, [x], print, mode="any")
    seen = [len(x._backward_hooks)]
    with one:
        pass
    seen += [len(x._backward_hooks), type(two.__getstate__()).__name__]
    again = type(two).__new__(type(two))
    again.__setstate__(two.__getstate__())
    again.remove()
    return [*seen, len(x._backward_hooks)]


@pytest.mark.parametrize("case", PROGRAMS, ids=lambda case: case.__name__)
def test_multi_grad_hooks(case):
    agree(case)


class Kept:
    """What the closure of a hook holds."""


@pytest.mark.parametrize("mode", ["all", "any"])
def test_they_are_freed_with_their_tensors(mode):
    """PyTorch's own, with mode "all", are part of a cycle that it does not collect."""
    gc.disable()
    try:
        x, kept = leaf(tapegrad), Kept()
        reference = weakref.ref(kept)

        def hook(grads, kept=kept):
            pass

        handle = register(tapegrad, [x], hook, mode=mode)
        del kept, hook
        (x * 2).sum().backward()
        del handle
        assert reference() is not None
        del x
        assert reference() is None
    finally:
        gc.enable()


def test_a_failed_backward_keeps_no_gradients():
    x = leaf(tapegrad)
    y = x * 1
    collected = []

    def fail(grad):
        raise ValueError("half-way")

    register(tapegrad, [y, x], collected.append)
    y.register_hook(lambda grad: collected.append(weakref.ref(grad)))
    y.register_hook(fail)
    with pytest.raises(ValueError, match="half-way"):
        (y * 2).sum().backward()
    gc.collect()
    assert [reference() for reference in collected] == [None]
