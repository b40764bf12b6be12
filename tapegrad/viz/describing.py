"""Descriptions of nodes of the tape: read off their public face, changing nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import NoneType
from typing import Any, NamedTuple

from tapegrad._src.dispatch.nodes.operator import OperatorNode
from tapegrad._src.dispatch.nodes.saved_tensor import SavedTensor, Saves
from tapegrad._src.execution.data.values import NUMBERS
from tapegrad._src.tape.node import HIGHEST_SEQUENCE_NR, Node, name_of
from tapegrad._src.tape.positions import Position
from tapegrad._src.tensor.paths import path_of
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.viz.recording import NodeRecord, record_of


class Description(NamedTuple):
    """The text about one box.

    Attributes:
        name: the first line.
        details: the other lines.
        facts: what more there is to say, for who asks.
    """

    name: str
    details: list[str]
    facts: list[str]

    @property
    def lines(self) -> list[str]:
        """The lines in the box."""
        return [self.name, *self.details]


class SavedItem(NamedTuple):
    """A tensor that a node keeps for backward.

    Attributes:
        name: under which name.
        text: what it is like.
        nbytes: how many bytes.
        value: which memory; what is the same is kept once.
        tensor: the tensor itself; None where a hook has packed it.
    """

    name: str
    text: str
    nbytes: int
    value: int
    tensor: Tensor | None


def short(spec: Any) -> str:
    """A dtype and a shape, or of a tensor.

    >>> short(torch.ones(2, 3))
    'f32[2, 3]'
    """
    return f"{spec.dtype.abbr}[{', '.join(map(str, spec.shape))}]"


def bytes_text(count: float) -> str:
    """A number of bytes.

    >>> [bytes_text(12), bytes_text(4096), bytes_text(5 << 20)]
    ['12 B', '4 KiB', '5 MiB']
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            break
        count /= 1024
    return f"{count:.3g} {unit}"


def time_text(nanoseconds: float) -> str:
    """A time.

    >>> [time_text(850), time_text(12_300), time_text(4.5e9)]
    ['0.85 µs', '12.3 µs', '4.5 s']
    """
    for factor, unit in ((1e9, "s"), (1e6, "ms")):
        if nanoseconds >= factor:
            return f"{nanoseconds / factor:.3g} {unit}"
    return f"{nanoseconds / 1e3:.3g} µs"


def plain_name(node: Node) -> str:
    """A node's name without the namespace of C++."""
    return name_of(node).rpartition("::")[2]


def inputs_of(node: Node) -> tuple[str, ...]:
    """The kinds of gradients that a node takes."""
    if is_leaf(node):
        return (short(node.variable),)  # type: ignore[attr-defined]
    return tuple(short(spec) for spec in getattr(node, "_input_metadata", ()) if spec is not None)


def is_leaf(node: Node) -> bool:
    """Tell whether it is where gradients are accumulated."""
    return node.sequence_nr == HIGHEST_SEQUENCE_NR and isinstance(getattr(node, "variable", None), Tensor)


def is_freed(node: Node) -> bool:
    """Tell whether a backward call has freed what it had saved."""
    return getattr(node, "_saved", ()) is None or isinstance(getattr(node, "saved", ()), (Position, NoneType))


def freed_by(node: Node) -> Any:
    """The place where that backward call was made, if it is known."""
    return getattr(node, "_freed_by", None) or getattr(node, "saved", None)


def saved_by(node: Node) -> list[SavedItem]:
    """The tensors that a node keeps; none once they are freed. Hooks that unpack them are not run."""
    if is_freed(node):
        return []
    found = []
    for field, name in saved_names(node) if isinstance(node, OperatorNode) else ():
        with suppress(RuntimeError, AttributeError):  # written to since; of this node there is none
            given = getattr(node, name)
            items = given if isinstance(given, (tuple, list)) else (given,)
            of_node = [saved_item(field, one) for one in items]
            number = number_behind(node, field)
            if number is not None:  # the tensor was made just now, and its memory will be another one's
                of_node = [one and one._replace(value=id(number)) for one in of_node]
            found += of_node
    raw = getattr(node, "_raw_saved_tensors", ())
    found += [saved_item(f"saved_tensors[{place}]", one) for place, one in enumerate(raw)]
    return [one for one in found if one is not None]


def saved_names(node: OperatorNode) -> list[tuple[str, str]]:
    """The fields of what an operator's node saves, and under which names it gives them, with hooks as they are."""
    op = node.plan.op
    if isinstance(node.saved, Saves):
        return [(field, f"_raw_saved_{field}") for field in sorted(op.saved_tensor_fields(node))]
    return [(field, f"_saved_{field}") for field in sorted(op.saved_fields())]


def number_behind(node: Any, field: str) -> Any:
    """The Python number that an operator's node saves, and shows as a tensor; None of what is a tensor."""
    op = node.plan.op
    index = op.saved_index(node.plan, op.own_name(field)) if op.wraps_numbers else None
    kept = node.saved[index] if isinstance(index, int) and isinstance(node.saved, (tuple, list)) else None
    return kept if isinstance(kept, NUMBERS) else None


def saved_item(name: str, item: Any) -> SavedItem | None:
    """A tensor that is kept, by itself or as a ``SavedTensor``; None if it is neither."""
    if isinstance(item, Tensor):
        return SavedItem(name, short(item), item.nbytes, memory_of(item), item)
    spec = getattr(item, "spec", None) if isinstance(item, SavedTensor) else None
    if spec is None:
        return None
    if item.hooks is not None:
        return SavedItem(name, f"{short(spec)} (packed by a hook)", 0, id(item), None)
    kept = item.kept if isinstance(item.kept, Tensor) else None
    memory = id(item.kept) if kept is None else memory_of(kept)
    return SavedItem(name, short(spec), spec.numel * spec.dtype.itemsize, memory, kept)


def memory_of(tensor: Tensor) -> int:
    """Which memory a tensor shows: its value, or that of its storage once it was written to."""
    return id(tensor._value) if tensor._spec.plain else id(tensor._storage)


def kept_by(node: Node) -> dict[int, int]:
    """The bytes of each memory that a node keeps."""
    return {one.value: one.nbytes for one in saved_by(node)}


def name_of_leaf(leaf: Any, names: Mapping[int, str]) -> str:
    """The name that a leaf was given, or its path in the module that has it as a parameter."""
    return names.get(id(leaf)) or (path_of(leaf) or ("leaf",))[0]


def describe_node(node: Node, names: Mapping[int, str]) -> Description:
    """The description of a node."""
    seen = record_of(node)
    name, shapes = plain_name(node), " ".join(inputs_of(node))
    run = how_it_ran(seen)
    if is_leaf(node):
        leaf: Any = node.variable  # type: ignore[attr-defined]
        given = name_of_leaf(leaf, names)
        return Description(given, [shapes, *run], [f"{name} of {given}", f"takes {shapes}", *facts_of(node, seen)])
    saved = saved_by(node)
    details = [shapes, *saved_line(saved), *run]
    facts = [name, f"takes {shapes}", *(f"saves {one.name}: {one.text}, {bytes_text(one.nbytes)}" for one in saved)]
    return Description(name, [one for one in details if one], [*facts, *facts_of(node, seen)])


def saved_line(saved: Sequence[SavedItem]) -> list[str]:
    """The line of a box about what is saved: each tensor, or how many, if there are many."""
    if not saved:
        return []
    total = bytes_text(sum(one.nbytes for one in saved))
    if len(saved) > 2:
        return [f"saves {len(saved)} tensors, {total}"]
    return ["saves " + " ".join(one.text for one in saved) + f", {total}"]


def how_it_ran(seen: NodeRecord | None) -> list[str]:
    """Order, time and norms of a node that was recorded in a backward call."""
    if seen is None or seen.order is None:
        return ["asked for"] if seen is not None and seen.captured else []
    parts = [f"#{seen.order}", time_text(seen.nanoseconds), *norms_text(seen)]
    return [", ".join(parts)]


def norms_text(seen: NodeRecord) -> list[str]:
    """The norms of the gradients that arrived."""
    norms = [f"{norm.item():.3g}" for norm in seen.norms if norm is not None]
    return [f"norm {' '.join(norms)}"] if norms else []


def facts_of(node: Node, seen: NodeRecord | None) -> list[str]:
    """The facts that may be known of a node besides what it is: its number, its line, its module, its hooks."""
    facts = [] if node.sequence_nr == HIGHEST_SEQUENCE_NR else [f"made as number {node.sequence_nr}"]
    if is_freed(node):
        place = freed_by(node)
        facts.append("what it saved was freed" + (f" by the backward call at {place}" if place else ""))
    elif isinstance(getattr(node, "saved", None), Saves):
        facts.append("what it saved is kept by hooks")
    origin = node._origin
    if origin is not None and origin.position is not None:
        facts.append(f"made at {origin.position}")
    if seen is not None and seen.call is not None:
        facts.append(f"in {path_of_call(seen.call)}")
    if node.hook_slots is not None:
        facts.append("has slots for hooks")
    return facts


def path_of_call(call: Any) -> str:
    """The modules around a call, the outermost first."""
    names = []
    while call is not None:
        names.append(call.name if call.name == call.kind else f"{call.name} ({call.kind})")
        call = call.outer
    return " / ".join(names[::-1])


def describe_group(kind: str, label: str, nodes: Sequence[Node], kept: Mapping[int, int]) -> Description:
    """The description of a group: how many nodes it has, and which, and what these keep."""
    if kind == "root":
        name, *details = label.split("\n")
        return Description(name, details, ["where backward starts"])
    counts = Counter(plain_name(node) for node in nodes)
    most = [f"{count} {name}" for name, count in counts.most_common(6)]
    more = ["…"] if len(counts) > 6 else []
    times = [seen.nanoseconds for node in nodes if (seen := record_of(node)) is not None and seen.order is not None]
    took = [f"together {time_text(sum(times))}"] if times else []
    saves = [f"saves {bytes_text(sum(kept.values()))}"] if any(kept.values()) else []
    return Description(label, [f"{len(nodes)} nodes", *saves, *took], [label, *most, *more, *saves, *took])
