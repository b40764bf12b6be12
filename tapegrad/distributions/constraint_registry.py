"""``biject_to`` and ``transform_to``: from unconstrained numbers to a constraint.

``biject_to(c)`` is a bijection with ``c`` as its codomain. ``transform_to(c)`` need not be one, but is often the better
for optimizers, as softmax is for probabilities.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad.distributions import constraints, transforms
from tapegrad.distributions.utils import NUMBER

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Which transform leads to which constraint.

    >>> biject_to(constraints.simplex)
    StickBreakingTransform()
    >>> transform_to(constraints.interval(0.0, 2.0))(torch.zeros(1))
    tensor([1.])
    """

    def __init__(self) -> None:
        self._registry: dict[type, Callable[[Any], Any]] = {}
        super().__init__()

    def register(self, constraint: Any, factory: Callable[[Any], Any] | None = None) -> Any:
        """Say how a transform is made of a constraint of a class; also a decorator.

        Args:
            constraint: the class, or a constraint of it.
            factory: gives the transform onto what a constraint allows; without it, what is decorated is.

        Raises:
            TypeError: it is no constraint.
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, constraints.Constraint):
            constraint = type(constraint)
        if not isinstance(constraint, type) or not issubclass(constraint, constraints.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        """The transform to a constraint.

        Raises:
            NotImplementedError: none is known.
        """
        try:
            factory = self._registry[type(constraint)]
        except KeyError:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints") from None
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _register(*kinds: Any, registries: tuple[ConstraintRegistry, ...] = (biject_to, transform_to)) -> Any:
    """A decorator: the way to all these constraints, in these registries."""

    def decorate(factory: Callable[[Any], Any]) -> Callable[[Any], Any]:
        for registry in registries:
            for kind in kinds:
                registry.register(kind, factory)
        return factory

    return decorate


def _exp_then(loc: Any, scale: int) -> Any:
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(loc, scale)])


_register(constraints.real)(lambda constraint: transforms.identity_transform)
_register(constraints.greater_than, constraints.greater_than_eq)(
    lambda constraint: _exp_then(constraint.lower_bound, 1)
)
_register(constraints.less_than)(lambda constraint: _exp_then(constraint.upper_bound, -1))
_register(constraints.corr_cholesky)(lambda constraint: transforms.CorrCholeskyTransform())
biject_to.register(constraints.simplex, lambda constraint: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda constraint: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda constraint: transforms.LowerCholeskyTransform())
for _kind in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_kind, lambda constraint: transforms.PositiveDefiniteTransform())


def _is_number(bound: Any, number: int) -> bool:
    return isinstance(bound, NUMBER) and bound == number


@_register(constraints.interval, constraints.half_open_interval)
def _to_interval(constraint: Any) -> Any:
    low, high = constraint.lower_bound, constraint.upper_bound
    if _is_number(low, 0) and _is_number(high, 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


def _register_containers(registry: ConstraintRegistry) -> None:
    """Constraints of constraints: transforms of the transforms to those."""

    @registry.register(constraints.independent)
    def _to_independent(constraint: Any) -> Any:
        return transforms.IndependentTransform(
            registry(constraint.base_constraint), constraint.reinterpreted_batch_ndims
        )

    @registry.register(constraints.cat)
    def _to_cat(constraint: Any) -> Any:
        return transforms.CatTransform(list(map(registry, constraint.cseq)), constraint.dim, constraint.lengths)

    @registry.register(constraints.stack)
    def _to_stack(constraint: Any) -> Any:
        return transforms.StackTransform(list(map(registry, constraint.cseq)), constraint.dim)


_register_containers(biject_to)
_register_containers(transform_to)
