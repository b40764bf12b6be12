"""``torch.fx.annotate``: annotations of values while a program is traced."""

from __future__ import annotations

from typing import Any

from tapegrad.fx.proxy import Proxy

__all__ = ["annotate"]


def annotate(val: Any, type: Any) -> Any:
    """Let the node of a proxy have an annotation, and give the proxy; another value as it is.

    Args:
        val: the value.
        type: the annotation.

    Raises:
        RuntimeError: the node has one.

    >>> graph = torch.fx.symbolic_trace(lambda x: annotate(x + 1, int)).graph
    >>> [node.type for node in graph.nodes]
    [None, <class 'int'>, None]
    """
    if isinstance(val, Proxy):
        if val.node.type:
            raise RuntimeError(
                "Tried to annotate a value that already had a type on it! Existing type is "
                f"{val.node.type} and new type is {type}. This could happen if you tried to annotate a function "
                "parameter value (in which case you should use the type slot on the function signature) or you called "
                "annotate on the same value twice"
            )
        val.node.type = type
    return val
