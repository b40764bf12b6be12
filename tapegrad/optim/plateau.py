"""A schedule that goes by a metric."""

from __future__ import annotations

import math
from typing import Any, Literal

from tapegrad._src.warn import warn
from tapegrad.optim.optimizer import Optimizer
from tapegrad.optim.schedule import EPOCH_DEPRECATION_WARNING, LRScheduler, check_optimizer, set_value, values_of


class ReduceLROnPlateau(LRScheduler):
    """``lr *= factor`` when a metric has not become better for more than ``patience`` steps.

    Args:
        optimizer: whose rates are set.
        mode: whether less (``"min"``) or more (``"max"``) is better.
        factor, patience: see above.
        threshold, threshold_mode: by how much it must be better, of the best so far (``"rel"``) or as such (``"abs"``).
        cooldown: for how many steps after a reduction nothing is counted.
        min_lr: the least rate; a list with one for each group, or one for all.
        eps: the least change of a rate.

    Raises:
        ValueError: a factor of one or more; an unknown mode.

    >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    >>> schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
    >>> for loss in (3.0, 2.0, 2.0, 2.0):
    ...     schedule.step(loss)
    ...     print(schedule.get_last_lr())
    [1.0]
    [1.0]
    [1.0]
    [0.1]
    """

    def __init__(
        self, optimizer: Optimizer, mode: Literal["min", "max"] = "min", factor: float = 0.1, patience: int = 10,
        threshold: float = 1e-4, threshold_mode: Literal["rel", "abs"] = "rel", cooldown: int = 0,
        min_lr: list[float] | float = 0, eps: float = 1e-8,
    ) -> None:  # fmt: skip
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        check_optimizer(optimizer)
        groups, several = len(optimizer.param_groups), isinstance(min_lr, (list, tuple))
        self.factor, self.optimizer = factor, optimizer
        self.default_min_lr = None if several else min_lr
        self.min_lrs: list[Any] = list(min_lr) if several else [min_lr] * groups  # type: ignore[arg-type]
        if len(self.min_lrs) != groups:
            raise ValueError(f"expected {groups} min_lrs, got {len(self.min_lrs)}")
        self.patience, self.cooldown, self.eps = patience, cooldown, eps
        self.last_epoch = 0
        self._tell(values_of(optimizer, "lr"))
        self._check_mode(mode, threshold, threshold_mode)
        self._reset()

    def _check_mode(self, mode: str, threshold: float, threshold_mode: str) -> None:
        if mode not in ("min", "max"):
            raise ValueError("mode " + mode + " is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError("threshold mode " + threshold_mode + " is unknown!")
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode

    def _reset(self) -> None:
        """Forget what was best."""
        self.best = self.mode_worse
        self.cooldown_counter = self.num_bad_epochs = 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Take in the metric, and reduce the rates if it is time.

        Args:
            metrics: the metric, a number or a tensor of one element.
            epoch: the number of the step, if it isn't the next; deprecated.
        """
        current = float(metrics)
        if epoch is not None:
            warn(EPOCH_DEPRECATION_WARNING, UserWarning)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current, self.best):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._tell(values_of(self.optimizer, "lr"))

    def _reduce_lr(self) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from when "
                    f"`ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), usually due to a new param group "
                    "being added to the optimizer. Please modify the `min_lrs` field to match the length of the "
                    "`optimizer` param groups."
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                set_value(group, "lr", new)

    @property
    def in_cooldown(self) -> bool:
        """True if nothing is counted now."""
        return self.cooldown_counter > 0

    def _is_better(self, a: float, best: float) -> bool:
        sign = 1 if self.mode == "max" else -1
        bound = best * (1 + sign * self.threshold) if self.threshold_mode == "rel" else best + sign * self.threshold
        return a > bound if self.mode == "max" else a < bound

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where ``state_dict()`` was taken."""
        super().load_state_dict(state_dict)
        self._check_mode(self.mode, self.threshold, self.threshold_mode)
