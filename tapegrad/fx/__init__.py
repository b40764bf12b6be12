"""``torch.fx``: programs as graphs of calls, which can be read, changed, and written as Python.

Note [Graphs of calls]
A tracer calls a function with proxies (``proxy.py``). What is done with one becomes a node of a graph (``node.py``,
``graph.py``): functions of ``torch`` come by ``__torch_function__``, operators and methods by the proxy, modules by
what the tracer puts in the place of ``Module.__call__`` (Note [What a tracer puts in other functions' places]). A
``GraphModule`` runs the code that is written for its graph (``_code_writer.py``). Nothing here knows of arrays or of
the tape: a graph is a program in PyTorch's words, and its code runs as any other, compiled or not.
"""

from tapegrad.fx import proxy, traceback
from tapegrad.fx._symbolic_trace import PH, ProxyableClassMeta, Tracer, symbolic_trace, wrap
from tapegrad.fx.graph import CodeGen, Graph
from tapegrad.fx.graph_module import GraphModule
from tapegrad.fx.interpreter import Interpreter, Transformer
from tapegrad.fx.node import Node, has_side_effect, map_arg
from tapegrad.fx.proxy import Proxy
from tapegrad.fx.subgraph_rewriter import replace_pattern

__all__ = [
    "PH", "CodeGen", "Graph", "GraphModule", "Interpreter", "Node", "Proxy", "ProxyableClassMeta", "Tracer",
    "Transformer", "has_side_effect", "map_arg", "replace_pattern", "symbolic_trace", "wrap",
]  # fmt: skip
