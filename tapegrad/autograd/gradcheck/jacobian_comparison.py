"""Derivatives against differences: Jacobians in slow mode, projections of them in fast mode.

Note [Slow and fast]
Slow mode compares Jacobians element by element: two calls of the function for each element of the inputs, two backward
passes for each element of the outputs. Fast mode compares ``v @ J @ u`` for random ``u`` and ``v``: two calls for each
input, two backward passes for each output. The vectors are the same in every run, those of PyTorch in fact, and
nobody's random state is touched. A failure in fast mode is explained by slow mode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.gradcheck.analytical_jacobian import backward_jacobian, forward_jacobian
from tapegrad.autograd.gradcheck.messages import GradcheckError, mismatch, slow_mode
from tapegrad.autograd.gradcheck.numerical_jacobian import as_tuple, derivatives, has_derivative, jacobian, tensor_of

Func = Callable[..., Any]
Vectors = tuple[np.ndarray, ...]
"""A direction of an input: one array, or one for the real and one for the imaginary part."""


class Rules(NamedTuple):
    """The tolerances and settings of a check; see ``gradcheck``."""

    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    check_grad_dtypes: bool
    fast_mode: bool


class Problem(NamedTuple):
    """A function, its inputs, and what it gave for them.

    Attributes:
        part: "real" or "imaginary" if only this part of the outputs (in forward mode, the inputs) is considered.
        complex_places: numbers of those of which it is a part, among those that can be differentiated.
    """

    func: Func
    inputs: tuple
    result: Any
    part: str | None = None
    complex_places: tuple[int, ...] = ()

    @property
    def results(self) -> tuple[Tensor, ...]:
        """All that the function gave."""
        return as_tuple(self.result)

    @property
    def wanted(self) -> list[int]:
        """The positions of the inputs that are checked."""
        return [i for i, x in enumerate(self.inputs) if isinstance(x, Tensor) and x.requires_grad]

    @property
    def targets(self) -> list[Tensor]:
        """The inputs that are checked."""
        return [self.inputs[i] for i in self.wanted]

    @property
    def places(self) -> list[int]:
        """The positions of the outputs that can be differentiated, among the results."""
        return [i for i, out in enumerate(self.results) if out.requires_grad]

    @property
    def floating(self) -> list[int]:
        """The positions of the results that can have a derivative, whether it is recorded or not."""
        return [i for i, out in enumerate(self.results) if has_derivative(out._spec)]

    @property
    def outputs(self) -> list[Tensor]:
        """The outputs that can be differentiated."""
        return [self.results[i] for i in self.places]

    def run(self) -> Any:
        """Call the function once more."""
        return self.func(*self.inputs)

    def mismatch(self, expected: np.ndarray, ours: np.ndarray, output: int, input: int, forward: bool) -> str:
        """The text for a derivative that is not the difference."""
        part = self.part if (input if forward else output) in self.complex_places else None
        on = self.targets[input]
        return mismatch(tensor_of(expected, on), tensor_of(ours, on), output, input, part, forward)


def compare(problem: Problem, rules: Rules, forward: bool) -> None:
    """Raise a ``GradcheckError`` unless derivatives are what differences are."""
    (compare_fast if rules.fast_mode else compare_slow)(problem, rules, forward)


def compare_slow(problem: Problem, rules: Rules, forward: bool) -> None:
    """Compare Jacobians, element by element."""
    numerical = [jacobian(problem.run, x, problem.results, rules.eps) for x in problem.targets]
    if not problem.places:
        return expect_zero([matrix for row in numerical for matrix in row if matrix is not None], 0)
    for output, place, analytical in slow_jacobians(problem, rules, forward):
        for input, (ours, row) in enumerate(zip(analytical, numerical, strict=True)):
            expected = row[place]
            assert expected is not None
            if not close(ours, expected, rules.rtol, rules.atol):
                raise GradcheckError(problem.mismatch(expected, ours, output, input, forward))
    return None


def slow_jacobians(problem: Problem, rules: Rules, forward: bool) -> Iterator[tuple[int, int, list[Any]]]:
    """The number and the place of each differentiable output, and its derivatives with respect to each input."""
    dtypes = rules.check_grad_dtypes
    if forward:
        tangents = forward_jacobian(problem.func, problem.inputs, problem.wanted, problem.results, dtypes)
        for number, place in enumerate(problem.places):
            yield number, place, [row[place] for row in tangents]
    else:
        for number, place in enumerate(problem.places):
            out = problem.results[place]
            yield number, place, backward_jacobian(problem.targets, out, rules.nondet_tol, dtypes)


def compare_fast(problem: Problem, rules: Rules, forward: bool) -> None:
    """Compare projections of Jacobians. See Note [Slow and fast]."""
    us, vs = random_directions(problem.targets, [] if forward else problem.outputs)
    slopes = [derivatives(problem.run, x, u, rules.eps) for x, u in zip(problem.targets, us, strict=True)]
    if not problem.places and not forward:
        return expect_zero([slope for row in slopes for slope in row], rules.nondet_tol)
    analytical = fast_jacobians(problem, rules, us, vs, forward)
    places = problem.floating if forward else problem.places
    for input, row in enumerate(slopes):
        for output, place in enumerate(places):
            ours, expected = analytical[output][input], row[place]
            atol = rules.atol * float(sum(part.sum() for part in us[input]))
            if not forward:
                expected = np.asarray((vs[output] * expected).sum())
                atol *= float(vs[output].sum())
            if not close(ours, expected, rules.rtol, atol):
                text = problem.mismatch(expected, ours, output, input, forward)
                raise GradcheckError(text + slow_explanation(problem, rules, place, input, forward))
    return None


def fast_jacobians(
    problem: Problem, rules: Rules, us: list[Vectors], vs: list[np.ndarray], forward: bool
) -> list[list[Any]]:
    """For each differentiable output and each input: ``v @ J @ u``; in forward mode, ``J @ u``."""
    dtypes = rules.check_grad_dtypes
    if forward:
        directions = [u[0] for u in us]
        rows = forward_jacobian(problem.func, problem.inputs, problem.wanted, problem.results, dtypes, directions)
        return [[row[place][0] for row in rows] for place in problem.floating]  # type: ignore[index]
    found = []
    for out, v in zip(problem.outputs, vs, strict=True):
        columns = backward_jacobian(problem.targets, out, rules.nondet_tol, dtypes, [v])
        found.append([along(column[:, 0], u) for column, u in zip(columns, us, strict=True)])
    return found


def along(gradient: np.ndarray, u: Vectors) -> np.ndarray:
    """A gradient along a direction; the parts of a complex one each along its own."""
    if len(u) == 1:
        return np.asarray(gradient @ u[0])
    return np.asarray(gradient.real @ u[0] + 1j * (gradient.imag @ u[1]))


def slow_explanation(problem: Problem, rules: Rules, place: int, input: int, forward: bool) -> str:
    """The findings of slow mode about the output at a place, after a failure in fast mode."""
    position, x = problem.wanted[input], problem.targets[input]
    numerical: Any = jacobian(problem.run, x, problem.results, rules.eps)[place]
    analytical: Any
    if forward:
        analytical = forward_jacobian(problem.func, problem.inputs, [position], problem.results)[0][place]
    else:
        analytical = backward_jacobian(problem.targets, problem.results[place], np.inf, False)[input]
    with np.errstate(all="ignore"):
        difference = np.abs(numerical - analytical).max()
    agree = close(analytical, numerical, rules.rtol, rules.atol)
    return slow_mode(tensor_of(numerical, x), tensor_of(analytical, x), tensor_of(difference, x), agree)


def expect_zero(slopes: Sequence[np.ndarray], tolerance: float) -> None:
    """Nothing can be differentiated, so nothing may change."""
    if any(np.any(np.abs(slope) > tolerance) for slope in slopes):
        raise GradcheckError("Numerical gradient for function expected to be zero")


def close(ours: Any, expected: Any, rtol: float, atol: float) -> bool:
    """PyTorch's ``allclose``, whatever the two dtypes."""
    one, other = (np.asarray(x, complex if np.iscomplexobj(x) else float) for x in (ours, expected))
    with np.errstate(all="ignore"):
        return bool(np.allclose(one, other, rtol=rtol, atol=atol))


SEED = 67280421310721
"""The seed that PyTorch gives a generator."""


def random_directions(inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> tuple[list[Vectors], list[np.ndarray]]:
    """A direction for each input and one for each output: of length 1, no element negative, the same in each run."""
    state = np.random.RandomState(SEED % 2**32)

    def vector(x: Tensor) -> np.ndarray:
        bits = state.randint(0, 2**32, x._spec.numel, dtype=np.uint32) & 0xFFFFFF
        made = (bits.astype(np.float32) * np.float32(2**-24)).astype(x.dtype.to_real().numpy)
        with np.errstate(all="ignore"):
            return made / np.asarray(np.linalg.norm(made.astype(float))).astype(made.dtype)

    us = [tuple(vector(x) for _ in range(1 + x.dtype.is_complex)) for x in inputs]
    return us, [vector(out) for out in outputs]
