"""Modules that run graphs, in pickles and as files of Python.

A pickle has the code and not the graph: when it is read, the code is traced again.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.fx._namespace import _custom_builtins
from tapegrad.fx._running import _forward_from_src
from tapegrad.fx._tracer import Tracer
from tapegrad.fx.graph import Graph
from tapegrad.nn import Module, Parameter
from tapegrad.serialization.saving import save

LAYER = re.compile(r"^(tapegrad\.nn\.modules\.\w+)$")


class _CodeOnlyModule(Module):
    """A module that has the state of another one, and the code."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__.update(body)


def import_line(name: str, obj: Any) -> str:
    """The line that imports what code refers to by ``name``.

    >>> import math
    >>> import_line("math_sqrt", math.sqrt), import_line("inf", math.inf)
    ('from math import sqrt as math_sqrt', 'from math import inf')
    """
    if name in _custom_builtins:
        return _custom_builtins[name].import_str
    module, found = getattr(obj, "__module__", None) or "builtins", getattr(obj, "__qualname__", None) or repr(obj)
    if hasattr(obj, "_name") and module == "typing":
        found = obj._name
    if "." in found or found.startswith("<"):
        return f"import {module}\n{name} = {module}.{found}"
    return f"from {module.replace('_operator', 'operator')} import {found} as {name}"


def state_of(module: Any) -> tuple[dict[str, Any], str]:
    """Take what a pickle keeps of a module that runs a graph: its state with the code, and the lines that import."""
    body = dict(vars(module))
    written = module._graph.python_code(root_module="self")
    body["_code"] = written.src
    del body["_graph"]
    return body, imports_of(written.globals)


def imports_of(found: dict[str, Any]) -> str:
    """The lines that import what code refers to."""
    return "\n".join(sorted({import_line(name, obj) for name, obj in found.items()}))


def retraced(body: dict[Any, Any], import_block: str) -> tuple[Module, Graph]:
    """A module with what a pickle kept, and the graph that is traced from its code."""
    traced_by = body.get("_tracer_cls") or Tracer

    class CodeOnlyModule(_CodeOnlyModule, tree=False):
        forward = _forward_from_src(f"{import_block}\n{body['_code']}", {})

    class KeepModules(traced_by):  # type: ignore[misc,valid-type]
        def is_leaf_module(self, _: Module, __: str) -> bool:
            return True

    root = CodeOnlyModule(body)
    graph = KeepModules().trace(root, **(body.get("_tracer_extras") or {}))
    graph._tracer_cls = traced_by
    return root, graph


def write_folder(module: Any, folder: Any, name: str) -> None:
    """Write a module as Python into a folder; see ``GraphModule.to_folder``."""
    place = Path(folder)
    place.mkdir(exist_ok=True, parents=True)
    save(module.state_dict(), place / "state_dict.pt")
    lines = [f"        {line}" for line in _made(module, place)]
    code = module.code.replace("\n", "\n    ")
    loading = "        self.load_state_dict(torch.load(__file__.rpartition('/')[0] + '/state_dict.pt'))"
    head = [f"class {name}(torch.nn.Module):", "    def __init__(self):", "        super().__init__()"]
    imports = [imports_of(module.graph.python_code("self").globals), "from tapegrad.nn import *", ""]
    text = [*imports, *head, *lines, loading, code]
    (place / "module.py").write_text("\n".join(text) + "\n")
    (place / "__init__.py").write_text("from .module import *\n")


def _made(module: Any, place: Path) -> list[str]:
    """The lines that make what a module has right below."""
    lines = []
    for name, child in module.named_children():
        if _is_layer(child):
            lines.append(f"self.add_module({name!r}, {child!r})")
            continue
        file = place / f"{name}.pt"
        save(child, file)
        lines.append(f"self.add_module({name!r}, torch.load(r'{file}', weights_only=False))")
    tensors = [("register_buffer", *item) for item in module._buffers.items() if item[1] is not None]
    tensors += [("register_parameter", *item) for item in module._parameters.items() if item[1] is not None]
    return lines + [_tensor_line(*item) for item in tensors]


def _tensor_line(method: str, name: str, value: Tensor) -> str:
    made = f"torch.empty({list(value.shape)}, dtype={value.dtype})"
    if isinstance(value, Parameter):
        made = f"torch.nn.Parameter({made}, requires_grad={value.requires_grad})"
    return f"self.{method}({name!r}, {made})"


def _is_layer(child: Module) -> bool:
    """Tell whether the text of a module makes one like it."""
    return bool(LAYER.match(type(child).__module__)) and not list(child.children())
