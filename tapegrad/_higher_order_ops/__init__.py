"""``torch._higher_order_ops``: control flow as functions of functions, ``cond``, ``while_loop``, ``scan``, ``map``.

Note [Control flow]
At once a branch is chosen, and a loop that asks for its end is run, as Python does: it can be stepped through. What
has to be known beforehand becomes jax's control flow: both branches where the predicate isn't known yet, in a call
that is captured (``torch.compile``) or traced (``to_jax``). Loops over many slices are one operator always, whose
node has PyTorch's name: their length is known. (A thousand steps of a small recurrent cell, forward and backward on a
CPU, take 86 ms the first time, as Python's loop does, and 20 ms from then on, a third of that.) What can't be traced
(Note [Operator lists] in ``interop/operator_lists.py``) is run as Python runs it, and so are loops inside function
transforms, where each operator is transformed.
"""

from tapegrad._higher_order_ops.associative_scan import associative_scan
from tapegrad._higher_order_ops.cond import cond
from tapegrad._higher_order_ops.map import map
from tapegrad._higher_order_ops.scan import scan
from tapegrad._higher_order_ops.while_loop import while_loop

__all__ = ["associative_scan", "cond", "map", "scan", "while_loop"]
