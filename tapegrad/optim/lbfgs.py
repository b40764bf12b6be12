"""L-BFGS: Newton's method with a Hessian that is known from the last few steps.

Note [Strong Wolfe conditions]
Along a direction ``d`` from ``x``, ``f(t)`` is the loss at ``x + t d``. A step ``t`` is taken if the loss falls by
enough, ``f(t) <= f(0) + c1 t f'(0)``, and if it is flat enough there, ``|f'(t)| <= -c2 f'(0)``. First steps grow until
two of them enclose such a step (``_enclose``); then the interval between them is made smaller (``_narrow``), each time
at the minimum of the cubic polynomial through both ends and their slopes. See Nocedal and Wright, *Numerical
Optimization*, chapter 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from tapegrad._src.functions.joining import cat
from tapegrad._src.functions.retyping import view_as_real
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.grad_mode import enable_grad, no_grad
from tapegrad.optim.optimizer import Optimizer, Params, check_lr, chosen, scalar


class LBFGS(Optimizer):
    """Steps along ``-H g``, where ``H`` approximates the inverse Hessian by the last steps and changes of the gradient.

    A step evaluates the loss several times, by a closure. There is one group of parameters.

    Args:
        params: tensors.
        lr: the length of steps; the first of all is divided by the sum of the gradient's absolute values, if above one.
        max_iter: how many directions a step follows at most.
        max_eval: how often the loss is evaluated at most; five quarters of ``max_iter`` by default.
        tolerance_grad, tolerance_change: a step ends when no gradient is greater, or nothing changes by more.
        history_size: how many steps are remembered.
        line_search_fn: None, or ``"strong_wolfe"``: see Note [Strong Wolfe conditions].

    Raises:
        ValueError: several groups; a negative learning rate.

    >>> x = torch.tensor([-1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.LBFGS([x], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    ...     loss.backward()
    ...     return loss
    >>> for _ in range(3):
    ...     _ = optimizer.step(closure)
    >>> x.detach()
    tensor([1.0000, 1.0000])
    """

    def __init__(
        self, params: Params, lr: float | Tensor = 1, max_iter: int = 20, max_eval: int | None = None,
        tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9, history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:  # fmt: skip
        check_lr(lr)
        max_eval = max_iter * 5 // 4 if max_eval is None else max_eval
        defaults = chosen(locals(), "lr max_iter max_eval tolerance_grad tolerance_change history_size line_search_fn")
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    @no_grad()
    def step(self, closure: Callable[[], Any]) -> Any:
        """Follow directions until the gradient vanishes, nothing changes any more, or the options say stop.

        Args:
            closure: computes the loss and the gradients anew, and returns the loss.

        Returns:
            the loss before the step.
        """
        group, closure = self.param_groups[0], enable_grad()(closure)
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first = closure()
        loss, evaluated = float(first), 1
        state["func_evals"] += 1
        grad = self._gradient()
        if grad.abs().max() <= group["tolerance_grad"]:
            return first
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = self._direction(state, grad, group["history_size"])
            state["prev_flat_grad"], state["prev_loss"], before = grad.clone(), loss, loss
            length = scalar(group["lr"])
            if state["n_iter"] == 1:
                total = float(grad.abs().sum())
                length = min(1.0, 1.0 / total if total else math.inf) * length
            state["d"], state["t"] = direction, length
            slope = grad.dot(direction)
            if slope > -group["tolerance_change"]:
                break
            if group["line_search_fn"] is None:
                self._move(length, direction)
                if iteration == group["max_iter"]:
                    break
                loss, spent = float(closure()), 1
                grad = self._gradient()
            else:
                search = self._search(closure, direction, Trial(0, loss, grad, slope))
                loss, grad, length, spent = search.run(length, group["max_eval"] - evaluated)
                self._move(length, direction)
                state["t"] = length
            evaluated += spent
            state["func_evals"] += spent
            if (
                evaluated >= group["max_eval"]
                or grad.abs().max() <= group["tolerance_grad"]
                or (direction * length).abs().max() <= group["tolerance_change"]
                or abs(loss - before) < group["tolerance_change"]
            ):
                break
        return first

    def _direction(self, state: dict[str, Any], grad: Tensor, most: int) -> Tensor:
        """``-H g``, after the last step and the change of the gradient in it have been taken into ``H``."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return -grad
        changes, steps, inverses = state["old_dirs"], state["old_stps"], state["ro"]
        change, step = grad - state["prev_flat_grad"], state["d"] * state["t"]
        product = change.dot(step)
        if product > 1e-10:
            if len(changes) == most:
                for remembered in (changes, steps, inverses):
                    del remembered[0]
            changes.append(change)
            steps.append(step)
            inverses.append(1.0 / product)
            state["H_diag"] = product / change.dot(change)
        q, shares = -grad, []
        for change, step, inverse in reversed(list(zip(changes, steps, inverses, strict=True))):
            shares.append(step.dot(q) * inverse)
            q = q - change * shares[-1]
        r = q * state["H_diag"]
        for change, step, inverse, share in zip(changes, steps, inverses, reversed(shares), strict=True):
            r = r + step * (share - change.dot(r) * inverse)
        state["al"] = [*reversed(shares), *[None] * (most - len(shares))]
        return r

    def _search(self, closure: Callable[[], Any], direction: Tensor, start: Trial) -> LineSearch:
        kind = self.param_groups[0]["line_search_fn"]
        if kind != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        before = [p.clone() for p in self._params]

        def evaluate(length: Any) -> Trial:
            self._move(length, direction)
            loss, grad = float(closure()), self._gradient()
            for p, value in zip(self._params, before, strict=True):
                p.copy_(value)
            return Trial(length, loss, grad, grad.dot(direction))

        return LineSearch(evaluate, start, float(direction.abs().max()))

    def _gradient(self) -> Tensor:
        """All gradients in one row; zeros where there is none."""
        rows = [p.new_zeros(p.shape) if p.grad is None else p.grad.to_dense() for p in self._params]
        return cat([(view_as_real(row) if row.is_complex() else row).reshape(-1) for row in rows], 0)

    def _move(self, length: Any, direction: Tensor) -> None:
        """Move all parameters by ``length`` times their part of a direction."""
        reals = [view_as_real(p) if p.is_complex() else p for p in self._params]
        for p, part in zip(reals, direction.split([p.numel() for p in reals]), strict=True):
            p.add_(part.view_as(p), alpha=float(length))


class Trial(NamedTuple):
    """A step that was tried: its length, the loss there, the gradient, and the slope along the direction."""

    length: Any
    loss: float
    grad: Tensor
    slope: Tensor


class LineSearch:
    """Looks for a step that meets the conditions: see Note [Strong Wolfe conditions].

    Args:
        evaluate: tries a step of a length.
        start: the step of length zero.
        size: the greatest absolute value in the direction.
    """

    FALL, FLATNESS, LEAST = 1e-4, 0.9, 1e-9

    def __init__(self, evaluate: Callable[[Any], Trial], start: Trial, size: float) -> None:
        self.evaluate, self.start, self.size = evaluate, start, size
        self.tried = 0

    def run(self, length: Any, most: int) -> tuple[float, Tensor, Any, int]:
        """The loss and gradient at the step that was found, its length, and how many were tried."""
        best, other = self._enclose(self._try(length), most)
        if other is not None:
            best = self._narrow(best, other, most)
        return best.loss, best.grad, best.length, self.tried

    def _try(self, length: Any) -> Trial:
        self.tried += 1
        return self.evaluate(length)

    def _falls_short(self, trial: Trial) -> bool:
        return bool(trial.loss > self.start.loss + self.FALL * trial.length * self.start.slope)

    def _is_flat(self, trial: Trial) -> bool:
        return bool(abs(trial.slope) <= -self.FLATNESS * self.start.slope)

    def _enclose(self, trial: Trial, most: int) -> tuple[Trial, Trial | None]:
        """A step that meets the conditions, and None; or two that enclose one, the lower first."""
        before, number = self.start, 0
        while number < most:
            if self._falls_short(trial) or (number > 1 and trial.loss >= before.loss):
                return _lower_first(before, trial)
            if self._is_flat(trial):
                return trial, None
            if trial.slope >= 0:
                return _lower_first(before, trial)
            least, greatest = trial.length + 0.01 * (trial.length - before.length), trial.length * 10
            length = cubic_minimum(before, trial, (least, greatest))
            before, trial = trial, self._try(length)
            number += 1
        return _lower_first(self.start, trial)

    def _narrow(self, low: Trial, high: Trial, most: int) -> Trial:
        """The best step between two."""
        stuck = False
        while self.tried - 1 < most:
            if abs(high.length - low.length) * self.size < self.LEAST:
                break
            length, stuck = self._between(low, high, stuck)
            trial = self._try(length)
            if self._falls_short(trial) or trial.loss >= low.loss:
                low, high = _lower_first(low, trial)
            elif self._is_flat(trial):
                return trial
            else:
                if trial.slope * (high.length - low.length) >= 0:
                    high = low
                low = trial
        return low

    def _between(self, low: Trial, high: Trial, stuck: bool) -> tuple[Any, bool]:
        """The next length, at a tenth from an end if the last one was close to it already; whether it is close now."""
        length = cubic_minimum(low, high)
        least, greatest = sorted((low.length, high.length))
        margin = 0.1 * (greatest - least)
        if min(greatest - length, length - least) >= margin:
            return length, False
        if not stuck and least < length < greatest:
            return length, True
        nearer_end = abs(length - greatest) < abs(length - least)
        return (greatest - margin if nearer_end else least + margin), False


def _lower_first(one: Trial, other: Trial) -> tuple[Trial, Trial]:
    return (one, other) if one.loss <= other.loss else (other, one)


def cubic_minimum(one: Trial, other: Trial, bounds: tuple[Any, Any] | None = None) -> Any:
    """The place where the cubic polynomial with the losses and slopes of two steps is least, within bounds or between
    them."""
    low, high = sorted((one, other), key=lambda trial: trial.length)
    least, greatest = (low.length, high.length) if bounds is None else bounds
    mean = low.slope + high.slope - 3 * (low.loss - high.loss) / (low.length - high.length)
    square = mean**2 - low.slope * high.slope
    if not square >= 0:
        return (least + greatest) / 2.0
    root = square.sqrt()
    share = (high.slope + root - mean) / (high.slope - low.slope + 2 * root)
    return min(max(high.length - (high.length - low.length) * share, least), greatest)
