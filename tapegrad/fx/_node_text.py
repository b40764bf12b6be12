"""The text of a node, in which graphs are printed."""

from __future__ import annotations

from typing import Any

from tapegrad.fx._naming import _type_repr
from tapegrad.fx._node_list import Linked


def _format_arg(arg: Any, max_list_len: float = float("inf")) -> str:
    """The text of an argument; nodes have a ``%`` before their name.

    Args:
        arg: the argument.
        max_list_len: how many items of a sequence are told.

    >>> _format_arg([1, (2,), {"a": torch.float32}]), _format_arg([1, 2, 3], 2)
    ('[1, (2,), {a: torch.float32}]', '[1, 2, ...[total_len=3]]')
    """
    if hasattr(arg, "_custom_fx_repr_fn"):
        return arg._custom_fx_repr_fn()
    if isinstance(arg, (list, tuple)):
        items = [_format_arg(item) for number, item in enumerate(arg) if number < max_list_len]
        more = "" if len(arg) < max_list_len + 1 else f", ...[total_len={len(arg)}]"
        if isinstance(arg, list):
            return f"[{', '.join(items)}{more}]"
        return f"({', '.join(items)}{more}{',' if len(arg) == 1 else ''})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{key}: {_format_arg(item)}" for key, item in arg.items()) + "}"
    return f"%{arg}" if isinstance(arg, Linked) else str(arg)


def describe(node: Any, names: list[str] | None, returned: list[str] | None, metadata: bool) -> str | None:
    """The text of a node, as ``Node.format_node`` gives it."""
    kind = f"{_type_repr(node.type)} " if node.type else ""
    head = f"%{node.name} : {kind}[num_users={len(node.users)}] = {node.op}"
    if node.op == "placeholder":
        if names is not None:
            names.append(node.target + (f": {_type_repr(node.type)}" if node.type else ""))
            return None
        default = f"(default={node.args[0]})" if node.args else ""
        return f"{head}[target={node.target}]{default}"
    if node.op == "output":
        if node.type and returned:
            returned[0] = f" -> {_type_repr(node.type)}"
        return f"return {node.args[0]}"
    head += f"[target={node._pretty_print_target(node.target)}]"
    if node.op == "get_attr":
        return head
    noted = node.meta.get("tensor_meta") if metadata else None
    tail = f", shape={tuple(noted.shape)}, dtype={noted.dtype}" if noted is not None else ""
    return f"{head}(args = {_format_arg(node.args)}, kwargs = {_format_arg(node.kwargs)}{tail})"
