"""The graph API where it goes beyond PyTorch's, or can't be compared with it."""

import logging

import pytest
from leaves import leaf

import tapegrad as torch
from tapegrad._src.tape.modes import watching
from tapegrad.autograd.differentiate import gradient_ops_for
from tapegrad.autograd.gradient_types import InferenceValues, RecordedValues, Tensors, Values
from tapegrad.autograd.graph_log import Logged


def test_the_order_can_be_asked_for_at_any_time():
    """PyTorch's answer is an internal error once the first node has run."""
    x, answers = leaf([1.0, 2.0]), {}
    a, b = x.sin(), x.cos()
    c = a * b
    tensors = {"c": c, "b": b, "a": a, "x": x}
    for name, tensor in tensors.items():
        tensor.register_hook(
            lambda grad, name=name: answers.update({name: torch._C._current_graph_task_execution_order()})
        )
    nodes = [tensor.grad_fn or torch.autograd.graph.get_gradient_edge(tensor).node for tensor in tensors.values()]
    with torch.autograd.set_multithreading_enabled(False):
        c.backward(torch.ones(2))
    assert [answers[name] for name in tensors] == [nodes, nodes[1:], nodes[2:], nodes[3:]]


@pytest.mark.ring("default")
def test_the_order_of_a_long_chain():
    x = leaf(1.0)
    y, orders = x, []
    for _ in range(3000):
        y = y * 1.0
    y.register_hook(lambda grad: orders.append(torch._C._current_graph_task_execution_order()))
    with torch.autograd.set_multithreading_enabled(False):
        y.backward()
    assert len(orders[0]) == 3001 and orders[0][-1].variable is x


def test_a_log_costs_nothing_until_it_is_wanted():
    logger = logging.getLogger("tapegrad.autograd.graph")
    values = RecordedValues if torch.get_execution() == "deferred" else Values
    assert gradient_ops_for(create_graph=False) is values
    assert gradient_ops_for(create_graph=True) is Tensors
    with torch.inference_mode():
        assert gradient_ops_for(create_graph=False) is InferenceValues
    logger.setLevel(logging.DEBUG)
    try:
        assert isinstance(gradient_ops_for(create_graph=False), Logged)
    finally:
        logger.setLevel(logging.NOTSET)
    assert gradient_ops_for(create_graph=False) is values


def test_a_version_set_back_is_as_if_nothing_had_been_written():
    x = leaf([0.0, 1.0])
    y = x.exp()
    torch.autograd.graph.increment_version(y)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        torch.autograd.grad(y, x, torch.ones(2), retain_graph=True)
    torch._C._autograd._unsafe_set_version_counter((y,), (0,))
    torch.autograd.grad(y, x, torch.ones(2))


def test_nodes_made_by_hand_are_seen_by_watchers():
    made = []
    with watching(node_watcher=made.append):
        y = torch._C._functions.UndefinedGrad()(leaf([1.0]))
    assert y.grad_fn in made


def test_the_engine_by_its_old_name():
    x = leaf([1.0, 2.0])
    run = torch.autograd.Variable._execution_engine.run_backward
    (grad,) = run((x * 3,), (torch.ones(2),), False, False, (x,), True, accumulate_grad=False)
    assert grad.tolist() == [3.0, 3.0]
    assert run((x * 3,), (torch.ones(2),), False, False, (), True, accumulate_grad=True) == ()
    assert x.grad.tolist() == [3.0, 3.0]


def test_edges_of_what_is_no_node():
    x = leaf([1.0])
    with pytest.raises(RuntimeError, match="must be an autograd.graph.Node but got str"):
        torch.autograd.grad(x * 2, torch.autograd.graph.GradientEdge("node", 0), torch.ones(1))
