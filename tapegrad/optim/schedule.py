"""``LRScheduler``: what changes the learning rates of an optimizer's groups from step to step."""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.optim.optimizer import Optimizer, scalar

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available. Please open an issue if you are unable to "
    "replicate your use case: https://github.com/pytorch/pytorch/issues/new/choose."
)
_ORDER = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


class LRScheduler:
    """The base class of schedules. Subclasses say in ``get_lr`` what the learning rates are next.

    Schedules are chainable: each works out the next rate from the present one, so that several can share an optimizer.
    A rate that is a tensor is written to, and stays the same tensor.

    Args:
        optimizer: whose learning rates are changed.
        last_epoch: the number of the last step, to go on from there; -1 to begin.

    Attributes:
        base_lrs: the rates at the beginning.
        last_epoch: how many steps were made.

    Raises:
        TypeError: no optimizer.
        KeyError: ``last_epoch`` is given, but the optimizer's groups don't have their ``"initial_lr"``.
    """

    apart: ClassVar[tuple[str, ...]] = ("optimizer",)
    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                lr = group["lr"]
                group.setdefault("initial_lr", lr.clone() if isinstance(lr, Tensor) else lr)
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with last_epoch "
                    ">= 0.\nThis typically happens when:\n1. You're trying to resume training from a checkpoint but "
                    "haven't properly loaded the optimizer state\n2. You're using last_epoch >= 0 for a fresh training "
                    "run (not recommended)"
                )
        self.base_lrs: list[Any] = values_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _watch_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """The state of the schedule, which is all but the optimizer."""
        state = {key: value for key, value in self.__dict__.items() if key not in self.apart}
        return state | {"_last_lr": list(self._last_lr)} if "_last_lr" in state else state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where ``state_dict()`` was taken."""
        self.__dict__.update(state_dict)
        if "_last_lr" in state_dict:
            self._last_lr = list(state_dict["_last_lr"])  # that one is the caller's

    def get_last_lr(self) -> list[Any]:
        """The learning rates that were set last, of each group."""
        return list(self._last_lr)

    def _tell(self, rates: list[Any]) -> None:
        """Let these be what ``get_last_lr`` gives; in the list that there is, which compiled steps know."""
        try:
            self._last_lr[:] = rates
        except AttributeError:
            self._last_lr = list(rates)

    def get_lr(self) -> list[Any]:
        """The next learning rates, of each group; for ``step`` to call."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Set the next learning rates; to be called after the optimizer's own ``step``.

        Args:
            epoch: the number of the step, if it isn't the next; deprecated.
        """
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warn(
                    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. "
                    f"Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. {_ORDER}",
                    UserWarning,
                )
            elif not getattr(self.optimizer, "_opt_called", False):
                warn(
                    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you "
                    "should call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure "
                    "to do this will result in PyTorch skipping the first value of the learning rate schedule. "
                    f"{_ORDER}",
                    UserWarning,
                )
        self._step_count += 1
        if epoch is not None:
            warn(EPOCH_DEPRECATION_WARNING, UserWarning)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        compute = self.get_lr if epoch is None else getattr(self, "_get_closed_form_lr", self.get_lr)
        with self._asking():
            self._set(compute())

    def _set(self, rates: Sequence[Any]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_value(group, "lr", rate)
        self._tell(values_of(self.optimizer, "lr"))

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Inside, ``get_lr`` is called by the schedule itself."""
        self._get_lr_called_within_step = True
        try:
            yield
        finally:
            self._get_lr_called_within_step = False

    def _check_asked(self) -> None:
        if not self._get_lr_called_within_step:
            warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.", UserWarning)

    def _scaled(self, factor: Any) -> list[Any]:
        """The present rates, times a factor; by 1 they are as they are."""
        rates = values_of(self.optimizer, "lr")
        return rates if factor == 1 else [rate * factor for rate in rates]


class _LRScheduler(LRScheduler):
    """The base class by its old name; ``optimizer`` and ``last_epoch`` are those of ``LRScheduler``."""


def _watch_steps(optimizer: Optimizer) -> None:
    """See that the optimizer remembers whether its ``step`` was called."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    known, function = weakref.ref(optimizer), optimizer.step.__func__  # type: ignore[attr-defined]

    @functools.wraps(function)
    def step(*args: Any, **kwargs: Any) -> Any:
        one = known()
        one._opt_called = True  # type: ignore[union-attr]
        return function(one, *args, **kwargs)

    step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = step  # type: ignore[method-assign]


def check_optimizer(optimizer: Any) -> None:
    """Refuse what is no optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def values_of(optimizer: Optimizer, key: str) -> list[Any]:
    """An option of each group; tensors are copied."""
    return [group[key].clone() if isinstance(group[key], Tensor) else group[key] for group in optimizer.param_groups]


def set_value(group: dict[str, Any], key: str, value: Any) -> None:
    """Set an option of a group; one that is a tensor is written to."""
    if isinstance(group[key], Tensor):
        group[key].fill_(scalar(value))
    else:
        group[key] = value


def for_each_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """A list with an entry for each group, made from such a list or from one value.
    Raises ValueError: a list of another length.
    """
    groups = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        value = [value] * groups
    elif len(value) != groups:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, param_groups "
            f"has {groups}."
        )
    return [one.clone() if isinstance(one, Tensor) else one for one in value]


def state_of(function: Callable | None) -> dict[str, Any] | None:
    """The part of a function that is kept in a state dict: the attributes of an object that can be called, nothing
    else."""
    return None if function is None or isinstance(function, types.FunctionType) else function.__dict__.copy()
