"""Objects that a function can reach in Python. See Note [Guards] in ``guards.py``.

Note [What is reachable]
Before a call the search begins with the function and its arguments, and follows closures, defaults, the globals that
code names, items of containers, and attributes that are named anywhere in the code that was found; in the end it knows
every place from which that code could take something that was there before, and what it was. When the call has run,
what has *not* run is left out (``narrowed``): functions that were not called, names in instructions that were not
executed (Note [What ran] in ``what_ran.py``).

Where so much can be reached that the search would take long (programs that use large libraries), it is given up. The
next calls follow only the instructions that the calls before them have executed; one that executes others is not
replayed, but the next one follows these, too.

Where it can't know, because an object is of a kind whose state it can't see (an iterator, a generator of random
numbers, a file), or because there is a function of C that is not allowed (Note [What is allowed]), it says so, and the
call is not replayed.
"""

from __future__ import annotations

import types
from collections.abc import Collection
from types import CodeType
from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.compiler.guards.allowed import REACHING
from tapegrad.compiler.guards.appended import LISTS, appended_to
from tapegrad.compiler.guards.location_finder import Instances, LocationFinder, Unsure
from tapegrad.compiler.guards.locations import Location
from tapegrad.compiler.guards.objects import ASKING, TELLING, is_a, is_open, is_plain, searched_code, tolerates
from tapegrad.compiler.guards.reached import Reached, Visited
from tapegrad.compiler.guards.what_ran import CodeThatRan, Executed, WhatRan

AT_FIRST, MOST = 1_000, 20_000
"""So many objects are searched: of functions that no call is known to have run, and of those that calls have run."""


class _NotMet(Exception):
    """An error: a function is not followed, since no call has run it."""


class Reachable:
    """All that can be reached from some objects. See Note [What is reachable].

    Attributes:
        visited: by identity, what was found of each object.
        names: the attributes that are named.
        most: why not all was found, or None.
        met: the code that calls have run, which alone is followed; None: all of it is.
        telling: whether there is a function that may tell a proxy from a number: Note [Dynamic numbers];
            ``hides``: whether there may be one that was not found.
    """

    def __init__(self, roots: list[tuple[Any, str]], met: CodeThatRan | None = None) -> None:
        self.roots = list(roots)
        self.roots.append((Instances(Tensor), "torch.Tensor"))
        self.met = met
        self._finder = LocationFinder(met)
        self.names = self._finder.names
        self._before: dict[int, tuple[Location, Visited, tuple | None]] = {}
        self.telling = self.hides = False
        while True:
            known = self._finder.known
            self.visited: dict[int, Visited] = {}
            self.most: str | None = None
            self._follow([Location(None, None, *root) for root in reversed(self.roots)])
            if self._finder.known == known or self.most:
                break

    def _follow(self, waiting: list[Location]) -> None:
        while waiting:
            location = waiting.pop()
            thing = location.value
            if not location.follow or is_plain(thing) or id(thing) in self.visited:
                continue
            if len(self.visited) >= (AT_FIRST if self.met is None else MOST):
                self.most, self.hides = f"it reaches more than {len(self.visited)} objects", True
                return
            at, visit, known = self._before.get(id(thing), _NOT_BEFORE)
            if visit is None or not (known is None or known == self._finder.known) or not _same_location(at, location):
                visit = self._find(thing, location)
            self.visited[id(thing)] = visit
            waiting += visit.locations

    def _find(self, thing: Any, location: Location) -> Visited:
        locations: list[Location] = []
        finder, name, known = self._finder, location.name, self._finder.known
        unsure, code = None, None
        finder.begin(location)
        self.telling = self.telling or id(thing) in TELLING or not tolerates(thing)
        if id(thing) in ASKING:
            finder.asking.add(ASKING[id(thing)])
        try:
            if is_a(thing, types.FunctionType):
                code = searched_code(thing)
                if code is not None and self.met is not None and not self.met.has_run(code):
                    raise _NotMet
            locations.extend(finder.locations(thing, name))
        except _NotMet:
            code, self.hides = None, True
            locations.extend(finder.of_itself(thing, name))
        except Unsure as error:
            unsure = str(error)
            self.hides = self.hides or not is_open(thing)
        visit = Visited(thing, name, locations, finder.containers, unsure, code)
        self._before[id(thing)] = location, visit, known if finder.by_names else None
        return visit

    # -- what is given

    def all(self) -> Reached:
        """All of it."""
        whole = Reached()
        for visit in self.visited.values():
            whole.add(visit, visit.locations)
        whole.unsure, whole.names = self.most or whole.unsure, self.names
        return whole

    def narrowed(self, ran: WhatRan) -> Reached:
        """The part of it that has to do with what ran."""
        executed = Executed(ran)
        new = None if self.met is None else self.met.lacks(ran)
        if new is not None:
            self.most = f"it runs {new.co_qualname} of {new.co_filename}:{new.co_firstlineno} for the first time"
        part = self._part(executed, ran)
        if executed.reaches is False and any(ASKING.get(one) in REACHING for one in part.kept):
            executed.reaches = True
            part = self._part(executed, ran)
        part.reaches = executed.reaches
        if executed.reaches and not self._finder.is_dynamic:
            part.unsure = part.unsure or "it asks for attributes in a way that was not foreseen"
        return part if executed.reaches else self._without_appended(part, executed, ran)

    def _without_appended(self, part: Reached, executed: Executed, ran: WhatRan) -> Reached:
        """Leave out the lists to which the call has only appended."""
        lists = [one for one in part.kept.values() if type(one) in LISTS and getattr(one, "maxlen", None) is None]
        before = [(one, self.visited[id(one)].containers[0][2]) for one in lists]
        changed = [(one, items) for one, items in before if len(items) != len(one)]
        if not changed:
            return part
        needed = [location for one in part.kept for location in self.visited[one].locations if executed.needs(location)]
        appended = appended_to(changed, needed, executed.uses())
        part = self._part(executed, ran, {id(one.things) for one in appended})
        part.appended = appended
        return part

    def _part(self, executed: Executed, ran: WhatRan, without: Collection[int] = ()) -> Reached:
        part = Reached()
        part.unsure, part.names = ran.refused or self.most, executed.names
        waiting = [Location(None, None, *root) for root in reversed(self.roots)]
        codes: set[CodeType | None] = set()
        while waiting and not part.unsure:
            location = waiting.pop()
            visit = self.visited.get(id(location.value))
            if visit is None or not location.follow or id(visit.thing) in part.kept:
                continue
            codes.add(visit.code)
            needed = filter(executed.needs, visit.locations)
            waiting += part.add(visit, [one for one in needed if id(one.value) not in without] if without else needed)
        part.unsure = part.unsure or executed.unknown(codes)
        return part


_NOT_BEFORE: tuple[Any, Any, Any] = None, None, None


def _same_location(one: Location, other: Location) -> bool:
    """Tell whether something was found in the same place as before, as far as that matters."""
    same = one.container is other.container and one.key is other.key
    return one.name == other.name and (same or type(other.value) is not tuple)
