"""``Distribution``: what all distributions have in common.

Note [Declared distributions]
A distribution says what it is made of: ``_parts`` names its parameters, and with each, how many of its last dimensions
are the same for all of a batch. ``_declare`` broadcasts parameters against each other, keeps them and checks them;
``expand`` expands every part, and a part may be a distribution, too. What is left to write are the constraints on the
parameters, moments, and formulas. ``validated`` marks methods of a value that must be in the support.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar

from tapegrad._src.bindings.bounds import refuse_unless
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.autograd.grad_mode import no_grad
from tapegrad.distributions import constraints
from tapegrad.distributions.utils import broadcast_all, lazy_property

__all__ = ["Distribution"]

F = TypeVar("F", bound=Callable[..., Any])


def validated(method: F) -> F:
    """A method of a value which is checked first, if the distribution checks arguments."""

    @functools.wraps(method)
    def checking(self: Distribution, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        return method(self, value)

    return checking  # type: ignore[return-value]


class Distribution:
    """A distribution, or a batch of them: the base of all.

    Args:
        batch_shape: the shape of the batch, of distributions whose parameters may differ.
        event_shape: the shape of one value.
        validate_args: whether parameters and values are checked; by default what ``set_default_validate_args`` says.

    Raises:
        ValueError: a parameter is not what ``arg_constraints`` demand.

    A subclass defines ``arg_constraints`` and ``support``, and of the methods and moments what it has.
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args = __debug__
    _parts: dict[str, int]

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Say whether parameters and values are checked where nothing is said; at first they are, but in ``python -O``.

        Raises:
            ValueError: it is neither true nor false.
        """
        if value not in [True, False]:
            raise ValueError
        Distribution._validate_args = value

    def __init__(
        self, batch_shape: Sequence[int] = Size(), event_shape: Sequence[int] = Size(),
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        self._batch_shape = batch_shape
        self._event_shape = event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _declare(self, validate_args: bool | None, **parameters: Any) -> None:
        """Keep parameters, and call ``__init__`` of this class with their shape."""
        Distribution.__init__(self, self._keep(**parameters), validate_args=validate_args)

    def _keep(self, **parameters: Any) -> Size:
        """Keep parameters, broadcast against each other; their shape is given."""
        tensors = broadcast_all(*parameters.values())
        vars(self).update(zip(parameters, tensors, strict=True))
        return tensors[0].shape

    def _check_parameters(self) -> None:
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            warn(
                f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or "
                "initialize the distribution with `validate_args=False` to turn off validation."
            )
            return
        for name, constraint in arg_constraints.items():
            is_worked_out = name not in vars(self) and isinstance(getattr(type(self), name), lazy_property)
            if constraints.is_dependent(constraint) or is_worked_out:
                continue
            value = getattr(self, name)
            self._refuse_unless(
                constraint.check(value),
                f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution",
                f" to satisfy the constraint {constraint!r}, but found invalid values",
                value,
            )

    def _refuse_unless(self, valid: Tensor, *said: Any) -> None:
        """Refuse a value that is not valid; what is said is the beginning, the end, and the value itself."""
        begin, end, value = said
        told = f"{begin} {type(self).__name__}{end}"
        refuse_unless(valid, told, lambda: f"{begin} {self!r}{end}:\n{value}")

    def _validate_sample(self, value: Any) -> None:
        """Refuse a value that isn't in the support, or of another shape."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        shape, expected = value.shape, Size((*self._batch_shape, *self._event_shape))
        if shape[len(shape) - len(self._event_shape) :] != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {shape} vs {Size(self._event_shape)}."
            )
        for size, other in zip(reversed(shape), reversed(expected), strict=False):
            if size != 1 and other != 1 and size != other:
                raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {shape} vs {expected}.")
        try:
            support = self.support
        except NotImplementedError:
            warn(
                f"{self.__class__} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation."
            )
            return
        if support is None:
            raise AssertionError("support is unexpectedly None")
        self._refuse_unless(
            support.check(value),
            f"Expected value argument ({type(value).__name__} of shape {tuple(shape)}) to be within the support "
            f"({support!r}) of the distribution",
            ", but found invalid values",
            value,
        )

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        """The same distribution in a larger batch; no memory is used for it.

        Args:
            batch_shape: its shape.
            _instance: an instance to fill, which a subclass hands in that overrides this.

        Raises:
            NotImplementedError: a subclass doesn't say of which parts it is made.
        """
        own = next((cls for cls in type(self).__mro__ if "_parts" in vars(cls)), None)
        if own is None:
            raise NotImplementedError
        new = self._get_checked_instance(own, _instance)
        for name, value in vars(self).items():
            vars(new).setdefault(name, value)
        for name, dims in own._parts.items():
            if name in vars(self):
                part = vars(self)[name]
                shape = part.batch_shape if isinstance(part, Distribution) else part.shape
                vars(new)[name] = part.expand((*batch_shape, *shape[len(shape) - dims :]))
        new._batch_shape = Size(batch_shape)
        return new

    def _get_checked_instance(self, cls: Any, _instance: Any = None) -> Any:
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom __init__ method "
                "must also define a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    @property
    def batch_shape(self) -> Any:
        """The shape of the batch."""
        return self._batch_shape

    @property
    def event_shape(self) -> Any:
        """The shape of one value."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, Any]:
        """The constraints that the parameters must be in, by their names."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """The constraint that values are in."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most likely value."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance of each element."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation of each element."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Values drawn at random, without gradients: of ``sample_shape + batch_shape + event_shape``."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Values drawn at random, through which gradients flow to the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """``sample((n,))``, which is to be preferred."""
        warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", category=FutureWarning)
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability, at ``value``.

        Raises:
            ValueError: it is not in the support, or its shape doesn't fit.
        """
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """Give the probability of being at most ``value``."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The value of which ``cdf`` gives ``value``."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution, along a first dimension.

        Args:
            expand: whether they are repeated over the batch, or have size 1 there.
        """
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy, in nats."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Sequence[int] = Size()) -> Size:
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _counting_up(self, count: int, like: Tensor, expand: bool) -> Tensor:
        """The numbers below ``count`` along a first dimension, before the batch."""
        values = (like.new_ones(count).cumsum(0) - 1).view(-1, *[1] * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values

    def __repr__(self) -> str:
        given = {name: vars(self)[name] for name in self.arg_constraints if name in vars(self)}
        shown = [f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in given.items()]
        return f"{type(self).__name__}({', '.join(shown)})"
