"""Nodes whose gradients are plain floats, for the tests of the engine and of the tape."""

from tapegrad._src.engine import Engine
from tapegrad._src.tape.node import HIGHEST_SEQUENCE_NR, Node, next_sequence_nr


class Trouble(Exception):
    """An error that a node raises, or a block."""


class Floats:
    """The gradient type of these tests."""

    def __init__(self):
        self.additions = []

    def add(self, left, right):
        self.additions.append((left, right))
        return left + right

    add_into = add

    @staticmethod
    def run(node, grads, needed):
        return node.apply_values(grads, needed)

    @staticmethod
    def to_hook(grad):
        return grad

    @staticmethod
    def from_hook(given, returned, hook):
        return given if returned is None else returned

    @staticmethod
    def to_hooks(grads):
        return tuple(grads)

    @staticmethod
    def from_hooks(given, returned, hook):
        return list(given if returned is None else returned)


class Scale(Node):
    """Multiplies its gradient by a weight for each edge; notes in ``log`` that it ran, and with what."""

    def __init__(self, label, edges, weights=None, log=None):
        self.label, self.log = label, log
        self.next_edges = tuple((edge, 0) if isinstance(edge, Node) else edge for edge in edges)
        self.weights = weights or (1.0,) * len(self.next_edges)
        self.sequence_nr = next_sequence_nr()
        self.released = False
        self.needed = "never run"

    def apply_values(self, grads, needed):
        self.needed = needed
        if self.log is not None:
            self.log.append((self.label, *grads))
        grad = grads[0]
        return [None if grad is None else weight * grad for weight in self.weights]

    def release_variables(self):
        self.released = True

    def __repr__(self):
        return f"<{self.label}>"


class Leaf(Node):
    """Accumulates what arrives, like AccumulateGrad."""

    next_edges = ()

    def __init__(self, log=None, label="leaf"):
        self.grad, self.log, self.label = None, log, label
        self.sequence_nr = HIGHEST_SEQUENCE_NR

    def apply_values(self, grads, needed):
        if self.log is not None:
            self.log.append((self.label, *grads))
        if grads[0] is not None:
            self.grad = grads[0] if self.grad is None else self.grad + grads[0]
        return ()


class Act(Node):
    """A node without edges that does what it is told."""

    next_edges = ()

    def __init__(self, action):
        self.action, self.sequence_nr = action, next_sequence_nr()

    def apply_values(self, grads, needed):
        self.action()
        return ()


def run(*roots, seeds=None, keep_graph=False, outputs=(), accumulate=None, engine=None, gradient_ops=None):
    """Execute, with 1.0 as the default seed; roots and outputs may be nodes instead of edges."""
    roots = [(root, 0) if isinstance(root, Node) else root for root in roots]
    outputs = [(output, 0) if isinstance(output, Node) else output for output in outputs]
    seeds = [1.0] * len(roots) if seeds is None else seeds
    accumulate = not outputs if accumulate is None else accumulate
    return (engine or Engine()).execute(roots, seeds, keep_graph, False, accumulate, outputs, gradient_ops or Floats())


def chain(length, end, weight=1.0):
    node = end
    for _ in range(length):
        node = Scale("link", [node], (weight,))
    return node
