"""The graph API: the class of nodes, gradient edges, version counters, old names, and what a hook can ask of a backward.

Beside the programs: ``test_graph.py`` has the shapes of graphs, ``test_engine_programs.py`` the order of execution.
"""

import collections
import gc
import logging
import re
import weakref

import pytest
from harness import agree, attempt, warned

pytestmark = pytest.mark.parity

PROGRAMS = []


def program(function):
    """Collects a program: a function of the module which tells what it saw."""
    PROGRAMS.append(function)
    return function


def leaf(torch, values, **options):
    return torch.tensor(values, requires_grad=True, **options)


def edge(torch, tensor):
    return torch.autograd.graph.get_gradient_edge(tensor)


def names(nodes):
    return [node.name().rpartition(":")[2] for node in nodes]


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
        [issubclass(kind, Node) for kind in (functions.AccumulateGrad, functions.DelayedError, functions.UndefinedGrad)],
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
    held = weakref.ref(y.grad_fn.next_functions[0][0])
    again = x.sin()
    return [
        y.grad_fn is y.grad_fn,
        held() is again.grad_fn.next_functions[0][0],
        held() is edge(torch, x).node,
        held().variable is x,
        {y.grad_fn: "found"}[y.grad_fn],
    ]


@program
def a_node_dies_with_its_tensors(torch):
    x = leaf(torch, V)
    y = x * 2
    z = y.exp()
    node = weakref.ref(y)
    gc.disable()
    try:
        del y
        account = [node() is None, z.grad_fn.next_functions[0][0].name()]
    finally:
        gc.enable()
    return account


@program
def input_metadata_of_all_kinds_of_nodes(torch):
    x = leaf(torch, A, dtype=torch.float64)
    nodes = [
        x.sum().grad_fn, x.to(torch.float32).grad_fn, x.unbind(0)[0].grad_fn, x.max(0)[0].grad_fn, x.sort()[0].grad_fn,
        torch.view_as_complex(x).grad_fn, edge(torch, x).node, x.topk(1)[0].grad_fn, torch.slogdet(x)[1].grad_fn,
    ] if hasattr(torch, "slogdet") else []  # fmt: skip
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
        torch.autograd.grad((y + x).sum(), c, allow_unused=True) if False else None,
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
    y = x.exp()
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


# -- version counters --------------------------------------------------------------------------------------------------


@program
def versions_can_be_raised(torch):
    raise_, c, x = torch.autograd.graph.increment_version, torch.ones(2), leaf(torch, V)
    raise_(c)
    raise_([c, x])
    raise_(iter((c,)))
    counted = [c._version, x._version]
    for kind in (torch.int64, torch.bool, torch.complex64):
        t = torch.ones(2, dtype=kind)
        raise_(t)
        counted.append(t._version)
    cases = [lambda: raise_(3), lambda: raise_([3]), lambda: raise_([]), lambda: raise_(None), lambda: raise_((c, 3))]
    return counted, [attempt(case) for case in cases], c._version


@program
def who_shares_a_raised_version(torch):
    raise_, c = torch.autograd.graph.increment_version, torch.ones(4)
    detached, data, view = c.detach(), c.data, c.view(2, 2)
    raise_(detached)
    raise_(data)
    account = [c._version, detached._version, data._version, view._version]
    raise_(view)
    return account, [c._version, detached._version, data._version, view._version]


@program
def a_raised_version_is_noticed(torch):
    x, w = leaf(torch, V), torch.ones(2)
    product, y = (x * w).sum(), x.exp()
    total = y.sum()
    torch.autograd.graph.increment_version([w, y])
    return attempt(product.backward), attempt(total.backward)


@program
def versions_can_be_set(torch):
    set_, c, d = torch._C._autograd._unsafe_set_version_counter, torch.ones(2), torch.ones(2)
    set_((c, d), (7, 2))
    account = [c._version, d._version]
    set_([c], [1])
    text = "_unsafe_set_version_counter(): incompatible function arguments."
    wrong = [(c, 1), ((c, 3), (1, 2)), ((c,), ("a",)), ((c,), (1.5,))]
    kinds = [attempt(lambda: set_(*case)) for case in wrong]  # noqa: B023 - called at once
    return [
        account,
        c._version,
        attempt(lambda: set_((c,), (-1,))),
        attempt(lambda: set_((c, c), (1,))),
        attempt(lambda: set_((), ())),
        [[kind[1], kind[2].startswith(text)] for kind in kinds],
        c._version,
    ]


@program
def writes_can_be_hidden(torch):
    preserve = torch.autograd._unsafe_preserve_version_counter
    c, d = torch.ones(2), torch.ones(3)
    d.add_(1)
    account = []
    with preserve(c):
        account.append(c.mul_(2)._version)
    with preserve((c, d)):
        account.append([c.mul_(2)._version, d.mul_(2)._version])
    account.append([c._version, d._version, c, d])

    @preserve(c)
    def write():
        return c.add_(1)._version

    account += [write(), c._version]
    return account, attempt(lambda: preserve([c])), attempt(lambda: preserve((3,)))


@program
def backward_after_hidden_writes(torch):
    preserve, x, w = torch.autograd._unsafe_preserve_version_counter, leaf(torch, V), torch.ones(2) * 3
    first = (x * w).sum()
    with preserve(w):
        w.mul_(2)
    first.backward()
    second = (x * w).sum()
    w.mul_(1)
    torch._C._autograd._unsafe_set_version_counter((w,), (0,))
    second.backward()
    y = x.exp()
    kept = y.sum()
    with preserve(y), torch.no_grad():
        y.mul_(2).div_(2)
    kept.backward()
    return x.grad


# -- what a hook can ask -----------------------------------------------------------------------------------------------


@program
def questions_outside_of_backward(torch):
    node = (leaf(torch, V) * 2).grad_fn
    return [
        torch._C._current_graph_task_id(),
        torch._C._current_autograd_node(),
        torch._C._autograd._get_current_graph_task_keep_graph(),
        attempt(torch._C._current_graph_task_execution_order),
        attempt(lambda: torch._C._will_engine_execute_node(node)),
        attempt(lambda: torch.autograd.Variable._execution_engine.queue_callback(print)),
        torch.autograd._is_checkpoint_valid(),
        torch._C._get_graph_exec_group(),
    ]


def asked(torch, question, run):
    """What a question is answered inside of a backward call: ``y * 2 + y * 3`` where ``y = x * 2``, summed."""
    x, answers = leaf(torch, V), []
    y = x * 2
    end = (y * 2 + y * 3).sum()
    y.register_hook(lambda grad: answers.append(attempt(lambda: question(x, y, end))))
    run(x, y, end)
    return answers


CALLS = {
    "backward": lambda torch, x, y, end: end.backward(),
    "backward, graph kept": lambda torch, x, y, end: end.backward(retain_graph=True),
    "backward to the leaf": lambda torch, x, y, end: end.backward(inputs=[x]),
    "backward to y": lambda torch, x, y, end: end.backward(inputs=[y]),
    "backward from two roots": lambda torch, x, y, end: torch.autograd.backward([end, y.sum()]),
    "grad of the leaf": lambda torch, x, y, end: torch.autograd.grad(end, x),
    "grad of y": lambda torch, x, y, end: torch.autograd.grad(end, y),
    "grad of both": lambda torch, x, y, end: torch.autograd.grad(end, [x, y]),
    "grad of both, graph made": lambda torch, x, y, end: torch.autograd.grad(end, [x, y], create_graph=True),
    "grad of an edge": lambda torch, x, y, end: torch.autograd.grad(end, edge(torch, y)),
}

QUESTIONS = {
    "is there a number": lambda torch, x, y, end: torch._C._current_graph_task_id() >= 0,
    "is the graph kept": lambda torch, x, y, end: torch._C._autograd._get_current_graph_task_keep_graph(),
    "which node runs": lambda torch, x, y, end: torch._C._current_autograd_node() is y.grad_fn,
    "is a checkpoint valid": lambda torch, x, y, end: torch.autograd._is_checkpoint_valid(),
    "is the root run": lambda torch, x, y, end: torch._C._will_engine_execute_node(end.grad_fn),
    "is y run": lambda torch, x, y, end: torch._C._will_engine_execute_node(y.grad_fn),
    "is the leaf run": lambda torch, x, y, end: torch._C._will_engine_execute_node(edge(torch, x).node),
    "is another node run": lambda torch, x, y, end: torch._C._will_engine_execute_node(edge(torch, x * 5).node),
    "is a tensor run": lambda torch, x, y, end: torch._C._will_engine_execute_node(x),
    "is None run": lambda torch, x, y, end: torch._C._will_engine_execute_node(None),
    "in which order, with threads": lambda torch, x, y, end: torch._C._current_graph_task_execution_order(),
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("call", CALLS)
def test_inside_of(call, question):
    def program(torch):
        ask, run = QUESTIONS[question], CALLS[call]
        return asked(torch, lambda *state: ask(torch, *state), lambda *state: run(torch, *state))

    agree(program)


@program
def backward_calls_are_numbered(torch):
    account, C = [], torch._C

    def number():
        seen, x = [], leaf(torch, V)
        y = x * 2
        y.register_hook(lambda grad: seen.append(C._current_graph_task_id()))
        y.sum().backward()
        return seen[0]

    first = number()
    account.append([number() - first, number() - first, C._current_graph_task_id()])
    x = leaf(torch, V)
    y = x * 2

    def nested(grad):
        outer, node = C._current_graph_task_id(), C._current_autograd_node()
        with torch.enable_grad():
            account.append([number() - outer, number() - outer, C._current_graph_task_id() - outer])
        account.append(C._current_autograd_node() is node)

    y.register_hook(nested)
    y.sum().backward()
    return account, C._current_graph_task_id()


@program
def the_node_that_runs_now(torch):
    seen, current, x = [], torch._C._current_autograd_node, leaf(torch, V)
    a = x * 2
    b = a.exp()
    accumulator = edge(torch, x).node
    a.register_hook(lambda grad: seen.append(current() is a.grad_fn))
    a.grad_fn.register_prehook(lambda grads: seen.append(current() is a.grad_fn))
    a.grad_fn.register_hook(lambda *grads: seen.append(current() is a.grad_fn))
    x.register_hook(lambda grad: seen.append(current() is accumulator))
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append(current() is accumulator))
    queue = torch.autograd.Variable._execution_engine.queue_callback
    b.register_hook(lambda grad: queue(lambda: seen.append([current(), torch._C._current_graph_task_id() >= 0])))
    b.sum().backward()
    return seen, current()


@program
def checkpoints_are_valid_if_all_calls_reach_everything(torch):
    seen, valid = [], torch.autograd._is_checkpoint_valid

    def inner():
        x = leaf(torch, V)
        y = x * 2
        y.register_hook(lambda grad: seen.append(valid()))
        with torch.enable_grad():
            y.sum().backward()
        seen.append(valid())

    for run in (lambda y, x: y.backward(), lambda y, x: torch.autograd.grad(y, x), lambda y, x: y.backward(inputs=[x])):
        x = leaf(torch, V)
        y = x * 2
        y.register_hook(lambda grad: inner())
        run(y.sum(), x)
    return seen, valid(), torch.autograd.Variable._execution_engine.is_checkpoint_valid()


def order_of(build, run):
    """A program: the order foretold by the first node of a backward call, and the order in which nodes then run."""

    def program(torch):
        made = build(torch)
        foretold, seen = [], []
        first = next(iter(made.values()))
        first.register_hook(lambda grad: foretold.extend(names(torch._C._current_graph_task_execution_order())))
        for name, tensor in made.items():
            tensor.register_hook(lambda grad, name=name: seen.append(name))
        with torch.autograd.set_multithreading_enabled(False):
            run(torch, **made)
        return foretold, seen

    return program


def two_leaves(torch):
    a, b = leaf(torch, 1.0), leaf(torch, 2.0)
    c, d = b.sin(), a.cos()
    return {"out": c * d, "c": c, "d": d, "a": a, "b": b}


def one_leaf_twice(torch):
    a = leaf(torch, 1.0)
    b, c = a.sin(), a.cos()
    return {"out": b * c, "b": b, "c": c, "a": a}


def two_ends(torch):
    a = leaf(torch, 1.0)
    b, c = a * 2, a.cos()
    first, second = b.sin(), c.exp()
    return {"second": second, "first": first, "b": b, "c": c, "a": a}


def chain(torch):
    a = leaf(torch, 1.0)
    b = a.sin()
    return {"out": b.exp(), "b": b, "a": a}


def renumbered(torch):
    made = two_leaves(torch)
    made["c"].grad_fn._set_sequence_nr(made["d"].grad_fn._sequence_nr() + 5)
    return made


def diamond(torch):
    a = leaf(torch, 1.0)
    b = a.sin()
    c, d = b.exp(), b.cos()
    b.grad_fn._set_sequence_nr(d.grad_fn._sequence_nr() + 50)
    return {"out": c * d, "c": c, "d": d, "b": b, "a": a}


ORDERS = {
    "a chain": (chain, lambda torch, out, **rest: out.backward()),
    "two leaves": (two_leaves, lambda torch, out, **rest: out.backward()),
    "one leaf twice": (one_leaf_twice, lambda torch, out, **rest: out.backward()),
    "two roots": (two_ends, lambda torch, first, second, **rest: torch.autograd.backward((first, second))),
    "inputs on one path": (chain, lambda torch, out, a, b, **rest: torch.autograd.grad(out, (a, b))),
    "an inner input": (one_leaf_twice, lambda torch, out, b, **rest: torch.autograd.grad(out, (b,))),
    "backward to one leaf": (two_leaves, lambda torch, out, a, **rest: out.backward(inputs=(a,))),
    "backward to an inner tensor": (two_leaves, lambda torch, out, c, **rest: out.backward(inputs=(c,))),
    "sequence numbers changed": (renumbered, lambda torch, out, **rest: out.backward()),
    "a node numbered above its successors": (diamond, lambda torch, out, **rest: out.backward()),
}


@pytest.mark.parametrize("name", ORDERS)
def test_the_order_is_foretold(name):
    agree(order_of(*ORDERS[name]))


def test_the_order_foretold_can_differ():
    """The comparison sees a graph whose numbers are changed behind its back."""
    foretold = order_of(*ORDERS["two leaves"]), order_of(*ORDERS["sequence numbers changed"])
    with pytest.raises(AssertionError):
        agree(lambda torch: foretold[torch.__name__ == "torch"](torch))


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


@program
def callbacks_at_the_end_of_backward(torch):
    log, queue, x = [], torch.autograd.Variable._execution_engine.queue_callback, leaf(torch, V)
    y = x * 2

    def at_end():
        log.append(["end", x.grad is not None, torch.is_grad_enabled()])
        queue(lambda: log.append("after the end"))

    y.register_hook(lambda grad: (queue(at_end), log.append("hook"))[1])
    y.sum().backward()
    return log, attempt(lambda: queue(at_end))


@program
def multithreading_is_a_flag(torch):
    enabled, set_ = torch.autograd.is_multithreading_enabled, torch.autograd.set_multithreading_enabled
    account = [enabled()]
    with set_(False):
        account.append(enabled())
        with set_(True):
            account.append(enabled())
        account.append(enabled())
    account.append(enabled())
    set_(False)
    account += [enabled(), torch._C._is_multithreading_enabled()]
    set_(True)

    @set_(False)
    def decorated():
        return enabled()

    account += [enabled(), decorated(), enabled()]
    torch._C._set_multithreading_enabled(True)
    return account, enabled(), attempt(lambda: set_(1)), attempt(lambda: set_("yes"))


@program
def groups_of_backward_calls(torch):
    torch._C._set_graph_exec_group("group")
    account = [torch._C._get_graph_exec_group()]
    torch._C._set_graph_exec_group(None)
    return account, torch._C._get_graph_exec_group()


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_program(function):
    agree(function)


# -- the log -----------------------------------------------------------------------------------------------------------


def logged(torch, action):
    """What is logged of the nodes that an action runs, without addresses."""
    logger, lines = logging.getLogger(f"{torch.__name__}.autograd.graph"), []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(re.sub("0x[0-9a-f]+", "0x", record.getMessage()))
    before, propagates = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    try:
        action()
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
        logger.propagate = propagates
    return lines


def logs(torch):
    x = leaf(torch, A)
    y = x.double().exp()
    a, _ = y.unbind(0)
    end = (a * 2).sum()
    return [
        logged(torch, lambda: end.backward(retain_graph=True)),
        logged(torch, lambda: torch.autograd.grad(end, x, retain_graph=True)),
        logged(torch, lambda: torch.autograd.grad(end, y, retain_graph=True)),
        logged(torch, lambda: torch.autograd.grad(end, x, create_graph=True)),
        logged(torch, lambda: torch.autograd.backward([end, (x.bfloat16() * 1j).abs().sum()], retain_graph=True)),
    ]


def test_executed_nodes_are_logged():
    agree(logs)


def test_abbreviations_of_dtypes():
    kinds = ["bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "bfloat16",
             "float32", "float64", "complex64", "complex128", "float8_e5m2", "float8_e4m3fn", "float8_e4m3fnuz"]  # fmt: skip
    agree(lambda torch: [getattr(torch, kind).abbr for kind in kinds])
