"""Gives nodes of tapegrad to workers of the engine, where there is no accelerator whose nodes would have some."""

from tapegrad._src.dispatch.nodes.accumulate_grad import AccumulateGrad
from tapegrad._src.dispatch.nodes.operator import OperatorNode
from tapegrad.autograd.differentiate import engine
from tapegrad.autograd.function_node import FunctionBase


def give_workers(monkeypatch, choose):
    """From here on ``choose(node)`` says which worker runs a node; None for the calling thread."""
    monkeypatch.setattr(engine, "_workers", lambda: True)
    for node_class in (OperatorNode, AccumulateGrad, FunctionBase):
        monkeypatch.setattr(node_class, "worker", property(choose))


def one(node):
    """The same worker for every node: the order is that of one thread."""
    return "a"


def several(node):
    """Two workers and the calling thread, whatever they come to."""
    return ("a", "b", None)[id(node) // 16 % 3]
