"""The gradient type of a backward call that dispatch modes see, or tensors with a ``__torch_dispatch__`` are in.

Gradients are tensors that are not recorded, so that formulas call operators one by one. A node whose derivative is one
operator in PyTorch (``NAMED``) is shown as a call of that. See Note [Dispatch] in ``bindings/dispatching.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from tapegrad._src.bindings.declaration.handing import DISPATCH, overriding
from tapegrad._src.bindings.dispatching import hidden, is_shown, show, show_detached, sum_to
from tapegrad._src.dispatch.nodes.accumulate_grad import AccumulateGrad
from tapegrad._src.dispatch.nodes.operator import OperatorNode
from tapegrad._src.tape.node import Node
from tapegrad._src.tensor.layout import strided
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.gradient_types import Tensors
from tapegrad.ops.overloads import identity
from tapegrad.ops.wording import REDUCTIONS


class Shown(Tensors):
    """Tensors that are not recorded, and that somebody is shown operators on."""

    @staticmethod
    def run(node: Node, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        if isinstance(node, AccumulateGrad) and grads[0] is not None and node.variable._grad is None:
            made = laid_out(grads[0], node.variable)
            with nullcontext() if made is grads[0] else hidden():
                return node.apply([made], needed)
        if not isinstance(node, OperatorNode):
            return node.apply(grads, needed)
        plan = node.plan
        for position in plan.saved_outputs:
            saved = node.saved_items()[len(plan.saved_inputs)] if plan.out_specs[position].requires_grad else None
            if saved is not None and is_shown((saved,)):
                show_detached(saved)
        named = NAMED.get(plan.op.name)
        return node.apply(grads, needed) if named is None else named(node, grads, needed)

    seed = staticmethod(lambda grad: grad)


def laid_out(grad: Any, leaf: Tensor) -> Any:
    """A gradient that lies in memory as the one of a leaf has to: a copy, if it lies otherwise."""
    wanted = leaf._spec.gradient
    if grad._spec.strides == wanted.strides or not is_shown((grad,)):
        return grad
    options = {"dtype": grad.dtype, "layout": strided, "device": grad.device}
    args = grad, list(grad.shape), list(wanted.layout)
    with_data: Any = show(identity("aten", "new_empty_strided", "default"), args, options, empty_strided)
    return with_data.copy_(grad)


def empty_strided(grad: Any, size: list[int], strides: list[int], **options: Any) -> Any:
    """A tensor without elements of its own yet, that lies as the strides say."""
    return grad.new_empty_strided(size, strides, dtype=options["dtype"], device=options["device"])


def holds_dispatching(roots: Sequence[Any]) -> bool:
    """Tell whether the graph behind edges has tensors of a class with a ``__torch_dispatch__`` in it."""
    if not overriding.dispatches:
        return False
    stack, seen = [edge[0] for edge in roots if edge is not None], set()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        specs = (*getattr(getattr(node, "plan", None), "specs", ()), *(getattr(node, "_input_metadata", None) or ()))
        if any(isinstance(spec, Spec) and spec.overrides == DISPATCH for spec in specs):
            return True
        stack += [edge[0] for edge in node.next_edges if edge is not None]
    return False


# -- derivatives that are one operator in PyTorch ----------------------------------------------------------------------


Derivative = Callable[[OperatorNode, list, tuple[bool, ...] | None], Sequence]
Words = Callable[[Tensor, dict, dict], tuple]
NAMED: dict[str, Derivative] = {}
"""Derivatives that are one operator in PyTorch, or others than the formula's, by operator."""


def as_one(name: str, words: Words, several: bool = False) -> Derivative:
    """The derivative of an operator as a call of PyTorch's operator for it.

    Args:
        name: what that is called.
        words: its arguments, of the gradient, what was saved and given by our names, and the settings.
        several: whether it gives the gradients of all inputs, and is told last which are wanted.
    """
    func_name = name if "." in name else f"{name}.default"

    def run(node: OperatorNode, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        plan = node.plan
        wanted = plan.wanted(needed)
        if grads[0] is None or not is_shown(grads) or not (several or sum(wanted) == 1):
            return node.apply(grads, needed)
        items = node.saved_items() if plan.saved_specs else []
        args = words(grads[0], saved_of(node, items), plan.settings)
        if several:
            args = (*args, [*wanted, *[False] * (3 - len(wanted))])

        def compute(grad: Tensor, *rest: Any) -> Any:
            given = [next((new for new, old in zip(rest, args[1:], strict=True) if old is one), one) for one in items]
            found = plan.gradients([grad, *grads[1:]], given, wanted)
            return (*found, *[None] * (3 - len(found))) if several else found[wanted.index(True)]

        result = show(identity("aten", *func_name.split(".")), args, {}, compute)
        if several:
            return tuple(result[: len(wanted)])
        return tuple(result if want else None for want in wanted)

    return run


def saved_of(node: OperatorNode, items: list | None = None) -> dict[str, Any]:
    """The items that a node has saved, by our names, and the specs of its inputs, by ``x_spec``."""
    plan, op = node.plan, node.plan.op
    items = node.saved_items() if items is None and plan.saved_specs else items or []
    outputs = op.outputs or ("out",)
    names = [op.input_name(i) for i in plan.saved_inputs] + [outputs[i] for i in plan.saved_outputs]
    specs = {f"{op.input_name(i)}_spec": spec for i, spec in enumerate(plan.specs)}
    return {**specs, **dict(zip(names, items, strict=True))}


def named(name: str, *operators: str, several: bool = False) -> Callable[[Words], Words]:
    """Declare that the derivatives of operators are called ``name``: see ``as_one``."""

    def declare(words: Words) -> Words:
        NAMED.update(dict.fromkeys(operators, as_one(name, words, several)))
        return words

    return declare


@named("tanh_backward", "tanh")
@named("sigmoid_backward", "sigmoid")
def _of_output(g: Tensor, saved: dict, given: dict) -> tuple:
    return g, saved["out"]


@named("silu_backward", "silu")
@named("mish_backward", "mish")
@named("hardsigmoid_backward", "hardsigmoid")
@named("hardswish_backward", "hardswish")
@named("gelu_backward", "gelu")
def _of_input(g: Tensor, saved: dict, given: dict) -> tuple:
    return g, saved["x"]


@named("threshold_backward", "relu")
def _relu(g: Tensor, saved: dict, given: dict) -> tuple:
    return g, saved["out"], 0


@named("threshold_backward", "threshold")
def _threshold(g: Tensor, saved: dict, given: dict) -> tuple:
    return g, saved["x"], given["threshold"]


@named("leaky_relu_backward", "leaky_relu")
def _leaky_relu(g: Tensor, saved: dict, given: dict) -> tuple:
    return g, saved["x"], given["negative_slope"], False


@named("softplus_backward", "softplus")
def _softplus(g: Tensor, saved: dict, given: dict) -> tuple:
    return g, saved["x"], given["beta"], given["threshold"]


@named("elu_backward", "elu")
def _elu(g: Tensor, saved: dict, given: dict) -> tuple:
    return g, given["alpha"], given["scale"], given["input_scale"], False, saved["x"]


@named("_softmax_backward_data", "softmax")
@named("_log_softmax_backward_data", "log_softmax")
def _softmax(g: Tensor, saved: dict, given: dict) -> tuple:
    return g, saved["out"], given["axis"], saved["out"].dtype


@named("nll_loss_backward", "nll_loss")
@named("nll_loss2d_backward", "nll_loss2d")
def _nll_loss(g: Tensor, saved: dict, given: dict) -> tuple:
    target, weight = saved["target"], saved.get("weight")
    with hidden():
        counted = target != given["ignore_index"]
        total = (counted.to(g.dtype) if weight is None else weight[target * counted] * counted).sum()
    x = saved.get("x")
    shape = saved["x_spec"].shape
    x = g.new_empty(tuple(shape)) if x is None else x
    return g, x, target, weight, REDUCTIONS[given["reduction"]], given["ignore_index"], total


@named("select_backward", "select")
def _select(g: Tensor, saved: dict, given: dict) -> tuple:
    return g, list(saved["x_spec"].shape), given["axis"], saved.get("index", 0)


@named("native_layer_norm_backward", "layer_norm", several=True)
def _layer_norm(g: Tensor, saved: dict, settings: dict) -> tuple:
    x, axes = saved.get("x"), settings["axes"]
    mean = None
    if x is not None:
        with hidden():
            mean = x.mean(axes, keepdim=True).detach()
    shape = [saved["x_spec"].shape[axis] for axis in axes]
    return g, x, shape, mean, mean, saved.get("weight"), None


@named("convolution_backward", "convolution", "conv_transpose", several=True)
def _convolution(g: Tensor, saved: dict, settings: dict) -> tuple:
    transposed = "output_size" in settings
    bias = saved.get("bias_spec")
    padding = [one[0] if isinstance(one, (tuple, list)) else one for one in settings["padding"]]
    return (g, saved.get("x"), saved.get("weight"), [] if bias is None else list(bias.shape), list(settings["stride"]),
            padding, list(settings["dilation"]), transposed, [0] * len(padding), settings["groups"])  # fmt: skip


def composed(*names: str) -> Callable[[Callable], Callable]:
    """Declare the derivatives of operators as PyTorch composes them: one for each differentiable input.

    The function gets the gradient, what was saved, the settings, and which inputs are wanted, by our names.
    """

    def declare(function: Callable) -> Callable:
        def run(node: OperatorNode, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
            plan, wanted = node.plan, node.plan.wanted(needed)
            if grads[0] is None or any(spec.dtype.is_complex for spec in plan.out_specs):
                return node.apply(grads, needed)
            names = [plan.op.input_name(i) for i in plan.positions]
            given = {**plan.settings, "wanted": {name for name, want in zip(names, wanted, strict=True) if want}}
            found = function(grads[0], saved_of(node), given)
            return node.apply(grads, needed) if found is None else tuple([found.get(name) for name in names])

        NAMED.update(dict.fromkeys(names, run))
        return function

    return declare


@composed("mul")
def _mul(g: Any, saved: dict, given: dict) -> dict | None:
    if not {*given["wanted"]} <= {"x", "y"} or any(not isinstance(saved[f"{name}_spec"], Spec) for name in "xy"):
        return None
    factors = {name: g * saved[other] for name, other in (("y", "x"), ("x", "y")) if name in given["wanted"]}
    return {name: sum_to(one, tuple(saved[f"{name}_spec"].shape)) for name, one in reversed(factors.items())}


@composed("t")
def _t(g: Any, saved: dict, given: dict) -> dict:
    return {"x": g.t()}


@composed("sum_all")
def _sum(g: Any, saved: dict, given: dict) -> dict:
    return {"x": g.expand(tuple(saved["x_spec"].shape))}


@composed("transpose")
def _transpose(g: Any, saved: dict, given: dict) -> dict:
    return {"x": g.transpose(given["axis0"], given["axis1"])}


@composed("unsqueeze")
def _unsqueeze(g: Any, saved: dict, given: dict) -> dict:
    return {"x": g.squeeze(given["axis"])}


def is_column_major(spec: Spec) -> bool:
    """Tell whether a matrix lies column by column."""
    return spec.layout == (1, spec.shape[0])


def product_of(g: Any, x: Any, y: Any, given: dict, names: tuple[str, str], specs: tuple[Spec, Spec]) -> dict:
    """The gradients of the factors of a product of matrices, laid out like them: the second first, as PyTorch does."""
    found = {}
    if names[1] in given["wanted"]:
        found[names[1]] = g.t().mm(x).t() if is_column_major(specs[1]) else x.t().mm(g)
    if names[0] in given["wanted"]:
        found[names[0]] = y.mm(g.t()).t() if is_column_major(specs[0]) else g.mm(y.t())
    return found


@composed("mm")
def _mm(g: Any, saved: dict, given: dict) -> dict | None:
    specs = saved["x_spec"], saved["y_spec"]
    return product_of(g, saved.get("x"), saved.get("y"), given, ("x", "y"), specs) if g.ndim == 2 else None


@composed("addmm")
def _addmm(g: Any, saved: dict, given: dict) -> dict | None:
    if given["alpha"] != 1 or given["beta"] != 1:
        return None
    added, x, y = names = ("addend", "x", "y")
    specs = tuple(saved[f"{name}_spec"] for name in names)
    found = product_of(g, saved.get(x), saved.get(y), given, (x, y), specs[1:])
    if added in given["wanted"]:
        found[added] = sum_to(g, tuple(specs[0].shape))
    return found
