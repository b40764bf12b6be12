"""Schedules made of others: one after the other, or all at each step."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from tapegrad.optim.optimizer import Optimizer
from tapegrad.optim.plateau import ReduceLROnPlateau
from tapegrad.optim.schedule import LRScheduler, set_value, values_of


class _Combined(LRScheduler):
    """A schedule made of others."""

    apart = "optimizer", "_schedulers"
    _schedulers: Sequence[LRScheduler]

    def _check_schedulers(self, optimizer: Optimizer, schedulers: Sequence[Any]) -> None:
        name = type(self).__name__
        for i, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                    f"specified when calling `step`, but got one at index {i} in the given schedulers sequence."
                )
            if optimizer != scheduler.optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                    f"{type(scheduler).__name__} at index {i} has {scheduler.optimizer}, which is different from "
                    f"{type(optimizer).__name__}."
                )

    def state_dict(self) -> dict[str, Any]:
        """The state of the schedule, and of each that it is made of."""
        return {**super().state_dict(), "_schedulers": [one.state_dict() for one in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where ``state_dict()`` was taken."""
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_schedulers"})
        for scheduler, known in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(known)


class SequentialLR(_Combined):
    """One schedule up to the first milestone, the next up to the second, and so on.

    Args:
        optimizer: whose rates are set.
        schedulers: the schedules, all of this optimizer.
        milestones: the steps at which the next one begins.

    Raises:
        ValueError: no schedules; not one more than milestones; one of another optimizer.

    >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    >>> warm = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.1, total_iters=2)
    >>> decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> schedule = torch.optim.lr_scheduler.SequentialLR(optimizer, [warm, decay], milestones=[2])
    >>> for _ in range(4):
    ...     optimizer.step()
    ...     schedule.step()
    ...     print(round(schedule.get_last_lr()[0], 4))
    0.1
    1.0
    0.5
    0.25
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1
    ) -> None:
        if len(schedulers) < 1:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler, but got no scheduler.")
        self._check_schedulers(optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to be "
                f"equal to {len(milestones)}"
            )
        self._schedulers, self._milestones = schedulers, milestones
        self.last_epoch, self.optimizer = last_epoch + 1, optimizer
        for group in optimizer.param_groups:
            set_value(group, "lr", group["initial_lr"])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._tell(first.get_last_lr())

    def recursive_undo(self, sched: Any = None) -> None:
        """Take back the first step, which each schedule made when it was created."""
        schedule = self if sched is None else sched
        if hasattr(schedule, "_schedulers"):
            for one in schedule._schedulers:
                self.recursive_undo(one)
        elif hasattr(schedule, "last_epoch"):
            schedule.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Set the next rates, by the schedule whose turn it is."""
        self.last_epoch += 1
        number = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[number]
        if number > 0 and self._milestones[number - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._tell(scheduler.get_last_lr())


class ChainedScheduler(_Combined):
    """Several schedules, each of which changes the rates at each step.

    Args:
        schedulers: the schedules, all of one optimizer.
        optimizer: that one, if it isn't to be taken from the first.

    Raises:
        ValueError: no schedules; one of another optimizer.
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        if len(schedulers) < 1:
            raise ValueError(
                f"{type(self).__name__} expects at least one scheduler to be chained, but got no scheduler."
            )
        optimizer = optimizer or schedulers[0].optimizer
        self._check_schedulers(optimizer, schedulers)
        self._schedulers, self.optimizer = schedulers, optimizer
        self._tell(values_of(optimizer, "lr"))

    def step(self) -> None:  # type: ignore[override]
        """Let each schedule set the next rates."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._tell(values_of(self.optimizer, "lr"))
