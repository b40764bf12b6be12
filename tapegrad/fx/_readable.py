"""The code of a module and of those below, as classes."""

from __future__ import annotations

from typing import Any


def print_readable(module: Any, name: str, **options: Any) -> str:
    """The code of a module that runs a graph, and of such modules right below, as classes.

    Args:
        module: the module.
        name: the name of its class.
        options: those of ``Graph.python_code``.
    """
    own = module._graph.python_code(root_module="self", verbose=True, **options).src.lstrip("\n")
    text = _indented(f"class {name}(torch.nn.Module):\n{own}").rstrip("\n") + "\n"
    below = [
        _indented(f"\n{print_readable(child, found, **options)}").rstrip("\n") + "\n"
        for found, child in module.named_children() if hasattr(child, "_graph")
    ]  # fmt: skip
    return text + "".join(below)


def _indented(text: str) -> str:
    first, *rest = text.split("\n")
    return "\n".join([first, *(f"    {line}" if line.strip() else line.strip() for line in rest)])
