"""Programs about backward, once more with their nodes on workers: what a user sees must not depend on who runs them.

Where there is no accelerator no node has a worker. Here nodes are given some: all of them the same one, so that even
the order must be that of a single thread; or several, for programs in which the order of branches does not matter.
"""

import random
import threading

import pytest
import test_engine_programs
import test_reentrant
import test_threads
from harness import agree

import tapegrad
from tapegrad.autograd.differentiate import engine
from tapegrad.autograd.function_node import FunctionBase
from tapegrad.dispatch.nodes import AccumulateGrad, OperatorNode

pytestmark = pytest.mark.parity

ALONE = {"hooks_run_on_the_thread_that_called_backward"}
"""Programs that say which thread runs hooks."""


def programs_of(*modules):
    return [program for module in modules for program in module.PROGRAMS if program.__name__ not in ALONE]


def give_workers(monkeypatch, choose):
    """From here on ``choose(node)`` says who runs a node of tapegrad."""
    monkeypatch.setattr(engine, "_workers", lambda: True)
    for node_class in (OperatorNode, AccumulateGrad, FunctionBase):
        monkeypatch.setattr(node_class, "worker", property(choose))


@pytest.mark.parametrize(
    "program", programs_of(test_engine_programs, test_reentrant, test_threads), ids=lambda program: program.__name__
)
def test_on_one_worker_everything_is_as_on_one_thread(program, monkeypatch):
    give_workers(monkeypatch, lambda node: "a")
    agree(program)


@pytest.mark.parametrize("program", programs_of(test_threads), ids=lambda program: program.__name__)
def test_on_several_workers(program, monkeypatch):
    give_workers(monkeypatch, lambda node: ("a", "b", None)[id(node) // 16 % 3])
    agree(program)


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_a_network_spread_over_workers(create_graph, seed, monkeypatch):
    rng, keys = random.Random(seed), {}
    give_workers(monkeypatch, lambda node: keys.setdefault(id(node), rng.choice(["a", "b", "c", None])))

    def program(torch):
        x = torch.arange(6.0, dtype=torch.float64).reshape(2, 3).requires_grad_()
        weights = [torch.full((3, 3), 0.1 * (i + 1), dtype=torch.float64, requires_grad=True) for i in range(4)]
        keys.clear()
        branches = [(x @ weight).tanh() * x for weight in weights]
        loss = sum((branch * branches[0]).sum() for branch in branches)
        grads = torch.autograd.grad(loss, [x, *weights], create_graph=create_graph)
        if not create_graph:
            return grads
        torch.autograd.backward([grad.square().sum() for grad in grads])
        return [x.grad, *(weight.grad for weight in weights)]

    agree(program)


def test_the_nodes_do_run_on_workers(monkeypatch):
    """The tests above would show nothing if they did not."""
    names = []
    give_workers(monkeypatch, lambda node: "a")
    x = tapegrad.ones(2, requires_grad=True)
    x.register_hook(lambda grad: names.append(threading.current_thread().name))
    (x * 2).sum().backward()
    assert names == ["tapegrad-worker-a"]
