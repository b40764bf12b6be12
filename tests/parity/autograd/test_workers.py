"""Programs about backward, once more with their nodes on workers: what a user sees must not depend on who runs them.

Where there is no accelerator no node has a worker. Here nodes are given some: all of them the same one, so that even
the order must be that of a single thread; or several, where the order of branches does not matter. The programs of
``test_threads.py`` do this too.
"""

import random
import threading

import pytest
from harness import agree
from workers import give_workers, one

import tapegrad
from tests.parity.autograd import test_engine_programs, test_reentrant

pytestmark = pytest.mark.parity


@pytest.mark.parametrize(
    "program", [*test_engine_programs.PROGRAMS, *test_reentrant.PROGRAMS], ids=lambda program: program.__name__
)
def test_on_one_worker_everything_is_as_on_one_thread(program, monkeypatch):
    give_workers(monkeypatch, one)
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
    give_workers(monkeypatch, one)
    x = tapegrad.ones(2, requires_grad=True)
    x.register_hook(lambda grad: names.append(threading.current_thread().name))
    (x * 2).sum().backward()
    assert names == ["tapegrad-worker-a"]
