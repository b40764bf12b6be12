"""Hooks of nodes: ``register_prehook`` and ``register_hook``, and which hooks run where gradients are captured."""

import pytest
from harness import Programs, agree, attempt, leaf

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


def rows(torch):
    """A leaf, the outputs of its ``unbind``, and their node."""
    x = leaf(torch, [[1.0, 2.0], [3.0, 4.0]])
    a, b = x.unbind(0)
    return x, a, b, a.grad_fn


def returning(value):
    def hook(*args):
        return value

    return hook


@program
def several_outputs(torch):
    x, a, _, node = rows(torch)
    seen = []
    node.register_prehook(lambda grads: seen.append(["pre", *grads]))
    node.register_hook(lambda inputs, outputs: seen.append(["post", len(inputs), *inputs, *outputs]))
    (a * 2).sum().backward()
    return [seen, x.grad]


@program
def prehooks_replace(torch):
    seen = []
    for replace in (
        lambda grads: (grads[0] * 10, None),
        lambda grads: (None, grads[1]),
        lambda grads: (None, None),
        lambda grads: None,
    ):
        x, a, b, node = rows(torch)
        node.register_prehook(replace)
        node.register_prehook(lambda grads: seen.append(list(grads)))
        node.register_hook(lambda inputs, outputs: seen.append([*inputs, *outputs]))
        (a.sum() + (b * 3).sum()).backward()
        seen.append(x.grad)
    return seen


@program
def posthooks_replace(torch):
    seen = []
    for replace in (
        lambda inputs, outputs: (inputs[0] * 3, None),
        lambda inputs, outputs: (None, None),
        lambda inputs, outputs: (inputs[0], outputs[0]),
        lambda inputs, outputs: None,
    ):
        x = leaf(torch)
        y = x * 2
        y.grad_fn.register_hook(replace)
        y.grad_fn.register_hook(lambda inputs, outputs: seen.append([*inputs, *outputs]))
        seen.append([attempt(lambda y=y: y.sum().backward()), x.grad])
    return seen


@program
def a_gradient_where_there_was_none(torch):
    _, a, _, node = rows(torch)
    node.register_prehook(lambda grads: (grads[0] * 10, torch.ones(2)))
    return attempt(lambda: (a * 2).sum().backward())


@program
def wrong_returns(torch):
    ones = torch.ones(3)
    values = [
        1, "s", ones, [ones], (), {}, (ones,) * 3, (torch.ones(2),), (torch.ones(3, dtype=torch.float64),), (5,),
        ((ones,),), (torch.ones(2), None), (3, None), [ones, None], (ones * 7, None), (ones * 7,),
    ]  # fmt: skip
    seen = []
    for value in values:
        for operator in (lambda x: x * 2, lambda x: x.exp()):
            for kind in ("register_prehook", "register_hook"):
                x = leaf(torch)
                y = operator(x)
                getattr(y.grad_fn, kind)(returning(value))
                seen.append([attempt(lambda y=y: y.sum().backward()), x.grad])
    return seen


@program
def wrong_returns_at_an_accumulator(torch):
    seen = []
    for value in ((), (torch.ones(3),), torch.ones(3), 1):
        x = leaf(torch)
        y = x * 2
        y.grad_fn.next_functions[0][0].register_hook(returning(value))
        seen.append([attempt(lambda y=y: y.sum().backward()), x.grad])
    return seen


@program
def wrong_signatures(torch):
    seen = []
    for kind in ("register_prehook", "register_hook"):
        for hook in (lambda: None, lambda a, b, c: None, 5, None):
            y = leaf(torch) * 2
            getattr(y.grad_fn, kind)(hook)
            seen.append(attempt(lambda y=y: y.sum().backward()))
    return seen


@program
def hooks_are_given_tuples(torch):
    y, seen = leaf(torch) * 2, []
    y.grad_fn.register_prehook(lambda *args: seen.append([type(arg).__name__ for arg in args]))
    y.grad_fn.register_hook(lambda *args: seen.append([type(arg).__name__ for arg in args]))
    y.sum().backward()
    return seen


@program
def gradients_are_changed_in_place(torch):
    x, seen = leaf(torch), []
    y = x.exp()

    def triple(grads):
        grads[0].mul_(3)

    def double(inputs, outputs):
        inputs[0].mul_(2)
        outputs[0].mul_(5)

    y.grad_fn.register_prehook(triple)
    y.grad_fn.register_hook(double)
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append([inputs[0].clone(), outputs[0].clone()]))
    (y * 1).backward(torch.ones(3))
    return [x.grad, seen]


@program
def removed_one_by_one(torch):
    y, seen = leaf(torch) * 2, []
    node = y.grad_fn
    handles = [
        node.register_prehook(lambda grads: seen.append("pre 1")),
        node.register_hook(lambda inputs, outputs: seen.append("post 2")),
        node.register_prehook(lambda grads: seen.append("pre 2")),
        node.register_hook(lambda inputs, outputs: seen.append("post 1")),
    ]
    for handle in handles:
        y.sum().backward(retain_graph=True)
        handle.remove()
        handle.remove()
        seen.append("|")
    y.sum().backward()
    return seen


@program
def removed_while_running(torch):
    y, seen, handles = leaf(torch) * 2, [], {}

    def remove(name, *others):
        def hook(*args):
            seen.append(name)
            for other in others:
                handles[other].remove()

        return hook

    node = y.grad_fn
    handles["p1"] = node.register_prehook(remove("p1"))
    handles["p2"] = node.register_prehook(remove("p2", "p1", "p2", "p3"))
    handles["p3"] = node.register_prehook(remove("p3"))
    handles["q1"] = node.register_hook(remove("q1", "q1"))
    handles["q2"] = node.register_hook(remove("q2", "q3"))
    handles["q3"] = node.register_hook(remove("q3"))
    results = [attempt(lambda: y.sum().backward(retain_graph=True)) for _ in range(2)]
    return [seen, results]


@program
def registered_while_running(torch):
    seen = []

    def watch(register, *later):
        def hook(*args):
            seen.append("first")
            for node, kind in later:
                getattr(node, kind)(lambda *args, kind=kind: seen.append(kind))

        register(hook)

    y = leaf(torch) * 2
    watch(y.grad_fn.register_prehook, (y.grad_fn, "register_hook"))
    z = leaf(torch) * 2
    watch(z.register_hook, (z.grad_fn, "register_prehook"), (z.grad_fn, "register_hook"))
    w = leaf(torch) * 2
    watch(w.grad_fn.register_hook, (w.grad_fn, "register_hook"))
    results = []
    for out in (y, z, w):
        results += [attempt(lambda out=out: out.sum().backward(retain_graph=True)) for _ in range(2)]
        seen.append("|")
    return [seen, results]


@program
def posthooks_registered_in_an_unpack_hook(torch):
    seen, nodes = [], []

    def unpack(packed):
        nodes[0].register_hook(lambda inputs, outputs: seen.append(["late", *inputs, *outputs]))
        return packed

    for early in (False, True):
        with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, unpack):
            y = leaf(torch).exp()
        nodes[:] = [y.grad_fn]
        if early:
            y.grad_fn.register_hook(lambda inputs, outputs: seen.append(["early", *outputs]))
        y.sum().backward(retain_graph=True)
        seen.append("|")
        y.sum().backward()
        seen.append("|")
    return seen


@program
def a_custom_function(torch):
    seen = []

    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, scale):
            return x * scale, x + 1

        @staticmethod
        def backward(ctx, one, two):
            seen.append(["backward", one, two])
            return one * 2 + two, None

    x = leaf(torch)
    a, b = Both.apply(x, 2.0)
    a.register_hook(lambda grad: seen.append(["a", grad]))
    b.register_hook(lambda grad: seen.append(["b", grad]))
    node = a.grad_fn
    node.register_prehook(lambda grads: (grads[0] * 3, grads[1]))
    node.register_prehook(lambda grads: seen.append(["pre", *grads]))
    node.register_hook(lambda inputs, outputs: (inputs[0] * 5,))
    node.register_hook(lambda inputs, outputs: seen.append(["post", *inputs, *outputs]))
    a.retain_grad()
    a.sum().backward(retain_graph=True)
    (a.sum() + b.sum()).backward()
    return [seen, a.grad, x.grad]


@program
def a_custom_function_written_in_place(torch):
    seen = []

    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x + 1

        @staticmethod
        def backward(ctx, one, two):
            return one * 2 + two

    x = leaf(torch)
    a, b = Both.apply(x)
    a.register_hook(lambda grad: seen.append(["a", grad]))
    b.register_hook(lambda grad: seen.append(["b", grad]))
    a.retain_grad()
    a *= 3
    a.register_hook(lambda grad: seen.append(["new a", grad]))
    (a.sum() + b.sum()).backward()
    return [seen, a.grad, x.grad, a.retains_grad]


@program
def a_hook_that_records(torch):
    x = leaf(torch)
    y = x**3
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * inputs[0],))
    y.grad_fn.register_prehook(lambda grads: (grads[0] ** 2,))
    (first,) = torch.autograd.grad((y**2).sum(), x, create_graph=True)
    return [first, torch.autograd.grad(first.sum(), x)]


# -- captured gradients ------------------------------------------------------------------------------------------------


@program
def which_hooks_run_where_gradients_are_captured(torch):
    seen = []
    x = leaf(torch)
    y = x * 2
    z = y.exp()
    out = z.sum()
    y.register_hook(lambda grad: seen.append("tensor y"))
    y.register_hook(lambda grad: grad * 2)
    y.grad_fn.register_prehook(lambda grads: seen.append("pre y"))
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append("post y"))
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 100,))
    z.grad_fn.register_prehook(lambda grads: seen.append("pre z"))
    z.grad_fn.register_hook(lambda inputs, outputs: seen.append("post z"))
    for inputs in ([y], [y, x], [x], [z], [z, y, x]):
        seen += ["|", torch.autograd.grad(out, inputs, retain_graph=True)]
    for inputs in ([y], [y, x], [x]):
        x.grad = y.grad = None
        out.backward(inputs=inputs, retain_graph=True)
        seen += ["|", y.grad, x.grad]
    return seen


@program
def captured_and_retained(torch):
    x = leaf(torch)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda grad: grad * 2)
    out = (y**2).sum()
    both = torch.autograd.grad(out, (x, y), retain_graph=True)
    alone = torch.autograd.grad(out, y, retain_graph=True)
    return [both, alone, y.grad, x.grad]


@program
def hooks_of_leaves_that_are_captured_or_left_out(torch):
    x, w, seen = leaf(torch), leaf(torch), []
    y = (x * 2 + w * 3).sum()
    nodes = {name: tensor.view(3).grad_fn.next_functions[0][0] for name, tensor in (("x", x), ("w", w))}
    for name, tensor in (("x", x), ("w", w)):
        nodes[name].register_prehook(lambda grads, name=name: seen.append(f"pre {name}"))
        nodes[name].register_hook(lambda inputs, outputs, name=name: seen.append(f"post {name}"))
        tensor.register_hook(lambda grad, name=name: seen.append(f"tensor {name}"))
        tensor.register_post_accumulate_grad_hook(lambda tensor, name=name: seen.append(f"accumulated {name}"))
    torch.autograd.grad(y, x, retain_graph=True)
    for inputs in ([w], [x, w], None):
        seen.append("|")
        y.backward(inputs=inputs, retain_graph=True)
    return seen


@program
def a_captured_leaf_sees_its_tensor_hooks_only(torch):
    x = leaf(torch)
    y = x * 2
    y.grad_fn.next_functions[0][0].register_prehook(lambda grads: (grads[0] * 7,))
    x.register_hook(lambda grad: grad * 2)
    return torch.autograd.grad(y.sum(), x)


@program
def gradients_of_outputs_that_have_none(torch):
    """A node takes no gradients of the factors and statistics that it gives besides."""
    x, functional = torch.tensor([[3.0, 1.0], [1.0, 2.0]], requires_grad=True), torch.nn.functional
    seen = []
    for y in (
        torch.linalg.solve(x, x), torch.linalg.solve_ex(x, x)[0], torch.linalg.det(x), torch.linalg.slogdet(x)[1],
        torch.linalg.lstsq(x, x)[0], functional.batch_norm(x, None, None, training=True),
        functional.multilabel_margin_loss(x, torch.tensor([[0, -1], [1, -1]])), functional.layer_norm(x, (2,)),
    ):  # fmt: skip
        y.grad_fn.register_hook(lambda inputs, outputs: seen.append([len(inputs), len(outputs)]))
        torch.autograd.grad(y.sum(), x, create_graph=True)
    return seen


@program
def callbacks_at_the_end(torch):
    seen = []
    queue = torch.autograd.Variable._execution_engine.queue_callback

    def hook(grad):
        queue(lambda: (seen.append("one"), queue(lambda: seen.append("three"))))
        queue(lambda: seen.append("two"))

    x = leaf(torch)
    x.register_hook(hook)
    x.register_post_accumulate_grad_hook(lambda tensor: seen.append("accumulated"))
    (x * 2).sum().backward()

    def fail():
        raise ValueError("in a callback")

    w = leaf(torch)
    w.register_hook(lambda grad: queue(fail))
    seen.append(attempt(lambda: (w * 2).sum().backward()))
    return [seen, w.grad]


@pytest.mark.parametrize("case", PROGRAMS, ids=lambda case: case.__name__)
def test_node_hooks(case):
    agree(case)
