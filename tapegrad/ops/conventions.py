"""Conventions: where PyTorch and jax choose different derivatives of the same function, and choosing between them.

Note [Two conventions]
Formulas of the table make PyTorch's choices. Differentiating an operator's kernel by jax makes jax's. Almost everywhere
the two agree, up to conjugation (gradients here are conjugates of jax's). Where they don't, an operator declares a
``convention`` (Note [Facts] in ``facts.py``):

- At a *kink* a function has no derivative, and a library has to choose: a slope between those on both sides, or nan.
  ``tapegrad.subgradient("jax")`` chooses jax's there: while it is in force, an operator with a kink is recorded as a
  foreign one (Note [Foreign operators] in ``foreign.py``), made of its own kernel, with the node's name kept. All of
  its derivatives, of any order and in forward mode too, are then jax's.
- By a *rule* they differ everywhere: PyTorch takes part of the arguments for constants, or for numbers of a certain
  kind, and jax does not (or the other way about). ``subgradient`` does not change rules.

A pole, the edge of a domain, or a singular matrix is not listed: there the two may differ in which of ``inf``, ``nan``
and a meaningless number they give. Nor is a derivative that PyTorch refuses and the table has, such as the second one
of fused attention, or that of PyTorch which is none (``as_strided_scatter``, the tangent of ``cholesky_inverse``): the
table has the function's own. The tests of PyTorch's database list these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from tapegrad._src.dispatch.kernels import Kernels
from tapegrad._src.tensor.spec import Spec
from tapegrad.ops.foreign import Foreign
from tapegrad.ops.operator import Operator


class Convention(NamedTuple):
    """The difference of the conventions of an operator.

    Attributes:
        where: at which arguments.
        torch, jax: the derivative there in PyTorch, and by jax of the operator's kernel.
        kink: whether it is a kink, of which ``subgradient`` chooses; otherwise it is a rule.
    """

    where: str
    torch: str
    jax: str
    kink: bool = True

    def instead_of(self, op: Operator) -> Callable | None:
        """A function that makes the calls in place of the operator's where jax's subgradients are chosen."""
        return partial(chosen, op) if self.kink else None


def kink(where: str, torch: str, jax: str) -> Convention:
    """The declaration of an operator with a kink: where it is, and what PyTorch and jax choose there."""
    return Convention(where, torch, jax)


def rule(where: str, torch: str, jax: str) -> Convention:
    """The declaration of an operator whose derivative is another by jax's rule."""
    return Convention(where, torch, jax, kink=False)


BOUND = kink("at a bound", "that of the inside: 1 for the input, 0 for the bound", "1/2 for each")
TIE = kink("where both are equal", "1 for the first, 0 for the second", "0 for the first, 1 for the second")
TIES = kink("where several elements are the median", "shared by all of them", "1 for one of them")
EXTREMA = kink("where elements tie with what is replaced", "shared with that", "shared without it")
ORIGIN = kink("where all elements are 0, or any for ord=1", "0", "nan; 1 for ord=1")
COINCIDENT = kink("where two points coincide, or coordinates of them for p=1", "0", "nan; 1 for p=1")
ZERO_TIMES = kink("where x is 0", "0 if y <= 0, else the logarithm", "0")
SIGNED = kink("where x is 0", "0", "1 with the other's sign")
SPREAD = kink("where all elements are equal", "0", "nan")
RUNNING = kink("where elements tie with the running extremum", "to the last of them", "shared")
TRIANGLE = rule("everywhere", "that of a symmetric matrix", "that of the triangle which is read")
SIGN = rule("for complex numbers", "that of x / |x|", "0")
NOISE = rule("everywhere", "0: random numbers don't move with their parameters", "that of mean + std * noise")


class Chosen(Foreign):
    """An operator of the table for arguments of these specs, differentiated by jax; see Note [Two conventions].

    It is called without those of the arguments that are None. It has a gradient of the inputs that ``origin`` has
    formulas for.
    """

    def __init__(self, origin: Operator, specs: tuple, settings: dict) -> None:
        super().__init__(origin.prepare(specs, settings), origin.name, origin.node)
        self.origin, self.original = origin, (specs, settings)
        present = [position for position, spec in enumerate(specs) if spec is not None]
        self.moving = tuple(map(origin.differentiable, present))
        self.wide = Kernels.of(origin, specs, settings).wide

    def differentiable(self, position: int) -> bool:
        return self.moving[position]

    def output_strides(self, shape: tuple[int, ...], specs: Sequence) -> tuple[int, ...] | None:
        return self.origin.output_strides(shape, self.original[0])

    def gradients(self, plan: Any, grads: Sequence, arrays: Sequence, wanted: tuple[bool, ...]) -> tuple:
        asked = dict(zip(plan.positions, wanted, strict=True))
        all_of_them = tuple(asked.get(position, False) for position in range(len(arrays)))
        results = super().gradients(plan, grads, arrays, all_of_them)
        return tuple(results[position] for position in plan.positions)

    def jvp(self, primals: Sequence, tangents: Sequence, out: Any, **settings: Any) -> Any:
        moving = [tangent if moves else None for tangent, moves in zip(tangents, self.moving, strict=True)]
        return None if not any(t is not None for t in moving) else super().jvp(primals, moving, out, **settings)


def chosen(origin: Operator, specs: Sequence, settings: dict) -> Callable:
    """The runner of calls of an operator on arguments of these specs, where jax's convention is chosen."""
    like = tuple(spec.bare.replace(strides=spec.strides) if isinstance(spec, Spec) else spec for spec in specs)
    key = (Chosen, *like, *settings.items())
    operator = origin.kernels.get(key) or origin.kernels.only(key, Chosen(origin, like, settings))
    return lambda *args: operator(*[arg for arg in args if arg is not None], x64=operator.wide)
