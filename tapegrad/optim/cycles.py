"""Schedules that rise and fall: cycles of the rate, and of the momentum against it."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from tapegrad.optim.optimizer import Optimizer
from tapegrad.optim.schedule import LRScheduler, check_optimizer, for_each_group, set_value, state_of


class _WithMomentum(LRScheduler):
    """A schedule that may move the momentum against the rate: ``momentum``, or the first of ``betas``."""

    def _begin_momentum(self, optimizer: Optimizer, base: Any, top: Any, last_epoch: int) -> tuple[list, list]:
        """The bounds that the momentum moves between, for each group, from the top."""
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in optimizer.defaults
        tops, bases = for_each_group("max_momentum", optimizer, top), for_each_group("base_momentum", optimizer, base)
        if last_epoch == -1:
            for high, low, group in zip(tops, bases, optimizer.param_groups, strict=True):
                self._set_momentum(group, high)
                group["max_momentum"], group["base_momentum"] = high, low
        return bases, tops

    def _set_momentum(self, group: dict[str, Any], value: Any) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


def _constant(x: float) -> float:
    return 1.0


def _halved(x: float) -> float:
    return 1 / (2.0 ** (x - 1))


def _power(gamma: float, x: float) -> float:
    return gamma**x


class CyclicLR(_WithMomentum):
    """The rate rises from ``base_lr`` to ``max_lr`` and falls again, over and over.

    See Smith, *Cyclical Learning Rates for Training Neural Networks*.

    Args:
        optimizer: whose rates are set.
        base_lr, max_lr: see above; lists with one for each group, or one for all.
        step_size_up, step_size_down: how many steps it rises, and falls.
        mode: ``"triangular"``; ``"triangular2"``, where each cycle is half as high as the one before; ``"exp_range"``,
            where the height is multiplied by ``gamma`` at each step.
        gamma: see above.
        scale_fn, scale_mode: instead of ``mode``, a factor of the height by the number of the ``"cycle"``, or of the
            ``"iterations"``.
        cycle_momentum: whether the momentum falls from ``max_momentum`` to ``base_momentum`` while the rate rises.
        base_momentum, max_momentum: see above.

    Raises:
        ValueError: an unknown mode; no momentum to be moved.

    >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0, momentum=0.9)
    >>> schedule = torch.optim.lr_scheduler.CyclicLR(optimizer, base_lr=0.1, max_lr=0.5, step_size_up=2)
    >>> for _ in range(4):
    ...     optimizer.step()
    ...     schedule.step()
    ...     print(round(schedule.get_last_lr()[0], 4))
    0.3
    0.5
    0.3
    0.1
    """

    def __init__(
        self, optimizer: Optimizer, base_lr: float | list[float], max_lr: float | list[float], step_size_up: int = 2000,
        step_size_down: int | None = None, mode: Literal["triangular", "triangular2", "exp_range"] = "triangular",
        gamma: float = 1.0, scale_fn: Callable[[float], float] | None = None,
        scale_mode: Literal["cycle", "iterations"] = "cycle", cycle_momentum: bool = True, base_momentum: float = 0.8,
        max_momentum: float = 0.9, last_epoch: int = -1,
    ) -> None:  # fmt: skip
        check_optimizer(optimizer)
        base_lrs = for_each_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for rate, group in zip(base_lrs, optimizer.param_groups, strict=True):
                set_value(group, "lr", rate)
        self.max_lrs = for_each_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma = mode, gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        self._choose_scale()
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            moved = self._begin_momentum(optimizer, base_momentum, max_momentum, last_epoch)
            self.base_momentums, self.max_momentums = moved
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The height of a cycle, or of a step: see ``mode``."""
        return self._scale_fn_ref(x) if self._scale_fn_custom is None else self._scale_fn_custom(x)

    def _choose_scale(self) -> None:
        """Keep the height by the mode under PyTorch's name, if there is no function of the user's."""
        if self._scale_fn_custom is None:
            heights: dict[str, Callable[[float], float]] = {
                "triangular2": _halved, "exp_range": partial(_power, self.gamma)
            }  # fmt: skip
            self._scale_fn_ref = heights.get(self.mode, _constant)

    def get_lr(self) -> list[Any]:
        self._check_asked()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            moved = zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True)
            for group, low, high in moved:
                self._set_momentum(group, high - (high - low) * height * scale)
        return [low + (high - low) * height * scale for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """The state of the schedule; of ``scale_fn`` only the attributes of an object that can be called."""
        state = super().state_dict()
        for name in ("_scale_fn_ref", "_scale_fn_custom"):
            state.pop(name, None)
        return {**state, "_scale_fn_custom": state_of(self._scale_fn_custom)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where ``state_dict()`` was taken, with the same ``scale_fn``."""
        known = state_dict["_scale_fn_custom"]
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_scale_fn_custom"})
        if known is not None:
            self._scale_fn_custom.__dict__.update(known)
        self._choose_scale()


class OneCycleLR(_WithMomentum):
    """The rate rises from ``max_lr / div_factor`` to ``max_lr``, and falls to ``1 / final_div_factor`` of the first.

    See Smith and Topin, *Super-Convergence*.

    Args:
        optimizer: whose rates are set.
        max_lr: see above; a list with one for each group, or one for all.
        total_steps: how many steps the cycle has; or ``epochs * steps_per_epoch``.
        epochs, steps_per_epoch: see above.
        pct_start: which part of the steps the rate rises.
        anneal_strategy: along a ``"cos"`` or ``"linear"``.
        cycle_momentum: whether the momentum falls from ``max_momentum`` to ``base_momentum`` while the rate rises.
        base_momentum, max_momentum, div_factor, final_div_factor: see above.
        three_phase: whether it falls as it rose, and to its end in a third phase.

    Raises:
        ValueError: an option is out of range; more steps than there are.

    >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0, momentum=0.9)
    >>> schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=4, pct_start=0.5)
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     schedule.step()
    ...     print(round(schedule.get_last_lr()[0], 4))
    1.0
    0.5
    0.0
    """

    def __init__(
        self, optimizer: Optimizer, max_lr: float | list[float], total_steps: int | None = None,
        epochs: int | None = None, steps_per_epoch: int | None = None, pct_start: float = 0.3,
        anneal_strategy: Literal["cos", "linear"] = "cos", cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85, max_momentum: float | list[float] = 0.95, div_factor: float = 25.0,
        final_div_factor: float = 1e4, three_phase: bool = False, last_epoch: int = -1,
    ) -> None:  # fmt: skip
        check_optimizer(optimizer)
        self.total_steps = _steps_of_cycle(total_steps, epochs, steps_per_epoch)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._schedule_phases = _phases(float(pct_start * self.total_steps), self.total_steps - 1, three_phase)
        self._anneal_func_type, self.cycle_momentum = anneal_strategy, cycle_momentum
        tops = for_each_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for top, group in zip(tops, optimizer.param_groups, strict=True):
                group["initial_lr"], group["max_lr"] = top / div_factor, top
                group["min_lr"] = group["initial_lr"] / final_div_factor
        if cycle_momentum:
            self._begin_momentum(optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _between(self, start: Any, end: Any, part: float) -> Any:
        if self._anneal_func_type == "cos":
            return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)
        return (end - start) * part + start

    def get_lr(self) -> list[Any]:
        """The next rates: see the class.

        Raises:
            ValueError: there were more steps than ``total_steps``.
        """
        self._check_asked()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"Tried to step {step} times. The specified number of total steps is {self.total_steps}"
            )
        phases = self._schedule_phases
        number = next((i for i, phase in enumerate(phases) if step <= phase["end_step"]), len(phases) - 1)
        phase, begun = phases[number], phases[number - 1]["end_step"] if number else 0.0
        part = (step - begun) / (phase["end_step"] - begun)
        groups = self.optimizer.param_groups
        if self.cycle_momentum:
            for group in groups:
                start, end = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._set_momentum(group, self._between(start, end, part))
        return [self._between(group[phase["start_lr"]], group[phase["end_lr"]], part) for group in groups]


def _steps_of_cycle(total_steps: Any, epochs: Any, steps_per_epoch: Any) -> int:
    if total_steps is not None:
        return _positive("total_steps", total_steps)
    if epochs is None or steps_per_epoch is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    return _positive("epochs", epochs) * _positive("steps_per_epoch", steps_per_epoch)


def _positive(name: str, value: Any) -> int:
    if not isinstance(value, int) or value <= 0:
        raise ValueError(f"Expected positive integer {name}, but got {value}")
    return value


def _phases(rising: float, last: int, three: bool) -> list[dict[str, Any]]:
    """The phases of one cycle: where each ends, and between which options of a group the rate and momentum move."""

    def phase(end: float, lr: tuple[str, str], momentum: tuple[str, str]) -> dict[str, Any]:
        names = "start_lr", "end_lr", "start_momentum", "end_momentum"
        return {"end_step": end, **dict(zip(names, lr + momentum, strict=True))}

    up = phase(rising - 1, ("initial_lr", "max_lr"), ("max_momentum", "base_momentum"))
    if not three:
        return [up, phase(last, ("max_lr", "min_lr"), ("base_momentum", "max_momentum"))]
    down = phase(2 * rising - 2, ("max_lr", "initial_lr"), ("base_momentum", "max_momentum"))
    return [up, down, phase(last, ("initial_lr", "min_lr"), ("max_momentum", "max_momentum"))]
