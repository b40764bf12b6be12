"""The file that comes with the package, written from what calls of all kinds leave in a process."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tapegrad._src.dispatch.call_keys import shipped_family
from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.dispatch.patterns import reader_for
from tapegrad._src.dispatch.shape_class import ShapeClass, ShapeClasses, outlined_numbers
from tapegrad._src.execution.kernels.symbolic_kernel import SMALL
from tapegrad._src.execution.tiers.keeping import ShippedEntry, as_bytes
from tapegrad._src.tape import kept
from tapegrad._src.tape.kept import code_of
from tapegrad._src.tensor.spec import Spec
from tapegrad.ops.operator import TABLE


class _Any(kept.Shipped):
    """In place of the file while it is written: places are told, and nothing is there."""

    is_there = True

    def find(self, key: bytes) -> None:
        return None


def all_known() -> Iterator[tuple[Any, ShapeClasses]]:
    """All that calls so far have left."""
    for name in sorted(TABLE):
        for known in TABLE[name].calls.classes.values():
            if known.classes:
                yield TABLE[name], known


def small(shape_class: ShapeClass) -> list[str]:
    """That arguments and results are small, as Python says it."""
    specs, _ = shape_class._given
    numbers = iter(shape_class._pattern)
    arguments = [[next(numbers) for _ in spec.shape] for spec in specs if isinstance(spec, Spec)]
    shapes = [[size for size in shape if size != 1] for shape in [*arguments, *shape_class._shapes]]
    symbolic = [shape for shape in shapes if any(isinstance(size, str) for size in shape)]
    products = {" * ".join([f"({size})" for size in shape]) for shape in symbolic}
    return [f"{product} <= {SMALL}" for product in sorted(products)]


def entries() -> dict[bytes, bytes]:
    """The entries of all shape classes there are, and the code of what runs many calls."""
    kept.shipped = _Any(None)
    found: dict[bytes, dict] = {}
    for op, known in all_known():
        named = shipped_family(op, *known.classes[0]._given)
        for index, shape_class in enumerate(known.classes if named is not None else ()):
            parts = dict(parts_of(index, shape_class))
            if parts:
                outline = outlined_numbers(numbers_of(shape_class), op.uniform or op.indifferent)
                place = found.setdefault(ShippedEntry(str(named), outline).key, {"readers": []})
                place["readers"].append((index, read_of(op, shape_class)))
                place.update(parts)
    written = {key: marshal.dumps({**parts, "readers": as_bytes(parts["readers"])}) for key, parts in found.items()}
    cache = code_of.cache  # type: ignore[attr-defined]
    for (source,), code in [*cache.recent.items(), *cache.older.items()]:
        if source.startswith(ENTRIES):
            written[kept.digest(source.encode())] = marshal.dumps(code)
    return written


ENTRIES = "def run(", "def apply("
"""The beginnings of lines that many calls have in common."""


def parts_of(index: int, shape_class: ShapeClass) -> Iterator[tuple[Any, bytes]]:
    """The parts of a shape class, and of its backward kernels, that are kept, as far as they can be."""
    data = None if shape_class.forward is None else as_bytes(shape_class.as_shipped)
    if data is not None:
        yield index, data
        for key, general in shape_class._traces.items():
            data = as_bytes((general,))
            if data is not None:
                yield (index, *key), data


def read_of(op: OperatorLike, shape_class: ShapeClass) -> Callable:
    """The code that reads the numbers of small calls."""
    return reader_for(op, shape_class._pattern, shape_class.names, shape_class._order, small(shape_class))


def numbers_of(shape_class: ShapeClass) -> list[Any]:
    """The numbers of the call that a shape class was made for."""
    scope = dict(zip(shape_class.names, shape_class._first, strict=True))
    return [eval(number, dict(scope)) if isinstance(number, str) else number for number in shape_class._pattern]


def write(path: Path) -> int:
    """Write the file; its size."""
    data = kept.compressed({kept.ABOUT: kept.about(), **dict(sorted(entries().items()))})
    path.write_bytes(data)
    return len(data)
