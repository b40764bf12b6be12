"""Products of a vector with the Jacobian or the Hessian of a function of tensors, by reverse mode alone.

A Jacobian times a vector is the derivative of ``u -> u @ jacobian``, which is linear: two backward passes ("the double
backward trick").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad._src.functions.creation import zeros_like
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.functional.arguments import (
    NO_V,
    NO_V_FOR_OUTPUT,
    RESULTS,
    Tensors,
    finished,
    fresh,
    gradients,
    require_single_element,
    tensors_of,
    unpacked,
    vector_like,
)
from tapegrad.autograd.functional.strictness import check_dependent, filled_in
from tapegrad.autograd.grad_mode import enable_grad, is_grad_enabled, set_grad_enabled


def vjp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """The outputs of ``func`` and the product of ``v`` with its Jacobian.

    Args:
        func: a function of tensors that returns a tensor or a tuple of tensors.
        inputs: a tensor or a tuple of them, of any shapes; floating or complex.
        v: a tensor of the shape of each output; may be left out where there is one, of a single element.
        create_graph: make both results differentiable.
        strict: raise where an output doesn't depend on the inputs; otherwise the product is zero there.

    Returns:
        The outputs, and the products, of the shapes of ``inputs``; each a tuple if ``func`` returned, or ``inputs``
        is, one.

    Raises:
        RuntimeError: ``v`` doesn't fit; something that ``strict`` refuses.
        TypeError: an input, an output or ``v`` is no tensor.

    >>> torch.autograd.functional.vjp(lambda x: x ** 2, torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        is_tuple, inputs = tensors_of(inputs, "inputs", "vjp")
        inputs = fresh(inputs, create_graph, track=True)
        outputs_are_tuple, outputs = tensors_of(func(*inputs), RESULTS, "vjp")
        check_dependent(outputs, "outputs", strict)
        if v is None:
            require_single_element(outputs, NO_V_FOR_OUTPUT)
        else:
            v = vector_like(v, outputs, outputs_are_tuple, "vjp", create_graph)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        found = gradients(outputs, inputs, v, create_graph=create_graph)
        products = filled_in(found, inputs, "back", strict, create_graph)
    return results(outputs, outputs_are_tuple, products, is_tuple, create_graph)


def results(outputs: Tensors, first: bool, products: Tensors, second: bool, create_graph: bool) -> tuple:
    """The results of the functions here; ``first`` and ``second`` say which of them is a tuple."""
    return (
        unpacked(finished(outputs, create_graph), first),
        unpacked(finished(products, create_graph), second),
    )


def jvp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """The outputs of ``func`` and the product of its Jacobian with ``v``.

    Args:
        func, inputs, create_graph, strict: as for ``vjp``.
        v: a tensor of the shape of each input; may be left out where there is one, of a single element.

    Returns:
        The outputs, and the products, of their shapes; tuples if ``func`` returned one.

    Raises:
        RuntimeError, TypeError: as ``vjp``.

    >>> torch.autograd.functional.jvp(lambda x: x ** 2, torch.tensor([1.0, 2.0]), torch.tensor([10.0, 1.0]))
    (tensor([1., 4.]), tensor([20.,  4.]))
    """
    with enable_grad():
        inputs, v, outputs_are_tuple, outputs, _ = called(func, inputs, v, "jvp", create_graph, strict)
        weights = tuple(zeros_like(out, requires_grad=True) for out in outputs)
        found = gradients(outputs, inputs, weights, create_graph=True)
        check_dependent(found, "grad_inputs", strict)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        twice = gradients(found, weights, v, create_graph=create_graph)
        products = filled_in(twice, outputs, "back_trick", strict, create_graph)
    return results(outputs, outputs_are_tuple, products, outputs_are_tuple, create_graph)


def called(
    func: Callable, inputs: Any, v: Any, function: str, create_graph: bool, strict: bool
) -> tuple[Tensors, Tensors | None, bool, Tensors, bool]:
    """Call ``func`` where ``v`` is a vector of its inputs.

    Returns:
        The inputs and ``v`` as it was called on them; whether the outputs are a tuple, and the outputs; whether the
        inputs are a tuple.
    """
    is_tuple, inputs = tensors_of(inputs, "inputs", function)
    inputs = fresh(inputs, create_graph, track=True)
    if v is None:
        require_single_element(inputs, NO_V)
    else:
        v = vector_like(v, inputs, is_tuple, function, create_graph)
    outputs_are_tuple, outputs = tensors_of(func(*inputs), RESULTS, function)
    check_dependent(outputs, "outputs", strict)
    return inputs, v, outputs_are_tuple, outputs, is_tuple


def require_scalar(outputs: Tensors, is_tuple: bool, function: str) -> None:
    """Refuse anything but one tensor of one element."""
    if is_tuple:
        raise RuntimeError(f"The function given to {function} should return a single Tensor")
    if outputs[0].nelement() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {function} should contain a single element")


def vhp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """The output of ``func`` and the product of ``v`` with its Hessian.

    Args:
        func: a function of tensors that returns a tensor of a single element.
        inputs, v, create_graph, strict: as for ``jvp``.

    Returns:
        The output, and the products, of the shapes of ``inputs``; a tuple of them if ``inputs`` is one.

    Raises:
        RuntimeError: the output has not one element; or as ``vjp``.
        TypeError: as ``vjp``.

    >>> torch.autograd.functional.vhp(lambda x: (x ** 3).sum(), torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        inputs, v, outputs_are_tuple, outputs, is_tuple = called(func, inputs, v, "vhp", create_graph, strict)
        jacobian = gradient_of_scalar(outputs, outputs_are_tuple, inputs, "vhp", strict)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        found = gradients(jacobian, inputs, v, create_graph=create_graph)
        products = filled_in(found, inputs, "double_back", strict, create_graph)
    return results(outputs, outputs_are_tuple, products, is_tuple, create_graph)


def gradient_of_scalar(
    outputs: Tensors, is_tuple: bool, inputs: Tensors, function: str, strict: bool
) -> tuple[Tensor | None, ...]:
    """The gradient of the only output, differentiable again."""
    require_scalar(outputs, is_tuple, function)
    jacobian = gradients(outputs, inputs, create_graph=True)
    check_dependent(jacobian, "jacobian", strict)
    return jacobian


def hvp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """The output of ``func`` and the product of its Hessian with ``v``.

    For real functions whose second derivatives are continuous this is ``vhp``, which takes one pass less. What the
    arguments ``inputs``, ``v``, ``create_graph`` and ``strict`` are, what is returned and what is raised is said
    there.

    >>> torch.autograd.functional.hvp(lambda x: (x ** 3).sum(), torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        inputs, v, outputs_are_tuple, outputs, is_tuple = called(func, inputs, v, "hvp", create_graph, strict)
        jacobian = gradient_of_scalar(outputs, outputs_are_tuple, inputs, "hvp", strict)
        weights = tuple(zeros_like(one, requires_grad=True) for one in inputs)
        twice = gradients(jacobian, inputs, weights, create_graph=True)
        check_dependent(jacobian, "hessian", strict)  # the jacobian once more, which passed: as PyTorch has it
    with set_grad_enabled(create_graph or is_grad_enabled()):
        found = gradients(twice, weights, v, create_graph=create_graph)
        products = filled_in(found, inputs, "double_back_trick", strict, create_graph)
    return results(outputs, outputs_are_tuple, products, is_tuple, create_graph)
