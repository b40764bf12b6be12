"""``saved`` and ``who_holds``: what is kept for backward, and by whom."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import FrameType, ModuleType
from typing import Any, NamedTuple

from tapegrad._src.dispatch.nodes.saved_tensor import SavedTensor
from tapegrad._src.tape.node import Node
from tapegrad._src.tape.positions import passed_over
from tapegrad._src.tensor.paths import owners
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.optim.optimizer import Optimizer
from tapegrad.viz.describing import SavedItem, bytes_text, is_freed, is_leaf, path_of_call, plain_name, saved_by
from tapegrad.viz.explanations.report import Report
from tapegrad.viz.explanations.subjects import (
    called,
    described,
    freed_text,
    line_of,
    lines_missing,
    nodes_of,
    tensor_given,
)
from tapegrad.viz.recording import record_of


class Kept(NamedTuple):
    """A piece of memory that a graph keeps for backward.

    Attributes:
        text: dtype and shape.
        nbytes: its size.
        of: what it is: a parameter, a leaf, the result of an operator.
        holders: the nodes that keep it, each with the name under which it does.
        line: the user's line that made the first of them; module: the modules around it, if that was recorded.
    """

    text: str
    nbytes: int
    of: str
    holders: tuple[str, ...]
    line: str
    module: str


class KeptReport(Report):
    """The things that a graph keeps for backward."""

    columns = {
        "tensor": lambda kept: kept.text,
        "bytes": lambda kept: bytes_text(kept.nbytes),
        "which is a": lambda kept: kept.of,
        "kept by": lambda kept: shortened(kept.holders),
        "line": lambda kept: kept.line,
        "module": lambda kept: kept.module,
    }

    @property
    def nbytes(self) -> int:
        """The number of bytes that are kept in all; what several nodes keep counts once."""
        return sum(row.nbytes for row in self.rows)


def shortened(names: Sequence[str], most: int = 3) -> str:
    """Some names in a row."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def saved(loss: Any) -> KeptReport:
    """Tell what the graph of ``loss`` keeps for backward, the largest first: what it is, who keeps it, on which line.

    Raises:
        TypeError: no tensor.
        ValueError: the tensor has no graph.

    >>> w = torch.ones(8, requires_grad=True)
    >>> torch.viz.saved((w.exp() * w).sum())
    saved for backward: 2 tensors, 64 B
      tensor  bytes  which is a               kept by
      f32[8]  32 B   result of exp            ExpBackward0.result, MulBackward0.self
      f32[8]  32 B   leaf that requires grad  MulBackward0.other
    of this leaves, which are there anyway: 32 B
    torch.autograd.set_record_source_lines(True), before the forward pass, tells the lines
    """
    _, nodes = nodes_of(loss, "saved")
    rows = sorted(kept_by(nodes), key=lambda row: -row.nbytes)
    total = sum(row.nbytes for row in rows)
    own = sum(row.nbytes for row in rows if row.of.startswith(("leaf", "parameter")))
    return KeptReport(
        f"saved for backward: {len(rows)} {'tensor' if len(rows) == 1 else 'tensors'}, {bytes_text(total)}",
        rows,
        [
            f"of this leaves, which are there anyway: {bytes_text(own)}" if own else None,
            freed_text(nodes),
            lines_missing(nodes),
        ],
    )


def kept_by(nodes: Iterable[Node]) -> Iterator[Kept]:
    """All memory that some nodes keep, each piece once."""
    holders: dict[int, list[tuple[Node, SavedItem]]] = {}
    for node in sorted(nodes, key=lambda node: node.sequence_nr):
        for item in saved_by(node):
            holders.setdefault(item.value, []).append((node, item))
    for found in holders.values():
        node, item = found[0]
        seen = record_of(node)
        names = dict.fromkeys(f"{plain_name(one)}.{kept.name}" for one, kept in found)
        module = "" if seen is None or seen.call is None else path_of_call(seen.call)
        of = next((called(kept.tensor) for _, kept in found if kept.tensor is not None), "")
        yield Kept(item.text, item.nbytes, of, tuple(names), line_of(node), module)


# Who holds a tensor -------------------------------------------------------------------------------------------------


class Holder(NamedTuple):
    """Something that keeps a tensor, or its memory, alive.

    Attributes:
        kind: ``"graph"``, ``"tensor"``, ``"module"``, ``"optimizer"``, ``"variable"``, ``"object"``.
        name: what it is.
        place: where, if that is known.
    """

    kind: str
    name: str
    place: str


class HoldersReport(Report):
    """The holders that keep a tensor alive."""

    columns = {
        "held by": lambda holder: holder.kind,
        "": lambda holder: holder.name,
        "where": lambda holder: holder.place,
    }


def who_holds(tensor: Any) -> HoldersReport:
    """Tell who keeps a tensor, or its memory, alive: graphs, other tensors on its memory, modules, optimizers,
    variables.

    It looks at all objects that there are, which takes a moment.

    Raises:
        TypeError: no tensor.

    >>> def keep():
    ...     x = torch.ones(3)
    ...     w = torch.ones(3, requires_grad=True)
    ...     y = w * x
    ...     return torch.viz.who_holds(x)
    >>> print(keep())
    who holds tensor without a graph, f32[3]
      held by                     where
      graph     MulBackward0.other
      variable  x                 in keep, ...
    """
    tensor = tensor_given(tensor, "who_holds")
    frames = list(frames_from(sys._getframe(1)))
    namespaces = [frame.f_locals for frame in frames]  # read first: what they had when they were read last goes
    objects = gc.get_objects()
    rows = [*graphs(tensor, objects), *tensors(tensor, objects), *modules(tensor), *optimizers(tensor, objects)]
    rows += [*variables(tensor, frames), *containers(tensor, objects, namespaces)]
    facts = [] if rows else ["nobody but who asks"]
    return HoldersReport(f"who holds {described(tensor)}", dict.fromkeys(rows), facts)


def is_on(tensor: Tensor, other: Any) -> bool:
    """Tell whether another tensor is this one, or shows its memory."""
    if other is tensor or not isinstance(other, Tensor):
        return other is tensor
    if tensor._storage is not None and other._storage is tensor._storage:
        return True
    return tensor._storage is None and tensor._value is not None and other._value is tensor._value


def graphs(tensor: Tensor, objects: Iterable[Any]) -> Iterator[Holder]:
    """The nodes that keep it for backward."""
    for node in objects:
        if isinstance(node, Node) and is_leaf(node) and node.variable is tensor:  # type: ignore[attr-defined]
            yield Holder("graph", f"{plain_name(node)}, where its gradient arrives", "")
        elif isinstance(node, Node) and not is_freed(node):
            for item in saved_by(node):
                if item.tensor is not None and is_on(tensor, item.tensor):
                    yield Holder("graph", f"{plain_name(node)}.{item.name}", line_of(node))


def tensors(tensor: Tensor, objects: Iterable[Any]) -> Iterator[Holder]:
    """The other tensors that show its memory, and those whose gradient it is."""
    for other in objects:
        if isinstance(other, Tensor) and other is not tensor:
            if other._grad is tensor:
                yield Holder("tensor", f".grad of {described(other)}", "")
            elif is_on(tensor, other):
                yield Holder("tensor", f"{described(other)}, on the same memory", "")


TABLES = {"_parameters": "parameter", "_buffers": "buffer"}
"""The places where modules have tensors, and what they are called there."""


def modules(tensor: Tensor) -> Iterator[Holder]:
    """The modules that have it as a parameter or a buffer."""
    for module in list(owners.values()):
        for table, what in TABLES.items():
            for name, one in vars(module).get(table, {}).items():
                if one is tensor:
                    yield Holder("module", f"{what} {name} of {type(module).__name__}", "")


def optimizers(tensor: Tensor, objects: Iterable[Any]) -> Iterator[Holder]:
    """The optimizers that update it, or have it in their state."""
    for one in objects:
        if isinstance(one, Optimizer):
            if any(parameter is tensor for group in one.param_groups for parameter in group["params"]):
                yield Holder("optimizer", type(one).__name__, "")
            for state in one.state.values():
                yield from (
                    Holder("optimizer", f"state {name!r} of {type(one).__name__}", "")
                    for name, value in state.items()
                    if value is tensor
                )


def frames_from(frame: FrameType | None) -> Iterator[FrameType]:
    """The functions that run now, the innermost first."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def variables(tensor: Tensor, frames: Iterable[FrameType]) -> Iterator[Holder]:
    """The variables of functions that run now, and of modules of Python."""
    for frame in frames:
        code = frame.f_code
        if code.co_name != "<module>" and not passed_over(code.co_filename):
            for name, value in frame.f_locals.items():
                if value is tensor:
                    yield Holder("variable", name, f"in {code.co_name}, {code.co_filename}:{frame.f_lineno}")
    for module in list(sys.modules.values()):
        if isinstance(module, ModuleType):
            names = [name for name, value in list(vars(module).items()) if value is tensor]
            yield from (Holder("variable", name, f"of module {module.__name__}") for name in names)


def containers(tensor: Tensor, objects: Iterable[Any], namespaces: Iterable[Any]) -> Iterator[Holder]:
    """Lists, dictionaries and the like in which it is, and whose attribute it is, where these are the user's."""
    told = {id(objects), *map(id, namespaces)}
    told |= {id(vars(module).get(table)) for module in owners.values() for table in TABLES}
    told |= {id(group["params"]) for one in objects if isinstance(one, Optimizer) for group in one.param_groups}
    told |= {id(state) for one in objects if isinstance(one, Optimizer) for state in one.state.values()}
    for referrer in gc.get_referrers(tensor):
        if id(referrer) in told or isinstance(referrer, (FrameType, SavedTensor, Node, Tensor, ModuleType)):
            continue
        if isinstance(referrer, Mapping):
            yield from in_mapping(tensor, referrer)
        elif isinstance(referrer, (list, set, frozenset)):
            yield Holder("object", f"a {type(referrer).__name__} of {len(referrer)}", whose(referrer))
        elif hasattr(referrer, "__dict__"):
            yield from attributes(tensor, referrer, vars(referrer))


def whose(container: Any) -> str:
    """The variable of a module of Python that a list or the like is; empty if it is none."""
    modules = [one for one in list(sys.modules.values()) if isinstance(one, ModuleType)]
    places = ((name, one) for one in modules for name, value in list(vars(one).items()) if value is container)
    return next((f"{name} of module {one.__name__}" for name, one in places), "")


def in_mapping(tensor: Tensor, mapping: Mapping) -> Iterator[Holder]:
    """A dictionary: of the attributes of an object, or by itself."""
    owner = next((one for one in gc.get_referrers(mapping) if getattr(one, "__dict__", None) is mapping), None)
    if owner is not None:
        yield from attributes(tensor, owner, mapping)
    elif "__builtins__" not in mapping:
        names = [name for name, value in list(mapping.items()) if value is tensor]
        yield from (Holder("object", f"a {type(mapping).__name__}, under {name!r}", "") for name in names)


def attributes(tensor: Tensor, owner: Any, mapping: Mapping) -> Iterator[Holder]:
    """The attributes of an object that it is."""
    if not isinstance(owner, (ModuleType, Tensor, Node)):
        names = [name for name, value in list(mapping.items()) if value is tensor]
        yield from (Holder("object", f"attribute {name} of a {type(owner).__name__}", "") for name in names)
