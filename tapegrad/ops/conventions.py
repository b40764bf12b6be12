"""Conventions: where PyTorch and jax choose different derivatives of the same function, and choosing between them.

Note [Two conventions]
Formulas of the table make PyTorch's choices. Differentiating an operator's kernel by jax makes jax's. Almost everywhere
the two agree, up to conjugation (gradients here are conjugates of jax's). ``CONVENTIONS`` lists where they don't:

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

from tapegrad.dispatch.kernels import Kernels
from tapegrad.ops.foreign import Foreign
from tapegrad.ops.operator import TABLE, Operator
from tapegrad.tensor.spec import Spec


class Convention(NamedTuple):
    """Where the conventions of an operator differ.

    Attributes:
        where: at which arguments.
        torch, jax: the derivative there in PyTorch, and by jax of the operator's kernel.
        kink: whether it is a kink, of which ``subgradient`` chooses; otherwise it is a rule.
    """

    where: str
    torch: str
    jax: str
    kink: bool = True


def _rule(where: str, torch: str, jax: str) -> Convention:
    return Convention(where, torch, jax, kink=False)


_BOUND = Convention("at a bound", "that of the inside: 1 for the input, 0 for the bound", "1/2 for each")
_EDGE = Convention("at a bound", "0", "1/2")
_TIE = Convention("where both are equal", "1 for the first, 0 for the second", "0 for the first, 1 for the second")
_TIES = Convention("where several elements are the median", "shared by all of them", "1 for one of them")
_EXTREMA = Convention("where elements tie with what is replaced", "shared with that", "shared without it")
_ORIGIN = Convention("where all elements are 0, or any for ord=1", "0", "nan; 1 for ord=1")
_COINCIDENT = Convention("where two points coincide, or coordinates of them for p=1", "0", "nan; 1 for p=1")
_ZERO_TIMES = Convention("where x is 0", "0 if y <= 0, else the logarithm", "0")
_SIGNED = Convention("where x is 0", "0", "1 with the other's sign")
_SPREAD = Convention("where all elements are equal", "0", "nan")
_RUNNING = Convention("where elements tie with the running extremum", "to the last of them", "shared")
_TRIANGLE = _rule("everywhere", "that of a symmetric matrix", "that of the triangle which is read")
_SIGN = _rule("for complex numbers", "that of x / |x|", "0")
_NOISE = _rule("everywhere", "0: random numbers don't move with their parameters", "that of mean + std * noise")

CONVENTIONS: dict[str, Convention] = {
    "abs": Convention("at 0, of real numbers", "0", "1"),
    "angle": Convention("at 0, of complex numbers", "0", "nan"),
    "atan2": Convention("where both are 0", "0", "nan"),
    "binary_cross_entropy": Convention("where x is 0 or 1", "the logarithm's, limited", "nan, inf or 0"),
    "cdist": _COINCIDENT,
    "clamp": Convention("at a bound", "1", "1/2"),
    "clamp_max": Convention("at the bound", "1", "1/2"),
    "clamp_max_tensor": _BOUND,
    "clamp_min": Convention("at the bound", "1", "1/2"),
    "clamp_min_tensor": _BOUND,
    "clamp_tensor": _BOUND,
    "copysign": _SIGNED,
    "copysign_number": _SIGNED,
    "cummax": _RUNNING,
    "cummin": _RUNNING,
    "dist": _COINCIDENT,
    "distance_norm": _ORIGIN,
    "euclidean_dist": _COINCIDENT,
    "fmax": _TIE,
    "fmin": _TIE,
    "hardtanh": _EDGE,
    "hypot": Convention("where both are 0", "nan", "1/2"),
    "median_all": _TIES,
    "nanmedian_all": _TIES,
    "pdist": _COINCIDENT,
    "pow": Convention("in the base, where base and exponent are 0", "0", "nan"),
    "renorm": Convention("where an element is 0, for ord=1", "0 for the norm", "1 for the norm"),
    "scatter_amax": _EXTREMA,
    "scatter_amin": _EXTREMA,
    "std": _SPREAD,
    "std_mean": _SPREAD,
    "vector_norm": _ORIGIN,
    "xlog1py": _ZERO_TIMES,
    "xlog1py_number": _ZERO_TIMES,
    "xlogy": _ZERO_TIMES,
    "xlogy_number": _ZERO_TIMES,
    "cholesky": _TRIANGLE,
    "cholesky_ex": _TRIANGLE,
    "cholesky_inverse": _TRIANGLE,
    "cholesky_solve": _TRIANGLE,
    "ctc_loss": _rule("everywhere", "that of probabilities which add up to 1", "that of any numbers"),
    "embedding": _rule("for the row of padding", "0", "that of any row"),
    "floored": _rule("below the floor", "1", "0"),
    "normal": _NOISE,
    "normal_of_mean": _NOISE,
    "normal_of_std": _NOISE,
    "pinv": _rule("for hermitian=True", "that of a symmetric matrix", "that of the triangle which is read"),
    "polar": _rule("where the absolute value is not positive", "its sign times that of jax", "that of the product"),
    "sgn": _SIGN,
    "slogdet": _SIGN,
    "solve_factored": _rule("everywhere", "that of the matrix, of which the factors are", "that of the factors"),
}
"""Where PyTorch's derivatives and jax's differ, by operator. See Note [Two conventions]."""


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
    """What calls of an operator on arguments of these specs run in its place, where jax's convention is chosen."""
    like = tuple(spec.bare.replace(strides=spec.strides) if isinstance(spec, Spec) else spec for spec in specs)
    key = (Chosen, *like, *settings.items())
    operator = origin.kernels.get(key) or origin.kernels.only(key, Chosen(origin, like, settings))
    return lambda *args: operator(*[arg for arg in args if arg is not None], x64=operator.wide)


for _name, _convention in CONVENTIONS.items():
    if _convention.kink:
        TABLE[_name].by_jax = partial(chosen, TABLE[_name])
