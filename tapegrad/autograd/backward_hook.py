"""``BackwardHook``: what lets hooks see the gradients that go into and come out of a function.

Note [Hooks around a call]
The inputs of a call, and its outputs, go through a custom function that does nothing, so that each side has one node
that gets all of its gradients together. The hooks are those of these two nodes. The custom function gives views, so
that what the call writes to in place is what it was given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.autograd.function import Function
from tapegrad.autograd.grad_mode import is_grad_enabled


class BackwardHookFunction(Function):
    """Passes tensors, and the gradients of those that require them, on as they are."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        ctx.mark_non_differentiable(*[arg for arg in args if not arg.requires_grad])
        return args

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        return args


class BackwardHook:
    """The backward hooks of one call, whose inputs and outputs it passes on.

    Args:
        module: what the hooks get first.
        user_hooks: ``hook(module, grad_input, grad_output)``, called after the backward of the call.
        user_pre_hooks: ``hook(module, grad_output)``, called before it.

    >>> hook = BackwardHook("double", [lambda *seen: print(*seen)], [])
    >>> (x,) = hook.setup_input_hook((torch.ones(1, requires_grad=True),))
    >>> hook.setup_output_hook(x * 2).backward()
    double (tensor([2.]),) (tensor([1.]),)
    """

    def __init__(self, module: Any, user_hooks: Sequence[Callable], user_pre_hooks: Sequence[Callable]) -> None:
        self.module, self.user_hooks, self.user_pre_hooks = module, user_hooks, user_pre_hooks
        self.grad_outputs: Any = None
        self.n_inputs = self.n_outputs = -1
        self.input_tensors_index: list[int] | None = None
        self.output_tensors_index: list[int] | None = None

    def setup_input_hook(self, args: tuple) -> tuple:
        """The arguments as the call is to get them."""
        args, self.input_tensors_index = passed_on(args, lambda node: node.register_hook(self.after_inputs))
        self.n_inputs = len(args)
        return args

    def setup_output_hook(self, result: Any) -> Any:
        """The result of the call as its caller is to get it."""
        results = result if isinstance(result, tuple) else (result,)
        given, self.output_tensors_index = passed_on(results, lambda node: node.register_hook(self.after_outputs))
        self.n_outputs = len(results)
        return given if isinstance(result, tuple) else given[0]

    def after_outputs(self, _: Any, grad_output: tuple) -> tuple | None:
        """The hook of the outputs' node: gradients of the outputs are complete."""
        assert self.output_tensors_index is not None
        self.grad_outputs = with_none(self.output_tensors_index, grad_output, self.n_outputs)
        for hook in self.user_pre_hooks:
            self.replace_grad_outputs(hook(self.module, self.grad_outputs))
        grads = self.grad_outputs
        if self.input_tensors_index is None:
            self.end_without_inputs()
        return tuple(grads[index] for index in self.output_tensors_index)

    def replace_grad_outputs(self, given: Any) -> None:
        """Take what a pre-hook returned for the gradients of the outputs.

        Raises:
            RuntimeError: another number of gradients.
        """
        if given is None:
            return
        if len(given) != self.n_outputs:
            raise RuntimeError(
                f"Backward pre hook returned an invalid number of grad_output, got {len(given)}, but expected "
                f"{self.n_outputs}"
            )
        self.grad_outputs = given

    def end_without_inputs(self) -> None:
        """Call the hooks where no input requires grad: they are called now or never.

        Raises:
            RuntimeError: a hook returns gradients, for inputs that have none.
        """
        warn(
            "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs "
            "require gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module."
            "register_full_backward_hook for more details."
        )
        for hook in self.user_hooks:
            given = hook(self.module, (None,) * self.n_inputs, self.grad_outputs)
            if given is not None and not (isinstance(given, tuple) and all(grad is None for grad in given)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None for "
                    "all gradients."
                )
        self.grad_outputs = None

    def after_inputs(self, grad_input: tuple, _: Any) -> tuple | None:
        """The hook of the inputs' node: gradients of the inputs are complete.

        Raises:
            RuntimeError: a hook returns another number of gradients.
        """
        if self.grad_outputs is None:
            return None
        assert self.input_tensors_index is not None
        grads = with_none(self.input_tensors_index, grad_input, self.n_inputs)
        for hook in self.user_hooks:
            given = hook(self.module, grads, self.grad_outputs)
            if given is None:
                continue
            if len(given) != len(grads):
                raise RuntimeError(
                    f"Backward hook returned an invalid number of grad_input, got {len(given)}, but expected "
                    f"{len(grads)}"
                )
            grads = given
        self.grad_outputs = None
        return tuple(grads[index] for index in self.input_tensors_index)


def with_none(indices: Sequence[int], values: Sequence, size: int) -> tuple:
    """Values in their places among others, which are None.

    >>> with_none([0, 2], "ab", 4)
    ('a', None, 'b', None)
    """
    places = dict(zip(indices, values, strict=True))
    return tuple(places.get(index) for index in range(size))


def passed_on(args: tuple, found: Callable[[Any], Any]) -> tuple[tuple, list[int] | None]:
    """Arguments whose tensors have gone through one node, which ``found`` gets; and the places of the tensors.

    Where nothing is recorded they are what they were, without places.
    """
    places = [index for index, arg in enumerate(args) if isinstance(arg, Tensor)]
    if not (is_grad_enabled() and any(args[index].requires_grad for index in places)):
        return args, None
    given = BackwardHookFunction.apply(*(args[index] for index in places))
    found(next(tensor.grad_fn for tensor in given if tensor.grad_fn is not None))
    items = list(args)
    for index, tensor in zip(places, given, strict=True):
        items[index] = tensor
    return (tuple(items) if type(args) is tuple else type(args)(*items)), places
