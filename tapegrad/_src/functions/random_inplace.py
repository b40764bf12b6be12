"""Filling a tensor with random numbers: ``uniform_``, ``normal_``, ``random_`` and their relatives.

What was in the tensor before makes no difference any more: its gradient is zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._src.bindings.declaration.declarations import InPlace
from tapegrad._src.bindings.declaration.factory import is_integer, no_overload, type_name
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.declaration.scalars import is_number, unsupported
from tapegrad._src.bindings.state.generator import next_key, sampled
from tapegrad._src.bindings.writes.in_place import become, before_write, refuse_in_place
from tapegrad._src.bindings.writes.overlaps import refuse_shared_parts
from tapegrad._src.execution.array_functions import random as sampling
from tapegrad._src.execution.data.dtypes import BOOL, COMPLEX, FLOATING, dtype
from tapegrad._src.functions.random import chances, check_deviation, check_probabilities, check_range, whole_limit
from tapegrad._src.functions.shape import expanded
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import random as ops
from tapegrad.ops.checks import cpp_name
from tapegrad.ops.kinds import cast


def _fill(
    self: Tensor, function: str, what: Callable, generator: Any, *parameters: Any, node: str = "", overload: str = ""
) -> Tensor:
    """Fill a tensor with samples of a distribution; ``node`` is the key of the node, if not the function's name."""
    refuse_in_place(self)
    spec = self._spec.fresh.replace(requires_grad=False, overrides=False, dual=False, level=0)
    sample = sampled(function, generator, what, spec, *parameters, target=self, strides=self._spec.layout)
    if self._spec.level or (self._spec.requires_grad and thread.modes.grad):
        sample = ops.OVERWRITE[node or function](before_write(self), sample)
    return become(self, sample, function + overload)


def _may_fill(self: Tensor, function: str, **arguments: Any) -> None:
    """Refuse arguments that are no numbers, and then a tensor that may not be written to."""
    for position, (name, value) in enumerate(arguments.items(), 1):
        if not is_number(value) or isinstance(value, complex):
            raise TypeError(
                f"{function}(): argument '{name}' (position {position}) must be float, not {type_name(value)}"
            )
    refuse_in_place(self, overlapping=True)


@public("Tensor")
def uniform_(self: Tensor, *args: Any, generator: Any = None, **options: Any) -> Tensor:
    """``uniform_(from=0, to=1)``: fill with numbers in [from, to).

    Raises:
        RuntimeError: bounds in the wrong order, or too large for the dtype.
    """
    bounds = {"from": 0.0, "to": 1.0} | options | dict(zip(("from", "to"), args, strict=False))
    for name in options:
        if name not in ("from", "to"):
            raise TypeError(f"uniform_() got an unexpected keyword argument '{name}'")
    if len(args) > 2:
        raise TypeError(f"uniform_() takes from 0 to 2 positional arguments but {len(args)} were given")
    _may_fill(self, "uniform_", **bounds)
    if self.dtype.category < FLOATING:
        raise unsupported("check_uniform_bounds", self.dtype)
    low, high = float(bounds["from"]), float(bounds["to"])
    _check_bounds(low, high, self.dtype)
    return _fill(self, "uniform_", sampling.uniform, generator, low, high)


def _check_bounds(low: float, high: float, d: dtype) -> None:
    real = d.to_real()
    largest = 3.3895313892515355e38 if real.name == "bfloat16" else float(np.finfo(real.numpy).max)
    for name, bound in (("from", low), ("to", high)):
        if not -largest <= bound <= largest:
            raise RuntimeError(f"{name} is out of bounds for {cpp_name(real)}")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if high - low > largest:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{d.scalar_name}>::max(), but found to={high:g} and "
            f"from={low:g} which result in to-from to exceed the limit"
        )


@public("Tensor")
def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with normal numbers.

    Args:
        mean, std: numbers.

    Raises:
        RuntimeError: ``std`` is negative.
        NotImplementedError: other than floating or complex elements.

    >>> torch.ones(3).normal_(5.0, 0.0)
    tensor([5., 5., 5.])
    """
    _may_fill(self, "normal_", mean=mean, std=std)
    check_deviation("normal", std)
    if self.dtype.category < FLOATING:
        raise unsupported("normal_kernel_cpu", self.dtype)
    return _fill(self, "normal_", sampling.normal, generator, float(mean), float(std))


@public("Tensor")
def log_normal_(self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Any = None) -> Tensor:
    """Fill with numbers whose logarithms are normal, of this mean and standard deviation.

    Args:
        mean, std: numbers.

    Raises:
        RuntimeError: ``std`` is not positive.
        NotImplementedError: other than floating elements.

    >>> bool((torch.ones(3).log_normal_() > 0).all())
    True
    """
    _may_fill(self, "log_normal_", mean=mean, std=std)
    if std <= 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    if self.dtype.category != FLOATING:
        raise unsupported("log_normal_cpu", self.dtype)
    return _fill(self, "log_normal_", sampling.log_normal, generator, float(mean), float(std))


@public("Tensor")
def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with exponential numbers of the mean 1 / lambd.

    Raises:
        RuntimeError: ``lambd`` is not positive; other than floating elements.
    """
    _may_fill(self, "exponential_", lambd=lambd)
    if self.dtype.category != FLOATING:
        raise RuntimeError(
            "Exponential distribution is a continuous probability distribution. dtype must be a floating point but you "
            f"specified {self.dtype.scalar_name}"
        )
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    return _fill(self, "exponential_", sampling.exponential, generator, float(lambd))


@public("Tensor")
def cauchy_(self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with Cauchy numbers.

    Args:
        median, sigma: where the middle is, and how far from it half of the numbers lie.

    Raises:
        RuntimeError: ``sigma`` is not positive; other than floating elements.

    >>> torch.ones(3).cauchy_().shape
    torch.Size([3])
    """
    _may_fill(self, "cauchy_", median=median, sigma=sigma)
    if sigma <= 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    if self.dtype.category != FLOATING:
        raise RuntimeError(
            "Cauchy distribution is a continuous probability distribution. dtype must be a floating point but you "
            f"specified {cpp_name(self.dtype)}"
        )
    return _fill(self, "cauchy_", sampling.cauchy, generator, float(median), float(sigma))


@public("Tensor")
def geometric_(self: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """Fill with the number of trials of probability ``p`` up to the first success.

    Raises:
        RuntimeError: ``p`` is not between 0 and 1.
        NotImplementedError: boolean or complex elements.
    """
    _may_fill(self, "geometric_", p=p)
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    if self.dtype.category in (BOOL, COMPLEX):
        raise unsupported("geometric_cpu", self.dtype)
    return _fill(self, "geometric_", sampling.geometric, generator, float(p))


@public("Tensor", in_place=InPlace(captured="inplace bernoulli"))
def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fill with 1 with the probability ``p``, else 0; ``p`` is a number, or a tensor that broadcasts to this one.

    Raises:
        RuntimeError: a probability outside of [0, 1].
    """
    if isinstance(p, Tensor):
        return _bernoulli_of_tensor(self, p, generator)
    if not is_number(p) or isinstance(p, complex):
        generators = "torch.Generator generator = None"
        raise no_overload("bernoulli_", [p], {}, (f"Tensor p, *, {generators}", f"float p = 0.5, *, {generators}"))
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    if self.dtype.category == COMPLEX:
        raise unsupported("bernoulli_scalar_cpu_", self.dtype)
    return _fill(self, "bernoulli_", sampling.bernoulli, generator, float(p), overload=".float")


def _bernoulli_of_tensor(self: Tensor, p: Tensor, generator: Any) -> Tensor:
    if p.dtype.category != FLOATING:
        raise unsupported("bernoulli_tensor_cpu_p_", p.dtype)
    check_probabilities(p)
    refuse_in_place(self)
    refuse_shared_parts(self, (p,))
    probabilities = expanded(p.detach(), tuple(self.shape))
    key = next_key(
        "bernoulli_", generator, p.device, p, target=self,
        sample=lambda: chances(probabilities)._replace(strides=self._spec.layout),
    )  # fmt: skip
    sample = ops.bernoulli(probabilities, key)
    sample = cast(sample, dtype=self.dtype)
    if self._spec.level or (thread.modes.grad and (self._spec.requires_grad or p.requires_grad)):
        sample = ops.overwrite_bernoulli_tensor(before_write(self), p, sample)
    return become(self, sample, "bernoulli_.Tensor")


@public("Tensor")
def random_(self: Tensor, *args: Any, generator: Any = None, **options: Any) -> Tensor:
    """``random_()``, ``random_(to)``, ``random_(from, to)``: fill with whole numbers from ``from`` (0) to ``to`` - 1.

    Without ``to``, up to the largest that the dtype can hold (in a floating one, without gaps).

    Raises:
        TypeError: a bound that is no integer.
        RuntimeError: an empty range, or one that does not fit into the dtype.
    """
    bounds = options | dict(zip(("to",) if len(args) == 1 else ("from", "to"), args, strict=False))
    if not all(value is None or is_integer(value) for value in bounds.values()) or len(args) > 2:
        generators = "torch.Generator generator = None"
        raise no_overload(
            "random_", args, {}, (f"*, {generators}", f"int from, int to, *, {generators}", f"int to, *, {generators}")
        )
    low = int(bounds.get("from") or 0)
    if bounds.get("to") is None:
        what, high = sampling.integers_from if "from" in bounds else sampling.all_integers, whole_limit(self.dtype)
    else:
        what, high = sampling.integers, int(bounds["to"])
        check_range(low, high, self.dtype)
    kind = "from_to" if "from" in bounds else "to" if "to" in bounds else ""
    node, overload = (f"random_{kind}_", f".{kind.removesuffix('_to')}") if kind else ("random_", "")
    return _fill(self, "random_", what, generator, low, high, node=node, overload=overload)
