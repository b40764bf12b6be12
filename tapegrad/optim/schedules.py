"""Schedules in which each rate is a factor times the one before, and cosines."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from tapegrad.optim.optimizer import Optimizer
from tapegrad.optim.schedule import LRScheduler, state_of, values_of

Rule = Callable[[int], float]


class _ByFunction(LRScheduler):
    """A schedule by functions of the number of steps, one for each group."""

    apart = "optimizer", "lr_lambdas"

    def __init__(self, optimizer: Optimizer, lr_lambda: Rule | list[Rule], last_epoch: int = -1) -> None:
        groups = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
        if len(self.lr_lambdas) != groups:
            raise ValueError(f"Expected {groups} lr_lambdas, but got {len(self.lr_lambdas)}")
        self._check_functions()
        super().__init__(optimizer, last_epoch)

    def _check_functions(self) -> None:
        """Nothing is asked of them before they are called."""

    def state_dict(self) -> dict[str, Any]:
        """The state of the schedule; of its functions only the attributes of objects that can be called."""
        return {**super().state_dict(), "lr_lambdas": list(map(state_of, self.lr_lambdas))}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where ``state_dict()`` was taken, with the same functions."""
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "lr_lambdas"})
        for function, known in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if known is not None:
                function.__dict__.update(known)


class LambdaLR(_ByFunction):
    """``lr = initial_lr * f(step)``.

    Args:
        optimizer: whose rates are set.
        lr_lambda: ``f``, or a list with one for each group.

    >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    >>> schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.5**step)
    >>> optimizer.step(), schedule.step(), schedule.get_last_lr()
    (None, None, [0.5])
    """

    def get_lr(self) -> list[Any]:
        self._check_asked()
        return [rate * f(self.last_epoch) for f, rate in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(_ByFunction):
    """At each step ``lr *= f(step)``.

    Args:
        optimizer: whose rates are set.
        lr_lambda: ``f``, or a list with one for each group.
    """

    def _check_functions(self) -> None:
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(f"lr_lambda should be a function, but got {type(function).__name__}")

    def get_lr(self) -> list[Any]:
        self._check_asked()
        rates = values_of(self.optimizer, "lr")
        if self._is_initial:
            return rates
        return [rate * f(self.last_epoch) for f, rate in zip(self.lr_lambdas, rates, strict=True)]


class _ByFactor(LRScheduler):
    """A schedule that multiplies all rates by the same factor at a step."""

    def get_lr(self) -> list[Any]:
        self._check_asked()
        return self._scaled(self.factor_now())

    def factor_now(self) -> float:
        """By what the rates are multiplied at this step."""
        raise NotImplementedError

    def factor_since(self) -> float:
        """By what the rates at the beginning were multiplied so far."""
        raise NotImplementedError

    def _get_closed_form_lr(self) -> list[Any]:
        return [rate * self.factor_since() for rate in self.base_lrs]


class StepLR(_ByFactor):
    """``lr *= gamma`` at each ``step_size``-th step.

    Args:
        optimizer: whose rates are set.
        step_size, gamma: see above.

    >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    >>> schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    >>> for _ in range(4):
    ...     optimizer.step()
    ...     schedule.step()
    ...     print(round(schedule.get_last_lr()[0], 4))
    1.0
    0.5
    0.5
    0.25
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def factor_now(self) -> float:
        return self.gamma if self.last_epoch and self.last_epoch % self.step_size == 0 else 1

    def factor_since(self) -> float:
        return self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(_ByFactor):
    """``lr *= gamma`` at each of the milestones.

    Args:
        optimizer: whose rates are set.
        milestones: numbers of steps; one that is named twice counts twice.
        gamma: see above.

    >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    >>> schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 3])
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     schedule.step()
    ...     print(round(schedule.get_last_lr()[0], 4))
    0.1
    0.1
    0.01
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def factor_now(self) -> float:
        return self.gamma ** self.milestones[self.last_epoch] if self.last_epoch in self.milestones else 1

    def factor_since(self) -> float:
        return self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch)


class ConstantLR(_ByFactor):
    """``lr = initial_lr * factor`` for the first ``total_iters`` steps.

    Args:
        optimizer: whose rates are set.
        factor, total_iters: see above.

    Raises:
        ValueError: a factor that is not between 0 and 1.

    >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    >>> schedule = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     schedule.step()
    ...     print(round(schedule.get_last_lr()[0], 4))
    0.5
    1.0
    1.0
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def factor_now(self) -> float:
        if self.last_epoch == 0:
            return self.factor
        return 1.0 / self.factor if self.last_epoch == self.total_iters else 1

    def factor_since(self) -> float:
        return self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)


class LinearLR(_ByFactor):
    """``lr = initial_lr * f``, where ``f`` goes from ``start_factor`` to ``end_factor`` in ``total_iters`` equal steps.

    Args:
        optimizer: whose rates are set.
        start_factor, end_factor, total_iters: see above.

    Raises:
        ValueError: a factor that is not between 0 and 1.

    >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    >>> schedule = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     schedule.step()
    ...     print(round(schedule.get_last_lr()[0], 4))
    0.75
    1.0
    1.0
    """

    def __init__(
        self, optimizer: Optimizer, start_factor: float = 1.0 / 3, end_factor: float = 1.0, total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def factor_now(self) -> float:
        if self.last_epoch == 0:
            return self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return 1
        rise = self.end_factor - self.start_factor
        return 1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise)

    def factor_since(self) -> float:
        rise = self.end_factor - self.start_factor
        return self.start_factor + rise * min(self.total_iters, self.last_epoch) / self.total_iters


class ExponentialLR(_ByFactor):
    """``lr *= gamma`` at each step.

    Args:
        optimizer: whose rates are set.
        gamma: see above.
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def factor_now(self) -> float:
        return 1 if self._is_initial else self.gamma

    def factor_since(self) -> float:
        return self.gamma**self.last_epoch


class PolynomialLR(_ByFactor):
    """``lr = initial_lr * (1 - step / total_iters) ** power``, and zero from there on.

    Args:
        optimizer: whose rates are set.
        total_iters, power: see above.

    >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    >>> schedule = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=2)
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     schedule.step()
    ...     print(round(schedule.get_last_lr()[0], 4))
    0.5
    0.0
    0.0
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def factor_now(self) -> float:
        if self._is_initial or self.last_epoch > self.total_iters:
            return 1
        left, before = (1.0 - step / self.total_iters for step in (self.last_epoch, self.last_epoch - 1))
        return (left / before) ** self.power

    def factor_since(self) -> float:
        return (1.0 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power


class CosineAnnealingLR(LRScheduler):
    """``lr = eta_min + (initial_lr - eta_min) * (1 + cos(pi * step / T_max)) / 2``.

    See Loshchilov and Hutter, *SGDR: Stochastic Gradient Descent with Warm Restarts*; nothing is restarted here.

    Args:
        optimizer: whose rates are set.
        T_max: after how many steps the least rate is reached.
        eta_min: the least rate.

    >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    >>> schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     schedule.step()
    ...     print(round(schedule.get_last_lr()[0], 4))
    0.5
    0.0
    0.5
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def _height(self, step: int) -> float:
        return 1 + math.cos(math.pi * step / self.T_max)

    def get_lr(self) -> list[Any]:
        self._check_asked()
        rates = values_of(self.optimizer, "lr")
        if self._is_initial:
            return rates
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # from the lowest point
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [rate + (base - self.eta_min) * rise for base, rate in zip(self.base_lrs, rates, strict=True)]
        factor = self._height(self.last_epoch) / self._height(self.last_epoch - 1)
        return [factor * (rate - self.eta_min) + self.eta_min for rate in rates]

    def _get_closed_form_lr(self) -> list[Any]:
        height = self._height(self.last_epoch) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Cosines as in ``CosineAnnealingLR``, begun anew after ``T_0`` steps, then after ``T_0 * T_mult``, and so on.

    Args:
        optimizer: whose rates are set.
        T_0, T_mult: see above.
        eta_min: the least rate.

    Raises:
        ValueError: a number that is not positive.

    >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    >>> schedule = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> for _ in range(4):
    ...     optimizer.step()
    ...     schedule.step()
    ...     print(round(schedule.get_last_lr()[0], 4))
    0.5
    1.0
    0.5
    1.0
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0, self.T_i, self.T_mult, self.eta_min, self.T_cur = T_0, T_0, T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._check_asked()
        height = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Set the next rates.

        Args:
            epoch: where in the schedule to go, which may be between two steps.
        """
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur, self.T_i = self.T_cur % self.T_i, self.T_i * self.T_mult
        else:
            self._go_to(epoch)
        self.last_epoch = math.floor(epoch)
        with self._asking():
            self._set(self.get_lr())

    def _go_to(self, epoch: Any) -> None:
        if epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        if epoch < self.T_0:
            self.T_cur, self.T_i = epoch, self.T_0
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**n
