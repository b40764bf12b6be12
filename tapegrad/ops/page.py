"""The table of operators as a page to read: ``python -m tapegrad.ops`` prints it, ``--markdown`` as Markdown.

>>> row = describe(TABLE["mul"])
>>> row.operator, row.kind, row.formulas, row.saves
('mul(x, y)', 'elementwise', 'x: y; y: x', 'x, y')
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from tapegrad.ops import nested, sparse  # noqa: F401 - imported on demand elsewhere
from tapegrad.ops.kinds import General, LinearOperator, Multilinear
from tapegrad.ops.operator import TABLE, Operator

BY_XLA = {name: op.xla for name, op in TABLE.items() if op.xla}
"""The operators whose kernels, or whose backward, XLA computes whatever their size, and the primitives for which there
is no rule that NumPy can follow. See Note [The NumPy backend] in ``execution/numpy_backend/writer.py``."""


class PageRow(NamedTuple):
    """The row of one operator on the page.

    Attributes:
        operator: its name with its inputs and settings.
        kind: how forward mode and broadcasting follow.
        formulas: for each differentiable input, what its formula reads beside the gradient.
        saves: the inputs and outputs that are kept for backward.
        forward: where the forward-mode derivative comes from.
        complex: whether it takes complex numbers.
        host: whether its kernels are written for the NumPy backend; if not, the primitives that it lacks.
        accelerators: the platforms on which its kernel runs on the host, with a transfer each way.
        node: PyTorch's name of the node in the graph.
    """

    operator: str
    kind: str
    formulas: str
    saves: str
    forward: str
    complex: str
    host: str
    accelerators: str
    node: str


def describe(op: Operator) -> PageRow:
    """The row of one operator."""
    return PageRow(
        signature(op), op.kind, formulas(op), ", ".join(saved(op)), forward(op), "no" if op.real else "yes",
        f"no: {op.xla}" if op.xla else "yes", f"on host: {op.on_host}" if op.on_host else "yes",
        op.node if op.formulas else "",
    )  # fmt: skip


def signature(op: Operator) -> str:
    """An operator as it is called.

    >>> signature(TABLE["cat"]), signature(TABLE["softmax"])
    ('cat(*xs, *, axis)', 'softmax(x, *, axis)')
    """
    variadic = [f"*{op.variadic}"] if op.variadic else []
    settings = ["*", *op.settings] if op.settings else []
    return f"{op.name}({', '.join([*op.inputs, *variadic, *settings])})"


def formulas(op: Operator) -> str:
    """The differentiable inputs, each with what its formula reads beside the gradient."""
    gradients = {"g", "gs", *(f"g_{name}" for name in op.outputs or ())}
    parts = []
    for name, formula in op.formulas.items():
        read = [one for one in formula.names if one not in gradients]
        parts.append(f"{name}: {', '.join(read)}" if read else name)
    return "; ".join(parts)


def saved(op: Operator) -> list[str]:
    """The inputs and outputs that some formula reads, which are kept for backward."""
    names = (*op.inputs, op.variadic, *(op.outputs or ("out",)))
    return [name for name in names if name in op.read_names() and name]


def forward(op: Operator) -> str:
    """The origin of the forward-mode derivative; nothing where there is none."""
    if not op.formulas:
        return ""
    if op.jvp_formula is not None:
        return "jvp formula"
    if isinstance(op, (LinearOperator, Multilinear)) or type(op).jvp is not General.jvp:
        return f"{op.kind} kind"
    return "none"


def families() -> Iterator[tuple[str, list[PageRow]]]:
    """The rows of each family, in the order of declaration."""
    ops = sorted(TABLE.values(), key=lambda op: op.__module__)
    for module, members in groupby(ops, key=lambda op: op.__module__):
        yield module.rpartition(".")[2], [describe(op) for op in members]


def variants() -> dict[str, list[str]]:
    """The operators that have variants for some kinds of arguments, and these.

    >>> variants()["pow"]
    ['power', 'pow_number', 'number_pow']
    """
    found: dict[str, list[str]] = {}
    for op in TABLE.values():
        if op.family not in ("", op.name):
            found.setdefault(op.family, []).append(op.name)
    return found


def as_text(rows: Iterable[PageRow]) -> str:
    """Rows as columns of text."""
    lines = [tuple(field.capitalize() for field in PageRow._fields), *rows]
    widths = [min(44, max(len(line[column]) for line in lines)) for column in range(len(PageRow._fields))]
    aligned = ("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
    return "\n".join(line.rstrip() for line in aligned)


def as_markdown(rows: Iterable[PageRow]) -> str:
    """Rows as a table of Markdown.

    >>> print(as_markdown([describe(TABLE["neg"])]))
    | operator | kind | formulas | saves | forward | complex | host | accelerators | node |
    | --- | --- | --- | --- | --- | --- | --- | --- | --- |
    | `neg(x)` | elementwise | `x` |  | elementwise kind | yes | yes | yes | NegBackward0 |
    """
    lines = [PageRow._fields, ("---",) * len(PageRow._fields), *(quoted(row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def quoted(row: PageRow) -> PageRow:
    """A row whose code is marked as such."""
    mark = lambda text: f"`{text}`" if text else ""
    return row._replace(operator=mark(row.operator), formulas=mark(row.formulas), saves=mark(row.saves))


def page(markdown: bool = False) -> str:
    """The whole page."""
    title, table = ("## {}", as_markdown) if markdown else ("{}:", as_text)
    parts = [f"{title.format(family)}\n\n{table(rows)}" for family, rows in families()]
    kinds = "\n".join(f"{name}: {', '.join(others)}" for name, others in variants().items())
    parts.append(f"Variants, for other kinds of arguments or of other shapes:\n\n{kinds}")
    total = f"{len(TABLE)} operators, {sum(bool(op.formulas) for op in TABLE.values())} of them differentiable."
    lacking = ", ".join(sorted({name for names in BY_XLA.values() for name in names.split(", ")}))
    tiers = f"{len(TABLE) - len(BY_XLA)} of them have kernels for the host; those of {len(BY_XLA)} are XLA's"
    return "\n\n".join([*parts, total, f"{tiers}: there are no rules for {lacking}."])
