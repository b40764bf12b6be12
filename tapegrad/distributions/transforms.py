"""Transforms: functions that can be turned back, with the volumes that they stretch.

Note [Cached transforms]
A transform with ``cache_size=1`` remembers the last value that it was given, and what came out. To turn that very
tensor back gives the one that it was made of, without computing, and without the error of rounding.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tapegrad._src.execution.data.dtypes import finfo
from tapegrad._src.functions.activations import logsigmoid, softplus
from tapegrad._src.functions.arrangement import pad
from tapegrad._src.functions.cholesky import linalg_cholesky
from tapegrad._src.functions.creation import eye, full_like, zeros_like
from tapegrad._src.functions.joining import cat, stack
from tapegrad._src.functions.shape import broadcast_shapes
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributions import constraints
from tapegrad.distributions.distribution import Distribution
from tapegrad.distributions.utils import (
    NUMBER,
    _sum_rightmost,
    broadcast_all,
    lazy_property,
    tril_matrix_to_vec,
    vec_to_tril_matrix,
)

__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
    "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform", "LowerCholeskyTransform",
    "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform", "identity_transform",
]  # fmt: skip


class Transform:
    """A function of tensors that can be turned back: the base of all.

    ``domain`` and ``codomain`` are the constraints on what goes in and comes out. ``bijective`` says whether
    ``t.inv(t(x))`` is ``x``; where it isn't, ``t(t.inv(t(x)))`` is ``t(x)``. ``sign`` is that of the derivative of
    increasing and decreasing functions of one number. A subclass defines ``_call``, ``_inverse`` and
    ``log_abs_det_jacobian``.

    Args:
        cache_size: 0, or 1 to remember the last call: see Note [Cached transforms].

    Raises:
        ValueError: ``cache_size`` is another number.
    """

    bijective: Any = False
    domain: Any
    codomain: Any
    _settings: tuple[str, ...] = ()

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._inv: Transform | None = None
        if cache_size:
            self._cached_x_y: tuple[Any, Any] = (None, None)
        super().__init__()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_inv": None}

    @property
    def event_dim(self) -> int:
        """The number of the last dimensions that make up one value, if that is the same before and after.

        Raises:
            ValueError: it isn't.
        """
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Transform:
        """The transform back."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self) -> Any:
        """1 if it increases, -1 if it decreases."""
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same transform with a cache of this size.

        Args:
            cache_size: 0 or 1.

        Raises:
            NotImplementedError: a subclass has an ``__init__`` of its own and doesn't say how it is made again.
        """
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is not Transform.__init__ and not self._settings:
            raise NotImplementedError(f"{type(self)}.with_cache is not implemented")
        return type(self)(**{name: getattr(self, name) for name in self._settings}, cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return not self.__eq__(other)

    def __call__(self, x: Tensor) -> Tensor:
        """Computes y of x."""
        return self._remembered(self._call, x, 0)

    def _inv_call(self, y: Tensor) -> Tensor:
        return self._remembered(self._inverse, y, 1)

    def _remembered(self, function: Callable[[Tensor], Tensor], given: Tensor, place: int) -> Tensor:
        """The result of a function, or what is remembered of it: the pair (x, y) has what is given at ``place``."""
        if self._cache_size == 0:
            return function(given)
        if given is not self._cached_x_y[place]:
            result = function(given)
            self._cached_x_y = (result, given) if place else (given, result)
        return self._cached_x_y[1 - place]

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of how much volumes are stretched at ``x``, where ``y`` is what it becomes."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def forward_shape(self, shape: Any) -> Any:
        """The shape of ``y`` for an ``x`` of this shape."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of ``x`` for a ``y`` of this shape."""
        return shape


class _Plain(Transform):
    """Transforms without settings: all of one class are equal."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self))


class _InverseTransform(Transform):
    """Another transform, the other way round."""

    _inv: Any

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    domain = constraints.dependent_property(lambda self: self._original.codomain, is_discrete=False)
    codomain = constraints.dependent_property(lambda self: self._original.domain, is_discrete=False)

    @property
    def _original(self) -> Transform:
        if self._inv is None:
            raise AssertionError("_inv must not be None")
        return self._inv

    @property
    def bijective(self) -> bool:
        return self._original.bijective

    @property
    def sign(self) -> Any:
        return self._original.sign

    @property
    def inv(self) -> Transform:
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self._original.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._original == other._inv

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"

    def __call__(self, x: Tensor) -> Tensor:
        return self._original._inv_call(x)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._original.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._inv.forward_shape(shape)


class ComposeTransform(Transform):
    """Transforms one after the other.

    Args:
        parts: a list of them; the first comes first.
        cache_size: that of each.

    >>> t = ComposeTransform([AffineTransform(1.0, 2.0), ExpTransform()])
    >>> t(torch.tensor([-0.5, 0.5]))
    tensor([1.0000, 7.3891])
    """

    _settings = ("parts",)

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        if cache_size:
            parts = [part.with_cache(cache_size) for part in parts]
        super().__init__(cache_size=cache_size)
        self.parts = parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return self._end([(part.codomain, part.domain) for part in reversed(self.parts)])

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return self._end([(part.domain, part.codomain) for part in self.parts])

    @staticmethod
    def _end(steps: list[tuple[Any, Any]]) -> Any:
        """The end of steps between sets, with as many event dimensions as any of them needs."""
        if not steps:
            return constraints.real
        event_dim, end = steps[0][0].event_dim, steps[-1][1]
        for before, after in steps:
            event_dim = max(event_dim + after.event_dim - before.event_dim, after.event_dim)
        return constraints.independent(end, event_dim - end.event_dim) if event_dim > end.event_dim else end

    @lazy_property
    def bijective(self) -> bool:
        return all(part.bijective for part in self.parts)

    @lazy_property
    def sign(self) -> Any:
        return functools.reduce(operator.mul, (part.sign for part in self.parts), 1)

    @property
    def inv(self) -> Transform:
        if self._inv is None:
            self._inv = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return zeros_like(x)
        terms, event_dim = [], self.domain.event_dim
        for number, part in enumerate(self.parts, 1):
            after = y if number == len(self.parts) else part(x)
            terms.append(_sum_rightmost(part.log_abs_det_jacobian(x, after), event_dim - part.domain.event_dim))
            event_dim += part.codomain.event_dim - part.domain.event_dim
            x = after
        return functools.reduce(operator.add, terms)

    def forward_shape(self, shape: Any) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}(\n    " + ",\n    ".join(map(repr, self.parts)) + "\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose last dimensions count as one value: its log-Jacobian is summed over them.

    Args:
        base_transform: the transform.
        reinterpreted_batch_ndims: how many dimensions.
        cache_size: see ``Transform``.

    >>> x = torch.ones(2, 3)
    >>> IndependentTransform(ExpTransform(), 1).log_abs_det_jacobian(x, x.exp())
    tensor([3., 3.])
    """

    _settings = ("base_transform", "reinterpreted_batch_ndims")

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        if x.dim() < self.domain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        if y.dim() < self.codomain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return _sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def forward_shape(self, shape: Any) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self.base_transform.inverse_shape(shape)


class ReshapeTransform(Transform):
    """Another shape for the last dimensions.

    Args:
        in_shape, out_shape: the shapes before and after.
        cache_size: see ``Transform``.

    Raises:
        ValueError: they have different numbers of elements.

    >>> ReshapeTransform((2, 3), (6,))(torch.ones(5, 2, 3)).shape
    torch.Size([5, 6])
    """

    bijective = True
    _settings = ("in_shape", "out_shape")

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0) -> None:
        self.in_shape = Size(in_shape)
        self.out_shape = Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape((*x.shape[: x.dim() - len(self.in_shape)], *self.out_shape))

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape((*y.shape[: y.dim() - len(self.out_shape)], *self.in_shape))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Any) -> Any:
        return self._exchanged(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._exchanged(shape, self.out_shape, self.in_shape)

    @staticmethod
    def _exchanged(shape: Any, old: Any, new: Any) -> Any:
        if len(shape) < len(old):
            raise ValueError("Too few dimensions on input")
        cut = len(shape) - len(old)
        if shape[cut:] != old:
            raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
        return Size((*shape[:cut], *new))


class ExpTransform(_Plain):
    """``y = exp(x)``.

    >>> ExpTransform()(torch.zeros(1))
    tensor([1.])
    """

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


def _equal(one: Any, other: Any) -> bool:
    same = one == other
    return bool(same.all() if isinstance(same, Tensor) else same)


class PowerTransform(Transform):
    """``y = x ** exponent``, of positive numbers.

    >>> PowerTransform(2.0).inv(torch.tensor([9.0]))
    tensor([3.])
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True
    _settings = ("exponent",)

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    @lazy_property
    def sign(self) -> Any:
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and _equal(self.exponent, other.exponent)

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        return broadcast_shapes(shape, self.exponent.shape)

    def inverse_shape(self, shape: Any) -> Any:
        return broadcast_shapes(shape, self.exponent.shape)


def _inside_unit_interval(x: Tensor) -> Tensor:
    """Neither zero nor one: kept away by the least number there is, and by the least step below one."""
    info = finfo(x.dtype)
    return x.clamp(min=info.tiny, max=1.0 - info.eps)


class SigmoidTransform(_Plain):
    """``y = 1 / (1 + exp(-x))``, which is kept from being zero or one.

    >>> SigmoidTransform()(torch.zeros(1))
    tensor([0.5000])
    """

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return _inside_unit_interval(x.sigmoid())

    def _inverse(self, y: Tensor) -> Tensor:
        y = _inside_unit_interval(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Plain):
    """``y = log(1 + exp(x))``.

    >>> SoftplusTransform()(torch.zeros(1))
    tensor([0.6931])
    """

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-(-y).expm1()).log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x)


class TanhTransform(_Plain):
    """``y = tanh(x)``.

    >>> TanhTransform()(torch.zeros(1))
    tensor([0.])
    """

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))  # log(1 - y ** 2), which loses no digits near one


class AbsTransform(_Plain):
    """``y = |x|``, which is turned back to the positive of two numbers.

    >>> AbsTransform()(torch.tensor([-2.0]))
    tensor([2.])
    """

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class AffineTransform(Transform):
    """``y = loc + scale * x``.

    Args:
        loc, scale: tensors or numbers.
        event_dim: how many of the last dimensions make up one value.
        cache_size: see ``Transform``.

    >>> AffineTransform(1.0, 2.0)(torch.ones(1))
    tensor([3.])
    """

    bijective = True
    _settings = ("loc", "scale", "event_dim")

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return constraints.independent(constraints.real, self.event_dim) if self.event_dim else constraints.real

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return self.domain

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AffineTransform) and _equal(self.loc, other.loc) and _equal(self.scale, other.scale)

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, NUMBER):
            return (self.scale > 0) - (self.scale < 0)
        return self.scale.sign()

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        is_number = isinstance(self.scale, NUMBER)
        result = full_like(x, math.log(abs(self.scale))) if is_number else self.scale.abs().log()
        result = _sum_rightmost(result, self.event_dim)
        return result.expand(x.shape[: x.dim() - self.event_dim])

    def _shape(self, shape: Any) -> Any:
        return broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    def forward_shape(self, shape: Any) -> Any:
        return self._shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._shape(shape)


class CorrCholeskyTransform(Transform):
    """Vectors of ``D (D - 1) / 2`` numbers to Cholesky factors of ``D x D`` correlation matrices.

    The hyperbolic tangents of the numbers are the *partial correlations* of a row: each is the share of what remains of
    the row's length one. See Stan's reference manual, *Cholesky factors of correlation matrices*.

    >>> CorrCholeskyTransform()(torch.zeros(3))
    tensor([[1., 0., 0.],
            [0., 1., 0.],
            [0., 0., 1.]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        eps = finfo(x.dtype).eps
        shares = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        remaining = (1 - shares**2).sqrt().cumprod(-1)
        shares = shares + eye(shares.shape[-1], dtype=x.dtype, device=x.device)
        return shares * pad(remaining[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        remaining = pad(1 - (y * y).cumsum(-1)[..., :-1], [1, 0], value=1)
        shares = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(remaining, diag=-1).sqrt()
        return (shares.log1p() - shares.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor, intermediates: Any = None) -> Tensor:
        """The logarithm of the volume that a step is stretched to: that of ``tanh``, and of the rest of each row.

        Args:
            x: what goes in, (..., size * (size - 1) / 2).
            y: the factor that comes out.
            intermediates: not used.
        """
        remaining = tril_matrix_to_vec(1 - (y * y).cumsum(-1), diag=-2)
        of_tanh = -2 * (x + softplus(-2 * x) - math.log(2.0)).sum(-1)
        return 0.5 * remaining.log().sum(-1) + of_tanh

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the factor: (..., size, size), of (..., size * (size - 1) / 2).

        Raises:
            ValueError: there is no such size.
        """
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        count = shape[-1]
        size = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != count:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return Size((*shape[:-1], size, size))

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of what lies below the diagonal, in one row.

        Raises:
            ValueError: it is not that of square matrices.
        """
        if len(shape) < 2:
            raise ValueError("Too few dimensions on input")
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))


class SoftmaxTransform(_Plain):
    """``y = exp(x) / sum(exp(x))`` along the last dimension; turned back to ``log(y)``.

    >>> SoftmaxTransform()(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        exponentials = (x - x.max(-1, True)[0]).exp()
        return exponentials / exponentials.sum(-1, True)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        """The same shape.

        Raises:
            ValueError: it has no dimension.
        """
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        return self.forward_shape(shape)


class StickBreakingTransform(_Plain):
    """Vectors to vectors of probabilities, one longer: each number says what share is broken off of what is left.

    Offsets see to it that zeros become equal probabilities.

    >>> StickBreakingTransform()(torch.zeros(1))
    tensor([0.5000, 0.5000])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    @staticmethod
    def _offsets(x: Tensor) -> Tensor:
        """The logarithms of how many pieces are to come: n, n - 1, ..., 1."""
        return (x.shape[-1] + 1 - x.new_ones(x.shape[-1]).cumsum(-1)).log()

    def _call(self, x: Tensor) -> Tensor:
        shares = _inside_unit_interval((x - self._offsets(x)).sigmoid())
        left = (1 - shares).cumprod(-1)
        return pad(shares, [0, 1], value=1) * pad(left, [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        pieces = y[..., :-1]
        left = (1 - pieces.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return pieces.log() - left.log() + self._offsets(pieces)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - self._offsets(x)
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        """One number more, for what is left of the stick.

        Raises:
            ValueError: there is no dimension.
        """
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Any) -> Any:
        """One number less.

        Raises:
            ValueError: there is no dimension.
        """
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return Size((*shape[:-1], shape[-1] - 1))


class LowerCholeskyTransform(_Plain):
    """Matrices to lower triangular ones with a positive diagonal, the exponential of what stands there.

    >>> LowerCholeskyTransform()(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(_Plain):
    """Matrices to positive definite ones, whose Cholesky factors are those of ``LowerCholeskyTransform``.

    >>> PositiveDefiniteTransform()(torch.zeros(1, 1))
    tensor([[1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(linalg_cholesky(y))


class _OfParts(Transform):
    """Transforms of parts of a tensor along a dimension."""

    transforms: list[Transform]
    dim: int

    def __init__(self, tseq: Iterable[Transform], dim: int, cache_size: int) -> None:
        tseq = list(tseq)
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else tseq
        self.dim = dim

    @property
    def tseq(self) -> list[Transform]:
        return self.transforms

    def _check_size(self, z: Tensor, name: str = "tensor") -> None:
        raise NotImplementedError

    def _check_dim(self, z: Tensor, name: str) -> None:
        if not -z.dim() <= self.dim < z.dim():
            raise AssertionError(f"dim {self.dim} out of range for {name} with {z.dim()} dimensions")

    def _slices(self, z: Tensor) -> list[Tensor]:
        raise NotImplementedError

    def _joined(self, parts: list[Tensor]) -> Tensor:
        raise NotImplementedError

    def _call(self, x: Tensor) -> Tensor:
        self._check(x, "x")
        return self._joined([t(part) for t, part in zip(self.transforms, self._slices(x), strict=True)])

    def _inverse(self, y: Tensor) -> Tensor:
        self._check(y, "y")
        return self._joined([t.inv(part) for t, part in zip(self.transforms, self._slices(y), strict=True)])

    def _check(self, z: Tensor, name: str, shown: str = "tensor") -> None:
        self._check_dim(z, shown)
        self._check_size(z, name)

    def _log_jacobians(self, x: Tensor, y: Tensor) -> list[tuple[Transform, Tensor]]:
        self._check(x, "x", "x")
        self._check(y, "y", "y")
        triples = zip(self.transforms, self._slices(x), self._slices(y), strict=True)
        return [(t, t.log_abs_det_jacobian(*parts)) for t, *parts in triples]

    @property
    def bijective(self) -> bool:
        return all(t.bijective for t in self.transforms)


class CatTransform(_OfParts):
    """Transforms of parts that are concatenated.

    Args:
        tseq: the transforms.
        dim: the dimension.
        lengths: how much each of them gets; by default 1.
        cache_size: that of each.

    Raises:
        AssertionError: something else than transforms; not as many lengths.

    >>> CatTransform([ExpTransform(), identity_transform], lengths=[1, 2])(torch.zeros(3))
    tensor([1., 0., 0.])
    """

    _settings = ("tseq", "dim", "lengths")

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")

    @lazy_property
    def event_dim(self) -> int:
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self) -> int:
        return sum(self.lengths)

    def _check_size(self, z: Tensor, name: str = "tensor") -> None:
        if z.size(self.dim) != self.length:
            raise AssertionError(f"{name}.size({self.dim}) = {z.size(self.dim)} must equal length {self.length}")

    def _slices(self, z: Tensor) -> list[Tensor]:
        starts = [sum(self.lengths[:number]) for number in range(len(self.lengths))]
        return [z.narrow(self.dim, *place) for place in zip(starts, self.lengths, strict=True)]

    def _joined(self, parts: list[Tensor]) -> Tensor:
        return cat(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        parts = [_sum_rightmost(part, self.event_dim - t.event_dim) for t, part in self._log_jacobians(x, y)]
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        return cat(parts, dim=dim) if dim < 0 else functools.reduce(operator.add, parts)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_OfParts):
    """A transform for each place along a dimension.

    Args:
        tseq: the transforms.
        dim: the dimension.
        cache_size: that of each.

    >>> StackTransform([ExpTransform(), identity_transform])(torch.zeros(2))
    tensor([1., 0.])
    """

    _settings = ("tseq", "dim")

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)

    def _check_size(self, z: Tensor, name: str = "tensor") -> None:
        if z.size(self.dim) != len(self.transforms):
            raise AssertionError(
                f"{name}.size({self.dim}) = {z.size(self.dim)} must equal len(transforms) {len(self.transforms)}"
            )

    def _slices(self, z: Tensor) -> list[Tensor]:
        return [z.select(self.dim, place) for place in range(z.size(self.dim))]

    def _joined(self, parts: list[Tensor]) -> Tensor:
        return stack(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self._joined([part for _, part in self._log_jacobians(x, y)])

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)


class CumulativeDistributionTransform(Transform):
    """``y = distribution.cdf(x)``, which makes uniform numbers of what is drawn from the distribution.

    >>> from tapegrad.distributions import Normal
    >>> CumulativeDistributionTransform(Normal(0.0, 1.0))(torch.zeros(1))
    tensor([0.5000])
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = +1
    _settings = ("distribution",)

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)


def _clipped_sigmoid(x: Tensor) -> Tensor:
    """``sigmoid``, within what is neither 0 nor 1.

    >>> float(_clipped_sigmoid(torch.tensor(-1000.0))) > 0
    True
    """
    limits = finfo(x.dtype)
    return x.sigmoid().clamp(limits.tiny, 1 - limits.eps)
