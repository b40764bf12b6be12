"""Memory of what need not be worked out again: all of it in one place, which forgets what is not used.

Note [One memory]
Plans, kernels, calls, structures of programs, cached backward passes, cases of compiled functions, written code:
whatever is made for a shape or a number and kept for the next time is kept in a ``Cache``. There are as many of these
as is convenient, and one ``Memory``, which knows them all and holds them to one limit, in entries and in bytes.

*Look-ups cost nothing.* What was used last is known without noting any use. The entries of a cache are in two
dictionaries. ``recent`` is looked in first; it is an ordinary one, which those who are in a hurry read themselves. Only
when nothing is there is ``older`` looked in, by ``Cache.get``, which puts what it finds back among the recent ones. Now
and then the memory *turns*: all that is recent becomes older. What then is still older at the next turn has not been
used between the two.

*What is forgotten.* Nothing, as long as all is within the limit, but from half of it on the memory turns now and then.
Beyond, entries are forgotten that were not used since the last turn, until an eighth of the limit is free again. It
turns only when two backward calls have ended since the last turn: one that is under way comes back to little of what it
has made. So what a training step needs stays, though it is more than the limit, up to four times as much.

*No thrashing.* A loop over a little more than fits would find nothing, if always the oldest were forgotten: they are
what comes next. So if it is not necessary to forget all older entries, those that go are picked evenly among them, and
the loop finds most of what it comes back to.

*What entries weigh.* Each cache says about what one of its entries takes. What is large and lives longer or shorter
than an entry, as compiled code of XLA's (``EXECUTABLE``) or an array, is weighed by itself for as long as it lives
(``weigh``); who holds it does not matter. So an entry may go while somebody still uses what it led to: a node of a
graph holds its plan, and with it the kernels. It is then made anew for the next one who asks; where two of one kind
would do harm, things are ``Interned``.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar

Made = TypeVar("Made")
Maker = Callable[..., Made]

ENTRIES, BYTES = 4096, 400 << 20
"""The limit, unless another one is set."""

KEPT_IN_USE = 4
"""Up to so many times the limit is kept of what was used since two backward calls."""

ENTRY = 2 << 10
"""About what an entry takes, key and all, if nothing else is known."""

EXECUTABLE = 3 << 19
"""About what a small kernel takes that XLA has compiled for a CPU: measured, and nearly the same for all of them."""


class Interned(weakref.WeakValueDictionary):
    """Objects of which there is one for each key, as long as somebody holds it: then they can be compared by identity.

    >>> names = Interned()
    >>> one = names.only("a", {1, 2})
    >>> names.only("a", {1, 2}) is one
    True
    """

    _deciding = threading.RLock()

    def only(self, key: Hashable, new: Made) -> Made:
        """The object with this key: ``new``, unless there is one that somebody holds."""
        found = self.get(key)
        if found is None:
            with self._deciding:
                found = self.get(key)
                if found is None:
                    self[key] = found = new
        return found


class Cache:
    """A dictionary whose entries are forgotten when they have not been used for long. See Note [One memory].

    Args:
        name: what ``stats()`` calls its entries.
        nbytes: about how many bytes an entry takes.

    Attributes:
        recent: the entries that were used since the last turn; always the same dictionary.
        older: the others.

    >>> squares = Cache("squares")
    >>> squares.get(3), squares.keep(3, 9), squares.get(3)
    (None, 9, 9)
    """

    __slots__ = ("name", "nbytes", "recent", "older", "__weakref__")

    def __init__(self, name: str, nbytes: int = ENTRY) -> None:
        self.name, self.nbytes = name, nbytes
        self.recent: dict[Any, Any] = {}
        self.older: dict[Any, Any] = {}
        memory.add(self)

    def get(self, key: Hashable) -> Any:
        """The entry that is remembered under a key, which has been used now; None if nothing is."""
        found = self.recent.get(key)
        if found is None:
            found = self.older.get(key)
            if found is not None:
                self.recent[key] = found
                self.older.pop(key, None)
        return found

    def keep(self, key: Hashable, new: Made) -> Made:
        """Remember something under a key. What another thread has put there meanwhile is given instead."""
        kept = self.recent.setdefault(key, new)
        memory.grow(1, self.nbytes)
        return kept

    def replace(self, key: Hashable, new: Made) -> Made:
        """Remember something in place of what is under a key."""
        self.older.pop(key, None)
        self.recent[key] = new
        memory.grow(1, self.nbytes)
        return new

    def forget(self, key: Hashable) -> None:
        """Forget what is under a key, if anything is."""
        self.recent.pop(key, None)
        self.older.pop(key, None)

    def clear(self) -> None:
        """Forget all entries."""
        self.recent.clear()
        self.older.clear()

    def values(self) -> list:
        """All that is remembered."""
        return [*list(self.older.values()), *list(self.recent.values())]

    def __len__(self) -> int:
        return len(self.recent) + len(self.older)


def remembered(name: str, nbytes: int = ENTRY) -> Callable[[Maker[Made]], Maker[Made]]:
    """A function of hashable arguments whose results, which are never None, are kept in a cache.

    >>> @remembered("squares")
    ... def square(x):
    ...     print("working it out")
    ...     return x * x
    >>> square(3) + square(3)
    working it out
    18
    """

    def decorate(function: Maker[Made]) -> Maker[Made]:
        cache = Cache(name, nbytes)
        recent, get, keep = cache.recent, cache.get, cache.keep

        @functools.wraps(function)
        def found(*args: Any, **settings: Any) -> Any:
            key = (*args, *settings.items()) if settings else args
            result = recent.get(key)
            if result is None:
                result = get(key)
                if result is None:
                    result = keep(key, function(*args, **settings))
            return result

        found.cache = cache  # type: ignore[attr-defined]
        return found

    return decorate


def tabulated(most: int) -> Callable[[Maker[Made]], Maker[Made]]:
    """``functools.lru_cache`` for functions of a few numbers that give a few numbers, which take no memory to speak of.

    ``clear_caches`` empties it like all others.
    """

    def decorate(function: Maker[Made]) -> Maker[Made]:
        found = functools.lru_cache(maxsize=most)(function)
        memory.tables.append(found)
        return found

    return decorate


class _Weight(weakref.ref):
    """Something that is weighed as long as it lives, and what it weighs."""

    __slots__ = ("nbytes",)
    nbytes: int


def weigh(thing: Any, nbytes: int) -> None:
    """Count so many bytes for something, until it is freed; once for each thing."""
    memory.weigh(thing, nbytes)


class Remembered(NamedTuple):
    """The counts of what is remembered.

    Attributes:
        entries: how many entries there are; ``kinds``: how many of each kind.
        bytes: about how many bytes they take, with all that was compiled.
        made: how many entries were put in since the process started; ``evictions``: how many of them were forgotten.
    """

    entries: int
    kinds: dict[str, int]
    bytes: int
    made: int
    evictions: int


class Memory:
    """All caches, and the limit that they are held to. See Note [One memory].

    Attributes:
        entries, bytes: how much there is. From one count to the next entries that were replaced are counted twice.
        most: the limit.
        steps: how many backward calls have ended.
        tables: what ``tabulated`` has made.
        others: what holds things only so as to explain others: it is cleared with them.
    """

    def __init__(self) -> None:
        self.entries = self.bytes = self.made = self.evictions = self.steps = 0
        self.most = ENTRIES, BYTES
        self.tables: list[Any] = []
        self.others: list[Any] = []
        self._caches: dict[int, weakref.ref[Cache]] = {}
        self._weights: dict[int, _Weight] = {}
        self._next: tuple[float, float] = (0, 0)
        self._turned = 0, (0, 0)
        self._tending = False

    def add(self, cache: Cache) -> None:
        """Hold a cache to the limit, too, as long as it lives."""
        number = id(cache)
        self._caches[number] = weakref.ref(cache, lambda gone: self._caches.pop(number, None) and None)

    def grow(self, entries: int, nbytes: int) -> None:
        """Note that there is more; if that is much, forget what is not used."""
        self.entries += entries
        self.bytes += nbytes
        self.made += entries
        if self.entries >= self._next[0] or self.bytes >= self._next[1]:
            self.tend()

    def weigh(self, thing: Any, nbytes: int) -> None:
        """See ``weigh``."""
        number = id(thing)
        if number not in self._weights:
            weight = _Weight(thing, self._freed(number))
            weight.nbytes = nbytes
            self._weights[number] = weight
            self.grow(0, nbytes)

    def _freed(self, number: int) -> Callable[[Any], None]:
        def freed(weight: _Weight) -> None:
            self._weights.pop(number, None)
            self.bytes -= weight.nbytes

        return freed

    def living(self) -> list[Cache]:
        """The caches that there are."""
        found = [ref() for ref in list(self._caches.values())]
        return [cache for cache in found if cache is not None]

    def count(self) -> None:
        """Find out how much there is."""
        caches = self.living()
        filled = [(len(one.recent) + len(one.older), one.nbytes) for one in caches if one.recent or one.older]
        weights = sum([weight.nbytes for weight in list(self._weights.values())])
        self.entries = sum([entries for entries, _ in filled])
        self.bytes = sum([entries * nbytes for entries, nbytes in filled]) + weights

    def tend(self) -> None:
        """Forget what is too much, turn if it is time, and say when to look again."""
        if self._tending:  # what is freed may have a finalizer that computes
            return
        self._tending = True  # without a lock: two threads that do this at once do no harm
        try:
            self._tend()
        finally:
            self._tending = False

    def _tend(self) -> None:
        self.count()
        self._make_room(1)
        step, (entries, nbytes) = self._turned
        grown = self._is_beyond(0.5, self.entries - entries, self.bytes - nbytes)
        if (grown or self._is_beyond(1)) and self.steps - step >= 2:
            self._turn()
        if self._is_beyond(KEPT_IN_USE):
            self._turn()
            self._make_room(KEPT_IN_USE)
        most_entries, most_bytes = self.most
        self._next = self.entries + max(most_entries / 8, 1), self.bytes + most_bytes / 8

    def _is_beyond(self, share: float, entries: float | None = None, nbytes: float | None = None) -> bool:
        """Tell whether there is more than this share of the limit."""
        entries, nbytes = self.entries if entries is None else entries, self.bytes if nbytes is None else nbytes
        return entries > share * self.most[0] or nbytes > share * self.most[1]

    def _turn(self) -> None:
        """Let all that is recent be older."""
        for cache in self.living():
            if cache.recent:
                cache.older.update(list(cache.recent.items()))
                cache.recent.clear()
        self._turned = self.steps, (self.entries, self.bytes)

    def _make_room(self, share: float) -> None:
        """If there is more than this share of the limit, forget older entries until an eighth of it is free."""
        if not self._is_beyond(share):
            return
        goal = share * 7 / 8
        while self._is_beyond(goal):
            older = [(cache, key) for cache in self.living() for key in list(cache.older)]
            if not older:
                return
            entries, nbytes = goal * self.most[0], goal * self.most[1]
            excess = max(1 - entries / max(self.entries, 1), 1 - nbytes / max(self.bytes, 1)) * self.entries
            apart = max(int(len(older) / max(excess, 1)), 2)
            for cache, key in older[self.evictions % apart if len(older) >= apart else 0 :: apart]:
                cache.older.pop(key, None)
                self.evictions += 1
            self.count()

    def clear(self) -> None:
        """Forget everything."""
        for cache in self.living():
            cache.clear()
        for table in self.tables:
            table.cache_clear()
        for other in self.others:
            other.clear()
        self.count()
        self._next, self._turned = (0, 0), (self.steps, (self.entries, self.bytes))

    def remembered(self) -> Remembered:
        """The counts of what there is, and of what has become of the rest."""
        self.count()
        kinds: Counter[str] = Counter()
        for cache in self.living():
            kinds[cache.name] += len(cache)
        kinds["tables"] = sum(table.cache_info().currsize for table in self.tables)
        return Remembered(self.entries, dict(+kinds), self.bytes, self.made, self.evictions)


memory = Memory()


def clear_caches() -> None:
    """Forget all that is remembered of calls: plans, kernels and what XLA has compiled, programs, steps of ``compile``.

    It is made again when it is needed. Tensors and graphs are not touched.

    >>> x = torch.ones(2) + 1
    >>> torch.execution.clear_caches()
    >>> torch.execution.stats().entries
    0
    """
    memory.clear()


def set_cache_limit(*, entries: int | None = None, bytes: int | None = None) -> None:
    """Set how much is remembered of calls: what was not used for the longest time is forgotten beyond.

    Args:
        entries: how many things (plans, programs, ...); 4096 at first. None leaves that as it is.
        bytes: about how many bytes they take, mostly what XLA has compiled, at 1.5 MB for a small kernel; 400 MB at
            first. What the last backward calls used is kept up to four times as much.

    Raises:
        ValueError: a limit below 1.

    >>> torch.execution.set_cache_limit(entries=1 << 20)
    """
    limits = tuple(old if new is None else new for new, old in zip((entries, bytes), memory.most, strict=True))
    if min(limits) < 1:
        raise ValueError(f"set_cache_limit: limits must be at least 1, got entries={entries}, bytes={bytes}")
    memory.most = limits  # type: ignore[assignment]
    memory.tend()
