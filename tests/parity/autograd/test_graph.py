"""The graph as users see it: nodes, edges, names, numbers."""

from itertools import pairwise

import pytest
from harness import Programs, agree, attempt, leaf, told

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


def shape(node):
    """A node's name and, for each of its edges, the shape of what it leads to. For graphs that are nearly trees."""
    if node is None:
        return None
    return [node.name(), [[shape(successor), number] for successor, number in node.next_functions]]


def tree(function, *values):
    """A program: the graph of a function of some leaves."""

    def show(torch):
        leaves = [leaf(torch, value) for value in values]
        return shape(function(torch, *leaves).grad_fn)

    return show


def on_run(node, action):
    """Do something whenever a node is run."""
    node.register_prehook(lambda grads: action())


A, B, V = [[1.0, 2.0], [3.0, 4.0]], [[0.5, 1.5], [2.5, 3.5]], [1.0, -2.0]

TREES = {
    "three x plus two, summed": (lambda torch, x: (x * 3 + 2).sum(), A),
    "x plus x": (lambda torch, x: x + x, A),
    "x times x": (lambda torch, x: x * x, A),
    "two paths": (lambda torch, x: x * 2 + x * 3, A),
    "a constant": (lambda torch, x: x * torch.ones(2), A),
    "a constant on the left": (lambda torch, x: torch.ones(2) - x, A),
    "a number on the left": (lambda torch, x: 2 - x, A),
    "a quotient": (lambda torch, x, y: x / y, A, B),
    "one over x": (lambda torch, x: 1 / x, A),
    "powers": (lambda torch, x, y: x**2 + 2**x + x**y, A, B),
    "negation and absolute value": (lambda torch, x: -x.abs(), A),
    "broadcasting": (lambda torch, x, v: x * v, A, V),
    "elementwise functions": (lambda torch, x: x.exp().log().sin().cos().tanh().sqrt(), A),
    "sigmoid and relu": (lambda torch, x: x.sigmoid().relu(), A),
    "sums and means": (lambda torch, x: x.sum(0).mean(), A),
    "sums over dimensions": (lambda torch, x: x.mean(1, keepdim=True).sum((0, 1)), A),
    "largest and smallest": (lambda torch, x: x.max(0).values + x.min(1)[0], A),
    "matrix times vector": (lambda torch, x, v: x @ v, A, V),
    "matrix times matrix": (lambda torch, x, y: x @ y, A, B),
    "a sum of a matrix product": (lambda torch, x, y, v: torch.addmm(v, x, y), A, B, V),
    "views": (lambda torch, x: x.reshape(4).view(2, 2).t().unsqueeze(0).squeeze(0).transpose(0, 1), A),
    "indexing": (lambda torch, x: x[0] + x[:, 1] + x[1, 0], A),
    "advanced indexing": (lambda torch, x: x[torch.tensor([1, 0])], A),
    "joining": (lambda torch, x, y: torch.cat([torch.stack([x, y]), x[None]]), A, B),
    "where": (lambda torch, x, y: torch.where(x > y, x, y), A, B),
    "softmax": (lambda torch, x: x.softmax(1).log_softmax(0), A),
    "a detour through detach": (lambda torch, x: x * x.detach(), A),
    "casting": (lambda torch, x: x.double(), A),
    "clone and contiguous": (lambda torch, x: x.clone().contiguous(), A),
    "logsumexp": (lambda torch, x: x.logsumexp(1), A),
    "expand": (lambda torch, v: v.expand(3, 2), V),
}


@pytest.mark.parametrize("name", TREES)
def test_the_graph_of(name):
    agree(tree(*TREES[name]))


@pytest.mark.parametrize("name", ["x times x", "two paths", "a quotient", "matrix times matrix"])
def test_the_first_node_of_the_gradient_of(name):
    function, *values = TREES[name]

    def show(torch):
        leaves = [leaf(torch, value) for value in values]
        return torch.autograd.grad(function(torch, *leaves).sum(), leaves, create_graph=True)

    agree(show)


@program
def a_node_is_the_same_object_each_time(torch):
    x = leaf(torch, 2.0)
    y = x * x
    z = y * 2
    return y.grad_fn is y.grad_fn, z.grad_fn.next_functions[0][0] is y.grad_fn, x.grad_fn


@program
def a_leaf_has_one_accumulator(torch):
    x, y = leaf(torch, 2.0), leaf(torch, 3.0)
    first, second = (x * x).grad_fn, (x + y).grad_fn
    kept = [first, second]
    ours, other = first.next_functions[0][0], second.next_functions[1][0]
    return [
        first.next_functions[0][0] is first.next_functions[1][0],
        second.next_functions[0][0] is ours,
        other is not ours,
        ours.variable is x,
        other.variable is y,
        ours.name(),
        type(ours).__name__,
        ours.next_functions,
        len(kept),
    ]


@program
def sequence_numbers_grow(torch):
    x = leaf(torch, 2.0)
    nodes = [(x * x).grad_fn, x.exp().grad_fn, (x + 1).grad_fn]
    numbers = [node._sequence_nr() for node in nodes]
    nodes[0]._set_sequence_nr(numbers[2] + 10)
    return [b - a for a, b in pairwise(numbers)], nodes[0]._sequence_nr() - numbers[2]


@program
def sequence_numbers_drive_the_order(torch):
    def order(change):
        x, log = leaf(torch, 2.0), []
        first, second = x.exp(), x.sin()
        for name, node in (("exp", first.grad_fn), ("sin", second.grad_fn)):
            on_run(node, lambda name=name: log.append(name))
        if change:
            first.grad_fn._set_sequence_nr(second.grad_fn._sequence_nr() + 1)
        (first + second).backward()
        return log

    return order(False), order(True)


@program
def the_order_of_a_larger_graph(torch):
    x, y, log = leaf(torch, [1.0, 2.0]), leaf(torch, [3.0, 4.0]), []
    a = x * y
    b = a.sin()
    c = a + y
    d = c.exp()
    e = b * d
    f = (e + x).sum()
    nodes, seen = [f.grad_fn], set()
    while nodes:
        node = nodes.pop()
        if node not in seen:
            seen.add(node)
            on_run(node, lambda node=node: log.append(node.name()))
            nodes += [successor for successor, _ in node.next_functions]
    f.backward()
    return log


@program
def output_numbers(torch):
    x = leaf(torch, A)
    a, b = x.unbind(0)
    values, indices = x.max(0)
    return [t.output_nr for t in (x, a, b, values, indices, x * 2)], a.grad_fn is b.grad_fn, indices.grad_fn


@program
def one_output_of_several(torch):
    x = leaf(torch, A)
    a, b = x.unbind(0)
    account = [torch.autograd.grad(b.sum(), x, retain_graph=True)]
    (a * 2 + b * 3).sum().backward()
    return account, x.grad


@program
def edges_to_one_output_of_several(torch):
    x = leaf(torch, A)
    a, b = x.split(1)
    node = (b * 2).grad_fn
    return node.next_functions[0][1], (a * b).grad_fn.next_functions[0][1], node.next_functions[0][0] is a.grad_fn


@program
def input_metadata(torch):
    x = leaf(torch, A, dtype=torch.float64)
    a, _ = x.unbind(0)
    return [
        [[str(data.dtype), list(data.shape)] for data in node._input_metadata]
        for node in ((x * 2).grad_fn, x.sum().grad_fn, a.grad_fn)
    ]


@program
def metadata_is_the_users_own(torch):
    x = leaf(torch, 2.0)
    y = x * x
    y.grad_fn.metadata["note"] = "here"
    return y.grad_fn.metadata, (x * x).grad_fn.metadata


@program
def nodes_are_nodes(torch):
    x = leaf(torch, 2.0)
    y = x * x
    Node = torch.autograd.graph.Node
    return [
        isinstance(y.grad_fn, Node),
        isinstance(y.grad_fn.next_functions[0][0], Node),
        issubclass(type(y.grad_fn), Node),
        isinstance(x, Node),
        repr(y.grad_fn).split(" at ")[0],
        type(y.grad_fn).__name__,
        type(y.grad_fn) is type((x * 3).grad_fn),
    ]


@program
def a_node_can_be_called(torch):
    x = leaf(torch, 2.0)
    y = x.exp()
    return [
        y.grad_fn(torch.tensor(10.0)),
        attempt(lambda: y.grad_fn())[:2],
        attempt(lambda: y.grad_fn(torch.tensor(1.0), torch.tensor(1.0)))[:2],
        x.grad,
    ]


@program
def gradient_edges(torch):
    x, y = leaf(torch, 2.0), leaf(torch, 3.0)
    z = x * y
    end = z * z
    edge = torch.autograd.graph.get_gradient_edge(z)
    account = [edge.node is z.grad_fn, edge.output_nr]
    account.append(torch.autograd.grad(end, edge, retain_graph=True))
    account.append(torch.autograd.grad(end, [edge, torch.autograd.graph.get_gradient_edge(x)], retain_graph=True))
    account.append(torch.autograd.grad(torch.autograd.graph.get_gradient_edge(end), x, torch.tensor(1.0)))
    account.append(attempt(lambda: torch.autograd.graph.get_gradient_edge(torch.tensor(1.0))))
    return account


@program
def gradient_edges_as_roots_and_targets_of_backward(torch):
    x, y = leaf(torch, 2.0), leaf(torch, 3.0)
    z = x * y
    edge = torch.autograd.graph.get_gradient_edge
    torch.autograd.backward(edge(z), inputs=[edge(x)], retain_graph=True)
    account = [x.grad, y.grad]
    torch.autograd.backward([edge(z)], [torch.tensor(5.0)], retain_graph=True)
    return account, x.grad, y.grad


@program
def gradient_edges_of_several_outputs(torch):
    x = leaf(torch, A)
    a, b = x.unbind(0)
    end = (a * b).sum()
    edges = [torch.autograd.graph.get_gradient_edge(t) for t in (a, b)]
    return [edge.output_nr for edge in edges], torch.autograd.grad(end, edges)


@program
def mistakes_with_gradient_edges(torch):
    x = leaf(torch, A)
    edge = torch.autograd.graph.get_gradient_edge(x * 2)
    return [
        attempt(lambda: torch.autograd.grad(edge, x)),
        attempt(lambda: torch.autograd.grad(edge, x, torch.ones(3))),
        attempt(lambda: torch.autograd.grad((x * 2).sum(), edge, materialize_grads=True)),
        attempt(lambda: torch.autograd.grad((x * 2).sum(), edge)),
    ]


@program
def a_tensor_without_graph(torch):
    x, c = leaf(torch, A), torch.ones(2)
    return [t.grad_fn for t in (x, c, c * c, x.detach(), (x > 1), x.argmax(), x.detach() * 2)]


@program
def integer_results_do_not_require_grad(torch):
    x = leaf(torch, A)
    results = [x > 1, x == x, x.argmax(), x.argmin(0), x.long(), x.isnan(), torch.sort(x)[1], x.bool()]
    return [[r.requires_grad, r.grad_fn, str(r.dtype)] for r in results]


@program
def saved_values_are_shown(torch):
    x, y = leaf(torch, A), leaf(torch, B)
    product, power, total, exponential = x * y, x**3, x.sum(0), x.exp()
    return [
        product.grad_fn._saved_self is x,
        product.grad_fn._saved_other is y,
        power.grad_fn._saved_exponent,
        power.grad_fn._saved_self is x,
        list(total.grad_fn._saved_dim),
        exponential.grad_fn._saved_result,
        exponential.grad_fn._saved_result is exponential,
        exponential.grad_fn._saved_result.grad_fn is exponential.grad_fn,
    ]


@program
def what_is_not_saved_is_not_shown(torch):
    x, y = leaf(torch, A), torch.ones(2)
    product, total = x * y, x + y
    return [
        product.grad_fn._saved_self,
        product.grad_fn._saved_other is y,
        attempt(lambda: total.grad_fn._saved_self),
        attempt(lambda: product.grad_fn._saved_nothing),
    ]


@program
def saved_values_are_gone_after_a_backward(torch):
    x = leaf(torch, 2.0)
    y = x * x
    y.backward()
    return attempt(lambda: y.grad_fn._saved_self)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_program(function):
    agree(function)


def test_accounts_can_differ():
    """The comparison itself sees a difference in a name."""
    with pytest.raises(AssertionError):
        agree(lambda torch: told(torch.__name__))


@pytest.mark.parametrize(
    "function",
    [lambda x: x * x, lambda x: x * 2, lambda x: x + x, lambda x: x.sum(), lambda x: x.sum(1), lambda x: x.exp(),
     lambda x: x**3, lambda x: x / x, lambda x: x.view(-1), lambda x: x.transpose(0, 1), lambda x: x.max(1)[0],
     lambda x: x.softmax(1), lambda x: x.relu(), lambda x: x.clamp(0, 1), lambda x: x.std(1)],
    ids=["mul", "mul by 2", "add", "sum", "sum(1)", "exp", "pow", "div", "view", "transpose", "max", "softmax", "relu",
         "clamp", "std"],
)  # fmt: skip
def test_dir_lists_what_a_node_saves(function):
    def program(torch):
        node = function(torch.ones(2, 3, requires_grad=True)).grad_fn
        return sorted(name for name in dir(node) if name.startswith("_saved_"))

    agree(program)
