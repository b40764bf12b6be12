"""Hooks of tensors: ``register_hook`` and ``register_post_accumulate_grad_hook``."""

import functools

import pytest
from harness import Programs, agree, attempt, leaf

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


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
def what_hooks_after_accumulation_return(torch):
    """It is an error, but of all hooks together, and each is given what the last has returned."""
    answers = [lambda t: t.grad.mul_(2), lambda t: t, lambda t: None, lambda t: 3, lambda t: torch.ones(1),
               lambda t: t.double()]  # fmt: skip

    def run(answer):
        x, seen = leaf(torch), []
        x.register_post_accumulate_grad_hook(answer)
        x.register_post_accumulate_grad_hook(lambda tensor: seen.append([tensor is x, tensor.tolist()]))
        return attempt(lambda: (x * 3).sum().backward()), seen, x.grad

    return [run(answer) for answer in answers]


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


@pytest.mark.filterwarnings("ignore:Using backward\\(\\) with create_graph=True")
@pytest.mark.parametrize("case", PROGRAMS, ids=lambda case: case.__name__)
def test_hooks(case):
    agree(case)
