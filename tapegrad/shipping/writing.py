"""The file that comes with the package, written from what calls of all kinds leave in a process."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tapegrad.dispatch.keys import shipped_family
from tapegrad.dispatch.patterns import reader_for
from tapegrad.dispatch.structures import Family, Structure, outlined_numbers
from tapegrad.execution.keeping import ShippedEntry, as_bytes
from tapegrad.execution.shared import SMALL
from tapegrad.ops.operator import TABLE
from tapegrad.tape import kept
from tapegrad.tape.sources import code_of
from tapegrad.tensor.spec import Spec


class _Any(kept.Shipped):
    """In place of the file while it is written: places are told, and nothing is there."""

    is_there = True

    def find(self, key: bytes) -> None:
        return None


def families() -> Iterator[tuple[Any, Family]]:
    """All that calls so far have left."""
    for name in sorted(TABLE):
        for family in TABLE[name].families.values():
            if isinstance(family, Family) and family.structures:
                yield TABLE[name], family


def small(structure: Structure) -> list[str]:
    """That arguments and results are small, as Python says it."""
    specs, _ = structure._given
    numbers = iter(structure._pattern)
    arguments = [[next(numbers) for _ in spec.shape] for spec in specs if isinstance(spec, Spec)]
    shapes = [[size for size in shape if size != 1] for shape in [*arguments, *structure._shapes]]
    moving = [shape for shape in shapes if any(isinstance(size, str) for size in shape)]
    products = {" * ".join([f"({size})" for size in shape]) for shape in moving}
    return [f"{product} <= {SMALL}" for product in sorted(products)]


def entries() -> dict[bytes, bytes]:
    """The entries of all structures there are, and the code of what runs many calls."""
    kept.shipped = _Any(None)
    found: dict[bytes, dict] = {}
    for op, family in families():
        named = shipped_family(op, *family.structures[0]._given)
        for index, structure in enumerate(family.structures if named is not None else ()):
            parts = dict(parts_of(index, structure))
            if parts:
                outline = outlined_numbers(numbers_of(structure), op.uniform or op.indifferent)
                place = found.setdefault(ShippedEntry(str(named), outline).key, {"readers": []})
                place["readers"].append((index, read_of(op, structure)))
                place.update(parts)
    written = {key: marshal.dumps({**parts, "readers": as_bytes(parts["readers"])}) for key, parts in found.items()}
    cache = code_of.cache  # type: ignore[attr-defined]
    for (source,), code in [*cache.recent.items(), *cache.older.items()]:
        if source.startswith(ENTRIES):
            written[kept.digest(source.encode())] = marshal.dumps(code)
    return written


ENTRIES = "def run(", "def apply("
"""The beginnings of lines that many calls have in common."""


def parts_of(index: int, structure: Structure) -> Iterator[tuple[Any, bytes]]:
    """The parts of a structure, and of its backward kernels, that are kept, as far as they can be."""
    data = None if structure.forward is None else as_bytes(structure.as_shipped)
    if data is not None:
        yield index, data
        for key, general in structure._backwards.items():
            data = as_bytes((general,))
            if data is not None:
                yield (index, *key), data


def read_of(op: Any, structure: Structure) -> Callable:
    """The code that reads the numbers of small calls."""
    return reader_for(op, structure._pattern, structure.names, structure._order, small(structure))


def numbers_of(structure: Structure) -> list[Any]:
    """The numbers of the call that a structure was made for."""
    scope = dict(zip(structure.names, structure._first, strict=True))
    return [eval(number, dict(scope)) if isinstance(number, str) else number for number in structure._pattern]


def write(path: Path) -> int:
    """Write the file; its size."""
    data = kept.compressed({kept.ABOUT: kept.about(), **dict(sorted(entries().items()))})
    path.write_bytes(data)
    return len(data)
