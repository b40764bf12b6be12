"""The currency of a backward call that dispatch modes see, or tensors with a ``__torch_dispatch__`` are in.

Gradients are tensors that are not recorded, so that formulas call operators one by one. A node whose derivative is one
operator in PyTorch (``NAMED``) is shown as a call of that. See Note [Dispatch] in ``bindings/dispatching.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapegrad.autograd.currencies import Tensors
from tapegrad.bindings.dispatching import hidden, is_shown, show, show_detached, sum_to
from tapegrad.bindings.handing import DISPATCH, overriding
from tapegrad.dispatch.operator_node import OperatorNode
from tapegrad.ops.overloads import identity
from tapegrad.tape.node import Node
from tapegrad.tensor.spec import Spec
from tapegrad.tensor.tensor import Tensor


class Shown(Tensors):
    """Tensors that are not recorded, and that somebody is shown operators on."""

    @staticmethod
    def run(node: Node, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        if not isinstance(node, OperatorNode):
            return node.apply(grads, needed)
        plan = node.plan
        for position in plan.saved_outputs:
            saved = node.saved_tensors()[len(plan.saved_inputs)] if plan.out_specs[position].requires_grad else None
            if saved is not None and is_shown((saved,)):
                show_detached(saved)
        named = NAMED.get(plan.op.name)
        return node.apply(grads, needed) if named is None else named(node, grads, needed)

    seed = staticmethod(lambda grad: grad)


def holds_dispatching(roots: Sequence[Any]) -> bool:
    """Whether the graph behind edges has tensors of a class with a ``__torch_dispatch__`` in it."""
    if not overriding.dispatches:
        return False
    stack, seen = [edge[0] for edge in roots if edge is not None], set()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        specs = (*getattr(getattr(node, "plan", None), "specs", ()), *(node._input_metadata or ()))
        if any(isinstance(spec, Spec) and spec.overrides == DISPATCH for spec in specs):
            return True
        stack += [edge[0] for edge in node.next_edges if edge is not None]
    return False


# -- derivatives that are one operator in PyTorch ----------------------------------------------------------------------


Derivative = Callable[[OperatorNode, list, tuple[bool, ...] | None], Sequence]


def as_one(name: str, words: Callable[[Tensor, dict, dict], tuple], several: bool = False) -> Derivative:
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
        items = node.saved_tensors() if plan.saved_specs else []
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
    """What a node has saved, by our names of inputs and outputs, and the specs of its inputs, by ``x_spec``."""
    plan, op = node.plan, node.plan.op
    items = node.saved_tensors() if items is None and plan.saved_specs else items or []
    outputs = op.outputs or ("out",)
    names = [op.input_name(i) for i in plan.saved_inputs] + [outputs[i] for i in plan.saved_outputs]
    specs = {f"{op.input_name(i)}_spec": spec for i, spec in enumerate(plan.specs)}
    return {**specs, **dict(zip(names, items, strict=True))}


def _layer_norm(g: Tensor, saved: dict, settings: dict) -> tuple:
    x, axes = saved.get("x"), settings["axes"]
    mean = None
    if x is not None:
        with hidden():
            mean = x.mean(axes, keepdim=True).detach()
    shape = [saved["x_spec"].shape[axis] for axis in axes]
    return g, x, shape, mean, mean, saved.get("weight"), None


def _convolution(g: Tensor, saved: dict, settings: dict) -> tuple:
    transposed = "output_size" in settings
    bias = saved.get("bias_spec")
    padding = [one[0] if isinstance(one, (tuple, list)) else one for one in settings["padding"]]
    return (g, saved.get("x"), saved.get("weight"), [] if bias is None else list(bias.shape), list(settings["stride"]),
            padding, list(settings["dilation"]), transposed, [0] * len(padding), settings["groups"])  # fmt: skip


NAMED: dict[str, Derivative] = {
    "relu": as_one("threshold_backward", lambda g, saved, given: (g, saved["out"], 0)),
    "tanh": as_one("tanh_backward", lambda g, saved, given: (g, saved["out"])),
    "sigmoid": as_one("sigmoid_backward", lambda g, saved, given: (g, saved["out"])),
    "silu": as_one("silu_backward", lambda g, saved, given: (g, saved["x"])),
    "mish": as_one("mish_backward", lambda g, saved, given: (g, saved["x"])),
    "hardsigmoid": as_one("hardsigmoid_backward", lambda g, saved, given: (g, saved["x"])),
    "hardswish": as_one("hardswish_backward", lambda g, saved, given: (g, saved["x"])),
    "leaky_relu": as_one(
        "leaky_relu_backward", lambda g, saved, given: (g, saved["x"], given["negative_slope"], False)
    ),
    "softplus": as_one(
        "softplus_backward", lambda g, saved, given: (g, saved["x"], given["beta"], given["threshold"])
    ),
    "threshold": as_one("threshold_backward", lambda g, saved, given: (g, saved["x"], given["threshold"])),
    "elu": as_one("elu_backward", lambda g, saved, given: (
        g, given["alpha"], given["scale"], given["input_scale"], False, saved["x"],
    )),
    "gelu": as_one("gelu_backward", lambda g, saved, given: (g, saved["x"])),
    "softmax": as_one("_softmax_backward_data", lambda g, saved, given: (
        g, saved["out"], given["axis"], saved["out"].dtype,
    )),
    "log_softmax": as_one("_log_softmax_backward_data", lambda g, saved, given: (
        g, saved["out"], given["axis"], saved["out"].dtype,
    )),
    "select": as_one("select_backward", lambda g, saved, given: (
        g, list(saved["x_spec"].shape), given["axis"], saved.get("index", 0),
    )),
    "layer_norm": as_one("native_layer_norm_backward", _layer_norm, several=True),
    "convolution": as_one("convolution_backward", _convolution, several=True),
    "conv_transpose": as_one("convolution_backward", _convolution, several=True),
}  # fmt: skip
"""Operators whose derivative is one operator in PyTorch, or others than the formula's."""


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


@composed("t")
def _t(g: Any, saved: dict, given: dict) -> dict:
    return {"x": g.t()}


@composed("transpose")
def _transpose(g: Any, saved: dict, given: dict) -> dict:
    return {"x": g.transpose(given["axis0"], given["axis1"])}


@composed("unsqueeze")
def _unsqueeze(g: Any, saved: dict, given: dict) -> dict:
    return {"x": g.squeeze(given["axis"])}


def is_column_major(spec: Spec) -> bool:
    """Whether a matrix lies column by column."""
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
