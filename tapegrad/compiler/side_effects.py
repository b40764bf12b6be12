"""What a captured call leaves behind: all that is needed to leave it behind again without its Python."""

from __future__ import annotations

from typing import Any, NamedTuple

from tapegrad.compiler.guards import alike
from tapegrad.compiler.sources import Ref
from tapegrad.tape.node import Edge
from tapegrad.tensor.spec import Spec
from tapegrad.tensor.tensor import Tensor, View, share, storage_to_write, wrap


class WrittenMemory(NamedTuple):
    """A memory that was written to, or the data of a tensor: a tensor that shows it, and the result that it has now."""

    ref: Ref
    slot: int


class Counted(NamedTuple):
    """How many writes were counted with the counter of a tensor."""

    ref: Ref
    writes: int


class NewTensor(NamedTuple):
    """A new tensor around a result, that was written to so many times since it was made; or a view of such a tensor.

    A view has a ``base``, an ``offset``, ``view_bits``, and was created under circumstances that autograd remembers.
    """

    slot: int
    spec: Spec
    writes: int
    base: NewTensor | None = None
    offset: int = 0
    view_bits: int = 0
    creation: str | None = None

    def tensor(self, found: dict[int, Any], edge: Edge | None = None) -> Tensor:
        """Such a tensor again."""
        slot, spec, writes, base, offset, view_bits, creation = self
        tensor = wrap(found[slot], spec, edge)
        if base is not None:
            shown = base.tensor(found)
            tensor._view = View(shown, creation, 0)
            share(tensor, shown, offset, view_bits)
        elif writes:
            storage_to_write(tensor).counter.version = writes
        return tensor

    @property
    def simple(self) -> bool:
        """Whether it is a result as it is."""
        return self.base is None and not self.writes

    @property
    def slots(self) -> tuple[int, ...]:
        """The results that it is made of."""
        return (self.slot,) if self.base is None else (self.slot, self.base.slot)


class Graded(NamedTuple):
    """What became of a leaf's ``.grad``: a new tensor, or None."""

    ref: Ref
    made: NewTensor | None


class Returned(NamedTuple):
    """A leaf of what was returned.

    ``kind`` is ``"result"`` (``of`` is a ``NewTensor``, ``edge`` its place in a graph that is used up),
    ``"tensor"`` (found by a ``Ref``), ``"again"`` (the same as leaf number ``of``),
    ``"moving"`` (a register of ``Numbers``), or ``"value"``.
    """

    kind: str
    of: Any
    edge: Edge | None = None


class Rebinding(NamedTuple):
    """A place that was rebound (``ref`` names it), and the tensor that it has now: one of those returned, so to say.

    That is a new one (``"result"``), or the same as in another such place (``"again"``).
    """

    ref: Ref
    now: Returned


class Drawn(NamedTuple):
    """How many keys were taken from a generator's stream."""

    stream: Any
    keys: int


class Effects(NamedTuple):
    """All that a call leaves behind."""

    written: tuple[WrittenMemory, ...]
    counted: tuple[Counted, ...]
    graded: tuple[Graded, ...]
    rebindings: tuple[Rebinding, ...]
    drawn: tuple[Drawn, ...]
    returned: tuple[Returned, ...]
    found: int | None = None
    """The result that is what checks have found."""

    def same(self, other: Effects) -> bool:
        """Whether the same is left behind, in the same places."""
        mine, its = (*self.written, *self.counted, *self.graded), (*other.written, *other.counted, *other.graded)
        return (
            len(mine) == len(its)
            and self.found == other.found
            and len(self.returned) == len(other.returned)
            and all(a[0].same(b[0]) and a[1:] == b[1:] for a, b in zip(mine, its, strict=True))
            and len(self.drawn) == len(other.drawn)
            and all(a[0] is b[0] and a[1] == b[1] for a, b in zip(self.drawn, other.drawn, strict=True))
            and all(_return_the_same(a, b) for a, b in zip(self.returned, other.returned, strict=True))
            and _rebind_the_same(self.rebindings, other.rebindings)
        )

    @property
    def slots(self) -> list[int]:
        """The results that are wanted, each once, in the order in which they are named first."""
        named = [one.slot for one in self.written]
        made = [one.made for one in self.graded if one.made is not None]
        made += [one.of for one in (*(one.now for one in self.rebindings), *self.returned) if one.kind == "result"]
        found = [] if self.found is None else [self.found]
        return list(dict.fromkeys([*named, *(slot for one in made for slot in one.slots), *found]))


def _rebind_the_same(ours: tuple[Rebinding, ...], others: tuple[Rebinding, ...]) -> bool:
    return len(ours) == len(others) and all(
        one.ref.same(other.ref) and _return_the_same(one.now, other.now)
        for one, other in zip(ours, others, strict=True)
    )


def _return_the_same(left: Returned, right: Returned) -> bool:
    if left.kind != right.kind:
        return False
    if left.kind == "value":
        return left.of is right.of or alike(left.of, right.of)
    if left.kind == "tensor":
        return left.of.same(right.of)
    return left.of == right.of and (left.edge is None) == (right.edge is None)
