"""The graph API: the class of nodes, gradient edges, the arguments of ``backward`` and ``grad``, old names.

Beside these: ``test_graph.py`` has the shapes of graphs, ``test_engine_programs.py`` the order of execution.
"""

import collections
import gc
import weakref

import pytest
from harness import Programs, agree, attempt, leaf, warned

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


def edge(torch, tensor):
    return torch.autograd.graph.get_gradient_edge(tensor)


A, V = [[1.0, 2.0], [3.0, 4.0]], [1.0, 2.0]


# -- the class of nodes ------------------------------------------------------------------------------------------------


@program
def every_node_is_an_instance_of_node(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            kinds.append(isinstance(ctx, Node))
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            kinds.append(isinstance(ctx, Node))
            return grad * 2

    Node, kinds, x = torch.autograd.graph.Node, [], leaf(torch, V)
    y = Double.apply(x)
    y.sum().backward()
    functions = torch._C._functions
    nodes = [x.exp().grad_fn, x.unbind(0)[0].grad_fn, y.grad_fn, x.exp().grad_fn.next_functions[0][0]]
    nodes += [functions.DelayedError("no", 1)(x).grad_fn, functions.UndefinedGrad()(x).grad_fn]
    return [
        kinds,
        [[isinstance(node, Node), issubclass(type(node), Node), Node in type(node).__mro__] for node in nodes],
        [issubclass(getattr(functions, kind), Node) for kind in ("AccumulateGrad", "DelayedError", "UndefinedGrad")],
        [issubclass(kind, Node) for kind in (Node, int, torch.Tensor, torch.autograd.Function, Double)],
        [isinstance(value, Node) for value in (x, None, Double, type(nodes[0]))],
    ]


@program
def the_class_of_nodes_is_abstract(torch):
    Node = torch.autograd.graph.Node
    documented = ["name", "metadata", "register_hook", "register_prehook"]
    return (
        attempt(Node),
        sorted(Node.__abstractmethods__),
        [bool(getattr(Node, name).__doc__) for name in documented],
        [base.__name__ for base in Node.__mro__],
    )


@program
def nodes_and_accumulators_keep_their_identity(torch):
    x = leaf(torch, V)
    y = x * 2
    held = y.grad_fn.next_functions[0][0]
    again = x.sin()
    return [
        y.grad_fn is y.grad_fn,
        held is again.grad_fn.next_functions[0][0],
        held is edge(torch, x).node,
        held.variable is x,
        {y.grad_fn: "found"}[y.grad_fn],
    ]


@program
def a_tensor_dies_though_its_node_lives(torch):
    x = leaf(torch, V)
    y = x * 2
    z = y.exp()
    tensor = weakref.ref(y)
    gc.disable()
    try:
        del y
        account = [tensor() is None, z.grad_fn.next_functions[0][0].name()]
    finally:
        gc.enable()
    return account


@program
def input_metadata_of_all_kinds_of_nodes(torch):
    x = leaf(torch, A, dtype=torch.float64)
    nodes = [
        x.sum().grad_fn, x.to(torch.float32).grad_fn, x.unbind(0)[0].grad_fn, x.max(0)[0].grad_fn, x.sort()[0].grad_fn,
        torch.view_as_complex(x).grad_fn, edge(torch, x).node, x.topk(1)[0].grad_fn, x.split(1)[0].grad_fn,
    ]  # fmt: skip
    return [
        [[list(data.shape), str(data.dtype), str(data.device), data.is_nested_tensor] for data in node._input_metadata]
        for node in nodes
    ]


@program
def nodes_called_by_hand(torch):
    x = leaf(torch, V)
    y, (a, b) = x * 2, leaf(torch, A).unbind(0)
    seed = torch.ones(2)
    best = leaf(torch, A).max(0)[0].grad_fn
    return [
        y.grad_fn(seed),
        y.grad_fn(None),
        attempt(y.grad_fn),
        attempt(lambda: y.grad_fn(seed, seed)),
        attempt(lambda: y.grad_fn(grad=seed)),
        a.grad_fn(seed, None),
        a.grad_fn(None, seed),
        attempt(lambda: b.grad_fn(seed)),
        best(seed),
        attempt(lambda: best(seed, None)),
        edge(torch, x).node(seed),
        x.grad,
        attempt(edge(torch, x).node),
    ]


@program
def sequence_numbers_are_checked(torch):
    node, other = (leaf(torch, V) * 2).grad_fn, (leaf(torch, V) * 2).grad_fn
    other._set_sequence_nr(7)
    return [
        other._sequence_nr(),
        edge(torch, leaf(torch, V)).node._sequence_nr(),
        attempt(lambda: node._set_sequence_nr("first")),
        attempt(lambda: node._set_sequence_nr(-1)),
    ]


@program
def hook_dictionaries_can_be_registered_by_hand(torch):
    x, log = leaf(torch, V), []
    y = x * 2
    other = x * 3
    other.register_hook(lambda grad: log.append(grad))
    y.grad_fn._register_hook_dict(other)
    y.sum().backward()
    return log


@program
def undefined_gradients(torch):
    UndefinedGrad = torch._C._functions.UndefinedGrad
    x, c = leaf(torch, V), torch.ones(2)
    y = UndefinedGrad()(x * 1)
    account = [y, y.grad_fn.name(), type(y.grad_fn).__name__, UndefinedGrad().name()]
    (y + x).sum().backward()
    account.append(x.grad)
    account.append(torch.autograd.grad(UndefinedGrad()(x * 1).sum(), x, allow_unused=True))
    account += [UndefinedGrad()(c).grad_fn, UndefinedGrad()(None)]
    account += [attempt(lambda: UndefinedGrad()(x, x)), attempt(UndefinedGrad()), attempt(lambda: UndefinedGrad(1))]
    return account


@program
def delayed_errors(torch):
    DelayedError = torch._C._functions.DelayedError
    x, c = leaf(torch, V), torch.ones(2)
    y, z = DelayedError("not today", 2)(x, c)
    return [
        [y, y.grad_fn.name(), z, z.grad_fn is y.grad_fn, z.output_nr],
        attempt(lambda: y.sum().backward()),
        DelayedError("not today", 1)(c).grad_fn,
        attempt(lambda: DelayedError("not today", 1)(x, x)),
        attempt(DelayedError),
    ]


@program
def nodes_that_nobody_needs_do_not_run(torch):
    x, other = leaf(torch, V), leaf(torch, V)
    broken = torch._C._functions.DelayedError("must not run", 1)(other * 2)
    total = (x * 2 + broken).sum()
    account = [torch.autograd.grad(total, x, retain_graph=True)]
    total.backward(inputs=[x], retain_graph=True)
    return account, x.grad, attempt(total.backward)


# -- gradient edges ----------------------------------------------------------------------------------------------------


@program
def edges_as_targets(torch):
    x, c = leaf(torch, V), torch.ones(2)
    y = x.exp()
    a, b = (y * 2).unbind(0)
    end = a * 3 + b * c.sum()
    targets = [edge(torch, t) for t in (x, y, a, b)]
    account = [[target.node.name(), target.output_nr] for target in targets]
    account.append(torch.autograd.grad(end, targets, retain_graph=True))
    account.append(torch.autograd.grad(end, {"leaf": targets[0], "a": a}, retain_graph=True))
    torch.autograd.backward(end, inputs=targets[0], retain_graph=True)
    account.append(x.grad)
    torch.autograd.backward(end, inputs=targets[1], retain_graph=True)
    return account, x.grad, y.retains_grad


@program
def edges_as_roots(torch):
    x = leaf(torch, V)
    y = x.exp()
    a, b = (y * 2).unbind(0)
    roots = [edge(torch, t) for t in (a, b)]
    account = [torch.autograd.grad(roots, x, retain_graph=True)]
    account.append(torch.autograd.grad(roots, x, [torch.tensor(2.0), None], retain_graph=True))
    account.append(torch.autograd.grad([roots[0], a, y.sum()], x, retain_graph=True))
    account.append(torch.autograd.grad(edge(torch, x), edge(torch, x), torch.ones(2)))
    torch.autograd.backward(edge(torch, y), torch.ones(2), inputs=[x], retain_graph=True)
    account.append(x.grad)
    (second,) = torch.autograd.grad(edge(torch, y), x, torch.ones(2), create_graph=True)
    account.append(torch.autograd.grad(second.sum(), x))
    return account


@program
def an_edge_outlives_its_tensor(torch):
    x = leaf(torch, V)
    y = x.exp()
    target, end = edge(torch, y), (y * 3).sum()
    del y
    return torch.autograd.grad(end, target), edge(torch, x * 2).node.name()


@program
def an_edge_alone_keeps_the_graph(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = leaf(torch, V)
    root = edge(torch, Double.apply(x.exp()))
    gc.collect()
    account = [torch.autograd.grad(root, x, torch.ones(2)), root.node.name(), root.ownership_token is None]
    return account, edge(torch, x.exp()).ownership_token


@program
def edges_before_and_after_an_in_place_write(torch):
    x = leaf(torch, V)
    y = x * 3
    before = edge(torch, y)
    y.mul_(2)
    after, end = edge(torch, y), (y * 3).sum()
    account = [before.node is after.node, before.node.name(), after.node.name()]
    return account, torch.autograd.grad(end, [before, after, y, x])


@program
def mistakes_with_edges(torch):
    x = leaf(torch, V)
    y = x * 2
    GradientEdge, grad, backward = torch.autograd.graph.GradientEdge, torch.autograd.grad, torch.autograd.backward
    root, nowhere, c = edge(torch, x * 2), GradientEdge(None, 0), torch.ones(2)
    cases = [
        lambda: edge(torch, c),
        lambda: edge(torch, 3),
        lambda: edge(torch, None),
        lambda: GradientEdge(y.grad_fn),
        lambda: grad(root, x),
        lambda: grad(root, x, torch.ones(3)),
        lambda: grad(root, x, torch.ones(2, dtype=torch.complex64)),
        lambda: grad(root, x, torch.ones(2, 3), is_grads_batched=True),
        lambda: grad(edge(torch, (x * 2j).sum()), x),
        lambda: grad(edge(torch, leaf(torch, 1.0)), x),
        lambda: grad(edge(torch, leaf(torch, 1.0)), x, allow_unused=True),
        lambda: grad((x * 2).sum(), edge(torch, y)),
        lambda: grad((x * 2).sum(), edge(torch, y), allow_unused=True),
        lambda: grad((x * 2).sum(), [x, edge(torch, y)], materialize_grads=True),
        lambda: grad((y * 2).sum(), [edge(torch, y), leaf(torch, 1.0)], materialize_grads=True),
        lambda: grad(GradientEdge(y.grad_fn, 5), x),
        lambda: grad(nowhere, x),
        lambda: grad(x.sum(), nowhere),
        lambda: backward(x.sum(), inputs=nowhere),
        lambda: grad(edge(torch, x * 2), x, torch.ones(3, 2), is_grads_batched=True),
    ]
    return [attempt(case) for case in cases], GradientEdge._fields, x.grad


# -- arguments of backward and grad ------------------------------------------------------------------------------------


@program
def dictionaries_of_inputs(torch):
    x, unused = leaf(torch, V), leaf(torch, 1.0)
    grad, backward = torch.autograd.grad, torch.autograd.backward
    inputs = {"x": x, "unused": unused}
    account = [grad((x * 2).sum(), inputs, allow_unused=True), grad((x * 2).sum(), inputs, materialize_grads=True)]
    backward((x * 3).sum(), inputs={"x": x})
    (x * 4).sum().backward(inputs={"x": x})
    account.append(x.grad)
    for other in (collections.OrderedDict(x=x), collections.UserDict(x=x)):
        account.append(attempt(lambda: grad((x * 2).sum(), other)))  # noqa: B023 - called at once
        account.append(attempt(lambda: backward((x * 2).sum(), inputs=other)))  # noqa: B023
    return account, attempt(lambda: grad((x * 2).sum(), {})), attempt(lambda: backward((x * 2).sum(), inputs={}))


@program
def mistakes_with_roots_and_inputs(torch):
    x, c = leaf(torch, V), torch.ones(2)
    grad, backward = torch.autograd.grad, torch.autograd.backward

    def root():
        return (x * 2).sum()

    cases = [
        lambda: backward(None), lambda: backward(3), lambda: backward([3]), lambda: backward([]), lambda: backward(c),
        lambda: backward([root(), c]), lambda: backward([root(), c.sum()]), lambda: backward(x * 2),
        lambda: backward(root(), inputs=3), lambda: backward(root(), inputs=[3]), lambda: backward(root(), inputs=[]),
        lambda: backward(root(), inputs=c), lambda: backward(root(), inputs=[None]),
        lambda: grad(root(), c), lambda: grad(c, x), lambda: grad(root(), []), lambda: grad(root(), 3),
        lambda: grad(root(), [3]), lambda: grad(root(), None), lambda: grad(root(), [None]), lambda: grad(3, x),
        lambda: grad([], x), lambda: grad(None, x), lambda: grad(root(), leaf(torch, 1.0)),
        lambda: grad(root(), leaf(torch, 1.0), allow_unused=True), lambda: grad(x.argmax(), x),
        lambda: grad(root(), x, materialize_grads=True, allow_unused=False),
        lambda: grad(root(), c, materialize_grads=True), lambda: grad((root(), root()), (x, x)),
        lambda: root().backward(inputs=[]), lambda: c.sum().backward(), lambda: torch.tensor(1).backward(),
    ]  # fmt: skip
    return [attempt(case) for case in cases]


@program
def mistakes_with_seeds(torch):
    x = leaf(torch, V)
    grad, backward = torch.autograd.grad, torch.autograd.backward

    def root():
        return (x * 2).sum()

    cases = [
        lambda: backward(root(), 3), lambda: backward(root(), [3]), lambda: backward(root(), "ab"),
        lambda: backward(root(), []), lambda: backward(root(), [None, None]), lambda: backward(root(), torch.ones(3)),
        lambda: backward([root(), root()], torch.tensor(1.0)), lambda: grad(x * 2, x),
        lambda: grad(x * 2, x, torch.ones(2, dtype=torch.complex64)), lambda: grad((x * 1j).sum(), x),
        lambda: grad(x * 2, x, torch.ones(2, dtype=torch.float64)), lambda: grad(x * 2, x, torch.ones(2).long()),
        lambda: grad([x * 2, x * 2], x, [torch.ones(2)]), lambda: grad([x * 2], x, [torch.ones(2), torch.ones(2)]),
        lambda: root().backward(gradient=3), lambda: root().backward(torch.ones(3)),
    ]  # fmt: skip
    return [attempt(case) for case in cases]


@program
def mistakes_with_batched_seeds(torch):
    x = leaf(torch, V)

    def batched(root, seeds):
        return attempt(lambda: torch.autograd.grad(root, x, seeds, is_grads_batched=True))

    return [
        batched(x * 2, torch.ones(3, 2)),
        batched(x * 2, torch.ones(2, 3)),
        batched(x * 2, torch.tensor(1.0)),
        batched(x * 2, torch.ones(0, 2)),
        batched(x * 2, None),
        batched((x * 2).sum(), None),
        batched([x * 2, x * 3], [torch.ones(2, 2), torch.ones(3, 2)]),
        batched([x * 2, x.sum()], [torch.ones(2, 2), torch.ones(2)]),
    ]


@program
def flags_must_be_integers(torch):
    x = leaf(torch, V)
    grad, backward = torch.autograd.grad, torch.autograd.backward
    cases = [
        lambda: grad(x.sum(), x, retain_graph="yes"), lambda: grad(x.sum(), x, create_graph="yes"),
        lambda: grad(x.sum(), x, create_graph=None), lambda: grad(x.sum(), x, retain_graph=1.5),
        lambda: grad(x.sum(), x, allow_unused="yes"), lambda: backward(x.sum(), retain_graph="yes"),
        lambda: backward(x.sum(), retain_graph=2), lambda: grad(x.exp().sum(), x, create_graph=1),
    ]  # fmt: skip
    return [attempt(case) for case in cases]


@program
def deprecated_arguments(torch):
    x, seed = leaf(torch, V), torch.tensor(2.0)

    def old():
        torch.autograd.backward((x * 2).sum(), grad_variables=seed)

    def both():
        attempt(lambda: torch.autograd.backward((x * 2).sum(), seed, grad_variables=seed))

    warnings = warned(old), warned(both), warned(lambda: torch.autograd.grad(x.sum(), x, only_inputs=False))
    return warnings, x.grad, attempt(lambda: torch.autograd.variable(3))


@program
def classes_can_override_backward_and_grad(torch):
    log = []

    class Named(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func in (torch.autograd.grad, torch.autograd.backward):
                log.append([func.__name__, [kind.__name__ for kind in types], len(args), sorted(kwargs)])
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.ones(2).as_subclass(Named).requires_grad_()
    y = (x * 2).sum()
    results = torch.autograd.grad(y, x, retain_graph=True), torch.autograd.grad(y, {"x": x}, retain_graph=True)
    torch.autograd.backward(y, inputs=[x])
    kinds = type(results[0][0]).__name__, type(results[1]["x"]).__name__, type(x.grad).__name__
    return log, kinds, x.grad.tolist()


# -- old names ---------------------------------------------------------------------------------------------------------


@program
def variables(torch):
    Variable, c, x = torch.autograd.Variable, torch.ones(2), leaf(torch, V)
    made = [Variable(c), Variable(c, requires_grad=True), Variable(c, True), Variable(data=c), Variable(x)]
    made += [Variable(x * 2), Variable(), Variable(None)]
    v = Variable(c)
    v.add_(1)
    return [
        made,
        [m.is_leaf for m in made],
        [type(m).__name__ for m in made],
        [isinstance(value, Variable) for value in (c, x, 3, None)],
        [c, c._version, v._version, v is c, issubclass(torch.Tensor, Variable)],
        [attempt(lambda: Variable([1.0])), attempt(lambda: Variable(3))],
        attempt(lambda: Variable(torch.ones(2).long(), requires_grad=True)),
        warned(lambda: Variable(c, volatile=True)),
        torch.autograd.variable.Variable is Variable,
    ]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_program(function):
    agree(function)
