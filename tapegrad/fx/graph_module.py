"""``GraphModule``: a module that runs a graph, as the code that is written for it."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator
from typing import Any

from tapegrad.fx._attributes import _assign_attr, _copy_attr, _del_attr, _get_attr, _has_attr, parent_of
from tapegrad.fx._compatibility import compatibility as compatibility
from tapegrad.fx._readable import print_readable
from tapegrad.fx._running import _EvalCacheLoader, _forward_from_src, _WrappedCall
from tapegrad.fx._saving import _CodeOnlyModule, retraced, state_of, write_folder
from tapegrad.fx.graph import Graph, PythonCode, _PyTreeCodeGen
from tapegrad.nn import Module

__all__ = [
    "_USER_PRESERVED_ATTRIBUTES_KEY", "GraphModule", "_CodeOnlyModule", "_EvalCacheLoader",
    "_WrappedCall", "_assign_attr", "_copy_attr", "_del_attr",
    "_forward_from_src", "_get_attr", "_has_attr", "reduce_graph_module",
]  # fmt: skip

REMINDER = "# To see more debug info, please use `graph_module.print_readable()`"
HOOKS = ("_replace_hooks", "_create_node_hooks", "_erase_node_hooks", "_deepcopy_hooks")
STATE_HOOKS = ("_state_dict_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks")
_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
"""The key in ``meta`` of attributes that copies are to have."""


class GraphModule(Module):
    """A module that does what a graph says. When the graph was changed, ``recompile`` writes its code anew.

    Each one has a class of its own, whose ``forward`` is that code.

    Args:
        root: a module that has what the graph reads; or a dictionary of that, by paths.
        graph: the graph.
        class_name: the name of its class.

    Attributes:
        graph: the graph; to set another one writes its code.
        code: the code.
        meta: what passes have noted.

    Raises:
        RuntimeError: the graph reads what a dictionary has not; or ``root`` is neither.
        AssertionError: a graph is set that is none.

    >>> gm = torch.fx.symbolic_trace(lambda x: torch.relu(x))
    >>> for node in gm.graph.nodes:
    ...     if node.target is torch.relu:
    ...         node.target = torch.neg
    >>> _ = gm.recompile()
    >>> gm(torch.ones(2))
    tensor([-1., -1.])
    """

    _graph: Graph
    _code: str

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        base = next(each for each in cls.__mro__ if each.__qualname__.split(".")[-1] != "GraphModuleImpl")

        class GraphModuleImpl(base, tree=False):  # type: ignore[misc,valid-type,call-arg]
            pass

        return super().__new__(GraphModuleImpl)

    def __init__(self, root: Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = class_name
        if isinstance(root, Module):
            self.training = getattr(root, "training", self.training)
            for node in _reading(graph):
                _copy_attr(root, self, node.target)
        elif isinstance(root, dict):
            self._take(root, graph)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self.graph = graph
        kept = graph._tracer_cls is not None and "<locals>" not in graph._tracer_cls.__qualname__
        self._tracer_cls = graph._tracer_cls if kept else None
        self._tracer_extras = graph._tracer_extras
        self.meta: dict[str, Any] = dict(getattr(root, "meta", {})) if isinstance(root, GraphModule) else {}
        for name in HOOKS:
            self.__dict__[name] = []

    def _take(self, root: dict[str, Any], graph: Graph) -> None:
        """Take what a graph reads from a dictionary, what is right here first."""
        for node in _reading(graph):
            if node.target not in root:
                raise RuntimeError(
                    f"Node {node} referenced target {node.target} but that target was not provided in ``root``!"
                )
        for path in sorted({node.target for node in _reading(graph)}, key=lambda path: path.count(".")):
            _assign_attr(root[path], self, path)

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The code that was written for the graph last.

        Raises:
            RuntimeError: there is none yet.
        """
        if not hasattr(self, "_code"):
            raise RuntimeError("Code has not been generated! Please report a bug to PyTorch")
        return self._code

    def recompile(self) -> PythonCode:
        """Write the code of the graph, which runs from now on, and give it."""
        codegen = self._graph._codegen
        if isinstance(codegen, _PyTreeCodeGen):
            self._in_spec, self._out_spec = codegen.pytree_info.in_spec, codegen.pytree_info.out_spec
        written = self._graph.python_code(root_module="self")
        self._code, self._lineno_map, self._prologue_start = written.src, written._lineno_map, written._prologue_start
        self._run_by(written.src, written.globals)
        return written

    def _run_by(self, source: str, found: dict[str, Any]) -> None:
        cls: Any = type(self)
        cls.forward = _forward_from_src(source, found, self._graph._codegen._func_name)
        if "_wrapped_call" not in vars(cls):
            cls._wrapped_call = _WrappedCall(cls, vars(cls).get("__call__"))

            def call_wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
                return self._wrapped_call(self, *args, **kwargs)

            cls.__call__ = call_wrapped

    # Modules below ----------------------------------------------------------------------------------------------------

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module at a path, with empty modules on the way.

        Returns:
            whether it was put there: not if something else than a module is on the way.
        """
        *way, name = target.split(".")
        module: Module = self
        for step in way:
            found = getattr(module, step, None)
            if found is None:
                found = Module()
                setattr(module, step, found)
            if not isinstance(found, Module):
                return False
            module = found
        module.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Take the module at a path away.

        Returns:
            whether there was one.
        """
        parent, name = parent_of(self, target)
        if parent is None or not isinstance(getattr(parent, name, None), Module):
            return False
        delattr(parent, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Take away all modules that the graph does not call, nor reads something of."""
        used: set[str] = set()
        for node in _reading(self.graph):
            steps = node.target.split(".")
            used |= {".".join(steps[:count]) for count in range(1, len(steps) + 1)}
            if node.op == "call_module" and _has_attr(self, node.target):
                below = self.get_submodule(node.target).named_modules()
                used |= {f"{node.target}.{name}" if name else node.target for name, _ in below}
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    # Copies, files and text -------------------------------------------------------------------------------------------

    def __reduce__(self) -> tuple[Any, ...]:
        return reduce_graph_module, state_of(self)

    def _deepcopy_init(self) -> Callable[..., None]:
        """The ``__init__`` that a copy is made by."""
        return GraphModule.__init__

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        holder = _CodeOnlyModule(copy.deepcopy(vars(self), memo))
        self._deepcopy_init()(made, holder, vars(holder)["_graph"])
        for name in (*STATE_HOOKS, *HOOKS):
            if name in vars(self):
                setattr(made, name, copy.deepcopy(vars(self)[name], memo))
        made.meta = copy.deepcopy(getattr(self, "meta", {}), memo)
        for name, value in made.meta.get(_USER_PRESERVED_ATTRIBUTES_KEY, {}).items():
            setattr(made, name, value)
        for hook in made._deepcopy_hooks:
            hook(made)
        return made

    def __copy__(self) -> GraphModule:
        made = GraphModule(self, self.graph)
        made.meta = getattr(self, "meta", {})
        return made

    def to_folder(self, folder: Any, module_name: str = "FxModule") -> None:
        """Write this module as Python into a folder: its code, and its state beside it.

        Args:
            folder: the folder, which is made if need be.
            module_name: the name of the class in it.
        """
        write_folder(self, folder, module_name)

    def print_readable(
        self, print_output: bool = True, include_stride: bool = False, include_device: bool = False,
        colored: bool = False, *, fast_sympy_print: bool = False, expanded_def: bool = False,
        additional_meta: list[str] | None = None,
    ) -> str:  # fmt: skip
        """The code of this module and of those below, as classes.

        Args:
            print_output: whether to print it, too.
            include_stride, include_device: whether strides and devices are told where shapes are known.
            expanded_def: whether each parameter of a function has a line of its own.
            colored, fast_sympy_print, additional_meta: taken, and not written.
        """
        text = print_readable(
            self, self._get_name(), include_stride=include_stride, include_device=include_device,
            expanded_def=expanded_def,
        )  # fmt: skip
        if print_output:
            print(text)
        return text

    def __str__(self) -> str:
        return "\n".join([super().__str__(), self._code, REMINDER])

    # Hooks of passes --------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _set_replace_hook(self, f: Callable[..., Any]) -> Iterator[None]:
        """A context in which ``f(old=, new=, user=)`` is called for each node that takes another one."""
        self._register_replace_node_hook(f)
        try:
            yield
        finally:
            self._unregister_replace_node_hook(f)

    def _register_replace_node_hook(self, f: Callable[..., Any]) -> None:
        self._replace_hooks.append(f)

    def _unregister_replace_node_hook(self, f: Callable[..., Any]) -> None:
        self._replace_hooks.remove(f)

    def _register_create_node_hook(self, f: Callable[[Any], Any]) -> None:
        self._create_node_hooks.append(f)

    def _unregister_create_node_hook(self, f: Callable[[Any], Any]) -> None:
        self._create_node_hooks.remove(f)

    def _register_erase_node_hook(self, f: Callable[[Any], Any]) -> None:
        self._erase_node_hooks.append(f)

    def _unregister_erase_node_hook(self, f: Callable[[Any], Any]) -> None:
        self._erase_node_hooks.remove(f)

    def _register_deepcopy_hook(self, f: Callable[[Any], Any]) -> None:
        self._deepcopy_hooks.append(f)

    def _unregister_deepcopy_hook(self, f: Callable[[Any], Any]) -> None:
        self._deepcopy_hooks.remove(f)


def reduce_graph_module(body: dict[Any, Any], import_block: str) -> GraphModule:
    """The module that a pickle has kept: its code is traced again.

    Args:
        body: its state, and the code.
        import_block: the lines that import what the code refers to.
    """
    root, graph = retraced(body, import_block)
    made = GraphModule(root, graph)
    for name, value in body.items():
        if not hasattr(made, name):
            setattr(made, name, value)
    return made


def _reading(graph: Graph) -> Iterator[Any]:
    """The nodes that read something of the module that runs a graph."""
    for node in graph.nodes:
        if node.op in ("get_attr", "call_module"):
            if not isinstance(node.target, str):
                raise AssertionError(f"node.target {node.target} must be a str")
            yield node
