"""``CodeGen``: what writes a graph as the source of a function. Subclasses write other heads and returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tapegrad.fx._code_writer import CodeWriter, last_users
from tapegrad.fx._namespace import _Namespace
from tapegrad.utils._pytree import TreeSpec, tree_flatten, tree_unflatten

TransformCodeFunc = Callable[[list[str]], list[str]]


@dataclass
class PythonCode:
    """The source of a graph.

    Attributes:
        src: the definition of a function.
        globals: what it refers to, by name.
        _lineno_map: for each line of the function, the number of the node that it is of.
        _prologue_start: the line of the definition in ``src``.
    """

    src: str
    globals: dict[str, Any]
    _lineno_map: dict[int, int | None] | None
    _prologue_start: int = field(default=0)


class CodeGen:
    """The writer of graphs as Python functions, in which libraries override what begins and ends them.

    >>> class Named(torch.fx.graph.CodeGen):
    ...     def generate_output(self, output_args, **options):
    ...         return f"return dict(result={output_args!r})"
    >>> gm = torch.fx.symbolic_trace(lambda x: x + 1)
    >>> gm.graph.set_codegen(Named())
    >>> _ = gm.recompile()
    >>> gm(1)
    {'result': 2}
    """

    def __init__(self) -> None:
        self._body_transformer: TransformCodeFunc | None = None
        self._func_name = "forward"

    def gen_fn_def(
        self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False
    ) -> str:  # fmt: skip
        """The head of the function.

        Args:
            free_vars: its parameters, with annotations and defaults.
            maybe_return_annotation: what stands behind them.
            expanded_def: whether each parameter has a line of its own.
        """
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        if expanded_def:
            lines = "".join(f"    {name},\n" for name in free_vars)
            return f"def {self._func_name}(\n{lines}){maybe_return_annotation}:"
        return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(
        self, output_args: Any, *, descs: Sequence[str] | None = None, repr_fn: Callable[[Any], str] | None = None
    ) -> str:
        """The statement that returns.

        Args:
            output_args: what the graph gives.
            descs: taken, and not written.
            repr_fn: gives the text of it; ``repr`` if there is none.
        """
        return f"return {(repr_fn or repr)(output_args)}"

    def process_inputs(self, *args: Any) -> Any:
        """The inputs of the graph, from the arguments of the function."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """The result of the function, from the outputs of the graph."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """The things that the code refers to besides those that nodes say, with names."""
        return []

    def _gen_python_code(
        self, nodes: Any, root_module: str, namespace: _Namespace, *, verbose: bool = False,
        include_stride: bool = False, include_device: bool = False, colored: bool = False, expanded_def: bool = False,
        record_func: bool = False, additional_meta: list[str] | None = None,
    ) -> PythonCode:  # fmt: skip
        writer = CodeWriter(root_module, namespace, verbose, (include_stride, include_device))
        for name, obj in self.additional_globals():
            writer.refer(name, obj)
        nodes = list(nodes)
        done: dict[Any, list[Any]] = last_users(nodes)
        lines: dict[int, int | None] = {}
        for number, node in enumerate(nodes):
            begun = len(writer.body)
            writer.write(node, done[node], self.generate_output)
            ends = "".join(writer.body[begun:]).count("\n")
            lines.update(dict.fromkeys(range(len(lines) + 1, len(lines) + 1 + ends), number))
        lines = lines or {1: None}
        lines[len(lines) + 1] = lines[len(lines)]
        return self._put_together(writer, lines, expanded_def)

    def _put_together(self, writer: CodeWriter, lines: dict[int, int | None], expanded: bool) -> PythonCode:
        body = writer.body or ["pass\n"]
        if self._body_transformer:
            body = self._body_transformer(body)
        wraps = "\n".join(f'torch.fx._symbolic_trace.wrap("{name}")' for name in writer.wrapped)
        head = self.gen_fn_def(writer.arguments, writer.returned, expanded_def=expanded)
        code = "\n".join(f"    {line}" for line in "".join(body).lstrip("\n").split("\n"))
        before = f"\n{wraps}\n\n"
        return PythonCode(f"{before}{head}\n{code}", writer.found, lines, before.count("\n") + 1)


class _PyTreeInfo(NamedTuple):
    """The trees that the arguments of a function are.

    Attributes:
        orig_args: their names.
        in_spec: their structure.
        out_spec: that of what it gives, once that is known.
    """

    orig_args: list[str]
    in_spec: TreeSpec
    out_spec: TreeSpec | None


class _PyTreeCodeGen(CodeGen):
    """The writer of functions whose arguments and result are trees, of which the graph has the leaves."""

    def __init__(self, pytree_info: _PyTreeInfo) -> None:
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs: Any) -> Any:
        return tree_flatten(inputs)[0]

    def process_outputs(self, out: Any) -> Any:
        spec = self.pytree_info.out_spec
        if spec is None:
            return out
        return tree_unflatten(list(out) if isinstance(out, (list, tuple)) else [out], spec)

    def gen_fn_def(
        self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False
    ) -> str:  # fmt: skip
        names = self.pytree_info.orig_args
        root = "" if not names or names[0] != "self" else names[0]
        given = names[1:] if root else list(names)
        head = super().gen_fn_def(list(names), maybe_return_annotation, expanded_def=expanded_def)
        if not free_vars:
            return head
        leaves = [name.partition(":")[0].partition("=")[0].strip() for name in free_vars]
        tree = f"([{', '.join(given)}], {{}})" if _has_keywords(self.pytree_info.in_spec) else f"[{', '.join(given)}]"
        return f"{head}\n    {', '.join(leaves)}, = fx_pytree.tree_flatten_spec({tree}, self._in_spec)"

    def generate_output(
        self, output_args: Any, *, descs: Sequence[str] | None = None, repr_fn: Callable[[Any], str] | None = None
    ) -> str:
        text = (repr_fn or repr)(output_args)
        if self.pytree_info.out_spec is None:
            return f"return {text}"
        return f"return pytree.tree_unflatten({text}, self._out_spec)"


def _has_keywords(spec: TreeSpec) -> bool:
    """Tell whether a structure is that of positional arguments and those by name."""
    kinds = [child.type for child in spec.children()]
    return spec.type is tuple and kinds == [tuple, dict]


@contextmanager
def named_by(nodes: Any, name_of: Callable[[Any], str]) -> Any:
    """A context in which the text of nodes is what ``name_of`` says."""
    before = [(node, node.__dict__.get("_repr_fn")) for node in nodes]
    try:
        for node, _ in before:
            object.__setattr__(node, "_repr_fn", name_of)
        yield
    finally:
        for node, function in before:
            object.__setattr__(node, "_repr_fn", function)
