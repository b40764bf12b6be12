"""Constraints: sets of values, such as what a parameter may be, or what a distribution is over.

Note [Dependent constraints]
The support of a distribution may depend on its parameters: ``Uniform(low, high)`` is over the interval between them. On
the class such a support is a *dependent* constraint, which can't be checked; on an instance it is one that can. That is
what ``dependent_property`` is: a property to instances, a dependent constraint to those who look at the class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tapegrad._src.execution.data.dtypes import bool as boolean_dtype
from tapegrad._src.execution.data.dtypes import finfo
from tapegrad._src.functions.cholesky import cholesky_ex
from tapegrad._src.functions.comparison import isclose
from tapegrad._src.functions.creation import full
from tapegrad._src.functions.eigen import eigvalsh
from tapegrad._src.functions.joining import cat as concatenated
from tapegrad._src.functions.joining import stack as stacked
from tapegrad._src.functions.norms import linalg_norm
from tapegrad._src.functions.selection import where
from tapegrad._src.tensor.tensor import Tensor

__all__ = [
    "Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property",
    "greater_than", "greater_than_eq", "half_open_interval", "independent", "integer_interval", "interval",
    "is_dependent", "less_than", "lower_cholesky", "lower_triangular", "multinomial", "nonnegative",
    "nonnegative_integer", "one_hot", "positive", "positive_definite", "positive_integer", "positive_semidefinite",
    "real", "real_vector", "simplex", "square", "stack", "symmetric", "unit_interval",
]  # fmt: skip


class Constraint:
    """A set of values.

    ``is_discrete`` says whether it is a discrete set, ``event_dim`` how many of the last dimensions make up one value.

    >>> positive.check(torch.tensor([1.0, -1.0]))
    tensor([ True, False])
    """

    is_discrete: Any = False
    event_dim: Any = 0
    _shown: tuple[str, ...] = ()

    def check(self, value: Tensor) -> Tensor:
        """Tell whether values are in the set: booleans of the shape of ``value``, less its last ``event_dim``
        dimensions."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}({', '.join(f'{name}={getattr(self, name)}' for name in self._shown)})"


def _check_is_constraint(value: Any) -> None:
    if not isinstance(value, Constraint):
        raise AssertionError(f"base_constraint must be a Constraint, got {type(value).__name__}")


def _all_of_events(result: Tensor, kept: int) -> Tensor:
    """Tell whether all are true in all but the first dimensions."""
    return result.reshape((*result.shape[:kept], -1)).all(-1)


class _Dependent(Constraint):
    """A constraint that isn't known before there are parameters: see Note [Dependent constraints].

    ``is_discrete`` and ``event_dim`` are what is known already.
    """

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete = is_discrete
        self._event_dim = event_dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        if self._is_discrete is NotImplemented:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return self._is_discrete

    @property
    def event_dim(self) -> int:
        if self._event_dim is NotImplemented:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return self._event_dim

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> _Dependent:
        """One of which more is known."""
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, value: Tensor) -> Tensor:
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint: Any) -> bool:
    """Tell whether a constraint depends on parameters that aren't there.

    >>> is_dependent(dependent), is_dependent(real)
    (True, False)
    """
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property that is a dependent constraint on the class: see Note [Dependent constraints].

    ``fn`` gives the constraint of an instance; ``is_discrete`` and ``event_dim`` are what is known of all of them.

    >>> class Die:
    ...     sides = 6
    ...     @dependent_property(is_discrete=True, event_dim=0)
    ...     def support(self):
    ...         return integer_interval(1, self.sides)
    >>> Die().support, is_dependent(Die.support)
    (IntegerInterval(lower_bound=1, upper_bound=6), True)
    """

    def __init__(
        self, fn: Callable[..., Any] | None = None, *, is_discrete: bool | None = NotImplemented,
        event_dim: int | None = NotImplemented,
    ) -> None:  # fmt: skip
        super().__init__(fn)
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(self, fn: Callable[..., Any]) -> _DependentProperty:
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


class _IndependentConstraint(Constraint):
    """A constraint that holds if another one does along all of the last dimensions.

    ``base_constraint`` is the other one, ``reinterpreted_batch_ndims`` says how many dimensions more are judged
    together.

    Raises:
        AssertionError: no constraint; no number of dimensions.
    """

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: Any) -> None:
        _check_is_constraint(base_constraint)
        if not isinstance(reinterpreted_batch_ndims, int):
            kind = type(reinterpreted_batch_ndims).__name__
            raise AssertionError(f"reinterpreted_batch_ndims must be an int, got {kind}")
        if reinterpreted_batch_ndims < 0:
            raise AssertionError(f"reinterpreted_batch_ndims must be >= 0, got {reinterpreted_batch_ndims}")
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        """Tell whether whole events are allowed.

        Raises:
            ValueError: the value has fewer dimensions than an event.
        """
        result = self.base_constraint.check(value)
        if result.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return _all_of_events(result, result.dim() - self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """The set that a mixture is over: values that are in the support of all components, ``base_constraint``."""

    def __init__(self, base_constraint: Constraint) -> None:
        _check_is_constraint(base_constraint)
        self.base_constraint = base_constraint
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        return self.base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        """Tell whether events are allowed by all components.

        Raises:
            ValueError: the value has fewer dimensions than an event.
        """
        result = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        if value.dim() < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return _all_of_events(result, value.dim() - self.event_dim)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_constraint!r})"


class _Boolean(Constraint):
    """Zero and one."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    """Vectors of zeros with one one."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return boolean.check(value).all(-1) & value.sum(-1).eq(1)


class _Bounded(Constraint):
    """Numbers between bounds."""

    def __init__(self, *bounds: Any, **named: Any) -> None:
        if len(bounds) + len(named) != len(self._shown):
            raise TypeError(f"{type(self).__name__} takes {', '.join(self._shown)}")
        for name, bound in {**dict(zip(self._shown, bounds, strict=False)), **named}.items():
            setattr(self, name, bound)
        super().__init__()


class _Below(_Bounded):
    upper_bound: Any
    _shown = ("upper_bound",)


class _Above(_Bounded):
    lower_bound: Any
    _shown = ("lower_bound",)


class _Between(_Bounded):
    lower_bound: Any
    upper_bound: Any
    _shown = ("lower_bound", "upper_bound")


class _IntegerInterval(_Between):
    """Integers of a closed interval."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerLessThan(_Below):
    """Integers up to a bound."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value <= self.upper_bound)


class _IntegerGreaterThan(_Above):
    """Integers from a bound on."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value >= self.lower_bound)


class _Real(Constraint):
    """All numbers, which nan isn't."""

    def check(self, value: Tensor) -> Tensor:
        return value == value


class _GreaterThan(_Above):
    """Numbers greater than a bound."""

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound < value


class _GreaterThanEq(_Above):
    """Numbers from a bound on."""

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound <= value


class _LessThan(_Below):
    """Numbers less than a bound."""

    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound


class _Interval(_Between):
    """A closed interval."""

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Between):
    """An interval without its upper end."""

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _Simplex(Constraint):
    """Vectors of probabilities: not negative, and their sum is one."""

    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(_Below):
    """Vectors of counts, whose sum is at most a bound."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)

    def __repr__(self) -> str:
        return "Multinomial()"


class _LowerTriangular(Constraint):
    """Matrices with nothing above the diagonal."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return (value.tril() == value).all(-1).all(-1)


class _LowerCholesky(_LowerTriangular):
    """Lower triangular matrices with a positive diagonal."""

    def check(self, value: Tensor) -> Tensor:
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    """Cholesky factors of correlation matrices: their rows have length one."""

    def check(self, value: Tensor) -> Tensor:
        tolerance = finfo(value.dtype).eps * value.size(-1) * 10  # of rounding, in the sum of a row
        lengths = linalg_norm(value.detach(), dim=-1)
        return super().check(value) & (lengths - 1).abs().le(tolerance).all(-1)


class _Square(Constraint):
    """Square matrices."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        is_square = value.shape[-2] == value.shape[-1]
        return full(value.shape[:-2], is_square, dtype=boolean_dtype, device=value.device)


class _Symmetric(_Square):
    """Symmetric matrices."""

    def check(self, value: Tensor) -> Tensor:
        if value.shape[-2] != value.shape[-1]:
            return super().check(value)
        return isclose(value, value.mT, atol=1e-6).all(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices with no negative eigenvalue."""

    def check(self, value: Tensor) -> Tensor:
        is_symmetric = super().check(value)
        return eigvalsh(value).ge(0).all(-1) if is_symmetric.all() else is_symmetric


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices with positive eigenvalues only."""

    def check(self, value: Tensor) -> Tensor:
        is_symmetric = super().check(value)
        if value.shape[-2] != value.shape[-1]:
            return is_symmetric
        return where(is_symmetric.all(), cholesky_ex(value).info.eq(0), is_symmetric)


class _Several(Constraint):
    """Constraints for parts of a tensor along a dimension."""

    def __init__(self, cseq: Iterable[Constraint], dim: int) -> None:
        self.cseq = list(cseq)
        if not all(isinstance(c, Constraint) for c in self.cseq):
            raise AssertionError("All elements of cseq must be Constraint instances")
        self.dim = dim
        super().__init__()

    def _check_dim(self, value: Tensor) -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for value with {value.dim()} dimensions")

    @property
    def is_discrete(self) -> bool:
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> int:
        return max(c.event_dim for c in self.cseq)


class _Cat(_Several):
    """Values that are concatenated along ``dim``: ``lengths`` say how much is each constraint's, of those in ``cseq``.

    Raises:
        AssertionError: something else than constraints; not as many lengths.
    """

    def __init__(self, cseq: Iterable[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)})")

    def check(self, value: Tensor) -> Tensor:
        self._check_dim(value)
        starts = [sum(self.lengths[:number]) for number in range(len(self.lengths))]
        parts = [value.narrow(self.dim, *place) for place in zip(starts, self.lengths, strict=True)]
        return concatenated([c.check(part) for c, part in zip(self.cseq, parts, strict=True)], self.dim)


class _Stack(_Several):
    """Values that are stacked along ``dim``: a constraint for each place, in ``cseq``."""

    def __init__(self, cseq: Iterable[Constraint], dim: int = 0) -> None:
        super().__init__(cseq, dim)

    @property
    def event_dim(self) -> int:
        dims = super().event_dim
        return dims + 1 if self.dim + dims < 0 else dims

    def check(self, value: Tensor) -> Tensor:
        self._check_dim(value)
        parts = [value.select(self.dim, place) for place in range(value.size(self.dim))]
        return stacked([c.check(part) for part, c in zip(parts, self.cseq, strict=False)], self.dim)


dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
