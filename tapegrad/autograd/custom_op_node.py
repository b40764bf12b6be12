"""The node of a custom operator's call: a custom function of all tensors that are given, those in lists, too.

A custom function knows tensors that are arguments and outputs, one by one. An operator may take and give lists of them:
their structure is kept with the call, and the functions that a program has registered see it (``OperatorContext``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from tapegrad._src.functions.joining import stack
from tapegrad._src.tensor.trees import TreeSpec, broadcast_prefix, flatten, unflatten
from tapegrad.autograd.function import Function
from tapegrad.autograd.function_levels import checked_returns


class OperatorCall:
    """The description of one call of an operator: its keyword arguments, and how leaves make arguments and output."""

    __slots__ = ("keywords", "given", "output")

    def __init__(self, keywords: dict[str, Any], given: TreeSpec) -> None:
        self.keywords, self.given = keywords, given
        self.output: TreeSpec | None = None

    def leaves_of(self, output: Any) -> tuple:
        """The leaves of the output, whose structure is kept."""
        leaves, self.output = flatten(output)
        return tuple(leaves)

    def output_of(self, leaves: Any) -> Any:
        """The output that has these leaves."""
        assert self.output is not None
        return unflatten(leaves, self.output)


class OperatorContext:
    """The ``ctx`` that registered functions get: that of the node, but for arguments which are lists."""

    __slots__ = ("_node", "_call")

    def __init__(self, node: Any, call: OperatorCall) -> None:
        object.__setattr__(self, "_node", node)
        object.__setattr__(self, "_call", call)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._node, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._node, name, value)

    @property
    def needs_input_grad(self) -> tuple:
        """For each argument of the operator, whether it is a tensor that requires grad; a list for a list."""
        return unflatten(self._node.needs_input_grad[1:], self._call.given)


class OperatorWithFormula(Protocol):
    """An operator that a program has registered, as its node sees it."""

    _name: str
    _namespace: str
    _backward: Callable | None
    _setup_context: Callable | None
    _vmap: Callable | None

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Call it."""

    def _computed(self, args: tuple, keywords: dict[str, Any]) -> Any:
        """Give what its kernel does."""


class CustomOpNode(Function):
    """The function behind an operator, which is ``op`` of a subclass; its arguments are a call and leaves."""

    op: OperatorWithFormula

    @classmethod
    def forward(cls, call: OperatorCall, *leaves: Any) -> Any:
        return call.leaves_of(cls.op._computed(unflatten(leaves, call.given), call.keywords))

    @classmethod
    def setup_context(cls, ctx: Any, inputs: tuple, output: Any) -> None:
        call, *leaves = inputs
        ctx.call, setup = call, cls.op._setup_context
        if setup is not None:
            more = {"keyword_only_inputs": call.keywords} if call.keywords else {}
            given, found = unflatten(leaves, call.given), call.output_of(output)
            setup(ctx=OperatorContext(ctx, call), inputs=given, output=found, **more)

    @classmethod
    def backward(cls, ctx: Any, *grads: Any) -> Any:
        op, call = cls.op, ctx.call
        if op._backward is None:
            raise RuntimeError(
                f"Trying to backward through {op._namespace}.{op._name}.default but no autograd formula was "
                "registered. Please use register_autograd to add one."
            )
        given = call.output_of(grads)
        found = op._backward(OperatorContext(ctx, call), *(given if isinstance(given, tuple) else (given,)))
        return None, *_for_leaves(found if isinstance(found, tuple) else (found,), call.given)

    @classmethod
    def vmap(cls, info: Any, in_dims: tuple, call: OperatorCall, *leaves: Any) -> Any:
        args, dims = unflatten(leaves, call.given), unflatten(in_dims[1:], call.given)
        output, out_dims = _mapped(cls.op, info, dims, args, call.keywords)
        found = call.leaves_of(output)
        assert call.output is not None
        return found, tuple(broadcast_prefix(out_dims, call.output) or (0,) * len(found))


def _for_leaves(grads: tuple, given: TreeSpec) -> list:
    """The gradients of the leaves; None for a list stands for None for each of what is in it."""
    known = [*zip(grads, given.below, strict=False)]
    found = [leaf for grad, spec in known for leaf in broadcast_prefix(grad, spec) or flatten(grad)[0]]
    return [*found, *grads[len(known) :]]


def _mapped(
    op: OperatorWithFormula, info: Any, in_dims: tuple, args: tuple, keywords: dict[str, Any]
) -> tuple[Any, Any]:
    """The output of an operator under ``vmap``, and which of its dimensions have the examples."""
    if op._vmap is not None:
        return checked_returns(op._vmap(info, in_dims, *args, **keywords))
    each = [
        op(*(_example(arg, dim, at) for arg, dim in zip(args, in_dims, strict=True)), **keywords)
        for at in range(info.batch_size)
    ]
    spec = flatten(each[0])[1]
    columns = zip(*(flatten(one)[0] for one in each), strict=True)
    return unflatten([stack(column) for column in columns], spec), 0


def _example(arg: Any, dim: Any, at: int) -> Any:
    """One example of an argument; of several in a list, of each."""
    if isinstance(dim, (tuple, list)):
        return [_example(one, its, at) for one, its in zip(arg, dim, strict=True)]
    return arg if dim is None else arg.select(dim, at)
