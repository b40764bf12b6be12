"""``GradScaler``: losses are scaled up so that small gradients survive float16, and gradients are scaled back.

Note [Steps that are taken back]
A step is left out if a gradient is not finite, which has to be known before. While a call is captured nothing is known:
there the step is made, and each tensor that it has written to gets back what it was, where a gradient was not finite
(``_step_or_nothing``). It can be so with optimizers all of whose state are tensors, and there already.
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import Any

from tapegrad._src.bindings.device_names.cuda import is_available
from tapegrad._src.execution.array_functions.host import may_look
from tapegrad._src.execution.data.dtypes import float16, float32, int32
from tapegrad._src.functions.creation import full
from tapegrad._src.functions.foreach import _amp_foreach_non_finite_check_and_unscale_, _amp_update_scale_
from tapegrad._src.functions.selection import where
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.autograd.grad_mode import no_grad

_HINT = "This may indicate your script did not use scaler.scale(loss or outputs) earlier in the iteration."


class OptState(Enum):
    """The stage of an optimizer since the last ``update``."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _refresh_per_optimizer_state() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


def _can_be_taken_back(optimizer: Any) -> bool:
    """Tell whether all that a step changes are tensors, which are there already. See Note [Steps that are taken
    back]."""
    if optimizer._optimizer_step_pre_hooks or optimizer._optimizer_step_post_hooks:
        return False
    params = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
    states = [optimizer.state.get(p) for p in params]
    on_one_device = len({p.device for p in params}) == 1
    return on_one_device and all(state and all(isinstance(one, Tensor) for one in state.values()) for state in states)


@no_grad()
def _step_or_nothing(optimizer: Any, is_bad: Tensor, args: tuple, kwargs: dict[str, Any]) -> Any:
    """A step of an optimizer, and if gradients were bad, all that it has written to is what it was before."""
    states = [one for state in optimizer.state.values() for one in state.values()]
    params = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
    before = [(tensor, tensor.clone()) for tensor in (*params, *states)]
    result = optimizer.step(*args, **kwargs)
    for tensor, old in before:
        tensor.copy_(where(is_bad, old, tensor))
    return result


class GradScaler:
    """Scales losses, and gradients back; a step whose gradients are not finite is left out, and the scale made smaller.

    Args:
        device: on which type of device it works; without a GPU one for ``"cuda"`` is not enabled, and warns.
        init_scale: the scale at the beginning.
        growth_factor: what the scale is multiplied by after ``growth_interval`` steps without an infinite gradient.
        backoff_factor: what the scale is multiplied by after a step with one.
        growth_interval: see above.
        enabled: False lets losses, gradients and steps be as they are.

    Raises:
        AssertionError: factors that don't let the scale grow and shrink.

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer, scaler = torch.optim.SGD([w], lr=0.5), GradScaler("cpu", init_scale=8.0)
    >>> scaler.scale((w * 3).sum()).backward()
    >>> w.grad
    tensor([24.])
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> w.grad, w.detach()
    (tensor([3.]), tensor([-0.5000]))
    """

    def __init__(
        self, device: str = "cuda", init_scale: float = 2.0**16, growth_factor: float = 2.0,
        backoff_factor: float = 0.5, growth_interval: int = 2000, enabled: bool = True,
    ) -> None:  # fmt: skip
        self._device, self._enabled = device, enabled
        if enabled and device == "cuda" and not is_available():
            warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.")
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale, self._init_growth_tracker = init_scale, 0
        self._scale: Tensor | None = None
        self._growth_tracker: Tensor | None = None
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        self._per_optimizer_states: dict[int, dict[str, Any]] = defaultdict(_refresh_per_optimizer_state)

    def _begun(self, function: str) -> tuple[Tensor, Tensor]:
        """The scale and the tracker of its growth, as they are since the first loss was scaled."""
        for name, item in (("_scale", self._scale), ("_growth_tracker", self._growth_tracker)):
            if item is None:
                raise AssertionError(f"Attempted {function} but {name} is None.  {_HINT}")
        return self._scale, self._growth_tracker  # type: ignore[return-value]

    def _scale_on(self, device: Any) -> Tensor:
        if self._scale is None:
            self._scale = full((), self._init_scale, dtype=float32, device=device)
            self._growth_tracker = full((), self._init_growth_tracker, dtype=int32, device=device)
        return self._scale.to(device)

    def scale(self, outputs: Any) -> Any:
        """Losses, times the scale: a tensor, or an iterable of tensors, nested as one likes.

        Raises:
            ValueError: something else in it.
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._scale_on(outputs.device)
        if isinstance(outputs, Iterable):
            scaled = map(self.scale, outputs)
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, and note whether all are finite.

        ``step`` does it if nobody has: call it to look at gradients, or to clip them.

        Raises:
            RuntimeError: it was called before since the last ``update``.
            ValueError: a gradient of float16.
        """
        if not self._enabled:
            return
        scale, _ = self._begun("unscale_")
        known = self._per_optimizer_states[id(optimizer)]
        if known["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if known["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inverse = scale.double().reciprocal().float()
        known["found_inf_per_device"] = self._unscale_grads_(optimizer, inverse, False)
        known["stage"] = OptState.UNSCALED

    @no_grad()
    def _unscale_grads_(self, optimizer: Any, inverse: Tensor, allow_fp16: bool) -> dict[Any, Tensor]:
        """Multiply gradients; for each device a number that is not 0 if one was not finite."""
        grads: dict[Any, dict[Any, list[Tensor]]] = defaultdict(lambda: defaultdict(list))
        for p in (p for group in optimizer.param_groups for p in group["params"] if p.grad is not None):
            if not allow_fp16 and p.grad.dtype is float16:
                raise ValueError("Attempting to unscale FP16 gradients.")
            grads[p.grad.device][p.grad.dtype].append(p.grad)
        found: dict[Any, Tensor] = {}
        for device, by_dtype in grads.items():
            found[device] = full((), 0.0, dtype=float32, device=device)
            for some in by_dtype.values():
                _amp_foreach_non_finite_check_and_unscale_(some, found[device], inverse.to(device))
        return found

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """``optimizer.step(*args, **kwargs)`` with unscaled gradients, if they are finite; what that returns, or None.

        An optimizer with a true ``_step_supports_amp_scaling`` does both itself, with what it finds in its attributes
        ``grad_scale`` (None if gradients were unscaled) and ``found_inf``.

        Raises:
            RuntimeError: a closure is given; it was called before since the last ``update``.
            AssertionError: the optimizer has no gradients.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._begun("step")
        known = self._per_optimizer_states[id(optimizer)]
        if known["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        result = None
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            result = self._step_by_itself(optimizer, known, args, kwargs)
        else:
            if known["stage"] is OptState.READY:
                self.unscale_(optimizer)
            if not known["found_inf_per_device"]:
                raise AssertionError("No inf checks were recorded for this optimizer.")
            result = self._maybe_opt_step(optimizer, known, *args, **kwargs)
        known["stage"] = OptState.STEPPED
        return result

    def _maybe_opt_step(self, optimizer: Any, optimizer_state: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        found = optimizer_state["found_inf_per_device"].values()
        if not may_look() and _can_be_taken_back(optimizer):
            return _step_or_nothing(optimizer, sum(found) != 0, args, kwargs)
        if sum(one.item() for one in found):
            return None
        return optimizer.step(*args, **kwargs)

    def _step_by_itself(self, optimizer: Any, known: dict[str, Any], args: tuple, kwargs: dict[str, Any]) -> Any:
        """The step of an optimizer that unscales gradients itself."""
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            warn(
                "GradScaler is going to stop passing itself as a keyword argument to the passed optimizer. In the near "
                "future GradScaler registers `grad_scale: Tensor` and `found_inf: Tensor` to the passed optimizer and "
                "let the optimizer use them directly.",
                FutureWarning,
            )
            return optimizer.step(*args, **kwargs | {"grad_scaler": self})
        if known["stage"] is OptState.READY:
            self._check_inf_per_device(optimizer)
        scale, _ = self._begun("step")
        unscaled = known["stage"] is OptState.UNSCALED
        own = getattr(optimizer, "grad_scale", None)
        optimizer.grad_scale = own if unscaled else scale * (1 if own is None else own)
        optimizer.found_inf = sum(found.to(scale.device) for found in known["found_inf_per_device"].values())
        try:
            return optimizer.step(*args, **kwargs)
        finally:
            del optimizer.grad_scale, optimizer.found_inf

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Make the scale larger or smaller, by what was found since the last time; after all steps of an iteration.

        Args:
            new_scale: the scale from now on, instead.

        Raises:
            AssertionError: no step was made; ``new_scale`` is no single number, or requires grad.
        """
        if not self._enabled:
            return
        scale, tracker = self._begun("update")
        if new_scale is None:
            found = [one for state in self._per_optimizer_states.values() for one in
                     state["found_inf_per_device"].values()]  # fmt: skip
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            total = sum((one.to(scale.device) for one in found[1:]), found[0].to(scale.device))
            _amp_update_scale_(
                scale, tracker, total, self._growth_factor, self._backoff_factor, self._growth_interval
            )
        elif isinstance(new_scale, float):
            scale.fill_(new_scale)
        else:
            if new_scale.device.type != self._device or new_scale.numel() != 1 or new_scale.requires_grad:
                raise AssertionError(
                    "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
                    "requires_grad=False."
                )
            scale.copy_(new_scale)
        self._per_optimizer_states.clear()

    def _get_scale_async(self) -> Tensor | None:
        return self._scale

    def get_scale(self) -> float:
        """The scale; 1.0 if the scaler is not enabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self) -> float:
        """Give the factor by which the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set it."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Give the factor of the scale after a gradient that is not finite."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set it."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many good steps the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set it."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else int(self._growth_tracker.item())

    def is_enabled(self) -> bool:
        """Tell whether it does anything."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """The scale, its factors and interval, and how many good steps there were; empty if it is not enabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where ``state_dict()`` was taken.

        Raises:
            RuntimeError: it is empty.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale, self._init_growth_tracker = state_dict["scale"], state_dict["_growth_tracker"]
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(self._init_growth_tracker)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after "
                    "scaler.update()."
                )
            state |= {"_init_scale": self.get_scale(), "_init_growth_tracker": self._get_growth_tracker()}
            state |= {"_scale": None, "_growth_tracker": None}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def _check_inf_per_device(self, optimizer: Any) -> dict[Any, Tensor]:
        """Note whether all gradients are finite, and leave them as they are."""
        scale, _ = self._begun("_check_inf_per_device")
        found = self._unscale_grads_(optimizer, full((), 1.0, dtype=float32, device=scale.device), True)
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = found
        return found

    def _found_inf_per_device(self, optimizer: Any) -> dict[Any, Tensor]:
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]
