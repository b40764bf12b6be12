"""What hooks can ask of the backward call that runs: its number, its node, its order; and the log of it."""

import logging
import re

import pytest
from harness import Programs, agree, attempt, leaf

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


def edge(torch, tensor):
    return torch.autograd.graph.get_gradient_edge(tensor)


def names(nodes):
    return [node.name().rpartition(":")[2] for node in nodes]


A, V = [[1.0, 2.0], [3.0, 4.0]], [1.0, 2.0]


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
        with torch.enable_grad():
            x = leaf(torch, V)
            y = x * 2
            y.register_hook(lambda grad: seen.append(valid()))
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
    kinds = ["bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint64", "float16", "bfloat16", "float32",
             "float64", "complex64", "complex128", "float8_e5m2", "float8_e4m3fn", "float8_e4m3fnuz"]  # fmt: skip
    agree(lambda torch: [getattr(torch, kind).abbr for kind in kinds])
