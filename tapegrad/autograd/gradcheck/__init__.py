"""``gradcheck`` and ``gradgradcheck``: gradients against finite differences, as users check them.

Note [Parts of complex numbers]
A real loss is what is differentiated, so a complex output is two real ones: its imaginary part is checked, then its
real part, each as if the function returned nothing else. In forward mode it is the inputs that are taken apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapegrad._src.doors import Door
from tapegrad._src.functions.random import rand
from tapegrad._src.tape.modes import switched
from tapegrad._src.tensor.layout import strided
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.autograd.differentiate import grad
from tapegrad.autograd.gradcheck.analytical_jacobian import gradients, same, stacked, unit_vectors
from tapegrad.autograd.gradcheck.extras import (
    check_batched_backward,
    check_batched_forward,
    check_multiplied,
    check_undefined_backward,
    check_undefined_forward,
)
from tapegrad.autograd.gradcheck.jacobian_comparison import Func, Problem, Rules, compare, random_directions
from tapegrad.autograd.gradcheck.messages import GradcheckError
from tapegrad.autograd.gradcheck.numerical_jacobian import as_tuple, jacobian, tensor_of

sparse_problem: Door[Callable[..., tuple[Func, tuple]]] = Door("sparse_problem", filled_by="sparse/checking.py")
"""Puts a function of dense tensors in the place of one of sparse tensors."""

__all__ = [
    "GradcheckError", "get_analytical_jacobian", "get_numerical_jacobian", "get_numerical_jacobian_wrt_specific_input",
    "gradcheck", "gradgradcheck",
]  # fmt: skip

# The public functions -----------------------------------------------------------------------------------------------


def gradcheck(
    func: Func, inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3, raise_exception: bool = True,
    nondet_tol: float = 0.0, check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
    check_batched_grad: bool = False, check_batched_forward_grad: bool = False, check_forward_ad: bool = False,
    check_backward_ad: bool = True, fast_mode: bool = False, masked: bool | None = None,
) -> bool:  # fmt: skip
    """Check the gradients of a function against finite differences. Operators are computed at once meanwhile.

    Args:
        func: takes ``inputs`` and returns a tensor or a tuple of tensors.
        inputs: a tensor or a tuple of arguments; those that are tensors and require grad are checked, and should be
            float64 or complex128. Their data is changed while the check runs, and is as before when it ends.
        eps: the step of the differences.
        atol, rtol: how far a derivative may be from the difference, absolutely and relatively.
        raise_exception: raise if a check fails, instead of returning False. Other errors are always raised.
        nondet_tol: how far two runs of the same backward may differ.
        check_undefined_grad: undefined gradients of outputs (tangents of inputs) must be taken as zeros.
        check_grad_dtypes: a gradient must have its input's dtype; a tangent must be complex if its primal is.
        check_batched_grad: a batch of gradients must give what they give one by one.
        check_batched_forward_grad: the same in forward mode.
        check_forward_ad: check forward mode too.
        check_backward_ad: check reverse mode.
        fast_mode: compare projections of the Jacobians instead of the whole: two calls of the function for
            each input, not for each element; a failure is explained by the slow mode.
        masked: of sparse inputs, whether the elements that are there are varied, and not all; of dense ones gradients
            of zeros need only be close to zero if True.

    Returns:
        True, or False if a check fails and ``raise_exception`` is off.

    Raises:
        GradcheckError: a check fails; the text shows both Jacobians.
        ValueError: no input requires grad.
        AssertionError: shape or dtype of an output depend on the data; or nothing is to be checked.

    >>> x = torch.tensor([0.5, -1.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(lambda x: x.sin() * x, (x,))
    True
    >>> torch.autograd.gradcheck(lambda x: x * x.detach(), (x,), raise_exception=False)
    False
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    rules = Rules(eps, atol, rtol, nondet_tol, check_grad_dtypes, fast_mode)
    leaves = [one for one in as_tuple(inputs) if isinstance(one, Tensor) and one.requires_grad]
    if any(one.layout is not strided for one in leaves):
        whole = check_backward_ad and not (fast_mode or check_forward_ad or check_batched_grad)
        func, inputs = sparse_problem.content(func, as_tuple(inputs), masked, whole)
    try:
        with switched(deferred=False):  # runs are compared to the last bit, in which a compiled program may differ
            problem = first_problem(func, as_tuple(inputs))
            if check_backward_ad:
                check_backward(problem, rules)
            if check_forward_ad:
                check_forward(problem, rules, check_undefined_grad)
            if check_batched_forward_grad:
                check_batched_forward(func, problem.inputs, problem.wanted)
            if check_backward_ad:
                check_gradients(problem, check_batched_grad, check_undefined_grad, 1e-8 if masked else 0)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Func, inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False, raise_exception: bool = True, nondet_tol: float = 0.0,
    check_undefined_grad: bool = True, check_grad_dtypes: bool = False, check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True, fast_mode: bool = False, masked: bool = False,
) -> bool:  # fmt: skip
    """Check the gradients of the gradients of a function, by ``gradcheck``.

    Args:
        func, inputs: as for ``gradcheck``.
        grad_outputs: a gradient for each differentiable output, a tensor or a tuple; random ones if None. What is
            checked is the derivative with respect to these too, where they require grad.
        gen_non_contig_grad_outputs: has no effect: every tensor is contiguous here.
        check_fwd_over_rev: differentiate the gradients in forward mode.
        check_rev_over_rev: differentiate the gradients in reverse mode.
        eps, atol, rtol, raise_exception, nondet_tol, check_undefined_grad, check_grad_dtypes, check_batched_grad,
        fast_mode, masked: as for ``gradcheck``.

    Returns:
        as ``gradcheck``.

    Raises:
        ValueError, RuntimeError: as ``gradcheck``.

    >>> x = torch.tensor([0.5, -1.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradgradcheck(torch.exp, (x,))
    True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    if check_undefined_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_undefined_grad=True requires check_rev_over_rev to be True")
    if check_batched_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_batched_grad=True requires check_rev_over_rev to be True")
    given = as_tuple(inputs)
    if grad_outputs is None:
        seeds = tuple(random_gradient(out) for out in as_tuple(func(*given)) if out.requires_grad)
    else:
        seeds = as_tuple(grad_outputs)
    return gradcheck(
        gradient_function(func, given, seeds),
        given + seeds,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        fast_mode=fast_mode,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        masked=masked,
    )


def gradient_function(func: Func, inputs: tuple, seeds: tuple) -> Func:
    """The gradients of ``func`` as a function of its inputs and of the gradients of its outputs."""
    wanted = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
    recorded = {*wanted, *(len(inputs) + i for i, seed in enumerate(seeds) if seed.requires_grad)}

    def function(*args: Any) -> tuple:
        args = tuple(x.requires_grad_() if i in recorded else x for i, x in enumerate(args))  # not so in forward mode
        outputs = [out for out in as_tuple(func(*args[: len(inputs)])) if out.requires_grad]
        targets = [args[i] for i in wanted]
        found = grad(outputs, targets, args[len(inputs) :], create_graph=True, allow_unused=True)
        return tuple(one for one in found if one is not None)

    return function


def random_gradient(output: Tensor) -> Tensor:
    """A gradient for an output, between -1 and 1 (both parts, if complex), that requires grad."""
    numbers = [rand(tuple(output.shape), dtype=output.dtype.to_real(), device=output.device) * 2 - 1 for _ in range(2)]
    made = numbers[0] + 1j * numbers[1] if output.dtype.is_complex else numbers[0]
    return made.to(output.dtype).detach().requires_grad_()


# What is checked ----------------------------------------------------------------------------------------------------


def first_problem(func: Func, inputs: tuple) -> Problem:
    """The inputs, checked, and what the function gives for them."""
    check_inputs(inputs)
    return Problem(func, inputs, func(*inputs))


def check_inputs(inputs: tuple) -> None:
    """Warn of inputs that are not of double precision.
    Raises RuntimeError: elements of an input share memory. ValueError: no input requires grad.
    """
    wanted = [(i, x) for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
    for index, x in wanted:
        if x.dtype.to_real().name != "float64":
            warn(
                f"Input #{index} requires gradient and is not a double precision floating point or complex. This check "
                "will likely fail if all the inputs are not of double precision floating point or complex. "
            )
        if not all(stride > 0 or length <= 1 for stride, length in zip(x.stride(), x.shape, strict=True)):
            raise RuntimeError(
                f"The {index}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                "non-overlapping to be able to compute the numerical gradients correctly. You should call .contiguous "
                "on the input before passing it to gradcheck."
            )
    if not wanted:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )


def check_backward(problem: Problem, rules: Rules) -> None:
    """Reverse mode against differences; complex outputs in parts. See Note [Parts of complex numbers]."""
    places = tuple(i for i, out in enumerate(problem.outputs) if out.is_complex())
    if not any(out.is_complex() for out in problem.results):
        return compare(problem, rules, forward=False)
    for part, name in (("imag", "imaginary"), ("real", "real")):
        func = part_of_outputs(problem.func, part)
        result = func(*problem.inputs)
        compare(Problem(func, problem.inputs, result, name, places), rules, forward=False)
    return None


def check_forward(problem: Problem, rules: Rules, check_undefined: bool) -> None:
    """Forward mode against differences; complex inputs in parts. See Note [Parts of complex numbers]."""
    parts = [problem]
    if any(isinstance(x, Tensor) and x.is_complex() for x in problem.inputs):
        parts = []
        for part in ("imag", "real"):
            parts.append(part_of_inputs(problem, part))
            compare(parts[-1], rules, forward=True)
    else:
        compare(problem, rules, forward=True)
    if check_undefined:
        for one in parts:
            directions = [vectors[0] for vectors in random_directions(one.targets, [])[0]]
            check_undefined_forward(one.func, one.inputs, one.wanted, directions)


def part_of_outputs(func: Func, part: str) -> Func:
    """The function that gives one part ("real", "imag") of each complex output."""

    def function(*inputs: Any) -> tuple:
        return tuple(getattr(out, part) if out.is_complex() else out for out in as_tuple(func(*inputs)))

    return function


def part_of_inputs(problem: Problem, part: str) -> Problem:
    """The problem whose inputs are one part of each complex input; the other part stays what it was."""
    given = problem.inputs
    places = [i for i, x in enumerate(given) if isinstance(x, Tensor) and x.is_complex()]

    def whole(position: int, x: Any) -> Any:
        if position not in places:
            return x
        return x + given[position].imag * 1j if part == "real" else given[position].real + x * 1j

    def function(*inputs: Any) -> tuple:
        return as_tuple(problem.func(*(whole(i, x) for i, x in enumerate(inputs))))

    inputs = tuple(getattr(x, part) if i in places else x for i, x in enumerate(given))
    numbers = tuple(number for number, i in enumerate(problem.wanted) if i in places)
    return Problem(function, inputs, function(*inputs), "real" if part == "real" else "imaginary", numbers)


def check_gradients(problem: Problem, batched: bool, undefined: bool, tolerance: float) -> None:
    """Check the properties of a backward pass besides its Jacobian."""
    targets = problem.targets
    if batched:
        for number, out in enumerate(problem.outputs):
            check_batched_backward(out, targets, number)
    check_multiplied(problem.outputs, targets, tolerance)
    if undefined:
        check_undefined_backward(lambda: problem._replace(result=problem.run()).outputs, targets)


# Deprecated ---------------------------------------------------------------------------------------------------------


def _warn_deprecated(name: str) -> None:
    warn(
        f"`{name}` was part of PyTorch's private API and not meant to be exposed. We are deprecating it and it will be "
        "removed in a future version of PyTorch. If you have a specific use for this or feature request for this to be "
        "a stable API, please file us an issue at https://github.com/pytorch/pytorch/issues/new",
        FutureWarning,
    )


def get_numerical_jacobian(
    fn: Func, inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0
) -> tuple[Tensor, ...]:
    """Deprecated: the Jacobians of the first output of ``fn(inputs)`` with respect to each target, by differences.

    Raises:
        ValueError: a complex output, or another ``grad_out`` than 1.
    """
    _warn_deprecated("get_numerical_jacobian")
    _only_one("get_numerical_jacobian", grad_out)
    inputs = as_tuple(inputs)
    outputs = as_tuple(fn(inputs))
    for out in outputs:
        _only_real("get_numerical_jacobian", out)
    targets = [x for x in as_tuple(inputs if target is None else target) if isinstance(x, Tensor) and x.requires_grad]
    found = [jacobian(lambda: fn(inputs), x, outputs, eps)[0] for x in targets]
    return tuple(tensor_of(matrix, outputs[0]) for matrix in found if matrix is not None)


def get_numerical_jacobian_wrt_specific_input(
    fn: Func, input_idx: int, inputs: Sequence[Any], outputs: Sequence[Tensor], eps: float, input: Tensor | None = None,
    is_forward_ad: bool = False,
) -> tuple[Tensor, ...]:  # fmt: skip
    """The Jacobians of all ``outputs`` of ``fn(*inputs)`` with respect to one input, by differences."""
    x = inputs[input_idx] if input is None else input
    if not x.requires_grad:
        raise AssertionError("Expected input to have requires_grad=True")
    found = jacobian(lambda: fn(*inputs), x, outputs, eps)
    return tuple(tensor_of(matrix, x) for matrix in found if matrix is not None)


def get_analytical_jacobian(
    inputs: Any, output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[tuple[Tensor, ...], bool, bool, bool]:
    """Deprecated: the Jacobians of an output with respect to each input, by backward.

    Returns:
        The Jacobians; whether two runs gave the same; whether sizes and dtypes of the gradients are the inputs'.

    Raises:
        ValueError: a complex output, or another ``grad_out`` than 1.
    """
    _warn_deprecated("get_analytical_jacobian")
    _only_one("get_analytical_jacobian", grad_out)
    _only_real("get_analytical_jacobian", output)
    targets = [x for x in as_tuple(inputs) if isinstance(x, Tensor) and x.requires_grad]
    first, second = ([gradients(targets, output, seed) for seed in unit_vectors(output)] for _ in range(2))
    pairs = [(one, x) for row in first for one, x in zip(row, targets, strict=True) if one is not None]
    one, other = stacked(first, targets), stacked(second, targets)
    return (
        tuple(tensor_of(matrix, x) for matrix, x in zip(one, targets, strict=True)),
        same(one, other, nondet_tol),
        all(found.shape == x.shape for found, x in pairs),
        all(found.dtype is x.dtype for found, x in pairs),
    )


def _only_one(name: str, grad_out: float) -> None:
    if grad_out != 1.0:
        raise ValueError(f"Expected grad_out to be 1.0. {name} no longer supports values of grad_out != 1.0.")


def _only_real(name: str, output: Tensor) -> None:
    if output.is_complex():
        raise ValueError(
            f"Expected output to be non-complex. {name} no longer supports functions that return complex outputs."
        )
