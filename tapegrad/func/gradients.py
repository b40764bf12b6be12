"""Transforms that differentiate: ``grad``, ``grad_and_value``, ``vjp``, ``jvp``.

Each runs the function at a level of its own: Note [Levels] in ``tensor/lifted.py``. The backward of a level is run when
the level is over, where the transform was called: what the gradients are computed with are the tensors of that place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from tapegrad._src.bindings.dispatching import hidden
from tapegrad._src.dispatch.function_levels import at, lift, live, lower
from tapegrad._src.execution.data.dtypes import FLOATING
from tapegrad._src.functions.creation import zeros_like
from tapegrad._src.tape.modes import switched, thread
from tapegrad._src.tensor.lifted import Level
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.tensor.trees import TreeSpec, flatten, map_leaves, unflatten
from tapegrad.autograd.differentiate import make_seeds, run_backward
from tapegrad.autograd.forward_ad import make_dual, unpack_dual
from tapegrad.func.checks import all_picked, check_outputs, check_tensors, picked, put_back, with_aux

JVP = "jvp(f, primals, tangents)"


def out_of_inference(function: Callable) -> Callable:
    """A function that runs out of inference mode: what transforms give are normal tensors, that nothing recorded."""

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        if not thread.modes.inference:
            return function(*args, **kwargs)
        with switched(inference=False, grad=False):
            return function(*args, **kwargs)

    return run


def lifted(tree: Any, level: Level) -> Any:
    """A tree with its tensors at a level."""
    return map_leaves(lambda leaf: lift(leaf, level) if isinstance(leaf, Tensor) else leaf, tree)


def differentiable(tree: Any, level: Level) -> Any:
    """A tree of tensors as leaves of a level, that require grad.

    Raises:
        ValueError: a leaf is no tensor.
        RuntimeError: one of an integral type.
    """

    def leaf_of(given: Any) -> Tensor:
        if not isinstance(given, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(given)}")
        if given._spec.dtype.category < FLOATING:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        return lift(given, level, requires_grad=True)

    return map_leaves(leaf_of, tree)


def brought_out(tree: Any, level: Level) -> Any:
    """A tree with the tensors of a level as they are outside it."""
    return map_leaves(lambda leaf: lower(leaf, level)[0] if isinstance(leaf, Tensor) else leaf, tree)


def besides(aux: Any, level: Level) -> Any:
    """The tree of tensors that a function returned besides its output, outside the level.

    Raises:
        RuntimeError: something else is in the tree.
    """
    for leaf in flatten(aux)[0]:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(leaf)}")
    return brought_out(aux, level)


def backward_of(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], cotangents: Sequence[Tensor | None], keep: bool
) -> list[Tensor]:
    """The gradients of the inputs of a level that is over; zeros for those that the outputs don't depend on.

    Raises:
        RuntimeError: a cotangent does not fit its output; or is None, and the output is not one real number.
    """
    recording = thread.modes.grad
    given = [(out, g) for out, g in zip(outputs, cotangents, strict=True) if out._spec.requires_grad]
    results: Sequence[Tensor | None] = [None] * len(inputs)
    if given:
        roots, seeds = zip(*given, strict=True)
        results = run_backward(roots, make_seeds(roots, seeds), keep or recording, recording, inputs, False)
    return [
        zeros_like(live(x)) if result is None else live(result) for x, result in zip(inputs, results, strict=True)
    ]


def is_traced() -> bool:
    """Tell whether a mode is on that traces operators, which are to be those of the tape, and not of a level."""
    inner = thread.interceptors[-1:] if thread.modes.intercepted else ()
    return not thread.levels and any(getattr(getattr(one, "__self__", None), "traces", False) for one in inner)


def leaf_on_tape(given: Any) -> Tensor:
    """A tensor to differentiate with respect to on the tape, connected to the one that it is made of.

    Raises:
        ValueError: that is no tensor.
        RuntimeError: it is one of an integral type.
    """
    if not isinstance(given, Tensor):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(given)}")
    if given._spec.dtype.category < FLOATING:
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    tracer: Any = thread.interceptors[-1].__self__  # type: ignore[attr-defined]
    with hidden():
        made = given.view_as(given) if given._spec.requires_grad and thread.modes.grad else given.detach()
    tracer.same(given, made)
    return made if made._spec.requires_grad else made.requires_grad_()


def off_tape(tree: Any) -> Any:
    """A tree of tensors with the histories that they have outside of a transform."""
    with hidden():
        return map_leaves(lambda leaf: leaf.detach() if isinstance(leaf, Tensor) else leaf, tree)


def grad_on_tape(func: Callable, args: tuple, kwargs: dict[str, Any], argnums: Any, has_aux: bool) -> tuple:
    """``grad_and_value`` of these arguments, by ``backward``: what traces operators sees them as PyTorch's."""
    api = "grad_and_value(f)(*args)"
    chosen = picked(args, argnums)
    inner = any(isinstance(one, Tensor) and one._spec.requires_grad for one in flatten(chosen)[0])
    leaves, spec = flatten(map_leaves(leaf_on_tape, chosen))
    with switched(grad=True):
        output, aux = with_aux(func(*put_back(args, unflatten(leaves, spec), argnums), **kwargs), has_aux, api)
    check_scalar(output, api)
    with switched(grad=inner and thread.modes.grad):
        gradients = unflatten(backward_of([output], leaves, [None], False), spec)
    value = output if inner else off_tape(output)
    return gradients, ((value, aux if inner else off_tape(aux)) if has_aux else value)


def check_scalar(output: Any, api: str) -> None:
    """Refuse what has no gradient. Raises RuntimeError: it is no tensor of one number without dimensions."""
    if not isinstance(output, Tensor):
        raise RuntimeError(f"{api}: Expected f(*args) to return a Tensor, got {type(output)}")
    if output.dim() != 0:
        raise RuntimeError(
            f"{api}: Expected f(*args) to return a scalar Tensor, got tensor with {output.dim()} dims. "
            "Maybe you wanted to use the vjp or jacrev APIs instead?"
        )


def grad_and_value(func: Callable, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable:
    """A function that returns the gradient of ``func`` and its value, ``(gradient, value)``.

    Args:
        func: returns a tensor of one element without dimensions; with ``has_aux``, a pair of that and anything else.
        argnums: which positional arguments to differentiate with respect to: trees of tensors.
        has_aux: whether ``func`` returns something besides; the result then is ``(gradient, (value, aux))``.

    Raises:
        RuntimeError: the output is no scalar tensor, or there is no such argument.

    >>> torch.func.grad_and_value(lambda x: x ** 2)(torch.tensor(3.0))
    (tensor(6.), tensor(9.))
    """

    @out_of_inference
    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        api = "grad_and_value(f)(*args)"
        if is_traced():
            return grad_on_tape(func, args, kwargs, argnums, has_aux)
        with Level() as level:
            chosen = differentiable(picked(args, argnums), level)
            given, named = put_back(lifted(args, level), chosen, argnums), lifted(kwargs, level)
            output = func(*given, **named)
            output, aux = with_aux(output, has_aux, api)
            check_scalar(output, api)
            output = at(output, level)
            value, aux = lower(output, level)[0], besides(aux, level) if has_aux else None
        leaves, spec = flatten(chosen)
        gradients = unflatten(backward_of([output], leaves, [None], False), spec)
        return gradients, ((value, aux) if has_aux else value)

    return wrapper


def grad(func: Callable, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable:
    """A function that returns the gradient of ``func``; with ``has_aux``, ``(gradient, aux)``. See ``grad_and_value``.

    Args:
        func: takes trees of tensors, and gives a real number (0-dim).
        argnums: which arguments, by position: the gradient is a tree like that argument, or a tuple of trees.
        has_aux: whether ``func`` returns a pair of that number and something else, which is then returned too.

    >>> torch.func.grad(torch.func.grad(torch.sin))(torch.tensor(0.0))
    tensor(-0.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapper


def vjp(func: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """The value of ``func`` at ``primals``, and a function that gives the vector-Jacobian product of cotangents.

    Returns:
        ``(output, vjp_fn)``, or ``(output, vjp_fn, aux)``. ``vjp_fn`` takes a tree like the output, and gives a
        cotangent for each of the primals, as a tuple if there are several.

    Args:
        func: takes trees of tensors, and gives one.
        primals: its arguments.
        has_aux: whether ``func`` returns a pair of its output and something else.

    Raises:
        RuntimeError: an output that is no tensor, or not of floating or complex numbers; cotangents unlike the
            output.

    >>> output, vjp_fn = torch.func.vjp(torch.sin, torch.zeros(2))
    >>> vjp_fn(torch.ones(2))
    (tensor([1., 1.]),)
    """
    return vjp_at(func, primals, None, has_aux)


@out_of_inference
def vjp_at(func: Callable, primals: tuple, argnums: Any, has_aux: bool = False) -> tuple:
    """``vjp`` with respect to the primals that ``argnums`` names, or all."""
    api = "vjp(f, *primals)"
    if is_traced():
        return vjp_on_tape(func, primals, argnums, has_aux)
    with Level() as level:
        inputs = differentiable(primals if argnums is None else picked(primals, argnums), level)
        given = inputs if argnums is None else put_back(lifted(primals, level), inputs, argnums)
        output, aux = with_aux(func(*given), has_aux, api)
        outputs, spec = flatten(output)
        check_pulled(outputs, api)
        outputs = [at(out, level) for out in outputs]
        values, aux = brought_out(outputs, level), besides(aux, level) if has_aux else None
    vjp_fn = pullback(outputs, spec, inputs)
    return (unflatten(values, spec), vjp_fn, aux) if has_aux else (unflatten(values, spec), vjp_fn)


def vjp_on_tape(func: Callable, primals: tuple, argnums: Any, has_aux: bool) -> tuple:
    """``vjp`` at primals by ``backward``: what traces operators sees them as PyTorch's."""
    api = "vjp(f, *primals)"
    chosen = primals if argnums is None else picked(primals, argnums)
    inner = any(isinstance(one, Tensor) and one._spec.requires_grad for one in flatten(chosen)[0])
    inputs = map_leaves(leaf_on_tape, chosen)
    with switched(grad=True):
        output, aux = with_aux(func(*(inputs if argnums is None else put_back(primals, inputs, argnums))), has_aux, api)
    outputs, spec = flatten(output)
    check_pulled(outputs, api)
    value, aux = (output, aux) if inner else (off_tape(output), off_tape(aux))
    vjp_fn = pullback(outputs, spec, inputs, inner)
    return (value, vjp_fn, aux) if has_aux else (value, vjp_fn)


def check_pulled(outputs: list[Any], api: str) -> None:
    """Refuse outputs that have no cotangents. Raises RuntimeError: one is no tensor of real or complex numbers."""
    check_outputs(outputs, api)
    for out in outputs:
        if out.dtype.category < FLOATING:
            raise RuntimeError(
                "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype "
                f"{out.dtype}"
            )


def pullback(outputs: Sequence[Tensor], spec: TreeSpec, inputs: Any, recorded: bool = True) -> Callable:
    """The function that gives the vector-Jacobian product of cotangents.

    Args:
        outputs: the leaves of what was computed.
        spec: their structure.
        inputs: the tree of that of which it was.
        recorded: whether the products may be differentiated, where grad is on.
    """
    leaves, structure = flatten(inputs)

    @out_of_inference
    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        given, their = flatten(cotangents)
        if their != spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {shown(their)}, primal output: {shown(spec)}"
            )
        recording = (recorded and thread.modes.grad) if create_graph is None else create_graph
        with switched(grad=recording):
            return unflatten(backward_of(outputs, leaves, given, retain_graph), structure)

    return vjp_fn


def shown(spec: TreeSpec) -> str:
    """The structure of a tree as Python would write it, with a star for each leaf."""
    if spec.kind is None:
        return "*"
    inner = [shown(child) for child in spec.below]
    if spec.kind is tuple:
        return f"({', '.join(inner)}{',' if len(inner) == 1 else ''})"
    if spec.kind is list:
        return f"[{', '.join(inner)}]"
    if spec.kind is dict:
        return "{" + ", ".join(f"{key!r}: {part}" for key, part in zip(spec.context, inner, strict=True)) + "}"
    return str(spec)


def jvp(
    func: Callable, primals: tuple, tangents: tuple, *, strict: bool = False, has_aux: bool = False
) -> tuple:
    """The value of ``func`` at ``primals``, and its derivative in the direction of ``tangents`` (forward mode).

    Args:
        primals, tangents: tuples of trees of tensors, of one structure and shapes.
        strict: whether to refuse outputs that don't depend on the inputs, instead of giving zeros.
        has_aux: whether ``func`` returns a pair of its output and something else, which is then returned too.

    >>> torch.func.jvp(torch.sin, (torch.tensor(0.0),), (torch.tensor(2.0),))
    (tensor(0.), tensor(2.))
    """
    return jvp_at(func, primals, tangents, None, strict, has_aux)


@out_of_inference
def jvp_at(
    func: Callable, primals: tuple, tangents: Any, argnums: Any, strict: bool = False, has_aux: bool = False
) -> tuple:
    """``jvp`` with respect to the primals that ``argnums`` names, or all."""
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    chosen = primals if argnums is None else all_picked(primals, argnums)
    flat, spec = flatten(chosen)
    directions, their = flatten(tangents)
    if spec != their:
        raise RuntimeError(
            f"{JVP}: Expected primals and tangents to have the same python structure. For example, if primals is a "
            f"tuple of 3 tensors, tangents also must be. Got primals with structure {spec} and tangents with structure "
            f"{their}"
        )
    check_tensors(flat, JVP, "primals")
    check_tensors(directions, JVP, "tangents")
    with Level(forward_level=0, forward_grad=True) as level:
        duals = [make_dual(lift(x, level), lift(t, level)) for x, t in zip(flat, directions, strict=True)]
        inputs = unflatten(duals, spec)
        if argnums is not None:
            given = inputs if isinstance(argnums, tuple) else inputs[0]
            inputs = put_back(lifted(primals, level), given, argnums)
        output, aux = with_aux(func(*inputs), has_aux, JVP)
        outputs, structure = flatten(output)
        check_outputs(outputs, JVP)
        pairs = [unpacked(at(out, level), strict) for out in outputs]
        value, tangent = (
            unflatten([lower(item, level)[0] for item in column], structure) for column in zip(*pairs, strict=True)
        )
        aux = besides(aux, level) if has_aux else None
    return (value, tangent, aux) if has_aux else (value, tangent)


def unpacked(output: Tensor, strict: bool) -> tuple[Tensor, Tensor]:
    """A dual's primal and tangent."""
    primal, tangent = unpack_dual(output)
    if tangent is None:
        if strict:
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not "
                "allowed with strict=True."
            )
        tangent = zeros_like(primal)
    return primal, tangent
