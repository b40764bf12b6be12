"""Averages of weights over the steps of a training: equal ones (SWA), exponential ones (EMA), or one's own."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from itertools import chain
from typing import Any

from tapegrad._src.bindings.declaration.registry import NAMESPACES
from tapegrad._src.execution.data.dtypes import int64
from tapegrad._src.functions.construction import tensor
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.grad_mode import no_grad
from tapegrad.nn.modules.batchnorm import _BatchNorm
from tapegrad.nn.modules.module import Module
from tapegrad.optim.optimizer import Optimizer
from tapegrad.optim.schedule import LRScheduler, for_each_group

Tensors = Sequence[Tensor]
_lerp: Callable = NAMESPACES["torch"]["_foreach_lerp_"]


def _check_decay(decay: float) -> None:
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def _is_inexact(one: Tensor) -> bool:
    return one.is_floating_point() or one.is_complex()


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[[Tensors, Tensors, Any], None]:
    """A function for ``AveragedModel(multi_avg_fn=)``: ``decay`` of the average, and the rest of the model.

    Args:
        decay: how much of the average stays, from 0 to 1.

    Raises:
        ValueError: ``decay`` is not.
    """
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param_list: Tensors, current_param_list: Tensors, _: Any) -> None:
        if _is_inexact(ema_param_list[0]):
            _lerp(ema_param_list, current_param_list, 1 - decay)
        else:
            for average, current in zip(ema_param_list, current_param_list, strict=True):
                average.copy_(average * decay + current * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> Callable[[Tensors, Tensors, Any], None]:
    """A function for ``AveragedModel(multi_avg_fn=)``: the average of all models that there were."""

    @no_grad()
    def swa_update(averaged_param_list: Tensors, current_param_list: Tensors, num_averaged: Any) -> None:
        if _is_inexact(averaged_param_list[0]):
            _lerp(averaged_param_list, current_param_list, 1 / (num_averaged + 1))
            return
        for average, current in zip(averaged_param_list, current_param_list, strict=True):
            if isinstance(num_averaged, Tensor):
                average.addcdiv_(current - average, num_averaged + 1)
            else:
                average.add_(current - average, alpha=1.0 / (num_averaged + 1))

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Callable[[Tensor, Tensor, Any], Tensor]:
    """A function for ``AveragedModel(avg_fn=)``: ``decay`` of the average, and the rest of the model.

    Raises:
        ValueError: ``decay`` is not from 0 to 1.
    """
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable[[Tensor, Tensor, Any], Tensor]:
    """A function for ``AveragedModel(avg_fn=)``: the average of all models that there were."""

    @no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


class AveragedModel(Module):
    """A copy of a module, whose parameters are averages of that module's.

    Args:
        model: the module.
        device: where the copy is to be.
        avg_fn: ``avg_fn(average, current, num_averaged)`` gives a parameter's next average. The first time it is not
            asked: parameters are copied. By default all models count the same.
        multi_avg_fn: instead, ``multi_avg_fn(averages, currents, num_averaged)`` writes to all averages of a dtype.
        use_buffers: whether buffers are averaged too; else they are copied.

    Raises:
        AssertionError: both functions are given.

    >>> model = torch.nn.Linear(1, 1, bias=False)
    >>> averaged = AveragedModel(model)
    >>> for number in (1.0, 3.0):
    ...     _ = torch.nn.init.constant_(model.weight, number)
    ...     averaged.update_parameters(model)
    >>> averaged(torch.ones(1)).detach()
    tensor([2.])
    """

    n_averaged: Tensor

    def __init__(
        self, model: Module, device: Any = None, avg_fn: Callable[[Tensor, Tensor, Any], Tensor] | None = None,
        multi_avg_fn: Callable[[Tensors, Tensors, Any], None] | None = None, use_buffers: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=int64, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Give the output of the averaged module."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Count the present parameters of a module in."""
        own, theirs = self._averaged(self.module), self._averaged(model)
        pairs = [(p.detach(), q.detach().to(p.device)) for p, q in zip(own, theirs, strict=False)]
        if bool(self.n_averaged == 0):
            for average, current in pairs:
                average.copy_(current)
        elif self.avg_fn is not None:
            for average, current in pairs:
                average.copy_(self.avg_fn(average, current, self.n_averaged.to(average.device)))
        else:
            self._average_together(pairs)
        if not self.use_buffers:
            for buffer, current in zip(self.module.buffers(), model.buffers(), strict=True):
                buffer.detach().copy_(current.detach().to(buffer.device))
        self.n_averaged += 1

    def _averaged(self, model: Module) -> Iterable[Tensor]:
        return chain(model.parameters(), model.buffers()) if self.use_buffers else model.parameters()

    def _average_together(self, pairs: list[tuple[Tensor, Tensor]]) -> None:
        """Average parameters, those of one device and dtype at a time."""
        groups: dict[Any, list[tuple[Tensor, Tensor]]] = {}
        for average, current in pairs:
            groups.setdefault((average.device, average.dtype), []).append((average, current))
        update = self.multi_avg_fn or _each_by(get_swa_avg_fn())
        for (device, _), group in groups.items():
            update([pair[0] for pair in group], [pair[1] for pair in group], self.n_averaged.to(device))


def _each_by(average: Callable[[Tensor, Tensor, Any], Tensor]) -> Callable[[Tensors, Tensors, Any], None]:
    def update(averages: Tensors, currents: Tensors, count: Any) -> None:
        for one, current in zip(averages, currents, strict=True):
            one.copy_(average(one, current, count))

    return update


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Work out the running statistics of all batch norms of a module anew, as averages over some batches.

    Args:
        loader: gives batches: tensors, or lists and tuples whose first element is what the module takes.
        model: the module; without batch norms nothing is done.
        device: where batches are put before.
    """
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    if not norms:
        return
    momenta, training = [norm.momentum for norm in norms], model.training
    for norm in norms:
        norm.reset_running_stats()
    model.train()
    for norm in norms:
        norm.momentum = None
    for batch in loader:
        input = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(input if device is None else input.to(device))
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    model.train(training)


class SWALR(LRScheduler):
    """A schedule that takes the learning rate of each group to a fixed one, and leaves it there.

    Args:
        optimizer: whose rates are changed.
        swa_lr: the rate at the end, or one for each group.
        anneal_epochs: in how many steps.
        anneal_strategy: ``"cos"`` or ``"linear"``.
        last_epoch: the number of the last step; -1 to begin.

    Raises:
        ValueError: another strategy; a number of steps that is negative; not as many rates as groups.

    >>> optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    >>> schedule = torch.optim.swa_utils.SWALR(optimizer, swa_lr=0.2, anneal_epochs=2)
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     schedule.step()
    ...     print(round(schedule.get_last_lr()[0], 4))
    0.6
    0.2
    0.2
    """

    apart = ("optimizer", "anneal_func")

    def __init__(
        self, optimizer: Optimizer, swa_lr: Any, anneal_epochs: int = 10, anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        for group, rate in zip(optimizer.param_groups, for_each_group("swa_lr", optimizer, swa_lr), strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._set_anneal_func(anneal_strategy)
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _set_anneal_func(self, anneal_strategy: str) -> None:
        self._anneal_strategy = anneal_strategy
        self.anneal_func = _cosine if anneal_strategy == "cos" else _linear

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where ``state_dict()`` was taken."""
        super().load_state_dict(state_dict)
        self._set_anneal_func(self._anneal_strategy)

    def get_lr(self) -> list[Any]:
        """The next rates: those of the beginning are worked out from the present ones."""
        self._check_asked()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = (
            self.anneal_func(max(0, min(1, at / max(1, self.anneal_epochs)))) for at in (step - 1, step)
        )
        rates = []
        for group in self.optimizer.param_groups:
            last, first = group["swa_lr"], group["lr"]
            first = last if before == 1 else (first - before * last) / (1 - before)
            rates.append(last * now + first * (1 - now))
        return rates


def _linear(t: float) -> float:
    return t


def _cosine(t: float) -> float:
    return (1 - math.cos(math.pi * t)) / 2


__all__ = [
    "SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
    "update_bn",
]  # fmt: skip
