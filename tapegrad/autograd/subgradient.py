"""Choosing, at kinks, between PyTorch's subgradients and jax's."""

from __future__ import annotations

from tapegrad._src import functions  # noqa: F401 - declares every operator that the table names
from tapegrad._src.tape.modes import thread
from tapegrad.autograd.grad_mode import F, ModeDecorator
from tapegrad.ops.operator import TABLE

CHOICES = ("torch", "jax")


def get_subgradient() -> str:
    """Whose subgradients are chosen at kinks in this thread: "torch" or "jax"; see ``subgradient``."""
    return thread.modes.subgradient


class subgradient(ModeDecorator):
    """Choose derivatives at kinks as PyTorch does or as jax does: at once, for a ``with`` block, or as a decorator.

    What counts is the choice that is in force where an operator is *recorded*. Under "jax" the operators which have a
    kink are differentiated by ``jax.vjp`` of their kernels, with PyTorch's conjugation; ``conventions()`` says which
    these are and what is chosen there. Derivatives of any order follow, and forward mode too.

    Args:
        choice: "torch" (the default) or "jax".

    Raises:
        ValueError: another choice.

    >>> x = torch.zeros(2, requires_grad=True)
    >>> with torch.subgradient("jax"):
    ...     torch.autograd.grad(x.abs().sum(), x)
    (tensor([1., 1.]),)
    >>> torch.autograd.grad(x.abs().sum(), x), torch.get_subgradient()
    ((tensor([0., 0.]),), 'torch')
    """

    def __init__(self, choice: str) -> None:
        if choice not in CHOICES:
            raise ValueError(f'subgradient(): expected "torch" or "jax", but got {choice!r}')
        self.choice, self.previous = choice, thread.modes.subgradient
        _choose(choice)

    def __call__(self, function: F) -> F:
        _choose(self.previous)
        return super().__call__(function)

    def __enter__(self) -> None:
        _choose(self.choice)

    def __exit__(self, *exception: object) -> None:
        _choose(self.previous)

    def clone(self) -> subgradient:
        return type(self)(self.choice)


def _choose(choice: str) -> None:
    thread.modes = thread.modes.replace(subgradient=choice)


def conventions() -> str:
    """The table of operators whose derivatives PyTorch and jax choose differently, and where.

    >>> print(conventions().splitlines()[1])
    abs                        at 0, of real numbers: 0 | 1
    """
    declared = [(op.name, op.convention) for op in TABLE.values() if op.convention is not None]
    declared.sort(key=lambda pair: (not pair[1].kink, pair[0]))
    lines = (f"{name:26} {one.where}: {one.torch} | {one.jax}" for name, one in declared)
    return "\n".join(["operator                   where they differ: PyTorch | jax", *lines])
