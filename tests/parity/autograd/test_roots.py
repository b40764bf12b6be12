"""Where a backward call begins: hooks of roots from which nothing wanted can be reached; nodes that only raise."""

import pytest
from harness import Programs, agree, attempt

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


def watched(torch):
    """Two leaves, and a product of the first with all kinds of hooks, which write to a log."""
    a, b, log = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True), []
    y = a * 2
    y.register_hook(lambda grad: log.append(["tensor", grad.tolist()]))
    y.grad_fn.register_prehook(lambda grads: log.append(["node before", [grad.tolist() for grad in grads]]))
    y.grad_fn.register_hook(lambda inputs, outputs: log.append("node after"))
    y.retain_grad()
    return a, b, y, log


def told(y, log, *outcome):
    return log, y.grad, *outcome


@program
def a_single_root_runs_its_tensor_hooks(torch):
    a, b, y, log = watched(torch)
    y.backward(torch.ones(2), inputs=[b])
    return told(y, log, a.grad, b.grad)


@program
def so_it_does_where_gradients_are_returned(torch):
    _, b, y, log = watched(torch)
    result = torch.autograd.grad(y, b, torch.ones(2), allow_unused=True)
    refused = attempt(lambda: torch.autograd.grad(y, b, torch.ones(2)))
    return told(y, log, result, refused[:2])


@program
def and_where_backward_is_recorded(torch):
    _, b, y, log = watched(torch)
    return told(y, log, torch.autograd.grad(y, b, torch.ones(2), allow_unused=True, create_graph=True))


@program
def what_lies_behind_the_root_is_not_reached(torch):
    _, b, y, log = watched(torch)
    return told(y, log, attempt(lambda: y.sum().backward(inputs=[b])))


@program
def of_several_roots_only_the_needed_run_theirs(torch):
    _, b, y, log = watched(torch)
    torch.autograd.backward([y, b * 3], [torch.ones(2)] * 2, inputs=[b])
    twice = torch.autograd.grad([y, y], b, [torch.ones(2)] * 2, allow_unused=True)
    return told(y, log, b.grad, twice)


@program
def hooks_of_other_outputs_get_nothing(torch):
    a, b, log = torch.ones(2, 2, requires_grad=True), torch.ones(2, requires_grad=True), []
    parts = a.unbind()
    for position, part in enumerate(parts):
        part.register_hook(lambda grad, position=position: log.append([position, grad]))
    return torch.autograd.grad(parts[0], b, torch.ones(2), allow_unused=True), log


@program
def a_hook_of_the_root_may_replace_the_gradient_or_raise(torch):
    _, b, y, log = watched(torch)
    y.register_hook(lambda grad: grad * 5)
    y.register_hook(lambda grad: log.append(grad.tolist()))
    torch.autograd.grad(y, b, torch.ones(2), allow_unused=True)
    y.register_hook(lambda grad: 1 / 0)
    return told(y, log, attempt(lambda: y.backward(torch.ones(2), inputs=[b])))


@program
def a_leaf_as_the_root(torch):
    a, b, log = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True), []
    a.register_hook(lambda grad: log.append(grad.tolist()))
    a.register_post_accumulate_grad_hook(lambda leaf: log.append("accumulated"))
    a.backward(torch.ones(2), inputs=[b])
    return torch.autograd.grad(a, b, torch.ones(2), allow_unused=True), log, a.grad, b.grad


@program
def nothing_of_an_unreached_graph_is_freed(torch):
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    y = a * a
    return torch.autograd.grad(y, b, torch.ones(2), allow_unused=True), torch.autograd.grad(y, a, torch.ones(2))


@program
def the_root_is_asked_for(torch):
    _, _, y, log = watched(torch)
    return told(y, log, torch.autograd.grad(y, y, torch.ones(2)))


UNDERIVABLE = {
    "floor_divide": lambda torch, a: a // 2,
    "floor_divide of tensors": lambda torch, a: a // torch.tensor([2.0, 3.0]),
    "heaviside": lambda torch, a: torch.heaviside(a, torch.ones(2)),
    "remainder of a number": lambda torch, a: 5 % a,
    "floor_divide_": lambda torch, a: (a * 1).floor_divide_(2),
    "scatter": lambda torch, a: a.scatter(0, torch.tensor([0]), torch.ones(1), reduce="add"),
}


@pytest.mark.filterwarnings("ignore:The reduce argument")
@pytest.mark.parametrize("make", UNDERIVABLE.values(), ids=UNDERIVABLE.keys())
def test_what_has_no_derivative_raises_before_other_nodes_run(make):
    def account(torch):
        a, b, log = torch.tensor([5.0, 7.0], requires_grad=True), torch.ones(2, requires_grad=True), []
        b.register_hook(lambda grad: log.append("b"))
        t, z = make(torch, a), b * 2
        z.register_hook(lambda grad: log.append("z"))
        t.register_hook(lambda grad: log.append("t"))
        raised = attempt(lambda: (t * 3 + z).sum().backward(retain_graph=True))
        spared = attempt(lambda: (t * 3 + z).sum().backward(inputs=[b], retain_graph=True))
        captured = torch.autograd.grad((t * 3).sum(), t)
        accumulated = attempt(lambda: (t * 3).sum().backward(inputs=[t]))
        root = attempt(lambda: torch.autograd.grad(t, b, torch.ones(2), allow_unused=True))
        edges = [node.name() for node, _ in t.grad_fn.next_functions if node is not None]
        return raised, spared, captured, accumulated, root, log, t.grad, b.grad, edges, t.grad_fn.name()

    agree(account)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs(program):
    agree(program)


@pytest.mark.parametrize("change", ["f.unsqueeze_(0)", "f.data = f.data.expand(2, 3, 2)", "f.data = f.data[:, :1]"])
def test_a_root_whose_shape_was_changed_hands_its_gradient_on_summed(change):
    def program(torch):
        a = torch.linspace(0, 1, 6).reshape(3, 2).requires_grad_()
        f = a.sin() * 2
        with torch.no_grad():
            exec(change)
        outcome = attempt(lambda: torch.autograd.backward([f], [torch.ones_like(f)]))
        return outcome, a.grad

    agree(program)
