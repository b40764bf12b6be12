"""Cases: what is known of calls of one kind, and whether the next one can be replayed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad.compiler.guards import Guards
from tapegrad.compiler.kinds import Likeness
from tapegrad.compiler.replay import Recorded, Replay
from tapegrad.compiler.states import States

PATIENCE = 4
"""After so many calls of one kind in a row that can't be replayed, it is tried again only now and then."""


class Case:
    """Calls with arguments of the same kind, under the same modes.

    Attributes:
        likeness: what such a call looks like, if that can be seen quickly.
        last: the last call that could be accounted for, and what Python reached after it (``guards``).
        states: what the tensors of that call were before it.
        replay: how the next call is made without Python; None if that is not possible.
        reason: why it is not.
        runs: how many calls in a row Python was run for.
        accounted: whether the last call could be accounted for.
    """

    def __init__(self, likeness: Likeness | None) -> None:
        self.likeness = likeness
        self.last: Recorded | None = None
        self.guards: Guards | None = None
        self.states: States | None = None
        self.replay: Replay | None = None
        self.reason = "it is the first call of its kind"
        self.runs = 0
        self.accounted = True

    def obstacle(self, leaves: list) -> str | None:
        """Why the next call can't be replayed; None if it can."""
        if self.replay is None:
            return self.reason
        assert self.guards is not None and self.states is not None
        if any(id(leaf) in self.states.ids for leaf in leaves):
            return "one of its arguments is a tensor that it reaches otherwise, too"
        return self.states.changed() or self.guards.changed() or self.replay.obstacle(leaves)

    def ready(self, leaves: Sequence[Any]) -> Replay | None:
        """How the next call, which looks like the last one, is made; None if something may have changed."""
        replay, states, guards = self.replay, self.states, self.guards
        if replay is None or states is None or guards is None or not states.ids.isdisjoint(map(id, leaves)):
            return None
        return replay if states.unchanged() and guards.unchanged() and replay.unobstructed(leaves) else None

    @property
    def resting(self) -> bool:
        """Whether it has not been possible for so long that this call does not try."""
        return self.runs > PATIENCE and bool(self.runs & (self.runs - 1))
