"""Cache entries: what is known of calls with one key, and whether the next one can be replayed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tapegrad.compiler.guards.guards import Guards
from tapegrad.compiler.guards.tensor_guards import TensorGuards
from tapegrad.compiler.replay.compiled_modules import CompiledModule
from tapegrad.compiler.replay.likeness import Likeness
from tapegrad.compiler.replay.replay import RecordedCall, Replay

PATIENCE, PATIENCE_IF_UNLIKE = 2, 6
"""So many calls of one entry in a row that can't be replayed are captured, and so many where that may be so because the
first calls are unlike the others. Those that follow are made at once, but for ``TRIALS``."""

TRIALS = 3, {2**7, 2**12, 2**17, 2**22}
"""So many calls in a row are captured anew after these numbers of calls: they cost ten times what others do."""

TRIED = frozenset(number + more for number in TRIALS[1] for more in range(TRIALS[0]))
"""The numbers of these calls."""

UNSEEN = 7
"""So many calls are made as they stand, without being looked at, after one of a kind that is made at once for good,
where no other kind is replayed."""

LOOK_AGAIN = 16
"""The number of a call that is captured once more if those before have entered no module: a loop may warm up first."""

MOST_UNUSED = 6
"""After so many replays in a row of which none was used, each call having something in its way, there are no more."""

MOST_COURSES = 8
"""So many courses of one entry are remembered."""


class FlowPath(NamedTuple):
    """The knowledge about calls that take one way through Python: see ``CacheEntry``."""

    last: RecordedCall | None
    guards: Guards | None
    tensor_guards: TensorGuards | None
    replay: Replay | None


class CacheEntry:
    """Calls with arguments that are alike, under the same modes.

    Attributes:
        key, common: the key of the first one, and what of it they have in common.
        likeness: what such a call looks like, if that can be seen quickly, and if one was captured.
        met, again: whether one of them has come, and whether another.
        last: the last call that could be accounted for, and what Python reached after it (``guards``).
        tensor_guards: what the tensors of that call were before it.
        replay: how the next call is made without Python; None if that is not possible.
        reason: why it is not.
        dynamic, pinned: places in which it finds another number in each call; and those whose numbers Python must know.
        read: where it reads one of these.
        courses: what is known of calls that went another way by the numbers, as ``last`` to ``replay``.
        runs: how many calls in a row Python was run for.
        unused: how many replays in a row were made, and never used.
        accounted: whether the last call could be accounted for.
        unlike: whether all that has prevented the last call from being replayed may have been of the first calls.
        worthwhile: whether a program is likely to be quicker than calls at once.
        compiled_modules: what is compiled by itself where calls can't be replayed.
        keeps: whether anything is kept of such calls: not if each brings another object.
        stable: whether tensors that it reaches have kept the elements that it has read.
    """

    def __init__(self, key: tuple, common: tuple) -> None:
        self.key, self.common = key, common
        self.likeness: Likeness | None = None
        self.last: RecordedCall | None = None
        self.guards: Guards | None = None
        self.tensor_guards: TensorGuards | None = None
        self.replay: Replay | None = None
        self.reason = "it is the first call of its kind"
        self.runs = self.unused = 0
        self.accounted = self.stable = self.keeps = True
        self.met = self.again = self.unlike = False
        self.worthwhile = True
        self.compiled_modules: Sequence[CompiledModule] = ()
        self.dynamic: set[tuple] = set()
        self.pinned: set[tuple] = set()
        self.read = ""
        self.arguments: list[int] = []
        self.courses: list[FlowPath] = []

    def obstacle(self, leaves: list) -> str | None:
        """Why the next call can't be replayed; None if it can."""
        if self.replay is None:
            return self.reason
        assert self.guards is not None and self.tensor_guards is not None
        if any(id(leaf) in self.tensor_guards.ids for leaf in leaves):
            return "one of its arguments is a tensor that it reaches otherwise, too"
        return self.tensor_guards.changed() or self.guards.changed() or self.replay.obstacle(leaves)

    def ready(self, leaves: Sequence[Any]) -> Replay | None:
        """The way in which the next call, which looks like the last one, is made; None if something may have
        changed."""
        replay, tensor_guards, guards = self.replay, self.tensor_guards, self.guards
        if replay is None or tensor_guards is None or guards is None:
            return None
        if not (tensor_guards.ids.isdisjoint(map(id, leaves)) and tensor_guards.unchanged() and guards.unchanged()):
            return None
        if not replay.unobstructed(leaves):
            return None
        self.unused = 0
        return replay

    @property
    def flow_path(self) -> FlowPath:
        """The course of the last call."""
        return FlowPath(self.last, self.guards, self.tensor_guards, self.replay)

    @flow_path.setter
    def flow_path(self, flow_path: FlowPath) -> None:
        self.last, self.guards, self.tensor_guards, self.replay = flow_path

    def turn(self, leaves: list) -> str | None:
        """Take another course by which the next call can be made; why there is none."""
        obstacle = self.obstacle(leaves)
        if obstacle is None or (self.replay is None and not self.courses):
            return obstacle
        mine = self.flow_path
        for number, flow_path in enumerate(self.courses):
            self.flow_path = flow_path
            if flow_path.replay is not None and self.obstacle(leaves) is None:
                self.courses[number], self.runs = mine, 0
                return None
        self.flow_path = mine
        if mine.replay is not None and (mine.replay.diverted or self._is_elsewhere):
            self._put_by()
            self.last = self.replay = None
        return obstacle

    def known(self, new: RecordedCall) -> str | None:
        """The difference of a call that was made from the last one, or from one of another course."""
        unlike = "it is the first that was captured" if self.last is None else new.unlike(self.last)
        if unlike is None:
            return None
        alike = (one for one in self.courses if one.replay is None and one.last and new.unlike(one.last) is None)
        flow_path = next(alike, None)
        if flow_path is not None:
            self.courses = [one for one in self.courses if one is not flow_path]  # they have arrays: no "=="
        if self.last is not None and self._may_come_back(new):
            self._put_by()
        return unlike if flow_path is None else None

    def _may_come_back(self, new: RecordedCall) -> bool:
        """Tell whether calls may go the way of the last one again: by their numbers, by flags, or by their
        gradients."""
        assert self.last is not None
        return (self.last.numbers is not None and new.numbers is not None) or self._is_elsewhere

    @property
    def _is_elsewhere(self) -> bool:
        """True if flags are others than in the last call, or gradients are there that were not: it may change back."""
        if self.guards is None or self.tensor_guards is None:
            return False
        flags = self.guards.flags_changed()
        return flags is not None and (bool(flags) or self.tensor_guards.regraded())

    def _put_by(self) -> None:
        """Remember the last course, while calls take another one."""
        self.courses = [*self.courses[-MOST_COURSES + 1 :], self.flow_path]

    @property
    def state(self) -> str:
        """The way in which such calls are made, and why, in words."""
        if self.replay is None:
            return f"Python is run: {self.reason}"
        left = self.replay.calls_left
        return f"compiled in the background, until then at once: {left} calls" if left else "replayed"

    @property
    def modules_at_once(self) -> Sequence[CompiledModule]:
        """The modules that are compiled by themselves where calls are made at once: none, while the whole is being
        compiled."""
        return () if self.replay is not None else self.compiled_modules

    def goes_at_once(self, splits: bool) -> bool:
        """Tell whether this call is made as it stands: its program is being compiled, or there is none.

        ``splits``: whether elements may be read; if not, calls that can't be replayed are captured, to refuse that.
        """
        if self.replay is not None:
            return self.replay.waits
        if not (splits and self.given_up):
            return False
        if self.last is not None:  # what it has read is not kept alive
            self.last = self.guards = self.tensor_guards = None
        self.runs += 1  # this call may be the last one before a trial
        return True

    def passed_over(self) -> int:
        """The number of calls that are not looked at after this one: there is no trial among them."""
        ahead = min([trial - self.runs for trial in TRIALS[1] if trial >= self.runs], default=UNSEEN)
        self.runs += (calls := min(UNSEEN, ahead))
        return calls

    @property
    def given_up(self) -> bool:
        """True if it has not been possible for so long that this call does not try."""
        if self.runs < (PATIENCE_IF_UNLIKE if self.unlike else PATIENCE) or (self.worthwhile and self.runs in TRIED):
            return False
        return self.runs != LOOK_AGAIN or bool(self.compiled_modules)
